"""Shows on one line of the terminal how far Spark is, and leaves nothing of it behind.

A thread asks Spark about ten times a second; what it draws is a pure function of the answer. Where nobody
watches (standard error is a file or a pipe) there is one plain line at the end of each step instead.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import SparkSession

__all__ = ["Tasks", "progress", "render", "summary"]

_INTERVAL = 0.1
_WIDEST_BAR = 24
_NARROWEST_BAR = 4
_UNKNOWN_WIDTH = 80
_CLEAR = "\r\x1b[K"


class Tasks(NamedTuple):
    """How many of a step's tasks are done, of those that Spark has planned so far."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class _Glyphs:
    done: str
    left: str
    more: str


_BLOCKS = _Glyphs("█", "░", "…")
_ASCII = _Glyphs("#", ".", "~")


def render(title: str, tasks: Tasks, width: int, elapsed: float, *, ascii_only: bool = False) -> str:
    """Draw the line.

    Args:
        title: What is being done.
        tasks: How far it is; a total of 0 stands for not known yet.
        width: How many columns the line may take.
        elapsed: Seconds since the step began.
        ascii_only: Draw without characters beyond ASCII.

    Returns:
        At most `width` characters: title, bar, tasks and time; where room is short the bar goes first, then
        the tasks, then the end of the title.
    """
    glyphs = _ASCII if ascii_only else _BLOCKS
    clock = f"{elapsed:.1f} s"
    if tasks.total > 0:
        done = min(tasks.done, tasks.total)
        count = f"{done}/{tasks.total} tasks"
        short = f"{title}  {count}  {clock}"
        room = min(_WIDEST_BAR, width - len(short) - 2)
        if room >= _NARROWEST_BAR:
            filled = room * done // tasks.total
            return f"{title}  {glyphs.done * filled}{glyphs.left * (room - filled)}  {count}  {clock}"
        if len(short) <= width:
            return short
    line = f"{title}  {clock}"
    if len(line) <= width:
        return line
    room = width - len(clock) - 3
    return f"{title[:room]}{glyphs.more}  {clock}" if room > 0 else clock[: max(width, 0)]


def summary(title: str, elapsed: float) -> str:
    """Say in one plain line that a step is done.

    Args:
        title: What was done.
        elapsed: Seconds that it took.

    Returns:
        The line, without its end.
    """
    return f"{title}: {elapsed:.1f} s"


@contextlib.contextmanager
def progress(
    spark: SparkSession | None,
    title: str,
    *,
    quiet: bool | None = None,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
    width: Callable[[TextIO], int] | None = None,
) -> Iterator[None]:
    """Show how far Spark is while the block runs.

    Args:
        spark: The session that works, classic or Connect; None while there is none yet: only time is shown.
        title: What is being done.
        quiet: Show nothing at all. None is quiet where standard output is no terminal and no stream is given: then a
            program reads along, and nobody watches.
        stream: Where to draw; standard error by default.
        clock: Gives seconds.
        width: Gives the columns of the stream's terminal.

    Yields:
        Nothing; on a terminal the line is gone when the block ends, and elsewhere a line with the time is
        written if it ended well.
    """
    if quiet or (quiet is None and stream is None and not sys.stdout.isatty()):
        yield
        return
    out = sys.stderr if stream is None else stream
    began = clock()
    if not _draws(out):
        yield
        out.write(summary(title, clock() - began) + "\n")
        out.flush()
        return
    ascii_only = not _encodes(out, _BLOCKS)
    columns = width or _columns
    over = threading.Event()
    with _watch(spark) as tasks:

        def draw() -> None:
            while not over.wait(_INTERVAL):
                # The last column stays free: some terminals wrap as soon as it is written.
                line = render(title, tasks(), columns(out) - 1, clock() - began, ascii_only=ascii_only)
                out.write(_CLEAR + line)
                out.flush()

        def run() -> None:
            # The work must never fail, or be talked over, because its progress could not be shown.
            with contextlib.suppress(Exception):
                draw()

        thread = threading.Thread(target=run, name="assignor-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            with contextlib.suppress(OSError, ValueError):
                out.write(_CLEAR)
                out.flush()


def _draws(stream: TextIO) -> bool:
    """Say whether a line on this stream can be drawn over."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _encodes(stream: TextIO, glyphs: _Glyphs) -> bool:
    try:
        f"{glyphs.done}{glyphs.left}{glyphs.more}".encode(stream.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def _columns(stream: TextIO) -> int:
    # shutil.get_terminal_size asks standard output, which may well be a file while we draw on standard error.
    try:
        return os.get_terminal_size(stream.fileno()).columns or _UNKNOWN_WIDTH
    except (OSError, ValueError):
        return _UNKNOWN_WIDTH


@contextlib.contextmanager
def _watch(spark: Any) -> Iterator[Callable[[], Tasks]]:
    """Give a function that says how far the work is that began after this."""
    if spark is None:
        yield lambda: Tasks(0, 0)
        return
    try:
        tracker = spark.sparkContext.statusTracker()
    except Exception:  # Connect has no SparkContext, and each version says so with another class.
        tracker = None
    if tracker is not None:
        yield _Polled(tracker).tasks
        return
    told = _Told()
    try:
        spark.registerProgressHandler(told)
    except Exception:  # A session of some other make: time alone must do.
        yield told.tasks
        return
    try:
        yield told.tasks
    finally:
        with contextlib.suppress(Exception):
            spark.removeProgressHandler(told)


class _Polled:
    """Adds up the stages of a classic session, by asking its status tracker."""

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker
        self._stages: dict[int, Tasks] = {}
        self._running: set[int] = set()

    def tasks(self) -> Tasks:
        active = set(self._tracker.getActiveStageIds())
        # A stage that left the list has ended since; asked once more it gives its last numbers.
        for stage in active | self._running:
            info = self._tracker.getStageInfo(stage)
            if info is not None:
                self._stages[stage] = Tasks(info.numCompletedTasks, info.numTasks)
        self._running = active
        return _sum(self._stages.values())


class _Told:
    """Adds up the stages of a Connect session, as its server tells of them."""

    def __init__(self) -> None:
        self._stages: dict[tuple[str | None, int], Tasks] = {}

    def __call__(self, *, stages: Iterable[Any] | None, operation_id: str | None, **_: Any) -> None:
        # A new dict each time: the drawing thread may be reading the old one.
        told = {(operation_id, each.stage_id): Tasks(each.num_completed_tasks, each.num_tasks) for each in stages or ()}
        self._stages = {**self._stages, **told}

    def tasks(self) -> Tasks:
        return _sum(self._stages.values())


def _sum(stages: Iterable[Tasks]) -> Tasks:
    each = list(stages)
    return Tasks(sum(stage.done for stage in each), sum(stage.total for stage in each))
