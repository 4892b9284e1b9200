"""Data directories of brokers: the partition folders and segments below given paths, and the cluster that they are of.

A path is a partition folder, a data directory (`log.dirs` of a broker), a folder above data directories, or a segment.
Nothing is opened but `meta.properties` and checkpoints.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError
from assignor.lines import format_count
from assignor.sources.meta_properties import Identity, read_identity
from assignor.sources.segment_names import (
    OFFSETS_TOPIC,
    PARTITION_FILES,
    SHARE_TOPIC,
    Partition,
    base_offset,
    belongs_to_segment,
    is_left_over,
    is_swap,
    offsets_partition_in,
    partition_of,
)
from assignor.validation import check_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MOST_FOLDERS = 1_000_000
"""Number of folders below the given paths above which the search ends with an error."""

META_FILE = "meta.properties"
"""File of a data directory with the ids of the broker and the cluster."""

RECOVERY_FILE = "recovery-point-offset-checkpoint"
"""File that each data directory has after the first start of the broker."""

EXPECTED = (
    f"expected a recording (records.parquet), a broker's data directory, a folder {OFFSETS_TOPIC}-N, or a segment such "
    "as 00000000000000000000.log"
)
"""What a path must be, for messages."""

_TOPICS_NAMED = 5


@dataclass(frozen=True, slots=True)
class PartitionFolder:
    """Folder with the segments of a partition, or some of them.

    Attributes:
        path: The folder.
        partition: The partition; None if neither the folder nor the file has a name that says it.
        segments: Segments in the order of their first offsets; files that replace others (`.swap`) are not among them.
        swaps: Complete files that replace segments, in the same order.
    """

    path: Path
    partition: Partition | None
    segments: tuple[Path, ...]
    swaps: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Directories:
    """What was found below the given paths.

    Attributes:
        folders: Partition folders by path, also those of other topics.
        identities: Ids of broker and cluster by data directory; a directory without the file has no entry.
        parents: The folders that contain partition folders, in the order in which they were found.
        left_out: Number of entries that were left out, by reason.
        problems: Why an entry cannot be read, as sentences that name it.
    """

    folders: tuple[PartitionFolder, ...]
    identities: dict[Path, Identity]
    parents: tuple[Path, ...]
    left_out: Counter[str] = field(default_factory=Counter)
    problems: tuple[str, ...] = ()

    @property
    def cluster_id(self) -> str | None:
        """Id of the cluster; None if no file names it."""
        return next((each.cluster_id for each in self.identities.values() if each.cluster_id), None)

    @property
    def offsets(self) -> list[PartitionFolder]:
        """The folders of `__consumer_offsets`, and those whose topic is not known."""
        return [each for each in self.folders if each.partition is None or each.partition.topic == OFFSETS_TOPIC]

    @property
    def share_state(self) -> list[PartitionFolder]:
        """The folders of `__share_group_state`."""
        return [each for each in self.folders if each.partition is not None and each.partition.topic == SHARE_TOPIC]


def find_directories(paths: Iterable[str | os.PathLike[str]]) -> Directories:
    """Find the partition folders and segments of one cluster below paths.

    Args:
        paths: Partition folders, data directories, folders that contain them, and segments, in any mixture.

    Raises:
        IllegalArgumentError: A path does not exist or cannot be read, nothing of `__consumer_offsets` was found, or two
            data directories are of different clusters. The message names the path and what was expected.

    Example:
        >>> find_directories(["/nowhere/broker-1"])
        Traceback (most recent call last):
        assignor.errors.IllegalArgumentError: /nowhere/broker-1 cannot be read: No such file or directory
    """
    search = _Search()
    given = [Path(path) for path in paths]
    for path in given:
        search.add(path)
    found = search.found()
    _check_cluster(found.identities)
    if not found.offsets:
        raise _nothing_found(given, found)
    return found


def check_outside(out: Path) -> None:
    """Check that a folder is not inside the data directory of a broker, which would not start with a foreign folder.

    Args:
        out: Path of a folder that a command creates.

    Raises:
        IllegalArgumentError: A folder above it is a data directory, or the path cannot be opened.
    """
    check_path(out, "the output folder")
    for folder in out.resolve().parents:
        if any((folder / name).is_file() for name in (META_FILE, RECOVERY_FILE)):
            raise IllegalArgumentError(
                f"cannot write {out}: {folder} is the data directory of a broker, which does not start if it has other "
                "folders; choose another --out folder"
            )


class _Search:
    """Walk below the given paths, which visits each folder once, however many links lead to it."""

    def __init__(self) -> None:
        self._visited: set[tuple[int, int]] = set()
        self._folders: list[PartitionFolder] = []
        self._files: dict[tuple[Path, Partition | None], list[Path]] = {}
        self._identities: dict[Path, Identity] = {}
        self._parents: dict[Path, None] = {}
        self._left_out: Counter[str] = Counter()
        self._problems: list[str] = []

    def add(self, path: Path) -> None:
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error
        if is_folder:
            self._walk(path)
        else:
            self._add_file(path)

    def found(self) -> Directories:
        lone = (_folder(folder, partition, files) for (folder, partition), files in self._files.items())
        return Directories(
            (*self._folders, *lone), self._identities, tuple(self._parents), self._left_out, tuple(self._problems)
        )

    def _add_file(self, path: Path) -> None:
        """Add a segment that was given by its path; the name of its folder says which partition it is of."""
        place = path.absolute()
        partition = partition_of(place.parent.name)
        if partition is None and (number := offsets_partition_in(place.name)) is not None:
            partition = Partition(OFFSETS_TOPIC, number)
        if partition is not None:
            self._add_parent(place.parent.parent)
        is_one_of_many = base_offset(path.name) is not None  # other names say nothing about the order
        files = self._files.setdefault((path.parent if is_one_of_many else path, partition), [])
        if path not in files:
            files.append(path)

    def _walk(self, start: Path) -> None:
        left = [start]
        while left:
            folder = left.pop()
            try:
                place = folder.stat()
                if (place.st_dev, place.st_ino) in self._visited:
                    continue
                self._visited.add((place.st_dev, place.st_ino))
                if len(self._visited) > MOST_FOLDERS:
                    raise IllegalArgumentError(f"{start} has over {MOST_FOLDERS:,} folders; {EXPECTED}")
                with os.scandir(folder) as listing:
                    entries = sorted(listing, key=lambda each: each.name)
            except OSError as error:
                if folder == start:
                    raise _unreadable(folder, error) from error
                self._problems.append(f"{folder} cannot be read: {error.strerror}")
                continue
            left += reversed(self._enter(folder, entries))

    def _enter(self, folder: Path, entries: Sequence[os.DirEntry[str]]) -> list[Path]:
        """Take what belongs to the log from a folder, and return the folders to visit next."""
        names = {entry.name for entry in entries}
        of_log = [name for name in names if belongs_to_segment(name)]
        partition = partition_of(folder.absolute().name)
        is_partition = partition is not None and (
            bool(of_log) or bool(names & PARTITION_FILES) or partition.topic == OFFSETS_TOPIC
        )
        if is_partition or any(base_offset(name) is not None for name in of_log):
            files = [folder / name for name in of_log if base_offset(name) is not None]
            self._count_left_out(of_log)
            self._folders.append(_folder(folder, partition if is_partition else None, files))
            if is_partition:
                self._add_parent(folder.parent)
                return []
        if META_FILE in names:
            self._add_parent(folder)
        return list(self._folders_among(folder, entries))

    def _folders_among(self, folder: Path, entries: Sequence[os.DirEntry[str]]) -> Iterator[Path]:
        for entry in entries:
            try:
                if not entry.is_dir():
                    continue
            except OSError as error:  # a loop of links
                self._problems.append(f"{folder / entry.name} cannot be read: {error.strerror}")
                continue
            if is_left_over(entry.name) and partition_of(entry.name) is None:
                self._left_out["folder that ends in -delete, -future or -stray"] += 1
            else:
                yield folder / entry.name

    def _count_left_out(self, names: Iterable[str]) -> None:
        for name in names:
            for ending in (".deleted", ".cleaned"):
                if name.endswith(f".log{ending}"):
                    self._left_out[f"{ending} file"] += 1

    def _add_parent(self, folder: Path) -> None:
        if folder in self._parents:
            return
        self._parents[folder] = None
        path = folder / META_FILE
        try:
            self._identities[folder] = read_identity(path)
        except FileNotFoundError:
            pass  # a backup, or single partition folders
        except (OSError, ValueError) as error:
            self._problems.append(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")


def _folder(path: Path, partition: Partition | None, files: Iterable[Path]) -> PartitionFolder:
    ordered = sorted(files, key=lambda file: (base_offset(file.name) or 0, file.name))
    segments = tuple(file for file in ordered if not is_swap(file.name))
    return PartitionFolder(path, partition, segments, tuple(file for file in ordered if is_swap(file.name)))


def _unreadable(path: Path, error: OSError | ValueError) -> IllegalArgumentError:
    reason = error.strerror if isinstance(error, OSError) else str(error)  # ValueError: a null character in the path
    return IllegalArgumentError(f"{path} cannot be read: {reason}")


def _check_cluster(identities: dict[Path, Identity]) -> None:
    known = [(folder, each.cluster_id) for folder, each in identities.items() if each.cluster_id]
    for folder, cluster_id in known[1:]:
        if cluster_id != known[0][1]:
            raise IllegalArgumentError(
                f"{folder} is of the cluster {cluster_id}, but {known[0][0]} is of the cluster {known[0][1]}: give the "
                "directories of one cluster"
            )


def _nothing_found(given: Sequence[Path], found: Directories) -> IllegalArgumentError:
    """Return the error for paths without any part of `__consumer_offsets`."""
    names = " and ".join(map(str, given[:2])) + (f" and {len(given) - 2} more paths" if len(given) > 2 else "")
    topics = sorted({each.partition.topic for each in found.folders if each.partition})
    if len(found.folders) == 1 and found.folders[0].partition:
        partition = found.folders[0].partition
        text = f"{names} is of partition {partition.id} of the topic {partition.topic}"
    elif topics:
        more = f" and {len(topics) - _TOPICS_NAMED} more" if len(topics) > _TOPICS_NAMED else ""
        has = "has" if len(given) == 1 else "have"
        which = f"the topic{'s' if len(topics) > 1 else ''} {', '.join(topics[:_TOPICS_NAMED])}{more}"
        text = f"{names} {has} partitions of {which}, none of {OFFSETS_TOPIC}"
    elif found.identities:
        text = f"{names} is the data directory of a broker without partitions"
    else:
        text = f"{names} {'has' if len(given) == 1 else 'have'} no files of a log"
    left_out = f" ({found.problems[0]})" if found.problems else ""
    if found.left_out:
        counts = ", ".join(format_count(count, reason) for reason, count in sorted(found.left_out.items()))
        left_out += f" (left out: {counts})"
    return IllegalArgumentError(f"{text}{left_out}; {EXPECTED}")
