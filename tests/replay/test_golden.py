"""The outputs of `assignor report` and `assignor replay` equal the stored ones, byte by byte; see `golden/`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.replay.golden.outputs import EXPECTED, expected, first_difference, outputs
from tests.replay.golden.recordings import NAMES, recording


@pytest.mark.parametrize("name", NAMES)
def test_outputs_equal_the_stored_ones(name: str, tmp_path: Path) -> None:
    folders = [tmp_path / "in", tmp_path / "run"]
    for folder in folders:
        folder.mkdir()

    found = dict(outputs(recording(name, folders[0]), folders[1]))

    assert {f"{output}.gz" for output in found} == {path.name for path in (EXPECTED / name).iterdir()}
    changes = {output: first_difference(expected(name, output), content) for output, content in found.items()}
    assert {} == {output: change for output, change in changes.items() if change}


def test_every_stored_output_belongs_to_a_recording() -> None:
    assert set(NAMES) == {path.name for path in EXPECTED.iterdir()}


def test_a_difference_is_shown_with_its_line() -> None:
    assert None is first_difference(b"a\nb\n", b"a\nb\n")
    assert "line 2, byte 0: 'b\\n' was stored, '' was found" == first_difference(b"a\nb\n", b"a\n")
    assert "line 1, byte 40: " == str(first_difference(b"x" * 100 + b"a", b"x" * 100 + b"b"))[:17]
