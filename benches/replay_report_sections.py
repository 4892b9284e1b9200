"""Section of the report about records of `__consumer_offsets`: decoding, and replay as events."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from assignor import Subscription, _core
from assignor.offsets import Record, decode_record, encode_record
from assignor.replay_columns import topic_batch
from assignor.wire import encode_assignment, encode_subscription
from benches.implementations import WrongAnswerError
from benches.selections import SELECTIONS, Selection
from benches.tables import Raw, Report, ReportSection, Table, shown
from benches.targets import TargetResult
from benches.timing import interleave, sampler

COMMITS_PER_SECOND, METADATA_BYTES_PER_SECOND, EVENTS_PER_SECOND = 1e6, 150e6, 1e6
"""Smallest rates on one core."""

TOPICS, PARTITIONS, MEMBERS = 4, 20, 5


def replay(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section about decoding and replay of records."""
    is_quick = selection is SELECTIONS["quick"]
    groups, commits, generations = (10, 1_000, 2) if is_quick else (1_000, 500_000, 100)
    log, metadata = commit_log(groups, commits), metadata_log(generations, members=10 if is_quick else 100)
    check_decoding(log.slice(groups), metadata)
    check_replay(log)
    size = sum(map(len, metadata["value"].to_pylist()))
    only_commits = log.slice(groups)
    calls: dict[str, tuple[Callable[[], Any], float, str, float]] = {
        "decode offset commits": (
            lambda: _core.decode_batch(only_commits["key"], only_commits["value"]),
            only_commits.num_rows,
            "records per second",
            COMMITS_PER_SECOND,
        ),
        "decode group metadata": (
            lambda: _core.decode_batch(metadata["key"], metadata["value"]),
            size,
            "bytes per second",
            METADATA_BYTES_PER_SECOND,
        ),
        "replay offset commits": (lambda: replayed(log), log.num_rows, "records per second", EVENTS_PER_SECOND),
        "replay group metadata": (lambda: replayed(metadata), size, "bytes per second", METADATA_BYTES_PER_SECOND),
    }
    rows, target_results = [], []
    for name, (call, amount, unit, target) in calls.items():
        report(name)
        times = raw[name] = interleave({name: sampler(call)}, selection.own_pace)
        rate = amount / min(times[name])
        rows.append([name, f"{shown(rate / 1e6)} million {unit}"])
        target_results.append(TargetResult(f"{name}, compared with {target / 1e6:g} million {unit}", rate / target, 1))
    note = (
        f"Fastest run on one core. Commits: {log.num_rows:,} records of {groups:,} groups with {MEMBERS} members each. "
        f"Group metadata: {metadata.num_rows} generations of one group, {size:,} bytes. Decoding returns JSON."
    )
    return ReportSection("Records of __consumer_offsets", note, Table(["", "rate"], rows), target_results)


def batch(records: list[tuple[int, bytes, bytes]]) -> pa.RecordBatch:
    """Return records, as timestamp, key and value, with their offsets."""
    timestamps, keys, values = zip(*records, strict=True)
    columns = {
        "offset": pa.array(range(len(records)), pa.int64()),
        "timestamp": pa.array(timestamps, pa.int64()),
        "key": pa.array(keys, pa.binary()),
        "value": pa.array(values, pa.binary()),
    }
    return pa.RecordBatch.from_pydict(columns)


def generation(group: str, number: int, members: int) -> tuple[bytes, bytes]:
    """Return the record of a generation in which members share the topics."""
    topics = [f"topic-{topic}" for topic in range(TOPICS)]
    listed = []
    for member in range(members):
        owned = [(topic, id) for topic in topics for id in range(PARTITIONS) if id % members == member % PARTITIONS]
        listed.append(
            {
                "groupInstanceId": None,
                "memberId": f"consumer-{member}-00000000-0000-0000-0000-000000000000",
                "clientId": f"consumer-{member}",
                "clientHost": "/10.0.0.1",
                "sessionTimeout": 45_000,
                "rebalanceTimeout": 300_000,
                "subscription": encode_subscription(Subscription(tuple(topics))),
                "assignment": encode_assignment(owned),
            }
        )
    value: dict[str, Any] = {"protocolType": "consumer", "generation": number, "protocol": "range"}
    value |= {"leader": listed[0]["memberId"], "currentStateTimestamp": 0, "members": listed}
    key, data = encode_record(Record(2, "GROUP_METADATA", {"group": group}, 3, value))
    assert data is not None
    return key, data


def commit_log(groups: int, commits: int) -> pa.RecordBatch:
    """Return a generation of each group, then offset commits of all partitions in turn, five seconds apart."""
    records = [(0, *generation(f"group-{group}", 1, MEMBERS)) for group in range(groups)]

    def text(name: str) -> bytes:
        return struct.pack(">h", len(name)) + name.encode()

    keys = [
        struct.pack(">h", 1) + text(f"group-{group}") + text(f"topic-{id % TOPICS}") + struct.pack(">i", id)
        for group in range(groups)
        for id in range(PARTITIONS)
    ]
    for number in range(commits):
        turn, place = divmod(number, len(keys))
        value = struct.pack(">hqihq", 3, turn, -1, 0, 0)
        records.append((1_000 + 5_000 * turn, keys[place], value))
    return batch(records)


def metadata_log(generations: int, members: int) -> pa.RecordBatch:
    """Return the generations of one group."""
    return batch([(1_000 * number, *generation("group", number, members)) for number in range(1, generations + 1)])


def check_decoding(*logs: pa.RecordBatch) -> None:
    """Compare the first decoded record of each log with the reference."""
    for log in logs:
        key, value = log["key"][0].as_py(), log["value"][0].as_py()
        expected = decode_record(key, value, engine="reference")
        if decode_record(key, value) != expected:
            raise WrongAnswerError(f"the engines decode a record of type {expected.type} differently")
        decoded = pa.record_batch(_core.decode_batch(log["key"], log["value"]))
        if decoded.num_rows != log.num_rows or set(decoded["status"].to_pylist()) != {"decoded"}:
            raise WrongAnswerError("a record is not decoded")


def check_replay(log: pa.RecordBatch) -> None:
    """Compare the events of the first records with the reference, and count the records."""
    from assignor.reference.replay.machine import Replay
    from assignor.replay_columns import event_dicts

    head, reference = log.slice(0, 200), Replay(is_compared=False)
    expected = [event for row in head.to_pylist() for event in reference.push(tuple(row.values()))]
    if event_dicts(_core.Replay(topic_batch([]), is_compared=False).push(head)) != expected:
        raise WrongAnswerError("the engines replay records differently")
    counts = dict(replayed(log).counts())
    if counts["records"] != log.num_rows or sum(counts.values()) != log.num_rows:
        raise WrongAnswerError(f"records are duplicates or invalid: {counts}")


def replayed(log: pa.RecordBatch) -> _core.Replay:
    """Return a replay of a log."""
    machine = _core.Replay(topic_batch([]), is_compared=False)
    machine.push(log)
    return machine
