"""Errors for folders that are not recordings."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from assignor.cluster import COLUMNS, Recording
from assignor.cluster.cluster_id import CLUSTER_KEY
from assignor.cluster.recording_files import RecordingFiles
from assignor.cluster.records import SCHEMA
from assignor.errors import IllegalArgumentError

FLEET = Path(__file__).parents[2] / "data" / "fleet_webshop"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files of a recording, all without rows."""
    for name in COLUMNS:
        pq.write_table(pq.read_schema(FLEET / name).empty_table(), tmp_path / name)
    return tmp_path


def error_of(folder: Path) -> str:
    """Return the error message for a folder."""
    with pytest.raises(IllegalArgumentError) as caught:
        Recording.open(folder).topics()
    return str(caught.value)


def test_the_bundled_fleet_is_a_recording() -> None:
    recording = Recording.open(FLEET)

    assert FLEET / "records.parquet" == recording.records
    assert 16 == len(recording.aborted)
    assert 2671 == recording.topics().num_rows


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert f"{tmp_path / 'nowhere'} does not exist; a recording is a folder with " in error_of(tmp_path / "nowhere")


def test_a_missing_file_with_records_is_named(folder: Path) -> None:
    (folder / "records.parquet").unlink()

    assert f"{folder / 'records.parquet'} does not exist; a recording needs " in error_of(folder)


def test_a_recording_without_topics_has_a_table_without_rows(folder: Path) -> None:
    (folder / "topics.parquet").unlink()
    recording = Recording.open(folder)

    assert not recording.has_topics
    assert 0 == recording.topics().num_rows
    assert set(COLUMNS["topics.parquet"]) == set(recording.topics().column_names)


def store(folder: Path, name: str, cluster: str | None, part: str) -> None:
    """Write a part of a table, with the id of its cluster if that is not None."""
    path = folder / name
    if path.is_file():
        path.unlink()
    path.mkdir(exist_ok=True)
    metadata = {} if cluster is None else {CLUSTER_KEY: cluster}
    pq.write_table(pq.read_schema(FLEET / name).with_metadata(metadata).empty_table(), path / f"{part}.parquet")


def test_files_of_two_clusters_are_rejected(folder: Path) -> None:
    store(folder, "records.parquet", "one", "part-0")
    store(folder, "records.parquet", None, "part-1")
    store(folder, "topics.parquet", "one", "part-0")
    assert Recording.open(folder)

    store(folder, "topics.parquet", "two", "part-1")
    first, second = folder / "records.parquet" / "part-0.parquet", folder / "topics.parquet" / "part-1.parquet"
    assert f"{second} is of the cluster two, but {first} is of the cluster one: put " in error_of(folder)


def test_files_of_another_cluster_than_that_of_the_folder_are_rejected(folder: Path) -> None:
    (folder / "cluster.json").write_text('{"cluster_id": "one"}')
    store(folder, "records.parquet", "two", "part-0")

    assert f"is of the cluster two, but {folder / 'cluster.json'} is of the cluster one" in error_of(folder)


def test_a_recorder_writes_the_cluster_into_each_file(tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    rows = pq.read_table(FLEET / "records.parquet").slice(0, 3).combine_chunks().to_batches()[0]
    with RecordingFiles(folder, "one", "localhost:9092") as files:
        files.add(rows.select(SCHEMA.names), [], {0: 3})
        files.commit()

    parts = sorted(folder.rglob("*.parquet"))
    parts = [part for part in parts if part.is_file()]
    assert 4 == len(parts)
    assert {b"one"} == {pq.read_metadata(part).metadata[CLUSTER_KEY] for part in parts}
    assert Recording.open(folder)
    with pytest.raises(
        IllegalArgumentError, match="is a recording of the cluster one, but other:9092 is the cluster two"
    ):
        RecordingFiles(folder, "two", "other:9092")


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("damage", [b"", b"PAR1", b"no parquet at all"])
def test_a_file_that_is_not_parquet_is_named(folder: Path, name: str, damage: bytes) -> None:
    (folder / name).write_bytes(damage)

    assert f"{folder / name} cannot be read as Parquet" in error_of(folder)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_truncated_file_is_named(folder: Path, name: str) -> None:
    whole = (FLEET / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2])

    assert f"{folder / name} cannot be read as Parquet" in error_of(folder)


@pytest.mark.parametrize(
    ("name", "column"), [(name, column) for name, columns in COLUMNS.items() for column in columns]
)
def test_a_missing_column_is_named(folder: Path, name: str, column: str) -> None:
    table = pq.read_table(folder / name)
    pq.write_table(table.drop_columns([column]), folder / name)

    assert f"{folder / name} has no column {column}; its columns are " in error_of(folder)


def test_without_a_list_of_aborted_records_no_record_is_aborted(folder: Path) -> None:
    assert () == Recording.open(folder).aborted


@pytest.mark.parametrize("text", ["{", "[1, 2]", '[["a", 1]]', "[[0, 1, 2]]", "[[true, 1]]", "7"])
def test_an_invalid_list_of_aborted_records_is_named(folder: Path, text: str) -> None:
    (folder / "aborted.json").write_text(text)

    assert f"{folder / 'aborted.json'} must be a JSON list of [partition, offset] pairs" in error_of(folder)
