"""Our members in groups of a real broker: after each change, every partition has one owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from kio.schema.errors import ErrorCode

from assignor.member import MemberState
from tests.broker import recording
from tests.broker.member_timeline import FILE, MemberTimeline
from tests.broker.members import Members, side_by_side
from tests.broker.scripted_member import ScriptedMember
from tests.support import vector_files
from tests.support.consumer_closing import close_consumers

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker.scenario import Scenario

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("assignor", ["range", "uniform"])
def test_five_members_share_two_topics(start_scenario: Callable[..., Scenario], assignor: str) -> None:
    with start_scenario(f"five-{assignor}", assignor) as scenario:
        scenario.create_topics(orders=7, payments=6)
        members = Members(scenario)
        for name in "abcde":
            members.join(name, "orders", "payments")
        members.assert_shared()
        shares = [len(client.member.assignment) for client in members.clients.values()]
        assert ([2, 2, 2, 3, 4] if assignor == "range" else [2, 2, 3, 3, 3]) == sorted(shares)
        assert {"assigned"} == {kind for client in members.clients.values() for kind, _ in client.calls[:1]}


@pytest.mark.parametrize("assignor", ["range", "uniform"])
def test_our_members_share_topics_with_consumers_of_librdkafka(
    start_scenario: Callable[..., Scenario], assignor: str
) -> None:
    with start_scenario(f"mixed-{assignor}", assignor, keep=None) as scenario:
        scenario.create_topics(orders=6, payments=5)
        members = Members(scenario)
        for name in "ab":
            members.join(name, "orders", "payments")
        members.settle()
        try:
            for _ in range(2):
                members.others.append(consumer_of_librdkafka(scenario))
            members.join("c", "orders", "payments")
            members.assert_shared()
            assert 5 == len(members.view())
            close_consumers([members.others.pop()])
            members.clients["a"].leave()
            members.assert_shared()
            assert 3 == len(members.view())
        finally:
            close_consumers(members.others)


def test_a_member_passes_through_most_states_while_another_joins_and_leaves(
    start_scenario: Callable[..., Scenario],
) -> None:
    with start_scenario("life", "range") as scenario:
        scenario.create_topics(orders=4)
        members = Members(scenario)
        timeline = MemberTimeline(scenario.ids, scenario.topic(""))
        one = members.join("one", "orders", timeline=timeline)
        members.settle()
        other = members.join("other", "orders")
        members.settle()
        other.leave()
        members.settle()
        one.doubted = True
        members.meanwhile(lambda: ScriptedMember(scenario, one.member_id).leave())
        members.until(lambda: one.calls[-1][0] == "lost")
        members.assert_shared()
        one.leave()
        members.until(lambda: one.left)
        states = [entry["state"] for entry in timeline.entries]
        assert {state.name for state in MemberState} - {"FATAL", "STALE"} == set(states)
        assert "UNSUBSCRIBED" == states[-1]
        if recording.wanted():
            timeline.write(vector_files.OWN_FOLDER / FILE)


def test_partitions_of_a_leaving_member_go_to_the_others(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("leaving", "range") as scenario:
        scenario.create_topics(orders=6)
        members = Members(scenario)
        a, b, c = (members.join(name, "orders") for name in "abc")
        members.settle()
        b.leave()
        members.assert_shared()
        assert {a.member_id, c.member_id} == set(members.view())
        assert (MemberState.UNSUBSCRIBED, 1, ()) == (b.member.state, b.left, b.member.assignment)
        assert ["assigned", "revoked"] == [kind for kind, partitions in b.calls if partitions]


def test_a_member_that_left_rejoins(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("coming-back", "uniform") as scenario:
        scenario.create_topics(orders=4, payments=3)
        members = Members(scenario)
        a, b = members.join("a", "orders"), members.join("b", "orders", "payments")
        members.settle()
        b.leave()
        members.until(lambda: b.left)
        a.subscribe(scenario.topic("orders"), scenario.topic("payments"))
        members.settle()
        a.subscribe(scenario.topic("orders"))
        b.subscribe(scenario.topic("payments"))
        members.assert_shared()
        assert {a.member_id, b.member_id} == set(members.view())
        assert {scenario.topic("payments")} == {topic for topic, _ in b.member.assignment}


@pytest.mark.parametrize("option", ["heartbeat_while_preparing_to_leave", "heartbeat_while_fenced", "join_at_once"])
def test_members_with_an_option_that_follows_kafkas_code_leave_and_rejoin(
    start_scenario: Callable[..., Scenario], option: str
) -> None:
    with start_scenario(option.replace("_", "-"), "range") as scenario:
        scenario.create_topics(orders=4)
        members = Members(scenario)
        members.join("a", "orders")
        options: dict[str, Any] = {option: True}
        b, c = members.join("b", "orders", **options), members.join("c", "orders", **options)
        members.settle()
        b.holds_callbacks = True
        b.leave()
        c.holds_callbacks = c.doubted = True
        members.meanwhile(lambda: ScriptedMember(scenario, c.member_id).leave())
        members.until(lambda: c.calls[-1][0] == "lost")
        members.run(0.6)  # for one more heartbeat of each
        assert (0, MemberState.PREPARE_LEAVING) == (b.left, b.member.state)
        assert ("lost", MemberState.FENCED) == (c.calls[-1][0], c.member.state)
        b.release_callbacks()
        c.release_callbacks()
        members.assert_shared()
        assert (1, 2) == (b.left, len(members.view()))


def test_the_restart_of_a_static_member_moves_no_partitions(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("static-restart", "range") as scenario:
        scenario.create_topics(orders=6)
        members = Members(scenario)
        one, two, other = (
            members.join("one", "orders", instance_id="1"),
            members.join("two", "orders", instance_id="2"),
            members.join("other", "orders"),
        )
        before = members.settle()
        calls = [len(one.calls), len(other.calls)]
        two.leave()
        members.until(lambda: two.left)
        members.run(1)
        members.kill("two")
        again = members.join("two again", "orders", instance_id="2")
        assert members.settle() == members.view()
        assert before[two.member_id] == members.view()[again.member_id]
        assert calls == [len(one.calls), len(other.calls)]
        assert before.items() - members.view().items() == {(two.member_id, before[two.member_id])}


def test_an_instance_id_in_use_is_fatal(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("instance-taken", "range") as scenario:
        scenario.create_topics(orders=3)
        members = Members(scenario)
        members.join("holder", "orders", instance_id="1")
        before = members.settle()
        late = members.join("late", "orders", instance_id="1")
        members.until(lambda: late.errors)
        assert (MemberState.FATAL, ["UNRELEASED_INSTANCE_ID"]) == (
            late.member.state,
            [each.name for each in late.errors],
        )
        members.kill("late")
        assert before == members.settle() == members.view()


def test_a_silent_member_is_replaced_and_may_rejoin_while_topics_are_created(
    start_scenario: Callable[..., Scenario],
) -> None:
    with start_scenario("silent", "uniform") as scenario, start_scenario("topics-to-come", "range") as other_scenario:
        scenario.create_topics(orders=4, payments=4)
        members = Members(scenario)
        _, _, killed, frozen = (members.join(name, "orders", "payments") for name in ("a", "b", "killed", "frozen"))
        members.settle()
        members.kill("killed")
        frozen.freeze()
        had = frozen.member.assignment

        other_scenario.create_topics(orders=2)
        others = Members(other_scenario)
        side_by_side(members, others)
        by_name = others.join("names", "orders", "later")
        by_pattern = others.join("pattern", pattern=other_scenario.topic("(orders|origins)"))
        others.settle()
        others.meanwhile(lambda: other_scenario.create_topics(later=2, origins=3))
        others.until(lambda: other_scenario.topic("later") in {topic for topic, _ in by_name.member.assignment})
        others.meanwhile(lambda: other_scenario.grow_topic("orders", 5))
        others.assert_shared()
        assert {"orders", "origins"} == {
            topic.removeprefix(other_scenario.topic("")) for topic, _ in by_pattern.member.assignment
        }

        members.until(lambda: {killed.member_id, frozen.member_id}.isdisjoint(members.coordinator_view()))
        frozen.thaw()
        members.assert_shared()
        assert 3 == len(members.view())
        assert ("lost", had) in frozen.calls


def test_a_member_rejoins_after_another_process_leaves_with_its_id(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("goodbye-by-another", "range") as scenario:
        scenario.create_topics(orders=6)
        members = Members(scenario)
        a, _ = members.join("a", "orders"), members.join("b", "orders")
        members.settle()
        had = a.member.assignment
        a.doubted = True
        members.meanwhile(lambda: ScriptedMember(scenario, a.member_id).leave())
        members.until(lambda: ("lost", had) in a.calls)
        members.assert_shared()
        assert 2 == len(members.view())


def test_a_member_with_a_wrong_epoch_rejoins(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("double", "range") as scenario:
        scenario.create_topics(orders=6)
        members = Members(scenario)
        a, _ = members.join("a", "orders"), members.join("b", "orders")
        members.settle()
        had = a.member.assignment
        a.doubted = True

        def take_its_place() -> None:
            double = ScriptedMember(scenario, a.member_id)
            double.leave()
            double.join("orders")
            double.leave()
            double.join("orders")

        members.meanwhile(take_its_place)
        members.until(lambda: ("lost", had) in a.calls)
        members.assert_shared()
        assert 2 == len(members.view())


@pytest.mark.parametrize("in_order", [False, pytest.param(True, marks=pytest.mark.long)])
def test_members_keep_their_partitions_when_the_coordinator_restarts(
    start_scenario: Callable[..., Scenario], in_order: bool
) -> None:
    with start_scenario(f"restart-{in_order}", "range", keep=None) as scenario:
        scenario.create_topics(orders=6)
        members = Members(scenario)
        for name in "abc":
            members.join(name, "orders")
        before = members.settle()
        if in_order:
            scenario.cluster.stop()
        else:
            scenario.cluster.kill()
        members.run(1)
        scenario.cluster.start()
        members.run(1)
        assert before == members.settle() == members.view()
        assert {"assigned", "revoked"} >= {kind for client in members.clients.values() for kind, _ in client.calls}
        members.join("d", "orders")
        members.assert_shared()


def test_a_member_that_does_not_poll_leaves_until_it_polls(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("idle", "uniform") as scenario:
        scenario.create_topics(orders=4)
        members = Members(scenario)
        busy, idle = members.join("busy", "orders"), members.join("idle", "orders", rebalance_timeout_ms=1500)
        members.settle()
        had = idle.member.assignment
        idle.polls = False
        members.until(lambda: len(busy.member.assignment) == 4)
        assert (MemberState.STALE, ("lost", had)) == (idle.member.state, idle.calls[-1])
        idle.polls = True
        members.assert_shared()
        assert 2 == len(idle.member.assignment)


def test_a_member_with_a_slow_callback_is_removed_and_rejoins(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("slow-callback", "range") as scenario:
        scenario.create_topics(orders=4)
        members = Members(scenario)
        slow = members.join("slow", "orders", rebalance_timeout_ms=2000)
        members.settle()
        slow.holds_callbacks = True
        quick = members.join("quick", "orders")
        members.until(lambda: slow.calls[-1][0] == "revoked")
        assert (4, 0) == (len(slow.member.assignment), len(quick.member.assignment))
        slow.doubted = True
        members.until(lambda: len(quick.member.assignment) == 4)
        slow.release_callbacks()
        members.assert_shared()
        assert (2, 2) == (len(slow.member.assignment), len(quick.member.assignment))


def test_a_member_keeps_its_partitions_if_a_response_is_lost(
    start_scenario: Callable[..., Scenario],
) -> None:
    with start_scenario("lost-answer", "range") as scenario:
        scenario.create_topics(orders=4)
        members = Members(scenario)
        slow = members.join("slow", "orders")
        members.settle()
        slow.leave()
        members.until(lambda: slow.left)
        slow.holds_callbacks = True
        slow.subscribe(scenario.topic("orders"))
        members.until(lambda: slow.member.assignment)
        quick = members.join("quick", "orders")
        members.until(lambda: quick.member.state == MemberState.STABLE)
        slow.loses_answers = 1
        members.until(lambda: not slow.loses_answers)
        members.run(0.6)  # for one more heartbeat
        assert (0, 4, 0) == (slow.loses_answers, len(slow.member.assignment), len(quick.member.assignment))
        slow.release_callbacks()
        members.assert_shared()
        assert (2, 2) == (len(slow.member.assignment), len(quick.member.assignment))


def test_offsets_are_committed_before_partitions_are_revoked(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("commits", "range") as scenario:
        scenario.create_topics(orders=4)
        members = Members(scenario)
        a = members.join("a", "orders", auto_commit=True)
        members.settle()
        members.run(0.3)
        b = members.join("b", "orders", auto_commit=True)
        assert members.settle() == members.view()
        committed = scenario.admin.committed(scenario.group, scenario.ids, scenario.counts)
        assert {*a.member.assignment, *b.member.assignment} == set(committed)
        assert {partition: a.offsets[partition] for partition in b.member.assignment}.items() <= committed.items()
        b.leave()
        assert members.settle() == members.view()
        assert b.offsets.items() <= scenario.admin.committed(scenario.group, scenario.ids, scenario.counts).items()


def test_a_member_may_leave_before_its_first_response(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("hasty", "range") as scenario:
        scenario.create_topics(orders=2)
        members = Members(scenario)
        members.join("a", "orders")
        before = members.settle()
        hasty = members.join("hasty", "orders")
        members.until(lambda: hasty.heartbeats)
        hasty.leave()
        members.until(lambda: hasty.left)
        assert (MemberState.UNSUBSCRIBED, ()) == (hasty.member.state, hasty.member.assignment)
        members.run(1)
        assert before.keys() == members.settle().keys()
        assert members.partitions() == members.owned()


def test_a_member_outside_the_group_may_commit(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("outside", "range") as scenario:
        scenario.create_topics(orders=2)
        members = Members(scenario)
        a = members.join("a", "orders")
        members.settle()
        a.offsets = dict.fromkeys(a.member.assignment, 7)
        a.leave()
        members.until(lambda: a.left)
        assert a.member.state.can_commit()
        identity = a.member.commit_identity()
        offsets = {scenario.ids[scenario.topic("orders")]: {0: 7, 1: 7}}
        assert {ErrorCode.none} == scenario.admin.commit(
            scenario.group, offsets, identity.member_id, identity.member_epoch
        )
        assert {7} == set(scenario.admin.committed(scenario.group, scenario.ids, scenario.counts).values())


def consumer_of_librdkafka(scenario: Scenario) -> confluent_kafka.Consumer:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": scenario.cluster.address,
            "group.id": scenario.group,
            "group.protocol": "consumer",
            "group.remote.assignor": scenario.assignor,
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([scenario.topic("orders"), scenario.topic("payments")])
    return consumer
