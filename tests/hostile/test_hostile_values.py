"""Every public callable refuses hostile values with an error of the package, and state machines stay usable."""

from __future__ import annotations

import dataclasses
import inspect
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from assignor.errors import AssignorError
from docs import api
from tests.hostile import calls, library_calls, machine_calls, spark_calls
from tests.hostile.calls import Call, public_callables
from tests.hostile.values import HOSTILE, UserError, hostile_values

CALLS = [*calls.CALLS, *machine_calls.CALLS, *library_calls.CALLS]
VALUES = list(hostile_values())

MACHINE_VALUES = [name for name in HOSTILE if not name.startswith(("numpy ", "Arrow "))]
MACHINE_VALUES += ["numpy uint64", "numpy matrix", "numpy texts", "Arrow texts", "Arrow table"]
"""Values for state machines, whose arguments are no columns. Each call needs a new machine, which takes long."""

CHANGED = {
    f"assignor.SubscriptionState.{name}"
    for name in ("assign_from_subscribed_awaiting_callback", "seek_validated", "seek_unvalidated", "subscribe")
}
"""Calls that change the state before they fail, as in Kafka; their docstrings say what changes."""

CALLED = ("predicate", "api_versions", "expires_at", "member_ids")
"""Parameters for functions, whose own exceptions propagate."""

LOOKUPS = ("assignor.Topics.__getitem__", "assignor.Plan.__getitem__", "assignor.Plan.partitions")
"""Look-ups of a mapping, which raise KeyError for an unknown key, as for any mapping."""


@pytest.mark.parametrize("call", calls.CALLS, ids=lambda call: call.name)
def test_hostile_values_raise_errors_of_the_package(call: Call) -> None:
    wrong = []
    for parameter in call.parameters():
        for name, make in VALUES:
            found = _outcome(call.name, *call.make(), {parameter: make()})
            if found not in (RETURNED, REFUSED):
                wrong.append(f"{parameter} = {name}: {found}")
    assert [] == wrong[:20]


CONNECTS = ("assignor.clients.kafka_python.read_cluster", "admin", ("empty dict", "mapping proxy"))
"""A call that would connect to a broker with these values: they are configurations of a client."""


@pytest.mark.parametrize("call", library_calls.CALLS, ids=lambda call: call.name)
def test_the_library_refuses_hostile_values(
    call: Call, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some values are the names of files
    wrong = []
    given = VALUES if call.name.startswith(("assignor.spark", "assignor.clients")) else list(HOSTILE.items())
    for parameter in call.parameters():
        for name, make in given:
            if (call.name, parameter) == CONNECTS[:2] and name in CONNECTS[2]:
                continue
            found = _outcome(call.name, *call.make(), {parameter: make()})
            if found not in (RETURNED, REFUSED):
                wrong.append(f"{parameter} = {name}: {found}")
    assert [] == wrong[:20]


RETURNED, REFUSED = "returned", "refused"


def _outcome(name: str, function: Callable[..., object], arguments: dict[str, Any], replaced: dict[str, object]) -> str:
    """Call a function, and return what it did: an unexpected exception is a finding."""
    try:
        calls.invoke(function, {**arguments, **replaced})
    except (AssignorError, UserError) as error:
        str(error)  # the message can be formed
        return REFUSED
    except Exception as error:  # any other class is the finding
        if isinstance(error, KeyError) and name in LOOKUPS:
            return REFUSED
        return f"{type(error).__name__}: {error}"
    return RETURNED


def _machine(function: Callable[..., object]) -> tuple[Any, Callable[[Any], list[object]]] | None:
    """Return the machine of a method and the function that returns its life; None for other functions."""
    owner = getattr(function, "__self__", None)
    life = machine_calls.MACHINES.get(type(owner))
    return None if life is None else (owner, life)


@pytest.mark.parametrize("call", machine_calls.CALLS, ids=lambda call: call.name)
def test_state_machines_refuse_hostile_values_and_do_not_change(call: Call) -> None:
    expected = None
    wrong = []
    for parameter in call.parameters():
        for name in MACHINE_VALUES:
            if parameter in CALLED and name in ("class", "function"):
                continue
            make = HOSTILE[name]
            function, arguments = call.make()
            found = _outcome(call.name, function, arguments, {parameter: make()})
            machine = _machine(function)
            if found not in (RETURNED, REFUSED):
                wrong.append(f"{parameter} = {name}: {found}")
            elif found == REFUSED and machine is not None and call.name not in CHANGED:
                owner, life = machine
                expected = expected or life(_machine(call.make()[0])[0])  # type: ignore[index]  # as before
                if expected != life(owner):
                    wrong.append(f"{parameter} = {name}: the state has changed")
    assert [] == wrong[:20]


CONFLUENT = ("describe_group", "describe_unlisted", "list_members", "partitions_per_topic", "read_cluster")
UNTESTED = {
    "assignor.errors": "exceptions hold any value",
    "assignor.PartitionAssignor": "an interface",
    "assignor.subscription_state.ConsumerRebalanceListener": "an interface",
    **{f"assignor.cluster.confluent.{name}": "it calls an admin client" for name in CONFLUENT},
    "assignor.traffic.uneven_ratio": "a rule over numbers that a report has computed",
    "assignor.weights.weight_columns": "an internal reader; `Plan.balance` has calls",
    "assignor.replay.silences": "internal readers and writers of files; `Replay.observe_silences` has calls",
}
"""Callables, or modules, without a hostile call, and the reason."""


def _is_plain(value: object) -> bool:
    """Return True for enumerations, and for tuples and dataclasses that check nothing: they accept any value."""
    if not inspect.isclass(value):
        return False
    is_tuple = issubclass(value, tuple) and hasattr(value, "_fields")
    checks_nothing = dataclasses.is_dataclass(value) and not hasattr(value, "__post_init__")
    return is_tuple or hasattr(value, "__members__") or checks_nothing


def takes_nothing(method: Callable[..., object]) -> bool:
    """Return True for a method without arguments."""
    return not isinstance(method, classmethod) and len(inspect.signature(method).parameters) <= 1


def test_the_callables_of_the_reference_are_public_ones() -> None:
    described = {
        entry.path if "." in entry.path else f"assignor.{entry.path}"
        for page in api.PAGES.values()
        for entries in page.values()
        for entry in entries
        if callable(entry.value())
    }
    assert len(described) > 100
    assert set() == described - public_callables().keys()


def test_every_public_callable_has_a_hostile_call() -> None:
    called = {call.name.partition(" ")[0] for call in CALLS} | {f"assignor.spark.{name}" for name in spark_calls.NAMES}
    missing = set()
    for name, value in public_callables().items():
        if name in called or any(name == each or name.startswith(f"{each}.") for each in UNTESTED):
            continue
        owner = name.rpartition(".")[0]
        aliases = {each for each, other in public_callables().items() if other is value}
        if aliases & called or _is_plain(value) or (_is_plain(public_callables().get(owner)) and takes_nothing(value)):
            continue
        missing.add(name)
    assert {"assignor.Plan"} == missing  # a program cannot create a plan
