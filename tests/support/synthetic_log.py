"""Synthetic `__consumer_offsets` records of any number of groups, for tests and benchmarks of replay.

Each group commits the offsets of its partitions every five seconds, and rebalances now and then: a member joins, a
member leaves, or the membership stays. One group has a storm of rebalances, one stops committing while it has members,
one is deleted, one commits a lower offset, and a few records cannot be decoded or have an unknown type.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from assignor.offsets import coordinator_partition
from tests.replay.logs import member
from tests.support.record_bytes import write_record

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

START = 1_700_000_000_000
INTERVAL = 5_000
TOPIC = "synthetic-orders"
RECORDS = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)

_COMMIT = np.dtype(
    [("version", ">i2"), ("offset", ">i8"), ("epoch", ">i4"), ("metadata", ">i2"), ("time", ">i8")], align=False
)


@dataclass(frozen=True)
class SyntheticLog:
    """Size of a log: each group writes `partitions` commits in each of `steps` intervals, and some group records.

    Attributes:
        groups: Number of groups, at least 4.
        steps: Number of intervals of five seconds.
        partitions: Number of partitions that each group owns.
        log_partitions: Number of partitions of `__consumer_offsets`.
        rebalance_steps: Number of intervals between two rebalances of a group.
    """

    groups: int
    steps: int
    partitions: int = 4
    log_partitions: int = 4
    rebalance_steps: int = 40

    def records(self) -> pa.Table:
        """Return the records in the order of time, with increasing offsets in each partition of the log."""
        groups = np.repeat(np.arange(self.groups), self.partitions)
        kept, times, values = [], [], []
        for step in range(self.steps):
            rows = np.arange(groups.size)[self._commits(groups, step)]
            time = START + step * INTERVAL + rows * INTERVAL // groups.size
            value = np.zeros(rows.size, _COMMIT)
            value["version"], value["offset"], value["epoch"], value["time"] = 3, 10 * step, -1, time
            if step == self.steps // 2:
                value["offset"][groups[rows] == 3] = 1  # goes back
            kept.append(rows)
            times.append(time)
            values.append(value)
        rows, time = np.concatenate(kept), np.concatenate(times)
        others = list(self._other_records())
        key = pa.concat_arrays([_binary(self._commit_keys()[rows]), pa.array([row[2] for row in others], pa.binary())])
        # Concatenated arrays would have the byte order of this machine.
        commits = np.frombuffer(b"".join(value.tobytes() for value in values), np.uint8).reshape(-1, _COMMIT.itemsize)
        value = pa.concat_arrays([_binary(commits), pa.array([row[3] for row in others], pa.binary())])
        group = np.concatenate([groups[rows], np.array([row[0] for row in others], int)])
        time = np.concatenate([time, np.array([row[1] for row in others], int)])
        order = np.argsort(time, kind="stable")
        partition = self._log_partitions()[group][order]
        columns = [partition, _offsets(partition), time[order], key.take(pa.array(order)), value.take(pa.array(order))]
        return pa.Table.from_arrays(
            [pa.array(column, field.type) for column, field in zip(columns, RECORDS, strict=True)], schema=RECORDS
        )

    def _commits(self, groups: npt.NDArray[np.int64], step: int) -> npt.NDArray[np.bool_]:
        """Return which rows commit in a step: group 1 stops after a half, group 2 is deleted after three quarters."""
        silent = (groups == 1) & (step * 2 > self.steps)
        gone = (groups == 2) & (step * 4 >= self.steps * 3)
        found: npt.NDArray[np.bool_] = ~(silent | gone)
        return found

    def _commit_keys(self) -> npt.NDArray[np.uint8]:
        keys = b"".join(
            struct.pack(">hh", 1, len(name))
            + name
            + struct.pack(">h", len(TOPIC))
            + TOPIC.encode()
            + struct.pack(">i", id)
            for name in map(_name, range(self.groups))
            for id in range(self.partitions)
        )
        return np.frombuffer(keys, np.uint8).reshape(self.groups * self.partitions, -1)

    def _log_partitions(self) -> npt.NDArray[np.int64]:
        names = (_name(group).decode() for group in range(self.groups))
        return np.array([coordinator_partition(name, self.log_partitions) for name in names])

    def _other_records(self) -> Iterator[tuple[int, int, bytes, bytes | None]]:
        """Yield group, time, key and value of the records that are not commits."""
        for group in range(self.groups):
            generation = 0
            steps = range(-(group % self.rebalance_steps), self.steps, self.rebalance_steps)
            for change, step in enumerate(steps, 1):
                at = START + max(step, 0) * INTERVAL - 1
                if group == 2 and step * 4 >= self.steps * 3:
                    break
                is_storm = group == 0 and change == 2
                for place in range(40 if is_storm else 1):
                    generation += 1
                    yield self._generation(group, generation, change, at + 500 * place)
        end = START + self.steps * INTERVAL * 3 // 4
        name = _name(2).decode()
        for id in range(self.partitions):
            yield 2, end, write_record(1, {"group": name, "topic": TOPIC, "partition": id})[0], None
        yield 2, end, write_record(2, {"group": name})[0], None
        for place in range(0, self.groups, 97):
            yield place, end + place, write_record(2, {"group": _name(place).decode()})[0], b"\0\3garbage"
            yield place, end + place, b"\0\x63" + bytes(8), b"\0\0"

    def _generation(self, group: int, generation: int, change: int, at: int) -> tuple[int, int, bytes, bytes | None]:
        """Return a group record. In turn, a member joins, all members stay, a member leaves, and one is replaced."""
        name = _name(group).decode()
        count = 3 if change % 4 in (1, 2) else 2
        ids = [f"{name}-{change // 4 + place}" for place in range(count)]
        owned = {id: [part for part in range(self.partitions) if part % count == place] for place, id in enumerate(ids)}
        value = {
            "protocolType": "consumer",
            "protocol": "range",
            "leader": ids[0],
            "members": [member(id, [TOPIC], {TOPIC: parts}) for id, parts in owned.items()],
            "generation": generation,
            "currentStateTimestamp": at,
        }
        return group, at, *write_record(2, {"group": name}, value, version=3)


def _name(group: int) -> bytes:
    return b"group-%07d" % group


def _binary(rows: npt.NDArray[np.uint8]) -> pa.Array:
    """Return rows of bytes as a binary column."""
    count, length = rows.shape
    fixed = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(length), count, [None, pa.py_buffer(np.ascontiguousarray(rows))]
    )
    return fixed.cast(pa.binary())


def _offsets(partition: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the number of earlier rows with the same partition."""
    order = np.argsort(partition, kind="stable")
    ordered = partition[order]
    starts = np.searchsorted(ordered, ordered)
    found = np.empty(partition.size, np.int64)
    found[order] = np.arange(partition.size) - starts
    return found
