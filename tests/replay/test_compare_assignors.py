"""Comparison of hand-written classic generations with the answers of Kafka's other assignors."""

from __future__ import annotations

import random
import struct
from collections import Counter
from typing import cast

import pytest

from assignor import assign
from assignor.model import Subscription, TopicPartition
from assignor.names import AssignorName
from tests.replay.logs import Event, Row, classic, member, metadata, outcomes, replayed
from tests.support.record_bytes import partitions, subscription

TOPIC = metadata({0: {"t": 4}})


def sticky_data(owned: dict[str, list[int]], generation: int) -> bytes:
    """Return user data of Kafka's sticky assignor."""
    entries = b"".join(partitions(topic, ids) for topic, ids in owned.items())
    return struct.pack(">i", len(owned)) + entries + struct.pack(">i", generation)


def cooperative(owned: dict[str, list[int]], generation: int, *, user_data: bytes | None = None) -> bytes:
    """Return the subscription of a Java member to t with cooperative-sticky."""
    data = struct.pack(">i", generation) if user_data is None else user_data
    return subscription("t", owned=owned, generation=generation, user_data=data)


def reasons(history: Row) -> list[str]:
    return [remark for generation in history["generations"] for remark in generation["reasons"]]


def test_each_assignor_of_a_classic_group_is_compared_and_counted() -> None:
    fresh = [member("a", ["t"], {"t": [0, 1]}), member("b", ["t"], {"t": [2, 3]})]
    in_turn = [member("a", ["t"], {"t": [0, 2]}), member("b", ["t"], {"t": [1, 3]})]
    events = [
        classic(1, *fresh),
        classic(2, *in_turn, protocol="roundrobin"),
        classic(3, *in_turn, protocol="sticky"),
        classic(4, *in_turn, protocol="cooperative-sticky"),
        classic(5, *fresh, protocol="custom"),
        classic(6, *fresh, protocol="roundrobin"),
        classic(7),
    ]
    history = replayed(*events, topics=TOPIC)
    assert outcomes(history) == [
        ("range", "equal"),
        ("roundrobin", "equal"),
        ("sticky", "equal"),
        ("cooperative-sticky", "equal"),
        (None, None),
        ("roundrobin", "different"),
        (None, None),
    ]
    counts = [history[f"assignments_{outcome}"] for outcome in ("equal", "different", "unknown")]
    assert (counts, history["range_equal"]) == ([4, 1, 0], 1)
    assert [generation["range"] for generation in history["generations"]] == ["equal"] + [None] * 6


def test_sticky_starts_from_the_user_data_of_the_recorded_subscriptions() -> None:
    def joins(owned: dict[str, list[int]], generation: int) -> bytes:
        return subscription("t", user_data=sticky_data(owned, generation), generation=generation)

    def outcome(of_a: bytes) -> str | None:
        of_b = joins({"t": [0, 1, 2, 3]}, 1)
        members = [member("a", of_a, {"t": [0, 1]}), member("b", of_b, {"t": [2, 3]})]
        ((_, found),) = outcomes(replayed(classic(2, *members, protocol="sticky"), topics=TOPIC))
        return found

    newer, older = (joins({"t": [0, 1]}, generation) for generation in (2, 0))
    assert [outcome(data) for data in (newer, older, subscription("t"))] == ["equal", "different", "different"]


def test_a_cooperative_member_gets_a_partition_after_its_owner_has_given_it_up() -> None:
    joins = [
        member("a", cooperative({"t": [0, 1, 2, 3]}, 1), {"t": [0, 1]}),
        member("b", cooperative({}, -1), {}),
    ]
    settles = [
        member("a", cooperative({"t": [0, 1]}, 2), {"t": [0, 1]}),
        member("b", cooperative({}, 2), {"t": [2, 3]}),
    ]
    at_once = [joins[0], member("b", cooperative({}, -1), {"t": [2, 3]})]
    events = [
        classic(number, *members, protocol="cooperative-sticky") for number, members in ((2, joins), (3, settles))
    ]
    history = replayed(*events, classic(4, *at_once, protocol="cooperative-sticky"), topics=TOPIC)
    assert [outcome for _, outcome in outcomes(history)] == ["equal", "equal", "different"]


@pytest.mark.parametrize(
    ("protocol", "data", "reason"),
    [
        ("cooperative-sticky", b"", "its user data does not have the format of Kafka's cooperative-sticky assignor"),
        (
            "cooperative-sticky",
            sticky_data({}, 1),
            "its user data does not have the format of Kafka's cooperative-sticky assignor",
        ),
        ("cooperative-sticky", b"\0\0\0\1", None),
        ("sticky", b"", "its user data does not have the format of Kafka's sticky assignor"),
        (
            "sticky",
            b"\0\1" + sticky_data({"t": [0]}, 1),
            "its user data does not have the format of Kafka's sticky assignor",
        ),
        ("sticky", sticky_data({"t": [0]}, 1), None),
        ("sticky", None, None),
        ("roundrobin", b"", None),
    ],
)
def test_a_leader_that_is_another_client_is_named(protocol: str, data: bytes | None, reason: str | None) -> None:
    unlike_kafka = [
        member("a", subscription("t", user_data=data), {"t": [0]}),
        member("b", subscription("t", user_data=data), {"t": [1, 2, 3]}),
    ]
    history = replayed(classic(1, *unlike_kafka, protocol=protocol), topics=TOPIC)
    differs = (
        f"2 of 2 members own other partitions than Kafka's {protocol} assignor gives them"
        "; in total the same partitions are assigned"
    )
    remark = [f"the leader a is not a Java client of Kafka 3.5 or newer: {reason}"] if reason else []
    assert reasons(history) == [differs, *remark]


def test_a_leader_with_an_older_subscription_is_another_client() -> None:
    old = [
        member("a", subscription("t", version=2), {"t": [0]}),
        member("b", subscription("t"), {"t": [1, 2, 3]}),
    ]
    history = replayed(classic(1, *old, protocol="sticky"), topics=TOPIC)
    remark = "the leader a is not a Java client of Kafka 3.5 or newer: its subscription has version 2"
    assert reasons(history)[1:] == [remark]


def test_a_repeated_generation_is_compared_once() -> None:
    restarted = [
        member("a", ["t"], {"t": [0, 2]}, instance="x"),
        member("c", ["t"], {"t": [1, 3]}, instance="y"),
    ]
    first = [restarted[0], member("b", ["t"], {"t": [1, 3]}, instance="y")]
    events = [classic(5, *members, protocol="roundrobin") for members in (first, restarted)]
    assert outcomes(replayed(*events, topics=TOPIC)) == [("roundrobin", "equal"), (None, None)]


# ---- which metadata counts


def test_the_metadata_may_be_a_mixture_of_both_snapshots() -> None:
    topics = metadata({0: {"t": 2, "u": 2}, 50: {"t": 4, "u": 4, "v": 2}})
    members = [
        member("a", ["t", "u", "v"], {"t": [0, 2], "u": [0]}),
        member("b", ["t", "u", "v"], {"t": [1, 3], "u": [1]}),
    ]
    assert outcomes(replayed(classic(1, *members, protocol="roundrobin").at(10), topics=topics)) == [
        ("roundrobin", "equal")
    ]


def test_a_leader_may_lack_a_topic_or_have_old_metadata() -> None:
    topics = metadata({0: {"t": 2, "u": 2}, 50: {"t": 4, "u": 2}, 70: {"t": 4, "u": 2}})
    lacking = [member("a", ["t", "u"], {"t": [0, 2]}), member("b", ["t", "u"], {"t": [1, 3]})]
    stale = [member("a", ["t"], {"t": [0]}), member("b", ["t"], {"t": [1]})]
    events = [classic(number, *members, protocol="roundrobin").at(60) for number, members in ((1, lacking), (2, stale))]
    assert reasons(replayed(*events, topics=topics)) == [
        "the assignor did not have the metadata of u yet",
        "the assignor used topic metadata that was 50 ms older than the latest",
    ]


# ---- random generations


def drawn(rng: random.Random) -> tuple[Event, str, str]:
    """Draw a generation that its assignor explains, or one that lacks partitions.

    Return the generation, its assignor, and the outcome of their comparison.
    """
    protocol = rng.choice(["roundrobin", "sticky", "cooperative-sticky"])
    counts = {"t": 5, "u": 3, "v": 4}
    wants = {}
    for id in rng.sample("abcdef", rng.randint(1, 5)):
        owned = {topic: rng.sample(range(count + 1), rng.randint(0, 3)) for topic, count in counts.items()}
        generation = rng.choice([-1, 3, 4, 4])
        topics = tuple(rng.sample(["t", "u", "v"], rng.choice([1, 2, 3, 3, 3])))
        data = rng.choice([None, b"", sticky_data(owned, generation), struct.pack(">i", generation)])
        wants[id] = (topics, owned, generation, data)
    subscriptions = {
        id: Subscription(
            topics,
            owned_partitions=tuple(TopicPartition(topic, id) for topic, ids in owned.items() for id in ids),
            generation=generation,
            user_data=data or b"",
        )
        for id, (topics, owned, generation, data) in wants.items()
    }
    members, outcome = [], "equal"
    for id, given in assign(counts, subscriptions, assignor=cast(AssignorName, protocol)).items():
        gets: dict[str, list[int]] = {}
        for topic, partition in given:
            if rng.random() < 0.99:
                gets.setdefault(topic, []).append(partition)
            else:
                outcome = "different"
        topics, owned, generation, data = wants[id]
        blob = subscription(*topics, owned=owned, generation=generation, user_data=data)
        members.append(member(id, blob, gets))
    return classic(5, *members, protocol=protocol), protocol, outcome


def test_a_generation_is_equal_if_its_assignor_gives_its_assignment() -> None:
    rng = random.Random(7)
    topics = metadata({0: {"t": 5, "u": 3, "v": 4}})
    found = Counter[tuple[str, str]]()
    for _ in range(600):
        generation, protocol, outcome = drawn(rng)
        assert [(protocol, outcome)] == outcomes(replayed(generation, topics=topics))
        found[protocol, outcome] += 1
    assert len(found) == 6
    assert min(found.values()) > 20
