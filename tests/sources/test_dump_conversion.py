"""Text of `kafka-dump-log.sh` as a recording: its records, the outcome of transactions, and what it lacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from assignor.errors import IllegalArgumentError
from assignor.sources.source import convert_to, open_source

if TYPE_CHECKING:
    from collections.abc import Sequence

DUMPS = Path(__file__).parents[1] / "data/dump_text"


def opened(paths: Sequence[Path]) -> tuple[list[tuple[int, int]], tuple[tuple[int, int], ...], tuple[str, ...]]:
    """Return partition and offset of the records, those of aborted transactions, and the notes."""
    with open_source(paths) as recording:
        rows = pq.read_table(recording.records, columns=["partition", "offset"]).to_pylist()
        return [(row["partition"], row["offset"]) for row in rows], recording.aborted, tuple(recording.notes)


@pytest.mark.parametrize("version", ["0.11.0.3", "2.8.2", "3.7.2", "4.3.1"])
def test_a_text_becomes_a_recording(version: str) -> None:
    path = DUMPS / f"kafka-{version}.txt"
    lost = {4, 5} if version == "0.11.0.3" else set()

    rows, aborted, notes = opened([path])

    assert [(7, offset) for offset in (0, 1, 2, 3, 4, 5, 6, 7, 9) if offset not in lost] == rows
    assert ((7, 7),) == aborted
    assert bool(lost) == any(note.startswith(f"{path}: 2 tombstones left out") for note in notes)
    assert (version == "4.3.1") != any("print no subscriptions" in note for note in notes)


def test_a_transaction_can_end_in_another_text(tmp_path: Path) -> None:
    lines = (DUMPS / "kafka-4.3.1.txt").read_text().splitlines(keepends=True)
    (end,) = (place for place, line in enumerate(lines) if "endTxnMarker: ABORT" in line)
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("".join(lines[: end - 1]))
    second.write_text("".join([lines[0], *lines[end - 1 :]]))

    assert opened([DUMPS / "kafka-4.3.1.txt"])[:2] == opened([first, second])[:2]
    assert ((7, 7),) == opened([first])[1], "an open transaction is not committed"


def test_a_text_is_not_read_together_with_another_source(tmp_path: Path) -> None:
    dump = DUMPS / "kafka-4.3.1.txt"
    with (
        pytest.raises(IllegalArgumentError, match="cannot be read together with other paths"),
        open_source([dump, tmp_path]),
    ):
        pass
    empty = tmp_path / "empty.txt"
    empty.write_text("Dumping /d/__consumer_offsets-3/0.log\nLog starting offset: 0\n")
    with (
        pytest.raises(IllegalArgumentError, match=r"empty\.txt has no record of __consumer_offsets"),
        open_source([empty]),
    ):
        pass


def test_a_text_is_converted_to_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "recording"

    recording = convert_to([DUMPS / "kafka-4.3.1.txt"], out)

    assert out == recording.folder
    assert opened([out]) == opened([DUMPS / "kafka-4.3.1.txt"])
