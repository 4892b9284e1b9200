"""Readers of bytes from outside that are reached through Python, as functions that fuzzers call.

A target gives bytes to a reader and returns True if the reader accepted them. It fails with any exception that is not
an error of the package, and if answers contradict each other. `fuzz/border.py` calls the targets under Atheris,
`tests/wire/test_fuzz.py` with mutations of the seeds in `fuzz/seeds`.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assignor import Plan, Subscription, _core, assign, check, errors, match_topics, plan
from assignor.cli.inputs import group_of, parse_json
from assignor.cluster.metadata import topic_batch
from assignor.names import Dialect
from assignor.offsets import decode_batch, decode_record
from assignor.replay import Replay
from assignor.replay.watch_state import VERSION, WatchState
from assignor.replay.watcher import Watcher
from tests.support import segment_bytes
from tests.support.arrow_views import HAS_VIEWS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assignor.tuples import SegmentEnd

MOST_PARTITIONS = 10_000
"""Number of partitions of a topic above which a group is read and not assigned: large plans need memory."""

TOPICS = ("a", "ab", "aab", "orders", "orders-eu", "us.orders_2", "__consumer_offsets", "A-1")
"""Names that patterns are matched against."""

HEADER = 19
"""Size of the header of a snapshot, whose last eight bytes are the length and the checksum of the body."""


def group(data: bytes) -> bool:
    """Read the JSON of a group, as the commands do; assign its partitions and check the answer."""
    try:
        found = group_of(parse_json(data.decode("utf-8-sig"), "input"), "input")
        counts = found.partitions_per_topic.values()
        if any(type(count) is int and count > MOST_PARTITIONS for count in counts):
            return False
        answer = plan(found.partitions_per_topic, found.subscriptions, **found.settings)
        lists = assign(found.partitions_per_topic, found.subscriptions, **found.settings)
        problems = check(lists, found.partitions_per_topic, found.subscriptions)
    except (errors.AssignorError, UnicodeDecodeError):
        return False
    assert dict(answer) == lists
    assert () == problems.doubly_owned + problems.not_subscribed + problems.unknown
    assert Plan.from_json(answer.to_json()) == answer
    return True


def plan_json(data: bytes) -> bool:
    """Read the JSON of a plan, and write it again."""
    try:
        found = Plan.from_json(data)
    except errors.AssignorError:
        return False
    again = Plan.from_json(found.to_json())
    assert again == found
    assert again.to_json() == found.to_json()
    return True


def subscription(data: bytes) -> bool:
    """Create a `Subscription` from the keys of any JSON object."""
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return False
    if not isinstance(given, dict) or not given.keys() <= set(Subscription.__dataclass_fields__):
        return False
    if isinstance(owned := given.get("owned_partitions"), list):
        given["owned_partitions"] = [tuple(each) if isinstance(each, list) else each for each in owned]
    try:
        found = Subscription(**given)
        assign(dict.fromkeys(found.topics, 3), {"a": found, "b": ["t"]}, assignor="sticky")
    except errors.AssignorError:
        return False
    return True


def _pair(data: bytes) -> tuple[bytes | None, bytes | None] | None:
    """Return key and value, each after an int16 size; a negative one means null. Return None if bytes are missing."""
    found: list[bytes | None] = []
    for _ in range(2):
        if len(data) < 2:
            return None
        (size,) = struct.unpack(">h", data[:2])
        if len(data) < 2 + max(size, 0):
            return None
        found.append(None if size < 0 else data[2 : 2 + size])
        data = data[2 + max(size, 0) :]
    return found[0], found[1]


def columns(data: bytes) -> bool:
    """Draw a batch of records, with columns of right and wrong types, and give it to all readers of batches."""
    batch = _batch(data)
    if batch is None:
        return False
    try:
        replay = _core.Replay(topic_batch([]))
        replay.push(batch)
        replay.snapshot()
        grouped = _core.Replay(topic_batch([]))
        grouped.push_groups(batch, decoded=True, commits=True)
        grouped.push_groups(None)
        found = pa.record_batch(decode_batch(batch["key"], batch["value"]))
        found.validate(full=True)
    except errors.AssignorError:
        return False
    for key, value, status in zip(
        *(each.to_pylist() for each in (batch["key"], batch["value"], found["status"])), strict=True
    ):
        try:
            assert status == decode_record(key, value).status
        except errors.WireError:
            assert status == "bad"
    return True


COLUMNS: Mapping[str, tuple[pa.DataType, ...]] = {
    "partition": (pa.int32(), pa.int64(), pa.null()),
    "offset": (pa.int64(), pa.int32(), pa.float64()),
    "timestamp": (pa.int64(), pa.timestamp("ms"), pa.null()),
    "key": (pa.binary(), pa.large_binary(), pa.string(), pa.binary_view() if HAS_VIEWS else pa.binary()),
    "value": (pa.binary(), pa.large_binary(), pa.null(), pa.dictionary(pa.int32(), pa.binary())),
    "cluster": (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())),
    "aborted": (pa.bool_(), pa.int8(), pa.null()),
}


def _batch(data: bytes) -> pa.RecordBatch | None:
    """Return the batch that bytes describe: a byte for the type of each column, then rows."""
    if len(data) < len(COLUMNS):
        return None
    types, rest = data[: len(COLUMNS)], data[len(COLUMNS) :]
    rows: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    offset = 0
    while rest:
        pair = _pair(rest[9:])
        if pair is None:
            return None
        step, timestamp = struct.unpack(">bq", rest[:9])
        offset += step
        row = (step % 3, offset, timestamp, *pair, "c", step % 5 == 4)
        for name, value in zip(COLUMNS, row, strict=True):
            rows[name].append(None if value is None or types[0] == 255 else value)
        rest = rest[9 + 4 + sum(len(part or b"") for part in pair) :]
    arrays = {}
    for (name, kinds), number in zip(COLUMNS.items(), types, strict=True):
        if number >= 254:
            continue  # the column is missing
        try:
            arrays[name] = (
                pa.array(rows[name], pa.null()).cast(kinds[0])
                if number == 253
                else pa.array(rows[name], kinds[number % len(kinds)])
            )
        except (pa.ArrowException, UnicodeDecodeError, TypeError, OverflowError):
            return None  # such a column cannot be made
    return pa.RecordBatch.from_pydict(arrays) if "key" in arrays and "value" in arrays else None


def snapshot(data: bytes) -> bool:
    """Restore a snapshot of a replay, whose length and checksum are made right first, and use the state."""
    body = data[HEADER:]
    replay = Replay()
    try:
        replay.restore(data[: HEADER - 8] + struct.pack(">II", len(body), zlib.crc32(body)) + body)
    except errors.SnapshotError:
        return False
    names = [(state["group"], state["cluster"]) for state in replay.states()]
    for group_id, cluster in names[:4]:
        key = struct.pack(">hh", 2, len(group_id.encode())) + group_id.encode() if len(group_id) < 8_000 else b""
        replay.push((2**62, 0, key, None), cluster)
    replay.positions()
    replay.finish()
    Replay().restore(replay.snapshot())
    return True


def watch_state(data: bytes) -> bool:
    """Continue a watch from the content of a state file, whose checksum is made right first."""
    _, _, rest = data.partition(b"\n")
    first = f"assignor watch state, version {VERSION}, sha256 {hashlib.sha256(rest).hexdigest()}\n"
    try:
        state = WatchState.from_bytes(first.encode() + rest)
        watcher = Watcher(groups=state.groups, state=state)
    except errors.SnapshotError:
        return False
    watcher.state(state.cluster_id).to_bytes()
    return True


def segment(data: bytes) -> bool:
    """Read a segment, and one with right checksums, in one piece and in two. The answers must be equal."""
    accepted = []
    for given in (data, segment_bytes.sealed(data)):
        whole, end = _read_segment([given])
        middle = zlib.crc32(given) % (len(given) + 1)
        assert (whole, end) == _read_segment([given[:middle], given[middle:]])
        assert end.records == whole.num_rows
        assert end.read_bytes + end.tail_bytes == len(given)
        accepted.append(end.records > 0 and not end.damage)
    return any(accepted)


def _read_segment(pieces: list[bytes]) -> tuple[pa.Table, SegmentEnd]:
    reader = _core.SegmentReader()
    batches = [pa.record_batch(reader.push(piece)) for piece in pieces]
    return pa.Table.from_batches(batches).combine_chunks(), reader.finish()


def _pattern(dialect: Dialect) -> Callable[[bytes], bool]:
    def target(data: bytes) -> bool:
        try:
            pattern = data.decode()
            found = match_topics(pattern, TOPICS, dialect=dialect, include_internal=True)
        except (errors.PatternError, UnicodeDecodeError):
            return False
        assert found == [topic for topic in TOPICS if topic in found]
        return True

    target.__doc__ = f"Match a pattern of the dialect {dialect}."
    return target


TARGETS: Mapping[str, Callable[[bytes], bool]] = {
    "columns": columns,
    "group": group,
    "plan": plan_json,
    "pattern_java": _pattern("java"),
    "pattern_librdkafka": _pattern("librdkafka"),
    "pattern_python": _pattern("python"),
    "pattern_re2j": _pattern("re2j"),
    "segment": segment,
    "snapshot": snapshot,
    "subscription_object": subscription,
    "watch_state": watch_state,
}
"""Targets by name, which is also that of the folder of the seeds."""
