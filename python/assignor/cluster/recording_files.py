"""Files of a growing recording: parts that appear only when complete, and the positions where the next run continues.

cluster.json           id of the cluster, which the metadata of each part has too
records.parquet/       parts with records; the metadata of a part has the positions at which the next part begins
topics.parquet/        parts with snapshots of the topics
end_offsets.parquet/   parts with end offsets of the topics
share_offsets.parquet/  start offsets of share groups; only in a converted recording
aborted.json           records of aborted transactions; written before the part with these records
source.json            what a converted recording was made from; others do not have it
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignor.cluster.cluster_id import CLUSTER_FILE, CLUSTER_KEY, read_cluster_id
from assignor.cluster.folder import SOURCE_FILE, read_aborted
from assignor.cluster.metadata import topic_schema
from assignor.cluster.records import SCHEMA
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.lag import TIMED_END_OFFSETS
from assignor.validation import check_path

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_POSITIONS = b"assignor.positions"
_ROW_GROUP_RECORDS = 50_000
_ROW_GROUP_BYTES = 16 << 20


class RecordingFiles(contextlib.AbstractContextManager["RecordingFiles"]):
    """Folder of a recording, locked against a second writer.

    Args:
        folder: New or empty folder, or one that this class wrote.
        cluster_id: Id of the cluster.
        address: Address of the cluster, stored as information for people.

    Attributes:
        folder: The folder.
        positions: Next offset to record, by partition, after the committed parts and the records added since then.
        added: Number of records that were added.

    Raises:
        IllegalArgumentError: The folder cannot be created, has other files, is a recording of another cluster, or
            another process writes to it.
        OSError: The folder cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str], cluster_id: str, address: str) -> None:
        check_path(folder, "the folder")
        self.folder = Path(folder)
        self.added = 0
        self._metadata = {CLUSTER_KEY: cluster_id.encode()}
        self._part: _Part | None = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror
            raise IllegalArgumentError(f"cannot create the folder {folder}: {reason}; choose another folder") from error
        with self._errors():
            self._lock = _lock(self.folder)
            try:
                _check_cluster(self.folder, cluster_id, address)
                tables = {"records": SCHEMA, "topics": topic_schema(), "end_offsets": TIMED_END_OFFSETS}
                for name, schema in tables.items():
                    place = self.folder / f"{name}.parquet"
                    place.mkdir(exist_ok=True)
                    for unfinished in place.glob(".*"):
                        unfinished.unlink()
                    if not _parts(place):
                        self._write(name, pa.RecordBatch.from_pylist([], schema=schema))
                self.positions = _positions(_parts(self.folder / "records.parquet")[-1])
                self._aborted = set(read_aborted(self.folder / "aborted.json"))
            except BaseException:
                self._lock.close()
                raise

    def __exit__(self, *error: object) -> None:
        if self._part:
            self._part.discard()
        self._lock.close()

    def add(self, batch: pa.RecordBatch, aborted: Iterable[tuple[int, int]], positions: Mapping[int, int]) -> None:
        """Add records to the part that the next `commit` completes.

        Args:
            batch: The records.
            aborted: (partition, offset) of the records of aborted transactions among them.
            positions: Next offset by partition, after these records.

        Raises:
            OSError: The disk is full, or the folder cannot be written.
        """
        self.positions.update(positions)
        self._aborted |= set(aborted)
        if not batch.num_rows:
            return
        with self._errors():
            if self._part is None:
                self._part = _Part(self.folder / "records.parquet", SCHEMA)
            self._part.add(batch)
        self.added += batch.num_rows

    def commit(self) -> None:
        """Complete the part with the added records. After this, a crash does not lose them.

        Raises:
            OSError: The disk is full, or the folder cannot be written.
        """
        if self._part is None:
            return
        with self._errors():
            _replace(self.folder / "aborted.json", json.dumps(sorted(self._aborted), separators=(",", ":")))
            self._part.commit({**self._metadata, _POSITIONS: json.dumps(self.positions).encode()})
            self._part = None

    def write_topics(self, rows: pa.RecordBatch) -> None:
        """Add a snapshot of the topics.

        Raises:
            OSError: The disk is full, or the folder cannot be written.
        """
        with self._errors():
            self._write("topics", rows)

    def write_end_offsets(self, rows: pa.RecordBatch) -> None:
        """Add end offsets of the topics.

        Raises:
            OSError: The disk is full, or the folder cannot be written.
        """
        with self._errors():
            self._write("end_offsets", rows)

    def write_brokers(self, coordinators: pa.RecordBatch, brokers: pa.RecordBatch) -> None:
        """Write the history of brokers, with the columns of `assignor.cluster.broker_history`.

        Raises:
            OSError: The disk is full, or the folder cannot be written.
        """
        with self._errors():
            for name, rows in (("coordinators", coordinators), ("brokers", brokers)):
                (self.folder / f"{name}.parquet").mkdir(exist_ok=True)
                self._write(name, rows)

    def write_share_offsets(self, rows: pa.RecordBatch) -> None:
        """Write the start offsets of share groups, with the columns of `assignor.lag.SHARE_OFFSETS`.

        Raises:
            OSError: The disk is full, or the folder cannot be written.
        """
        with self._errors():
            (self.folder / "share_offsets.parquet").mkdir(exist_ok=True)
            self._write("share_offsets", rows)

    def write_source(self, source: str, notes: Iterable[str]) -> None:
        """Write what the recording was converted from, and what it lacks.

        Raises:
            OSError: The disk is full, or the folder cannot be written.
        """
        with self._errors():
            _replace(self.folder / SOURCE_FILE, json.dumps({"source": source, "notes": list(notes)}, indent=1) + "\n")

    def _write(self, name: str, rows: pa.RecordBatch) -> None:
        part = _Part(self.folder / f"{name}.parquet", rows.schema)
        try:
            part.add(rows)
            part.commit(self._metadata)
        except BaseException:
            part.discard()
            raise

    @contextlib.contextmanager
    def _errors(self) -> Any:
        """Turn errors of the file system into one line that says what to do."""
        try:
            yield
        except OSError as error:
            if self._part:
                self._part.discard()
                self._part = None
            raise OSError(
                f"cannot write to {self.folder}: {error.strerror or error}. Correct this and run the command "
                "again; `assignor record` continues after the last complete file"
            ) from error


class _Part:
    """Parquet file that gets its name when it is complete."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        numbers = [int(path.stem.removeprefix("part-")) for path in _parts(folder)]
        self._path = folder / f"part-{max(numbers, default=-1) + 1:08}.parquet"
        self._hidden = folder / f".{self._path.name}"
        self._file = self._hidden.open("wb")
        self._writer = pq.ParquetWriter(self._file, schema, compression="zstd")
        self._rows: list[pa.RecordBatch] = []

    def add(self, rows: pa.RecordBatch) -> None:
        self._rows.append(rows)
        is_full = sum(each.num_rows for each in self._rows) >= _ROW_GROUP_RECORDS
        if is_full or sum(each.nbytes for each in self._rows) >= _ROW_GROUP_BYTES:
            self._write()

    def _write(self) -> None:
        self._writer.write_table(pa.Table.from_batches(self._rows, self._writer.schema))
        self._rows = []

    def commit(self, metadata: Mapping[bytes, bytes]) -> None:
        self._write()
        self._writer.add_key_value_metadata(metadata)
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._hidden.replace(self._path)

    def discard(self) -> None:
        for close in (self._writer.close, self._file.close):
            with contextlib.suppress(OSError, ValueError):
                close()
        self._hidden.unlink(missing_ok=True)


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*.parquet"))


def _positions(part: Path) -> dict[int, int]:
    try:
        metadata = pq.read_metadata(part).metadata or {}
        return {int(id): offset for id, offset in json.loads(metadata.get(_POSITIONS, b"{}")).items()}
    except (pa.ArrowException, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise IllegalArgumentError(f"{part} is damaged: {' '.join(str(error).split())}") from error


def _check_cluster(folder: Path, cluster_id: str, address: str) -> None:
    """Check that the folder belongs to this cluster; store the cluster in an empty folder."""
    path = folder / CLUSTER_FILE
    if not path.exists():
        if any(not each.name.startswith(".") for each in folder.iterdir()):
            raise IllegalArgumentError(
                f"{folder} is not empty and has no {CLUSTER_FILE}: give a new folder, or one that `record` wrote"
            )
        _replace(path, json.dumps({"cluster_id": cluster_id, "bootstrap_server": address}) + "\n")
        return
    found = read_cluster_id(folder)
    if found != cluster_id:
        raise IllegalArgumentError(
            f"{folder} is a recording of the cluster {found}, but {address} is the cluster {cluster_id}: give another "
            "folder"
        )


def _replace(path: Path, text: str) -> None:
    """Replace a file so that a crash leaves the old content or the new one."""
    hidden = path.with_name(f".{path.name}")
    with hidden.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    hidden.replace(path)


def _lock(folder: Path) -> contextlib.ExitStack:
    """Lock a folder until the process ends or `close` is called."""
    lock = contextlib.ExitStack()
    try:
        import fcntl
    except ImportError:  # pragma: no cover  # Windows
        return lock
    descriptor = os.open(folder, os.O_RDONLY)
    lock.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise IllegalArgumentError(f"another process records into {folder}") from None
    return lock
