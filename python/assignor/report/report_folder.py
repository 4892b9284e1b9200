"""Output folder of a report: replaced as a whole when the report is complete. Folders with other files are rejected."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError
from assignor.validation import check_path

if TYPE_CHECKING:
    from collections.abc import Iterator

REPORT_FILE = "report.json"
"""Name of the file with the JSON object that `assignor report --json` prints."""

TABLES = ("records", "groups", "generations", "members", "assignments", "events")
"""Names of the Parquet folders next to `report.json`."""

WORKING_TABLES = ("commits", "gaps", "silences")
"""Names of Parquet folders that only the summary reads. A complete report does not have them."""

LAG_TABLES = ("lag", "lag_topics", "lag_members", "lag_over_time")
"""Names of the Parquet folders that a report of a recording with end offsets has in addition."""

_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
"""Codes of the errors of a full disk, of a file that is too large, and of a used up quota."""

_PROMISED = {"records", "records_by_type", "bad_records", "groups"}
_ADDED = {
    *("findings", "duplicates", "silences", "since", "broker_log", "brokers", "invalid_timestamps"),
    *("notes", "mode", "problems", "share_lag_unknown"),
}
"""Keys that reports of earlier versions do not have."""


def check_report_folder(out: Path, recording: Path | None) -> Path:
    """Check that a folder can be replaced by a report without losing other files.

    Args:
        out: The output folder.
        recording: The folder of the recording; None for a report without one.

    Returns:
        The absolute path of the output folder, with symbolic links resolved.

    Raises:
        IllegalArgumentError: The output folder is or contains the recording, contains other files than a report, or has
            a path that is not UTF-8.
    """
    check_path(out, "the output folder")
    place, source = out.resolve(), recording.resolve() if recording is not None else None
    if source is not None and (source == place or place in source.parents):
        raise IllegalArgumentError(f"cannot replace {out}: it contains the recording; choose another --out folder")
    if place.exists() and not _is_replaceable(place):
        raise IllegalArgumentError(
            f"cannot replace {out}: it is not an empty folder or an earlier report; choose another --out folder"
        )
    return place


def _is_replaceable(place: Path) -> bool:
    if not place.is_dir():
        return False
    found = {path.name for path in place.iterdir()}
    return not found or (
        REPORT_FILE in found and found <= {REPORT_FILE, *TABLES, *LAG_TABLES} and _is_report(place / REPORT_FILE)
    )


def _is_report(mark: Path) -> bool:
    try:
        content = json.loads(mark.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and _PROMISED <= set(content) <= _PROMISED | _ADDED


@contextlib.contextmanager
def replace_report_folder(out: Path) -> Iterator[Path]:
    """Create a temporary folder next to `out`, and replace `out` with it when the block succeeds.

    Args:
        out: Output folder that `check_report_folder` accepts.

    Yields:
        The temporary folder. If the block fails, it is removed with the parent folders that were created for it.

    Raises:
        IllegalArgumentError: The folder cannot be created, for example because a parent is a file or read-only, or the
            disk is full.
    """
    part = out.with_name(f".{out.name}.{os.getpid()}")
    made = [folder for folder in part.parents if not folder.exists()]
    try:
        part.mkdir(parents=True)
    except OSError as error:
        raise IllegalArgumentError(f"cannot create {out}: {error.strerror}; choose another --out folder") from error
    try:
        yield part
        for name in WORKING_TABLES:
            shutil.rmtree(part / name, ignore_errors=True)
        if out.exists():
            shutil.rmtree(out)
        part.replace(out)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise IllegalArgumentError(
            f"cannot write {out}: {os.strerror(error.errno)}; free space or choose another --out folder"
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
        with contextlib.suppress(OSError):  # rmdir fails if the report is in the folder
            for folder in made:
                folder.rmdir()
