"""Recording folder: the records of `__consumer_offsets` and the topic metadata of a cluster.

records.parquet   partition int32, offset int64, timestamp int64 (ms), key binary, value binary (null: tombstone)
topics.parquet    t int64 (ms), topic, topic_id, partition int32, racks list<string>: a row per snapshot and partition;
                  optional: without it assignments are not compared, and topic ids have no names
aborted.json      [[partition, offset], ...]: records of aborted transactions, which a read_committed reader skips;
                  optional
end_offsets.parquet  at int64 (ms), topic, partition int32, end_offset int64, start_offset int64: a row per time and
                  partition; optional
share_offsets.parquet  group_id, topic, partition int32, start_offset int64: a row per partition of a share group
                  with a start offset, at the end of the log; optional
source.json       {"source": TEXT, "notes": [TEXT, ...]}: what a converted recording was made from, and what it lacks;
                  optional
coordinators.parquet  at int64 (ms), partition int32, leader int32 (null: no leader): a row per leader of a partition of
                  `__consumer_offsets`, at the time from which on it led; optional
brokers.parquet   at int64 (ms), broker int32, rack string (null: no rack), is_available bool: a row each time a broker
                  registered, was fenced (clients no longer saw it), came back or was removed; optional
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.cluster.cluster_id import check_one_cluster
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.lines import format_count
from assignor.validation import check_path, read_broker_version, read_int

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    import pyarrow as pa
    from pyarrow.dataset import Dataset

    from assignor.cluster.name_patterns import NamePatterns
    from assignor.validation import BrokerVersion


COLUMNS = {
    "records.parquet": ("partition", "offset", "timestamp", "key", "value"),
    "topics.parquet": ("t", "topic", "topic_id", "partition", "racks"),
}
"""Required columns of each file; other columns are ignored. Only `records.parquet` must exist."""

SOURCE_FILE = "source.json"
"""Name of the file that says what a recording was converted from."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Recording folder.

    Attributes:
        folder: The folder.
        aborted: (partition, offset) of each record of an aborted transaction.
        groups: The groups whose records are read; None for all. Silences and the end of the log are of all groups.
        until: Time in milliseconds; records and end offsets of later times are not read. None for no limit.
        source: Names of the paths that the recording was converted from; without conversion that of `records.parquet`.
        notes: Sentences on what a converted recording lacks.
        broker_version: Version of the brokers; None if it is not known.
    """

    folder: Path
    aborted: tuple[tuple[int, int], ...]
    groups: NamePatterns | None = None
    until: int | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    broker_version: BrokerVersion | None = None

    def select(
        self, *, groups: Iterable[str] = (), until: int | None = None, broker_version: str | None = None
    ) -> Recording:
        """Return the recording with a choice of what is read from it.

        Args:
            groups: Names or patterns of groups, see `NamePatterns`; empty for all groups.
            until: The last time that is read, in milliseconds; None for no limit.
            broker_version: Version of the brokers, such as `4.3.1`; None if it is not known.

        Raises:
            WrongTypeError: `groups` is not an iterable of names, `until` is no int, or `broker_version` is no str.
            IllegalArgumentError: A name cannot be encoded, `until` does not fit in 64 bits, or `broker_version` is not
                a version.
        """
        from assignor.cluster.name_patterns import NamePatterns

        chosen = NamePatterns(groups)
        until = None if until is None else read_int(until, "until", bits=64)
        return dataclasses.replace(
            self,
            groups=chosen if chosen.patterns else None,
            until=until,
            broker_version=read_broker_version(broker_version),
        )

    @property
    def has_aborted(self) -> bool:
        """True if the folder has an `aborted.json`."""
        return (self.folder / "aborted.json").exists()

    @property
    def records(self) -> Path:
        """Path of `records.parquet`."""
        return self.folder / "records.parquet"

    @property
    def end_offsets(self) -> Path:
        """Path of `end_offsets.parquet`, which may be missing."""
        return self.folder / "end_offsets.parquet"

    def end_offset_rows(self) -> Dataset | None:
        """Return the rows of `end_offsets.parquet` up to `until`, without reading them; None without the file.

        Raises:
            IllegalArgumentError: The file cannot be read as Parquet.
        """
        if not self.end_offsets.exists():
            return None
        with dependency("pyarrow"):
            import pyarrow.compute as pc

        rows = open_dataset(self.end_offsets)
        return rows if self.until is None else rows.filter(pc.field("at") <= self.until)

    @property
    def share_offsets(self) -> Path:
        """Path of `share_offsets.parquet`, which may be missing."""
        return self.folder / "share_offsets.parquet"

    @property
    def has_topics(self) -> bool:
        """True if the folder has a `topics.parquet`."""
        return (self.folder / "topics.parquet").exists()

    def topics(self) -> pa.Table:
        """Read the topic metadata; a table without rows if there is no `topics.parquet`.

        Raises:
            IllegalArgumentError: The file cannot be read as Parquet, or a topic has no time, name or partition.
            WrongTypeError: A column is of another type.
        """
        with dependency("pyarrow"):
            import pyarrow as pa

        from assignor.cluster.metadata import topic_schema, topics_table

        if not self.has_topics:
            return topic_schema().empty_table()
        path = self.folder / "topics.parquet"
        try:
            found = open_dataset(path).to_table()
        except (pa.ArrowException, OSError) as error:
            raise parquet_error(path, error) from error
        table = pa.Table.from_batches([topics_table(found, str(path))])
        check_topics(table, str(path))
        return table

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Recording:
        """Check the files and columns of a recording, and read `aborted.json`.

        Raises:
            IllegalArgumentError: The folder, a file or a column is missing, a file cannot be read, or two files name
                different clusters.
            MissingDependencyError: pyarrow is not installed.
        """
        check_path(folder, "the folder")
        path = Path(folder)
        if not path.is_dir():
            problem = "is not a folder" if path.exists() else "does not exist"
            raise IllegalArgumentError(f"{path} {problem}; a recording is a folder with {' and '.join(COLUMNS)}")
        if not (path / "records.parquet").exists():
            raise IllegalArgumentError(
                f"{path / 'records.parquet'} does not exist; a recording needs {' and '.join(COLUMNS)} (without the "
                "latter, assignments are not compared)"
            )
        for name, required in COLUMNS.items():
            if (path / name).exists():
                _check_columns(path / name, required)
        check_one_cluster(path, [path / name for name in (*COLUMNS, "end_offsets.parquet") if (path / name).exists()])
        source, notes = read_source(path / SOURCE_FILE)
        recording = cls(
            path, read_aborted(path / "aborted.json"), source=source or str(path / "records.parquet"), notes=notes
        )
        if recording.end_offsets.exists():
            from assignor.lag import TIMED_END_OFFSETS

            _check_columns(recording.end_offsets, TIMED_END_OFFSETS.names)
        if recording.share_offsets.exists():
            from assignor.lag import SHARE_OFFSETS

            _check_columns(recording.share_offsets, SHARE_OFFSETS.names)
        return recording


def _check_columns(path: Path, required: Iterable[str]) -> None:
    found = open_dataset(path).schema.names
    for column in required:
        if column not in found:
            raise IllegalArgumentError(f"{path} has no column {column}; its columns are {', '.join(found)}")


def check_topics(table: pa.Table, path: str) -> None:
    """Raise IllegalArgumentError if a row of topic metadata in a file has no time, name, id or partition."""
    for name in ("t", "topic", "topic_id", "partition"):
        if table[name].null_count:
            raise IllegalArgumentError(
                f"{path}: column {name} has {format_count(table[name].null_count, 'null')}; only racks can be null"
            )


def read_aborted(path: Path) -> tuple[tuple[int, int], ...]:
    """Return partition and offset of the records of aborted transactions in `aborted.json`; none without the file."""
    if not path.exists():
        return ()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise IllegalArgumentError(f"{path} cannot be read: {error.strerror}") from error
    return parse_aborted(content, str(path))


def parse_aborted(content: bytes, path: str) -> tuple[tuple[int, int], ...]:
    """Return partition and offset of the records in the content of an `aborted.json`; errors name its path."""
    try:
        entries = json.loads(content.decode())
        aborted = tuple((partition, offset) for partition, offset in entries)
    except (ValueError, TypeError, RecursionError) as error:
        raise IllegalArgumentError(f"{path} must be a JSON list of [partition, offset] pairs: {error}") from error
    for entry in aborted:
        if not all(type(number) is int and 0 <= number < 2**63 for number in entry):
            raise IllegalArgumentError(
                f"{path} must be a JSON list of [partition, offset] pairs from 0 to 2^63 - 1, not {list(entry)}"
            )
    return aborted


def read_source(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the source and the notes of a converted recording; "" and no notes without the file.

    Raises:
        IllegalArgumentError: The file cannot be read, or has another form.
    """
    if not path.exists():
        return "", ()
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        source, notes = found["source"], tuple(found["notes"])
    except OSError as error:
        raise IllegalArgumentError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, RecursionError):
        source, notes = None, ()
    if not all(isinstance(text, str) for text in (source, *notes)):
        raise IllegalArgumentError(f'{path} must be a JSON object with "source", a text, and "notes", a list of texts')
    return source, notes


def parquet_error(path: Path, error: Exception) -> IllegalArgumentError:
    """Return the error for a file that pyarrow cannot read, on one line, without the path that its message repeats."""
    cause = " ".join(str(error).rpartition("': ")[2].split())
    return IllegalArgumentError(f"{path} cannot be read as Parquet: {cause}")


def open_dataset(path: Path) -> Dataset:
    """Open a Parquet file, or a folder of Parquet files, without reading rows."""
    with dependency("pyarrow"):
        import pyarrow as pa
        from pyarrow.dataset import dataset
    try:
        return dataset(path, format="parquet")
    except (pa.ArrowException, OSError) as error:
        raise parquet_error(path, error) from error
