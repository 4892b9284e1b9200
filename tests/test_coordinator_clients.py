"""Consumers of kafka-python, aiokafka and librdkafka in groups of the coordinator: they judge whether it is a broker's.

What is compared is what the consumers say that they own, what the coordinator describes, and what `assign` gives. Each
library has a group of its own, and they share one: `range` is what all of them can do.
"""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor.coordinator import JoinGroupRequest, JoinGroupResponse, RebalanceCause, SyncGroupRequest
from group_server import garbage
from group_server.answers import VERSIONS
from group_server.crowd import Crowd
from group_server.framing import Frame, NotARequestError, read_request
from group_server.server import GroupServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from group_server.crowd import View

KINDS = ("kafka-python", "aiokafka", "librdkafka")
CASTS = {**{kind: (kind,) * 3 for kind in KINDS}, "mixed": KINDS}
TOPICS = {"orders": 4, "payments": 3}
EVERYTHING = sorted((topic, partition) for topic, count in TOPICS.items() for partition in range(count))
SHORT_SESSION = 1_500


@pytest.fixture(scope="module")
def server() -> Iterator[GroupServer]:
    """A server whose groups are led by a member, as a broker's."""
    with GroupServer(TOPICS) as started:
        yield started
    assert [] == started.failures
    assert [] == started.problems


@pytest.fixture(scope="module", params=CASTS)
def crowd(request: pytest.FixtureRequest, server: GroupServer) -> Iterator[Crowd]:
    """Three members of one library, or one of each."""
    with Crowd(server, request.param, TOPICS) as formed:
        yield formed


@pytest.fixture
def cast(crowd: Crowd) -> tuple[str, ...]:
    """The libraries of the group's members; three of them are there and have settled, whoever left before."""
    wanted = list(CASTS[crowd.group_id])
    for member in crowd.members:
        wanted.remove(member.kind)
    for kind in wanted:
        crowd.join(kind)
    crowd.settle()
    crowd.rebalances()
    return CASTS[crowd.group_id]


def owned(view: View) -> list[tuple[str, int]]:
    """All that the members say that they own."""
    return sorted(partition for partitions in view.owned.values() for partition in partitions)


def test_a_group_forms_and_owns_every_partition_once(crowd: Crowd, cast: tuple[str, ...]) -> None:
    view = crowd.settle()
    assert len(cast) == len(view.owned)
    assert EVERYTHING == owned(view)
    assert view.expected == view.owned == view.described


def test_a_member_more_and_a_member_less_are_rebalances_that_say_why(crowd: Crowd, cast: tuple[str, ...]) -> None:
    before = crowd.settle()
    fourth = crowd.join(cast[-1])
    more = crowd.settle(before.generation)
    assert 4 == len(more.owned)
    assert EVERYTHING == owned(more)
    assert more.expected == more.owned
    assert [RebalanceCause.CONSUMER_SUBSCRIBED] == crowd.causes()
    crowd.close(fourth)
    less = crowd.settle(more.generation)
    assert before.owned == less.owned
    assert [RebalanceCause.CONSUMER_CLOSED] == crowd.causes()


def test_the_rest_takes_over_from_a_member_that_was_killed(crowd: Crowd, cast: tuple[str, ...]) -> None:
    before = crowd.settle()
    victim = crowd.join(cast[0], session_ms=SHORT_SESSION)
    more = crowd.settle(before.generation)
    crowd.rebalances()
    began = time.monotonic()
    crowd.kill(victim)
    less = crowd.settle(more.generation)
    assert before.owned == less.owned
    assert EVERYTHING == owned(less)
    (rebalance,) = crowd.rebalances()
    assert RebalanceCause.APPLICATION_CRASHED is rebalance.cause
    assert victim.report.member_id in rebalance.reason
    assert SHORT_SESSION / 1000 / 2 < time.monotonic() - began


def test_a_member_that_falls_silent_counts_as_dead_and_comes_back_as_another(
    crowd: Crowd, cast: tuple[str, ...]
) -> None:
    before = crowd.settle()
    sleeper = crowd.join(cast[0], session_ms=SHORT_SESSION)
    more = crowd.settle(before.generation)
    crowd.rebalances()
    old_id = sleeper.report.member_id
    crowd.members.remove(sleeper)
    with sleeper.frozen():
        less = crowd.settle(more.generation)
    assert before.owned == less.owned
    (rebalance,) = crowd.rebalances()
    assert RebalanceCause.CONSUMER_DEAD is rebalance.cause
    assert old_id in rebalance.reason
    crowd.members.append(sleeper)
    again = crowd.settle(less.generation)
    assert 4 == len(again.owned)
    assert old_id not in again.owned
    assert [RebalanceCause.CONSUMER_SUBSCRIBED] == crowd.causes()
    crowd.close(sleeper)


def test_what_a_member_committed_is_found_by_its_successors(crowd: Crowd, cast: tuple[str, ...]) -> None:
    before = crowd.settle()
    committed = {}
    for number, member in enumerate(crowd.members):
        offsets = {at: (100 * number + at[1], f"by {member.kind} \u20ac") for at in member.report.assignment}
        member.commit(offsets)
        committed |= offsets
    leaving = crowd.members[-1]
    given_up = leaving.report.assignment
    crowd.close(leaving)
    crowd.settle(before.generation)
    found = {}
    for member in crowd.members:
        found |= member.committed(member.report.assignment)
    assert committed == found
    assert set(given_up) <= set(found)
    stored = crowd.server.committed(crowd.group_id)
    assert committed == {(*at,): (offset.offset, offset.metadata) for at, offset in stored.items()}
    assert len(cast) - 1 == len(crowd.members)


def test_members_go_on_in_their_generation_when_the_coordinator_crashed(crowd: Crowd, cast: tuple[str, ...]) -> None:
    before = crowd.settle()
    offsets = dict.fromkeys(crowd.members[0].report.assignment, (7, "before"))
    crowd.members[0].commit(offsets)
    answered = len(crowd.server.exchanges)
    crowd.server.crash()
    crowd.await_heartbeats(answered)
    after = crowd.settle()
    assert before == after
    assert [] == crowd.causes()
    assert offsets == crowd.members[0].committed(tuple(offsets))
    assert not [each for each in crowd.exchanges(answered) if isinstance(each.request, JoinGroupRequest)]
    assert len(cast) == len(after.owned)


@pytest.mark.parametrize("ends", ["is closed", "is killed"])
@pytest.mark.parametrize("kinds", CASTS.values(), ids=CASTS)
def test_a_static_member_that_comes_back_gets_what_it_had_without_a_rebalance(
    server: GroupServer, kinds: tuple[str, ...], ends: str
) -> None:
    with Crowd(server, f"static-{'-'.join(sorted(set(kinds)))}-{ends}", TOPICS) as crowd:
        for number, kind in enumerate(kinds[:2]):
            crowd.join(kind, instance_id=f"instance-{number}")
        before = crowd.settle()
        assert before.expected == before.owned
        crowd.rebalances()
        leader = next(each for each in crowd.members if each.settings.instance_id == "instance-0")
        old_id, old_owned = leader.report.member_id, leader.report.assignment
        if ends == "is closed":
            crowd.close(leader)
        else:
            crowd.kill(leader)
        again = crowd.join(leader.kind, instance_id="instance-0")
        after = crowd.settle()
        crowd.await_heartbeats(len(server.exchanges))
        assert [] == crowd.causes()
        assert before.generation == after.generation
        assert old_owned == again.report.assignment
        assert old_id != again.report.member_id
        assert {*before.owned} - {old_id} == {*after.owned} - {again.report.member_id}


@pytest.fixture(scope="module")
def leading_server() -> Iterator[GroupServer]:
    """A server whose coordinator assigns by itself."""
    with GroupServer(TOPICS, leads=True) as started:
        yield started
    assert [] == started.failures
    assert [] == started.problems


@pytest.mark.parametrize("name", CASTS)
def test_a_coordinator_that_leads_assigns_as_a_leader_does_and_follows_the_topics(
    leading_server: GroupServer, name: str
) -> None:
    leading_server.update_topics(TOPICS)
    with Crowd(leading_server, f"led-{name}", (*TOPICS, "later")) as crowd:
        for kind in CASTS[name]:
            crowd.join(kind)
        formed = crowd.settle()
        assert EVERYTHING == owned(formed)
        assert formed.expected == formed.owned
        crowd.rebalances()

        leading_server.update_topics({**TOPICS, "orders": 8})
        grown = crowd.settle(formed.generation)
        assert {("orders", partition) for partition in range(4, 8)} == {*owned(grown)} - {*EVERYTHING}
        assert grown.expected == grown.owned
        assert [RebalanceCause.PARTITIONS_INCREASED] == crowd.causes()

        leading_server.update_topics({**TOPICS, "orders": 8, "later": 2})
        created = crowd.settle(grown.generation)
        assert {("later", 0), ("later", 1)} == {*owned(created)} - {*owned(grown)}
        assert created.expected == created.owned
        assert [RebalanceCause.TOPIC_CREATED] == crowd.causes()

        joins = [each.response for each in crowd.exchanges() if isinstance(each.response, JoinGroupResponse)]
        assert {""} == {response.leader for response in joins}
        syncs = [each.request for each in crowd.exchanges() if isinstance(each.request, SyncGroupRequest)]
        assert syncs
        assert not any(request.assignments for request in syncs)


def test_garbage_ends_its_own_connection_and_disturbs_nobody(crowd: Crowd, cast: tuple[str, ...]) -> None:
    before = crowd.settle()
    answered, refused = len(crowd.server.exchanges), len(crowd.server.refused)
    for seed in range(300):
        garbage.throw(crowd.server.port, garbage.draw(seed))
    crowd.await_heartbeats(len(crowd.server.exchanges))
    assert before == crowd.settle()
    assert [] == crowd.causes()
    assert [] == crowd.server.failures
    assert 150 < len(crowd.server.refused) - refused
    others = [each for each in crowd.server.exchanges[answered:] if each.request.group_id != crowd.group_id]
    assert others, "some of it was understood, and answered"
    assert not [each for each in others if each.request.group_id == crowd.group_id]
    assert len(cast) == len(before.owned)


@given(st.sampled_from([(api, version) for api in VERSIONS for version in VERSIONS[api]]), st.binary(max_size=80))
def test_a_message_is_a_whole_request_or_none(asked: tuple[int, int], body: bytes) -> None:
    message = struct.pack(">hhi", *asked, 1) + body
    try:
        read: Frame | None = read_request(message, VERSIONS)
    except NotARequestError:
        read = None
    assert read is None or asked == (read.api, read.version)
