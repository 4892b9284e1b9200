"""Description of the groups of a live cluster: state, coordinator, members with their partitions, and lag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from assignor.cluster.confluent import describe_group, describe_unlisted, list_members
from assignor.cluster.descriptions import GroupDescription, MemberSubscription, batches
from assignor.cluster.group_patterns import GroupPatterns
from assignor.cluster.topics import MARGIN_SECONDS, offsets
from assignor.lag import END_OFFSETS, PARTITION_LAG, group_lag, join_owners, member_lag, partition_lag
from assignor.ordering import java_order

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from concurrent.futures import Future

    from assignor.cluster.connection import ClientSettings
    from assignor.cluster.descriptions import MemberDescription
    from assignor.cluster.topics import Place

    Rows = list[tuple[Any, ...]]

GROUPS_PER_CALL = 500
"""Number of groups that one call describes."""

OFFSET_CALLS = 100
"""Number of groups whose committed offsets are requested at the same time; each needs a call of its own."""

UNREAD = "confluent-kafka returns neither kind, state nor members of share and streams groups"
"""Reason why share and streams groups, whose kind is "", have no members. The offsets of streams groups are read."""

HIDDEN = (
    "topic {topic!r} does not exist, or this client has no permission DESCRIBE on it: its offsets and lag are unknown"
)
"""Problem of a topic that is not in the metadata of the cluster, although a partition of the topic has an owner or a
committed offset."""

_COMMITTED = pa.schema(
    [("group_id", pa.string()), ("topic", pa.string()), ("partition", pa.int32()), ("committed", pa.int64())]
)
_OWNERS = pa.schema(
    [("group_id", pa.string()), ("topic", pa.string()), ("partition", pa.int32()), ("member_id", pa.string())]
)


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """Groups of a cluster with their lag.

    Attributes:
        cluster: Id of the cluster.
        groups: The groups, sorted by id.
        lag: Row of `lag.GROUP_LAG` by group; groups with neither owned partitions nor committed offsets have none.
        member_lag: Row of `lag.MEMBER_LAG` by group and member id; members without partitions have none.
        partitions: Rows of `lag.PARTITION_LAG` by group.
        problems: Group id, or "" for the cluster, and what could not be read, in the order of the calls.
        counts: Number of partitions of each topic that this client can describe.
        is_complete: True if every broker listed its groups. If not, a group that is missing may exist.
        unanswered: Partitions whose leader did not return the end offset.
        brokers: Ids of the brokers that ran when the groups were listed.
    """

    cluster: str
    groups: tuple[GroupDescription, ...]
    lag: dict[str, dict[str, Any]]
    member_lag: dict[tuple[str, str], dict[str, Any]]
    partitions: dict[str, list[dict[str, Any]]]
    problems: tuple[tuple[str, str], ...]
    counts: dict[str, int]
    is_complete: bool = True
    unanswered: frozenset[Place] = frozenset()
    brokers: frozenset[int] = frozenset()

    def to_json(self) -> dict[str, object]:
        """Return the object that `assignor describe --json` prints."""
        return {
            "cluster": self.cluster,
            "groups": [self._group(group) for group in self.groups],
            "problems": [{"group": group or None, "problem": problem} for group, problem in self.problems],
        }

    def _group(self, group: GroupDescription) -> dict[str, object]:
        node = group.coordinator
        lag = self.lag.get(group.group_id)
        return {
            "group": group.group_id,
            "kind": group.kind,
            "state": group.state,
            "protocol": group.protocol or None,
            "coordinator": None if node is None else dict(zip(("id", "host", "port"), node, strict=True)),
            "problem": group.problem,
            "topics": {topic: self.counts.get(topic) for topic in self._topics(group)},
            "lag": None if lag is None else without(lag, "group_id"),
            "members": [
                {
                    "member": member.member_id,
                    "instance_id": member.group_instance_id,
                    "client_id": member.client_id,
                    "client_host": member.client_host,
                    "subscription": _subscription(member),
                    "lag": without(found, "group_id", "member_id")
                    if (found := self.member_lag.get((group.group_id, member.member_id)))
                    else None,
                }
                for member in group.members
            ],
            "partitions": [
                {"topic": row["topic"], "partition": row["partition"], "member": row["member_id"]}
                | without(row, "group_id", "topic", "partition", "member_id")
                for row in self.partitions.get(group.group_id, ())
            ],
        }

    def _topics(self, group: GroupDescription) -> list[str]:
        """Return the topics that members subscribe to or own, and those with committed offsets."""
        topics = {row["topic"] for row in self.partitions.get(group.group_id, ())}
        for member in group.members:
            if isinstance(member.subscription, MemberSubscription):
                topics.update(member.subscription.topics)
        return sorted(topics, key=java_order)


def _subscription(member: MemberDescription) -> dict[str, object] | None:
    """Return the subscription of a member; None if it is not known."""
    if not isinstance(member.subscription, MemberSubscription):
        return None
    return {"topics": sorted(member.subscription.topics, key=java_order), "rack": member.subscription.rack}


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return a row without some of its columns."""
    return {name: value for name, value in row.items() if name not in names}


def describe(
    settings: ClientSettings,
    groups: Sequence[str] = (),
    *,
    admin: Any = None,
    on_progress: Callable[[str], None] | None = None,
) -> ClusterDescription:
    """Describe groups of a live cluster. This only reads, and needs no permission on `__consumer_offsets`.

    Owners are read first. Then the committed offsets of some groups are read, and directly after them the end offsets
    of their partitions, until all groups are read. So an offset that is committed between the reads does not appear to
    be beyond the end, and the lag does not include what was produced while other groups were read.

    Args:
        settings: Settings of the clients.
        groups: Names of groups, or patterns as in `GroupPatterns`; all groups by default.
        admin: AdminClient of the cluster; a new one by default.
        on_progress: Called with a line of text before each batch of requests.

    Raises:
        ClusterError: The cluster does not answer.
        MissingDependencyError: confluent-kafka is not installed.
    """
    return _Reader(settings, admin or settings.admin(), on_progress or (lambda _: None)).read(
        list(dict.fromkeys(groups))
    )


class _Reader:
    """Calls of one AdminClient for a description."""

    def __init__(self, settings: ClientSettings, admin: Any, on_progress: Callable[[str], None]) -> None:
        self._settings = settings
        self._admin = admin
        self._on_progress = on_progress
        self._problems: list[tuple[str, str]] = []
        self._failed: dict[Place, str] = {}
        self._unanswered: frozenset[Place] = frozenset()
        self._is_complete = True

    def read(self, wanted: list[str]) -> ClusterDescription:
        """Read the cluster."""
        pa.array([], pa.int64())  # imports pandas, which takes seconds, before any offset is read
        metadata = self._settings.metadata(self._admin)
        groups = self._groups(wanted)
        described = self._settings.metadata(self._admin).topics
        topics = described.keys()
        parts = [_lag(*read) for read in self._offsets(groups, topics)]
        rows = pa.concat_tables([PARTITION_LAG.empty_table(), *parts])
        rows = rows.sort_by([(name, "ascending") for name in ("group_id", "topic", "partition", "member_id")])
        hidden = set(rows["topic"].unique().to_pylist()) - topics
        self._problems += [("", HIDDEN.format(topic=topic)) for topic in sorted(hidden)]
        failed = sorted(self._failed.items())
        self._problems += [("", f"end offset of {topic}-{id}: {text}") for (topic, id), text in failed]
        rows = _without_offsets(rows, hidden)
        by_group: dict[str, list[dict[str, Any]]] = {}
        for row in rows.to_pylist():
            by_group.setdefault(row["group_id"], []).append(row)
        return ClusterDescription(
            metadata.cluster_id or "",
            tuple(groups),
            {row["group_id"]: row for row in group_lag(rows).to_pylist()},
            {(row["group_id"], row["member_id"]): row for row in member_lag(rows).to_pylist()},
            by_group,
            tuple(self._problems),
            {name: len(topic.partitions) for name, topic in described.items() if topic.error is None},
            self._is_complete,
            self._unanswered,
            frozenset(metadata.brokers),
        )

    def _groups(self, wanted: list[str]) -> list[GroupDescription]:
        """Return the descriptions of groups, sorted by id."""
        admin, timeout = self._admin, self._settings.timeout
        self._on_progress("listing the groups")
        listing = self._settings.result(admin, admin.list_consumer_groups(request_timeout=timeout), "list the groups")
        self._problems += [("", self._text(error, "list the groups")) for error in listing.errors or ()]
        self._is_complete = not listing.errors
        listed = {group.group_id: group for group in listing.valid or ()}
        chosen = GroupPatterns(wanted) if wanted else None
        others, error = list_members(admin, wanted if chosen is not None and chosen.are_names else None, timeout)
        if error:
            self._problems.append(("", f"share and streams groups could not be listed: {error}"))
            self._is_complete = False
        if chosen is not None:
            reason = "does not exist, or this client has no permission to describe it"
            missing = chosen.unmatched({**listed, **others})
            self._problems += [(name, f"group {name!r} {reason}") for name in missing]
            listed = {name: group for name, group in listed.items() if chosen.matches(name)}
            others = {name: group for name, group in others.items() if chosen.matches(name)}
        found = [_unlisted(group) for name, group in others.items() if name not in listed]
        done = 0
        for names in batches(list(listed), GROUPS_PER_CALL):
            self._on_progress(f"describing group {done + 1:,} of {len(listed):,}")
            futures = admin.describe_consumer_groups(names, request_timeout=timeout)
            self._wait(futures.values(), "describe the groups")
            found += [self._description(listed[name], futures[name], others.get(name), error) for name in names]
            done += len(names)
        found.sort(key=lambda group: group.group_id)
        self._problems += [(group.group_id, group.problem) for group in found if group.problem]
        return found

    def _wait(self, futures: Collection[Future[Any]], doing: str) -> None:
        """Wait for calls that go to several brokers: one that does not answer affects only its own groups.

        Raises:
            ClusterError: No call has a result in time, or the cluster rejects the connection.
        """
        settings = self._settings
        if settings.are_done(self._admin, futures, settings.timeout + MARGIN_SECONDS):
            return
        if settings.errors.fatal or not any(future.done() for future in futures):
            raise settings.unreachable(doing)

    def _description(self, listed: Any, future: Future[Any], with_members: Any, list_error: str) -> GroupDescription:
        description = describe_group(listed, future, with_members, list_error)
        description.members.sort(key=lambda member: member.member_id)
        doing = f"describe group {listed.group_id!r}"
        if not future.done():
            description.problem = str(self._settings.unreachable(doing))
        elif (error := future.exception(0)) is not None:
            description.problem = self._text(error.args[0], doing)
        return description

    def _offsets(self, groups: list[GroupDescription], topics: Collection[str]) -> Iterator[tuple[Rows, Rows, Rows]]:
        """Yield owners, committed offsets and end offsets of some groups at a time.

        Between the read of committed offsets and that of end offsets nothing else is done: the lag would include all
        that is produced meanwhile.
        """
        owners = {group.group_id: list(_owned(group)) for group in groups}
        readable = [group.group_id for group in groups if group.problem in (None, UNREAD)]
        others = [group.group_id for group in groups if group.problem not in (None, UNREAD)]
        for number, names in enumerate((others, *batches(readable, OFFSET_CALLS))):
            committed: Rows = []
            owned = [row for name in names for row in owners[name]]
            if number:
                done = (number - 1) * OFFSET_CALLS
                self._on_progress(f"reading the committed offsets of group {done + 1:,} of {len(readable):,}")
                committed = self._committed(names)
            named = {(row[1], row[2]) for row in (*committed, *owned)}
            read = offsets(self._settings, self._admin, sorted(place for place in named if place[0] in topics))
            self._failed.update(read.problems)
            self._unanswered |= read.unanswered
            yield owned, committed, [(*place, start, end) for place, (start, end) in read.found.items()]

    def _committed(self, groups: list[str]) -> Rows:
        """Return the committed offsets of groups: group id, topic, partition and offset."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        calls = {
            name: self._admin.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(name)], request_timeout=self._settings.timeout
            )[name]
            for name in groups
        }
        self._wait(calls.values(), "read committed offsets")
        return [row for name, future in calls.items() for row in self._committed_offsets(name, future)]

    def _committed_offsets(self, group: str, future: Future[Any]) -> Iterator[tuple[str, str, int, int]]:
        doing = f"read the committed offsets of group {group!r}"
        if not future.done():
            self._problems.append((group, str(self._settings.unreachable(doing))))
            return
        error = future.exception(0)
        if error is not None:
            self._problems.append((group, self._text(error.args[0], doing)))
            return
        for place in future.result(0).topic_partitions or ():
            if place.error is not None:
                doing = f"read the committed offset of {place.topic}-{place.partition} in group {group!r}"
                self._problems.append((group, self._text(place.error, doing)))
            elif place.offset >= 0:
                yield group, place.topic, place.partition, place.offset

    def _text(self, error: Any, doing: str) -> str:
        """Return the text of a KafkaError."""
        failure = self._settings.failed(doing, error.args[0] if isinstance(error, Exception) else error)
        return str(failure)


def _unlisted(group: Any) -> GroupDescription:
    """Return the description of a group that `list_consumer_groups` does not list."""
    description = describe_unlisted(group)
    if group.error is None and not description.kind:
        description.problem = UNREAD
    return description


def _owned(group: GroupDescription) -> Iterator[tuple[str, str, int, str]]:
    """Yield group id, topic, partition and member id of the partitions that members own."""
    for member in group.members:
        for topic, partition in sorted(set(member.assigned)):
            yield group.group_id, topic, partition, member.member_id


def _lag(owned: Rows, committed: Rows, ends: Rows) -> pa.Table:
    positions = join_owners(_table(committed, _COMMITTED), _table(owned, _OWNERS))
    return partition_lag(positions, _table(ends, END_OFFSETS))


def _without_offsets(rows: pa.Table, hidden: set[str]) -> pa.Table:
    """Set the problem of all partitions of hidden topics to `unknown_end`.

    `partition_lag` returns `never_committed` for a partition without a known committed offset. The partitions of a
    hidden topic can have committed offsets that this client cannot read.
    """
    is_hidden = pc.is_in(rows["topic"], pa.array(list(hidden), pa.string()))
    problem = pc.if_else(is_hidden, "unknown_end", rows["problem"])
    return rows.set_column(rows.schema.get_field_index("problem"), rows.schema.field("problem"), problem)


def _table(rows: Rows, schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
