"""Tests of lazy imports: public names and modules load on first use, the reference only if it is selected."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import assignor

CALLS = {
    "assign": "assignor.assign({'t': 3}, {'a': ['t']})",
    "plan": "assignor.plan({'t': 3}, {'a': ['t']}).balance()",
    "check": "assignor.check({'a': [('t', 0)]}, {'t': 3}, {'a': ['t']})",
    "match_topics": "assignor.match_topics('t.*', ['t'])",
    "resolve": "assignor.resolve({'a': assignor.Subscription(pattern='t.*')}, ['t'])",
    "TopicMatcher": "assignor.TopicMatcher('python').add_topics(['t'])",
    "explain_pattern": "assignor.explain_pattern('t', topics=['t'])",
    "validate_topic": "assignor.validate_topic('t')",
    "decode_record": r"assignor.offsets.decode_record(b'\0\2\0\1g', None)",
    "encode_subscription": "assignor.wire.encode_subscription(assignor.Subscription(['t']))",
    "RangeAssignor": "assignor.RangeAssignor().assign({'t': 3}, {'a': ['t']})",
}


HEAVY = {"ast", "dataclasses", "inspect", "numpy", "uuid"}
"""Modules that take longer to import than a small assignment, and that `assign` and `plan` do not need."""

NAMED_TUPLE = "from __future__ import annotations\\nfrom typing import NamedTuple\\nclass A(NamedTuple): x: int"


def all_loaded(statement: str) -> set[str]:
    """Return the modules that are loaded after `import assignor` and a statement."""
    answer = subprocess.run(
        [sys.executable, "-c", f"import sys, assignor; {statement}; import json; print(json.dumps(list(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(assignor.__file__).parents[1])},
    )
    return set(json.loads(answer.stdout))


def loaded(statement: str) -> set[str]:
    """Return the modules of the package that are loaded after `import assignor` and a statement."""
    return {module for module in all_loaded(statement) if module.partition(".")[0] == "assignor"}


def is_of_reference(module: str) -> bool:
    return module.startswith("assignor.reference")


def test_importing_the_package_loads_no_other_module() -> None:
    assert {"assignor"} == loaded("pass")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_default_engine_loads_no_module_of_the_reference(call: str) -> None:
    modules = loaded(call)

    assert "assignor._core" in modules
    assert not [module for module in modules if is_of_reference(module)]


@pytest.mark.plain_build
@pytest.mark.parametrize("call", ["assign", "plan"])
def test_an_assignment_loads_only_the_core_and_the_named_tuples(call: str) -> None:
    modules = all_loaded(CALLS[call])

    assert {"assignor", "assignor._core", "assignor.tuples"} == {
        module for module in modules if module.partition(".")[0] == "assignor"
    }
    assert not HEAVY & modules - imported_by_named_tuples()


def imported_by_named_tuples() -> set[str]:
    """Return the modules of the standard library that a class of a named tuple imports: some from CPython 3.14 on."""
    modules = all_loaded(f"exec('{NAMED_TUPLE}')")
    assert sys.version_info >= (3, 14) or not HEAVY & modules
    return modules


def test_a_subscription_that_is_not_a_container_of_names_loads_the_data_classes() -> None:
    assert "assignor.model" in loaded("assignor.assign({'t': 3}, {'a': iter(['t'])})")


def test_selecting_the_reference_loads_it() -> None:
    assert any(map(is_of_reference, loaded("assignor.match_topics('t', ['t'], engine='reference')")))


@pytest.mark.parametrize("module", sorted(assignor._MODULES))
def test_a_public_module_is_an_attribute_of_the_package(module: str) -> None:
    assert f"assignor.{module}" in loaded(f"assignor.{module}.__doc__")
    assert module in dir(assignor)


def test_dir_shows_only_public_names() -> None:
    importlib.import_module("assignor.tuples")  # a loaded module is a global of the package

    assert {*assignor.__all__, *assignor._MODULES} == {name for name in dir(assignor) if name[0] != "_"}


def test_dir_of_spark_has_the_public_names_before_their_import() -> None:
    assert set(assignor.spark.__all__) <= set(dir(assignor.spark))


def test_client_modules_are_attributes_of_clients() -> None:
    clients = ("aiokafka", "kafka_python")

    modules = loaded(f"[getattr(assignor.clients, client) for client in {clients}]")

    assert {f"assignor.clients.{client}" for client in clients} <= modules
