"""Results that do not fit into memory are refused with their size, before any of it is reserved."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from assignor import Group, MemberColumns, TopicColumns, Topics, _core, assign, check, plan
from assignor.errors import AssignorError, IllegalArgumentError, OutOfMemoryError
from assignor.migration import BrokerSettings
from tests.fleet import columns as fleet

MOST = 2**31 - 1
HUGE = {"t": MOST}
MEMBERS = {"a": ["t"], "b": ["t"]}
COLUMNS = MemberColumns(["a", "b"], [0, 0], [["t"]])
MANY = {f"t{number}": MOST for number in range(3)}

REFUSED: dict[str, tuple[Callable[[], object], int]] = {
    "assign": (lambda: assign(HUGE, MEMBERS), MOST),
    "assign of several topics": (lambda: assign(MANY, {"a": tuple(MANY)}), 3 * MOST),
    "assign of columns": (lambda: assign(TopicColumns(["t"], [MOST]), COLUMNS), MOST),
    "assign of Topics": (lambda: assign(Topics(HUGE), MEMBERS), MOST),
    "Group.assign": (lambda: Group(HUGE, MEMBERS).assign(), MOST),
    "Plan[member]": (lambda: plan(HUGE, MEMBERS)["b"], MOST // 2),
    "Plan.get": (lambda: plan(HUGE, MEMBERS).get("b"), MOST // 2),
    "Plan.values": (lambda: list(plan(HUGE, MEMBERS).values()), MOST // 2 + 1),
    "Plan == dict": (lambda: plan(HUGE, MEMBERS) == {"a": []}, MOST),
    "Plan.diff": (lambda: plan(HUGE, MEMBERS).diff(plan(HUGE, {"c": ["t"]})), 2 * MOST),
    "check of no owners": (lambda: check({}, HUGE, MEMBERS), MOST),
    "check of unknown partitions": (lambda: check(plan(HUGE, MEMBERS), {}, MEMBERS), MOST),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_huge_results_are_refused_with_their_number(name: str) -> None:
    call, count = REFUSED[name]
    with pytest.raises(OutOfMemoryError, match=rf"of {count} partitions would need \d+ bytes of memory") as refused:
        call()
    assert isinstance(refused.value, AssignorError)
    assert isinstance(refused.value, MemoryError)
    assert count == refused.value.count
    assert refused.value.needed > 8 * count


def test_plans_of_huge_topics_answer_what_needs_no_memory_per_partition() -> None:
    found = plan(HUGE, MEMBERS)
    assert [MOST // 2 + 1, MOST // 2] == found.counts().tolist()
    assert "b" == found.owner("t", MOST - 1)
    assert (0, MOST // 2 + 1) == (found.balance().spread["t"] - 1, found.balance().max)
    assert 0 == found.diff(plan(HUGE, MEMBERS)).moved
    assert not check(found, HUGE, MEMBERS)
    assert found == type(found).from_json(found.to_json())
    assert 2 == pa.table(found).num_rows


@pytest.mark.parametrize(
    "options", [{"assignor": "roundrobin"}, {"assignor": "sticky"}, {"group_protocol": "consumer"}]
)
def test_assignors_with_an_owner_per_partition_have_a_limit(options: Any) -> None:
    with pytest.raises(IllegalArgumentError, match=f"have {MOST} partitions; the limit of assignor .* is 268435456"):
        plan(HUGE, MEMBERS, **options)


CALLS = """
import itertools, resource, sys
limit = int(sys.argv[1])
from assignor import Group, TopicColumns, Topics, assign, check, errors, plan
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
members = {"a": ["t"], "b": ["t"]}
last = plan({"t": 20_000_000}, members)
refused = 0
for call in (
    lambda: assign({"t": 20_000_000}, members),
    lambda: Group({"t": 20_000_000}, members).assign(),
    lambda: last["a"],
    lambda: last.encode(),
    lambda: check({}, {"t": 20_000_000}, members),
    lambda: last.diff(plan({"t": 20_000_000}, {"c": ["t"]})),
    lambda: plan({"t": 2**28}, members, assignor="roundrobin"),
    lambda: plan({"t": 2**28}, members, assignor="sticky"),
    lambda: plan({"t": 2**28}, members, assignor="cooperative-sticky"),
    lambda: plan({"t": 2**28}, members, group_protocol="consumer"),
    lambda: plan({"t": range(2**31 - 1)}, members),
    lambda: plan({"t": itertools.count()}, members),
    lambda: plan({"t": 1}, {"a": itertools.repeat("t")}),
):
    try:
        call()
    except errors.OutOfMemoryError as error:
        assert error.count and error.needed, error
        refused += 1
print(refused, last.counts().tolist())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of address space is that of Linux")
@pytest.mark.parametrize("megabytes", [700, 1200])
def test_a_limit_of_address_space_ends_no_process(megabytes: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", CALLS, str(megabytes << 20)], capture_output=True, text=True, check=False
    )
    assert (0, "") == (ended.returncode, ended.stderr[-2000:])
    refused, _, counts = ended.stdout.partition(" ")
    assert "[10000000, 10000000]" == counts.strip()
    assert int(refused) >= 10


def test_exceptions_of_memory_can_be_pickled() -> None:

    error = OutOfMemoryError("a list of 3 partitions would need 9 bytes", 3, 9)
    again = pickle.loads(pickle.dumps(error))
    assert (str(error), 3, 9) == (str(again), again.count, again.needed)


def _fleet(topics: dict[str, int], assignor: str | None, count: int) -> tuple[Any, Any]:
    group_protocol = "consumer" if assignor == "uniform" else "classic"
    members = [fleet.member(id, *topics, assignor=assignor, group_protocol=group_protocol) for id in ("a", "b")]
    current = [("a", "t", 0, count)]
    return fleet.clusters(fleet.cluster(topics)), fleet.groups(fleet.group(*members, current=current))


VERBS = ("resolve", "assign", "balance", "current_balance", "problems", "moves", "what_if", "scale", "migrate")


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "uniform", "custom"])
@pytest.mark.parametrize("verb", VERBS)
def test_fleets_of_huge_topics_get_an_answer_or_a_named_error(verb: str, assignor: str) -> None:
    known, asked = _fleet({"t": MOST, "u": MOST, "v": MOST}, assignor, MOST)
    arguments: dict[str, list[Any]] = {
        "what_if": [[("x", None, [("remove_members", 1)])]],
        "migrate": [BrokerSettings().rules()],
    }
    message = ""
    try:
        getattr(_core.Clusters(known), verb)(
            asked, *arguments.get(verb, ()), **({"later": True} if verb == "migrate" else {})
        )
    except (OutOfMemoryError, IllegalArgumentError) as error:
        message = str(error)
    assert not message or re.match(rf"group 'g' of cluster 'c': .*\b({MOST}|{3 * MOST}) ", message)
