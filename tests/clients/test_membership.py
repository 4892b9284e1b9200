"""Tests of the core that the assignors for kafka-python and aiokafka share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assignor import RangeAssignor, StickyAssignor, TopicPartition, Topics, _core
from assignor.clients.membership import JoinedMembers, known_partitions, plan_joined, subscribed_topics
from assignor.errors import AssignorError, IllegalArgumentError, WireError, WrongTypeError

if TYPE_CHECKING:
    from assignor.names import Engine


class Cluster:
    """Metadata with the topics t0 to t9, each with two partitions."""

    def topics(self, exclude_internal_topics: bool = True) -> set[str]:
        assert not exclude_internal_topics
        return {f"t{number}" for number in range(10)}

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return {0, 1} if topic in self.topics(False) else None


def test_partitions_are_read_of_the_topics_that_members_ask_for() -> None:
    members = JoinedMembers(["a", "b"], [["t1", "gone"], ["t1", "t3"]])

    assert {"t1", "t3", "gone"} == set(subscribed_topics(Cluster(), members))
    assert {"t1": 2, "t3": 2} == known_partitions(Cluster(), members)


def test_partitions_of_all_topics_are_read_if_members_subscribe_to_many() -> None:
    members = JoinedMembers([f"m{number}" for number in range(251)], [["t1", "gone"]] * 251)

    assert Cluster().topics(False) == set(subscribed_topics(Cluster(), members))
    assert {"t1", "gone"} == set(subscribed_topics(Cluster(), JoinedMembers(["m"] * 250, [["t1", "gone"]] * 250)))


def test_a_cluster_needs_only_the_method_partitions_for_topic() -> None:
    class Partitions:
        def partitions_for_topic(self, topic: str) -> set[int] | None:
            return Cluster().partitions_for_topic(topic)

    members = JoinedMembers([f"m{number}" for number in range(251)], [["t1", "gone"]] * 251)

    assert {"t1": 2} == known_partitions(Partitions(), members)


def test_members_claim_only_what_their_bytes_contain() -> None:
    owned: list[list[tuple[str, list[int]]]] = [[], [("t", [0, 1])]]
    members = JoinedMembers(["a", "b"], [["t"], ["t"]], None, None, [None, None], owned, [-1, 5])

    found = plan_joined("sticky", {"t": 4}, members)
    cooperative = plan_joined("cooperative-sticky", {"t": 4}, members)

    assert [("t", 1), ("t", 3)] == found["b"]
    assert [("t", 0), ("t", 1)] == cooperative["b"]


@pytest.mark.parametrize(
    ("members", "error", "message"),
    [
        (JoinedMembers(["a"], []), IllegalArgumentError, "members.topics has 0 items; members.ids has 1"),
        (JoinedMembers(["a"], [["t"]], racks=[]), IllegalArgumentError, "members.racks has 0 items; members.ids has 1"),
        (JoinedMembers(["a", "a"], [["t"], ["t"]]), IllegalArgumentError, "the group has 'a' twice"),
        (JoinedMembers([1], [["t"]]), WrongTypeError, "members.ids[0] must be a str, not int: 1"),  # type: ignore[list-item]  # wrong on purpose
        (
            JoinedMembers(["a"], [["t"]], [2]),  # type: ignore[list-item]  # wrong on purpose
            WrongTypeError,
            "member 'a': group_instance_id must be a str, not int: 2",
        ),
        (
            JoinedMembers(["a"], [["t"]], user_data=["x"]),  # type: ignore[list-item]  # wrong on purpose
            WrongTypeError,
            "member 'a': user_data must be bytes or None, not str: 'x'",
        ),
        (
            JoinedMembers(["a"], [["t"]], generations=["x"]),  # type: ignore[list-item]  # wrong on purpose
            WrongTypeError,
            "member 'a': generation must be an int, not str: 'x'",
        ),
        (
            JoinedMembers(["a"], [["t"]], owned=[[("t",)]]),  # type: ignore[list-item]  # wrong on purpose
            WrongTypeError,
            "member 'a': an entry of owned must be (topic, partition ids), not tuple: ('t',)",
        ),
    ],
)
def test_invalid_members_are_named(members: JoinedMembers, error: type[AssignorError], message: str) -> None:
    with pytest.raises(error) as raised:
        plan_joined("range", {"t": 1}, members)
    assert message == str(raised.value)


def test_topics_without_partitions_are_returned() -> None:
    group, missing = _core.decoded_group({"t": 1, "other": 2}, JoinedMembers(["a", "b"], [["t", "x"], ["x", "y"]]))

    assert (["x", "y"], ("a", "b"), ("other", "t")) == (missing, group.members, group.topics)


@pytest.mark.parametrize(
    ("partition", "message"),
    [
        (("t", 2**31), "on_assignment: a partition id cannot be over 2147483647: 2147483648"),
        (("x" * 32_768, 0), f"on_assignment: a topic has 32768 bytes of UTF-8; the limit is 32767: '{'x' * 78}…"),
    ],
)
def test_sticky_rejects_partitions_that_user_data_cannot_contain(partition: tuple[str, int], message: str) -> None:
    assignor = StickyAssignor()
    assignor.on_assignment([TopicPartition("t", 2**31 - 1), TopicPartition("x" * 32_767, 0)], 1)
    claims = assignor.subscription_user_data(["t"])

    with pytest.raises(IllegalArgumentError) as raised:
        assignor.on_assignment([TopicPartition(*partition)], 2)
    assert message == str(raised.value)
    assert claims == assignor.subscription_user_data(["t"])


@pytest.mark.parametrize("engine", ["rust", "reference"])
def test_wire_error_names_the_member(engine: Engine) -> None:
    members = [("m1", None, b"\0\0\0\0\0\0\xff\xff\xff\xff"), ("m2", None, b"\0\1\0\0")]

    with pytest.raises(WireError) as raised:
        RangeAssignor(engine=engine).assign_encoded(Topics({"t": 1}), members, version=3)
    assert ("4 bytes are needed and 2 remain", 2, "member 'm2'.topics") == raised.value.args
