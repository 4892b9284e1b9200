"""Progress line: its content, where it is drawn, and that it is erased."""

from __future__ import annotations

import io
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest

from assignor.spark.progress import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession

ERASED = "\r\x1b[1A\x1b[2K"
"""Control codes that rich writes to erase the line at the end."""

CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class _Terminal(io.StringIO):
    """Stream that claims to be a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class _Teletype(_Terminal):
    """Terminal with ASCII encoding."""

    encoding = "ascii"


@dataclass
class _Stage:
    """Information on a stage, with the field names of Spark Connect and of classic Spark."""

    num_tasks: int
    num_completed_tasks: int
    stage_id: int = 0

    @property
    def numTasks(self) -> int:  # noqa: N802 - Spark's name
        return self.num_tasks

    @property
    def numCompletedTasks(self) -> int:  # noqa: N802 - Spark's name
        return self.num_completed_tasks


@dataclass
class _Classic:
    """Fake session that is its own context and status tracker. Each poll of the active stages takes the next entry."""

    polls: list[dict[int, _Stage]]
    known: dict[int, _Stage] = field(default_factory=dict)

    @property
    def sparkContext(self) -> _Classic:  # noqa: N802 - Spark's name
        return self

    def statusTracker(self) -> _Classic:  # noqa: N802 - Spark's name
        return self

    def getActiveStageIds(self) -> list[int]:  # noqa: N802 - Spark's name
        if not self.polls:
            raise ConnectionError("the session was stopped")
        now = self.polls.pop(0)
        self.known.update(now)
        return [stage for stage, info in now.items() if info.num_completed_tasks < info.num_tasks]

    def getStageInfo(self, stage: int) -> _Stage | None:  # noqa: N802 - Spark's name
        return self.known.get(stage)


class _Connect:
    """Fake Connect session, which has no context and calls progress handlers."""

    def __init__(self) -> None:
        self.handlers: list[Callable[..., None]] = []

    def registerProgressHandler(self, handler: Callable[..., None]) -> None:  # noqa: N802 - Spark's name
        self.handlers.append(handler)

    def removeProgressHandler(self, handler: Callable[..., None]) -> None:  # noqa: N802 - Spark's name
        self.handlers.remove(handler)


def until(stream: io.StringIO, text: str) -> None:
    """Wait until the text is written to the stream."""
    deadline = time.monotonic() + 20
    while text not in stream.getvalue():
        assert time.monotonic() < deadline, f"{text!r} was never drawn: {stream.getvalue()!r}"
        time.sleep(0.005)


def lines(stream: io.StringIO) -> list[str]:
    """Return the drawn lines without control codes."""
    drawn = [CODES.sub("", line).strip() for line in stream.getvalue().split("\r")]
    return [line for line in drawn if line]


@pytest.mark.parametrize("width", [10, 20, 31, 80])
def test_the_line_fits_the_terminal(width: int) -> None:
    out = _Terminal()
    with progress(cast("Any", _Classic([{1: _Stage(8, 5)}] * 1000)), "a long title", stream=out, width=width):
        time.sleep(0.35)
    assert len(lines(out)) > 1
    assert max(map(len, lines(out))) <= width


def test_the_line_has_title_bar_tasks_and_time() -> None:
    out = _Terminal()
    stages = cast("Any", _Classic([{1: _Stage(16, 12)}] * 1000))
    with progress(stages, "decoding [records]", stream=out, clock=lambda: 3.24, width=80):
        until(out, "12/16")
    found = re.fullmatch(r"(.+?) ([━╸╺]+) (.+)", lines(out)[-1])
    assert found is not None
    title, bar, tasks = found.groups()
    assert (title, len(bar), tasks) == ("decoding [records]", 24, "12/16 tasks 0.0 s")


def test_an_ascii_terminal_gets_ascii() -> None:
    out = _Teletype()
    with progress(cast("Any", _Classic([{1: _Stage(4, 2)}] * 1000)), "step", stream=out):
        until(out, "2/4 tasks")
    assert out.getvalue().isascii()


def test_a_file_gets_one_plain_line_at_the_end() -> None:
    out = io.StringIO()
    ticks = iter([10.0, 13.24])
    with progress(None, "decoding records", stream=out, clock=lambda: next(ticks)):
        assert out.getvalue() == ""
    assert out.getvalue() == "decoding records: 3.2 s\n"


def test_a_dumb_terminal_gets_one_plain_line_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    out = _Terminal()
    with progress(None, "step", stream=out, clock=lambda: 0.0):
        pass
    assert out.getvalue() == "step: 0.0 s\n"


def test_quiet_writes_nothing() -> None:
    for out in (io.StringIO(), _Terminal()):
        with progress(None, "step", stream=out, quiet=True):
            time.sleep(0.15)
        assert out.getvalue() == ""


def test_progress_is_written_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(None, "step", quiet=False, clock=lambda: 0.0):
        pass
    assert capsys.readouterr() == ("", "step: 0.0 s\n")


def test_progress_is_shown_by_default_only_if_standard_output_is_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with progress(None, "step"):
        pass
    assert ("", "") == capsys.readouterr()
    monkeypatch.setattr("sys.stdout", _Terminal())
    with progress(None, "step", clock=lambda: 0.0):
        pass
    assert "step: 0.0 s\n" == capsys.readouterr().err


def test_a_failed_step_writes_no_final_line() -> None:
    for out in (io.StringIO(), _Terminal()):
        with pytest.raises(ZeroDivisionError), progress(None, "step", stream=out):
            _ = 1 / 0
        assert "step:" not in out.getvalue()
        assert out.getvalue() == "" or out.getvalue().endswith(ERASED)


def test_tasks_of_running_and_ended_stages_are_added() -> None:
    polls = [
        {},
        {1: _Stage(4, 1)},
        {1: _Stage(4, 3), 2: _Stage(8, 0)},
        {1: _Stage(4, 4), 2: _Stage(8, 5)},
        *[{2: _Stage(8, 8)}] * 1000,
    ]
    out = _Terminal()
    with progress(cast("Any", _Classic(polls)), "step", stream=out, clock=lambda: 0.0, width=60):
        until(out, "12/12")
    counts = [re.findall(r"\d+/\d+ tasks", line) for line in lines(out)]
    assert counts[:6] == [[], [], ["1/4 tasks"], ["3/12 tasks"], ["9/12 tasks"], ["12/12 tasks"]]
    assert out.getvalue().endswith(ERASED)


def test_a_session_that_stops_does_not_fail_the_block() -> None:
    out = _Terminal()
    with progress(cast("Any", _Classic([{1: _Stage(4, 1)}])), "step", stream=out):
        until(out, "1/4")
        time.sleep(0.25)
    assert out.getvalue().endswith(ERASED)


def test_connect_reports_progress_by_callback() -> None:
    spark, out = _Connect(), _Terminal()
    with progress(cast("Any", spark), "step", stream=out):
        (report,) = spark.handlers
        report(stages=[_Stage(4, 4, 1), _Stage(8, 2, 2)], inflight_tasks=2, operation_id="a", done=False)
        until(out, "6/12")
        report(stages=None, inflight_tasks=0, operation_id="a", done=True)
        report(stages=[_Stage(4, 0, 1)], inflight_tasks=0, operation_id="b", done=False)
        until(out, "6/16")
    assert spark.handlers == []
    assert out.getvalue().endswith(ERASED)


def test_without_a_session_the_time_is_shown() -> None:
    for spark in (None, cast("Any", object())):
        out = _Terminal()
        with progress(spark, "starting Spark", stream=out, clock=lambda: 0.0):
            until(out, "0.0 s")
            assert "starting Spark" in out.getvalue()
        assert out.getvalue().endswith(ERASED)


@pytest.mark.spark
def test_the_tasks_of_a_real_session_are_drawn(spark: SparkSession) -> None:
    def slowly(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        time.sleep(0.5)
        return batches

    out = _Terminal()
    with progress(spark, "sleeping", stream=out):
        assert len(spark.range(4, numPartitions=4).mapInArrow(slowly, "id long").collect()) == 4
    assert any("/4 tasks" in line for line in lines(out))
    assert out.getvalue().endswith(ERASED)
