"""Output of the command line. All text leaves through this file, which escapes what could control a terminal.

Results go to standard output as lines of text or as JSON; sentences, errors and progress go to standard error. The
files of `cli` print in no other way.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import shutil
import sys
import time
from typing import TYPE_CHECKING

from assignor.errors import AssignorError
from assignor.lines import escape, escape_json, format_time, json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_STYLES = re.compile(r"(\x1b\[(?:0|1|2|1;31)m)")
"""Sequences that highlight text: reset, bold, dim and bold red. They are the only ones that a terminal gets."""

_CLEAR_LINE = "\r\x1b[K"


class OutputError(AssignorError):
    """Standard output that cannot be written."""


def colours() -> bool:
    """Return True if standard output is a terminal and NO_COLOR is not set."""
    return _is_terminal(sys.stdout) and "NO_COLOR" not in os.environ


def width() -> int | None:
    """Return the number of columns of the terminal; None if standard output is a file or a pipe."""
    return shutil.get_terminal_size().columns if _is_terminal(sys.stdout) else None


def needs_ascii() -> bool:
    """Return True if standard output cannot encode every character."""
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") != "utf8"


def prepare() -> None:
    """Let standard output replace what it cannot encode, so that a report is printed on any terminal."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def print_line(text: str = "") -> None:
    """Print one line of text; a line break in the text is escaped.

    Raises:
        OutputError: Standard output cannot be written.
    """
    print_lines([text])


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of text. Control characters in them are escaped, except the sequences of `colours`.

    Raises:
        OutputError: Standard output cannot be written.
    """
    styled = colours()
    for line in lines:
        _write(f"{_escape_styled(line) if styled else escape(line)}\n")


def print_json(value: object) -> None:
    """Print a value as JSON on one line.

    Raises:
        OutputError: Standard output cannot be written.
    """
    _write(f"{json_text(value, ascii_only=needs_ascii())}\n")


def print_json_text(text: str) -> None:
    """Print the JSON of a value, which has no line break, on one line.

    Raises:
        OutputError: Standard output cannot be written.
    """
    _write(f"{escape_json(text)}\n")


def flush() -> None:
    """Send what has been printed to the reader of standard output.

    Raises:
        OutputError: Standard output cannot be written.
    """
    if sys.stdout is not None:
        with _output_errors():
            sys.stdout.flush()


def drop_output() -> None:
    """Discard the output that is not written yet: writing it when the process exits would fail again."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # standard output may be closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def notice(text: str, *, program: str = "assignor") -> None:
    """Print a sentence or an error on one line of standard error; nothing if standard error cannot be written."""
    _say(f"{program}: {escape(text)}\n")


def log(text: str) -> None:
    """Print a sentence as `notice` does, after the time, for a command that runs for days."""
    _say(f"{format_time(time.time_ns() // 1_000_000)}  assignor: {escape(text)}\n")


@contextlib.contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a text on the last line of the terminal; the line is cleared at the end.

    It does nothing if standard error is not a terminal.
    """
    if not is_interactive():
        yield lambda _: None
        return
    try:
        yield show_status
    finally:
        clear_status()


def show_status(text: str) -> None:
    """Show a text on the last line of the terminal in place of the one before."""
    _say(f"{_CLEAR_LINE}{escape(text)}")


def clear_status() -> None:
    """Clear the last line of the terminal."""
    _say(_CLEAR_LINE)


def is_interactive() -> bool:
    """Return True if standard error is a terminal."""
    return _is_terminal(sys.stderr)


def print_help(text: str) -> None:
    """Print the text of `--help` or `--version`, which has no input in it.

    Raises:
        OutputError: Standard output cannot be written.
    """
    print_lines(text.splitlines())


def _escape_styled(line: str) -> str:
    return "".join(part if place % 2 else escape(part) for place, part in enumerate(_STYLES.split(line)))


def _write(text: str) -> None:
    if sys.stdout is None:  # `assignor ... >&-`
        raise OutputError(f"cannot write to standard output: {os.strerror(errno.EBADF)}")
    with _output_errors():
        sys.stdout.write(text)


@contextlib.contextmanager
def _output_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:  # a full disk; a closed stream
        reason = getattr(error, "strerror", None) or str(error)
        raise OutputError(f"cannot write to standard output: {reason}") from error


def _say(text: str) -> None:
    with contextlib.suppress(AttributeError, OSError, ValueError):  # standard error may be closed or full
        sys.stderr.write(text)
        sys.stderr.flush()


def _is_terminal(stream: object) -> bool:
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]  # checked here
    except (AttributeError, ValueError):  # None, or closed
        return False
