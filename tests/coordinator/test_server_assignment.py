"""Server-side assignment: the coordinator has an assignor, and no member leads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor import PartitionInfo, RangeAssignor, Subscription, TopicPartition, assign
from assignor.coordinator import ErrorCode, JoinGroupResponse, RebalanceCause
from assignor.wire import decode_assignment, encode_assignment, encode_subscription
from tests.coordinator.driver import GROUP, RANGE, GroupDriver

if TYPE_CHECKING:
    from assignor.names import Engine

TOPICS = {"t0": 5, "t1": 3}


def leading_driver(engine: Engine = "rust", **options: Any) -> GroupDriver:
    """Return a driver for a coordinator with server-side assignment."""
    return GroupDriver.begin(assignor=RangeAssignor(engine=engine), **{"partitions_per_topic": TOPICS, **options})


def assigned(driver: GroupDriver) -> dict[str, list[TopicPartition]]:
    """Return each member's partitions, by member id."""
    members = driver.coordinator.describe(GROUP).members
    return {member.member_id: list(decode_assignment(member.assignment).partitions) for member in members}


def test_members_get_the_answer_of_assign(engine: Engine) -> None:
    driver = leading_driver(engine)
    driver.settle("a", "b", "c")

    expected = assign(TOPICS, {driver.ids[name]: ["t0"] for name in "abc"})
    assert expected == assigned(driver)
    assert "Stable" == driver.state()


def test_assignment_uses_racks_and_instance_ids(engine: Engine) -> None:
    topics = {"t": [PartitionInfo(0, ("r1",)), PartitionInfo(1, ("r0",)), PartitionInfo(2, ("r1",))]}
    driver = leading_driver(engine, partitions_per_topic=topics)
    for name, rack in (("a", "r0"), ("b", "r1")):
        metadata = encode_subscription(Subscription(("t",), rack=rack))
        driver.join(name, protocols=(("range", metadata),), group_instance_id=f"i-{name}", version=5)
    driver.join("a", protocols=(("range", encode_subscription(Subscription(("t",), rack="r0"))),), version=5)

    subscriptions = {
        driver.ids["a"]: Subscription(("t",), group_instance_id="i-a", rack="r0"),
        driver.ids["b"]: Subscription(("t",), group_instance_id="i-b", rack="r1"),
    }
    assert assign(topics, subscriptions) == assigned(driver)


def test_no_member_is_named_leader() -> None:
    driver = leading_driver()
    driver.settle("a", "b")

    joined = [answer for answer in driver.answers.values() if isinstance(answer, JoinGroupResponse)]
    assert [("", ()), ("", ())] == [(answer.leader, answer.members) for answer in joined]


def test_an_unchanged_rejoin_of_any_member_causes_no_rebalance() -> None:
    driver = leading_driver()
    driver.settle("a", "b")
    before = list(driver.rebalances)

    answers = [driver.join(name) for name in "ab"]

    assert [2, 2] == [answer and answer.generation_id for answer in answers]
    assert before == driver.rebalances


def test_assignments_in_a_sync_are_ignored() -> None:
    driver = leading_driver()
    driver.join("a")

    answer = driver.sync("a", {"a": b"mine"})

    assert answer is not None
    assert b"mine" != answer.assignment
    assert ErrorCode.NONE is answer.error_code


def test_a_group_with_another_protocol_has_a_leader() -> None:
    driver = leading_driver()
    driver.join("a", protocols=(("roundrobin", RANGE[0][1]),))

    answer = driver.sync("a", {"a": b"mine"})

    assert answer is not None
    assert b"mine" == answer.assignment


def test_a_member_with_an_invalid_subscription_gets_no_partitions(engine: Engine) -> None:
    driver = leading_driver(engine)
    driver.join("a", protocols=(("range", b"\0"),))
    driver.join("b")
    driver.join("a", protocols=(("range", b"\0"),))
    by_id = {member.member_id: member.assignment for member in driver.coordinator.describe(GROUP).members}

    assert () == decode_assignment(by_id[driver.ids["a"]]).partitions
    assert 5 == len(decode_assignment(by_id[driver.ids["b"]]).partitions)
    assert "member 'a-1' gets no partitions, because its subscription cannot be decoded" in driver.problems[-1]


def test_all_members_keep_their_partitions_if_the_assignor_fails() -> None:
    class Failing(RangeAssignor):
        works = True

        def assign(self, *arguments: Any) -> dict[str, list[TopicPartition]]:
            if not self.works:
                raise ZeroDivisionError("failed")
            return super().assign(*arguments)

    failing = Failing()
    driver = GroupDriver.begin(assignor=failing, partitions_per_topic=TOPICS)
    driver.settle("a", "b")
    before = assigned(driver)
    failing.works = False
    driver.join("a", protocols=(("range", encode_subscription(Subscription(("t0", "t1")))),))
    driver.join("b")

    assert before == assigned(driver)
    assert (
        "the assignor 'range' failed, and all members keep their assignments: ZeroDivisionError: failed"
        in (driver.problems[-1])
    )


def test_an_assignor_with_assign_encoded_is_not_called_with_objects() -> None:
    class Encoded(RangeAssignor):
        def assign_encoded(self, topics: Any, members: Any, *, version: int) -> dict[str, bytes]:
            assert TOPICS == dict(topics)
            return {member_id: encode_assignment([("t1", 0)], version=version) for member_id, _, _ in members}

        def assign(self, *_: Any) -> Any:
            raise AssertionError("assign was called")

    driver = GroupDriver.begin(assignor=Encoded(), partitions_per_topic=TOPICS)
    driver.join("a")

    assert {"a-1": [TopicPartition("t1", 0)]} == assigned(driver)
    assert [] == driver.problems


@pytest.mark.parametrize("invalid", [None, 7, {"a-1": None}, {"a-1": [7]}, {"a-1": [("\ud800", 0)]}])
def test_an_invalid_answer_of_the_assignor_gives_a_new_member_an_empty_assignment(invalid: Any) -> None:
    class Invalid(RangeAssignor):
        def assign(self, *_: Any) -> Any:
            return invalid

    driver = GroupDriver.begin(assignor=Invalid(), partitions_per_topic=TOPICS)
    driver.join("a")

    assert {"a-1": []} == assigned(driver)
    assert "the assignor 'range' failed, and all members keep their assignments" in driver.problems[-1]
    assert "Stable" == driver.state()


def test_assignments_have_the_version_of_the_oldest_subscription() -> None:
    driver = leading_driver()
    driver.join("a", protocols=(("range", encode_subscription(Subscription(("t0",)), version=1)),))

    answer = driver.sync("a")

    assert answer is not None
    assert 1 == decode_assignment(answer.assignment).version


def test_members_get_the_assignment_after_it_is_written() -> None:
    driver = leading_driver(confirm_writes=True)
    driver.join("a")
    assert driver.sync("a") is None
    assert "CompletingRebalance" == driver.state()

    driver.collect(driver.coordinator.written(2, driver.now))

    answer = driver.answers["a", "sync"]
    assert ErrorCode.NONE is answer.error_code  # type: ignore[union-attr]  # a sync response has one
    assert "Stable" == driver.state()


@pytest.mark.parametrize("topic", ["t0", "unknown"])
def test_commits_are_accepted_for_existing_topics(topic: str) -> None:
    driver = leading_driver()
    driver.settle("a")

    code = driver.commit("a", 5, topic)

    assert (ErrorCode.NONE if topic == "t0" else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) is code
    assert (["t0"] if topic == "t0" else []) == [each for each, _ in driver.coordinator.committed(GROUP)]


def test_server_side_assignment_continues_for_a_loaded_group() -> None:
    before = leading_driver()
    before.settle("a", "b")
    after = leading_driver()
    after.collect(after.coordinator.load(before.log, now=1))
    after.ids, after.generations = before.ids, before.generations

    assert assigned(before) == assigned(after)
    after.collect(after.coordinator.update_metadata({"t0": 9}, 2))
    after.settle("a", "b")
    assert assign({"t0": 9}, {after.ids[name]: ["t0"] for name in "ab"}) == assigned(after)


@pytest.mark.parametrize(
    ("topics", "cause"),
    [
        (TOPICS, None),
        ({**TOPICS, "t1": 7}, None),
        ({**TOPICS, "t0": 6}, RebalanceCause.PARTITIONS_INCREASED),
        ({**TOPICS, "t0": 4}, RebalanceCause.TOPIC_CREATED),
        ({"t1": 3}, RebalanceCause.TOPIC_DELETED),
    ],
)
def test_a_loaded_group_rebalances_if_its_topics_changed_in_the_meantime(
    topics: dict[str, int], cause: RebalanceCause | None
) -> None:
    before = leading_driver()
    before.settle("a", "b")
    after = leading_driver(partitions_per_topic=topics)
    effects = after.coordinator.load(before.log, now=1)
    after.collect(effects)
    after.ids, after.generations = before.ids, before.generations

    assert ([] if cause is None else [cause]) == [rebalance.cause for rebalance in effects.rebalances]
    if cause is not None:
        after.settle("a", "b")
    assert assign(topics, {after.ids[name]: ["t0"] for name in "ab"}) == assigned(after)


def test_a_loaded_group_gets_a_topic_that_is_created_later() -> None:
    before = leading_driver(partitions_per_topic={})
    before.settle("a")
    after = leading_driver(partitions_per_topic={})
    assert () == after.coordinator.load(before.log, now=1).rebalances
    after.ids, after.generations = before.ids, before.generations

    effects = after.coordinator.update_metadata(TOPICS, 2)

    assert [RebalanceCause.TOPIC_CREATED] == [rebalance.cause for rebalance in effects.rebalances]
