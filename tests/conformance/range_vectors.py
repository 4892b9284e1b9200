"""Reader of the vectors of the kind `range`: answers of Kafka's RangeAssignor class.

The files are in `tests/vectors` or in the folder `ASSIGNOR_VECTORS`:

    range_upstream.json          the cases of Kafka's own unit test, and additional corner cases
    range_upstream_bug*          cases of the rack bug of Kafka's class (docs/assignors/range.md)
    range_*.jsonl.gz             other cases, one per line

Nothing is skipped: an unknown file, field or `via` is an error.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from assignor import PartitionInfo, Subscription
from tests.support import vector_files
from tests.support.vector_fields import check_fields, label

KIND = "range"

_CASE = {"prefer_rack_aware", "via", "linked_subscriptions", "topics", "members", "expected"}
_UPSTREAM = {"prefer_rack_aware", "topics", "members", "actual"}
_MEMBER = {"member_id", "group_instance_id", "rack", "topics"}


@dataclass(frozen=True)
class Case:
    """Input and Kafka's answer.

    Attributes:
        name: Name that a failure is reported with.
        partitions_per_topic: Topics in the form that `assign` accepts; counts if Kafka was called with counts.
        subscriptions: Members in the form that `assign` accepts.
        prefer_rack_aware: Kafka's test flag.
        expected: Answer of Kafka's class, by member in Kafka's order.
        rack_mode: True if Kafka used its rack-aware algorithm, which sorts every list.
        applies: False if the contract of `assign` differs: Kafka keeps an unsorted list, or an id is given twice.
        phantom: For cases of the rack bug: True if Kafka's answer loses partitions.
        expected_upstream: Answer that Kafka's own unit test expects.
        rack_mismatches: Number of partitions that the unit test allows to be on another rack than their member.
    """

    name: str
    partitions_per_topic: dict[str, int | list[PartitionInfo]]
    subscriptions: dict[str, Subscription]
    prefer_rack_aware: bool
    expected: dict[str, list[tuple[str, int]]]
    rack_mode: bool = False
    applies: bool = True
    phantom: bool = False
    expected_upstream: dict[str, list[tuple[str, int]]] | None = None
    rack_mismatches: int | None = None


def files(place: Path) -> list[Path]:
    """Return the files of the kind `range`; raise FileNotFoundError if there are none."""
    return vector_files.of_kind(KIND, place)


def is_upstream(path: Path) -> bool:
    """Return True if the file has the cases of Kafka's own unit test."""
    return path.name == "range_upstream.json"


def is_bug(path: Path) -> bool:
    """Return True if the file has cases of Kafka's rack bug."""
    return path.name.startswith("range_upstream_bug")


@cache
def read(path: Path) -> tuple[Case, ...]:
    """Return the cases of a file; raise ValueError if there are none."""
    cases = tuple(_upstream(path) if is_upstream(path) else _cases(path))
    if not cases:
        raise ValueError(f"{path.name} is empty")
    return cases


def _cases(path: Path) -> Iterator[Case]:
    if not path.name.endswith(".jsonl.gz"):
        raise ValueError(f"{path.name}: not a file name of the kind range")
    extra = {"phantom"} if is_bug(path) else set()
    for number, line in enumerate(vector_files.read(path)):
        yield _case(line, extra, f"{path.name}, case {number}")


def _case(case: dict[str, Any], extra: set[str], place: str) -> Case:
    name = label(case, place)
    check_fields(KIND, name, case, _CASE | extra)
    via, topics = case["via"], case["topics"]
    if via not in {"cluster", "partitions", "counts"}:
        raise ValueError(f"{name}: unknown via: {via!r}")
    return Case(
        name=name,
        partitions_per_topic=_counts(name, topics) if via == "counts" else _partitions(topics),
        subscriptions=_subscriptions(name, case["members"]),
        prefer_rack_aware=case["prefer_rack_aware"],
        expected={member: [(topic, id) for topic, id in partitions] for member, partitions in case["expected"].items()},
        rack_mode=case.get("rack_mode") is True,
        applies=_applies(topics, sorts=via != "partitions"),
        phantom=case.get("phantom", False),
    )


def _upstream(path: Path) -> Iterator[Case]:
    found = json.loads(path.read_text(encoding="utf-8"))
    check_fields(KIND, path.name, found, {"upstream_tests", "extra"})
    for number, case in enumerate(found["upstream_tests"]):
        name = label(case, f"{path.name}, upstream test {number}")
        check_fields(KIND, name, case, {*_UPSTREAM, "expected"}, {"rack_mismatches"})
        yield _upstream_case(case, name)
    for number, case in enumerate(found["extra"]):
        name = label(case, f"{path.name}, extra {number}")
        check_fields(KIND, name, case, {*_UPSTREAM, "via_cluster_wrapper", "linked_subscriptions"})
        yield _upstream_case(case, name)


def _upstream_case(case: dict[str, Any], name: str) -> Case:
    return Case(
        name=name,
        partitions_per_topic=_partitions(case["topics"]),
        subscriptions=_subscriptions(name, case["members"]),
        prefer_rack_aware=case["prefer_rack_aware"],
        expected=_spelled(case["actual"]),
        applies=_applies(case["topics"], sorts=case.get("via_cluster_wrapper", False)),
        expected_upstream=_spelled(case["expected"]) if "expected" in case else None,
        rack_mismatches=case.get("rack_mismatches"),
    )


def _partitions(topics: dict[str, Any]) -> dict[str, int | list[PartitionInfo]]:
    return {topic: [PartitionInfo(id, tuple(racks)) for id, racks in found] for topic, found in topics.items()}


def _counts(name: str, topics: dict[str, Any]) -> dict[str, int | list[PartitionInfo]]:
    for topic, found in topics.items():
        if found != [[id, []] for id in range(len(found))]:
            raise ValueError(f"{name}: the partitions of {topic} cannot be given as a count")
    return {topic: len(found) for topic, found in topics.items()}


def _subscriptions(name: str, members: list[dict[str, Any]]) -> dict[str, Subscription]:
    subscriptions = {}
    for member in members:
        check_fields(KIND, name, member, _MEMBER)
        subscriptions[member["member_id"]] = Subscription(
            member["topics"], group_instance_id=member["group_instance_id"], rack=member["rack"]
        )
    if len(subscriptions) != len(members):
        raise ValueError(f"{name}: a member is given twice")
    return subscriptions


def _applies(topics: dict[str, Any], *, sorts: bool) -> bool:
    for found in topics.values():
        ids = [id for id, _ in found]
        if any(left == right for left, right in itertools.pairwise(sorted(ids))) or (not sorts and ids != sorted(ids)):
            return False
    return True


def _spelled(assignment: dict[str, list[str]]) -> dict[str, list[tuple[str, int]]]:
    answer = {}
    for member, names in assignment.items():
        split = [name.rpartition("-") for name in names]
        answer[member] = [(topic, int(id)) for topic, _, id in split]
    return answer
