"""Generated recordings: logs of groups of every kind, of groups with findings, and of damaged records."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from assignor import Subscription, TopicPartition, assign
from assignor.names import AssignorName
from tests.replay.generated_events import METADATA, random_log
from tests.replay.golden.recorded import Recorded
from tests.replay.logs import (
    CONSUMER,
    SHARE,
    STREAMS,
    Event,
    Row,
    classic,
    classic_gone,
    commit,
    event,
    member,
    metadata,
)
from tests.support.record_bytes import partitions, subscription, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

COUNTS = {"t": 4, "u": 3}
"""Partitions of the topics."""

EVEN = {"a": {"t": [0, 1]}, "b": {"t": [2, 3]}}
"""Assignment of t that range, uniform and sticky give."""


def generations(protocol: str, *steps: Iterable[str]) -> list[Event]:
    """Return a log of a group whose leader is a Java client. A step is the members of a generation.

    A member with a colon in its name is static: the instance id is before the colon. A member whose name ends with u
    subscribes to t and u, another one to t.
    """
    events, owned = [classic(0, protocol_type="")], dict[str, list[TopicPartition]]()
    for generation, ids in enumerate(map(list, steps), 1):
        wants = {id: ["t", "u"] if id.endswith("u") else ["t"] for id in ids}
        instances = {id: id.partition(":")[0] if ":" in id else None for id in ids}
        given = {
            id: Subscription(tuple(wants[id]), instances[id], None, tuple(owned.get(id, ())), generation - 1)
            for id in ids
        }
        found = assign(COUNTS, given, assignor=cast(AssignorName, protocol)) if ids else {}
        members = []
        for id in ids:
            before = by_topic(owned.get(id, ()))
            data, claims = None, {}
            if protocol == "sticky" and before:
                data = struct.pack(">i", len(before)) + b"".join(partitions(*each) for each in before.items())
                data += struct.pack(">i", generation - 1)
            if protocol == "cooperative-sticky":
                data, claims = struct.pack(">i", generation - 1), before
            asks = subscription(*wants[id], owned=claims, generation=generation - 1, user_data=data)
            members.append(member(id, asks, by_topic(found[id]), instance=instances[id]))
        events.append(classic(generation, *members, protocol=protocol))
        owned = found
    return events


def by_topic(owned: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the ids of partitions by topic."""
    found: dict[str, list[int]] = {}
    for topic, id in owned:
        found.setdefault(topic, []).append(id)
    return found


def members(gets: Mapping[str, Mapping[str, Sequence[int]]] = EVEN, topics: Sequence[str] = ("t",)) -> list[Row]:
    """Return members of a classic group by their partitions."""
    return [member(id, topics, owned) for id, owned in gets.items()]


def classic_groups() -> Recorded:
    """Return groups with each assignor, and with members, blobs and assignments of every quality."""
    steps = ["a", "ab", ["a", "b", "c-u"], ["a", "c-u"], ["a", "c-u"], ["s:1", "a", "r:1-u"], ["s:1", "a", "r:2-u"], ""]
    protocols = ("range", "roundrobin", "sticky", "cooperative-sticky")
    groups = {f"{protocol}-group": generations(protocol, *steps) for protocol in protocols}
    restarted = [member("x", ["t"], EVEN["a"], instance="i"), member("y", ["t"], EVEN["b"], instance="j")]
    older = member("y", subscription("t", version=3, body=1), EVEN["b"])
    racks = [member(id, ["r"], {"r": ids}, rack=rack) for id, ids, rack in (("a", [1, 3], "r1"), ("b", [0, 2], "r0"))]
    groups |= {
        "different": [classic(1, *members()), classic(2, *members({"a": {"t": [0]}, "b": {"t": [1, 2, 3]}}))],
        "idle": [classic(1, *members({id: {"t": [place]} if place < 4 else {} for place, id in enumerate("abcdef")}))],
        "unowned-twice": [classic(1, *members({"a": {"t": [0, 1]}, "b": {"t": [1], "v": [0]}}, ["t", "u"]))],
        "static-restart": [classic(1, *restarted), classic(1, restarted[0], {**restarted[1], "memberId": "z"})],
        "unreadable": [classic(1, member("a", b"\0", {"t": [0]}), member("b", ["t"], b"\0\0\1"))],
        "older-body": [classic(1, member("x", ["t"], EVEN["a"]), older)],
        "racks": [classic(1, *racks)],
        "custom": [classic(1, *members(), protocol="stream"), classic(2, *members(), protocol="stream")],
        "connect": [classic(1, member("w", b"1", b"2"), protocol="sessioned", protocol_type="connect")],
        "not-created-yet": [classic(1, member("a", ["t", "later"], {"t": [0, 1, 2, 3]})).at(0)],
        "gone": [classic(1, *members()), commit("t", 0), classic(2), commit("t", 0, offset=None), classic_gone()],
        "deleted-with-offsets": [classic(1, *members()), commit("t", 0), classic_gone()],
        "offsets-only": [commit("t", 0), commit("t", 1, offset=None)],
        "offsets-gone": [commit("t", 0), commit("t", 0, offset=None)],
        "legacy-commit": [event(0, {"group": "g", "topic": "t", "partition": 1}, {"offset": 7})],
    }
    of_racks: list[list[str]] = [["r0"], ["r1"], ["r0"], ["r1"]]
    first: dict[str, int | Sequence[Sequence[str]]] = {**COUNTS, "r": of_racks}
    return Recorded(groups, metadata({1_500: first, 5_500: first | {"later": 2}, 6_500: first | {"later": 2, "t": 6}}))


def findings() -> Recorded:
    """Return groups with storms, stuck members and unusual offsets, and end offsets of their partitions."""
    begin = [classic(1, *members()).at(0)]
    storm = [classic(number, *members()).at(1_000 + 500 * number) for number in range(2, 40)]
    beats = [
        commit("t", id, offset=place).at(5_000 * place + id) for place in range(1, 40) for id in range(4) if id != 3
    ]
    silent = [each for each in beats if each.time is not None and not (60_000 < each.time < 150_000)]
    regular = [commit("t", id, offset=10 * place).at(5_000 * place) for place in range(40) for id in range(4)]
    back = [commit("t", 0, offset=offset).at(1_000 * place) for place, offset in enumerate((5, 9, 3, 4, 4, 2))]
    groups = {
        "storm-ended": [*begin, *storm, commit("t", 0).at(200_000)],
        "storm-lasting": [*begin, *(each.at((each.time or 0) + 170_000) for each in storm)],
        "stuck-ended": [*begin, *silent],
        "stuck-lasting": [*begin, *(each for each in beats if (each.time or 0) < 60_000)],
        "never-committed": [*begin, commit("t", 0).at(1), commit("t", 2).at(90_000), commit("t", 0, offset=None).at(2)],
        "went-back": [*begin, *back],
        "not-owned": [*begin, commit("u", 2).at(5), commit("u", 2).at(6)],
        "skewed": [classic(1, *members({"a": {"t": [0]}, "b": {"t": [1, 2, 3], "u": [0, 1, 2]}}, ["t", "u"])).at(7)],
        "growing-lag": [*begin, *(replace(each, value=beats[0].value) for each in regular)],
        "regular": [*begin, *regular],
        "static": [classic(1, member("a", ["t"], EVEN["a"], instance="i"), *members()[1:]).at(0), *regular[:4]],
        "streams": [*streams_members(), commit("t", 0, offset=9)],
    }
    ends = [
        {"at": at, "topic": "t", "partition": id, "end_offset": at // 100, "start_offset": at // 400 if id else None}
        for at in range(0, 200_001, 10_000)
        for id in range(4)
    ]
    return Recorded(groups, metadata({0: COUNTS}), ends=ends)


# ---- groups with epochs


def batch(time: int, *events: Event) -> list[Event]:
    """Return events at the same time, as those of one request."""
    return [each.at(time) for each in events]


def consumer_epoch(epoch: int, gets: Mapping[str, Mapping[str, Sequence[int]]], *joined: str) -> list[Event]:
    """Return the records of an epoch of a consumer group, its target assignment, and the assignments of its members."""
    found = [CONSUMER.joins(id, subscribedTopicNames=["t"]) for id in joined]
    found += [CONSUMER.epoch(epoch, metadataHash=1), *(CONSUMER.target_of(id, owned) for id, owned in gets.items())]
    return [*found, CONSUMER.target_epoch(epoch), *(CONSUMER.has(id, epoch, 0, owned) for id, owned in gets.items())]


def streams_members() -> list[Event]:
    """Return the records of a streams group with a member and its tasks."""
    return [
        STREAMS.streams_topology(1, {"sub": ["t", "=internal"]}),
        STREAMS.joins("a", topologyEpoch=1),
        STREAMS.epoch(1, metadataHash=5),
        event(21, {"groupId": "g", "memberId": "a"}, {"activeTasks": [{"subtopologyId": "sub", "partitions": [0, 1]}]}),
        STREAMS.target_epoch(1),
        STREAMS.has("a", 1, 0, {"sub": [0, 1]}),
    ]


def epoch_groups() -> Recorded:
    """Return consumer, share and streams groups, and groups that change their protocol."""
    whole = {"a": {"t": [0, 1, 2, 3]}}
    two = [*consumer_epoch(1, whole, "a"), *consumer_epoch(2, EVEN, "b")]
    leaves = [*CONSUMER.leaves("b"), CONSUMER.target_of("b", None)]
    ends = [*CONSUMER.leaves("a"), CONSUMER.target_epoch(None), CONSUMER.epoch(None)]
    upgrade = batch(5_000, classic_gone(), *consumer_epoch(3, EVEN, "a", "b"))
    downgrade = batch(30_000, *leaves, *ends, classic(2, *members()))
    by_range = [CONSUMER.joins(id, subscribedTopicNames=["t"], serverAssignor="range") for id in "ab"]
    found = event(16, {"groupId": "g", "regularExpression": "t.*"}, {"topics": ["t"]})
    static = [CONSUMER.joins(id, subscribedTopicNames=["t"], instanceId="i") for id in "cd"]
    away = [CONSUMER.has("c", -2, 0, whole["a"]), *CONSUMER.leaves("c")]
    moved = [CONSUMER.has("a", 2, 2, {"t": [0, 1]}, t=[2, 3]), CONSUMER.has("b", 2, 3, {})]
    epochs = [CONSUMER.epoch(3), CONSUMER.epoch(4)]
    waiting = [CONSUMER.epoch(epoch).at(100 * epoch) for epoch in range(2, 1_020)]
    share = [SHARE.joins("a", subscribedTopicNames=["t"]), SHARE.epoch(1), SHARE.target_epoch(1)]
    share.append(SHARE.has("a", 1, 0, {"t": [0, 1]}))
    groups = {
        "uniform": [*two, commit("t", 2), *leaves, *consumer_epoch(3, whole)],
        "range-by-vote": [*by_range, *consumer_epoch(1, EVEN), *consumer_epoch(2, {"a": {"t": [0]}})],
        "reconciling": [*two[:-2], *moved],
        "pattern": [CONSUMER.joins("a", subscribedTopicRegex="t.*"), found, *consumer_epoch(1, whole)],
        "static-member": [static[0], *consumer_epoch(1, {"c": whole["a"]}), *away, static[1], CONSUMER.epoch(2)],
        "one-epoch-waits": [*two, CONSUMER.epoch(3), *CONSUMER.leaves("b"), CONSUMER.epoch(4)],
        "two-epochs-wait": [*two, *epochs, *consumer_epoch(4, whole)[1:]],
        "late-targets": [*two, *epochs, CONSUMER.target_epoch(3), CONSUMER.target_epoch(4)],
        "an-empty-epoch-has-a-target": [*two[:6], *CONSUMER.leaves("a"), CONSUMER.epoch(2), CONSUMER.target_epoch(2)],
        "member-after-its-partitions": [two[4], *consumer_epoch(2, {}, "a"), commit("t", 0)],
        "classic-is-not-deleted": [classic(1, *members()), *two],
        "an-epoch-is-skipped": [*two, CONSUMER.epoch(3), CONSUMER.epoch(5), CONSUMER.target_epoch(3)],
        "1018-epochs-wait": [*consumer_epoch(1, whole, "a"), *waiting, CONSUMER.target_epoch(1_019).at(110_000)],
        "upgraded": [classic(3, *members()).at(0), *upgrade, *batch(9_000, *consumer_epoch(4, EVEN))],
        "downgraded": [*two, *downgrade, classic(3, *members(whole)).at(40_000)],
        "share-group": [*share, SHARE.epoch(2), *SHARE.leaves("a"), SHARE.epoch(3)],
        "share-stable": share,
        "streams-group": [*streams_members(), STREAMS.epoch(2), *STREAMS.leaves("a"), STREAMS.epoch(3)],
        "streams-stable": [*streams_members(), commit("t", 1)],
        "consumer-gone": [*two[:6], *ends],
    }
    return Recorded(groups, metadata({0: {"t": 4}, 50_000: {"t": 6}}))


# ---- logs with defects


def damaged() -> Recorded:
    """Return damaged and unknown records, aborted and repeated ones, and times that go backwards; without topics."""
    generation = classic(2, *members())
    commits = [commit("t", 0, offset=place) for place in range(6)]
    bad = (b"\0\3garbage", b"\0\x63", b"\0\3aborted")
    groups = {
        "bad": [classic(1, *members()), *(Event(generation.key, value) for value in bad)],
        "unknown-type": [generation, Event(b"\0\x63" + text("g"), b"\0\0"), Event(b"\x7f\xff", b"x")],
        "": [Event(None, b"x"), Event(b"", None), Event(b"\0\2\0\5g", b"x"), generation],
        "aborted": [classic(1, *members()), *commits],
        "backwards": [classic(1, *members()).at(9_000), generation.at(4_000), *(each.at(5_000) for each in commits)],
        "without-time": [classic(1, *members()).at(-1), generation.at(-1), classic(3).at(3_000)],
        "équipe-données": [generation, classic_gone(), classic_gone()],
    }
    return Recorded(groups, aborted={"aborted": [2, 3, 6, 7], "bad": [3]}, repeated=9)


def random_groups() -> Recorded:
    """Return random logs, see `generated_events`."""
    groups = {}
    for seed in range(40):
        records = random_log(random.Random(seed), 60)
        groups[f"random-{seed:02}"] = [Event(each.key, each.value, each.timestamp) for each in records]
    return Recorded(groups, METADATA, aborted={name: range(9, 60, 11) for name in list(groups)[::5]})


GENERATED = {
    "classic": classic_groups,
    "damaged": damaged,
    "empty": lambda: Recorded(aborted={}),
    "epochs": epoch_groups,
    "findings": findings,
    "random": random_groups,
}
"""Functions that return the generated recordings, by name."""
