"""Invalid claims of members: they follow Kafka's rules where these exist, and never make an assignment fail."""

from __future__ import annotations

import pytest

from assignor import Group, StickyAssignor, Subscription, TopicPartition, assign, wire
from assignor.names import AssignorName
from tests.support.engines import Engine

TOPICS = {"t": 4}

STICKY = ["sticky", "cooperative-sticky"]


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


"""User data of version 0: t-3, without a generation."""


@pytest.mark.parametrize("generation", [-1, -(2**31), 2**31, 2**70, -(2**70)])
@pytest.mark.parametrize("assignor", STICKY)
def test_an_invalid_generation_counts_as_none(assignor: AssignorName, generation: int, engine: Engine) -> None:
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
