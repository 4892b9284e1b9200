"""Records of a segment as rows, read by the engine, and read and written by Kafka's own classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from assignor import _core
from tests.support.kafka_program import KafkaProgram

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from assignor.tuples import SegmentEnd

PIECE = 1 << 16
"""Size in bytes of the pieces in which a file is read."""


class Row(NamedTuple):
    """A record; key and value are hexadecimal digits, because Kafka's program writes JSON."""

    offset: int
    timestamp: int
    key: str | None
    value: str | None
    leader_epoch: int
    producer_id: int
    is_transactional: bool
    control: int | None


class Segment(NamedTuple):
    """The records of a file, the number of batches and the offset after the last one."""

    rows: list[Row]
    batches: int
    end_offset: int | None


def read(path: Path) -> tuple[Segment, SegmentEnd]:
    """Return the records of a file, and its summary."""
    reader, found = _core.SegmentReader(), []
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            found += rows(pa.record_batch(reader.push(piece)))
    end = reader.finish()
    return Segment(found, end.batches, end.end_offset), end


def rows(batch: pa.RecordBatch) -> list[Row]:
    """Return the rows of a batch."""
    columns = {name: batch[name].to_pylist() for name in batch.schema.names}
    for name in ("key", "value"):
        columns[name] = [None if each is None else each.hex() for each in columns[name]]
    return [Row(*values) for values in zip(*(columns[name] for name in Row._fields), strict=True)]


class SegmentProgram(KafkaProgram):
    """Kafka's reader and writer of segments, the classes that brokers use.

    Raises:
        OracleMissingError: Java, its compiler or Kafka's jars are missing.
    """

    def __init__(self) -> None:
        super().__init__("segments.SegmentOracle")

    def read(self, path: Path) -> Segment:
        """Return the records that Kafka reads."""
        found = self.ask({"read": str(path)})
        return Segment([Row(*row) for row in found["records"]], found["batches"], found.get("end_offset"))

    def write(
        self, path: Path, magic: int, codec: str, batches: Iterable[list[tuple[Any, ...]]], appended: int | None = None
    ) -> None:
        """Write records, given as offset, timestamp, key and value, in batches of a version and codec."""
        self.ask({"write": str(path), "magic": magic, "codec": codec, "appended": appended, "batches": list(batches)})
