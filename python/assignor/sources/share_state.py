"""Start offsets of share groups, from the records of `__share_group_state` in the segments of brokers.

A key has its version (0: snapshot of the state, 1: update of it), the group, the topic id and the partition. A value
has its version, epochs, the start offset, times in a snapshot, and the delivery states of records, which are not used.
This is the form of Kafka 4.1 and later. That of 4.0, an early access, has the same version and another length.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from assignor.errors import WireError
from assignor.lines import format_count, format_spans, format_topic_id, spans_of
from assignor.sources.segment_names import SHARE_TOPIC
from assignor.sources.segments import SegmentReading, merge_replicas, read_replica

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.sources.data_directory import PartitionFolder

_SNAPSHOT, _UPDATE = 0, 1
_KEY_START = struct.Struct(">hh")  # version, length of the group id
_KEY_END = struct.Struct(">16si")  # topic id, partition
_VALUES = {_SNAPSHOT: struct.Struct(">hiiiq16x"), _UPDATE: struct.Struct(">hiiq")}
_DELIVERY_BYTES = 20
_NO_OFFSET = -1


class ShareState(NamedTuple):
    """What a record says of the start offset of a partition.

    Attributes:
        group: Group id.
        topic_id: Topic id, as text.
        partition: Partition.
        start_offset: The start offset; -1 without one, as in a tombstone.
        is_update: True if the record without a start offset leaves the one before as it is.
    """

    group: str
    topic_id: str
    partition: int
    start_offset: int
    is_update: bool


def read_share_state(key: bytes, value: bytes | None) -> ShareState:
    """Read a record of `__share_group_state`.

    Raises:
        WireError: The bytes are no such record.

    Example:
        >>> key = bytes.fromhex("0001 0001 67") + bytes(16) + bytes([0, 0, 0, 4])
        >>> state = read_share_state(key, bytes.fromhex("0000 00000001 00000002 000000000000004d 01 00"))
        >>> state.group, state.partition, state.start_offset
        ('g', 4, 77)
    """
    field = "the key"
    try:
        version, length = _KEY_START.unpack_from(key)
        end = _KEY_START.size + length
        if version not in _VALUES or length < 0 or len(key) != end + _KEY_END.size:
            raise WireError(f"version {version} with a group id of {length} bytes", 0, field)
        topic_id, partition = _KEY_END.unpack_from(key, end)
        group = key[_KEY_START.size : end].decode()
        field = "the value"
        value_version, *_, offset = (0, _NO_OFFSET) if value is None else _VALUES[version].unpack_from(value)
        if value is not None and _end(value, _VALUES[version].size) != len(value):
            raise WireError(f"{len(value)} bytes are not the length of the fields", 0, field)
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise WireError(str(error), 0, field) from error
    if value_version != 0 or partition < 0 or offset < _NO_OFFSET:
        raise WireError(f"version {value_version}, partition {partition}, start offset {offset}", 0, field)
    name = format_topic_id(topic_id)
    return ShareState(group, name, partition, offset, version == _UPDATE)


def _end(value: bytes, at: int) -> int:
    """Return the offset after the delivery states and tagged fields that begin at an offset."""
    count, at = _number(value, at)
    if not count:
        raise IndexError("there is no list of delivery states")
    fields, at = _number(value, at + _DELIVERY_BYTES * (count - 1))
    for _ in range(fields):
        size, at = _number(value, _number(value, at)[1])
        at += size
    return at


def _number(value: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and the offset after it."""
    found = 0
    for index in range(5):
        found |= (value[at + index] & 0x7F) << 7 * index
        if value[at + index] < 0x80:
            return found, at + index + 1
    raise IndexError("a number has over five bytes")


class ShareOffsets:
    """Start offsets of share groups at the end of the log.

    Args:
        folders: Folders of the partitions of `__share_group_state`.
    """

    def __init__(self, folders: Iterable[PartitionFolder]) -> None:
        self._offsets: dict[tuple[str, str, int], int] = {}
        self._unreadable = 0
        self._unnamed: set[str] = set()
        self._reading = SegmentReading()
        self._partitions: dict[int, list[PartitionFolder]] = {}
        for folder in folders:
            if folder.partition is not None:
                self._partitions.setdefault(folder.partition.id, []).append(folder)
        for id, replicas in sorted(self._partitions.items()):
            files = [files for each in replicas for files in (each.segments, each.swaps) if files]
            readers = [read_replica(each, self._reading, lambda _: None) for each in files]
            for batch in merge_replicas(readers, id, self._reading) if readers else ():
                records = batch.filter(batch["control"].is_null())
                for key, value in zip(records["key"].to_pylist(), records["value"].to_pylist(), strict=True):
                    self._add(key, value)

    def _add(self, key: bytes | None, value: bytes | None) -> None:
        try:
            state = read_share_state(key or b"", value)
        except WireError:
            self._unreadable += 1
            return
        place = (state.group, state.topic_id, state.partition)
        if state.start_offset >= 0:
            self._offsets[place] = state.start_offset
        elif not state.is_update:
            self._offsets.pop(place, None)

    @property
    def is_known(self) -> bool:
        """True if a segment was read, so that a partition without a start offset is known to have none."""
        return self._reading.files > 0

    def rows(self, topics: Mapping[str, str]) -> list[tuple[str, str, int, int]]:
        """Return group, topic, partition and start offset, sorted; partitions of topics without a name are left out.

        Args:
            topics: Name of each topic by its id.
        """
        self._unnamed = {topic_id for _, topic_id, _ in self._offsets if topic_id not in topics}
        named = ((group, topics.get(id), partition, at) for (group, id, partition), at in self._offsets.items())
        return sorted((group, topic, partition, at) for group, topic, partition, at in named if topic is not None)

    def notes(self) -> list[str]:
        """Return what is missing after `rows`, as sentences."""
        found = []
        if missing := set(range(max(self._partitions, default=-1) + 1)) - set(self._partitions):
            spans = format_spans(spans_of((SHARE_TOPIC, id) for id in sorted(missing)))
            found.append(f"start offsets of share groups in {spans} are missing: there is no folder of them")
        if self._unreadable:
            found.append(f"{format_count(self._unreadable, 'record')} of {SHARE_TOPIC} cannot be decoded")
        reading = self._reading
        if files := {path for path, *_ in (*reading.damage, *reading.torn, *reading.foreign, *reading.unreadable)}:
            count = format_count(len(files), "segment")
            found.append(f"{count} of {SHARE_TOPIC} cannot be read as a whole: {min(files)}")
        if self._unnamed:
            found.append(
                f"share groups have start offsets of {format_count(len(self._unnamed), 'topic')} whose name is not "
                f"known, such as the id {min(self._unnamed)}: they are left out"
            )
        return found
