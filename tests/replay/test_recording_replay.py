"""Decoding and replay in one pass give the same result as one after the other, for any batch size."""

from __future__ import annotations

import functools
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor import _core
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.offsets import decode_batch
from tests.replay.logs import TOPICS, replay_all
from tests.support.record_bytes import LogRecord
from tests.support.recorded_fleet import RECORDING, topics

ABORTED = 7
"""Records whose offset is a multiple of this number count as part of an aborted transaction."""


@functools.cache
def sorted_records() -> pa.RecordBatch:
    """Return the records of the fleet by group, in log order, with the columns that the pass reads."""
    table = pq.read_table(RECORDING / "records.parquet")
    aborted = pa.array([offset % ABORTED == 0 for offset in table["offset"].to_pylist()])
    groups = pa.array(_core.record_groups(table["key"].combine_chunks()))
    table = table.append_column("group_id", groups).append_column("aborted", aborted)
    order = [("group_id", "ascending"), ("offset", "ascending"), ("timestamp", "ascending")]
    (batch,) = table.sort_by(order).combine_chunks().to_batches()
    return batch


def metadata() -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(topics(), schema=TOPICS)


def in_one_pass(records: pa.RecordBatch, size: int) -> tuple[pa.Table, dict[str, dict[str, Any]]]:
    """Return the decoded records and the history of each group, from records in batches of a size."""
    replay = _core.Replay(metadata())
    decoded, histories = [], []
    for start in range(0, records.num_rows, size):
        rows, _, _, ended = replay.push_groups(records.slice(start, size), decoded=True)
        decoded.append(pa.record_batch(rows))
        histories.append(ended)
    histories.append(replay.push_groups(None)[-1])
    found = [pair for ids, found in histories for pair in zip(pa.array(ids), pa.array(found), strict=True)]
    by_group = {group.as_py(): history.as_py() for group, history in found}
    assert len(found) == len(by_group), "no group ends twice"
    return pa.Table.from_batches(decoded), by_group


@pytest.mark.parametrize("size", [1_000, 1_000_000])
def test_one_pass_gives_decoded_records_and_histories(size: int) -> None:
    records = sorted_records()

    decoded, histories = in_one_pass(records, size)

    assert (
        decoded.combine_chunks().to_batches()[0].equals(pa.record_batch(decode_batch(records["key"], records["value"])))
    )
    logs: dict[str, list[Any]] = {}
    for row in records.to_pylist():
        if row["group_id"] is not None and not row["aborted"]:
            logs.setdefault(row["group_id"], []).append(LogRecord(*(row[name] for name in LogRecord._fields)))
    expected = replay_all(list(logs.values()), topics())
    assert dict(zip(logs, expected, strict=True)) == histories
    assert len(histories) > 20


def test_no_records_give_no_histories() -> None:
    replay = _core.Replay(metadata())

    rows, commits, (events,), ended = replay.push_groups(sorted_records().slice(0, 0), decoded=True, commits=True)

    last = replay.push_groups(None)[-1]
    assert [0] * 7 == [len(pa.array(column)) for column in (*ended, *last, rows, commits, events)]


def test_invalid_columns_and_metadata_are_rejected() -> None:
    replay = _core.Replay(metadata())

    with pytest.raises(WrongTypeError, match="column key of the records must be Binary; it is missing"):
        replay.push_groups(sorted_records().drop_columns(["key"]))
    with pytest.raises(WrongTypeError, match="column offset of the records must be Int64 without nulls; it is Int32"):
        replay.push_groups(sorted_records().set_column(1, "offset", sorted_records()["offset"].cast(pa.int32())))
    with pytest.raises(IllegalArgumentError, match="must not be negative"):
        _core.Replay(pa.RecordBatch.from_pylist([{**topics()[0], "partition": -1}], schema=TOPICS))


def test_keys_without_a_group_have_no_group() -> None:
    keys = pa.array([b"\0\2\0\1g", b"\0\2\0\1", b"\x7f\xff", None], pa.binary())

    assert ["g", None, None, None] == pa.array(_core.record_groups(keys)).to_pylist()
