"""State of a watcher in a file, from which a later run continues.

The first line of the file has the version and the checksum of the rest: a line of JSON, the topic metadata as an Arrow
stream, and the snapshot of the replay. A new file replaces the old one in one step, so a killed process leaves either
the old file or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assignor.cluster.metadata import topics_table
from assignor.errors import SnapshotError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VERSION = 2

_FIRST_LINE = re.compile(rb"assignor watch state, version (\d+), sha256 ([0-9a-f]{64})")


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
        line, _, rest = rest.partition(b"\n")
        head = json.loads(line)
        size = head["topics_bytes"]
        return cls(
            cluster_id=head["cluster_id"],
            groups=tuple(head["groups"]),
            positions=_by_partition(head["positions"]),
            starts={id: (offset, time) for id, (offset, time) in _by_partition(head["starts"]).items()},
            clocks={id: (latest, now) for id, (latest, now) in _by_partition(head["clocks"]).items()},
            conditions=head["conditions"],
            timeouts=head["timeouts"],
            deleted=head["deleted"],
            loops=head.get("loops", []),
            topics=topics_table(pa.ipc.open_stream(rest[:size]).read_all()),
            replay=rest[size:],
        )


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _by_partition(found: Mapping[str, Any]) -> dict[int, Any]:
    return {int(id): value for id, value in found.items()}


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


def unusable(path: Path | None, problem: object) -> SnapshotError:
    """Return the error for a state file that cannot be used."""
    return SnapshotError(
        f"cannot continue from {path}: {problem}; delete the file to start with the present state of the cluster"
    )
