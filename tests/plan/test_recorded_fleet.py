"""The length of a group's record, against the records that a real cluster wrote."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor import Plan, Subscription, TopicPartition, plan
from assignor.offsets import decode_record
from assignor.reference.history import Metadata
from assignor.wire import DecodedSubscription, decode_assignment, decode_subscription
from tests.support.engines import Engine
from tests.support.recorded_fleet import logs, topics

if TYPE_CHECKING:
    from assignor.offsets import Record

Members = dict[str, list[TopicPartition]]

FIRST = 12
"""How many records of a group are looked at, besides the last one: more than any group under range has."""


class Written(NamedTuple):
    """The record of a generation: its length, and what it says."""

    group: str
    length: int
    time: int
    record: Record

    @property
    def value(self) -> dict[str, Any]:
        """The fields of the value."""
        assert self.record.value is not None
        return self.record.value

    @property
    def name(self) -> tuple[str, int]:
        """Group and generation."""
        return self.group, self.value["generation"]

    def subscribed(self) -> dict[str, DecodedSubscription]:
        """What each member wants; one wrote an older body than its header says."""
        return {
            member["memberId"]: decode_subscription(member["subscription"], tolerant=True)
            for member in self.value["members"]
        }

    def assigned(self) -> Members:
        """What each member has, in the order of a plan."""
        return {
            member["memberId"]: sorted(
                decode_assignment(member["assignment"]).partitions,
                key=lambda partition: (partition.topic.encode("utf-16-be"), partition.partition),
            )
            for member in self.value["members"]
        }


@functools.cache
def written() -> list[Written]:
    """The first records of every group whose members are consumers, under any protocol."""
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
    """What the range rules give, by the topics before the record and by those after it."""
    instance_ids = {member["memberId"]: member["groupInstanceId"] for member in record.value["members"]}
    members = {
        member: Subscription(
            read.topics, instance_ids[member], read.rack, read.owned_partitions, read.generation, read.user_data
        )
        for member, read in record.subscribed().items()
    }
    return [plan(moment.topics, members, engine=engine) for moment in metadata().around(record.time)]


def size(found: Plan, record: Written, **changed: Any) -> int:
    """The length as the plan has it, from what the record says of leader, clients and versions."""
    clients = {member["memberId"]: (member["clientId"], member["clientHost"]) for member in record.value["members"]}
    versions = {
        member: read.version if read.tolerated is None else read.tolerated
        for member, read in record.subscribed().items()
    }
    known = {"leader": record.value["leader"], "clients": clients, "versions": versions} | changed
    return found.group_metadata_size(record.group, **known)


@functools.cache
def metadata() -> Metadata:
    """What is known of the topics over time."""
    return Metadata.read(topics())


def range_records() -> list[Written]:
    """The records of generations under the range protocol that have members."""
    return [record for record in written() if record.value["protocol"] == "range" and record.value["members"]]


OTHERWISE = {
    ("shipping.eta", 1): "the leader did not know of the topics yet, and assigned nothing",
    ("legacy-bridge", 2): "the leader's client has range rules of its own",
}
"""Why a generation is not what Kafka's rules give."""


def test_a_plan_that_is_the_recorded_assignment_has_the_length_of_the_record(engine: Engine) -> None:
    otherwise = []
    for record in range_records():
        sizes = {size(found, record) for found in plans(record, engine) if found == record.assigned()}
        if not sizes:
            otherwise.append(record.name)
            continue
        assert {record.length} == sizes, record.name

    assert list(OTHERWISE) == otherwise
    assert 32 == len(range_records())


def test_the_rest_of_a_record_has_its_length_whatever_was_assigned_and_by_which_protocol(engine: Engine) -> None:
    seen = set()
    read: list[DecodedSubscription] = []
    for record in written():
        protocol = record.value["protocol"]
        if protocol is None:
            continue
        seen.add(record.group)
        found = plans(record, engine)[-1]
        read += record.subscribed().values()
        rest = record.length - len(protocol) - sum(len(member["assignment"]) for member in record.value["members"])

        assert rest == size(found, record) - len("range") - sum(map(len, found.encode().values())), record.name

    assert {"fraud-mixed", "inventory-sync", "notify-dispatch", "orders-enricher"} < seen
    assert {0, 1, 3} == {found.version for found in read}  # no client writes version 2
    assert {None, 0} == {found.tolerated for found in read}
    assert all(any(getattr(found, name) for found in read) for name in ("owned_partitions", "user_data", "rack"))
    assert any(member["groupInstanceId"] for record in range_records() for member in record.value["members"])


def test_a_group_that_lost_its_members_has_the_length_of_its_record(engine: Engine) -> None:
    empty = [record for record in written() if not record.value["members"]]

    assert 5 == len(empty)
    for record in empty:
        assert record.value["protocol"] is None
        assert record.length == size(plan({}, {}, engine=engine), record), record.name


def test_whatever_is_said_of_a_group_changes_the_length(engine: Engine) -> None:
    record = next(record for record in range_records() if record.name == ("fraud-mixed", 4))
    found = next(found for found in plans(record, engine) if found == record.assigned())

    assert record.length == size(found, record)
    for changed in ({"leader": None}, {"clients": None}, {"versions": 0}):
        assert record.length > size(found, record, **changed)
