"""The command line where it needs no Spark: help, version, and what it says of input that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from assignor.cli import main


def test_without_a_command_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([])

    assert 2 == caught.value.code
    assert "COMMAND" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])

    assert 0 == caught.value.code
    assert capsys.readouterr().out.startswith("assignor ")


def test_a_folder_that_is_none_ends_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["report", str(tmp_path / "nowhere")])

    told = capsys.readouterr()
    assert 2 == code
    assert "" == told.out
    assert told.err.startswith(f"assignor: {tmp_path / 'nowhere'} is no folder")
    assert 1 == told.err.count("\n")
