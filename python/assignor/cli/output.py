"""Options of the format of standard output: JSON for programs, or text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def add_format(command: argparse.ArgumentParser, *, default: str) -> argparse._MutuallyExclusiveGroup:
    """Add the options `--json` and `--text` to a command; `default` is `json` or `text`. Return their group."""
    formats = command.add_mutually_exclusive_group()
    for name, meaning in (("json", "print JSON, for programs"), ("text", "print text, for people")):
        shown = f"{meaning} (default)" if name == default else meaning
        formats.add_argument(f"--{name}", dest="format", action="store_const", const=name, help=shown)
    command.set_defaults(format=default)
    return formats
