"""Reader of the vectors of the kind `assignors`: answers of Kafka's assignors.

The files are `assignor_*_*.jsonl.gz` in `tests/vectors` or in the folder `ASSIGNOR_VECTORS`, with a case per line.
Nothing is skipped: an unknown assignor or field is an error. `streams_vectors.py` reads the cases of streams groups,
which assign tasks, not partitions.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from assignor import PartitionInfo, Subscription, TopicPartition, errors
from tests.conformance import streams_vectors
from tests.conformance.deviations import DEVIATIONS, tags_of
from tests.conformance.streams_vectors import StreamsCase
from tests.support import vector_files
from tests.support.vector_fields import check_fields, label

KIND = "assignors"
FILES = "assignor_*_*.jsonl.gz"

DEFECTS = frozenset[str]().union(*(deviation.tags for deviation in DEVIATIONS))
"""Tags of cases in which Kafka's answer comes from one of its defects (docs/assignors/).

`out_of_range` means that a member claims a partition that does not exist. All answers to share groups have to equal
Kafka's; for an exception, `RAISED` has the error to raise.
"""

NOT_DETERMINED = "not determined"
"""Exception in a case to which Kafka's class gives another answer in each process."""

RAISED = {"java.util.NoSuchElementException": errors.IllegalStateError, NOT_DETERMINED: errors.NotDeterminedError}
"""Exceptions of the share assignor, each with the error that stands for it."""

Json = dict[str, Any]
Partitions = list[TopicPartition]


class Named(NamedTuple):
    """Names under which `assign` knows an assignor of the vectors."""

    group_protocol: str
    assignor: str


ASSIGNORS: Mapping[str, Named] = {
    "range": Named("classic", "range"),
    "roundrobin": Named("classic", "roundrobin"),
    "sticky": Named("classic", "sticky"),
    "cooperative_sticky": Named("classic", "cooperative-sticky"),
    "server_uniform": Named("consumer", "uniform"),
    "server_range": Named("consumer", "range"),
    "share_simple": Named("share", "simple"),
}

_OPTIONAL = {"member_order", "not_a_partition"}
_MEMBER = {"member_id", "topics"}
_CLAIMS = {"owned", "generation"}


@dataclass(frozen=True)
class Case:
    """One input and Kafka's answer.

    Attributes:
        name: Name that a failure is reported with.
        kind: Name of the assignor in the vectors.
        partitions_per_topic: Topics in the form that `assign` accepts.
        subscriptions: Members in the form that `assign` accepts, in the order in which Kafka inserted them into its
            hash table.
        topic_ids: Ids of topics; None for assignors of the client.
        expected: Kafka's answer; None if Kafka raised an error.
        member_order: Order in which Kafka's table lists the members; None if the case does not have it.
        previous: Claims and generation that Kafka's sticky assignor read from the user data of each member; None for
            other assignors.
        is_exact: True if our answer must equal Kafka's; otherwise it only has to be a valid assignment.
        raises: Error to raise in place of an answer; None if there is an answer.
    """

    name: str
    kind: str
    partitions_per_topic: dict[str, int | list[int] | list[PartitionInfo]]
    subscriptions: dict[str, Subscription]
    topic_ids: dict[str, uuid.UUID] | None
    expected: dict[str, Partitions] | None
    member_order: list[str] | None
    previous: dict[str, tuple[Partitions, int | None]] | None
    is_exact: bool
    raises: type[errors.AssignorError] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Options of `assign` that select the assignor."""
        named = ASSIGNORS[self.kind]
        options: dict[str, Any] = {"assignor": named.assignor, "group_protocol": named.group_protocol}
        return options if self.topic_ids is None else {**options, "topic_ids": self.topic_ids}

    @property
    def withholds(self) -> bool:
        """True if the assignor may withhold partitions until their owners give them up."""
        return self.kind == "cooperative_sticky"


def files(place: Path) -> list[Path]:
    """Return the files of the kind `assignors`.

    Raises:
        FileNotFoundError: The folder has none.
    """
    return vector_files.of_kind(KIND, place, names=FILES)


@cache
def read(path: Path) -> tuple[Case | StreamsCase, ...]:
    """Return the cases of a file.

    Raises:
        ValueError: The file is empty, or something in it is unknown.
    """
    found: list[Case | StreamsCase] = []
    for number, line in enumerate(vector_files.read(path)):
        of_streams = line.get("assignor") == streams_vectors.ASSIGNOR
        found.append((streams_vectors.parse if of_streams else parse)(line, f"{path.name}, case {number}"))
    return tuple(found)


def parse(line: Json, place: str = "case") -> Case:
    """Return one case.

    Raises:
        ValueError: The assignor or a field is unknown, or a needed field is missing.
    """
    name = label(line, place)
    kind = line.get("assignor")
    if not isinstance(kind, str) or kind not in ASSIGNORS:
        raise ValueError(f"{name}: unknown assignor: {kind!r}")
    is_server = ASSIGNORS[kind].group_protocol != "classic"
    check_fields(
        KIND,
        name,
        line,
        {"assignor", "topics", "members", "error" if "error" in line else "expected"},
        _OPTIONAL if is_server else {*_OPTIONAL, "replica_racks"},
    )
    members = line["members"]
    subscriptions = dict(_member(name, kind, member) for member in members)
    if len(subscriptions) != len(members):
        raise ValueError(f"{name}: a member is given twice")
    topics, ids = _server_topics(name, kind, line["topics"]) if is_server else (_client_topics(line), None)
    java_error = line["error"][0] if "error" in line else None
    if kind == "share_simple" and java_error not in {None, *RAISED}:
        raise ValueError(f"{name}: unknown exception: {java_error}")
    return Case(
        name=name,
        kind=kind,
        partitions_per_topic=topics,
        subscriptions=subscriptions,
        topic_ids=ids,
        expected=None if "error" in line else {member: _partitions(of) for member, of in line["expected"].items()},
        member_order=line.get("member_order"),
        previous=dict(_previous(name, member) for member in members) if kind == "sticky" else None,
        is_exact=not (java_error or _defects(kind, line)),
        raises=RAISED[java_error] if kind == "share_simple" and java_error else None,
    )


def _defects(kind: str, line: Json) -> frozenset[str]:
    """Return the tags of a case that mark a deviation of its assignor."""
    tags = {*_tags(line), *(["not_a_partition"] if line.get("not_a_partition") else [])}
    return tags_of(kind) & tags


def _tags(line: Json) -> list[str]:
    tags = line.get("tags")
    return tags if isinstance(tags, list) else []


def _member(name: str, kind: str, member: Json) -> tuple[str, Subscription]:
    """Return the id and the subscription of a member.

    User data is never None for sticky: without user data, `assign` would use the owned partitions of the subscription,
    which Kafka's class does not read.
    """
    claims: dict[str, Any] = {}
    match kind:
        case "range" | "roundrobin":
            check_fields(KIND, name, member, _MEMBER, {"instance_id", "rack"})
        case "sticky" | "cooperative_sticky":
            needs = {*_MEMBER, *_CLAIMS} | ({"previous"} if kind == "sticky" else set())
            check_fields(KIND, name, member, needs, {"instance_id", "rack", "user_data"})
            data = member.get("user_data")
            absent = b"" if kind == "sticky" else None
            claims["user_data"] = absent if data is None else bytes.fromhex(data)
            claims["owned_partitions"] = tuple(_partitions(member["owned"]))
            claims["generation"] = generation(member["generation"])
        case _:
            optional = {"rack"} if kind == "share_simple" else {"instance_id", "rack"}
            check_fields(KIND, name, member, {*_MEMBER, "assigned"}, optional)
            claims["owned_partitions"] = tuple(_partitions(member["assigned"]))
    return member["member_id"], Subscription(
        tuple(member["topics"]), group_instance_id=member.get("instance_id"), rack=member.get("rack"), **claims
    )


def _previous(name: str, member: Json) -> tuple[str, tuple[Partitions, int | None]]:
    previous = member["previous"]
    check_fields(KIND, name, previous, {"partitions", "generation"})
    return member["member_id"], (_partitions(previous["partitions"]), generation(previous["generation"]))


def generation(number: int | None) -> int | None:
    """Return a generation of the vectors, where a negative one means none."""
    return None if number is None or number < 0 else number


def _partitions(entries: list[list[Any]]) -> Partitions:
    return [TopicPartition(topic, partition) for topic, partition in entries]


def _client_topics(line: Json) -> dict[str, int | list[int] | list[PartitionInfo]]:
    racks = line.get("replica_racks") or {}
    unknown = racks.keys() - line["topics"].keys()
    if unknown:
        raise ValueError(f"{label(line, 'case')}: unknown topics in replica_racks: {sorted(unknown)}")
    return {topic: _replicated(count, racks.get(topic)) for topic, count in line["topics"].items()}


def _server_topics(
    name: str, kind: str, topics: list[Json]
) -> tuple[dict[str, int | list[int] | list[PartitionInfo]], dict[str, uuid.UUID]]:
    """Return the existing topics and the ids of all topics."""
    ids = {}
    for topic in topics:
        optional = "assignable" if kind == "share_simple" else "replica_racks"
        check_fields(KIND, name, topic, {"name", "id"}, {"partitions", "deleted", optional})
        ids[topic["name"]] = uuid.UUID(topic["id"])
    if len(ids) != len(topics):
        raise ValueError(f"{name}: a topic is given twice")
    live = (topic for topic in topics if not topic.get("deleted"))
    return {topic["name"]: _server_partitions(name, topic) for topic in live}, ids


def _server_partitions(name: str, topic: Json) -> int | list[int] | list[PartitionInfo]:
    """Return the partitions of a topic that can be assigned."""
    assignable = topic.get("assignable")
    if assignable is None:
        return _replicated(topic["partitions"], topic.get("replica_racks"))
    if not all(0 <= number < topic["partitions"] for number in assignable):
        raise ValueError(f"{name}: topic {topic['name']}: assignable partitions that do not exist")
    numbers: list[int] = assignable
    return numbers


def _replicated(count: int, racks: list[list[str | None]] | None) -> int | list[PartitionInfo]:
    if racks is None:
        return count
    return [PartitionInfo(id, tuple(of)) for id, of in zip(range(count), racks, strict=True)]


def exact(cases: tuple[Case | StreamsCase, ...]) -> Iterator[Case]:
    """Yield the cases with partitions in which our answer must equal Kafka's."""
    return (case for case in cases if isinstance(case, Case) and case.is_exact)
