"""State of a watcher in a file, from which a later run continues.

The first line of the file has the version and the checksum of the rest: a line of JSON, the topic metadata as an Arrow
stream, and the snapshot of the replay. A new file replaces the old one in one step, so a killed process leaves either
the old file or the new one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignor.cluster.metadata import topics_table
from assignor.dependencies import dependency
from assignor.errors import SnapshotError
from assignor.validation import shown

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

VERSION = 2

_CONTENT_ERRORS = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError),
    *(pa.ArrowException, OSError),  # of an Arrow stream
)

_FIRST_LINE = re.compile(rb"assignor watch state, version (\d{1,9}), sha256 ([0-9a-f]{64})")


@dataclass(frozen=True)
class WatchState:
    """State from which a watcher continues. Times are in milliseconds.

    Attributes:
        cluster_id: Id of the cluster.
        groups: Group ids that are replayed; empty for all.
        positions: Next offset to read of each partition of the log.
        starts: Offset and time from which events are reported, by partition; other partitions report all events.
        clocks: Highest timestamp of each partition, and time up to which its deadlines have fired.
        conditions: Lasting conditions of the groups, as `Conditions.to_json` returns them.
        timeouts: Largest rebalance timeout of the members of each classic group.
        deleted: Time of the last tombstone of each group that has tombstones, by group.
        loops: Rebalances that are or can become loops, as `Loops.to_json` returns them.
        topics: Topic metadata over time.
        replay: Snapshot of the replay.
    """

    cluster_id: str
    groups: tuple[str, ...]
    positions: Mapping[int, int]
    starts: Mapping[int, tuple[int, int]]
    clocks: Mapping[int, tuple[int, int]]
    conditions: Mapping[str, Any]
    timeouts: Mapping[str, int]
    deleted: Mapping[str, int]
    loops: Sequence[Any]
    topics: pa.RecordBatch
    replay: bytes

    def to_bytes(self) -> bytes:
        """Return the content of a file."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.topics.schema) as stream:
            stream.write_batch(self.topics)
        topics = sink.getvalue().to_pybytes()
        head = {
            "cluster_id": self.cluster_id,
            "groups": self.groups,
            "positions": self.positions,
            "starts": self.starts,
            "clocks": self.clocks,
            "conditions": self.conditions,
            "timeouts": self.timeouts,
            "deleted": self.deleted,
            "loops": self.loops,
            "topics_bytes": len(topics),
        }
        rest = b"\n".join((json.dumps(head).encode(), topics + self.replay))
        return f"assignor watch state, version {VERSION}, sha256 {_checksum(rest)}\n".encode() + rest

    @classmethod
    def from_bytes(cls, data: bytes) -> WatchState:
        """Return the state in the content of a file.

        Raises:
            SnapshotError: The content is damaged, or of another version.
        """
        line, _, rest = data.partition(b"\n")
        first = _FIRST_LINE.fullmatch(line)
        if first is None:
            raise SnapshotError("it is not a state file of assignor watch")
        if int(first[1]) != VERSION:
            raise SnapshotError(f"it has version {int(first[1])}, and this release of assignor reads version {VERSION}")
        if first[2].decode() != _checksum(rest):
            raise SnapshotError("it is damaged: its checksum is wrong")
        with content_errors():
            return cls._of_content(rest)

    @classmethod
    def _of_content(cls, content: bytes) -> WatchState:
        line, _, rest = content.partition(b"\n")
        head = json.loads(line)
        size = _int64(head["topics_bytes"])
        return cls(
            cluster_id=str(head["cluster_id"]),
            groups=tuple(map(str, head["groups"])),
            positions={int(id): _int64(offset) for id, offset in head["positions"].items()},
            starts=_pairs(head["starts"]),
            clocks=_pairs(head["clocks"]),
            conditions=head["conditions"],
            timeouts={group: _int64(timeout) for group, timeout in head["timeouts"].items()},
            deleted={group: _int64(time) for group, time in head["deleted"].items()},
            loops=head.get("loops", []),
            topics=topics_table(pa.ipc.open_stream(rest[:size]).read_all()),
            replay=rest[size:],
        )


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _pairs(found: Mapping[str, Any]) -> dict[int, tuple[int, int]]:
    """Return pairs of int64 by partition."""
    return {int(id): (_int64(first), _int64(second)) for id, (first, second) in found.items()}


def _int64(value: object) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise TypeError(f"{shown(value)} is not an int64")
    return value


@contextlib.contextmanager
def content_errors() -> Iterator[None]:
    """Raise SnapshotError for an error that the content of a state file causes although its checksum is right."""
    try:
        yield
    except SnapshotError:
        raise
    except _CONTENT_ERRORS as error:
        raise SnapshotError("it is damaged: its content is invalid") from error


def save(path: Path, state: WatchState) -> None:
    """Write a state to a file; an earlier file is replaced in one step.

    Raises:
        OSError: The file cannot be written; the old one remains.
    """
    file = tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False)  # noqa: SIM115  # closed below
    try:
        with file:
            file.write(state.to_bytes())
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(path)
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise


def load(path: Path) -> WatchState | None:
    """Return the state in a file; None if there is no such file.

    Raises:
        SnapshotError: The content is damaged, or of another version; the message names the file.
        OSError: The file cannot be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return WatchState.from_bytes(data)
    except SnapshotError as error:
        raise unusable(path, error) from None
    except (pa.ArrowException, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise unusable(path, "it is damaged") from error


def unusable(path: Path | None, problem: object) -> SnapshotError:
    """Return the error for a state file that cannot be used."""
    return SnapshotError(
        f"cannot continue from {path}: {problem}; delete the file to start with the present state of the cluster"
    )
