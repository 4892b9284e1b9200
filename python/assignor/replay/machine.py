"""Replay of `__consumer_offsets` as events: generations, rebalances with their causes, members, storms and offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.cluster.metadata import pyarrow, topic_batch, topic_rows
from assignor.replay.events import event_dicts
from assignor.sources.logged_rebalances import LoggedRebalance
from assignor.validation import (
    as_bytes,
    check_name,
    read_bool,
    read_broker_version,
    read_entries,
    read_int,
    wrong_type,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.replay.silences import Silence
    from assignor.sources.logged_rebalances import Row

__all__ = ["Replay"]

Event = dict[str, Any]


class Replay:
    """Incremental replay of the groups of one or more clusters.

    It has no clock and no I/O: it takes records and times, and returns events. The events do not depend on how the
    records are split into batches, or on snapshots in between. `docs/replay-events.md` describes the events.

    Args:
        topics: Snapshots of topic metadata, as rows with t, topic, topic_id, partition and racks.
        is_open: True if `observe_topics` can add later snapshots; comparisons may wait for them.
        is_compared: False to skip the comparison of recorded assignments with those that Kafka's assignors compute.
        broker_version: Version of the brokers, such as `4.3.1`, which the answer for streams groups depends on; None if
            it is not known.
        storm_rebalances: Number of rebalances with unchanged membership within `storm_window_ms` that form a storm.
        storm_window_ms: Time window of a storm in milliseconds.
        stuck_factor: A member is stuck if it has not committed for this multiple of its usual interval.
        stuck_interval_ms: Commits of a member within this many milliseconds of the first one count as one commit. The
            usual interval of a member is never shorter.
        never_committed_ms: Time after which a partition with an owner and without a committed offset is reported.
        session_timeout_ms: Session timeout of the members of KIP-848, share and streams groups, which the log does not
            have: the broker's `group.consumer.session.timeout.ms`.

    Raises:
        IllegalArgumentError: A setting is not positive or does not fit in 64 bits, or the version or the topic metadata
            is invalid.
        WrongTypeError: A setting or a value of the topic metadata has another type.
        MissingDependencyError: pyarrow is not installed.
    """

    def __init__(
        self,
        topics: Iterable[Mapping[str, Any]] | None = None,
        *,
        is_open: bool = False,
        is_compared: bool = True,
        broker_version: str | None = None,
        storm_rebalances: int = 20,
        storm_window_ms: int = 60_000,
        stuck_factor: int = 10,
        stuck_interval_ms: int = 100,
        never_committed_ms: int = 60_000,
        session_timeout_ms: int = 45_000,
    ) -> None:
        self._topics = [] if topics is None else topic_rows(topics, "topics")
        self._core = _core.Replay(
            topic_batch(self._topics),
            is_open=read_bool(is_open, "is_open"),
            is_compared=read_bool(is_compared, "is_compared"),
            broker_version=read_broker_version(broker_version),
            storm_rebalances=read_int(storm_rebalances, "storm_rebalances", bits=64),
            storm_window_ms=read_int(storm_window_ms, "storm_window_ms", bits=64),
            stuck_factor=read_int(stuck_factor, "stuck_factor", bits=64),
            stuck_interval_ms=read_int(stuck_interval_ms, "stuck_interval_ms", bits=64),
            never_committed_ms=read_int(never_committed_ms, "never_committed_ms", bits=64),
            session_timeout_ms=read_int(session_timeout_ms, "session_timeout_ms", bits=64),
        )

    def push(self, record: tuple[int, int, bytes | None, bytes | None], cluster: str = "") -> list[Event]:
        """Apply a record and return events: first those of its group's deadlines up to its timestamp, then its own.

        Records of a group must come in the order of the log. A record with an offset that is not higher than the last
        one of its group is counted as a duplicate and ignored.

        Args:
            record: Offset, timestamp in milliseconds, key and value; a value of None is a tombstone.
            cluster: Name of the cluster.

        Raises:
            IllegalArgumentError: A number does not fit in 64 bits, or UTF-8 cannot encode the cluster.
            WrongTypeError: The record is no tuple of these four, or the cluster is no str.
        """
        if not isinstance(record, tuple) or len(record) != 4:
            raise wrong_type("record", "a tuple of offset, timestamp, key and value", record)
        offset, timestamp, key, value = record
        read = (
            read_int(offset, "record: offset", bits=64),
            read_int(timestamp, "record: timestamp", bits=64),
            None if key is None else as_bytes(key, "record: key"),
            None if value is None else as_bytes(value, "record: value"),
        )
        return event_dicts(self._core.push_record(read, check_name(cluster, "cluster")))

    def advance(self, now: int, cluster: str | None = None) -> list[Event]:
        """Return the events of all deadlines up to a time in milliseconds, of one cluster or of all clusters.

        Raises:
            IllegalArgumentError: The time does not fit in 64 bits, or UTF-8 cannot encode the cluster.
            WrongTypeError: The time is no int, or the cluster is no str.
        """
        time = read_int(now, "now", bits=64)
        return event_dicts(self._core.advance(time, None if cluster is None else check_name(cluster, "cluster")))

    def next_deadline(self) -> int | None:
        """Return the earliest deadline in milliseconds; None if there is no deadline."""
        return self._core.next_deadline()

    def finish(self) -> list[Event]:
        """Return the events that wait for further records, at the end of a finite log. The state does not change.

        These are epochs without a target assignment, generations whose comparison waits for topic metadata, members
        that left with the last record, and storms that have not ended.
        """
        return event_dicts(self._core.finish())

    def observe_topics(self, rows: Iterable[Mapping[str, Any]]) -> list[Event]:
        """Add later snapshots of topic metadata and return the generations whose comparison waited for them.

        Raises:
            IllegalArgumentError: The topic metadata is invalid. The replay does not change.
            WrongTypeError: A value of the topic metadata has another type. The replay does not change.
        """
        topics = [*self._topics, *topic_rows(rows, "rows")]
        found = self._core.observe_topics(topic_batch(topics))
        self._topics = topics
        return event_dicts(found)

    def observe_silences(self, silences: Iterable[Silence]) -> None:
        """Add silences of the log, see `assignor.replay.silences`; call it before the records that follow them.

        A session that expires right after a silence has the cause `coordinator_moved`, and no member counts as stuck
        because of it. A silence of the whole log applies to all groups; one of a partition only to groups whose records
        were pushed as Arrow batches with the column `partition`.

        Raises:
            IllegalArgumentError: A number does not fit in its bits.
            WrongTypeError: A value has another type. No silence is added.
        """
        self._core.observe_silences(read_silences(silences))

    def forget(self, group: str, cluster: str = "") -> bool:
        """Forget a group, whose later records then begin a new log; return False if there is no such group."""
        return self._core.forget(check_name(group, "group"), check_name(cluster, "cluster"))

    def observe_broker_log(self, rebalances: Iterable[LoggedRebalance], cluster: str = "") -> None:
        """Add rebalances that brokers of a cluster logged; call it before the records that follow them.

        The logged cause of a rebalance becomes the first one. A snapshot does not have the rebalances.

        Args:
            rebalances: `rebalances` of `assignor.sources.broker_log.read_broker_log`.
            cluster: Name of the cluster.

        Raises:
            IllegalArgumentError: A broker logs no such cause, or UTF-8 cannot encode the cluster.
            WrongTypeError: One of the rebalances is no LoggedRebalance, or the cluster is no str.
        """
        self._core.observe_broker_log(read_rebalances(rebalances, "rebalances"), check_name(cluster, "cluster"))

    def snapshot(self) -> bytes:
        """Return the state and the settings as bytes, without topic metadata. `restore` compares the settings."""
        return self._core.snapshot()

    def restore(self, data: bytes) -> None:
        """Replace the state with that of a snapshot.

        Raises:
            SnapshotError: The bytes are damaged, or of another version or other settings. The state does not change.
            WrongTypeError: The data is not bytes.
        """
        self._core.restore(as_bytes(data, "data"))

    def counts(self) -> dict[str, int]:
        """Return the numbers of records, duplicates, bad and unknown records, and late and invalid timestamps."""
        return dict(self._core.counts())

    def states(self) -> list[dict[str, Any]]:
        """Return a row for each group: kind, state, generation, members and their partitions, and counts."""
        pa = pyarrow()
        groups, histories = self._core.states()
        rows = zip(pa.record_batch(groups).to_pylist(), pa.array(histories).to_pylist(), strict=True)
        return [{**history, **group} for group, history in rows]

    def positions(self) -> list[dict[str, Any]]:
        """Return a row for each partition of a group with a committed offset or an owner, sorted by the columns.

        Columns: cluster, group_id, topic, partition, member_id (the owner or None), committed (the offset or None).
        `assignor.lag.partition_lag` reads these columns.
        """
        pa = pyarrow()
        return [row for batch in self._core.positions() for row in pa.record_batch(batch).to_pylist()]


def read_rebalances(rebalances: object, what: str) -> list[Row]:
    """Return logged rebalances as the core reads them.

    Raises:
        WrongTypeError: One of them is no LoggedRebalance.
    """
    rows = []
    for place, each in enumerate(read_entries(rebalances, what, "an iterable of LoggedRebalance")):
        if not isinstance(each, LoggedRebalance):
            raise wrong_type(f"{what}[{place}]", "a LoggedRebalance", each)
        rows.append(each.row())
    return rows


def read_silences(silences: object) -> list[tuple[int, int, list[int], bool, str]]:
    """Return silences as the core reads them.

    Raises:
        IllegalArgumentError: A number does not fit in its bits.
        WrongTypeError: A value has another type.
    """
    entries = read_entries(silences, "silences", "an iterable of Silence")
    return [_read_silence(each, f"silence {place}") for place, each in enumerate(entries)]


def _read_silence(silence: object, what: str) -> tuple[int, int, list[int], bool, str]:
    if not isinstance(silence, tuple) or len(silence) not in (4, 5):
        raise wrong_type(what, "a Silence", silence)
    since, until, partitions, is_whole_log, *moved = silence
    return (
        read_int(since, f"{what}: since", bits=64),
        read_int(until, f"{what}: until", bits=64),
        [
            read_int(id, f"{what}: a partition", bits=32)
            for id in read_entries(partitions, f"{what}: partitions", "an iterable of int")
        ],
        read_bool(is_whole_log, f"{what}: is_whole_log"),
        check_name(moved[0] if moved else "", f"{what}: moved"),
    )
