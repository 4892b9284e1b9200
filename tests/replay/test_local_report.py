"""The report without Spark: sizes, batches, aborted records, damaged files and wrong types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor.cluster import Recording, records
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.report import local
from assignor.report.report_folder import TABLES, WORKING_TABLES
from assignor.report.summary import summarize
from tests.replay.logs import event, member
from tests.support.recorded_fleet import RECORDING

Row = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a recording with the topics of the bundled one and without records."""
    folder = tmp_path / "recording"
    folder.mkdir()
    pq.write_table(pq.read_table(RECORDING / "topics.parquet"), folder / "topics.parquet")
    write(folder, [])
    return folder


def write(folder: Path, rows: list[Row], **options: Any) -> Recording:
    """Write the records of a recording."""
    pq.write_table(pa.Table.from_pylist(rows, schema=records.SCHEMA), folder / "records.parquet", **options)
    return Recording.open(folder)


def generation(group: str, number: int, offset: int, partition: int = 0) -> Row:
    value = {
        "protocolType": "consumer",
        "generation": number,
        "protocol": "range",
        "leader": "a",
        "members": [member("a", ["t"], {"t": [0]})],
    }
    written = event(2, {"group": group}, value, version=3)
    place = {"partition": partition, "offset": offset, "timestamp": 1000 * offset}
    return {**place, "key": written.key, "value": written.value}


def tables(recording: Recording, part: Path) -> dict[str, list[Row]]:
    """Return the rows of the report's tables."""
    part.mkdir()
    local.write_tables(recording, part)
    return {path.name: pq.read_table(path).to_pylist() for path in part.iterdir()}


def test_records_are_sorted_by_group_and_offset_whatever_their_order_in_the_file(folder: Path) -> None:
    rows = [generation("b", 2, 9), generation("a", 1, 5, 1), generation("b", 1, 3), generation("a", 2, 6, 1)]

    found = pa.Table.from_batches(records.by_group(write(folder, rows))).to_pylist()

    assert [("a", 5), ("a", 6), ("b", 3), ("b", 9)] == [(row["group_id"], row["offset"]) for row in found]
    by_offset = {row["offset"]: row for row in rows}
    assert all({**row, **by_offset[row["offset"]]} == row for row in found)


def test_batches_have_few_bytes_and_records(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [generation("a", number, number) for number in range(10)]
    size = len(rows[0]["key"]) + len(rows[0]["value"])
    recording = write(folder, rows)

    monkeypatch.setattr(records, "BATCH_BYTES", 3 * size)
    assert [3, 3, 3, 1] == [batch.num_rows for batch in records.by_group(recording)]
    monkeypatch.setattr(records, "BATCH_BYTES", size - 1)
    assert [1] * 10 == [batch.num_rows for batch in records.by_group(recording)]
    monkeypatch.setattr(records, "BATCH_BYTES", 100 * size)
    monkeypatch.setattr(records, "BATCH_RECORDS", 4)
    assert [4, 4, 2] == [batch.num_rows for batch in records.by_group(recording)]


def test_the_size_of_batches_does_not_change_the_report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [generation(group, number, 10 * number) for group in "abc" for number in range(1, 5)]
    recording = write(folder, rows)

    whole = tables(recording, folder.parent / "whole")
    monkeypatch.setattr(records, "BATCH_RECORDS", 1)

    assert whole == tables(recording, folder.parent / "one by one")
    assert [("a", 4), ("b", 4), ("c", 4)] == [(row["group_id"], row["generation"]) for row in whole["groups"]]


def test_records_of_aborted_transactions_are_written_and_not_replayed(folder: Path) -> None:
    (folder / "aborted.json").write_text("[[0, 2], [1, 1], [7, 7]]")
    rows = [generation("a", 1, 1), generation("a", 2, 2)]

    found = tables(write(folder, rows), folder.parent / "out")

    assert [(1, False), (2, True)] == [(row["offset"], row["aborted"]) for row in found["records"]]
    assert [1] == [row["generation"] for row in found["groups"]]


def test_an_empty_recording_has_tables_without_rows(folder: Path) -> None:
    part = folder.parent / "out"

    assert {name: [] for name in (*TABLES, *WORKING_TABLES)} == tables(Recording.open(folder), part)
    assert 0 == summarize(Recording.open(folder), part).records
    assert 0 == json.loads((part / "report.json").read_text())["records"]


def test_the_size_is_that_of_the_read_columns_in_all_files(folder: Path) -> None:
    row = generation("a", 1, 1)
    (folder / "records.parquet").unlink()
    for name in ("x.parquet", "deep/y.parquet"):
        path = folder / "records.parquet" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist([row] * 3, schema=records.SCHEMA).append_column(
            "more", pa.array(["m" * 10_000] * 3)
        )
        pq.write_table(table, path, use_dictionary=False)

    found = records.size_of(Recording.open(folder))

    assert 6 == found.records
    assert 6 * len(row["value"]) < found.bytes < 6 * len(row["value"]) + 5_000


def test_a_file_with_damaged_pages_is_an_error_on_one_line(folder: Path) -> None:
    rows = [generation(f"group {number}", 1, number) for number in range(200)]
    recording = write(folder, rows, compression="zstd")
    content = bytearray(recording.records.read_bytes())
    content[40 : len(content) // 2] = bytes(len(content) // 2 - 40)
    recording.records.write_bytes(content)

    with pytest.raises(IllegalArgumentError, match=r"records\.parquet cannot be read as Parquet: ") as caught:
        list(records.by_group(recording))
    assert "\n" not in str(caught.value)


def test_columns_of_other_types_are_rejected_with_sparks_names(folder: Path) -> None:
    for name, kind, message in (
        ("offset", pa.string(), "column offset must be of type bigint, not string"),
        ("partition", pa.int64(), "column partition must be of type int, not bigint"),
        ("value", pa.string(), "column value must be of type binary, not string"),
    ):
        place = records.SCHEMA.get_field_index(name)
        schema = records.SCHEMA.set(place, pa.field(name, kind))
        pq.write_table(schema.empty_table(), folder / "records.parquet")
        with pytest.raises(WrongTypeError, match=rf"records\.parquet: {message}"):
            list(records.by_group(Recording.open(folder)))


def test_bytes_may_have_any_binary_type(folder: Path) -> None:
    row = generation("a", 1, 1)
    table = pa.Table.from_pylist([row] * 3, schema=records.SCHEMA)
    table = table.set_column(3, "key", table["key"].cast(pa.large_binary()))
    table = table.set_column(4, "value", table["value"].dictionary_encode())
    pq.write_table(table, folder / "records.parquet")

    (batch,) = records.by_group(Recording.open(folder))

    assert ["a"] * 3 == batch["group_id"].to_pylist()
    assert [row["value"]] * 3 == batch["value"].to_pylist()
