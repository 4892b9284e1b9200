"""Benchmarks of records of `__consumer_offsets`: decoding, replay as events, and the commands that do both."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from assignor import Subscription, _core
from assignor.cluster.metadata import topic_batch
from assignor.offsets import decode_record, encode_record
from assignor.wire import encode_assignment, encode_subscription
from benches.checks import require
from benches.report import Part, Row, Run, Target, section, shown
from benches.timing import Case, interleave, sampler
from tests.support.record_bytes import write_record

RECORDING = Path(__file__).resolve().parents[1] / "data" / "fleet_webshop"

RECORDS, BYTES = 1e6, 150e6
"""Targets: the smallest allowed numbers of records, and of bytes of group metadata, per second on one core."""

TOPICS, PARTITIONS, MEMBERS = 4, 20, 5
PARTITIONS_EACH, TOPIC_ID = 10, "AAAAAAAAAAAAAAAAAAAAAQ"


def calls(run: Run) -> Iterator[tuple[str, Callable[[], Any], int, str, float]]:
    """Yield the name of each call, the call, the size of its input with the unit, and the target per second."""
    log = commit_log(*run.of((1_000, 500_000), (10, 1_000)))
    metadata = metadata_log(*run.of((100, 100), (2, 10)))
    commits = log.slice(run.of(1_000, 10))
    check_decoding(commits, metadata)
    check_replay(log)
    size = sum(map(len, metadata["value"].to_pylist()))
    yield "decode offset commits", partial(decoded, commits), commits.num_rows, "records", RECORDS
    yield "decode group metadata", partial(decoded, metadata), size, "bytes", BYTES
    yield "replay offset commits", partial(replayed, log), log.num_rows, "records", RECORDS
    yield "replay group metadata", partial(replayed, metadata), size, "bytes", BYTES


def cases(run: Run) -> Iterator[Case]:
    """Yield the decoding and the replay of each log."""
    for name, call, *_ in calls(run):
        yield Case("records", name, lambda call=call: call)  # type: ignore[misc]  # mypy infers no type of a default


@section(
    "replay",
    "Records of __consumer_offsets",
    "Milliseconds on one core, min / median, and the rate of the fastest run. Decoding returns JSON.",
)
def replay(run: Run) -> Iterator[Part]:
    targets = []
    for name, call, amount, unit, wanted in calls(run):
        run.report(name)
        times = interleave({"time": sampler(call)}, run.pace(1.5, 7))
        rate = amount / min(times["time"])
        yield Row(name, times, {"rate": f"{shown(rate / 1e6)} million {unit} per second", unit: f"{amount:,}"})
        targets.append(Target(f"{name}, compared with {wanted / 1e6:g} million {unit} per second", rate / wanted, 1))
    yield from targets


@section(
    "commands",
    "Commands on a recording",
    "Milliseconds of the process, min / median, with `data/fleet_webshop` and the engine `local`.",
)
def commands(run: Run) -> Iterator[Part]:
    def output(command: str) -> str:
        line = [sys.executable, "-m", "assignor", command, str(RECORDING), "--json", "--engine", "local"]
        return subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True).stdout

    run.report("assignor report, assignor replay")
    rows = pq.read_metadata(RECORDING / "records.parquet").num_rows
    require(json.loads(output("report"))["records"] == rows, "assignor report does not count the records of the file")
    require('"event"' in output("replay"), "assignor replay returns no events")
    names = ("report", "replay")
    yield Row("webshop", interleave({name: sampler(partial(output, name)) for name in names}, run.pace(20, 5)))


class Owners:
    """Replay of a consumer group in which each member has partitions, and records that move partitions.

    Args:
        members: The number of members.
        count: The number of records of `push`.
    """

    def __init__(self, members: int, count: int) -> None:
        names = [f"member-{member}" for member in range(members)]
        ids = [[member * PARTITIONS_EACH + place for place in range(PARTITIONS_EACH)] for member in range(members)]
        start = [*map(joined, names), *map(current, names, ids)]
        # Each member gives up a partition, and the next record gives it back.
        moves = [(place // 2 % members, (place + 1) % 2) for place in range(count)]
        self.start = batch([(0, *record) for record in start])
        self.moves = batch([(1_000, *current(names[member], ids[member][first:])) for member, first in moves])
        self.replay = replayed(self.start)
        self._offset = len(start)

    def push(self) -> list[Any]:
        """Push the records that move partitions, with new offsets; return the batches of events."""
        offsets = pa.array(range(self._offset, self._offset + self.moves.num_rows), pa.int64())
        self._offset += self.moves.num_rows
        return self.replay.push(self.moves.set_column(0, "offset", offsets))


def joined(member: str) -> tuple[bytes, bytes]:
    """Return the record of a member of a consumer group."""
    value = {"clientId": "client", "clientHost": "/10.0.0.1", "subscribedTopicNames": ["topic"]}
    return written(5, {"groupId": "group", "memberId": member}, value | {"rebalanceTimeoutMs": 300_000}, 0)


def current(member: str, ids: list[int]) -> tuple[bytes, bytes]:
    """Return the record of the partitions that a member of a consumer group has."""
    assigned = [{"topicId": TOPIC_ID, "partitions": ids}]
    value = {"memberEpoch": 1, "previousMemberEpoch": 1, "assignedPartitions": assigned}
    return written(8, {"groupId": "group", "memberId": member}, value, 0)


def written(number: int, key: dict[str, Any], value: dict[str, Any], version: int) -> tuple[bytes, bytes]:
    """Return the key and value of a record; fields that are not given are zero, empty or null."""
    data, body = write_record(number, key, value, version)
    assert body is not None
    return data, body


def batch(records: list[tuple[int, bytes, bytes]]) -> pa.RecordBatch:
    """Return records, as timestamp, key and value, with their offsets."""
    columns = [range(len(records)), *zip(*records, strict=True)]
    types = {"offset": pa.int64(), "timestamp": pa.int64(), "key": pa.binary(), "value": pa.binary()}
    return pa.RecordBatch.from_pydict(dict(zip(types, columns, strict=True)), schema=pa.schema(list(types.items())))


def generation(group: str, number: int, members: int) -> tuple[bytes, bytes]:
    """Return the record of a generation in which members share the topics; each partition has one owner."""
    topics, count = [f"topic-{topic}" for topic in range(TOPICS)], max(PARTITIONS, members)
    listed = []
    for member in range(members):
        owned = [(topic, id) for topic in topics for id in range(member, count, members)]
        listed.append(
            {
                "memberId": f"consumer-{member}-00000000-0000-0000-0000-000000000000",
                "clientId": f"consumer-{member}",
                "clientHost": "/10.0.0.1",
                "sessionTimeout": 45_000,
                "rebalanceTimeout": 300_000,
                "subscription": encode_subscription(Subscription(tuple(topics))),
                "assignment": encode_assignment(owned),
            }
        )
    value = {"protocolType": "consumer", "generation": number, "protocol": "range", "leader": listed[0]["memberId"]}
    return written(2, {"group": group}, value | {"members": listed}, 3)


def commit_log(groups: int, commits: int) -> pa.RecordBatch:
    """Return a generation of each group, then offset commits: every five seconds, one of each partition in turn."""
    records = [(0, *generation(f"group-{group}", 1, MEMBERS)) for group in range(groups)]
    keys = [
        written(1, {"group": f"group-{group}", "topic": f"topic-{id % TOPICS}", "partition": id}, {}, 3)[0]
        for group in range(groups)
        for id in range(PARTITIONS)
    ]
    for number in range(commits):
        turn, place = divmod(number, len(keys))
        records.append((1_000 + 5_000 * turn, keys[place], struct.pack(">hqihq", 3, turn, -1, 0, 0)))
    return batch(records)


def metadata_log(generations: int, members: int, *, changes: bool = False) -> pa.RecordBatch:
    """Return the generations of one group; if it `changes`, every second one has a member less."""
    sizes = [members - (number % 2 if changes else 0) for number in range(generations)]
    return batch([(1_000 * number, *generation("group", number, size)) for number, size in enumerate(sizes, 1)])


def check_decoding(*logs: pa.RecordBatch) -> None:
    """Encode the first decoded record of each log again, and check that all records are decoded."""
    for log in logs:
        first = log["key"][0].as_py(), log["value"][0].as_py()
        record = decode_record(*first)
        require(encode_record(record) == first, f"a record of type {record.type} is not decoded right")
        found = pa.record_batch(decoded(log))
        is_complete = found.num_rows == log.num_rows and set(found["status"].to_pylist()) == {"decoded"}
        require(is_complete, "a record is not decoded")


def check_replay(log: pa.RecordBatch) -> None:
    """Compare the events of the first records with those of a replay of one record at a time; count the records."""
    head, single = log.slice(0, 200), _machine()
    expected = [event for row in range(head.num_rows) for event in _rows(single.push(head.slice(row, 1)))]
    require(bool(expected) and _rows(_machine().push(head)) == expected, "events depend on the batches of a log")
    counts = dict(replayed(log).counts())
    is_complete = counts["records"] == log.num_rows == sum(counts.values())
    require(is_complete, f"records are duplicates or invalid: {counts}")


def check_current(members: int) -> None:
    """Compare the owners after current assignments: one record takes a partition from a member, the next returns it."""
    for moves in (1, 2):
        owners = Owners(members, moves)
        before = _rows(owners.replay.positions())
        owners.push()
        left = [row for row in before if row not in _rows(owners.replay.positions())]
        require(len(before) == members * PARTITIONS_EACH, f"{members} members own {len(before)} partitions")
        require(len(left) == moves % 2, f"{len(left)} partitions have another owner after {moves} current assignments")


def decoded(log: pa.RecordBatch) -> Any:
    """Return the decoded records of a log, as an Arrow array."""
    return _core.decode_batch(log["key"], log["value"])


def replayed(log: pa.RecordBatch) -> _core.Replay:
    """Return a replay of a log."""
    machine = _machine()
    machine.push(log)
    return machine


def _machine() -> _core.Replay:
    return _core.Replay(topic_batch([]), is_compared=False)


def _rows(batches: list[Any]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in pa.record_batch(batch).to_pylist()]
