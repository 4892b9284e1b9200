"""Members, one coordinator and its log, with crashes: what anybody was told has to be there when it starts anew.

`World` is a program's world. Its members do what clients do with each answer, the log gets the records of each call
before the answers go out, and `crash` puts a coordinator in the place of the old one that has read the log and nothing
else. What was acknowledged is noted: whom a SyncGroup gave what in which generation, and which offsets were committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assignor import TopicPartition
from assignor.coordinator import (
    Answer,
    Coordinator,
    CoordinatorConfig,
    DescribedMember,
    Effects,
    ErrorCode,
    GroupDescription,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeavingMember,
    LogRecord,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetToCommit,
    SyncGroupRequest,
    SyncGroupResponse,
    Write,
)
from assignor.offsets import decode_record
from tests.support.record_bytes import assignment, subscription

GROUP_METADATA, OFFSET_COMMIT = 2, 1
SESSION_MS, REBALANCE_MS = 10_000, 5_000
FOREVER = 10**12

ASK = {
    JoinGroupRequest: "join_group",
    SyncGroupRequest: "sync_group",
    HeartbeatRequest: "heartbeat",
    LeaveGroupRequest: "leave_group",
    OffsetCommitRequest: "offset_commit",
}
"""The method that takes a request."""


class ReceivedAssignment(NamedTuple):
    """What a member was given by a SyncGroup that was answered without an error."""

    generation: int
    member_id: str
    instance_id: str | None
    protocol: str | None
    leader: str
    assignment: bytes


@dataclass
class Actor:
    """A client, as far as it matters here.

    Attributes:
        name: Its client id.
        group_id: Its group.
        instance_id: Of a static member.
        version: Of its joins.
        member_id: As it was told.
        generation: The same.
        phase: "out", "joining", "joined", "syncing" or "in".
        answer: To its last join.
        metadata: What it wants, as bytes.
        waits_for: The number of the request that it waits for.
    """

    name: str
    group_id: str
    instance_id: str | None = None
    version: int = 9
    member_id: str = ""
    generation: int = -1
    phase: str = "out"
    answer: JoinGroupResponse | None = None
    metadata: bytes = field(default_factory=lambda: subscription("orders"))
    waits_for: int = 0

    def forget(self) -> None:
        """Starts anew, without a member id."""
        self.member_id, self.generation, self.phase = "", -1, "out"


class World:
    """Members, a coordinator and its log.

    Args:
        actors: The members.
        confirm_writes: Whether the log says one by one what it has.
        forgets: Which records the log loses though it said that it has them.
    """

    def __init__(
        self,
        actors: Iterable[Actor],
        *,
        confirm_writes: bool = False,
        forgets: Callable[[LogRecord], bool] = lambda _: False,
    ) -> None:
        self.actors = list(actors)
        self.confirm_writes, self._forgets = confirm_writes, forgets
        self.now, self.requests, self._made_up = 1_000_000, 0, 0
        self.log: list[LogRecord] = []
        self.pending: list[Write] = []
        self._waiting: dict[int, tuple[Actor | None, Any, JoinGroupResponse | None]] = {}
        self._to_delete: set[str] = set()
        self.behind: set[str] = set()
        self.received: dict[str, list[ReceivedAssignment]] = {}
        self.committed: dict[tuple[str, TopicPartition], int] = {}
        self.crashes: list[tuple[GroupState, bool]] = []
        self.coordinator = self._new()

    def _new(self) -> Coordinator:
        config = CoordinatorConfig(initial_rebalance_delay_ms=0, offsets_retention_ms=FOREVER)
        return Coordinator(config, member_ids=self._member_id, confirm_writes=self.confirm_writes)

    def _member_id(self, prefix: str) -> str:
        self._made_up += 1
        return f"{prefix}-{self._made_up}"

    # ---- what members do

    def go(self, actor: Actor) -> None:
        """The next thing that a client does."""
        if actor.phase == "out":
            self.join(actor)
        elif actor.phase == "joined":
            self.sync(actor)
        elif actor.phase == "in":
            self.heartbeat(actor)

    def join(self, actor: Actor) -> None:
        """Joins, whatever the actor was doing."""
        actor.phase = "joining"
        self._ask(
            actor,
            JoinGroupRequest(
                actor.group_id,
                actor.member_id,
                protocols=(("range", actor.metadata),),
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=REBALANCE_MS,
                group_instance_id=actor.instance_id,
                client_id=actor.name,
                client_host="/127.0.0.1",
                version=actor.version,
            ),
        )

    def sync(self, actor: Actor) -> None:
        """Asks for the assignment; the leader brings one that no other is equal to."""
        assert actor.answer is not None
        assignments = []
        if actor.answer.leader == actor.member_id and not actor.answer.skip_assignment:
            for place, member in enumerate(actor.answer.members):
                assignments.append((member.member_id, assignment(("orders", [self.requests, place]))))
        actor.phase = "syncing"
        self._ask(
            actor,
            SyncGroupRequest(
                actor.group_id,
                actor.generation,
                actor.member_id,
                actor.instance_id,
                "consumer",
                actor.answer.protocol_name,
                tuple(assignments),
            ),
        )

    def heartbeat(self, actor: Actor) -> None:
        self._ask(actor, HeartbeatRequest(actor.group_id, actor.generation, actor.member_id, actor.instance_id))

    def leave(self, actor: Actor) -> None:
        leaving = LeavingMember(actor.member_id, actor.instance_id)
        actor.forget()
        self._ask(actor, LeaveGroupRequest(actor.group_id, (leaving,)))

    def commit(self, actor: Actor, partition: int) -> None:
        """Commits an offset that no other is equal to; without being a member where the actor is not in."""
        member = (actor.generation, actor.member_id, actor.instance_id) if actor.phase == "in" else ()
        offsets = (OffsetToCommit("orders", partition, self.requests),)
        waits_for = actor.waits_for
        self._ask(actor, OffsetCommitRequest(actor.group_id, offsets, *member))
        actor.waits_for = waits_for

    def delete(self, group_id: str) -> None:
        """Asks for a group to be deleted; what was acknowledged in it counts no more once the log has its end."""
        self._to_delete.add(group_id)
        self.requests += 1
        self._waiting[self.requests] = None, group_id, None
        self._take(self.coordinator.delete_group(group_id, self.now, self.requests))

    def wait(self, milliseconds: int) -> None:
        self.now += milliseconds
        self._take(self.coordinator.expire(self.now))

    # ---- what the log does

    def confirm(self) -> None:
        """The log has the oldest write that waits."""
        if self.pending:
            write = self.pending.pop(0)
            self._append(write.records)
            self._take(self.coordinator.written(write.number, self.now))

    def fail(self, error: int) -> tuple[Answer, ...]:
        """The log does not get the oldest write that waits; the answers that come of it."""
        if not self.pending:
            return ()
        write = self.pending.pop(0)
        self.behind.add(write.group_id)
        effects = self.coordinator.write_failed(write.number, error, self.now)
        self._take(effects)
        return effects.answers

    def confirm_all(self) -> None:
        while self.pending:
            self.confirm()

    def crash(self, *, kept: int = 0, compacted: bool = False) -> None:
        """The coordinator is gone, and with it what waits; another one reads the log.

        Args:
            kept: How many writes that were not confirmed got into the log nevertheless.
            compacted: Whether it reads of each key only the last record.
        """
        for write in self.pending[:kept]:
            self._append(write.records)
        self.pending.clear()
        self.behind.clear()
        self._waiting.clear()
        for actor in self.actors:
            actor.phase = {"joining": "out", "syncing": "joined"}.get(actor.phase, actor.phase)
        self.coordinator = self.started(compacted=compacted)

    def started(self, *, compacted: bool = False) -> Coordinator:
        """A new coordinator that has read the log."""
        log = list(self.log)
        if compacted:
            last = {record.key: place for place, record in enumerate(log)}
            log = [record for place, record in enumerate(log) if last[record.key] == place]
        coordinator = self._new()
        effects = coordinator.load(log, self.now)
        assert ((), ()) == (effects.answers, effects.writes)
        return coordinator

    # ---- what comes of it

    def _ask(self, actor: Actor, request: Any) -> None:
        self.requests += 1
        number = self.requests
        actor.waits_for = number
        self._waiting[number] = actor, request, actor.answer
        self._take(getattr(self.coordinator, ASK[type(request)])(request, self.now, number))

    def _take(self, effects: Effects) -> None:
        if self.confirm_writes:
            self.pending += effects.writes
        else:
            self._append(effects.records)
        for number, response in effects.answers:
            assert isinstance(number, int)
            actor, request, joined = self._waiting.pop(number)
            self._acknowledged(request, response, joined)
            if actor is not None and number == actor.waits_for:
                self._answered(actor, response)

    def _append(self, records: Iterable[LogRecord]) -> None:
        for key, value in records:
            if self._forgets(LogRecord(key, value)):
                continue
            self.log.append(LogRecord(key, value))
            record = decode_record(key, value)
            if record.type == GROUP_METADATA and record.group in self.behind:
                self.behind.remove(record.group)
            if record.type == GROUP_METADATA and value is None and record.group in self._to_delete:
                self.received.pop(record.group, None)
                self.committed = {key: offset for key, offset in self.committed.items() if key[0] != record.group}

    def _acknowledged(self, request: Any, response: Any, joined: JoinGroupResponse | None) -> None:
        if isinstance(response, OffsetCommitResponse):
            for (topic, partition, error), offset in zip(response.partitions, request.offsets, strict=True):
                if error is ErrorCode.NONE:
                    self.committed[request.group_id, TopicPartition(topic, partition)] = offset.offset
        elif isinstance(response, SyncGroupResponse) and response.error_code is ErrorCode.NONE:
            assert joined is not None
            given = ReceivedAssignment(
                request.generation_id,
                request.member_id,
                request.group_instance_id,
                response.protocol_name,
                joined.leader,
                response.assignment,
            )
            self.received.setdefault(request.group_id, []).append(given)

    def _answered(self, actor: Actor, response: Any) -> None:
        """What a client makes of an answer."""
        error = getattr(response, "error_code", ErrorCode.NONE)
        if isinstance(response, JoinGroupResponse) and error is ErrorCode.NONE:
            actor.phase, actor.answer = "joined", response
            actor.member_id, actor.generation = response.member_id, response.generation_id
        elif isinstance(response, JoinGroupResponse) and error is ErrorCode.MEMBER_ID_REQUIRED:
            actor.phase, actor.member_id = "out", response.member_id
        elif isinstance(response, SyncGroupResponse) and error is ErrorCode.NONE:
            actor.phase = "in"
        elif error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.ILLEGAL_GENERATION):
            actor.forget()
        elif error is not ErrorCode.NONE:
            actor.phase = "out"


# ---- what a log says


class Stored(NamedTuple):
    """What a log has of a group, read without a coordinator.

    Attributes:
        generations: The values of its group records since it was deleted last, if it was.
        offsets: What was committed last.
    """

    generations: list[dict[str, Any]]
    offsets: dict[TopicPartition, int]


def stored(log: Iterable[LogRecord], group_id: str) -> Stored:
    """What a log has of a group."""
    found = Stored([], {})
    for key, value in log:
        record = decode_record(key, value)
        if record.group != group_id:
            continue
        if record.type == GROUP_METADATA:
            if record.value is None:
                found.generations.clear()
            else:
                found.generations.append(record.value)
        else:
            assert record.type == OFFSET_COMMIT
            partition = TopicPartition(record.key["topic"], record.key["partition"])
            found.offsets.pop(partition, None)
            if record.value is not None:
                found.offsets[partition] = record.value["offset"]
    return found


def has(generation: dict[str, Any], given: ReceivedAssignment) -> bool:
    """Whether a generation in the log is the one that a member was given something in."""
    return (given.generation, given.protocol, given.leader) == (
        generation["generation"],
        generation["protocol"],
        generation["leader"],
    ) and any(
        (given.member_id, given.instance_id, given.assignment)
        == (member["memberId"], member["groupInstanceId"], member["assignment"])
        for member in generation["members"]
    )


def described(description: GroupDescription) -> tuple[Any, ...]:
    """A description without the order of its members."""
    members = {member.member_id: member for member in description.members}
    return description.state, description.protocol_type, description.protocol, members


def description_of(generation: dict[str, Any]) -> tuple[Any, ...]:
    """A generation in the log as its group should be described."""
    members = {
        member["memberId"]: DescribedMember(
            member["memberId"],
            member["groupInstanceId"],
            member["clientId"],
            member["clientHost"],
            member["subscription"],
            member["assignment"],
        )
        for member in generation["members"]
    }
    state = GroupState.STABLE if members else GroupState.EMPTY
    return state, generation["protocolType"], generation["protocol"] or "", members
