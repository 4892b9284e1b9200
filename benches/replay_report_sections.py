"""Section of the report about records of `__consumer_offsets`: decoding, and replay as events."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pyarrow as pa

from assignor import Subscription, _core
from assignor.cluster.metadata import topic_batch
from assignor.offsets import Record, decode_record, encode_record
from assignor.replay import Replay
from assignor.replay.events import event_dicts
from assignor.wire import encode_assignment, encode_subscription
from benches.implementations import WrongAnswerError
from benches.selections import SELECTIONS, Selection
from benches.tables import Raw, Report, ReportSection, Table, shown
from benches.targets import TargetResult
from benches.timing import interleave, sampler

COMMITS_PER_SECOND, METADATA_BYTES_PER_SECOND, EVENTS_PER_SECOND = 1e6, 150e6, 1e6
"""Targets: the smallest allowed rates on one core, per second."""

GROWTH = 1.3
"""Target: the largest allowed factor of a cost when the members double."""

TOPICS, PARTITIONS, MEMBERS = 4, 20, 5
PARTITIONS_EACH, TOPIC_ID = 10, "AAAAAAAAAAAAAAAAAAAAAQ"
GENERATION, CURRENT = "generation, per member", "current assignment, per record"


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
            lambda: decoded(only_commits),
            only_commits.num_rows,
            "records per second",
            COMMITS_PER_SECOND,
        ),
        "decode group metadata": (
            lambda: decoded(metadata),
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


def replay_growth(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that doubles the members of a group, and with them its partitions."""
    start, each = (5, 20) if selection is SELECTIONS["quick"] else (100, 1_000)
    sizes = [start * 2**place for place in range(4)]
    check_current(sizes[0])
    seconds: dict[str, list[float]] = {GENERATION: [], CURRENT: []}
    for members in sizes:
        report(f"replay, {members} members")
        metadata = metadata_log(5, members, changes=True)
        owners = Owners(members, each)
        calls = {GENERATION: sampler(partial(replayed, metadata)), CURRENT: sampler(owners.push)}
        times = raw[f"replay, {members} members"] = interleave(calls, selection.own_pace)
        seconds[GENERATION].append(min(times[GENERATION]) / metadata.num_rows / members)
        seconds[CURRENT].append(min(times[CURRENT]) / each)
    rows = [[name, *(shown(time * 1e6) for time in times)] for name, times in seconds.items()]
    target_results = [
        TargetResult(
            f"{name}: worst doubling", max(after / before for before, after in pairwise(times)), GROWTH, sense="<="
        )
        for name, times in seconds.items()
    ]
    note = (
        "Microseconds per member or per record, in the fastest run on one core, as the members double. Replay compares "
        f"a generation, whose members have {TOPICS} partitions each, with the previous one. The cost of this per "
        f"member should not grow. A current assignment has the {PARTITIONS_EACH} partitions of one member of a "
        "consumer group, so its cost should not depend on the size of the group."
    )
    head = ["", *(f"{members:,} members" for members in sizes)]
    return ReportSection("Growth of replay", note, Table(head, rows), target_results)


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
    value = {
        "instanceId": None,
        "rackId": None,
        "clientId": "client",
        "clientHost": "/10.0.0.1",
        "subscribedTopicNames": ["topic"],
        "subscribedTopicRegex": None,
        "rebalanceTimeoutMs": 300_000,
        "serverAssignor": None,
    }
    return written(5, member, value)


def current(member: str, ids: list[int]) -> tuple[bytes, bytes]:
    """Return the record of the partitions that a member of a consumer group has."""
    value = {
        "memberEpoch": 1,
        "previousMemberEpoch": 1,
        "state": 0,
        "assignedPartitions": [{"topicId": TOPIC_ID, "partitions": ids}],
        "partitionsPendingRevocation": [],
    }
    return written(8, member, value)


def written(number: int, member: str, value: dict[str, Any]) -> tuple[bytes, bytes]:
    """Return the key and value of a record of a member."""
    key, data = encode_record(Record(number, None, {"groupId": "group", "memberId": member}, 0, value))
    assert data is not None
    return key, data


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
    """Return a generation of each group, then offset commits: every five seconds, one of each partition in turn."""
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


def metadata_log(generations: int, members: int, *, changes: bool = False) -> pa.RecordBatch:
    """Return the generations of one group; if it `changes`, every second one has a member less."""
    sizes = [members - (number % 2 if changes else 0) for number in range(generations)]
    return batch([(1_000 * number, *generation("group", number, size)) for number, size in enumerate(sizes, 1)])


def check_decoding(*logs: pa.RecordBatch) -> None:
    """Encode the first decoded record of each log again, and count the decoded records."""
    for log in logs:
        key, value = log["key"][0].as_py(), log["value"][0].as_py()
        record = decode_record(key, value)
        if encode_record(record) != (key, value):
            raise WrongAnswerError(f"a record of type {record.type} is decoded wrongly")
        found = pa.record_batch(decoded(log))
        if found.num_rows != log.num_rows or set(found["status"].to_pylist()) != {"decoded"}:
            raise WrongAnswerError("a record is not decoded")


def check_replay(log: pa.RecordBatch) -> None:
    """Compare the events of the first records with those of single records, and count the records."""
    head, single = log.slice(0, 200), Replay(is_compared=False)
    expected = [event for row in head.to_pylist() for event in single.push(tuple(row.values()))]
    if event_dicts(_core.Replay(topic_batch([]), is_compared=False).push(head)) != expected:
        raise WrongAnswerError("a batch of records has other events than single records")
    counts = dict(replayed(log).counts())
    if counts["records"] != log.num_rows or sum(counts.values()) != log.num_rows:
        raise WrongAnswerError(f"records are duplicates or invalid: {counts}")


def check_current(members: int) -> None:
    """Compare the events of current assignments with those of single records, and count the records."""
    owners, single = Owners(members, 4), Replay(is_compared=False)
    for row in owners.start.to_pylist():
        single.push(tuple(row.values()))
    offsets = range(owners.start.num_rows, owners.start.num_rows + owners.moves.num_rows)
    rows = [(offset, *list(row.values())[1:]) for offset, row in zip(offsets, owners.moves.to_pylist(), strict=True)]
    expected = [event for row in rows for event in single.push(row)]
    if event_dicts(owners.push()) != expected or dict(owners.replay.counts()) != single.counts():
        raise WrongAnswerError("a batch of current assignments has other events than single records")


def decoded(log: pa.RecordBatch) -> Any:
    """Return the decoded records of a log, as an Arrow array."""
    return _core.decode_batch(log["key"], log["value"])


def replayed(log: pa.RecordBatch) -> _core.Replay:
    """Return a replay of a log."""
    machine = _core.Replay(topic_batch([]), is_compared=False)
    machine.push(log)
    return machine
