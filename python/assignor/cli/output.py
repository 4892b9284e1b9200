"""Standard output of the commands: whether it is a terminal, its width, its colours and its encoding."""

from __future__ import annotations

import os
import shutil
import sys


def colours() -> bool:
    """Return True if standard output is a terminal and NO_COLOR is not set."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def width() -> int | None:
    """Return the number of columns of the terminal; None if standard output is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def needs_ascii() -> bool:
    """Return True if standard output cannot encode every character."""
    return (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
