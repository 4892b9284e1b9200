"""A recording folder: the records of `__consumer_offsets` and the topic metadata that a cluster wrote.

records.parquet   partition int32, offset int64, timestamp int64 (ms), key binary, value binary (null: tombstone)
topics.parquet    t int64 (ms), topic, topic_id, partition int32, racks list<string>: a row per moment and partition
aborted.json      [[partition, offset], ...]: records that a read_committed reader does not get; may be missing
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError, MissingDependencyError

if TYPE_CHECKING:
    import os

    import pyarrow as pa
    from pyarrow.dataset import Dataset


COLUMNS = {
    "records.parquet": ("partition", "offset", "timestamp", "key", "value"),
    "topics.parquet": ("t", "topic", "topic_id", "partition", "racks"),
}
"""The columns that each file must have; others do no harm."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A folder whose files are there.

    Attributes:
        folder: Where they are.
        aborted: (partition, offset) of the records that a read_committed reader does not get.
    """

    folder: Path
    aborted: tuple[tuple[int, int], ...]

    @property
    def records(self) -> Path:
        """The file of records."""
        return self.folder / "records.parquet"

    def topics(self) -> pa.Table:
        """The topic metadata.

        Raises:
            IllegalArgumentError: The file cannot be read as Parquet.
        """
        import pyarrow as pa

        path = self.folder / "topics.parquet"
        try:
            return _dataset(path).to_table()
        except (pa.ArrowException, OSError) as error:
            raise IllegalArgumentError(f"{path} cannot be read as Parquet: {error}") from error

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Recording:
        """Look at a folder, and read what of it is small.

        Raises:
            IllegalArgumentError: The folder or a file is missing, or not what it should be; the message names it.
            MissingDependencyError: pyarrow is missing.
        """
        path = Path(folder)
        if not path.is_dir():
            raise IllegalArgumentError(f"{path} is no folder; a recording is a folder with records.parquet in it")
        for name, wanted in COLUMNS.items():
            if not (path / name).exists():
                raise IllegalArgumentError(f"{path / name} is missing; a recording has {' and '.join(COLUMNS)}")
            found = _dataset(path / name).schema.names
            for column in wanted:
                if column not in found:
                    raise IllegalArgumentError(f"{path / name} must have a column {column}; it has {', '.join(found)}")
        return cls(path, _read_aborted(path / "aborted.json"))


def _read_aborted(path: Path) -> tuple[tuple[int, int], ...]:
    if not path.exists():
        return ()
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        aborted = tuple((partition, offset) for partition, offset in entries)
    except (ValueError, TypeError) as error:
        raise IllegalArgumentError(f"{path} must be a JSON list of [partition, offset]: {error}") from error
    for entry in aborted:
        if not all(type(number) is int for number in entry):
            raise IllegalArgumentError(f"{path} must be a JSON list of [partition, offset], not {list(entry)}")
    return aborted


def _dataset(path: Path) -> Dataset:
    """A Parquet file, or a folder of such files, as yet unread."""
    try:
        import pyarrow as pa
        from pyarrow.dataset import dataset
    except ImportError as error:
        raise MissingDependencyError("pyarrow is not installed: pip install 'assignor[spark]'") from error
    try:
        return dataset(path, format="parquet")
    except (pa.ArrowException, OSError) as error:
        raise IllegalArgumentError(f"{path} cannot be read as Parquet: {error}") from error
