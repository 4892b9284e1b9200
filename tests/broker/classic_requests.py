"""State of the actors of a program, and the requests of their steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.coordinator import (
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetToCommit,
    SyncGroupRequest,
)
from assignor.coordinator.requests import VERSIONS
from tests.broker.classic_programs import MISSING_TOPIC, TOPICS, subscription
from tests.coordinator import kio_messages

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from assignor.coordinator.requests import Request
    from tests.broker.classic_programs import Actor, Program, Step

HOST = "/127.0.0.1"
"""Client host of the members in the responses of a broker."""

DELETE_VERSIONS = range(3)
FIRST_STATIC = {"join": 5, "sync": 3, "heartbeat": 3, "leave": 3, "commit": 7}
"""First version of each request with an instance id."""

UNKNOWN_MEMBER = "unknown-1"
LONGEST_OFFSET_METADATA = 4096
REQUESTS: dict[str, type[Request]] = {
    "join": JoinGroupRequest,
    "sync": SyncGroupRequest,
    "heartbeat": HeartbeatRequest,
    "leave": LeaveGroupRequest,
    "commit": OffsetCommitRequest,
}


class DeleteRequest(NamedTuple):
    """DeleteGroups request for one group."""

    group_id: str
    version: int


@dataclass
class _Member:
    """State of an actor, from the responses that it received."""

    actor: Actor
    id: str = ""
    earlier: str = "earlier-1"
    generation: int = -1
    before: int = -2
    phase: str = "out"
    protocol_type: str | None = None
    protocol: str | None = None
    followers: tuple[str, ...] = ()
    leads: bool = False

    def forget(self) -> None:
        if self.id:
            self.earlier = self.id
        self.id = ""
        self.phase = "out"


class Cast:
    """Actors of a program while it is played.

    Args:
        program: The program.
        group_id: The group.
        topic_ids: Ids of the existing topics.
    """

    def __init__(self, program: Program, group_id: str, topic_ids: Mapping[str, UUID]) -> None:
        self._group_id = group_id
        self._topic_ids = topic_ids
        self._names = {topic_id: name for name, topic_id in topic_ids.items()}
        self._members = [_Member(actor) for actor in program.actors]

    def request(self, step: Step) -> tuple[int, Request | DeleteRequest] | None:
        """Return the number of the actor and the request of a step; None if no actor has a request to send."""
        kind, number = step.kind, step.actor
        if kind == "advance":
            found = self._next(number)
            if found is None:
                return None
            number, kind = found
        odd = {name.partition(".")[2]: value for name, value in step.odd if name.startswith(f"{kind}.")}
        group_id = "" if odd.get("group") == "empty" else self._group_id
        if kind == "delete":
            return number, DeleteRequest(group_id, DELETE_VERSIONS[step.pick % len(DELETE_VERSIONS)])
        member = self._members[number]
        request = getattr(self, f"_{kind}")(member, odd, group_id, _version(kind, step, member.actor), step.pick)
        carried = kio_messages.request_to_kio(request, self._topic_ids)
        request = kio_messages.request_from_kio(carried, member.actor.client_id, HOST, self._names)
        if isinstance(request, JoinGroupRequest) and request.member_id in ("", member.id):
            member.phase = "joining"
        if isinstance(request, SyncGroupRequest) and request.member_id == member.id:
            member.phase = "syncing"
        return number, request

    def answered(self, number: int, request: Request | DeleteRequest, answer: Any) -> None:
        """Update the state of an actor with a response of kio."""
        member = self._members[number]
        match request:
            case JoinGroupRequest():
                self._joined(member, request, answer)
            case SyncGroupRequest() if request.member_id == member.id:
                self._apply_answer(member, ErrorCode(answer.error_code), "stable")
            case HeartbeatRequest() if request.member_id == member.id:
                self._apply_answer(member, ErrorCode(answer.error_code), member.phase)
            case LeaveGroupRequest() if any(leaver.member_id == member.id for leaver in request.members):
                member.forget()

    @staticmethod
    def _joined(member: _Member, request: JoinGroupRequest, answer: Any) -> None:
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.MEMBER_ID_REQUIRED:
            member.id, member.phase = answer.member_id, "out"
        elif code is ErrorCode.NONE:
            if member.id and member.id != answer.member_id:
                member.earlier = member.id
            member.id, member.phase = answer.member_id, "joined"
            member.before, member.generation = member.generation, int(answer.generation_id)
            member.protocol_type = getattr(answer, "protocol_type", None) or request.protocol_type
            member.protocol = answer.protocol_name
            member.leads = answer.leader == answer.member_id
            member.followers = tuple(each.member_id for each in answer.members)
        elif request.member_id in ("", member.id):
            if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.GROUP_MAX_SIZE_REACHED):
                member.forget()
            member.phase = "out"

    @staticmethod
    def _apply_answer(member: _Member, code: ErrorCode, phase: str) -> None:
        if code is ErrorCode.NONE:
            member.phase = phase
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            member.forget()
        else:
            member.phase = "out"

    def _next(self, number: int) -> tuple[int, str] | None:
        """Return the next actor, starting with this one, that has a request to send, and the kind of its request."""
        order = [*range(number, len(self._members)), *range(number)]
        for each in order:
            kind = {"out": "join", "joined": "sync", "stable": "heartbeat"}.get(self._members[each].phase)
            if kind:
                return each, kind
        for each in order:
            if self._members[each].id:
                return each, "heartbeat"
        return None

    def _other(self, member: _Member) -> _Member:
        return self._members[(self._members.index(member) + 1) % len(self._members)]

    def _id(self, member: _Member, odd: Mapping[str, str]) -> str:
        chosen = odd.get("member", "own")
        return {"own": member.id, "none": "", "unknown": UNKNOWN_MEMBER, "earlier": member.earlier}.get(
            chosen, self._other(member).id
        )

    def _instance(self, member: _Member, odd: Mapping[str, str]) -> str | None:
        chosen = odd.get("instance", "actor")
        others = self._other(member).actor.instance_id or "inst-z"
        own = member.actor.instance_id
        known = {"actor": own, "own": own or f"inst-{member.actor.client_id}", "other": others}
        return {**known, "none": None, "empty": ""}.get(chosen, "inst-unknown")

    @staticmethod
    def _generation(member: _Member, odd: Mapping[str, str]) -> int:
        chosen = odd.get("generation", "own")
        known = {"own": member.generation, "before": member.before, "next": member.generation + 1}
        return {**known, "none": -1, "some": 5}.get(chosen, 2**31 - 1)

    def _join(
        self, member: _Member, odd: Mapping[str, str], group_id: str, version: int, pick: int
    ) -> JoinGroupRequest:
        actor = member.actor
        changed = tuple((name, metadata + b"\1") for name, metadata in actor.protocols)
        protocols = {
            "changed": changed,
            "none": (),
            "disjoint": (("unsupported", subscription(["classic-orders"])),),
            "garbage": tuple((name, (b"\0", b"\0\0\xff", b"", b"\xff\xff\0\0\0\0")[pick % 4]) for name, _ in changed),
            "reordered": tuple(reversed(actor.protocols)),
            "twice": (*actor.protocols, actor.protocols[0]),
            "unnamed": (("", b""), *actor.protocols),
            "more": (*actor.protocols, ("unsupported", b"")),
        }.get(odd.get("protocols", ""), actor.protocols)
        session = {"low": 99, "high": 600_001, "negative": -1, "least": 100, "most": 600_000}.get(
            odd.get("session", ""), actor.session_timeout_ms
        )
        rebalance = {"zero": 0, "negative": -5, "longest": 2**31 - 1}.get(
            odd.get("rebalance", ""), actor.rebalance_timeout_ms
        )
        return JoinGroupRequest(
            group_id,
            self._id(member, odd),
            {"connect": "connect", "empty": ""}.get(odd.get("type", ""), actor.protocol_type),
            protocols,
            session,
            rebalance,
            self._instance(member, odd),
            "because" if pick % 3 == 0 else None,
            version=version,
        )

    def _sync(
        self, member: _Member, odd: Mapping[str, str], group_id: str, version: int, pick: int
    ) -> SyncGroupRequest:
        chosen = odd.get("assignments", "")
        known = member.followers if member.leads else tuple(each.id for each in self._members if each.id)
        made = [(each, f"{member.generation}.{pick} {index}".encode()) for index, each in enumerate(known)]
        assignments = {
            "some": made[::2],
            "twice": made + [(each, b"again") for each, _ in made[:1]],
            "empty": [(each, b"") for each, _ in made],
            "garbage": [(each, b"\xff\0\xfe") for each, _ in made],
            "unknown": [*made, (UNKNOWN_MEMBER, b"of an unknown member")],
            "none": [],
            "always": made,
        }.get(chosen, made if member.leads else [])
        name, kind = member.protocol, member.protocol_type
        if chosen_protocol := odd.get("protocol"):
            name = {"null": None, "other name": "unsupported"}.get(chosen_protocol, name)
            kind = {"null": None, "other type": "connect"}.get(chosen_protocol, kind)
        generation = self._generation(member, odd)
        instance = self._instance(member, odd)
        return SyncGroupRequest(
            group_id, generation, self._id(member, odd), instance, kind, name, tuple(assignments), version=version
        )

    def _heartbeat(
        self, member: _Member, odd: Mapping[str, str], group_id: str, version: int, pick: int
    ) -> HeartbeatRequest:
        del pick
        generation, instance = self._generation(member, odd), self._instance(member, odd)
        return HeartbeatRequest(group_id, generation, self._id(member, odd), instance, version)

    def _leave(
        self, member: _Member, odd: Mapping[str, str], group_id: str, version: int, pick: int
    ) -> LeaveGroupRequest:
        reason = "going" if pick % 3 == 0 else None
        own = LeavingMember(self._id(member, odd), self._instance(member, odd), reason)
        other = LeavingMember(self._other(member).id)
        statics = [each for each in self._members if each.actor.instance_id is not None]
        members = {
            "unknown": [LeavingMember(UNKNOWN_MEMBER), own],
            "twice": [own, own],
            "none": [],
            "all": [LeavingMember(each.id, each.actor.instance_id) for each in self._members],
            "instances": [LeavingMember("", each.actor.instance_id) for each in statics],
            "mixed": [other._replace(group_instance_id=own.group_instance_id), own, LeavingMember("", "inst-none")],
        }.get(odd.get("batch", ""), [own])
        return LeaveGroupRequest(group_id, tuple(members) if version > 2 else (own,), version)

    def _commit(
        self, member: _Member, odd: Mapping[str, str], group_id: str, version: int, pick: int
    ) -> OffsetCommitRequest:
        topic = list(TOPICS)[pick % len(TOPICS)]
        one = OffsetToCommit(topic, pick % TOPICS[topic], pick, f"note {pick}", pick % 7 - 1)
        missing = one._replace(topic=MISSING_TOPIC if version < kio_messages.FIRST_WITH_TOPIC_IDS else topic)
        offsets = {
            "too long": [one._replace(metadata="x" * (LONGEST_OFFSET_METADATA + 1)), one._replace(partition=1)],
            "null": [one._replace(metadata=None)],
            "no topic": [missing],
            "no partition": [one._replace(partition=99), one, one._replace(partition=-1)],
            "several": [one._replace(topic=name, partition=1) for name in (*TOPICS, topic)],
            "negative": [one._replace(offset=-1, metadata="")],
            "nothing": [],
        }.get(odd.get("offsets", ""), [one])
        return OffsetCommitRequest(
            group_id,
            tuple(offsets),
            self._generation(member, odd),
            self._id(member, odd),
            self._instance(member, odd),
            3_600_000 if odd.get("retention") else -1,
            version,
        )


def _version(kind: str, step: Step, actor: Actor) -> int:
    """Return a request version; for a static member, mostly one that has the instance id."""
    versions = VERSIONS[REQUESTS[kind]]
    if actor.instance_id is not None and step.pick % 8:
        versions = range(FIRST_STATIC[kind], versions.stop)
    return versions[step.pick // 8 % len(versions)]
