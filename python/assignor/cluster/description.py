"""Description of the groups of a live cluster: state, coordinator, members with their partitions, and lag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.cluster.cluster_description import ClusterDescription
from assignor.cluster.confluent import describe_group, describe_unlisted, list_members
from assignor.cluster.descriptions import GroupDescription, batches
from assignor.cluster.earlier_offsets import consistent, earlier_offsets
from assignor.cluster.name_patterns import NamePatterns
from assignor.cluster.other_groups import OtherGroups
from assignor.cluster.topic_retention import RetentionReader
from assignor.cluster.topics import MARGIN_SECONDS, offsets
from assignor.cluster.written_times import local_ms, written_times
from assignor.dependencies import dependency
from assignor.lag import END_OFFSETS, PARTITION_LAG, group_lag, join_owners, partition_lag
from assignor.lag_time import TIME_LAG, lag_in_time
from assignor.lag_time_sums import sum_lag_in_time

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from concurrent.futures import Future

    from assignor.cluster.connection import ClientSettings
    from assignor.cluster.other_groups import ShareOffset
    from assignor.cluster.topics import Place

    Rows = list[tuple[Any, ...]]

GROUPS_PER_CALL = 500
"""Number of groups that one call describes."""

OFFSET_CALLS = 100
"""Number of groups whose committed offsets are requested at the same time; each needs a call of its own."""

UNREAD = "confluent-kafka returns neither kind, state nor members of share and streams groups"
"""Reason why groups whose kind is "" have no members: share and streams groups that `OtherGroups` could not describe
either. The offsets of streams groups are read."""

HIDDEN = (
    "topic {topic!r} does not exist, or this client has no permission DESCRIBE on it: its offsets and lag are unknown"
)
"""Problem of a topic that is not in the metadata of the cluster, although a partition of the topic has an owner or a
committed offset."""

_COMMITTED = pa.schema(
    [("group_id", pa.string()), ("topic", pa.string()), ("partition", pa.int32()), ("committed", pa.int64())]
)
_SHARE_LAG = pa.schema([*list(_COMMITTED)[:3], ("share_lag", pa.int64())])
OWNERS = pa.schema([*list(_COMMITTED)[:3], ("member_id", pa.string())])
"""Owners of partitions: a row per partition of a member."""


def describe(
    settings: ClientSettings,
    groups: Sequence[str] = (),
    *,
    admin: Any = None,
    on_progress: Callable[[str], None] | None = None,
    has_other_groups: bool = True,
    has_times: bool = True,
    earlier: ClusterDescription | None = None,
) -> ClusterDescription:
    """Describe groups of a live cluster. This only reads, and needs no permission on `__consumer_offsets`.

    Owners are read first. Then the committed offsets of some groups are read, and directly after them the end offsets
    of their partitions, until all groups are read. So an offset that is committed between the reads does not appear to
    be beyond the end, and the lag does not include what was produced while other groups were read.

    Args:
        settings: Settings of the clients.
        groups: Names of groups, or patterns as in `NamePatterns`; all groups by default.
        admin: AdminClient of the cluster; a new one by default.
        on_progress: Called with a line of text before each batch of requests.
        has_other_groups: False to describe neither kind nor members of share and streams groups, which needs a second
            connection.
        has_times: False to leave out the times of records, from which the seconds behind are computed, and the settings
            of topics that say when records are deleted.
        earlier: An earlier description of the cluster. With it, growth and the time to catch up are known.

    Raises:
        ClusterError: The cluster does not answer.
        MissingDependencyError: confluent-kafka is not installed.
    """
    with OtherGroups(settings) as others:
        reader = _Reader(settings, admin or settings.admin(), others, on_progress or (lambda _: None))
        return reader.read(list(dict.fromkeys(groups)), earlier, has_other_groups=has_other_groups, has_times=has_times)


class _Reader:
    """Calls of one AdminClient for a description, and those of a second client for share and streams groups."""

    def __init__(
        self, settings: ClientSettings, admin: Any, others: OtherGroups, on_progress: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._admin = admin
        self._others = others
        self._on_progress = on_progress
        self._retention = RetentionReader(settings, admin)
        self._share_offsets: dict[tuple[str, str, int], ShareOffset] = {}
        self._problems: list[tuple[str, str]] = []
        self._failed: dict[Place, str] = {}
        self._unanswered: frozenset[Place] = frozenset()
        self._is_complete = True

    def read(
        self, wanted: list[str], earlier: ClusterDescription | None, *, has_other_groups: bool, has_times: bool
    ) -> ClusterDescription:
        """Read the cluster."""
        pa.array([], pa.int64())  # imports pandas, which takes seconds, before any offset is read
        metadata = self._settings.metadata(self._admin)
        groups = self._groups(wanted, _counts(metadata.topics) if has_other_groups else None)
        described = self._settings.metadata(self._admin).topics
        topics = described.keys()
        read_at: dict[str, int] = {}
        parts = [TIME_LAG.empty_table()]
        for at, *read in self._offsets(groups, topics):
            part = _without_offsets(_with_share_lag(_lag(*read), self._share_offsets), topics)
            parts.append(self._in_time(part, at, earlier, has_times=has_times))
            read_at.update(dict.fromkeys(part["group_id"].unique().to_pylist(), at))
        rows = pa.concat_tables(parts)
        rows = rows.sort_by([(name, "ascending") for name in ("group_id", "topic", "partition", "member_id")])
        hidden = set(rows["topic"].unique().to_pylist()) - topics
        self._problems += [("", HIDDEN.format(topic=topic)) for topic in sorted(hidden)]
        failed = sorted(self._failed.items())
        self._problems += [("", f"end offset of {topic}-{id}: {text}") for (topic, id), text in failed]
        shared = [group.group_id for group in groups if group.kind == "share"]
        with_one_owner = rows.filter(pc.invert(pc.is_in(rows["group_id"], pa.array(shared, pa.string()))))
        self._problems += self._others.problems
        by_group: dict[str, list[dict[str, Any]]] = {}
        for row in rows.to_pylist():
            by_group.setdefault(row["group_id"], []).append(row)
        return ClusterDescription(
            metadata.cluster_id or "",
            tuple(groups),
            _group_rows(rows),
            {
                (row["group_id"], row["member_id"]): row
                for row in sum_lag_in_time(with_one_owner, by="member").to_pylist()
            },
            by_group,
            tuple(self._problems),
            _counts(described),
            self._is_complete,
            self._unanswered,
            frozenset(metadata.brokers),
            _topic_rows(rows),
            read_at,
            dict(self._retention.found),
            (note,) if (note := self._retention.note()) else (),
        )

    def _in_time(self, lags: pa.Table, at: int, earlier: ClusterDescription | None, *, has_times: bool) -> pa.Table:
        """Return the lag of partitions in time, from the times of records and an earlier description."""
        ends, committed = earlier_offsets(earlier)
        if has_times:
            behind = lags.filter(pc.greater(lags["lag"], 0)).group_by(["topic", "partition"]).aggregate([]).to_pylist()
            if behind:
                self._on_progress("reading the times of records")
            places = [(row["topic"], row["partition"]) for row in behind]
            written = written_times(self._settings, self._admin, places, at)
            ends = pa.concat_tables([consistent(written, ends), ends])
            self._retention.read({topic for topic, _ in places}, at)
        return lag_in_time(lags, at, ends, committed, **self._retention.arguments())

    def _groups(self, wanted: list[str], counts: dict[str, int] | None) -> list[GroupDescription]:
        """Return the descriptions of groups, sorted by id.

        Args:
            wanted: Names of groups, or patterns.
            counts: Number of partitions of each topic; None to leave share and streams groups without members.
        """
        admin, timeout = self._admin, self._settings.timeout
        self._on_progress("listing the groups")
        listing = self._settings.result(admin, admin.list_consumer_groups(request_timeout=timeout), "list the groups")
        self._problems += [("", self._text(error, "list the groups")) for error in listing.errors or ()]
        self._is_complete = not listing.errors
        listed = {group.group_id: group for group in listing.valid or ()}
        chosen = NamePatterns(wanted) if wanted else None
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
        unlisted = [_unlisted(group) for name, group in others.items() if name not in listed]
        if counts is not None:
            unread = [group.group_id for group in unlisted if group.problem == UNREAD]
            read = self._others.describe(unread, counts)
            unlisted = [read.get(group.group_id, group) for group in unlisted]
        for group in unlisted:
            group.members.sort(key=lambda member: member.member_id)
        found = unlisted
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
            description.problem = self._text(error, doing)
        return description

    def _offsets(
        self, groups: list[GroupDescription], topics: Collection[str]
    ) -> Iterator[tuple[int, Rows, Rows, Rows]]:
        """Yield the time in milliseconds, owners, committed offsets and end offsets of some groups at a time.

        Between the read of committed offsets and that of end offsets nothing else is done: the lag would include all
        that is produced meanwhile.
        """
        owners = {group.group_id: list(_owned(group)) for group in groups}
        shared = {group.group_id for group in groups if group.kind == "share"}
        readable = [group.group_id for group in groups if group.problem in (None, UNREAD)]
        others = [group.group_id for group in groups if group.problem not in (None, UNREAD)]
        for number, names in enumerate((others, *batches(readable, OFFSET_CALLS))):
            committed: Rows = []
            owned = [row for name in names for row in owners[name]]
            if number:
                done = (number - 1) * OFFSET_CALLS
                self._on_progress(f"reading the committed offsets of group {done + 1:,} of {len(readable):,}")
                committed = self._committed(
                    [name for name in names if name not in shared], [name for name in names if name in shared]
                )
            named = {(row[1], row[2]) for row in (*committed, *owned)}
            at = local_ms()
            read = offsets(self._settings, self._admin, sorted(place for place in named if place[0] in topics))
            self._failed.update(read.problems)
            self._unanswered |= read.unanswered
            yield at, owned, committed, [(*place, start, end) for place, (start, end) in read.found.items()]

    def _committed(self, groups: list[str], shared: list[str]) -> Rows:
        """Return the committed offsets of groups: group id, topic, partition and offset.

        Those of share groups are their start offsets; the member with the next record reads from there.
        """
        with dependency("confluent_kafka"):
            from confluent_kafka import ConsumerGroupTopicPartitions

        calls = {
            name: self._admin.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(name)], request_timeout=self._settings.timeout
            )[name]
            for name in groups
        }
        self._wait(calls.values(), "read committed offsets")
        found = [row for name, future in calls.items() for row in self._committed_offsets(name, future)]
        if shared:
            offsets = self._others.offsets(shared)
            self._share_offsets.update(offsets)
            found += [(*place, offset.start) for place, offset in offsets.items() if offset.start is not None]
        return found

    def _committed_offsets(self, group: str, future: Future[Any]) -> Iterator[tuple[str, str, int, int]]:
        doing = f"read the committed offsets of group {group!r}"
        if not future.done():
            self._problems.append((group, str(self._settings.unreachable(doing))))
            return
        error = future.exception(0)
        if error is not None:
            self._problems.append((group, self._text(error, doing)))
            return
        for place in future.result(0).topic_partitions or ():
            if place.error is not None:
                doing = f"read the committed offset of {place.topic}-{place.partition} in group {group!r}"
                self._problems.append((group, self._text(place.error, doing)))
            elif place.offset >= 0:
                yield group, place.topic, place.partition, place.offset

    def _text(self, error: Any, doing: str) -> str:
        """Return the text of a KafkaError, or of an exception that has one."""
        return str(self._settings.failed(doing, error))


def _unlisted(group: Any) -> GroupDescription:
    """Return the description of a group that `list_consumer_groups` does not list."""
    description = describe_unlisted(group)
    if group.error is None and not description.kind:
        description.problem = UNREAD
    return description


def _owned(group: GroupDescription) -> Iterator[tuple[str, str, int, str]]:
    """Yield group id, topic, partition and member id of the partitions that members own.

    A partition of a share group has one row, with the first of its owners: its records are shared, not its lag.
    """
    for (topic, partition), members in group.owners().items():
        for member in members[:1] if group.kind == "share" else members:
            yield group.group_id, topic, partition, member


def _lag(owned: Rows, committed: Rows, ends: Rows) -> pa.Table:
    positions = join_owners(table_of_rows(committed, _COMMITTED), table_of_rows(owned, OWNERS))
    return partition_lag(positions, table_of_rows(ends, END_OFFSETS))


def _with_share_lag(rows: pa.Table, offsets: dict[tuple[str, str, int], ShareOffset]) -> pa.Table:
    """Replace known lags of share groups by those that the broker returned.

    The broker does not count records that members acknowledged after the first one that is not acknowledged.
    """
    returned = [(*place, offset.lag) for place, offset in offsets.items() if offset.lag is not None]
    if not returned:
        return rows
    lags = table_of_rows(returned, _SHARE_LAG)
    joined = rows.join(lags, _SHARE_LAG.names[:3], join_type="left outer")
    is_known = pc.is_valid(joined["lag"])
    lag = pc.if_else(is_known, pc.coalesce(joined["share_lag"], joined["lag"]), joined["lag"])
    return joined.set_column(joined.schema.get_field_index("lag"), "lag", lag).select(PARTITION_LAG.names)


def _counts(topics: dict[str, Any]) -> dict[str, int]:
    """Return the number of partitions of each topic that the client can describe."""
    return {name: len(topic.partitions) for name, topic in topics.items() if topic.error is None}


def _without_offsets(rows: pa.Table, topics: Collection[str]) -> pa.Table:
    """Set the problem of all partitions of hidden topics, which are not in `topics`, to `unknown_end`.

    `partition_lag` returns `never_committed` for a partition without a known committed offset. The partitions of a
    hidden topic can have committed offsets that this client cannot read.
    """
    hidden = set(rows["topic"].unique().to_pylist()) - set(topics)
    is_hidden = pc.is_in(rows["topic"], pa.array(list(hidden), pa.string()))
    problem = pc.if_else(is_hidden, "unknown_end", rows["problem"])
    return rows.set_column(rows.schema.get_field_index("problem"), rows.schema.field("problem"), problem)


def _group_rows(rows: pa.Table) -> dict[str, dict[str, Any]]:
    """Return the sums of each group: those of `lag.GROUP_LAG`, and those of its lag in time."""
    found = {row["group_id"]: row for row in group_lag(rows).to_pylist()}
    return {row["group_id"]: found[row["group_id"]] | row for row in sum_lag_in_time(rows).to_pylist()}


def _topic_rows(rows: pa.Table) -> dict[str, list[dict[str, Any]]]:
    """Return the sums of the topics of each group."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in sum_lag_in_time(rows, by="topic").to_pylist():
        found.setdefault(row["group_id"], []).append(row)
    return found


def table_of_rows(rows: Rows, schema: pa.Schema) -> pa.Table:
    """Return a table from rows whose values have the order of a schema."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
