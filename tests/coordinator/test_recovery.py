"""A coordinator that reads another's log has all acknowledged results, and its members continue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from assignor.coordinator import (
    Answer,
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitResponse,
    RebalanceCause,
    SyncGroupRequest,
    SyncGroupResponse,
)
from assignor.coordinator import coordinator as coordinator_module
from assignor.coordinator.records import read_groups
from tests.coordinator.recovery import (
    GROUP_METADATA,
    OFFSET_COMMIT,
    REBALANCE_MS,
    SESSION_MS,
    Actor,
    World,
    contains,
    described,
    description_of,
    stored,
)
from tests.support.record_bytes import subscription

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.coordinator import LogRecord
    from assignor.coordinator.group import ClassicGroup
    from tests.coordinator.recovery import ReceivedAssignment, Stored

Step = tuple[str, int, int, bool]
"""Action, index of the member, argument of the action, and True if the log then confirms all pending writes."""

GROUPS = ("orders", "mail")

WRITE_ERRORS = {
    3: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    7: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    19: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    6: ErrorCode.NOT_COORDINATOR,
    56: ErrorCode.NOT_COORDINATOR,
    15: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    16: ErrorCode.NOT_COORDINATOR,
    10: ErrorCode.UNKNOWN_SERVER_ERROR,
    18: ErrorCode.UNKNOWN_SERVER_ERROR,
    4: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""Errors of the log by Kafka's number, with the error code of the waiting requests."""

EVERYTHING = ["again", "leave", "restart", "wait", "delete", "crash", "fail"]
OFTEN = ["go", "round", "settle", "commit"]


def actors() -> list[Actor]:
    """Return members of two groups, some of them static."""
    return [
        Actor("a", "orders"),
        Actor("b", "orders", version=3),
        Actor("c", "orders", "inst-c"),
        Actor("d", "orders", "inst-d"),
        Actor("e", "mail"),
        Actor("f", "mail", "inst-f"),
    ]


steps = st.tuples(
    st.sampled_from(OFTEN * 3 + EVERYTHING),
    st.integers(0, len(actors()) - 1),
    st.integers(0, 9),
    st.booleans(),
)
programs = st.lists(steps, max_size=40) | st.lists(steps, min_size=20, max_size=60)


def run_step(world: World, step: Step) -> None:
    """Run one step of a program."""
    name, place, number, flag = step
    actor = world.actors[place]
    if name == "go":
        world.advance(actor)
    elif name == "round":
        for each in world.actors:
            if each.group_id == actor.group_id:
                world.advance(each)
    elif name == "settle":
        settle(world, rounds=number)
    elif name == "again":
        actor.metadata = subscription("orders", rack=f"rack-{number}")
        world.join(actor)
    elif name == "leave":
        if actor.member_id:
            world.leave(actor)
    elif name == "restart":
        actor.forget()
    elif name == "commit":
        world.commit(actor, number % 2)
    elif name == "wait":
        world.wait([0, 1, 1_000, 3_000, REBALANCE_MS - 1, REBALANCE_MS, SESSION_MS, 60_000][number % 8])
    elif name == "delete":
        world.delete(actor.group_id)
    elif name == "fail":
        error, answered = list(WRITE_ERRORS.items())[number % len(WRITE_ERRORS)]
        assert {answered} >= {error_of(answer) for answer in world.fail(error)}
    else:
        crash(world, kept=number, compacted=flag)
    if world.confirm_writes and flag:
        world.confirm_all()


def error_of(answer: Answer) -> ErrorCode:
    response = answer.response
    return response.partitions[0].error_code if isinstance(response, OffsetCommitResponse) else response.error_code


def crash(world: World, *, kept: int = 0, compacted: bool = False) -> None:
    """Crash the coordinator, and check the state of the next one."""
    before = {group_id: world.coordinator.describe(group_id) for group_id in GROUPS}
    lagging = {write.group_id for write in world.pending} | world.behind
    world.crash(kept=kept, compacted=compacted)
    for group_id in GROUPS:
        found = stored(world.log, group_id)
        assert_log(world, group_id, found)
        assert_description(world, group_id, found)
        assert_members_continue(world, group_id, found)
        world.crashes.append((before[group_id].state, bool(found.generations)))
        # Neither a rebalance in progress nor a group without any stored data is in the log.
        settled = before[group_id].state in (GroupState.STABLE, GroupState.EMPTY)
        if settled and group_id not in lagging and (found.generations or found.offsets):
            assert described(before[group_id]) == described(world.coordinator.describe(group_id))


def assert_log(world: World, group_id: str, found: Stored) -> None:
    """Check that the log has all acknowledged results."""
    for each in world.received.get(group_id, ()):
        assert any(contains(generation, each) for generation in found.generations), f"{each} is lost"
        assert each.generation <= found.generations[-1]["generation"]
    for (committed_in, partition), offset in world.committed.items():
        if committed_in == group_id:
            assert partition in found.offsets, f"the offset of {partition} is lost"
            assert offset <= found.offsets[partition]
            assert world.confirm_writes or offset == found.offsets[partition]


def assert_description(world: World, group_id: str, found: Stored) -> None:
    """Check that the coordinator has the contents of the log."""
    offsets = {partition: each.offset for partition, each in world.coordinator.committed(group_id).items()}
    assert found.offsets == offsets
    description = described(world.coordinator.describe(group_id))
    if found.generations:
        assert description_of(found.generations[-1]) == description
    else:
        assert (GroupState.EMPTY if offsets else GroupState.DEAD, "", "", {}) == description


def assert_members_continue(world: World, group_id: str, found: Stored) -> None:
    """Check that the members of the last generation can continue until their sessions expire."""
    members = found.generations[-1]["members"] if found.generations else []
    if not members:
        return
    generation, leader = found.generations[-1]["generation"], found.generations[-1]["leader"]
    protocol = ("consumer", "range")
    probe, now = world.load_log(), world.now
    for member in members:
        who = member["memberId"], member["groupInstanceId"]
        for number, error in {
            generation: ErrorCode.NONE,
            generation - 1: ErrorCode.ILLEGAL_GENERATION,
            generation + 1: ErrorCode.ILLEGAL_GENERATION,
        }.items():
            (answer,) = probe.heartbeat(HeartbeatRequest(group_id, number, *who), now).answers
            assert HeartbeatResponse(error) == answer.response
        sync = SyncGroupRequest(group_id, generation, *who, *protocol)
        (answer,) = probe.sync_group(sync, now).answers
        assert SyncGroupResponse(ErrorCode.NONE, *protocol, member["assignment"]) == answer.response
        if member["memberId"] != leader:
            (answer,) = probe.join_group(rejoin_request(group_id, member), now).answers
            assert JoinGroupResponse(ErrorCode.NONE, who[0], generation, *protocol, leader) == answer.response
    assert () == probe.expire(now + SESSION_MS - 1).rebalances
    assert GroupState.STABLE is probe.describe(group_id).state
    (rebalance,) = (each for each in probe.expire(now + SESSION_MS).rebalances if each.group_id == group_id)
    assert (generation, RebalanceCause.CONSUMER_DEAD) == (rebalance.generation, rebalance.cause)
    leading = next(member for member in members if member["memberId"] == leader)
    (rebalance,) = world.load_log().join_group(rejoin_request(group_id, leading), now).rebalances
    assert RebalanceCause.LEADER_REJOINED is rebalance.cause


def rejoin_request(group_id: str, member: dict[str, Any]) -> JoinGroupRequest:
    """Return an unchanged join of a member."""
    return JoinGroupRequest(
        group_id,
        member["memberId"],
        protocols=(("range", member["subscription"]),),
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        group_instance_id=member["groupInstanceId"],
        client_id=member["clientId"],
    )


FIRST_RECORD_LOST = [("go", 1, 0, False), ("go", 1, 0, False), ("fail", 0, 0, False), ("go", 0, 0, True)]
"""The first record of a new group is not written, but the record of its first generation is."""

DELETED_WHILE_COMMITTING = [("go", 1, 0, False), ("wait", 0, 5, False), ("commit", 0, 0, False), ("delete", 0, 0, True)]
"""A group is deleted while one of its offsets is being written."""


@example(FIRST_RECORD_LOST, True)
@example(DELETED_WHILE_COMMITTING, True)
@given(programs, st.booleans())
def test_acknowledged_results_survive_any_crash(program: list[Step], confirm_writes: bool) -> None:
    world = World(actors(), confirm_writes=confirm_writes)
    for step in program:
        run_step(world, step)
    crash(world)
    for state, has_generations in world.crashes:
        event(f"crash while {state.value}, {'with' if has_generations else 'without'} generations")
    assert [] == world.pending


def settle(world: World, rounds: int = 30) -> None:
    """Run the members until all of them are in the group, at most for this number of rounds."""
    for _ in range(rounds):
        for actor in world.actors:
            world.advance(actor)
            world.confirm_all()
        world.wait(100)
        world.confirm_all()
        if all(actor.phase == "in" for actor in world.actors):
            return


def run_until_settled(world: World) -> World:
    """Run a world until its members have joined and committed and one static member has returned."""
    settle(world)
    for number, actor in enumerate(world.actors):
        world.commit(actor, number % 2)
    world.actors[2].forget()
    settle(world)
    assert ["in"] * len(world.actors) == [actor.phase for actor in world.actors]
    return world


@pytest.mark.parametrize("confirm_writes", [False, True])
def test_members_continue_unchanged_after_a_crash(confirm_writes: bool) -> None:
    world = run_until_settled(World(actors(), confirm_writes=confirm_writes))
    before = [(actor.member_id, actor.generation) for actor in world.actors]

    crash(world)
    records = len(world.log)
    for _ in range(20):
        world.wait(SESSION_MS - 1)
        for actor in world.actors:
            world.heartbeat(actor)

    assert before == [(actor.member_id, actor.generation) for actor in world.actors]
    assert ["in"] * len(before) == [actor.phase for actor in world.actors]
    assert records == len(world.log)
    assert {GroupState.STABLE} == {world.coordinator.describe(group_id).state for group_id in GROUPS}


@pytest.mark.parametrize("error", WRITE_ERRORS)
def test_waiting_syncs_get_the_error_of_a_failed_write(error: int) -> None:
    world = run_until_settled(World(actors(), confirm_writes=True))
    leader, followers, given = syncs_waiting_for_a_write(world)

    answers = world.fail(error)

    failed = {SyncGroupResponse(WRITE_ERRORS[error])}
    assert (1 + len(followers), failed) == (len(answers), {answer.response for answer in answers})
    assert GroupState.PREPARING_REBALANCE is world.coordinator.describe("orders").state
    assert given == world.received["orders"]
    crash(world)
    settle(world)
    assert ["in"] * len(world.actors) == [actor.phase for actor in world.actors]
    assert leader.generation == followers[0].generation


def syncs_waiting_for_a_write(world: World) -> tuple[Actor, list[Actor], list[ReceivedAssignment]]:
    """Rebalance the group up to the write of its assignment; return leader, followers and earlier assignments."""
    members = [actor for actor in world.actors if actor.group_id == "orders"]
    given = list(world.received["orders"])
    members[0].metadata = subscription("orders", rack="elsewhere")
    world.join(members[0])
    for actor in members[1:]:
        world.heartbeat(actor)
        world.join(actor)
    for actor in members:
        world.sync(actor)
    (leader,) = (actor for actor in members if actor.answer and actor.answer.leader == actor.member_id)
    assert [1, ["syncing"] * 4] == [len(world.pending), [actor.phase for actor in members]]
    return leader, [actor for actor in members if actor is not leader], given


# ---- the checks can fail


def kind(record: LogRecord) -> int:
    return int.from_bytes(record.key[:2], "big")


@pytest.mark.parametrize("number", [GROUP_METADATA, OFFSET_COMMIT])
@pytest.mark.parametrize("nth", [-1, -2])
def test_a_lost_record_is_detected(number: int, nth: int) -> None:
    kept = run_until_settled(World(actors())).log
    lost = [place for place, record in enumerate(kept) if kind(record) == number][nth]
    seen = 0

    def forgets(_: LogRecord) -> bool:
        nonlocal seen
        seen += 1
        return seen == lost + 1

    world = run_until_settled(World(actors(), forgets=forgets))
    assert len(kept) - 1 == len(world.log)
    with pytest.raises((AssertionError, IndexError)):
        crash(world)


def changed_group(**fields: Any) -> Callable[[ClassicGroup], None]:
    """Return a function that changes a loaded group."""

    def change(group: ClassicGroup) -> None:
        for name, value in fields.items():
            setattr(group, name, value)

    return change


def changed_member(**fields: Any) -> Callable[[ClassicGroup], None]:
    """Return a function that changes the first member of a loaded group."""

    def change(group: ClassicGroup) -> None:
        for name, value in fields.items():
            setattr(group.members.in_order()[0], name, value)

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(changed_group(leader="unknown"), id="the leader"),
        pytest.param(changed_group(generation=0), id="the generation"),
        pytest.param(changed_group(protocol_type="other"), id="the type of protocol"),
        pytest.param(changed_group(state=GroupState.COMPLETING_REBALANCE), id="the state"),
        pytest.param(changed_group(offsets={}), id="the offsets"),
        pytest.param(lambda group: group.static_members.clear(), id="the static members"),
        pytest.param(lambda group: group.remove(group.members.in_order()[0].member_id), id="a member"),
        pytest.param(changed_member(assignment=b""), id="an assignment"),
        pytest.param(changed_member(client_host=""), id="a client"),
        pytest.param(changed_member(protocols=(("range", b""),)), id="a subscription"),
        pytest.param(changed_member(session_timeout_ms=SESSION_MS - 2), id="a timeout"),
    ],
)
def test_a_coordinator_that_loses_state_is_detected(
    change: Callable[[ClassicGroup], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = run_until_settled(World(actors()))

    def read_badly(*arguments: Any) -> Any:
        groups, problems = read_groups(*arguments)
        change(groups[0])
        return groups, problems

    crash(world)
    assert [(GroupState.STABLE, True)] * 2 == world.crashes
    monkeypatch.setattr(coordinator_module, "read_groups", read_badly)
    with pytest.raises((AssertionError, ValueError)):
        crash(world)
