"""Groups on which the coordinator is timed: they form, rebalance, send heartbeats, and lose members.

A group set is a number of groups with the same number of members. Requests are created before the clock starts, and
answers are checked after it has stopped: a wrong answer ends the run. The coordinator's time is an argument, so
sessions expire without waiting.
"""

from __future__ import annotations

import itertools
import random
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assignor import RangeAssignor, Subscription, plan
from assignor.coordinator import (
    Answer,
    Coordinator,
    CoordinatorConfig,
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetToCommit,
    SyncGroupRequest,
)
from assignor.wire import decode_subscription, encode_subscription
from benches.checks import require as require_that

SESSION_MS = 300_000
"""Session timeout, longer than any phase; within the limits that Kafka allows by default."""

DELAY_MS = 3_000
"""Initial rebalance delay of an empty group, Kafka's default."""

RUN = 100
"""Number of members of a large group that share a subscription."""

Phases = dict[str, float]
"""Seconds of each phase, for all members."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class GroupSet:
    """Groups of the same size.

    Attributes:
        groups: Number of groups.
        members: Number of members of each group.
        topics: Number of topics that each member subscribes to; 100 members share their topics.
        partitions: Number of partitions of each topic.
    """

    groups: int
    members: int
    topics: int = 10
    partitions: int = 100

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"{self.groups:,} x {self.members:,}"

    @property
    def size(self) -> int:
        """Number of members of all groups."""
        return self.groups * self.members

    def topics_of(self, member: int) -> list[str]:
        """Return the topics of a member, given its number in its group."""
        first = member // RUN * self.topics
        return [f"topic{number}" for number in range(first, first + self.topics)]

    def partitions_per_topic(self) -> dict[str, int]:
        """Return the partition counts of all topics."""
        runs = range(0, self.members, RUN)
        return {topic: self.partitions for run in runs for topic in self.topics_of(run)}


@dataclass(slots=True)
class CoordinatedGroups:
    """Coordinator with all groups of a group set.

    Attributes:
        group_set: Number and size of the groups.
        embedded: True if the coordinator does the leader's work.
        coordinator: The coordinator.
        now: The coordinator's time, in milliseconds.
        members: Member ids of each group, in the order in which they joined.
        leaders: Number of the leader of each group.
        generation: Generation of all groups.
        spent: Number of groups, from the first, that have lost members and are no longer used.
    """

    group_set: GroupSet
    embedded: bool = False
    now: int = 0
    members: list[list[str]] = field(default_factory=list)
    leaders: list[int] = field(default_factory=list)
    generation: int = 0
    spent: int = 0
    coordinator: Coordinator = field(init=False)
    _subscriptions: list[bytes] = field(init=False)
    _anew: bytes = b""
    _assignments: list[tuple[tuple[str, bytes], ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        draw = random.Random(self.group_set.size)
        leading: dict[str, Any] = {"assignor": RangeAssignor()} if self.embedded else {}
        self.coordinator = Coordinator(
            CoordinatorConfig(initial_rebalance_delay_ms=DELAY_MS),
            partitions_per_topic=self.group_set.partitions_per_topic(),
            member_ids=lambda prefix: f"{prefix}-{uuid.UUID(int=draw.getrandbits(128), version=4)}",
            **leading,
        )
        self._subscriptions = subscriptions_of(self.group_set)

    def group_ids(self) -> list[str]:
        """Return the names of the groups."""
        return [f"group-{number}" for number in range(self.group_set.groups)]

    def form(self) -> Phases:
        """Create all groups and bring them to Stable."""
        groups = self.group_ids()
        strangers = [
            JoinGroupRequest(group, protocols=(("range", data),), client_id="bench", **_TIMEOUTS)
            for group in groups
            for data in self._subscriptions
        ]
        spent, answers = _timed(lambda: self.send("join_group", strangers))
        phases = {"first joins, without id": spent}
        responses: list[Any] = [answer.response for answer in answers]
        require(len(responses) == len(strangers), f"{len(responses):,} answers to {len(strangers):,} joins")
        require_errors(responses, {ErrorCode.MEMBER_ID_REQUIRED}, "joins without a member id")
        ids, size = [response.member_id for response in responses], self.group_set.members
        self.members = [ids[start : start + size] for start in range(0, len(ids), size)]
        del answers, responses
        joins = self.joins()
        phases["first joins, with id"], answers = _timed(lambda: self.send("join_group", joins))
        self.now += 2 * DELAY_MS  # members joined during the first step of the delay, so a second step follows
        phases["end of the initial delay"], late = _timed(lambda: self.coordinator.expire(self.now).answers)
        self._joined([*answers, *late])
        return phases | self._sync()

    def rebalance(self) -> Phases:
        """Let every member join again, leaders first, and fetch its assignment, leaders last."""
        self.now += 1000
        making, joins = _timed(self.joins)
        joining, answers = _timed(lambda: self.send("join_group", joins))
        self._joined(answers)
        return {"creating joins": making, "joins": joining} | self._sync()

    def heartbeat_all(self) -> Phases:
        """Send a heartbeat of every member, 100 per millisecond of the coordinator's time."""
        making, beats = _timed(self.heartbeats)
        beating, answers = _timed(lambda: self.send("heartbeat", beats, 100))
        self.now += len(beats) // 100
        require(len(answers) == len(beats), f"{len(answers):,} answers to {len(beats):,} heartbeats")
        require_errors((answer.response for answer in answers), {ErrorCode.NONE}, "heartbeats")
        return {"creating heartbeats": making, "heartbeats": beating}

    def expire(self, silent: Sequence[HeartbeatRequest], others: Sequence[HeartbeatRequest]) -> float:
        """Let the sessions of members expire at once, and return the seconds; the others send heartbeats until then."""
        now, deadline = self.now + 10, self.now + 10 + SESSION_MS
        for some, self.now in ((silent, now), (others, now + SESSION_MS // 2)):
            self.send("heartbeat", some)
        # Process everything that is due before the deadline, so that only the expiry of the sessions is timed.
        self.coordinator.expire(deadline - 1)
        spent, effects = _timed(lambda: self.coordinator.expire(deadline))
        groups = len({beat.group_id for beat in silent})
        rebalances = f"{len(effects.rebalances):,} groups rebalance instead of {groups:,} when sessions expire"
        require(len(effects.rebalances) == groups, rebalances)
        self.now = deadline
        self.send("heartbeat", others)
        return spent

    def send(self, call: str, requests: Sequence[Any], per_millisecond: int | None = None) -> list[Answer]:
        """Pass requests to a method of the coordinator, and return the answers.

        Args:
            call: Name of the method.
            requests: Each is also the correlation of its answer.
            per_millisecond: Number of requests in a millisecond of the coordinator's time; by default it stands still.
        """
        answers: list[Answer] = []
        method, now, step = getattr(self.coordinator, call), self.now, per_millisecond or len(requests) + 1
        for number, request in enumerate(requests):
            answers += method(request, now + number // step, request).answers
        return answers

    def heartbeats(self, most: int | None = None) -> list[HeartbeatRequest]:
        """Return a heartbeat of each member of the groups that are not spent, or of about `most` members."""
        return [HeartbeatRequest(group, self.generation, member) for group, member in self._unspent_members(most)]

    def joins(self) -> list[JoinGroupRequest]:
        """Return a join of each member, leaders first, because their joins start the rebalance.

        If the coordinator does the leader's work, the first member's join has a changed subscription, which starts the
        rebalance.
        """
        if self.embedded:
            topics, anew = tuple(self.group_set.topics_of(0)), str(self.generation).encode()
            self._anew = encode_subscription(Subscription(topics, user_data=anew))
        requests = []
        for place, ids in enumerate(self.members):
            leader = self.leaders[place] if self.leaders else 0
            order = itertools.chain((leader,), range(leader), range(leader + 1, len(ids)))
            requests += [self.join(place, number) for number in order]
        return requests

    def syncs(self) -> list[SyncGroupRequest]:
        """Return a sync of each member, leaders last, because their syncs carry the assignments."""
        requests = []
        for place, (group, ids) in enumerate(zip(self.group_ids(), self.members, strict=True)):
            leader = self.leaders[place]
            requests += [self._sync_request(group, member) for member in ids if member != ids[leader]]
            given = () if self.embedded else self._assignments[place]
            requests.append(self._sync_request(group, ids[leader], given))
        return requests

    def join(self, group: int, number: int) -> JoinGroupRequest:
        """Return the join of a member that has an id."""
        subscription = self._anew if self.embedded and not number else self._subscriptions[number]
        member, protocols = self.members[group][number], (("range", subscription),)
        return JoinGroupRequest(f"group-{group}", member, protocols=protocols, client_id="bench", **_TIMEOUTS)

    def commits(self, most: int | None = None) -> list[OffsetCommitRequest]:
        """Return a commit of one partition's offset for the same members as `heartbeats`."""
        offsets = (OffsetToCommit("topic0", 0, 42),)
        return [
            OffsetCommitRequest(group, offsets, self.generation, member)
            for group, member in self._unspent_members(most)
        ]

    def leave(self, group: int, number: int) -> LeaveGroupRequest:
        """Return the LeaveGroup request of a member."""
        return LeaveGroupRequest(f"group-{group}", (LeavingMember(self.members[group][number]),))

    def lead(self, group: int) -> tuple[tuple[str, bytes], ...]:
        """Do the work of a leading client: decode the subscriptions, assign, encode the assignments."""
        subscriptions = {
            member: decode_subscription(self._subscriptions[number]).topics
            for number, member in enumerate(self.members[group])
        }
        return tuple(plan(self.group_set.partitions_per_topic(), subscriptions).encode().items())

    def _sync_request(self, group: str, member: str, given: tuple[tuple[str, bytes], ...] = ()) -> SyncGroupRequest:
        return SyncGroupRequest(
            group, self.generation, member, protocol_type="consumer", protocol_name="range", assignments=given
        )

    def _unspent_members(self, most: int | None) -> Iterator[tuple[str, str]]:
        size = self.group_set.members
        count = (self.group_set.groups - self.spent) * size
        for number in range(0, count, max(count // most, 1) if most else 1):
            group = self.spent + number // size
            yield f"group-{group}", self.members[group][number % size]

    def _joined(self, answers: Sequence[Answer]) -> None:
        """Check the answers to the joins of all members."""
        require(len(answers) == self.group_set.size, f"{len(answers):,} answers to {self.group_set.size:,} joins")
        responses: list[Any] = [answer.response for answer in answers]
        require_errors(responses, {ErrorCode.NONE}, "joins")
        self.generation += 1
        generations = {response.generation_id for response in responses}
        require(generations == {self.generation}, f"generations {sorted(generations)} instead of {self.generation}")
        if self.embedded:
            leaders = {response.leader for response in responses}
            require(leaders == {""}, f"leaders {sorted(leaders)}, although the coordinator does the leader's work")
            self.leaders = self.leaders or [0] * self.group_set.groups
            return
        leading = {response.member_id for response in responses if response.members}
        require(len(leading) == self.group_set.groups, f"{len(leading):,} leaders of {self.group_set.groups:,} groups")
        self.leaders = [next(number for number, member in enumerate(ids) if member in leading) for ids in self.members]

    def _sync(self) -> Phases:
        leading, _ = _timed(self._lead_all)
        making, syncs = _timed(self.syncs)
        syncing, answers = _timed(lambda: self.send("sync_group", syncs))
        require(len(answers) == self.group_set.size, f"{len(answers):,} answers to {self.group_set.size:,} syncs")
        responses: list[Any] = [answer.response for answer in answers]
        require_errors(responses, {ErrorCode.NONE}, "syncs")
        given = {each.correlation.member_id: each.response.assignment for each in answers[: self.group_set.members]}  # type: ignore[attr-defined, union-attr]  # they are syncs
        first = answers[0].correlation.group_id  # type: ignore[attr-defined]  # a sync
        expected = dict(self.lead(int(first.removeprefix("group-"))))
        require(given == expected, f"the assignments of {first} differ from those of a leading client")
        state = self.coordinator.describe(first).state
        require(state is GroupState.STABLE, f"{first} is {state.value}, not {GroupState.STABLE.value}")
        return {"work of leading clients": leading, "creating syncs": making, "syncs": syncing}

    def _lead_all(self) -> None:
        if not self.embedded:
            self._assignments = [self.lead(group) for group in range(self.group_set.groups)]


def subscriptions_of(group_set: GroupSet) -> list[bytes]:
    """Return the subscription of each member of a group as bytes; equal subscriptions are one object."""
    by_run = [
        encode_subscription(Subscription(tuple(group_set.topics_of(first))))
        for first in range(0, group_set.members, RUN)
    ]
    return [by_run[number // RUN] for number in range(group_set.members)]


_TIMEOUTS: dict[str, Any] = {"session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": SESSION_MS}


def _timed(call: Callable[[], Result]) -> tuple[float, Result]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def require(right: bool, what: str) -> None:
    """Raise WrongAnswerError if a result of the coordinator is wrong; `what` describes the wrong result."""
    require_that(right, f"wrong result of the coordinator: {what}")


def require_errors(responses: Iterable[Any], expected: set[ErrorCode], what: str) -> None:
    """Raise WrongAnswerError if the error codes of the responses are not the expected ones."""
    errors = {getattr(response, "error_code", ErrorCode.NONE) for response in responses}
    found, wanted = (", ".join(sorted(error.name for error in codes)) for codes in (errors, expected))
    require(errors == expected, f"{what} have the error codes {found} instead of {wanted}")
