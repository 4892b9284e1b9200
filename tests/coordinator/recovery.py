"""Members, a coordinator and its log, with crashes: acknowledged results must survive a restart.

`World` is the environment of a program. Its members react to answers as clients do. The log gets the records of each
call before the answers are sent. `crash` replaces the coordinator by one that has only read the log. `World` stores
what was acknowledged: the assignments in SyncGroup answers, with their generations, and the committed offsets.
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
from tests.coordinator.driver import METHODS
from tests.support.record_bytes import assignment, subscription

GROUP_METADATA, OFFSET_COMMIT = 2, 1
SESSION_MS, REBALANCE_MS = 10_000, 5_000
FOREVER = 10**12


class ReceivedAssignment(NamedTuple):
    """Assignment in a SyncGroup answer without an error."""

    generation: int
    member_id: str
    instance_id: str | None
    protocol: str | None
    leader: str
    assignment: bytes


@dataclass
class Actor:
    """State of a client.

    Attributes:
        name: Client id.
        group_id: Id of the group.
        instance_id: Instance id of a static member.
        version: Version of its joins.
        member_id: Member id of the last answer.
        generation: Generation of the last answer.
        phase: "out", "joining", "joined", "syncing" or "in".
        answer: Answer to the last join.
        metadata: Encoded subscription.
        waits_for: Number of the request whose answer it waits for.
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
        """Start again without a member id."""
        self.member_id, self.generation, self.phase = "", -1, "out"


class World:
    """Members, a coordinator and its log.

    Args:
        actors: The members.
        confirm_writes: True if the log confirms each write.
        forgets: Returns True for a record that the log loses although it was confirmed.
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
        self.now, self.requests, self._issued_ids = 1_000_000, 0, 0
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
        self._issued_ids += 1
        return f"{prefix}-{self._issued_ids}"

    # ---- actions of members

    def advance(self, actor: Actor) -> None:
        """Take the next step of a client."""
        if actor.phase == "out":
            self.join(actor)
        elif actor.phase == "joined":
            self.sync(actor)
        elif actor.phase == "in":
            self.heartbeat(actor)

    def join(self, actor: Actor) -> None:
        """Send a join, in any phase."""
        actor.phase = "joining"
        self._send(
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
        """Send a sync; the leader's assignments are all different."""
        assert actor.answer is not None
        assignments = []
        if actor.answer.leader == actor.member_id and not actor.answer.skip_assignment:
            for place, member in enumerate(actor.answer.members):
                assignments.append((member.member_id, assignment(("orders", [self.requests, place]))))
        actor.phase = "syncing"
        self._send(
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
        self._send(actor, HeartbeatRequest(actor.group_id, actor.generation, actor.member_id, actor.instance_id))

    def leave(self, actor: Actor) -> None:
        leaving = LeavingMember(actor.member_id, actor.instance_id)
        actor.forget()
        self._send(actor, LeaveGroupRequest(actor.group_id, (leaving,)))

    def commit(self, actor: Actor, partition: int) -> None:
        """Commit an offset that no other commit has, as a member if the actor is in the group."""
        member = (actor.generation, actor.member_id, actor.instance_id) if actor.phase == "in" else ()
        offsets = (OffsetToCommit("orders", partition, self.requests),)
        waits_for = actor.waits_for
        self._send(actor, OffsetCommitRequest(actor.group_id, offsets, *member))
        actor.waits_for = waits_for

    def delete(self, group_id: str) -> None:
        """Delete a group; its acknowledged results no longer count once the log has its tombstone."""
        self._to_delete.add(group_id)
        self.requests += 1
        self._waiting[self.requests] = None, group_id, None
        self._collect(self.coordinator.delete_group(group_id, self.now, self.requests))

    def wait(self, milliseconds: int) -> None:
        self.now += milliseconds
        self._collect(self.coordinator.expire(self.now))

    # ---- actions of the log

    def confirm(self) -> None:
        """Confirm the oldest pending write."""
        if self.pending:
            write = self.pending.pop(0)
            self._append(write.records)
            self._collect(self.coordinator.written(write.number, self.now))

    def fail(self, error: int) -> tuple[Answer, ...]:
        """Fail the oldest pending write; return the answers."""
        if not self.pending:
            return ()
        write = self.pending.pop(0)
        self.behind.add(write.group_id)
        effects = self.coordinator.write_failed(write.number, error, self.now)
        self._collect(effects)
        return effects.answers

    def confirm_all(self) -> None:
        while self.pending:
            self.confirm()

    def crash(self, *, kept: int = 0, compacted: bool = False) -> None:
        """Drop the coordinator and all pending requests; a new coordinator reads the log.

        Args:
            kept: Number of unconfirmed writes that reached the log.
            compacted: True if the log has only the last record of each key.
        """
        for write in self.pending[:kept]:
            self._append(write.records)
        self.pending.clear()
        self.behind.clear()
        self._waiting.clear()
        for actor in self.actors:
            actor.phase = {"joining": "out", "syncing": "joined"}.get(actor.phase, actor.phase)
        self.coordinator = self.load_log(compacted=compacted)

    def load_log(self, *, compacted: bool = False) -> Coordinator:
        """Return a new coordinator that has read the log."""
        log = list(self.log)
        if compacted:
            last = {record.key: place for place, record in enumerate(log)}
            log = [record for place, record in enumerate(log) if last[record.key] == place]
        coordinator = self._new()
        effects = coordinator.load(log, self.now)
        assert ((), ()) == (effects.answers, effects.writes)
        return coordinator

    # ---- effects

    def _send(self, actor: Actor, request: Any) -> None:
        self.requests += 1
        number = self.requests
        actor.waits_for = number
        self._waiting[number] = actor, request, actor.answer
        self._collect(getattr(self.coordinator, METHODS[type(request)])(request, self.now, number))

    def _collect(self, effects: Effects) -> None:
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
        """Update a client by an answer."""
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


# ---- contents of the log


class Stored(NamedTuple):
    """Records of a group in the log, read without a coordinator.

    Attributes:
        generations: Values of its group records, since its last tombstone.
        offsets: Latest committed offsets.
    """

    generations: list[dict[str, Any]]
    offsets: dict[TopicPartition, int]


def stored(log: Iterable[LogRecord], group_id: str) -> Stored:
    """Return the records of a group in the log."""
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


def contains(generation: dict[str, Any], given: ReceivedAssignment) -> bool:
    """Return True if a generation in the log contains the received assignment."""
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
    """Return a description without the order of its members."""
    members = {member.member_id: member for member in description.members}
    return description.state, description.protocol_type, description.protocol, members


def description_of(generation: dict[str, Any]) -> tuple[Any, ...]:
    """Return the expected description of a group, for a generation in the log."""
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
