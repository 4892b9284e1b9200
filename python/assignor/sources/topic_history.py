"""History of a cluster from the log of its controllers: topics, coordinators of groups, and brokers over time.

The topics are those that clients see: a replica on a broker that is not available has no rack. Each time at which
partitions or racks of a topic changed has a full snapshot of all topics, because the readers of `topics.parquet` expect
that. Shortly before a change there is another one, which shows that nothing has changed until then: readers take the
first snapshot after a time into account, too. A large cluster with many changes would have too many rows; then the
snapshots before changes are left out, and if that is not enough, successive changes are merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assignor.cluster.broker_history import BROKERS, COORDINATORS
from assignor.cluster.metadata import topic_schema
from assignor.dependencies import dependency
from assignor.lines import format_count, format_duration
from assignor.sources.metadata_log import read_metadata_log
from assignor.sources.segment_names import OFFSETS_TOPIC

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from assignor.sources.metadata_log import MetadataChange

MOST_ROWS = 2_000_000
"""Number of rows of `topics.parquet` above which successive changes are merged."""

_WINDOWS = tuple(round(100 * 1.25**power) for power in range(100))
"""Times in milliseconds, up to 12 years, within which changes can be merged; the shortest sufficient one is used."""

_BEFORE_CHANGE_MS = 1_000
"""Time between the last snapshot before a change and the change, for the difference of the clocks of brokers."""

_NO_LEADER = -1


@dataclass(frozen=True)
class TopicHistory:
    """History of a cluster.

    Attributes:
        topics: Snapshots of the topics, with the columns of `topics.parquet`.
        coordinators: Leaders of the partitions of `__consumer_offsets`, with the columns of `coordinators.parquet`.
        brokers: Registrations and availability of brokers, with the columns of `brokers.parquet`.
        notes: What the history lacks, as sentences.
    """

    topics: pa.RecordBatch
    coordinators: pa.RecordBatch
    brokers: pa.RecordBatch
    notes: tuple[str, ...]


def topic_history(folders: Iterable[Path], *, most_rows: int = MOST_ROWS) -> TopicHistory:
    """Return the history of a cluster.

    Args:
        folders: The folders `__cluster_metadata-0` in the data directories of one or more nodes of the cluster.
        most_rows: Number of rows of `topics` above which successive changes are merged.
    """
    log = read_metadata_log(folders)
    notes = list(log.notes)
    planned = _Moments()
    state = _Cluster()
    _replay(log.changes, state, planned.add)
    plan = planned.chosen(most_rows, notes)
    snapshots = _Snapshots(plan)
    _replay(log.changes, _Cluster(hides_fenced=plan.hides_fenced), snapshots.add)
    coordinators, brokers = _batch(state.leaders, COORDINATORS), _batch(state.registrations, BROKERS)
    return TopicHistory(snapshots.rows(), coordinators, brokers, tuple(notes))


class _Broker(NamedTuple):
    rack: str | None
    is_available: bool


class _Topic:
    """Topic with its partitions.

    Attributes:
        name: The name.
        replicas: Brokers of the replicas by partition.
        rows: Numbers of its rows in `_Snapshots`; None if they are not up to date.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.replicas: dict[int, list[int]] = {}
        self.rows: npt.NDArray[np.int64] | None = None


class _Cluster:
    """Topics and brokers at the time of the last change.

    Args:
        hides_fenced: True if the replicas of fenced brokers have no rack.

    Attributes:
        topics: Topics by id.
        partitions: Number of partitions of all topics.
        is_changed: True if partitions or racks have changed since the flag was reset.
        is_topic_changed: True if they have not only changed because a broker was fenced or unfenced.
        leaders: Rows of `COORDINATORS`.
        registrations: Rows of `BROKERS`.
    """

    def __init__(self, *, hides_fenced: bool = True) -> None:
        self._hides_fenced = hides_fenced
        self._brokers: dict[int, _Broker] = {}
        self._topics_of: dict[int, set[str]] = {}
        self._leaders: dict[int, int] = {}
        self.topics: dict[str, _Topic] = {}
        self.partitions = 0
        self.is_changed = self.is_topic_changed = False
        self.leaders: list[tuple[int, int, int | None]] = []
        self.registrations: list[tuple[int, int, str | None, bool]] = []

    @property
    def is_down(self) -> bool:
        """True if no broker is available, so that clients see nothing new."""
        return bool(self._brokers) and not any(broker.is_available for broker in self._brokers.values())

    def apply(self, change: MetadataChange) -> None:
        """Apply a change."""
        match change.change:
            case "topic":
                self.topics[change.topic_id] = _Topic(change.topic)
            case "topic_removed":
                self._remove_topic(change)
            case "partition" | "partition_changed":
                self._change_partition(change)
            case "broker":
                self._set_broker(change, _Broker(change.rack, not change.is_fenced))
            case "fencing":
                rack = self._brokers.get(change.broker, _Broker(None, False)).rack
                self._set_broker(change, _Broker(rack, not change.is_fenced))
            case "broker_removed":
                self._set_broker(change, None)

    def rack(self, broker: int) -> str | None:
        """Return the rack of a broker as clients see it."""
        found = self._brokers.get(broker)
        return self._visible_rack(found) if found else None

    def _visible_rack(self, broker: _Broker) -> str | None:
        return broker.rack if broker.is_available or not self._hides_fenced else None

    def _remove_topic(self, change: MetadataChange) -> None:
        topic = self.topics.pop(change.topic_id, None)
        if topic is None:
            return
        self.partitions -= len(topic.replicas)
        self.is_changed = self.is_topic_changed = True
        if topic.name == OFFSETS_TOPIC:
            self.leaders += [(change.at, id, None) for id in sorted(self._leaders)]
            self._leaders.clear()

    def _change_partition(self, change: MetadataChange) -> None:
        topic = self.topics.get(change.topic_id)
        if topic is None:
            return
        before = topic.replicas.get(change.partition)
        if change.replicas is not None and (before is None or change.replicas != before):
            self.partitions += before is None
            topic.replicas[change.partition] = change.replicas
            for broker in change.replicas:
                self._topics_of.setdefault(broker, set()).add(change.topic_id)
            self.is_topic_changed |= before is None or [*map(self.rack, before)] != [*map(self.rack, change.replicas)]
            self.is_changed |= self.is_topic_changed
            topic.rows = None
        if change.leader is not None and topic.name == OFFSETS_TOPIC:
            self._set_leader(change.at, change.partition, change.leader)

    def _set_leader(self, at: int, partition: int, leader: int) -> None:
        if self._leaders.get(partition) != leader:
            self._leaders[partition] = leader
            self.leaders.append((at, partition, None if leader == _NO_LEADER else leader))

    def _set_broker(self, change: MetadataChange, broker: _Broker | None) -> None:
        before = self._brokers.get(change.broker)
        if broker is not None:
            self._brokers[change.broker] = broker
        elif before is not None:
            del self._brokers[change.broker]
        else:
            return
        after = broker or _Broker(before.rack if before else None, False)
        if before != after:
            self.registrations.append((change.at, change.broker, *after))
        old = before or _Broker(None, False)
        is_other_rack = old.rack != after.rack
        if not is_other_rack and self._visible_rack(old) == self._visible_rack(after):
            return
        topics = [topic for id in self._topics_of.get(change.broker, ()) if (topic := self.topics.get(id))]
        for topic in topics:
            topic.rows = None
        self.is_changed |= bool(topics)
        self.is_topic_changed |= bool(topics) and is_other_rack


def _replay(changes: Sequence[MetadataChange], state: _Cluster, add: Callable[[int, _Cluster], None]) -> None:
    """Apply changes, and call `add` with each time at which partitions or racks changed, after its last change.

    What changes while no broker is available counts when one is available again, apart from the first topics.
    """
    is_first = True
    for place, change in enumerate(changes):
        state.apply(change)
        is_last = place + 1 == len(changes) or changes[place + 1].at != change.at
        if is_last and state.is_changed and (is_first or not state.is_down):
            add(change.at, state)
            is_first = False
            state.is_changed = state.is_topic_changed = False


class _Moment(NamedTuple):
    at: int
    rows: int
    is_topic_changed: bool


class _Plan(NamedTuple):
    """Choice of snapshots.

    Attributes:
        times: Times of changes that have a snapshot.
        hides_fenced: True if the replicas of fenced brokers have no rack.
        shows_before: True if there is a snapshot shortly before each change, too.
    """

    times: set[int]
    hides_fenced: bool = False
    shows_before: bool = False


class _Moments:
    """Times at which topics changed, to choose those that have a snapshot."""

    def __init__(self) -> None:
        self._all: list[_Moment] = []

    def add(self, at: int, state: _Cluster) -> None:
        """Add a time."""
        self._all.append(_Moment(at, state.partitions, state.is_topic_changed))

    def chosen(self, most_rows: int, notes: list[str]) -> _Plan:
        """Return the snapshots; add a note if changes are left out or merged."""
        rows = _rows(self._all)
        if rows <= most_rows:
            return _Plan({moment.at for moment in self._all}, True, 2 * rows <= most_rows)
        of_topics = [moment for moment in self._all if moment.is_topic_changed]
        if _rows(of_topics) <= most_rows:
            notes.append(
                f"topics.parquet ignores that brokers were not available for a time: it would have {rows:,} rows"
            )
            return _Plan({moment.at for moment in of_topics})
        for window in _WINDOWS:
            merged = _merged(of_topics, window)
            if _rows(merged) <= most_rows:
                break
        else:
            merged = merged[-1:]
        count, kept = format_count(len(of_topics), "change"), format_count(len(merged), "snapshot")
        notes.append(
            f"topics.parquet has {kept} for {count} of topics: changes within {format_duration(window)} are merged, "
            f"because it would have {_rows(of_topics):,} rows"
        )
        return _Plan({moment.at for moment in merged})


def _rows(moments: Iterable[_Moment]) -> int:
    return sum(moment.rows for moment in moments)


def _merged(moments: Sequence[_Moment], window: int) -> list[_Moment]:
    """Return the last of the moments within each window; a window begins with the first moment after the one before."""
    found: list[_Moment] = []
    began = None
    for moment in moments:
        if began is not None and moment.at < began + window:
            found[-1] = moment
        else:
            began = moment.at
            found.append(moment)
    return found


class _Snapshots:
    """Snapshots of all topics at chosen times. The rows of a topic are stored once for all snapshots that have them."""

    def __init__(self, plan: _Plan) -> None:
        self._plan = plan
        self._stored: list[list[Any]] = [[] for _ in topic_schema().names[1:]]
        self._chosen: list[npt.NDArray[np.int64]] = []
        self._at: list[int] = []

    def add(self, at: int, state: _Cluster) -> None:
        """Add the topics if their time is one of the chosen ones."""
        if at not in self._plan.times:
            return
        before = at - _BEFORE_CHANGE_MS
        if self._plan.shows_before and self._at and self._at[-1] < before:
            self._chosen.append(self._chosen[-1])
            self._at.append(before)
        parts = []
        for topic_id, topic in sorted(state.topics.items(), key=lambda item: (item[1].name, item[0])):
            if topic.rows is None:
                topic.rows = self._store(topic_id, topic, state)
            parts.append(topic.rows)
        if parts:
            self._chosen.append(np.concatenate(parts))
            self._at.append(at)

    def rows(self) -> pa.RecordBatch:
        """Return the snapshots, with the columns of `topic_schema`."""
        counts = [len(chosen) for chosen in self._chosen]
        chosen = pa.array(np.concatenate([np.empty(0, np.int64), *self._chosen]))
        times = pa.array(np.repeat(np.array(self._at, np.int64), counts))
        stored = zip(self._stored, list(topic_schema())[1:], strict=True)
        columns = [times, *(pa.array(values, field.type).take(chosen) for values, field in stored)]
        return pa.RecordBatch.from_arrays(columns, schema=topic_schema())

    def _store(self, topic_id: str, topic: _Topic, state: _Cluster) -> npt.NDArray[np.int64]:
        topics, ids, partitions, racks = self._stored
        start = len(topics)
        for partition in sorted(topic.replicas):
            topics.append(topic.name)
            ids.append(topic_id)
            partitions.append(partition)
            racks.append([state.rack(broker) for broker in topic.replicas[partition]])
        return np.arange(start, len(topics))


def _batch(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
