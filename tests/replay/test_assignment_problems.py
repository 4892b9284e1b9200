"""Events of wrong owners: partitions of several members, of topics without subscription, and that do not exist."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from assignor import check
from assignor.replay import Replay
from tests.replay.event_logs import replayed
from tests.replay.logs import CONSUMER, SHARE, STREAMS, Event, classic, classic_gone, event, log, member, metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.replay.logs import Row

OWNERS = ("two_owners", "not_subscribed", "unknown_partition")
TOPICS = metadata({0: {"t": 4}, 90_000: {"t": 4}})


def problems(*events: Event, topics: Sequence[Row] = TOPICS) -> list[tuple[Any, ...]]:
    """Return problem, partitions, `since` and `until` of each event of wrong owners."""
    found, _ = replayed({"g": log(events)}, topics)
    return [
        (each["problem"], [tuple(key) for key in each["topic_partitions"]], each["since"], each["until"])
        for each in found
        if each["event"] == "offsets" and each["problem"] in OWNERS
    ]


def generation(number: int, owned: Mapping[str, Mapping[str, Sequence[int]]], **fields: Any) -> Event:
    """Return a generation whose members subscribe to the topic t."""
    return classic(number, *[member(id, ["t"], has) for id, has in owned.items()], **fields)


SINGLE = {"a": {"t": [0, 1]}, "b": {"t": [2, 3]}}
TWICE = {"a": {"t": [0, 1, 2]}, "b": {"t": [2, 3]}}


# ---- classic groups


@pytest.mark.parametrize("protocol", ["range", "cooperative-sticky", "custom"])
def test_a_partition_of_two_members_is_found_with_any_assignor(protocol: str) -> None:
    assert problems(generation(1, TWICE, protocol=protocol)) == [("two_owners", [("t", 2)], 0, None)]
    assert problems(generation(1, SINGLE, protocol=protocol)) == []


def test_groups_that_are_no_consumers_have_no_partitions() -> None:
    assert problems(generation(1, TWICE, protocol_type="connect")) == []


def test_evidence_names_the_members() -> None:
    found, _ = replayed({"g": log([generation(1, {**TWICE, "c": {"t": [0, 2]}})])}, TOPICS)
    (event,) = [each for each in found if each["event"] == "offsets"]
    assert event["evidence"] == "Several members have the same partition: t[2] (a, b, c); t[0] (a, c)."


def test_a_problem_begins_changes_and_ends() -> None:
    again = {"a": {"t": [0, 1, 2]}, "b": {"t": [1, 2, 3]}}
    found = problems(
        generation(1, SINGLE), generation(2, TWICE), generation(3, TWICE), generation(4, again), generation(5, SINGLE)
    )
    assert found == [
        ("two_owners", [("t", 2)], 1_000, None),
        ("two_owners", [("t", 1), ("t", 2)], 1_000, None),
        ("two_owners", [("t", 1), ("t", 2)], 1_000, 4_000),
    ]


@pytest.mark.parametrize("end", [classic(2), classic_gone()])
def test_a_problem_ends_with_the_last_member(end: Event) -> None:
    assert problems(generation(1, TWICE), end)[-1] == ("two_owners", [("t", 2)], 0, 1_000)


def test_a_member_without_subscription_to_a_topic_is_found() -> None:
    topics = metadata({0: {"t": 1, "u": 1}, 90_000: {"t": 1, "u": 1}})
    found = problems(generation(1, {"a": {"t": [0], "u": [0]}}), topics=topics)
    assert found == [("not_subscribed", [("u", 0)], 0, None)]
    both = classic(1, member("a", ["t", "u"], {"t": [0], "u": [0]}))
    assert problems(both, topics=topics) == []


def test_a_static_member_that_returns_with_other_topics_keeps_its_assignment() -> None:
    topics = metadata({0: {"t": 1, "u": 1}, 90_000: {"t": 1, "u": 1}})
    first, again = (classic(1, member(id, ["t" if id == "a" else "u"], {"t": [0]}, instance="i")) for id in "ab")
    assert problems(first, again, topics=topics) == []


def test_members_that_cannot_be_read_are_left_out() -> None:
    odd = member("c", b"\0", {"t": [9]})
    assert problems(classic(1, *[member(id, ["t"], has) for id, has in TWICE.items()], member("d", ["t"], b"\0"))) == [
        ("two_owners", [("t", 2)], 0, None)
    ]
    assert problems(classic(1, odd)) == [("unknown_partition", [("t", 9)], 0, None)]


# ---- partitions that do not exist

BEYOND = {"a": {"t": [0, 1]}, "b": {"t": [2, 3, 4]}}
GAP = {"a": {"t": [0, 1]}, "b": {"t": [2, 3, 7]}}


@pytest.mark.parametrize(
    ("snapshots", "owned", "protocol", "expected"),
    [
        ({0: 4, 50: 4}, BEYOND, "range", [4]),
        ({0: 4, 50: 5}, BEYOND, "range", []),  # the topic grew, and the leader knew it first
        ({0: 5, 50: 4}, BEYOND, "range", []),
        ({0: 4}, BEYOND, "range", []),  # the topic may have grown after the only snapshot
        ({50: 4}, BEYOND, "range", []),  # or it was created again with fewer partitions
        ({0: 4}, BEYOND, "custom", [4]),  # only Kafka's assignors are known to assign existing partitions only
        ({0: 4}, GAP, "range", [7]),
        ({50: 4}, GAP, "range", [7]),
        ({0: 4, 50: 4}, GAP, "range", [7]),
        ({0: 4, 50: 8}, GAP, "range", []),
    ],
)
def test_a_partition_is_unknown_if_the_snapshots_around_it_lack_it(
    snapshots: dict[int, int], owned: Row, protocol: str, expected: list[int]
) -> None:
    topics = metadata({at: {"t": count} for at, count in snapshots.items()})
    found = problems(generation(1, owned, protocol=protocol).at(10), topics=topics)
    wanted = [("unknown_partition", [("t", id) for id in expected], 10, None)] if expected else []
    assert found == wanted


def test_topics_that_the_metadata_lacks_have_no_unknown_partitions() -> None:
    assert problems(generation(1, BEYOND), topics=metadata({0: {"u": 1}, 50: {"u": 1}})) == []
    assert problems(generation(1, BEYOND), topics=()) == []


def test_topic_metadata_that_follows_can_explain_an_unknown_partition() -> None:
    replay = Replay(metadata({0: {"t": 4}}), is_open=True)
    (record,) = log([generation(1, GAP).at(10)])
    assert [] == [each for each in replay.push(record) if each["event"] in {"offsets", "generation"}]
    for count, expected in ((4, ["unknown_partition"]), (8, [])):
        copy = Replay(metadata({0: {"t": 4}}), is_open=True)
        copy.restore(replay.snapshot())
        found = copy.observe_topics(metadata({50: {"t": count}}))
        assert expected == [each["problem"] for each in found if each["event"] == "offsets"]
        assert "generation" == found[-1]["event"]


# ---- consumer groups of KIP-848


def epoch(number: int, targets: Mapping[str, Mapping[str, Sequence[int]]]) -> list[Event]:
    return [
        CONSUMER.epoch(number),
        *[CONSUMER.target_of(id, has) for id, has in targets.items()],
        CONSUMER.target_epoch(number),
    ]


def joined(*ids: str, topics: Sequence[str] = ("t",), **fields: Any) -> list[Event]:
    return [CONSUMER.joins(id, subscribedTopicNames=list(topics), **fields) for id in ids]


def at(time: int, events: Iterable[Event]) -> list[Event]:
    return [each.at(time) for each in events]


def test_a_target_assignment_has_the_problems_of_an_assignment() -> None:
    wrong = {"a": {"t": [0, 1, 2], "u": [0]}, "b": {"t": [2, 3, 9]}}
    topics = metadata({0: {"t": 4, "u": 1}, 90_000: {"t": 4, "u": 1}})
    assert problems(*at(5, [*joined("a", "b"), *epoch(1, wrong)]), *at(9, epoch(2, SINGLE)), topics=topics) == [
        ("two_owners", [("t", 2)], 5, None),
        ("not_subscribed", [("u", 0)], 5, None),
        ("unknown_partition", [("t", 9)], 5, None),
        ("two_owners", [("t", 2)], 5, 9),
        ("not_subscribed", [("u", 0)], 5, 9),
        ("unknown_partition", [("t", 9)], 5, 9),
    ]


def test_two_members_can_have_a_partition_in_their_current_assignments() -> None:
    now = [CONSUMER.has("a", 1, 0, {"t": [0, 1, 2]}), CONSUMER.has("b", 1, 0, {"t": [2, 3]})]
    before = at(5, [*joined("a", "b"), *epoch(1, SINGLE), now[0]])
    assert problems(*before, now[1].at(7), CONSUMER.has("a", 1, 0, {"t": [0, 1]}).at(8)) == [
        ("two_owners", [("t", 2)], 7, None),
        ("two_owners", [("t", 2)], 7, 8),
    ]
    assert problems(*before, now[1].at(7), *at(9, CONSUMER.leaves("a")))[-1] == ("two_owners", [("t", 2)], 7, 9)


def test_a_partition_that_moves_has_one_owner() -> None:
    moving = [
        CONSUMER.has("a", 1, 1, {"t": [0, 1]}, t=[2]),
        CONSUMER.has("b", 1, 2, {"t": [3]}),
        CONSUMER.has("a", 2, 0, {"t": [0, 1]}),
        CONSUMER.has("b", 2, 0, {"t": [2, 3]}),
    ]
    assert problems(*at(5, [*joined("a", "b"), *epoch(1, SINGLE)]), *at(7, moving)) == []
    too_early = CONSUMER.has("b", 2, 0, {"t": [2, 3]})
    assert problems(*at(5, [*joined("a", "b"), *epoch(1, SINGLE), moving[0], too_early])) == [
        ("two_owners", [("t", 2)], 5, None)
    ]


def test_two_owners_are_found_without_topic_metadata() -> None:
    now = [CONSUMER.has("a", 1, 0, {"t": [2]}), CONSUMER.has("b", 1, 0, {"t": [2]})]
    ((problem, partitions, *_),) = problems(*at(5, [*joined("a", "b"), *epoch(1, SINGLE), *now]), topics=())
    assert (problem, [id for _, id in partitions]) == ("two_owners", [2])


# ---- streams and share groups


def streams_target(
    a: Mapping[str, Sequence[int]], b: Mapping[str, Sequence[int]], **standby: Sequence[int]
) -> list[Event]:
    return [
        STREAMS.streams_topology(0, {"s0": ["t"], "s1": ["u", "v"]}),
        *[STREAMS.joins(id, processId=id) for id in "ab"],
        STREAMS.epoch(1, validatedTopologyEpoch=0),
        STREAMS.target_of("a", a),
        STREAMS.target_of("b", b, **standby),
        STREAMS.target_epoch(1),
    ]


def test_a_task_of_two_members_of_a_streams_group_is_found() -> None:
    steps = streams_target({"s0": [0, 1], "s1": [0]}, {"s0": [2], "s1": [0, 1]})

    assert problems(*at(5, steps)) == [("two_owners", [("u", 0), ("v", 0)], 5, None)]


def test_tasks_of_a_streams_group_with_one_owner_have_no_problem() -> None:
    """A subtopology has one task for each partition of its largest topic, and a standby task is no owner."""
    topics = metadata({0: {"t": 3, "u": 4, "v": 1}, 90_000: {"t": 3, "u": 4, "v": 1}})
    steps = streams_target({"s0": [0, 1], "s1": [0, 1]}, {"s0": [2], "s1": [2, 3]}, s0=[0, 1])

    assert [] == problems(*at(5, steps), topics=topics)


def test_members_of_a_share_group_share_partitions() -> None:
    joins = [SHARE.joins(id, subscribedTopicNames=["t"]) for id in "ab"]
    targets = [SHARE.target_of(id, {"t": [0, 1, 2]}) for id in "ab"]

    assert [] == problems(*at(5, [*joins, SHARE.epoch(1), *targets, SHARE.target_epoch(1)]))


def test_topics_of_a_pattern_count_as_subscribed_once_they_are_known() -> None:
    topics = metadata({0: {"t": 1, "u": 1}, 90_000: {"t": 1, "u": 1}})
    members = joined("a", topics=["t"], subscribedTopicRegex="u.*")
    target = epoch(1, {"a": {"t": [0], "u": [0]}})
    assert problems(*members, *target, topics=topics) == []
    for matched, expected in ((["u"], []), (["v"], [("u", 0)])):
        key = {"groupId": "g", "regularExpression": "u.*"}
        resolved = event(16, key, {"topics": matched})
        found = problems(*members, resolved, *target, topics=topics)
        assert [each[1] for each in found] == ([expected] if expected else [])


# ---- random assignments


def drawn(rng: random.Random) -> tuple[dict[str, list[str]], dict[str, dict[str, list[int]]]]:
    """Draw subscriptions and an assignment of two topics; most assignments have a problem."""
    names = "abcd"[: rng.randint(1, 4)]
    subscriptions = {id: rng.sample(["t", "u"], rng.randint(1, 2)) for id in names}
    owned = {
        id: {
            topic: ids
            for topic in "tu"
            if (topic in subscriptions[id] or rng.random() < 0.2)
            and (ids := sorted(rng.sample(range(8), rng.choice([0, 1, 1, 2]))))
        }
        for id in names
    }
    return subscriptions, owned


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_random_assignments_have_the_problems_that_check_finds(kind: str) -> None:
    rng = random.Random(5)
    counts = {"t": 5, "u": 3}
    topics = metadata({0: counts, 90_000: counts})
    seen: set[str] = set()
    for _ in range(400):
        subscriptions, owned = drawn(rng)
        if kind == "classic":
            events = [classic(1, *[member(id, subscriptions[id], owned[id]) for id in owned], protocol="custom")]
        else:
            members = [joined(id, topics=wanted)[0] for id, wanted in subscriptions.items()]
            events = at(5, [*members, *epoch(1, owned)])
        assignment = {id: [(topic, each) for topic, ids in has.items() for each in ids] for id, has in owned.items()}
        truth = check(assignment, counts, subscriptions)
        expected = {
            "two_owners": {(key.topic, key.partition) for key in truth.doubly_owned},
            "not_subscribed": {(key.topic, key.partition) for _, key in truth.not_subscribed},
            "unknown_partition": {(key.topic, key.partition) for _, key in truth.unknown},
        }
        found = {problem: set(partitions) for problem, partitions, *_ in problems(*events, topics=topics)}
        assert found == {problem: keys for problem, keys in expected.items() if keys}
        seen |= found.keys()
    assert seen == {*OWNERS}
