"""Benchmarks of log segments: bytes of record batches with each codec to Arrow columns."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from assignor import _core
from benches.checks import require
from benches.report import Part, Row, Run, Target, section, shown
from benches.timing import Case, interleave, sampler
from tests.support import segment_bytes

BYTES = 400e6
"""Target: the smallest allowed number of bytes of uncompressed batches per second on one core."""

PIECE = 1 << 20
"""Size in bytes of the pieces in which a segment is read."""

CODECS = {"none": 0, "gzip": segment_bytes.GZIP, "snappy": segment_bytes.SNAPPY, "lz4": segment_bytes.LZ4}
CODECS |= {"zstd": segment_bytes.ZSTD}

RECORDS, DIFFERENT = 100, 50
"""Number of records of a batch, and of batches that differ; they are repeated."""


@section(
    "segments",
    "Segments of a log",
    "Milliseconds on one core, min / median, and the rates of the fastest run: bytes of the file, and bytes after "
    "decompression. A batch has 100 records of about 160 bytes. The result is Arrow columns.",
)
def segments(run: Run) -> Iterator[Part]:
    for name in CODECS:
        run.report(f"segments, {name}")
        data, count, unpacked = checked_segment(name, run.of(64_000_000, 200_000))
        times = interleave({"time": sampler(partial(read, data))}, run.pace(1.5, 7))
        fastest = min(times["time"])
        rates = {"file": len(data) / fastest, "decompressed": unpacked / fastest}
        columns = {what: f"{shown(rate / 1e6)} MB per second" for what, rate in rates.items()}
        yield Row(name, times, {**columns, "records": f"{count * RECORDS:,}"})
        if name == "none":
            yield Target(f"{name}, compared with {BYTES / 1e6:g} MB per second", rates["file"] / BYTES, 1)


def batch_contents() -> Iterator[bytes]:
    """Yield the records of batches that differ."""
    draw = random.Random(1)
    words = [draw.randbytes(4).hex() for _ in range(500)]
    for _ in range(DIFFERENT):
        values = [" ".join(draw.choices(words, k=15)).encode() for _ in range(RECORDS)]
        keys = [b"key-%06d" % draw.randrange(10**6) for _ in range(RECORDS)]
        yield b"".join(segment_bytes.record(*each) for each in zip(range(RECORDS), keys, values, strict=True))


def checked_segment(name: str, size: int) -> tuple[bytes, int, int]:
    """Return a segment with a codec, the number of its batches, and its size after decompression, at least `size`."""
    contents, codec = list(batch_contents()), CODECS[name]
    compressed = [pa.compress(each, name, asbytes=True) if codec else each for each in contents]
    found: list[bytes] = []
    unpacked = 0
    while unpacked < size:
        turn = len(found) % len(contents)
        found.append(segment_bytes.batch(len(found) * RECORDS, compressed[turn], RECORDS, attributes=codec))
        unpacked += len(found[-1]) - len(compressed[turn]) + len(contents[turn])
    data = b"".join(found)
    check_reading(data, contents, len(found))
    return data, len(found), unpacked


def cases(run: Run) -> Iterator[Case]:
    """Yield the reading of a segment with each codec."""
    for name in CODECS:
        data, *_ = checked_segment(name, run.of(16_000_000, 50_000))
        yield Case("segments", name, partial(partial, read, data))


def read(data: bytes) -> tuple[list[pa.RecordBatch], _core.SegmentReader]:
    """Return the records of a segment, which is read in pieces, and the reader."""
    reader = _core.SegmentReader()
    pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
    return [pa.record_batch(reader.push(piece)) for piece in pieces], reader


def check_reading(data: bytes, contents: list[bytes], batches: int) -> None:
    """Compare the records with those of the batches, read one by one and uncompressed, and count them."""
    found, reader = read(data)
    table, end = pa.Table.from_batches(found), reader.finish()
    plain = [segment_bytes.batch(at * RECORDS, each, RECORDS) for at, each in enumerate(contents[:batches])]
    expected = pa.Table.from_batches([rows for each in plain for rows in read(each)[0]])
    require(table.slice(0, expected.num_rows).equals(expected), "records differ from those of uncompressed batches")
    require(expected["offset"].to_pylist() == list(range(expected.num_rows)), "a record has another offset")
    is_complete = table.num_rows == end.end_offset == batches * RECORDS and not end.damage
    require(is_complete, f"{table.num_rows} of {batches * RECORDS} records are read")
