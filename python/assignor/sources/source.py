"""What people have, opened as a recording: a recording folder, data directories of brokers, or segments.

Everything but a recording folder is converted into a temporary one, which is removed at the end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.cluster.folder import COLUMNS, Recording
from assignor.errors import IllegalArgumentError
from assignor.lines import format_count
from assignor.sources.conversion import convert_directories, convert_dumps
from assignor.sources.data_directory import EXPECTED, check_outside, find_directories
from assignor.sources.dump_text import is_dump_file
from assignor.sources.file_kinds import EMPTY, SEGMENT, kind_of
from assignor.sources.segment_names import belongs_to_segment
from assignor.validation import check_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_PATHS_NAMED = 3


@contextlib.contextmanager
def open_source(
    paths: Sequence[str | os.PathLike[str]], show: Callable[[str], None] = lambda _: None
) -> Iterator[Recording]:
    """Open a recording, or convert what people have into a temporary one.

    Args:
        paths: One recording folder; or data directories of one cluster, folders that contain them, partition folders
            and segments, in any mixture.
        show: Function that gets the progress of the conversion.

    Yields:
        The recording. A temporary one is removed when the block ends.

    Raises:
        IllegalArgumentError: A path does not exist or cannot be read, or has another content; the message names it.
        MissingDependencyError: pyarrow is not installed.

    Example:
        >>> with open_source(["/nowhere/kafka/data"]) as recording:
        ...     pass
        Traceback (most recent call last):
        assignor.errors.IllegalArgumentError: /nowhere/kafka/data cannot be read: No such file or directory
    """
    if is_recording(paths):
        yield Recording.open(paths[0])
        return
    with tempfile.TemporaryDirectory(prefix="assignor-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary) / "recording"
        convert(paths, folder, show)
        yield Recording.open(folder)


def check_paths(paths: Sequence[str | os.PathLike[str]]) -> None:
    """Check that paths lead to something.

    Raises:
        IllegalArgumentError: A path does not exist or cannot be opened; the message names it.
    """
    for path in paths:
        check_path(path, "the path", is_of_pyarrow=False)
        try:
            Path(path).stat()
        except OSError as error:
            raise IllegalArgumentError(f"{os.fspath(path)} cannot be read: {error.strerror}") from error


def is_recording(paths: Sequence[str | os.PathLike[str]]) -> bool:
    """Return True for the path of a recording folder, False for paths that are converted.

    Raises:
        IllegalArgumentError: A recording folder is among several paths, or a path cannot be opened.
    """
    check_paths(paths)
    found = [path for path in paths if any(os.path.lexists(Path(path) / name) for name in COLUMNS)]
    if found and len(paths) > 1:
        raise IllegalArgumentError(
            f"{os.fspath(found[0])} is the folder of a recording, which cannot be read together with other paths"
        )
    return bool(found)


def convert(
    paths: Sequence[str | os.PathLike[str]], folder: Path, show: Callable[[str], None] = lambda _: None
) -> None:
    """Write what is at the paths as a recording.

    Args:
        paths: As for `open_source`, but no recording folder.
        folder: New or empty folder.
        show: Function that gets the progress.

    Raises:
        IllegalArgumentError: A path does not exist or cannot be read, or has another content; or the folder cannot be
            written. The message names the path.
    """
    source = source_text(paths)
    dumps = [path for path in map(Path, paths) if path.is_file() and is_dump_file(path)]
    if dumps:
        if len(dumps) < len(paths):
            raise IllegalArgumentError(
                f"{dumps[0]} is text of kafka-dump-log.sh, which cannot be read together with other paths"
            )
        convert_dumps(dumps, folder, source)
        return
    for path in map(Path, paths):
        if path.is_file():
            _check_file(path)
    convert_directories(find_directories(paths), folder, source, show)


def convert_to(
    paths: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str], show: Callable[[str], None] = lambda _: None
) -> Recording:
    """Write what is at the paths as a recording that appears when it is complete.

    Args:
        paths: As for `convert`.
        out: New or empty folder.
        show: Function that gets the progress.

    Returns:
        The recording.

    Raises:
        IllegalArgumentError: As for `convert`; or `out` is not empty, or one of the paths is a recording.
    """
    check_path(out, "--out")
    if is_recording(paths):
        raise IllegalArgumentError(f"{os.fspath(paths[0])} is the folder of a recording already")
    place = Path(out)
    check_outside(place)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise IllegalArgumentError(f"{place} is not an empty folder; give a new folder")
    part = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        convert(paths, part, show)
        part.replace(place)
    except OSError as error:
        raise IllegalArgumentError(f"cannot create the folder {place}: {error.strerror}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Recording.open(place)


def source_text(paths: Sequence[str | os.PathLike[str]]) -> str:
    """Return the names of paths, for people; of many, those of the first ones and the number of the others.

    Example:
        >>> source_text(["a", "b", "c", "d"])
        'a, b, c and 1 more path'
    """
    names = ", ".join(os.fspath(path) for path in paths[:_PATHS_NAMED])
    more = len(paths) - _PATHS_NAMED
    return f"{names} and {format_count(more, 'more path')}" if more > 0 else names


def _check_file(path: Path) -> None:
    """Check that a file that was given by its path is a segment."""
    try:
        kind = kind_of(path)
    except OSError as error:
        raise IllegalArgumentError(f"{path} cannot be read: {error.strerror}") from error
    is_named = belongs_to_segment(path.name)
    if is_named and ".log" not in path.suffixes:
        raise IllegalArgumentError(f"{path} is a file beside a segment; {EXPECTED}")
    if kind == SEGMENT or (kind == EMPTY and is_named):
        return
    raise IllegalArgumentError(f"{path} is {'empty' if kind == EMPTY else kind}; {EXPECTED}")
