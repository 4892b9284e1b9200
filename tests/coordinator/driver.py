"""Driver for the members of one classic group: it keeps their ids and generations, and sends requests for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from assignor import Subscription
from assignor.coordinator import (
    Coordinator,
    CoordinatorConfig,
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetToCommit,
    SyncGroupRequest,
    SyncGroupResponse,
)
from assignor.wire import encode_subscription

if TYPE_CHECKING:
    from assignor.coordinator import Effects, Rebalance, RebalanceCause
    from assignor.coordinator.context import LogRecord
    from assignor.coordinator.requests import Request
    from assignor.coordinator.responses import Response

GROUP = "orders"

RANGE = (("range", encode_subscription(Subscription(("t0",)))),)
"""Default protocols of a member."""

METHODS: dict[type[Request], str] = {
    JoinGroupRequest: "join_group",
    SyncGroupRequest: "sync_group",
    HeartbeatRequest: "heartbeat",
    LeaveGroupRequest: "leave_group",
    OffsetCommitRequest: "offset_commit",
}
"""Name of each request: that of the coordinator's method, and of kio's message."""

AT_ONCE = CoordinatorConfig(initial_rebalance_delay_ms=0)
"""Settings with which the first member's join is answered without a delay."""


def sequential_ids() -> Any:
    """Return a function for predictable member ids: `a-1`, `a-2`, `b-3`."""
    given = 0

    def member_id(prefix: str) -> str:
        nonlocal given
        given += 1
        return f"{prefix}-{given}"

    return member_id


@dataclass
class GroupDriver:
    """A coordinator and its answers.

    Attributes:
        coordinator: The coordinator.
        now: Time of the next call.
        answers: Latest answer by (member name, kind of request).
        ids: Member ids by name.
        generations: Generations by name.
        rebalances: All rebalances, in order.
        log: All records that were written.
        problems: All reported problems.
    """

    coordinator: Coordinator
    now: int = 0
    answers: dict[tuple[str, str], Response] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    rebalances: list[Rebalance] = field(default_factory=list)
    log: list[LogRecord] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @classmethod
    def begin(cls, config: CoordinatorConfig = AT_ONCE, **options: Any) -> GroupDriver:
        """Return a driver for a coordinator with these settings and no groups."""
        return cls(Coordinator(config, member_ids=sequential_ids(), **options))

    @property
    def causes(self) -> list[RebalanceCause]:
        """Causes of all rebalances so far."""
        return [rebalance.cause for rebalance in self.rebalances]

    def collect(self, effects: Effects) -> Effects:
        """Store the effects of a call."""
        self.log += effects.records
        self.rebalances += effects.rebalances
        self.problems += effects.problems
        for answer in effects.answers:
            name, what = cast("tuple[str, str]", answer.correlation)
            self.answers[name, what] = answer.response
            if isinstance(answer.response, JoinGroupResponse) and answer.response.error_code is ErrorCode.NONE:
                self.ids[name] = answer.response.member_id
                self.generations[name] = answer.response.generation_id
        return effects

    def join(self, name: str, **fields: Any) -> JoinGroupResponse | None:
        """Join as this member; return the answer if there is one."""
        request = JoinGroupRequest(
            GROUP,
            **{
                "member_id": self.ids.get(name, ""),
                "protocols": RANGE,
                "session_timeout_ms": 10_000,
                "rebalance_timeout_ms": 60_000,
                "client_id": name,
                "version": 3,
                **fields,
            },
        )
        answer = self._ask(name, "join", request)
        assert answer is None or isinstance(answer, JoinGroupResponse)
        return answer

    def sync(self, name: str, assignment: dict[str, bytes] | None = None, **fields: Any) -> SyncGroupResponse | None:
        """Send a sync, with assignments by name for a leader; return the answer if there is one."""
        request = SyncGroupRequest(
            GROUP,
            **{
                "generation_id": self.generations.get(name, -1),
                "member_id": self.ids.get(name, ""),
                "assignments": tuple((self.ids[each], blob) for each, blob in (assignment or {}).items()),
                "version": 3,
                **fields,
            },
        )
        answer = self._ask(name, "sync", request)
        assert answer is None or isinstance(answer, SyncGroupResponse)
        return answer

    def heartbeat(self, name: str, **fields: Any) -> ErrorCode:
        """Send a heartbeat; return the error code of the answer."""
        request = HeartbeatRequest(
            GROUP,
            **{"generation_id": self.generations.get(name, -1), "member_id": self.ids.get(name, ""), **fields},
        )
        return self._ask(name, "heartbeat", request).error_code  # type: ignore[union-attr]  # a heartbeat response

    def leave(self, *names: str, **fields: Any) -> Response | None:
        """Leave in one request; return the answer if there is one."""
        leaving = tuple(LeavingMember(self.ids.get(name, "")) for name in names)
        request = LeaveGroupRequest(GROUP, **{"members": leaving, **fields})
        return self._ask(names[0] if names else "", "leave", request)

    def commit(self, name: str, offset: int, topic: str = "t0", partition: int = 0, **fields: Any) -> ErrorCode | None:
        """Commit one offset; return its error code if there is an answer."""
        request = OffsetCommitRequest(
            GROUP,
            **{
                "offsets": (OffsetToCommit(topic, partition, offset),),
                "generation_id": self.generations.get(name, -1),
                "member_id": self.ids.get(name, ""),
                **fields,
            },
        )
        answer = self._ask(name, "commit", request)
        return None if answer is None else answer.partitions[0].error_code  # type: ignore[union-attr]  # a commit response

    def _ask(self, name: str, what: str, request: Request) -> Response | None:
        """Send a request; return the answer if there is one."""
        self.answers.pop((name, what), None)
        self.collect(getattr(self.coordinator, METHODS[type(request)])(request, self.now, (name, what)))
        return self.answers.get((name, what))

    def wait(self, milliseconds: int) -> Effects:
        """Advance the time and fire the timers that are due."""
        self.now += milliseconds
        return self.collect(self.coordinator.expire(self.now))

    def settle(self, *names: str, assignment: dict[str, bytes] | None = None) -> None:
        """Bring these members into one generation, with their assignments."""
        for name in names:
            self.join(name)
        for name in names:
            # Earlier members join again, because the new ones started a rebalance.
            if (name, "join") in self.answers and self.state() == "PreparingRebalance":
                self.join(name)
        leader = self.coordinator.describe(GROUP).leader
        for name in sorted(names, key=lambda name: self.ids[name] != leader):
            self.sync(name, assignment if self.ids[name] == leader else None)

    def state(self) -> str:
        """Return the name of the group's state."""
        return self.coordinator.describe(GROUP).state.value
