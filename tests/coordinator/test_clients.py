"""Consumers of kafka-python, aiokafka and librdkafka form groups with the coordinator as with a broker.

The tests compare the partitions that consumers report, those that the coordinator describes, and the answer of
`assign`. There is one group per library and one group of all three, which have `range` in common.
"""

from __future__ import annotations

import contextlib
import random
from typing import TYPE_CHECKING

import pytest

from assignor.coordinator import (
    ErrorCode,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    RebalanceCause,
    SyncGroupRequest,
)
from tests.coordinator.group_server.answers import OLD_VERSIONS
from tests.coordinator.group_server.consumer_group import ConsumerGroup
from tests.coordinator.group_server.server import GroupServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.coordinator.group_server.clients import Offsets
    from tests.coordinator.group_server.connection import Exchange
    from tests.coordinator.group_server.consumer_group import GroupSnapshot

KINDS = ("kafka-python", "aiokafka", "librdkafka")
KINDS_OF_GROUPS = {**{kind: (kind,) * 3 for kind in KINDS}, "mixed": KINDS}
TOPICS = {"orders": 4, "payments": 3}
EVERYTHING = sorted((topic, partition) for topic, count in TOPICS.items() for partition in range(count))
SHORT_SESSION = 10_000
"""Session timeout of members that expire: shorter than that of other members, but long enough for a busy machine."""


@pytest.fixture(scope="module")
def server() -> Iterator[GroupServer]:
    """Start a server whose groups are led by a member, as in a broker."""
    with GroupServer(TOPICS) as started:
        yield started
    assert [] == started.failures
    assert [] == started.problems


@pytest.fixture(scope="module", params=KINDS_OF_GROUPS)
def group(request: pytest.FixtureRequest, server: GroupServer) -> Iterator[ConsumerGroup]:
    """Return a group for three members of one library, or one of each."""
    with ConsumerGroup(server, request.param, TOPICS) as formed:
        yield formed


@pytest.fixture
def kinds(group: ConsumerGroup) -> tuple[str, ...]:
    """Return the libraries of the group's members, after starting members that are missing."""
    wanted = list(KINDS_OF_GROUPS[group.group_id])
    for member in group.members:
        wanted.remove(member.kind)
    for kind in wanted:
        group.join(kind)
    group.settle()
    group.rebalances()
    return KINDS_OF_GROUPS[group.group_id]


def owned(view: GroupSnapshot) -> list[tuple[str, int]]:
    """Return all partitions that the members report."""
    return sorted(partition for partitions in view.owned.values() for partition in partitions)


def without_nul(offset: int, metadata: str) -> tuple[int, str]:
    """Return an offset and its metadata without the trailing NUL that confluent-kafka commits."""
    return offset, metadata.removesuffix("\0")


def error_of(exchange: Exchange) -> ErrorCode:
    """Return the error code of an answer; NONE for commits, whose error codes are per partition."""
    return getattr(exchange.response, "error_code", ErrorCode.NONE)


def test_a_group_forms_and_owns_every_partition_once(group: ConsumerGroup, kinds: tuple[str, ...]) -> None:
    view = group.settle()
    assert len(kinds) == len(view.owned)
    assert EVERYTHING == owned(view)
    assert view.expected == view.owned == view.described


def test_joining_and_closing_members_cause_explained_rebalances(group: ConsumerGroup, kinds: tuple[str, ...]) -> None:
    before = group.settle()
    fourth = group.join(kinds[-1])
    more = group.settle(generation=before.generation)
    assert 4 == len(more.owned)
    assert EVERYTHING == owned(more)
    assert more.expected == more.owned
    assert [RebalanceCause.CONSUMER_SUBSCRIBED] == group.causes()
    group.close(fourth)
    less = group.settle(generation=more.generation)
    assert before.owned == less.owned
    assert [RebalanceCause.CONSUMER_CLOSED] == group.causes()


def test_other_members_take_over_from_a_killed_member(group: ConsumerGroup, kinds: tuple[str, ...]) -> None:
    before = group.settle()
    victim = group.join(kinds[0], session_ms=SHORT_SESSION)
    more = group.settle(generation=before.generation)
    group.rebalances()
    exchanges = len(group.server.exchanges)
    group.crash(victim)
    less = group.settle(generation=more.generation)
    assert before.owned == less.owned
    assert EVERYTHING == owned(less)
    (rebalance,) = group.rebalances()
    assert RebalanceCause.APPLICATION_CRASHED is rebalance.cause
    assert victim.report.member_id in rebalance.reason
    assert [] == [each for each in group.exchanges(exchanges) if isinstance(each.request, LeaveGroupRequest)]


def test_new_owners_find_the_offsets_that_a_member_committed(group: ConsumerGroup, kinds: tuple[str, ...]) -> None:
    before = group.settle()
    committed: Offsets = {}
    for number, member in enumerate(group.members):
        offsets = {at: (100 * number + at[1], f"by {member.kind} \u20ac") for at in member.report.assignment}
        member.commit(offsets)
        committed |= offsets
    leaving = group.members[-1]
    given_up = leaving.report.assignment
    group.close(leaving)
    group.settle(generation=before.generation)
    found: Offsets = {}
    for member in group.members:
        found |= member.committed(member.report.assignment)
    assert committed == {at: without_nul(*stored) for at, stored in found.items()}
    assert set(given_up) <= set(found)
    stored = group.server.committed(group.group_id)
    assert committed == {(*at,): without_nul(offset.offset, offset.metadata) for at, offset in stored.items()}
    assert len(kinds) - 1 == len(group.members)


def test_members_keep_their_generation_after_a_crash_of_the_coordinator(
    group: ConsumerGroup, kinds: tuple[str, ...]
) -> None:
    before = group.settle()
    offsets = dict.fromkeys(group.members[0].report.assignment, (7, "before"))
    group.members[0].commit(offsets)
    answered = len(group.server.exchanges)
    group.server.crash()
    group.await_heartbeats(answered)
    after = group.settle()
    assert before == after
    assert [] == group.causes()
    assert offsets == group.members[0].committed(tuple(offsets))
    assert not [each for each in group.exchanges(answered) if isinstance(each.request, JoinGroupRequest)]
    assert {member.report.generation for member in group.members} <= {after.generation, None}
    assert len(kinds) == len(after.owned)


@pytest.mark.parametrize("name", KINDS_OF_GROUPS)
def test_returning_static_members_keep_their_partitions_without_a_rebalance(server: GroupServer, name: str) -> None:
    with ConsumerGroup(server, f"static-{name}", TOPICS) as group:
        for number, kind in enumerate(KINDS_OF_GROUPS[name]):
            group.join(kind, instance_id=f"instance-{number}")
        before = group.settle()
        assert EVERYTHING == owned(before)
        assert before.expected == before.owned
        group.rebalances()
        closed, killed, stays = group.members
        group.close(closed)
        group.kill(killed)
        back = [group.join(gone.kind, instance_id=gone.settings.instance_id) for gone in (closed, killed)]
        after = group.settle()
        assert [] == group.rebalances()
        assert before.generation == after.generation
        assert [gone.report.assignment for gone in (closed, killed)] == [each.report.assignment for each in back]
        assert {stays.report.member_id} == {*before.owned} & {*after.owned}
        assert after.expected == after.owned


def test_silent_members_expire_and_return_as_new_members(server: GroupServer) -> None:
    with ConsumerGroup(server, "silent", TOPICS) as group:
        for kind in KINDS[:2]:
            group.join(kind)
        before = group.settle()
        sleepers = [group.join(kind, session_ms=SHORT_SESSION) for kind in KINDS]
        more = group.settle(generation=before.generation)
        assert 5 == len(more.owned)
        group.rebalances()
        with contextlib.ExitStack() as stack:
            for sleeper in sleepers:
                group.members.remove(sleeper)
                stack.enter_context(sleeper.frozen())
            server.advance(SHORT_SESSION)
            less = group.settle(generation=more.generation)
            assert before.owned == less.owned
            assert {RebalanceCause.CONSUMER_DEAD} == {*group.causes()}
        group.members += sleepers
        again = group.settle(generation=less.generation)
        assert 5 == len(again.owned)
        assert {*before.owned} == {*again.owned} & {*more.owned}
        assert {RebalanceCause.CONSUMER_SUBSCRIBED} == {*group.causes()}


def test_a_new_coordinator_expires_a_member_that_died_with_the_old_one(server: GroupServer) -> None:
    with ConsumerGroup(server, "missed", TOPICS) as group:
        for kind in KINDS:
            group.join(kind)
        before = group.settle()
        victim = group.join("aiokafka", session_ms=SHORT_SESSION)
        more = group.settle(generation=before.generation)
        group.rebalances()
        group.kill(victim)
        server.crash()
        server.advance(SHORT_SESSION)
        less = group.settle(generation=more.generation)
        assert before.owned == less.owned
        (rebalance,) = group.rebalances()
        assert RebalanceCause.CONSUMER_DEAD is rebalance.cause, "the new coordinator has seen no connection"
        assert victim.report.member_id in rebalance.reason


def test_moving_groups_during_a_rebalance_loses_no_member(server: GroupServer) -> None:
    with ConsumerGroup(server, "moved", TOPICS) as group:
        sleeper, *_ = [group.join(kind) for kind in KINDS]
        before = group.settle()
        group.rebalances()
        with sleeper.frozen():
            group.join("aiokafka")
            server.notifier.until(
                lambda: 3 == group.waiting(), lambda: f"three should wait for the frozen member:\n{group}"
            )
            answered = len(server.exchanges)
            server.move_groups()
        after = group.settle(generation=before.generation)
        moved = [each for each in group.exchanges(answered) if ErrorCode.NOT_COORDINATOR == error_of(each)]
        assert 3 == len(moved)
        assert 4 == len(after.owned)
        assert {*before.owned} < {*after.owned}
        assert after.expected == after.owned
        assert RebalanceCause.CONSUMER_SUBSCRIBED in group.causes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_leader_rejoins_when_a_topic_grows_and_the_coordinator_explains_it(server: GroupServer, kind: str) -> None:
    with ConsumerGroup(server, f"growing-{kind}", ("orders", f"grows-{kind}")) as group:
        server.update_topics({**server.topics, f"grows-{kind}": 1})
        for _ in range(2):
            group.join(kind, metadata_ms=300)
        before = group.settle()
        group.rebalances()
        server.update_topics({**server.topics, f"grows-{kind}": 4})
        after = group.settle(generation=before.generation)
        assert {(f"grows-{kind}", partition) for partition in (1, 2, 3)} == {*owned(after)} - {*owned(before)}
        assert after.expected == after.owned
        assert RebalanceCause.PARTITIONS_INCREASED == group.causes()[0]


def test_consumers_form_a_group_with_an_old_broker() -> None:
    with GroupServer(TOPICS, versions=OLD_VERSIONS) as server, ConsumerGroup(server, "old", TOPICS) as group:
        for kind in KINDS:
            group.join(kind)
        before = group.settle()
        assert EVERYTHING == owned(before)
        assert before.expected == before.owned
        for member in group.members:
            member.commit(dict.fromkeys(member.report.assignment, (3, "old")))
        assert {(3, "old")} == {without_nul(*each[:2]) for each in server.committed("old").values()}
        group.close(group.members[0])
        after = group.settle(generation=before.generation)
        assert EVERYTHING == owned(after)
        assert RebalanceCause.CONSUMER_CLOSED is group.causes()[-1]
        errors = [error_of(each) for each in group.exchanges()]
        assert ErrorCode.MEMBER_ID_REQUIRED not in errors
        assert [] == server.failures


@pytest.fixture(scope="module")
def leading_server() -> Iterator[GroupServer]:
    """Start a server with server-side assignment."""
    with GroupServer(TOPICS, leads=True) as started:
        yield started
    assert [] == started.failures
    assert [] == started.problems


@pytest.mark.parametrize("name", KINDS_OF_GROUPS)
def test_server_side_assignment_equals_that_of_a_leader_and_changes_with_the_topics(
    leading_server: GroupServer, name: str
) -> None:
    leading_server.update_topics(TOPICS)
    with ConsumerGroup(leading_server, f"led-{name}", TOPICS) as group:
        for kind in KINDS_OF_GROUPS[name]:
            group.join(kind)
        formed = group.settle()
        assert EVERYTHING == owned(formed)
        assert formed.expected == formed.owned
        group.rebalances()

        leading_server.update_topics({**TOPICS, "orders": 8})
        grown = group.settle(generation=formed.generation)
        assert {("orders", partition) for partition in range(4, 8)} == {*owned(grown)} - {*EVERYTHING}
        assert grown.expected == grown.owned
        assert [RebalanceCause.PARTITIONS_INCREASED] == group.causes()

        leading_server.update_topics({"orders": 8})
        deleted = group.settle(generation=grown.generation)
        assert [("orders", partition) for partition in range(8)] == owned(deleted)
        assert deleted.expected == deleted.owned
        assert RebalanceCause.TOPIC_DELETED in group.causes()

        leading_server.update_topics({"orders": 8, "payments": 5})
        created = group.settle(generation=deleted.generation)
        assert {("payments", partition) for partition in range(5)} == {*owned(created)} - {*owned(deleted)}
        assert created.expected == created.owned
        assert RebalanceCause.TOPIC_CREATED in group.causes()

        joins = [each.response for each in group.exchanges() if isinstance(each.response, JoinGroupResponse)]
        assert {""} == {response.leader for response in joins}
        syncs = [each.request for each in group.exchanges() if isinstance(each.request, SyncGroupRequest)]
        assert syncs
        assert not any(request.assignments for request in syncs)


def test_server_side_assignment_continues_after_a_crash(leading_server: GroupServer) -> None:
    leading_server.update_topics(TOPICS)
    with ConsumerGroup(leading_server, "led-on", TOPICS) as group:
        for kind in KINDS:
            group.join(kind)
        before = group.settle()
        group.rebalances()
        answered = len(leading_server.exchanges)
        leading_server.crash()
        group.await_heartbeats(answered)
        assert before == group.settle()
        assert [] == group.causes()
        leading_server.update_topics({**TOPICS, "payments": 6})
        after = group.settle(generation=before.generation)
        assert after.expected == after.owned
        assert [RebalanceCause.PARTITIONS_INCREASED] == group.causes()
        leading_server.crash({"orders": 9})
        grown = group.settle(generation=after.generation)
        assert 9 + 6 == len(owned(grown))
        assert grown.expected == grown.owned
        assert [RebalanceCause.PARTITIONS_INCREASED] == group.causes()


@pytest.mark.parametrize("seed", [5])
def test_remaining_members_own_all_partitions_after_random_events(seed: int) -> None:
    rng = random.Random(seed)
    with GroupServer(TOPICS, leads=True) as server, ConsumerGroup(server, "churn", TOPICS) as group:
        for step in range(12):
            happens = rng.choice(["join", "join", "join", "close", "kill", "crash", "move", "grow"])
            match happens:
                case "close" if len(group.members) > 1:
                    group.close(rng.choice(group.members))
                case "kill" if len(group.members) > 1:
                    group.kill(rng.choice(group.members))
                case "crash":
                    server.crash()
                case "move":
                    server.move_groups()
                case "grow":
                    server.update_topics({**TOPICS, "orders": TOPICS["orders"] + step})
                case _ if len(group.members) < 5:
                    group.join(rng.choice(KINDS), session_ms=1_500)
            wanted = len(server.exchanges) + rng.choice([0, 0, 1, 5, 20])
            server.notifier.until(
                lambda: not group.members or wanted <= len(server.exchanges),  # noqa: B023 - called within the round
                lambda: f"no exchanges after {happens}:\n{group}",  # noqa: B023 - called within the round
            )
        settled = group.settle()
        assert sum(server.topics.values()) == len(owned(settled))
        assert settled.expected == settled.owned
        assert [] == server.failures + server.problems
