"""Errors for folders that are not recordings."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from assignor.cluster import COLUMNS, Recording
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


@pytest.mark.parametrize("name", COLUMNS)
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()

    assert f"{folder / name} does not exist" in error_of(folder)


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
