"""Seeds of the fuzz targets: small valid inputs of each reader, made from the data of the tests.

`python -m tests.support.fuzz_seeds` writes them to `fuzz/seeds`, one folder per target, and removes other files there.
Run it after the format of a snapshot or of a state file changes.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import random
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assignor import errors, match_topics, plan
from assignor.cluster.records import SCHEMA
from assignor.names import Dialect
from assignor.replay import Replay
from assignor.replay.watcher import Watcher
from tests.replay.generated_events import METADATA, random_log
from tests.sources.metadata_records import every_version
from tests.support import segment_bytes, vector_files
from tests.support.border import COLUMNS, TOPICS
from tests.support.fuzz import decoders
from tests.wire import applications

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.support.record_bytes import LogRecord

FOLDER = Path(__file__).parents[2] / "fuzz" / "seeds"

MOST = 24
"""Number of seeds of a target."""

LARGEST = 4_096
"""Size of the largest seed in bytes."""

DIALECTS: tuple[Dialect, ...] = ("java", "librdkafka", "python", "re2j")


def read(target: str) -> list[bytes]:
    """Return the committed seeds of a target."""
    return [path.read_bytes() for path in sorted((FOLDER / target).iterdir())]


@functools.cache
def made() -> dict[str, list[bytes]]:
    """Return the seeds of each target."""
    logs = [random_log(random.Random(number), 10) for number in range(MOST)]
    found = {
        "subscription": _spread(data for data, _ in decoders()["subscription"].samples),
        "assignment": _spread(data for data, _ in decoders()["assignment"].samples),
        **{name: _spread(data for data, _ in decoders()[name].samples) for name in applications.KINDS},
        "cluster_metadata": [value for _, _, _, value in every_version()],
        "record": _records(),
        "replay": _small(map(log_bytes, logs)),
        "columns": _small(bytes(len(COLUMNS)) + log_bytes(log) for log in logs[: MOST // 3]),
        "snapshot": _small(map(_snapshot, logs)),
        "watch_state": _small(_watch_state(log) for log in logs[: MOST // 3]),
        **{f"pattern_{dialect}": _patterns(dialect) for dialect in DIALECTS},
        "group": [json.dumps(group).encode() for group in GROUPS],
        "plan": [_plan(group) for group in GROUPS],
        "segment": _segments(),
        "subscription_object": [json.dumps(each).encode() for each in SUBSCRIPTIONS],
    }
    return dict(sorted(found.items()))


def _small(inputs: Iterable[bytes]) -> list[bytes]:
    return [data for data in inputs if len(data) <= LARGEST][:MOST]


def _spread(inputs: Iterable[bytes]) -> list[bytes]:
    """Return inputs of all sizes, without repetitions."""
    ordered = sorted({data for data in inputs if len(data) <= LARGEST}, key=lambda data: (len(data), data))
    return ordered[:: -(-len(ordered) // MOST)]


def _records() -> list[bytes]:
    """Return a record of each type and version, and tombstones."""
    found = {}
    for name, decoder in decoders().items():
        if name.startswith("record "):
            for key, value in sorted(decoder.samples, key=lambda pair: -len(pair[1] or b"")):
                found[key[:2], value and value[:2]] = pair_bytes(key, value)
    return _small_all(found.values())


def _small_all(inputs: Iterable[bytes]) -> list[bytes]:
    return [data for data in inputs if len(data) <= LARGEST]


def pair_bytes(key: bytes | None, value: bytes | None) -> bytes:
    """Return key and value, each after its int16 size; -1 means null."""
    return b"".join(
        struct.pack(">h", -1) if part is None else struct.pack(">h", len(part)) + part for part in (key, value)
    )


def log_bytes(log: Iterable[LogRecord]) -> bytes:
    """Return records, each with an int8 step of the offset, the timestamp, key and value."""
    found, offset = b"", 0
    for record in log:
        step = max(-128, min(127, record.offset - offset))
        offset += step
        found += struct.pack(">bq", step, record.timestamp) + pair_bytes(record.key, record.value)
    return found


def _snapshot(log: Iterable[LogRecord]) -> bytes:
    replay = Replay(METADATA)
    for record in log:
        replay.push(record)
    return replay.snapshot()


def _watch_state(log: list[LogRecord]) -> bytes:
    watcher = Watcher()
    columns = [{"partition": 0, **record._asdict()} for record in log]
    watcher.push(pa.RecordBatch.from_pylist(columns, SCHEMA), {0: log[-1].offset + 1})
    watcher.start()
    return watcher.state("cluster").to_bytes()


def _segments() -> list[bytes]:
    """Return segments with each version and codec, and each kind of batch and tail."""
    content, batch, message = segment_bytes.CONTENT, segment_bytes.batch, segment_bytes.message
    marker = segment_bytes.record(0, b"\0\0\0\1", b"\0\0\0\0\0\0")
    kinds = segment_bytes.TRANSACTIONAL, segment_bytes.TRANSACTIONAL | segment_bytes.CONTROL
    compressed = {codec: batch(7, data, 12, attributes=codec) for codec, data in segment_bytes.COMPRESSED.items()}
    framed = segment_bytes.xerial([segment_bytes.COMPRESSED[segment_bytes.SNAPPY]])
    plain = batch(7, content, 12)
    sets = {
        each: message(45, each[0], None, data, attributes=each[1])
        for each, data in segment_bytes.COMPRESSED_SETS.items()
    }
    old_lz4 = bytearray(segment_bytes.COMPRESSED_SETS[0, segment_bytes.LZ4])
    old_lz4[6] ^= 1  # the checksum of the header
    return [
        plain,
        *compressed.values(),
        batch(7, framed, 12, attributes=segment_bytes.SNAPPY | segment_bytes.LOG_APPEND_TIME),
        *sets.values(),
        message(45, 0, None, bytes(old_lz4), attributes=segment_bytes.LZ4),
        message(3, 0, b"key", b"value") + message(4, 0, None, None) + message(6, 1, b"", b""),
        batch(7, content, 12, attributes=kinds[0], producer=3) + batch(19, marker, 1, attributes=kinds[1], producer=3),
        batch(0, b"", 0, last=6) + batch(7, content, 12, last=40),
        plain + bytes(60),
        plain + compressed[segment_bytes.ZSTD][:70],
        b"".join(compressed.values()),
    ]


def _patterns(dialect: Dialect) -> list[bytes]:
    with gzip.open(vector_files.OWN_FOLDER / f"patterns_{dialect}.json.gz", "rt", encoding="utf-8") as file:
        patterns = [each["pattern"] for each in json.load(file)["patterns"]]
    found = []
    for pattern in patterns:
        try:
            match_topics(pattern, TOPICS, dialect=dialect)
            found.append(pattern.encode())
        except (errors.PatternError, UnicodeEncodeError):
            pass
    return _spread(found)


GROUPS: list[dict[str, Any]] = [
    {"partitions_per_topic": {"orders": 6}, "subscriptions": {"a": ["orders"], "b": ["orders"]}},
    {
        "partitions_per_topic": {"t": [{"partition": 0, "racks": ["r", None]}, 3], "u": 2},
        "subscriptions": {"a": {"topics": ["t", "u"], "rack": "r"}, "b": {"topics": ["t"], "group_instance_id": "i"}},
        "prefer_rack_aware": True,
    },
    {
        "partitions_per_topic": {"t": 4, "u": 3},
        "subscriptions": {
            "a": {"topics": ["t", "u"], "owned_partitions": [["t", 0], ["u", 1]], "generation": 3},
            "b": {"topics": ["t"], "user_data": "AAAA"},
            "c": {"pattern": "[tu]", "dialect": "re2j"},
        },
        "assignor": "cooperative-sticky",
    },
    {
        "partitions_per_topic": {"t": 5},
        "subscriptions": {"a": ["t"], "b": ["t", "missing"]},
        "group_protocol": "consumer",
        "assignor": "uniform",
        "topic_ids": {"t": "AAECAwQFBgcICQoLDA0ODw"},
    },
    {"partitions_per_topic": {}, "subscriptions": {}, "assignor": "roundrobin"},
]
"""Groups of the command line."""

SUBSCRIPTIONS: list[dict[str, Any]] = [
    {"topics": ["t", "u"]},
    {"topics": [], "pattern": "t.*", "dialect": "librdkafka"},
    {"topics": ["t"], "group_instance_id": "i", "rack": "r", "generation": 7, "owned_partitions": [["t", 1]]},
]
"""Arguments of `Subscription`."""


def _plan(group: dict[str, Any]) -> bytes:
    from assignor.cli.inputs import group_of

    found = group_of(group, "group")
    return plan(found.partitions_per_topic, found.subscriptions, **found.settings).to_json().encode()


def name_of(data: bytes) -> str:
    """Return the file name of a seed."""
    return hashlib.sha256(data).hexdigest()[:12]


def main() -> None:
    """Write the seeds."""
    for target, inputs in made().items():
        folder = FOLDER / target
        folder.mkdir(parents=True, exist_ok=True)
        names = {name_of(data): data for data in inputs}
        for path in folder.iterdir():
            if path.name not in names:
                path.unlink()
        for name, data in names.items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
