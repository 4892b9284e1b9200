"""The reader of segments from Python: its columns, the buffers that it takes, its errors, and its memory."""

from __future__ import annotations

import array
import mmap
import struct
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pytest

from assignor import _core, errors
from assignor.tuples import SegmentEnd
from tests.hostile.values import UserError, hostile_values
from tests.sources.segment_rows import Row, rows
from tests.support import segment_bytes
from tests.support.segment_bytes import CONTROL, TRANSACTIONAL, batch, message, record

if TYPE_CHECKING:
    from pathlib import Path

AT = 1_700_000_000_000
MARKER = record(0, b"\0\0\0\1", b"\0\0\0\0\0\5")
DATA = (
    batch(10, record(0, b"k", b"v") + record(2, None, None, timestamp=4, headers=1), 2)
    + batch(13, record(0, b"", b""), 1, attributes=TRANSACTIONAL, producer=77)
    + batch(14, MARKER, 1, attributes=TRANSACTIONAL | CONTROL, producer=77)
    + message(15, 0, b"old", None)
)
ROWS = [
    Row(10, AT, b"k".hex(), b"v".hex(), 5, -1, False, None),
    Row(12, AT + 4, None, None, 5, -1, False, None),
    Row(13, AT, "", "", 5, 77, True, None),
    Row(14, AT, "00000001", "000000000005", 5, 77, True, 1),
    Row(15, -1, b"old".hex(), None, -1, -1, False, None),
]


def read(*pieces: Any) -> tuple[list[Row], SegmentEnd]:
    reader = _core.SegmentReader()
    found = [row for piece in pieces for row in rows(pa.record_batch(reader.push(piece)))]
    return found, reader.finish()


def test_columns_have_the_documented_types() -> None:
    schema = pa.record_batch(_core.SegmentReader().push(DATA)).schema
    assert {
        "offset": "int64",
        "timestamp": "int64",
        "key": "binary",
        "value": "binary",
        "leader_epoch": "int32",
        "producer_id": "int64",
        "is_transactional": "bool",
        "control": "int16",
    } == {field.name: str(field.type) for field in schema}
    assert ["key", "value", "control"] == [field.name for field in schema if field.nullable]
    assert schema == pa.record_batch(_core.SegmentReader().push(b"")).schema


def test_records_and_the_end_are_returned() -> None:
    assert (ROWS, SegmentEnd(4, 5, 16, len(DATA), (), "", 0)) == read(DATA)
    assert ([], SegmentEnd(0, 0, None, 0, (), "", 0)) == read()
    changed = bytearray(DATA)
    changed[60] ^= 1
    found, end = read(bytes(changed) + b"\0" * 30)
    assert ROWS[2:] == found
    ((position, reason),) = end.damage
    assert (0, 3, "zeros", 30) == (position, end.batches, end.tail, end.tail_bytes)
    assert reason.startswith("the checksum is 0x")
    assert SegmentEnd(4, 5, 16, len(DATA), (), "torn", 20) == read(DATA, DATA[:20])[1]


def strided(data: bytes) -> memoryview:
    """Return a view whose bytes are not contiguous."""
    spread = bytearray(2 * len(data))
    spread[::2] = data
    return memoryview(spread)[::2]


BUFFERS: dict[str, Callable[[bytes], Any]] = {
    "bytes": bytes,
    "bytearray": bytearray,
    "memoryview": memoryview,
    "memoryview with strides": strided,
    "array": lambda data: array.array("b", data),
    "numpy": lambda data: np.frombuffer(data, np.uint8),
    "numpy of other items": lambda data: np.frombuffer(data + bytes(-len(data) % 8), np.int64),
    "pyarrow": pa.py_buffer,
    "subclass": type("Subclass", (bytes,), {}),
}


@pytest.mark.parametrize("kind", BUFFERS)
def test_any_buffer_is_read(kind: str) -> None:
    for pieces in ([DATA], [DATA[at : at + 7] for at in range(0, len(DATA), 7)]):
        given = pieces if len(pieces) == 1 or "items" not in kind else [DATA]
        found, end = read(*map(BUFFERS[kind], given))
        assert (ROWS, ()) == (found, end.damage)


def test_a_mapped_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(DATA)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert ROWS == read(mapped)[0]


def test_hostile_values_raise_errors_of_the_package() -> None:
    wrong = []
    for name, make in hostile_values():
        try:
            _core.SegmentReader().push(cast("Any", make()))
        except (errors.AssignorError, UserError) as error:
            str(error)
        except Exception as error:
            wrong.append(f"{name}: {error!r}")
    assert [] == wrong


@pytest.mark.parametrize(("value", "text"), [("x", "str: 'x'"), (3, "int: 3"), ([1], r"list: \[1\]")])
def test_a_value_without_bytes_is_named(value: Any, text: str) -> None:
    with pytest.raises(errors.WrongTypeError, match=f"^data must be a bytes-like object, not {text}$"):
        _core.SegmentReader().push(value)


def test_a_finished_reader_refuses_bytes() -> None:
    reader = _core.SegmentReader()
    reader.push(DATA)
    end = reader.finish()
    with pytest.raises(errors.IllegalStateError, match=r"^finish\(\) was called: a reader reads one file$"):
        reader.push(b"")
    assert end == reader.finish()


def test_threads_read_different_files() -> None:
    data = DATA * 200

    def count(_: int) -> int:
        found, end = read(*(data[at : at + 1000] for at in range(0, len(data), 1000)))
        assert not end.damage
        return len(found)

    with ThreadPoolExecutor(4) as threads:
        assert {len(ROWS) * 200} == set(threads.map(count, range(8)))


def repeated(size: int) -> bytes:
    """Return a batch whose only record has a value of `size` equal bytes, compressed by zstd to very few."""
    content = record(0, None, bytes(size))
    data = pa.compress(content, "zstd", asbytes=True)
    return batch(0, data, 1, attributes=segment_bytes.ZSTD)


def test_the_size_after_decompression_is_bounded() -> None:
    (row,), _ = read(repeated(1 << 20))
    assert "00" * (1 << 20) == row.value
    found, end = read(repeated(257 << 20))
    assert [] == found
    assert "zstd data cannot be decompressed: it has more than 268435456 bytes" == end.damage[0][1]


@pytest.mark.long
def test_records_that_exceed_a_column_are_refused_and_can_be_read_in_smaller_pieces() -> None:
    one = repeated(200 << 20)
    reader = _core.SegmentReader()
    reader.push(DATA)
    with pytest.raises(
        errors.IllegalArgumentError,
        match=r"have more than 2147483647 bytes of keys or values: push fewer bytes per call$",
    ):
        reader.push(one * 11)
    for _ in range(2):
        assert 1 == len(pa.record_batch(reader.push(one)))
    assert 4 + 2 == reader.finish().batches


@pytest.mark.skipif(sys.platform != "linux", reason="reads the size of the process from /proc")
def test_a_length_or_count_reserves_no_memory() -> None:
    import resource

    huge = [
        struct.pack(">qiibI", 0, 2**31 - 1, 0, 2, 0) + bytes(60),
        segment_bytes.sealed(batch(0, segment_bytes.varint(2**31 - 1), 2**31 - 1)),
        batch(0, b"\xff\xff\xff\xff\x0f" + bytes(50), 1, attributes=segment_bytes.SNAPPY),
        message(0, 1, None, None)[:-4] + struct.pack(">i", 2**31 - 1),
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for data in huge:
        assert [] == read(segment_bytes.sealed(data))[0]
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 16 << 10  # KiB
