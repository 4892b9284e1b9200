"""Calls of the state machines, in the middle of their lives, with valid arguments for the tests to replace."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import UUID

from assignor import Subscription, SubscriptionState, TopicPartition
from assignor import coordinator as _coordinator
from assignor import subscription_state as ss
from assignor.member import HeartbeatResponse, Member, events
from assignor.wire import encode_subscription
from tests.hostile.calls import Call, _call

co: Any = _coordinator  # untyped, because the tests pass values of other types
T0 = TopicPartition("t", 0)
RANGE = (("range", encode_subscription(Subscription(("t",)))),)
COMMIT = co.OffsetCommitRequest("g", [co.OffsetToCommit("t", 0, 5)], 1, "a-1")


def new_coordinator(confirm_writes: bool = False) -> Any:
    """Return a coordinator with a stable group of one member, and committed offsets."""
    numbers = itertools.count(1)
    machine = co.Coordinator(
        co.CoordinatorConfig(initial_rebalance_delay_ms=0),
        partitions_per_topic={"t": 3},
        member_ids=lambda prefix: f"{prefix}-{next(numbers)}",
        confirm_writes=confirm_writes,
    )
    machine.join_group(co.JoinGroupRequest("g", client_id="a", protocols=RANGE), 0)
    machine.join_group(co.JoinGroupRequest("g", "a-1", client_id="a", protocols=RANGE), 0)
    sync = co.SyncGroupRequest("g", 1, "a-1", None, "consumer", "range", [("a-1", b"x")])
    effects = machine.sync_group(sync, 0)
    if not confirm_writes:
        machine.offset_commit(COMMIT, 0)
    else:
        assert effects.writes
    return machine


def coordinator_life(machine: Any) -> list[object]:
    """Return what a coordinator shows, and what it answers from now on."""
    seen: list[object] = [machine.groups(), machine.describe("g"), machine.committed("g"), machine.next_deadline()]
    seen.append(machine.heartbeat(co.HeartbeatRequest("g", 1, "a-1"), 10))
    seen.append(machine.join_group(co.JoinGroupRequest("g", client_id="b", protocols=RANGE), 20))
    seen.append(machine.expire(10_000_000))
    return [*seen, machine.groups(), machine.describe("g"), machine.next_deadline()]


def new_member() -> Member:
    """Return a member that has received an assignment."""
    member = Member("g", "m")
    member.handle(events.Subscribe(["t"]), 0)
    member.handle(events.CoordinatorFound(), 0)
    beat = member.handle(events.Poll(), 0)[0]
    number = beat.number  # type: ignore[union-attr]  # it is the heartbeat
    member.handle(events.HeartbeatSent(number), 0)
    response = HeartbeatResponse(member_epoch=1, heartbeat_interval_ms=1000, assignment={UUID(int=1): [0]})
    member.handle(events.ResponseReceived(number, response), 1)
    return member


def member_life(member: Member) -> list[object]:
    """Return what a member shows, and which effects it has from now on."""
    seen: list[object] = [repr(member), member.assignment, member.next_deadline()]
    seen.append(member.handle(events.MetadataArrived({UUID(int=1): "t"}), 2))
    seen.append(member.handle(events.Poll(), 3))
    seen.append(member.handle(events.Tick(), 5000))
    return [*seen, repr(member), member.next_deadline()]


def new_state() -> SubscriptionState:
    """Return a state with two assigned partitions, one of them with a position."""
    state = SubscriptionState("earliest")
    state.subscribe(["t"])
    state.assign_from_subscribed([T0, TopicPartition("t", 1)])
    state.seek(T0, 7)
    state.set_committed(T0, ss.OffsetAndMetadata(3))
    return state


def state_life(state: SubscriptionState) -> list[object]:
    """Return all that a state shows."""
    seen: list[object] = [repr(state), state.assigned_partitions_list(), state.subscription(), state.metadata_topics()]
    seen += [state.assignment_id(), state.initializing_partitions(), state.fetchable_partitions()]
    seen += [state.paused_partitions(), state.partitions_needing_reset(100)]
    for tp in state.assigned_partitions_list():
        seen += [state.position_or_null(tp), state.committed(tp), state.is_paused(tp), state.reset_strategy(tp)]
        seen += [state.preferred_read_replica(tp, 1), state.partition_end_offset_requested(tp)]
    return [*seen, state.rebalance_listener(), state.assigned_topic_ids(), state.needs_partition_assignment]


def _with(make: Callable[[], Any], method: str, build: Callable[..., object], **fields: Any) -> Callable[..., object]:
    """Return a function of the fields of a message, which it passes to a method of a new machine."""

    def pass_message(**given: Any) -> object:
        return getattr(make(), method)(build(**{**fields, **given}), 10)

    return pass_message


def _method_of(
    make: Callable[[], Any], method: str, arguments: dict[str, Any]
) -> tuple[Callable[..., object], dict[str, Any]]:
    return getattr(make(), method), arguments


def _methods_of(name: str, make: Callable[[], Any], methods: dict[str, dict[str, Any]]) -> Iterator[Call]:
    for method, arguments in methods.items():
        yield Call(f"{name}.{method}", partial(_method_of, make, method, arguments))


REQUESTS: dict[str, tuple[type, dict[str, Any]]] = {
    "join_group": (
        co.JoinGroupRequest,
        {"group_id": "g", "member_id": "", "protocol_type": "consumer", "protocols": RANGE, "client_id": "b"}
        | {"session_timeout_ms": 45_000, "rebalance_timeout_ms": 1000, "group_instance_id": None, "reason": None}
        | {"client_host": "", "version": 9},
    ),
    "sync_group": (
        co.SyncGroupRequest,
        {"group_id": "g", "generation_id": 1, "member_id": "a-1", "group_instance_id": None, "version": 5}
        | {"protocol_type": "consumer", "protocol_name": "range", "assignments": [("a-1", b"x")]},
    ),
    "heartbeat": (
        co.HeartbeatRequest,
        {"group_id": "g", "generation_id": 1, "member_id": "a-1", "group_instance_id": None, "version": 4},
    ),
    "leave_group": (
        co.LeaveGroupRequest,
        {"group_id": "g", "members": [co.LeavingMember("a-1")], "version": 5},
    ),
    "offset_commit": (
        co.OffsetCommitRequest,
        {"group_id": "g", "offsets": [co.OffsetToCommit("t", 0, 5)], "generation_id": 1, "member_id": "a-1"}
        | {"group_instance_id": None, "retention_time_ms": -1, "version": 9},
    ),
}


def _commit_of(**fields: Any) -> Any:
    return co.OffsetCommitRequest("g", [co.OffsetToCommit(**fields)], 1, "a-1")


def _leave_of(**fields: Any) -> Any:
    return co.LeaveGroupRequest("g", [co.LeavingMember(**fields)])


def _load_of(**fields: Any) -> list[Any]:
    return [co.LogRecord(**fields)]


def _position_of(**fields: Any) -> ss.FetchPosition:
    return ss.FetchPosition(**fields)


def _coordinator_calls() -> Iterator[Call]:
    config = dict.fromkeys(co.CoordinatorConfig.__dataclass_fields__, 7)
    yield _call("assignor.coordinator.CoordinatorConfig", co.CoordinatorConfig, **config)
    given = {"config": None, "assignor": None, "partitions_per_topic": {"t": 1}, "member_ids": str}
    yield _call("assignor.coordinator.Coordinator", co.Coordinator, **given, confirm_writes=False)
    for method, (kind, fields) in REQUESTS.items():
        yield _call(f"assignor.coordinator.{kind.__name__}", kind, **fields)
        build = _with(new_coordinator, method, kind, **fields)
        yield _call(f"assignor.coordinator.Coordinator.{method} with its fields", build, **fields)
    commit = {"topic": "t", "partition": 0, "offset": 5, "metadata": "", "leader_epoch": -1, "topic_id": None}
    build = _with(new_coordinator, "offset_commit", _commit_of, **commit)
    yield _call("assignor.coordinator.Coordinator.offset_commit with OffsetToCommit", build, **commit)
    leaving = {"member_id": "a-1", "group_instance_id": None, "reason": None}
    build = _with(new_coordinator, "leave_group", _leave_of, **leaving)
    yield _call("assignor.coordinator.Coordinator.leave_group with LeavingMember", build, **leaving)
    record = {"key": b"\0\2\0\1x", "value": None}
    build = _with(new_coordinator, "load", _load_of, **record)
    yield _call("assignor.coordinator.Coordinator.load with LogRecord", build, **record)
    methods = {
        method: {"request": kind(**fields), "now": 10, "correlation": 7} for method, (kind, fields) in REQUESTS.items()
    }
    methods |= {
        "delete_group": {"group_id": "g", "now": 10},
        "disconnected": {"group_id": "g", "member_id": "a-1", "now": 10},
        "update_metadata": {"partitions_per_topic": {"t": 4}, "now": 10},
        "expire": {"now": 10},
        "next_deadline": {},
        "load": {"records": [], "now": 10},
        "unload": {"now": 10},
        "groups": {},
        "describe": {"group_id": "g"},
        "committed": {"group_id": "g"},
    }
    yield from _methods_of("assignor.coordinator.Coordinator", new_coordinator, methods)
    methods = {"written": {"number": 1, "now": 10}, "write_failed": {"number": 1, "error": 19, "now": 10}}
    yield from _methods_of("assignor.coordinator.Coordinator", lambda: new_coordinator(True), methods)


def _event_calls() -> Iterator[Call]:
    found: dict[type, dict[str, Any]] = {
        events.Subscribe: {"topics": ["t"], "pattern": "t.*"},
        events.Leave: {},
        events.Poll: {},
        events.Tick: {},
        events.HeartbeatSent: {"number": 2},
        events.ResponseReceived: {"number": 2, "response": HeartbeatResponse(member_epoch=1)},
        events.TransportFailed: {"number": 2, "retriable": True, "message": ""},
        events.CoordinatorFound: {},
        events.CoordinatorLost: {},
        events.MetadataArrived: {"names": {UUID(int=1): "t"}},
        events.CommitDone: {"number": 2},
        events.CommitFailed: {"number": 2, "message": ""},
        events.CallbackDone: {"number": 2},
        events.CallbackFailed: {"number": 2, "message": ""},
    }
    for kind, fields in found.items():
        yield _call(f"assignor.member.events.{kind.__name__}", kind, **fields)
        build = _with(new_member, "handle", kind, **fields)
        yield _call(f"assignor.member.Member.handle with {kind.__name__}", build, **fields)


def _member_calls() -> Iterator[Call]:
    switches = ("auto_commit", "heartbeat_while_preparing_to_leave", "heartbeat_while_fenced", "join_at_once")
    given: dict[str, Any] = {
        "group_id": "g",
        "member_id": "m",
        "instance_id": "i",
        "rack_id": "r",
        "server_assignor": "uniform",
    }
    given |= dict.fromkeys(("rebalance_timeout_ms", "retry_backoff_ms", "retry_backoff_max_ms"), 5)
    given |= {"jitter": 0.1, "request_timeout_ms": 5, **dict.fromkeys(switches, False)}
    yield _call("assignor.member.Member", Member, **given)
    fields: dict[str, Any] = {
        "error_code": 0,
        "error_message": "",
        "member_id": "m",
        "member_epoch": 1,
        "heartbeat_interval_ms": 5,
    }
    fields["assignment"] = {UUID(int=1): [0]}
    yield _call("assignor.member.HeartbeatResponse", HeartbeatResponse, **fields)
    methods = {"handle": {"event": events.Poll(), "now": 10}, "next_deadline": {}, "commit_identity": {}}
    yield from _methods_of("assignor.member.Member", new_member, methods)
    yield from _event_calls()


POSITION = ss.FetchPosition(5, 1, ss.LeaderAndEpoch(ss.Node(1), 1))
ARGUMENTS: dict[str, Any] = {
    "tp": T0,
    "partitions": [T0],
    "topics": ["t"],
    "topic": "t",
    "topic_names": ["t"],
    "topic_ids": [UUID(int=1)],
    "topic_id": UUID(int=1),
    "what": ["t"],
    "listener": None,
    "full": [T0],
    "added": [T0],
    "pending": True,
    "predicate": None,
    "offset": 5,
    "position": POSITION,
    "strategy": "latest",
    "now": 10,
    "next_allowed": 10,
    "next_retry": 10,
    "leader_and_epoch": ss.LeaderAndEpoch(ss.Node(1), 1),
    "api_versions": True,
    "epoch_end_offset": ss.EpochEndOffset(1, 5),
    "isolation_level": ss.IsolationLevel.READ_COMMITTED,
    "replica": 1,
    "expires_at": lambda: 10,
    "committed": ss.OffsetAndMetadata(5),
    "include_internal": False,
}
"""Valid values of the parameters of `SubscriptionState`, by name."""


def _seek(method: str, offset: Any, offset_epoch: Any, current_leader: Any) -> object:
    return getattr(new_state(), method)(T0, ss.FetchPosition(offset, offset_epoch, current_leader))


def _state_calls() -> Iterator[Call]:
    import inspect

    yield _call("assignor.SubscriptionState", SubscriptionState, default_reset_strategy="latest")
    for method, function in vars(SubscriptionState).items():
        if method.startswith("_") or not callable(function):
            continue
        names = [name for name in inspect.signature(function).parameters if name != "self"]
        given = {name: ARGUMENTS[name] for name in names if name in ARGUMENTS}
        given |= {name: POSITION for name in names if name not in ARGUMENTS}
        yield from _methods_of("assignor.SubscriptionState", new_state, {method: given})
    position = {"offset": 5, "offset_epoch": 1, "current_leader": ss.LeaderAndEpoch(ss.Node(1), 1)}
    for method in ("seek_validated", "seek_unvalidated"):
        yield _call(f"assignor.SubscriptionState.{method} with FetchPosition", partial(_seek, method), **position)
    yield _call(
        "assignor.subscription_state.OffsetAndMetadata", ss.OffsetAndMetadata, offset=5, leader_epoch=1, metadata=""
    )
    yield _call("assignor.subscription_state.SubscriptionPattern", ss.SubscriptionPattern, pattern="t")
    kind = ss.AutoOffsetResetStrategy
    yield _call("assignor.subscription_state.AutoOffsetResetStrategy", kind, type=ss.StrategyType.LATEST, duration=None)
    yield _call("assignor.subscription_state.AutoOffsetResetStrategy.from_string", kind.from_string, text="latest")
    durations = {"now": 10}
    by_duration = kind.from_string("by_duration:PT1H")
    yield _call("assignor.subscription_state.AutoOffsetResetStrategy.timestamp", by_duration.timestamp, **durations)


MACHINES: dict[type, Callable[[Any], list[object]]] = {
    co.Coordinator: coordinator_life,
    Member: member_life,
    SubscriptionState: state_life,
}
"""Class of a state machine to the function that returns what it shows and does from now on."""

CALLS = [*_coordinator_calls(), *_member_calls(), *_state_calls()]
"""Calls of state machines and constructors of their messages."""
