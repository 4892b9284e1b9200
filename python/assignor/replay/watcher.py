"""Replay of a log that is still written. It accepts records, log ends and times, returns events, and does no I/O.

Each partition of the log has its own clock, because a coordinator writes one partition and each group is in one
partition. Deadlines, such as the end of a storm, fire by that clock. The clock follows the timestamps of the records.
If the log is read to its end, and no transaction is open, it also follows the time at which the end was requested,
because records that did not exist at that time get later timestamps. The clocks of brokers differ, so the clock of a
partition stays `MARGIN_MS` behind these times.
"""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.cluster.name_patterns import NamePatterns
from assignor.cluster.timestamps import is_valid, is_valid_time
from assignor.cluster.topic_timeline import TopicTimeline
from assignor.dependencies import dependency
from assignor.lag import POSITIONS
from assignor.replay import stuck_members
from assignor.replay.conditions import Conditions
from assignor.replay.coordinators import Coordinators, moved_event
from assignor.replay.events import event_dicts
from assignor.replay.long_rebalances import DEFAULT_TIMEOUT_MS, rebalance_timeouts
from assignor.replay.loops import FIELDS, KINDS, Loops
from assignor.replay.silences import Silence, silence_events, taken
from assignor.replay.watch_model import NO_TIME, PartitionClock, Summary
from assignor.replay.watch_state import WatchState, content_errors
from assignor.validation import check_name, read_entries

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.cluster.log import LogEnd
    from assignor.replay.loop import Change

Event = dict[str, Any]

MARGIN_MS = 1_000
"""How far the clock of a partition stays behind the latest time that is known for the partition, in milliseconds."""

FORGOTTEN_MS = 86_400_000
"""How long a group is remembered after its last tombstone if nothing is left of it, in milliseconds."""

_REPLAYED = ("partition", "offset", "timestamp", "key", "value")
_GROUP_RECORDS = pa.array([kind.to_bytes(2, "big") for kind in (2, 3, 11, 17)], pa.binary())
_OF_LOOPS = pa.array(KINDS, pa.string())
_LASTING = pa.array(["rebalance", "storm"], pa.string())
_LASTING_FIELDS = ["event", "group", "since", "until", "unowned"]


class Watcher:
    """Replay of the groups of a live cluster.

    It is silent at first: it applies records without returning events, until `start` is called. So the state of the
    groups is known before the first event is reported.

    Args:
        groups: Names of the groups to replay, or patterns as in `NamePatterns`; empty for all groups.
        state: State of an earlier watcher, which this one continues; `groups` must be those of the state.
        cluster: Name of the cluster in the events.

    Attributes:
        positions: Next offset to read of each partition of the log.
        conditions: Lasting conditions of the groups.
        loops: Rebalance loops of the groups.
        loop_changes: Loops that began or ended since the caller last emptied this list.
        records: Number of records that were pushed, including those of other groups.

    Raises:
        IllegalArgumentError: UTF-8 cannot encode a group id or the name of the cluster.
        SnapshotError: The replay in the state is of another version, or the state is damaged.
        WrongTypeError: The groups or the cluster have another type.
    """

    def __init__(self, *, groups: Iterable[str] = (), state: WatchState | None = None, cluster: str = "") -> None:
        self.positions: dict[int, int] = {}
        self.conditions = Conditions()
        self.loops = Loops()
        self.loop_changes: list[Change] = []
        self.records = 0
        self._cluster = check_name(cluster, "cluster")
        self._coordinators = Coordinators()
        self._interrupted: dict[int, int] = {}
        self._silences = _core.SilenceFinder()
        self._timeouts: dict[str, int] = {}
        self._deleted: dict[str, int] = {}
        wanted = read_entries(groups, "groups", "an iterable of group ids")
        self._groups = tuple(sorted({check_name(group, "groups: a group id") for group in wanted}))
        self._chosen = NamePatterns(self._groups) if self._groups else None
        self._clocks: dict[int, PartitionClock] = {}
        self._starts: dict[int, tuple[int, int]] | None = None
        self._waits_for_topics = False
        self._topics = TopicTimeline(state.topics if state else None)
        self._machine = _core.Replay(self._topics.rows(), is_open=True)
        if state is not None:
            self._machine.restore(state.replay)
            self.positions = dict(state.positions)
            with content_errors():
                self.conditions = Conditions.from_json(state.conditions)
                self.loops = Loops.from_json(state.loops)
            self._clocks = {id: PartitionClock(latest=latest, now=now) for id, (latest, now) in state.clocks.items()}
            self._starts = dict(state.starts)
            self._timeouts, self._deleted = dict(state.timeouts), dict(state.deleted)
            self._waits_for_topics = True

    def follows(self, group: str) -> bool:
        """Return True if a group is one of those to replay."""
        return self._chosen is None or self._chosen.matches(group)

    @property
    def is_silent(self) -> bool:
        """True until `start` is called."""
        return self._starts is None

    def start(self, *, is_earliest: bool = False) -> None:
        """Report the events of later records and deadlines from now on; with `is_earliest`, of all records."""
        self._starts = {}
        if not is_earliest:
            for id, position in self.positions.items():
                clock = self._clock(id)
                self._starts[id] = (position, max(clock.latest, clock.now))

    def observe_topics(self, snapshot: pa.RecordBatch) -> list[Event]:
        """Add topic metadata of one time, and return the generations whose comparison waited for it.

        Args:
            snapshot: Rows with the columns of `topics.parquet`, all of the same time.
        """
        is_new = self._topics.add(snapshot)
        if not (is_new or self._waits_for_topics):
            return []
        self._waits_for_topics = False
        return self._reported(self._machine.observe_topics(self._topics.rows()))

    def has_group_records(self, records: pa.RecordBatch) -> bool:
        """Return True if records have new generations, whose causes and comparison need current topic metadata."""
        return bool(pc.any(pc.is_in(pc.binary_slice(records["key"], 0, 2), _GROUP_RECORDS)).as_py())

    def push(self, records: pa.RecordBatch, positions: Mapping[int, int], received: int | None = None) -> list[Event]:
        """Apply records and return their events.

        Args:
            records: Records with the columns partition, offset, timestamp, key and value, each partition in the order
                of the log.
            positions: Next offset to read of each partition after these records; other partitions keep theirs.
            received: Local time in milliseconds at which the records arrived; None until the log has been read to its
                end.
        """
        self.positions.update(positions)
        self.records += records.num_rows
        if not records.num_rows:
            return []
        for partition, latest in _latest(records).items():
            clock = self._clock(partition)
            clock.latest = max(clock.latest, latest)
            clock.received = received
        self._waits_for_topics |= self.has_group_records(records)
        ids = pa.array(_core.record_groups(records["key"]))
        silences = self._observe_silences(records, ids) if received is not None else []
        if self._chosen is not None:
            records = records.filter(self._chosen.mask(ids))
        self._note(records)
        columns = {name: records[name] for name in _REPLAYED}
        columns["cluster"] = records["partition"].cast(pa.string())
        return silences + self._reported(self._machine.push(pa.RecordBatch.from_pydict(columns)))

    def _observe_silences(self, records: pa.RecordBatch, groups: pa.Array) -> list[Event]:
        """Return the events of silences that end with records of all groups, and consider them in the replay.

        The partitions of a log that is read from its beginning arrive one after another, not in the order of time. So
        silences are only known once the log is followed.
        """
        columns = [records["partition"], records["timestamp"], groups]
        self._silences.add(pa.RecordBatch.from_arrays(columns, ["partition", "timestamp", "group_id"]))
        found = taken(self._silences)
        self._machine.observe_silences(found)
        return [{**event, "cluster": self._cluster} for event in silence_events(found)]

    def settle(self, ends: Mapping[int, LogEnd], asked: int) -> list[Event]:
        """Advance the clocks of partitions, and return the events of the deadlines that are due.

        Args:
            ends: Current ends of partitions. The clock of a partition without an end here follows only its records.
            asked: Local time in milliseconds just before the ends were requested.
        """
        events: list[Event] = []
        for partition in sorted(self._clocks.keys() | ends.keys()):
            clock = self._clock(partition)
            now = clock.latest
            end = ends.get(partition)
            if end is not None and end.stable == end.high and self.positions.get(partition, 0) >= end.stable:
                now = max(now, clock.at_end(asked))
            now = max(clock.now, now - MARGIN_MS if now != NO_TIME else now)
            deadline = self._machine.next_deadline()
            if deadline is not None and deadline <= now:
                events += self._reported(self._machine.advance(now, str(partition)))
            self._note_loops(self.loops.advance(now, str(partition)))
            clock.now = now
        return sorted(events, key=itemgetter("at"))

    def observe_leaders(self, leaders: Mapping[int, int | None], now: int) -> list[Event]:
        """Return an event for each move of the coordinator of groups from one broker to another.

        Args:
            leaders: Broker id of the leader of each partition of the log; None if it has no leader.
            now: Local time in milliseconds.
        """
        moved = self._coordinators.observe(leaders)
        if not moved:
            return []
        for partitions in moved.values():
            self.interrupt(partitions, now)
            self._observe_moves(partitions, now)
        counts = Counter(found.log_partition for found in self.summaries() if not found.is_gone)
        events = []
        for brokers, partitions in moved.items():
            used = [partition for partition in partitions if counts[partition]]
            if used:
                groups = sum(counts[partition] for partition in used)
                events.append(moved_event(brokers, used, groups, at=now, cluster=self._cluster))
        return events

    def _observe_moves(self, partitions: Iterable[int], now: int) -> None:
        """Consider in the replay that members could not reach their coordinator until now.

        Sessions that expire right after it then have the cause `coordinator_moved`, as after a silence of the log.
        """
        times = {id: self._clock(id).latest for id in partitions}
        self._machine.observe_silences([Silence(since, max(since, now), (id,), False) for id, since in times.items()])

    def interrupt(self, partitions: Iterable[int], now: int) -> None:
        """Note that coordinators did not answer, so that members could not commit.

        Args:
            partitions: Partitions of the log.
            now: Local time in milliseconds.
        """
        self._interrupted.update(dict.fromkeys(partitions, now))

    def confirm_stuck(self, waiting: pa.Table, at: int) -> tuple[list[Event], int | None]:
        """Return the events of the members that are stuck by a measurement of the lag, see `stuck_members.confirm`."""
        interrupted = {str(partition): time for partition, time in self._interrupted.items()}
        events, due = stuck_members.confirm(self.conditions, waiting, at, interrupted)
        return [{**event, "cluster": self._cluster} for event in events], due

    def rebalance_timeout(self, group: str) -> int:
        """Return the largest rebalance timeout of the members of a group in milliseconds; a default if not known."""
        return self._timeouts.get(group, DEFAULT_TIMEOUT_MS)

    def forget_gone(self) -> list[str]:
        """Forget the groups that have been gone for `FORGOTTEN_MS`, and return their ids."""
        forgotten = []
        for found in self.summaries():
            if not found.is_gone or found.group not in self._deleted:
                continue
            clock = self._clock(found.log_partition)
            if max(clock.latest, clock.now) - self._deleted[found.group] >= FORGOTTEN_MS:
                self._machine.forget(found.group, str(found.log_partition))
                self.conditions.groups.pop(found.group, None)
                self._timeouts.pop(found.group, None)
                del self._deleted[found.group]
                forgotten.append(found.group)
        return forgotten

    def behind(self, ends: Mapping[int, LogEnd]) -> int:
        """Return the number of offsets between the positions and the ends that a reader can reach."""
        return sum(max(0, end.stable - self.positions.get(partition, 0)) for partition, end in ends.items())

    def topics(self) -> pa.RecordBatch:
        """Return the snapshots of topic metadata, with the columns of `topics.parquet`."""
        return self._topics.rows()

    def groups(self) -> list[dict[str, Any]]:
        """Return a row for each group: kind, state, generation, members and their partitions, and counts."""
        groups, histories = self._machine.states()
        rows = zip(pa.record_batch(groups).to_pylist(), pa.array(histories).to_pylist(), strict=True)
        return [{**history, **group, "cluster": ""} for group, history in rows]

    def summaries(self) -> list[Summary]:
        """Return the summary of each group."""
        groups, histories = self._machine.states()
        keys, found = pa.record_batch(groups), pa.array(histories)
        columns = (
            keys["group"],
            *(found.field(name) for name in ("kind", "state")),
            pc.list_value_length(found.field("members")),
            found.field("generation"),
            found.field("committed_offsets"),
            keys["cluster"].cast(pa.int32()),
        )
        return [Summary(*row) for row in zip(*(column.to_pylist() for column in columns), strict=True)]

    def committed(self) -> pa.Table:
        """Return committed offsets and owners, with the columns of `assignor.lag.POSITIONS`."""
        batches = [pa.record_batch(batch) for batch in self._machine.positions()]
        return pa.Table.from_batches(batches) if batches else POSITIONS.empty_table()

    def counts(self) -> dict[str, int]:
        """Return the numbers of replayed records, duplicates, bad records and unknown types."""
        return dict(self._machine.counts())

    def state(self, cluster_id: str) -> WatchState:
        """Return the state, from which another watcher can continue.

        Args:
            cluster_id: Id of the cluster.
        """
        return WatchState(
            cluster_id=cluster_id,
            groups=self._groups,
            positions=dict(self.positions),
            starts=dict(self._starts or {}),
            clocks={id: (clock.latest, clock.now) for id, clock in self._clocks.items()},
            conditions=self.conditions.to_json(),
            timeouts=dict(self._timeouts),
            deleted=dict(self._deleted),
            loops=self.loops.to_json(),
            topics=self._topics.rows(),
            replay=self._machine.snapshot(),
        )

    def _clock(self, partition: int) -> PartitionClock:
        return self._clocks.setdefault(partition, PartitionClock())

    def _note(self, records: pa.RecordBatch) -> None:
        """Note what the replay does not return: rebalance timeouts, and the times of tombstones."""
        for group, timeout in rebalance_timeouts(records).items():
            if timeout is None:
                self._timeouts.pop(group, None)
            else:
                self._timeouts[group] = timeout
        tombstones = records.filter(pc.is_null(records["value"]))
        if tombstones.num_rows:
            ids = pa.array(_core.record_groups(tombstones["key"])).to_pylist()
            rows = zip(ids, tombstones["partition"].to_pylist(), tombstones["timestamp"].to_pylist(), strict=True)
            for group, partition, timestamp in rows:
                if group is not None:
                    at = timestamp if is_valid_time(timestamp) else self._clock(partition).latest
                    self._deleted[group] = max(at, self._deleted.get(group, at))

    def _note_loops(self, changes: Iterable[Change]) -> None:
        if self._starts is not None:
            self.loop_changes += changes

    def _reported(self, batches: Iterable[Any]) -> list[Event]:
        """Apply events to the conditions, and return those to report."""
        if self._starts is None:
            for batch in batches:
                rows = pa.record_batch(batch)
                self.loops.apply(rows.filter(pc.is_in(rows["event"], _OF_LOOPS)).select(list(FIELDS)).to_pylist())
                lasting = rows.filter(pc.is_in(rows["event"], _LASTING)).select(_LASTING_FIELDS)
                self.conditions.apply(lasting.to_pylist())
                self.conditions.apply(event_dicts([rows.filter(pc.equal(rows["event"], "stuck"))]))
            return []
        found = self._revised(event_dicts(batches))
        self._note_loops(self.loops.apply(found))
        events = [event for event in self.conditions.apply(found) if self._is_new(event)]
        for event in events:
            event["cluster"] = self._cluster
        return events

    def _revised(self, events: list[Event]) -> list[Event]:
        """Return the events of the replay as they are applied and reported."""
        return events

    def _is_new(self, event: Event) -> bool:
        """Return True if an event has an offset at or after that of the start, or a later time than the start."""
        assert self._starts is not None
        position, now = self._starts.get(int(event["cluster"]), (0, NO_TIME))
        return bool(event["offset"] >= position or event["at"] > now)


def _latest(records: pa.RecordBatch) -> dict[int, int]:
    """Return the highest valid timestamp of each partition that has one."""
    records = records.filter(is_valid(records["timestamp"]))
    found = pa.Table.from_batches([records]).group_by("partition").aggregate([("timestamp", "max")])
    return dict(zip(found["partition"].to_pylist(), found["timestamp_max"].to_pylist(), strict=True))
