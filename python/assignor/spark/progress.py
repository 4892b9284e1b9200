"""Progress of a Spark session on one line of the terminal, erased when the work is done.

A thread reads the task counts from Spark ten times per second, and rich draws them. If standard error is a file or a
pipe, one plain line is written at the end of each step instead.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from assignor.dependencies import dependency
from assignor.validation import check_name, read_bool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import SparkSession
    from rich.progress import Progress

__all__ = ["Tasks", "progress"]

_INTERVAL = 0.1
_BAR_WIDTH = 24


class Tasks(NamedTuple):
    """Number of finished tasks of a step, and of all tasks that Spark has planned so far."""

    done: int
    total: int


@contextlib.contextmanager
def progress(
    spark: SparkSession | None,
    title: str,
    *,
    quiet: bool | None = None,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
    width: int | None = None,
) -> Iterator[None]:
    """Show the progress of Spark while the block runs.

    Args:
        spark: The session, classic or Connect; None before it starts, which shows only the time.
        title: Name of the step.
        quiet: True shows nothing. None shows nothing if standard output is not a terminal and no stream is given,
            because a program probably reads the output then.
        stream: Stream to write to; standard error by default.
        clock: Function that returns seconds.
        width: Columns of the terminal; detected by default.

    Yields:
        None. On a terminal the line is erased when the block ends; elsewhere one line with the time is written if the
        block succeeds.

    Raises:
        MissingDependencyError: The stream is a terminal, and rich is not installed.
        WrongTypeError: `title` is no str, or `quiet` no bool.
    """
    check_name(title, "title")
    if quiet is not None:
        read_bool(quiet, "quiet")
    if quiet or (quiet is None and stream is None and not sys.stdout.isatty()):
        yield
        return
    out = sys.stderr if stream is None else stream
    if out is None:  # standard error is closed
        yield
        return
    if not out.isatty() or os.environ.get("TERM") == "dumb":
        began = clock()
        yield
        with contextlib.suppress(OSError, ValueError):  # progress that cannot be shown must not fail the work
            out.write(f"{title}: {clock() - began:.1f} s\n")
            out.flush()
        return
    bar = _bar(out, clock, width)
    step = bar.add_task(title, total=None, tasks="")
    over = threading.Event()
    with _watch(spark) as tasks:

        def draw() -> None:
            while not over.wait(_INTERVAL):
                done, total = tasks()
                count = f"{min(done, total)}/{total} tasks" if total else ""
                bar.update(step, completed=done, total=total or None, tasks=count)
                bar.refresh()

        def run() -> None:
            # An error while drawing must neither fail the work nor print anything between the lines of the work.
            with contextlib.suppress(Exception):
                draw()

        thread = threading.Thread(target=run, name="assignor-progress", daemon=True)
        with contextlib.suppress(OSError, ValueError):
            bar.start()
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            with contextlib.suppress(OSError, ValueError):
                bar.stop()


def _bar(stream: TextIO, clock: Callable[[], float], width: int | None) -> Progress:
    with dependency("rich"):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(_BAR_WIDTH),
        TextColumn("{task.fields[tasks]}", markup=False),
        TextColumn("{task.elapsed:.1f} s", markup=False),
        console=Console(file=stream, force_terminal=True, width=width),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        get_time=clock,
    )


@contextlib.contextmanager
def _watch(spark: Any) -> Iterator[Callable[[], Tasks]]:
    """Yield a function that counts the tasks of the jobs that start in the block."""
    if spark is None:
        yield lambda: Tasks(0, 0)
        return
    try:
        tracker = spark.sparkContext.statusTracker()
    except Exception:  # Connect has no SparkContext; the class of the error depends on the version.
        tracker = None
    if tracker is not None:
        yield _ClassicStages(tracker).tasks
        return
    stages = _ConnectStages()
    try:
        spark.registerProgressHandler(stages)
    except Exception:  # Unknown kind of session: show only the time.
        yield stages.tasks
        return
    try:
        yield stages.tasks
    finally:
        with contextlib.suppress(Exception):
            spark.removeProgressHandler(stages)


class _ClassicStages:
    """Stages of a classic session, from its status tracker."""

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker
        self._stages: dict[int, Tasks] = {}
        self._running: set[int] = set()

    def tasks(self) -> Tasks:
        active = set(self._tracker.getActiveStageIds())
        # A stage that left the list has ended; ask for its final numbers once.
        for stage in active | self._running:
            info = self._tracker.getStageInfo(stage)
            if info is not None:
                self._stages[stage] = Tasks(info.numCompletedTasks, info.numTasks)
        self._running = active
        return _sum(self._stages.values())


class _ConnectStages:
    """Stages of a Connect session, as its server reports them."""

    def __init__(self) -> None:
        self._stages: dict[tuple[str | None, int], Tasks] = {}

    def __call__(self, *, stages: Iterable[Any] | None, operation_id: str | None, **_: Any) -> None:
        # Create a new dict each time, because the drawing thread may be reading the old one.
        reported = {
            (operation_id, each.stage_id): Tasks(each.num_completed_tasks, each.num_tasks) for each in stages or ()
        }
        self._stages = {**self._stages, **reported}

    def tasks(self) -> Tasks:
        return _sum(self._stages.values())


def _sum(stages: Iterable[Tasks]) -> Tasks:
    each = list(stages)
    return Tasks(sum(stage.done for stage in each), sum(stage.total for stage in each))
