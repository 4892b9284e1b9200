"""Snapshot of a live cluster: its topics, groups, members and assignments as rows.

Rows of topics, members and assignments have the columns of TOPICS, MEMBERS and ASSIGNMENTS in `assignor.spark.schemas`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from assignor.dependencies import dependency

__all__ = ["ClusterSnapshot", "CurrentRow", "GroupRow", "GuessedSubscription", "MemberRow", "Problem", "TopicRow"]


class TopicRow(NamedTuple):
    """Topic of the cluster.

    Attributes:
        cluster: The name of the cluster.
        topic: The name of the topic.
        partitions: Number of partitions; their ids are 0 to `partitions` - 1.
        racks: For each partition the racks of its replicas, with None for a replica on an unknown broker or one without
            a rack; None instead of a tuple if no broker of the cluster has a rack.
        topic_id: Its id in Kafka's text format; None if the client did not return it.
    """

    cluster: str
    topic: str
    partitions: int
    racks: tuple[tuple[str | None, ...], ...] | None = None
    topic_id: str | None = None


class MemberRow(NamedTuple):
    """Member of a group, and its subscription.

    Attributes:
        cluster: The name of the cluster.
        group_id: The group.
        member_id: The member.
        group_instance_id: Instance id of a static member, else None.
        rack: Rack of the member; None if it has none, or if the broker did not return it (see `GuessedSubscription`).
        topics: The topics that it subscribes to, in Java's `String` order.
        pattern: Always None: no admin client returns patterns. A classic member with a pattern sends the names that
            its pattern matches.
        dialect: Always None, as there is no pattern.
        assignor: The assignor of its group, such as `"range"`; None if the broker did not return it.
        group_protocol: `"classic"` or `"consumer"`; None if the broker did not return it.
        generation: Always None: no admin client returns the generation of a group. All members of a stable group have
            the same generation.
        protocol_type: Protocol type of a classic group, such as `"consumer"`; None if it is not known.
        library: Client library, such as `"java"`; None if it is not known (see `assignor.migration.classic_member`).
        library_version: Its version, as far as it is visible.
        conversion_problem: Why a broker cannot take the member over into a group of KIP-848; None if it can, or it is
            not known.
    """

    cluster: str
    group_id: str
    member_id: str
    group_instance_id: str | None
    rack: str | None
    topics: tuple[str, ...]
    pattern: str | None = None
    dialect: str | None = None
    assignor: str | None = None
    group_protocol: str | None = None
    generation: int | None = None
    protocol_type: str | None = None
    library: str | None = None
    library_version: str | None = None
    conversion_problem: str | None = None


class CurrentRow(NamedTuple):
    """Span of consecutive partitions that a member owns.

    Attributes:
        cluster: The name of the cluster.
        group_id: The group.
        member_id: The owner.
        topic: The topic.
        start: The first partition.
        count: Number of partitions; at least 1.
    """

    cluster: str
    group_id: str
    member_id: str
    topic: str
    start: int
    count: int  # type: ignore[assignment]  # the column hides tuple.count, which is not needed


class GroupRow(NamedTuple):
    """Group that the cluster listed, including groups that could not be read.

    Attributes:
        cluster: The name of the cluster.
        group_id: The group.
        kind: `"classic"`, `"consumer"` (KIP-848), `"share"`, `"streams"`, the protocol type of a classic group without
            consumers, such as `"connect"`, or `""` if the broker did not return it.
        state: Kafka's name of the state, such as `"Stable"`; `""` if the broker did not return it.
        protocol: The assignor that the group uses, such as `"range"`; `""` if it has none.
        members: Number of members; 0 if the group was not read.
        read: True if its members are in the snapshot; otherwise a `Problem` has the reason.
    """

    cluster: str
    group_id: str
    kind: str
    state: str
    protocol: str
    members: int
    read: bool


class GuessedSubscription(NamedTuple):
    """Member whose subscription is not known; it is guessed to be all topics with assigned partitions in its group.

    Attributes:
        cluster: The name of the cluster.
        group_id: The group.
        member_id: The member.
        reason: Why the subscription is not known.
    """

    cluster: str
    group_id: str
    member_id: str
    reason: str


class Problem(NamedTuple):
    """Part of the cluster that is not in the rows, with the reason.

    Attributes:
        cluster: The name of the cluster.
        what: Kind of the part.
        name: Name of the topic or group; for a cluster, the call that failed.
        reason: Why it is missing.
    """

    cluster: str
    what: Literal["cluster", "topic", "group"]
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """Topics, groups, members and assignments of a cluster, in rows sorted by their columns.

    The snapshot is not atomic: groups are read one batch after another and may change in between.

    Attributes:
        cluster: Name of the cluster in all rows.
        topics: A row per topic, including internal topics.
        members: A row per member of each group that was read.
        current: A row per span of consecutive partitions of a member.
        groups: A row per listed group, including groups that were not read.
        guessed: Members whose `topics` are a guess.
        problems: Parts that are not in the rows: topics with an error, groups that cannot be read, failed calls.
    """

    cluster: str
    topics: tuple[TopicRow, ...]
    members: tuple[MemberRow, ...]
    current: tuple[CurrentRow, ...]
    groups: tuple[GroupRow, ...]
    guessed: tuple[GuessedSubscription, ...] = ()
    problems: tuple[Problem, ...] = ()

    def to_arrow(self) -> dict[str, Any]:
        """Return `pyarrow.Table`s by name: `topics`, `members`, `current`, `groups`, `guessed`, `problems`.

        Columns have the types of `assignor.spark.schemas`, even in tables without rows.

        Raises:
            MissingDependencyError: pyarrow is not installed.

        Example:
            >>> rows = (TopicRow("main", "orders", 3, None),)
            >>> ClusterSnapshot("main", rows, (), (), ()).to_arrow()["topics"].to_pylist()
            [{'cluster': 'main', 'topic': 'orders', 'partitions': 3, 'racks': None, 'topic_id': None}]
        """
        with dependency("pyarrow"):
            import pyarrow as pa
        text, number = pa.string(), pa.int32()
        special = {
            "partitions": number,
            "start": number,
            "count": number,
            "generation": number,
            "racks": pa.list_(pa.list_(text)),
            "topics": pa.list_(text),
            "read": pa.bool_(),
        }
        tables = {}
        for name, row, numbers in (
            ("topics", TopicRow, ()),
            ("members", MemberRow, ()),
            ("current", CurrentRow, ()),
            ("groups", GroupRow, ("members",)),
            ("guessed", GuessedSubscription, ()),
            ("problems", Problem, ()),
        ):
            kinds = [number if field in numbers else special.get(field, text) for field in row._fields]
            columns = zip(*getattr(self, name), strict=True) if getattr(self, name) else [()] * len(kinds)
            arrays = [pa.array(list(values), kind) for values, kind in zip(columns, kinds, strict=True)]
            tables[name] = pa.Table.from_arrays(arrays, names=list(row._fields))
        return tables
