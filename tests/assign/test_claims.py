"""Invalid claims of members: they follow Kafka's rules where these exist, and never make an assignment fail."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import Group, StickyAssignor, Subscription, TopicPartition, assign, check, wire
from tests.support.engines import ENGINES, Engine

TOPICS = {"t": 4}

STICKY = ["sticky", "cooperative-sticky"]
ASSIGNORS = [
    *(("range", "classic"), ("roundrobin", "classic"), ("sticky", "classic"), ("cooperative-sticky", "classic")),
    *(("uniform", "consumer"), ("range", "consumer")),
]


def ids(topic: str, *numbers: int) -> list[TopicPartition]:
    """Return partitions of a topic."""
    return [TopicPartition(topic, number) for number in numbers]


def owning(*partitions: TopicPartition, generation: int | None = 1, topics: tuple[str, ...] = ("t",)) -> Subscription:
    """Return the subscription of a member that owns partitions."""
    return Subscription(topics, owned_partitions=partitions, generation=generation)


def remembering(partitions: list[TopicPartition], generation: int) -> bytes | None:
    """Return the user data of a sticky member."""
    member = StickyAssignor()
    member.on_assignment(partitions, generation)
    return member.subscription_user_data(["t"])


V0 = struct.pack(">ih1sii", 1, 1, b"t", 1, 3)
"""User data of version 0: t-3, without a generation."""


@pytest.mark.parametrize(
    "data",
    [
        *(b"\0", b"\0\0\0\1", b"\xff" * 40, b"\0\0\0\1\0\1t\0\0\0\2\0\0\0\3", struct.pack(">i", 2**31 - 1)),
        struct.pack(">ih1sii", 1, 1, b"\xff", -1, 3),
    ],
)
def test_user_data_that_cannot_be_decoded_claims_no_partitions(data: bytes, engine: Engine) -> None:
    members = {"a": Subscription(("t",)), "b": Subscription(("t",), user_data=data)}
    expected = assign(TOPICS, {"a": ["t"], "b": ["t"]}, assignor="sticky")

    assert expected == assign(TOPICS, members, assignor="sticky", engine=engine)
    assert sum(map(len, expected.values())) == 4


def test_user_data_of_version_0_claims_partitions_without_a_generation(engine: Engine) -> None:
    members = {"a": Subscription(("t",)), "b": Subscription(("t",), user_data=V0)}

    assert {"a": ids("t", 0, 2), "b": ids("t", 1, 3)} == assign(TOPICS, members, assignor="sticky", engine=engine)


@pytest.mark.parametrize("data", [b"", b"\0\0\0", b"\0\0\0\7", b"\0\0\0\7and more"])
def test_a_cooperative_member_keeps_its_partitions_with_any_user_data(data: bytes, engine: Engine) -> None:
    owned = tuple(ids("t", 0, 1))
    members = {"a": Subscription(("t",), owned_partitions=owned, user_data=data), "b": owning(*ids("t", 2, 3))}

    found = assign(TOPICS, members, assignor="cooperative-sticky", engine=engine)

    assert {"a": ids("t", 0, 1), "b": ids("t", 2, 3)} == found


@pytest.mark.parametrize("assignor", STICKY)
def test_an_owned_partition_of_a_missing_topic_is_ignored(assignor: str, engine: Engine) -> None:
    members = {"a": owning(*ids("t", 3, 4), *ids("gone", 0, 1)), "b": owning(*ids("t", 2), *ids("gone", 2))}

    found = assign(TOPICS, members, assignor=assignor, engine=engine)

    assert TopicPartition("t", 3) in found["a"]
    assert TopicPartition("t", 2) in found["b"]
    assert not check(found, TOPICS, members)


@pytest.mark.parametrize("assignor", STICKY)
@pytest.mark.parametrize("generation", [0, 1, 7, 2**31 - 1])
def test_of_two_owners_the_one_with_the_higher_generation_keeps_a_partition(
    assignor: str, generation: int, engine: Engine
) -> None:
    newer = owning(*ids("t", 0, 1), generation=generation)
    older = owning(*ids("t", 0, 1), generation=generation - 1)

    for members in ({"a": newer, "b": older}, {"b": older, "a": newer}):
        assert ids("t", 0, 1) == assign(TOPICS, members, assignor=assignor, engine=engine)["a"]


def test_of_two_owners_in_one_generation_neither_has_priority(engine: Engine) -> None:
    members = {"a": owning(*ids("t", 0, 1)), "b": owning(*ids("t", 1, 2))}

    sticky = assign(TOPICS, members, assignor="sticky", engine=engine)
    cooperative = assign(TOPICS, members, assignor="cooperative-sticky", engine=engine)

    assert not check(sticky, TOPICS, members)
    assert {"a": ids("t", 0, 1), "b": ids("t", 2, 3)} == sticky
    assert {"a": ids("t", 0), "b": ids("t", 2, 3)} == cooperative, "t-1 is withheld from both"


@pytest.mark.parametrize("generation", [-1, -(2**31), 2**31, 2**70, -(2**70)])
@pytest.mark.parametrize("assignor", STICKY)
def test_an_invalid_generation_counts_as_none(assignor: str, generation: int, engine: Engine) -> None:
    for other in (None, 0):
        members = {"a": owning(*ids("t", 0, 1), generation=generation), "b": owning(*ids("t", 1, 2), generation=other)}
        same = members | {"a": owning(*ids("t", 0, 1), generation=None)}
        assert assign(TOPICS, same, assignor=assignor) == assign(TOPICS, members, assignor=assignor, engine=engine)


def test_sticky_ignores_owned_partitions_of_members_with_user_data(engine: Engine) -> None:
    owned, data = tuple(ids("t", 0, 1)), remembering(ids("t", 2, 3), 1)
    a, b = Subscription(("t",), owned_partitions=owned, user_data=data), owning(*ids("t", 0))

    assert ids("t", 2, 3) == assign(TOPICS, {"a": a, "b": ["t"]}, assignor="sticky", engine=engine)["a"]
    assert ids("t", 2, 3) == assign(TOPICS, {"a": a, "b": b}, assignor="sticky", engine=engine)["a"]


def test_sticky_reads_only_the_user_data_of_encoded_subscriptions() -> None:
    joined = [
        ("a", None, wire.encode_subscription(owning(*ids("t", 2, 3)))),
        ("b", None, wire.encode_subscription(owning())),
    ]
    group = Group(TOPICS, {"a": owning(*ids("t", 2, 3)), "b": owning()})

    assert ids("t", 2, 3) == group.assign(assignor="sticky")["a"]
    assert ids("t", 0, 2) == Group.from_wire(TOPICS, joined).assign(assignor="sticky")["a"]
    assert ids("t", 2, 3) == Group.from_wire(TOPICS, joined).assign(assignor="cooperative-sticky")["a"]


@st.composite
def claims(draw: st.DrawFn) -> tuple[dict[str, int], dict[str, Subscription]]:
    """Draw topics and members with arbitrary claims."""
    names = ["t", "u", "v", "gone"]
    partition = st.builds(TopicPartition, st.sampled_from(names), st.integers(0, 6) | st.just(2**31))
    generation = st.none() | st.integers(-1, 3) | st.just(2**31 - 1)
    data = (
        st.none()
        | st.binary(max_size=30)
        | st.builds(
            remembering, st.lists(partition.filter(lambda each: each.partition < 7), max_size=6), st.integers(-1, 3)
        )
    )
    subscription = st.builds(
        Subscription,
        st.lists(st.sampled_from(names), max_size=3).map(tuple),
        owned_partitions=st.lists(partition, max_size=8).map(tuple),
        generation=generation,
        user_data=data,
    )
    topics = draw(st.dictionaries(st.sampled_from(names[:3]), st.integers(0, 5), max_size=3))
    return topics, draw(st.dictionaries(st.sampled_from("abcdefgh"), subscription, max_size=6))


@pytest.mark.parametrize(("assignor", "protocol"), ASSIGNORS)
@given(group=claims())
def test_with_any_claims_every_partition_has_one_subscriber_as_owner(
    assignor: str, protocol: str, group: tuple[dict[str, int], dict[str, Subscription]]
) -> None:
    topics, members = group
    answers: list[Any] = [
        assign(topics, members, assignor=assignor, group_protocol=protocol, engine=engine) for engine in ENGINES
    ]
    findings = check(answers[0], topics, members)

    assert answers[0] == answers[1]
    assert ((), (), ()) == (findings.doubly_owned, findings.not_subscribed, findings.unknown)
    if assignor != "cooperative-sticky":  # withholds partitions that move
        wanted = {topic for member in members.values() for topic in member.topics}
        assert [] == [partition for partition in findings.unowned if partition.topic in wanted]
