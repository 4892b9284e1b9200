"""One look at a live cluster: its topics, its groups' members and who has what, as plain rows.

The rows have the columns of `assignor.spark.schemas` in their order: TOPICS, MEMBERS and ASSIGNMENTS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from assignor.errors import MissingDependencyError

__all__ = ["ClusterSnapshot", "CurrentRow", "GroupRow", "GuessedSubscription", "MemberRow", "Problem", "TopicRow"]


class TopicRow(NamedTuple):
    """A topic.

    Attributes:
        cluster: The name of the cluster.
        topic: The name of the topic.
        partitions: How many it has; their ids are 0 to `partitions` - 1.
        racks: For each partition the racks of its replicas, None for a replica on a broker without a rack or one that
            is not known; None for the whole where no broker of the cluster has a rack.
        topic_id: Its id as Kafka prints it; None where the client did not return it.
    """

    cluster: str
    topic: str
    partitions: int
    racks: tuple[tuple[str | None, ...], ...] | None = None
    topic_id: str | None = None


class MemberRow(NamedTuple):
    """A member of a group, and what it subscribes to.

    Attributes:
        cluster: The name of the cluster.
        group_id: The group.
        member_id: The member.
        group_instance_id: What makes it static, else None.
        rack: Where it is; None where it has no rack, or where the broker did not return it (see `GuessedSubscription`).
        topics: The topics that it subscribes to, in Java's `String` order.
        pattern: Always None: no client's admin tells a pattern. A classic member sends names only; for a member with a
            pattern these are the ones that it matched.
        dialect: Always None, as there is no pattern.
        assignor: The assignor of its group, such as `"range"`; None where the broker did not return it.
        group_protocol: `"classic"` or `"consumer"`; None where the broker did not return it.
        generation: Always None: no admin client returns the generation of a group. All members of a stable group have
            the same generation.
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


class CurrentRow(NamedTuple):
    """A run of consecutive partition ids that a member has.

    Attributes:
        cluster: The name of the cluster.
        group_id: The group.
        member_id: Who has them.
        topic: The topic.
        start: The first id of the run.
        count: How many ids; at least 1.
    """

    cluster: str
    group_id: str
    member_id: str
    topic: str
    start: int
    count: int  # type: ignore[assignment]  # the column hides tuple.count, of no use here


class GroupRow(NamedTuple):
    """A group that the cluster listed, whether it could be read or not.

    Attributes:
        cluster: The name of the cluster.
        group_id: The group.
        kind: `"classic"`, `"consumer"` (KIP-848), `"share"`, `"streams"`, the protocol type of a classic group that
            is none of consumers, such as `"connect"`, or `""` where the broker does not say.
        state: Kafka's name, such as `"Stable"`; `""` where the broker does not say.
        protocol: The assignor that the group uses, such as `"range"`; `""` where it has none.
        members: How many it has; 0 where it was not read.
        read: Whether its members are in the snapshot; if not, a `Problem` says why.
    """

    cluster: str
    group_id: str
    kind: str
    state: str
    protocol: str
    members: int
    read: bool


class GuessedSubscription(NamedTuple):
    """A member whose subscription is not known; it is assumed to be all topics that its group has partitions in.

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
    """Something that is not in the rows, and why.

    Attributes:
        cluster: The name of the cluster.
        what: What it is.
        name: The topic or the group; for a cluster what was asked.
        reason: Why it was left out.
    """

    cluster: str
    what: Literal["cluster", "topic", "group"]
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """Topics, groups, members and assignments of a cluster, in rows sorted by their columns.

    It is no single moment: groups are asked one batch after another, and may have changed meanwhile.

    Attributes:
        cluster: The name that all rows carry.
        topics: A row per topic, internal ones too.
        members: A row per member of each group that was read; a group without members has none.
        current: A row per run of consecutive partitions that a member has.
        groups: A row per group that was listed, those too that were not read.
        guessed: The members whose `topics` are a guess.
        problems: What is not in the rows: a topic with an error, a group that cannot be read.
    """

    cluster: str
    topics: tuple[TopicRow, ...]
    members: tuple[MemberRow, ...]
    current: tuple[CurrentRow, ...]
    groups: tuple[GroupRow, ...]
    guessed: tuple[GuessedSubscription, ...] = ()
    problems: tuple[Problem, ...] = ()

    def to_arrow(self) -> dict[str, Any]:
        """The rows as `pyarrow.Table`s by name: `topics`, `members`, `current`, `groups`, `guessed`, `problems`.

        Columns have the types of `assignor.spark.schemas`, in tables without rows too.

        Raises:
            MissingDependencyError: There is no pyarrow.

        Example:
            >>> rows = (TopicRow("main", "orders", 3, None),)
            >>> ClusterSnapshot("main", rows, (), (), ()).to_arrow()["topics"].to_pylist()
            [{'cluster': 'main', 'topic': 'orders', 'partitions': 3, 'racks': None, 'topic_id': None}]
        """
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingDependencyError("pyarrow is not installed: pip install 'assignor[spark]'") from None
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
