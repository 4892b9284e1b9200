"""Standard output of the commands: format, and the width, colours and encoding of the terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def colours() -> bool:
    """Return True if standard output is a terminal and NO_COLOR is not set."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def width() -> int | None:
    """Return the number of columns of the terminal; None if standard output is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def needs_ascii() -> bool:
    """Return True if standard output cannot encode every character."""
    return (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"


def add_format(command: argparse.ArgumentParser, *, default: str) -> None:
    """Add the options `--json` and `--text` to a command; `default` is `json` or `text`."""
    formats = command.add_mutually_exclusive_group()
    for name, meaning in (("json", "print JSON, for programs"), ("text", "print text, for people")):
        shown = f"{meaning} (default)" if name == default else meaning
        formats.add_argument(f"--{name}", dest="format", action="store_const", const=name, help=shown)
    command.set_defaults(format=default)


def print_json(value: object) -> None:
    """Print a value as JSON on one line."""
    print(json.dumps(value, ensure_ascii=needs_ascii()))
