"""Command `assignor record`: the recording folder of a live cluster, or of data directories of brokers."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

from assignor.cli.connection import add_connection, connection_settings
from assignor.dependencies import require
from assignor.errors import IllegalArgumentError
from assignor.terminal import clear_status, is_interactive, notice, show_status, status_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path
    from types import FrameType

    from assignor.cluster.recorder import Progress


_SNAPSHOT_SECONDS = 30.0
_LIVE = ("bootstrap_server", "command_config", "timeout", "duration", "snapshot_interval", "until_end")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Record the topic __consumer_offsets of a live cluster, its topics and their end offsets into a folder that "
        "`assignor report` and `assignor replay` read. The command joins no group, commits no offset and changes "
        "nothing on the cluster. Run it again with the same folder to continue. With --from, the command "
        "connects to no cluster: it converts the log in the data directories of brokers."
    )
    command.add_argument(
        "folder", nargs="?", metavar="FOLDER", help="folder of the recording, new or to be continued; with --from: new"
    )
    command.add_argument("--out", metavar="FOLDER", help="the same as FOLDER")
    command.add_argument(
        "--from",
        dest="sources",
        nargs="+",
        metavar="PATH",
        help="data directories of the brokers of a cluster, folders above them, partition folders "
        "__consumer_offsets-N and log segments, to be converted into the recording",
    )
    add_connection(command)
    end = command.add_mutually_exclusive_group()
    end.add_argument(
        "--until-end", action="store_true", help="stop at the offsets at which the log ended when the command started"
    )
    end.add_argument(
        "--duration",
        type=float,
        metavar="S",
        help="stop after this number of seconds (default without --until-end: record until Ctrl-C)",
    )
    command.add_argument(
        "--snapshot-interval",
        type=float,
        metavar="S",
        help=f"seconds between snapshots of the topics and their end offsets (default: {_SNAPSHOT_SECONDS:g})",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    if (options.folder is None) == (options.out is None):
        raise IllegalArgumentError("record needs the FOLDER of the recording, once: as FOLDER or as --out FOLDER")
    out = options.folder or options.out
    if options.sources is not None:
        return _convert(options, out)
    for name in ("duration", "snapshot_interval"):
        seconds = getattr(options, name)
        if seconds is not None and not seconds > 0:
            raise IllegalArgumentError(
                f"--{name.replace('_', '-')} {seconds:g}: the number of seconds must be positive"
            )
    settings = connection_settings(options)
    require("pyarrow", "confluent_kafka")
    from assignor.cluster.recorder import record

    line = ProgressLine()
    with line, stopped_by_signals(line) as received:
        found = record(
            settings,
            out,
            until_end=options.until_end,
            duration=options.duration,
            is_stopped=lambda: bool(received),
            show=line.show,
            snapshot_seconds=options.snapshot_interval or _SNAPSHOT_SECONDS,
        )
    notice(summary(found, out))
    return 128 + received[0] if received else 0


def _convert(options: argparse.Namespace, out: str) -> int:
    """Convert the log in data directories and segments, and return the exit code."""
    for name in _LIVE:
        if getattr(options, name) not in (None, False):
            raise IllegalArgumentError(f"--{name.replace('_', '-')} is for a live cluster, and --from reads files")
    from assignor.cluster.records import size_of
    from assignor.sources.source import convert_to

    with status_line() as show:
        recording = convert_to(options.sources, out, show)
    for note in recording.notes:
        notice(f"{note}.")
    aborted = len(recording.aborted)
    notice(f"recorded {size_of(recording).records:,} records in {out}, {aborted:,} of aborted transactions")
    return 0


def record_to_end(options: argparse.Namespace, folder: Path, *, is_kept: bool) -> None:
    """Record a live cluster for another command, up to the offsets at which its log ends when the recording starts.

    Args:
        options: Options of the connection.
        folder: Folder of the recording.
        is_kept: False if the folder is temporary; the summary then omits its path.

    Raises:
        KeyboardInterrupt: Ctrl-C or SIGTERM was received.
    """
    settings = connection_settings(options)
    from assignor.cluster.recorder import record

    line = ProgressLine()
    with line, stopped_by_signals(line) as received:
        found = record(settings, folder, until_end=True, is_stopped=lambda: bool(received), show=line.show)
    notice(summary(found, str(folder) if is_kept else None))
    if received:
        raise KeyboardInterrupt


def summary(found: Progress, folder: str | None) -> str:
    """Return the last line of the command; `folder` is None if it is temporary."""
    place = "" if folder is None else f" in {folder}"
    text = f"recorded {found.records:,} records{place}, {found.aborted:,} of aborted transactions"
    if found.is_open:
        text += f"; {found.missing:,} offsets follow an open transaction and are not read yet"
    return "; ".join(filter(None, [text, found.gap, found.problem]))


class ProgressLine(contextlib.AbstractContextManager["ProgressLine"]):
    """Progress on standard error: one line that is redrawn on a terminal, else a line every 10 s.

    Attributes:
        is_recording: True while the cluster answers, from the first call of `show`.
    """

    def __init__(self) -> None:
        self.is_recording = False
        self._is_terminal = is_interactive()
        self._interval = 0.2 if self._is_terminal else 10.0
        self._last = time.monotonic()
        self._problem = ""

    def show(self, found: Progress) -> None:
        """Show the progress if it was not shown just now, or if its problem has changed."""
        self.is_recording = not found.problem
        now = time.monotonic()
        problem = found.problem or found.gap
        if now - self._last < self._interval and problem == self._problem:
            return
        self._last, self._problem = now, problem
        text = f"{found.records:,} records, {found.missing:,} offsets behind the end of the log"
        if found.gap:
            text += f"; {found.gap}"
        if found.problem:
            text = f"waiting for the cluster: {found.problem}"
        if self._is_terminal:
            show_status(f"assignor: {text}")
        else:
            notice(text)

    def __exit__(self, *error: object) -> None:
        if self._is_terminal:
            clear_status()


@contextlib.contextmanager
def stopped_by_signals(line: ProgressLine) -> Iterator[list[int]]:
    """Yield a list; SIGINT (Ctrl-C) or SIGTERM appends its number while the recorder records.

    While the recorder waits for the cluster, and after an earlier signal, a signal has its usual effect immediately.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    def stop(number: int, _frame: FrameType | None) -> None:
        if received or not line.is_recording:
            signal.signal(number, before[number])
            signal.raise_signal(number)
        received.append(number)

    before: dict[int, Any] = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number in before:
            signal.signal(number, stop)
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
