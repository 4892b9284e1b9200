"""The folder that a report is written into: replaced as a whole when all is done, and never anybody else's."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

REPORT_FILE = "report.json"
"""The file that holds what `assignor report --json` prints."""

TABLES = ("records", "groups", "generations", "members", "assignments")
"""The folders of Parquet beside it."""

_PROMISED = {"records", "records_by_type", "bad_records", "groups"}


def check_report_folder(out: Path, recording: Path) -> Path:
    """Refuse a place that cannot be replaced without losing something.

    Args:
        out: Where the report is to go.
        recording: The folder that is reported on.

    Returns:
        The place, with links and dots resolved.

    Raises:
        IllegalArgumentError: It is or holds the recording, or holds something that no report wrote.
    """
    place, source = out.resolve(), recording.resolve()
    if source == place or place in source.parents:
        raise IllegalArgumentError(f"{out} holds the recording itself; say --out with another folder")
    if place.exists() and not _replaceable(place):
        raise IllegalArgumentError(f"{out} holds something that is no report; say --out with another folder")
    return place


def _replaceable(place: Path) -> bool:
    if not place.is_dir():
        return False
    found = {path.name for path in place.iterdir()}
    return not found or (REPORT_FILE in found and found <= {REPORT_FILE, *TABLES} and _is_report(place / REPORT_FILE))


def _is_report(mark: Path) -> bool:
    try:
        content = json.loads(mark.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and set(content) == _PROMISED


@contextlib.contextmanager
def replace_report_folder(out: Path) -> Iterator[Path]:
    """Give a folder beside `out` to write into, and put it in its place if all goes well.

    Args:
        out: A place that `check_report_folder` has passed.

    Yields:
        The folder to write into; gone again if something goes wrong, and with it what was made to hold it.
    """
    part = out.with_name(f".{out.name}.{os.getpid()}")
    made = [folder for folder in part.parents if not folder.exists()]
    part.mkdir(parents=True)
    try:
        yield part
        if out.exists():
            shutil.rmtree(out)
        part.replace(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        with contextlib.suppress(OSError):  # not empty: all went well
            for folder in made:
                folder.rmdir()
