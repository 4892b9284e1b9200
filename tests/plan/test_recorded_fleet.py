"""Size of a group's record, compared with the records that a real cluster wrote."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor import Plan, Subscription, TopicPartition, plan
from assignor.offsets import decode_record
from assignor.wire import DecodedSubscription, decode_assignment, decode_subscription
from tests.support.engines import Engine
from tests.support.recorded_fleet import logs, topics_around

if TYPE_CHECKING:
    from assignor.offsets import Record

Members = dict[str, list[TopicPartition]]

FIRST = 12
"""Number of records that are read per group, besides the last one; no group with range has more."""


class Written(NamedTuple):
    """Record of a generation: its size and content."""

    group: str
    length: int
    time: int
    record: Record

    @property
    def value(self) -> dict[str, Any]:
        """Fields of the value."""
        assert self.record.value is not None
        return self.record.value

    @property
    def name(self) -> tuple[str, int]:
        """Group and generation."""
        return self.group, self.value["generation"]

    def subscribed(self) -> dict[str, DecodedSubscription]:
        """Return the subscription of each member; one member wrote an older body under a newer header."""
        return {
            member["memberId"]: decode_subscription(member["subscription"], tolerant=True)
            for member in self.value["members"]
        }

    def assigned(self) -> Members:
        """Return the partitions of each member, in the order of a plan."""
        return {
            member["memberId"]: sorted(
                decode_assignment(member["assignment"]).partitions,
                key=lambda partition: (partition.topic.encode("utf-16-be"), partition.partition),
            )
            for member in self.value["members"]
        }


@functools.cache
def written() -> list[Written]:
    """Return the first records and the last one of each group of consumers."""
    found = []
    for group, records in logs().items():
        generations = [record for record in records if (record.key or b"")[:2] == b"\0\2" and record.value is not None]
        for record in (*generations[:FIRST], *generations[FIRST:][-1:]):
            decoded = decode_record(record.key, record.value)
            if decoded.value is not None and decoded.value["protocolType"] == "consumer":
                length = len(record.key or b"") + len(record.value or b"")
                found.append(Written(group, length, record.timestamp, decoded))
    return found


def plans(record: Written, engine: Engine) -> list[Plan]:
    """Return the range plans for the topics before and after the record."""
    instance_ids = {member["memberId"]: member["groupInstanceId"] for member in record.value["members"]}
    members = {
        member: Subscription(
            read.topics, instance_ids[member], read.rack, read.owned_partitions, read.generation, read.user_data
        )
        for member, read in record.subscribed().items()
    }
    return [plan(topics, members, engine=engine) for topics in topics_around(record.time)]


def size(found: Plan, record: Written) -> int:
    """Return the size that the plan computes with the leader, clients and versions of the record."""
    clients = {member["memberId"]: (member["clientId"], member["clientHost"]) for member in record.value["members"]}
    versions = {
        member: read.version if read.tolerated is None else read.tolerated
        for member, read in record.subscribed().items()
    }
    leader = record.value["leader"]
    return found.group_metadata_size(record.group, leader=leader, clients=clients, versions=versions)


def range_records() -> list[Written]:
    """Return the records of range generations that have members."""
    return [record for record in written() if record.value["protocol"] == "range" and record.value["members"]]


OTHERWISE = {
    ("shipping.eta", 1): "the leader did not know of the topics yet, and assigned nothing",
    ("legacy-bridge", 2): "the leader's client has range rules of its own",
}
"""Reasons why generations differ from the answer of range."""


def test_the_plan_of_a_recorded_assignment_has_the_size_of_its_record(engine: Engine) -> None:
    otherwise = []
    for record in range_records():
        sizes = {size(found, record) for found in plans(record, engine) if found == record.assigned()}
        if not sizes:
            otherwise.append(record.name)
            continue
        assert {record.length} == sizes, record.name

    assert list(OTHERWISE) == otherwise
    assert 32 == len(range_records())


def test_a_group_that_lost_its_members_has_the_size_of_its_record(engine: Engine) -> None:
    empty = [record for record in written() if not record.value["members"]]

    assert 5 == len(empty)
    for record in empty:
        assert record.value["protocol"] is None
        assert record.length == size(plan({}, {}, engine=engine), record), record.name
