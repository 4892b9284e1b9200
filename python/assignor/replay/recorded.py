"""Events of a recording, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.cluster.copies import CopyMarker
from assignor.cluster.metadata import topics_table
from assignor.cluster.records import check_no_nulls, in_log_order, scan
from assignor.cluster.timestamps import latest
from assignor.dependencies import dependency
from assignor.replay.complete_costs import with_costs
from assignor.replay.coordinator_moves import coordinator_events
from assignor.replay.silences import silence_events, silences_of

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assignor.cluster.folder import Recording
    from assignor.replay.events import Event
    from assignor.replay.silences import Silence
    from assignor.sources.broker_log import LoggedRebalance
    from assignor.validation import BrokerVersion

_REPLAYED = ["partition", "offset", "timestamp", "key", "value"]


def replay(
    recording: Recording, *, is_committed: bool = True, logged: Sequence[LoggedRebalance] = ()
) -> Iterator[Event]:
    """Replay a recording in this process, and yield its events in the order in which the replay returns them.

    A rebalance has its whole cost, so it may come later: see `complete_costs.with_costs`.

    If groups are chosen, the silences of the log and the moves of coordinators, which are of no group, are not among
    the events.

    Args:
        recording: The recording.
        is_committed: True to omit the records of aborted transactions, as a read_committed reader does.
        logged: Rebalances that brokers logged.

    Raises:
        IllegalArgumentError: A file of the recording cannot be read.
        WrongTypeError: A column of the recording is of another type.
    """

    def chosen() -> Iterator[pa.RecordBatch]:
        marker = CopyMarker()
        for batch in in_log_order(recording):
            found = batch.filter(pc.invert(marker.mark(batch)))
            yield found.filter(pc.invert(found["aborted"])) if is_committed else found

    silences = silences_of(recording)
    if recording.groups is None:
        yield from silence_events(silences)
        yield from coordinator_events(recording)
    topics, version = topics_table(recording.topics()), recording.broker_version
    yield from with_costs(replay_batches(chosen(), topics, end_of(recording), silences, logged, version))


def replay_batches(
    batches: Iterable[pa.RecordBatch],
    topics: pa.RecordBatch,
    end: int | None,
    silences: Sequence[Silence] = (),
    logged: Sequence[LoggedRebalance] = (),
    broker_version: BrokerVersion | None = None,
) -> Iterator[Event]:
    """Replay records and yield the events. The records of each group are in the order of the log.

    Args:
        batches: Records with the columns partition, offset, timestamp, key and value.
        topics: Topic metadata.
        end: Time up to which deadlines fire at the end; None for an empty log.
        silences: Silences of the log.
        logged: Rebalances that brokers logged.
        broker_version: Version of the brokers; None if it is not known.
    """
    machine = _core.Replay(topics, broker_version=broker_version)
    machine.observe_silences(silences)
    machine.observe_broker_log([each.row() for each in logged], "")
    for batch in batches:
        yield from _rows(machine.push(batch.select(_REPLAYED)))
    if end is not None:
        yield from _rows(machine.advance(end))
    yield from _rows(machine.finish())


def end_of(recording: Recording) -> int | None:
    """Return the largest valid timestamp of all records, up to which deadlines fire at the end; None without one.

    Raises:
        IllegalArgumentError: A file cannot be read as Parquet, or a record has no partition, offset or timestamp.
    """
    found: int | None = None
    for batch in scan(recording, ["partition", "offset", "timestamp"]):
        check_no_nulls(recording, batch)
        found = max((time for time in (found, latest(batch["timestamp"])) if time is not None), default=None)
    return found


def _rows(batches: Iterable[Any]) -> Iterator[Event]:
    for batch in batches:
        yield from pa.record_batch(batch).to_pylist()
