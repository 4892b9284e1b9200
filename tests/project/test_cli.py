"""The command line without Spark: help, version, and errors for invalid input."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from assignor import errors
from assignor.cli import main

FLEET = Path(__file__).parents[2] / "data" / "fleet_webshop"


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
    assert told.err.startswith(f"assignor: {tmp_path / 'nowhere'} does not exist; a recording is a folder with ")
    assert 1 == told.err.count("\n")


def test_a_place_that_holds_something_else_is_refused_before_spark_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").touch()

    code = main(["report", str(FLEET), "--out", str(tmp_path)])

    told = capsys.readouterr()
    assert 2 == code
    error = f"cannot replace {tmp_path}: it is not an empty folder or an earlier report; choose another --out folder"
    assert f"assignor: {error}\n" == told.err


def test_without_rich_one_line_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "assignor.recording.text", raising=False)
    monkeypatch.setitem(sys.modules, "rich.console", None)

    code = main(["report", str(FLEET), "--out", str(tmp_path / "out")])

    assert (2, "assignor: rich is not installed: pip install 'assignor[cli]'\n") == (code, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (errors.IllegalArgumentError("that will not do"), "assignor: that will not do\n"),
        (PermissionError(13, "Permission denied", "out"), "assignor: [Errno 13] Permission denied: 'out'\n"),
        (PySparkException("first\n  a stack\nlast\n"), "assignor: first last\n"),
    ],
)
def test_what_goes_wrong_outside_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, told: str
) -> None:
    assert (2, told) == (run_into(error, monkeypatch), capsys.readouterr().err)


def test_ctrl_c_is_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert 130 == run_into(KeyboardInterrupt(), monkeypatch)
    assert "assignor: interrupted\n" == capsys.readouterr().err


def test_a_fault_of_ours_is_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        run_into(ZeroDivisionError(), monkeypatch)


def test_a_request_to_terminate_puts_everything_away(monkeypatch: pytest.MonkeyPatch) -> None:
    put_away = []

    @contextlib.contextmanager
    def session(**_: object) -> Iterator[None]:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            yield
        finally:
            put_away.append(True)

    monkeypatch.setattr("assignor.spark.session.session", session)

    with pytest.raises(SystemExit) as caught:
        main(["report", str(FLEET)])
    assert 143 == caught.value.code
    assert put_away
    assert signal.SIG_DFL == signal.getsignal(signal.SIGTERM)


def run_into(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of a report in which this happens."""

    def session(**_: object) -> None:
        raise error

    monkeypatch.setattr("assignor.spark.session.session", session)
    return main(["report", str(FLEET)])
