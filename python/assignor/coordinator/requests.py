"""The five requests of the classic group protocol, as plain immutable data, and a request that waits for its answer.

Fields are those of Kafka's messages, with what the connection tells beside them: `version` is that of the request,
which decides some answers, `client_id` and `client_host` are who sent it. A request checks itself when it is made, so
that a coordinator never meets a value that it could not write down: text is UTF-8 of at most 32,767 bytes, numbers fit
their width. Whatever a broker would answer with an error can be asked. Any iterable is taken where a tuple stands.

Source: JoinGroupRequest.json and those of the other four requests, kafka-clients 4.3.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.validation import as_bytes, check_name, read_int, shown, wrong_type

__all__ = [
    "VERSIONS",
    "HeartbeatRequest",
    "JoinGroupRequest",
    "LeaveGroupRequest",
    "LeavingMember",
    "OffsetCommitRequest",
    "OffsetToCommit",
    "PendingRequest",
    "Protocol",
    "Request",
    "SyncGroupRequest",
]

LONGEST_TEXT = 2**15 - 1
"""The most bytes of text that Kafka's messages and records carry, whose lengths are int16."""

LONGEST_CLIENT_ID = LONGEST_TEXT - 64
"""The most bytes of a client id or instance id, of which a member id is made by adding to it."""

_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{21}[AQgw]")
"""128 bits in URL-safe base64; its last character carries two of them."""

Entry = TypeVar("Entry")


class Protocol(NamedTuple):
    """One assignment strategy that a member offers.

    Attributes:
        name: Of the assignor, such as "range".
        metadata: The member's subscription, as bytes of the ConsumerProtocol where the type is "consumer".
    """

    name: str
    metadata: bytes


Protocols = tuple[tuple[str, bytes], ...]
"""What a member offers, as pairs of name and metadata."""


class LeavingMember(NamedTuple):
    """One member that leaves.

    Attributes:
        member_id: Its id; "" with an instance id is an administrator who removes a static member.
        group_instance_id: Of a static member.
        reason: Why, for people; versions below 5 have none.
    """

    member_id: str
    group_instance_id: str | None = None
    reason: str | None = None


class OffsetToCommit(NamedTuple):
    """One partition's offset.

    Attributes:
        topic: Its topic.
        partition: Its id.
        offset: The next offset to be consumed.
        metadata: Whatever the consumer wants to be kept with it; None is kept as "".
        leader_epoch: Of the last record that was consumed; -1 where it is not known.
        topic_id: The topic's uuid, as Kafka's URL-safe base64; None where it is not known.
    """

    topic: str
    partition: int
    offset: int
    metadata: str | None = ""
    leader_epoch: int = -1
    topic_id: str | None = None


@dataclass(frozen=True, slots=True)
class JoinGroupRequest:
    """A member asks to be let in, or joins the next generation (API 11).

    Attributes:
        group_id: The group.
        member_id: As the coordinator gave it; "" for a member that has none yet.
        protocol_type: What kind of group it is: "consumer", or "connect" and others.
        protocols: What the member offers, the one it likes best first.
        session_timeout_ms: After which time without a sign of life the member counts as dead.
        rebalance_timeout_ms: How long the coordinator waits for it to join; None is the session timeout, as in
            version 0.
        group_instance_id: Makes it a static member (KIP-345).
        reason: Why, for people; versions below 8 have none.
        client_id: Who sent it.
        client_host: From where.
        version: 0 to 9.

    Raises:
        WrongTypeError: A field is of another type.
        IllegalArgumentError: A number does not fit, or a text is too long or no UTF-8.

    Example:
        >>> JoinGroupRequest("orders", protocols=[("range", b"")]).protocols
        (Protocol(name='range', metadata=b''),)
    """

    group_id: str
    member_id: str = ""
    protocol_type: str = "consumer"
    protocols: Protocols = ()
    session_timeout_ms: int = 45_000
    rebalance_timeout_ms: int | None = None
    group_instance_id: str | None = None
    reason: str | None = None
    client_id: str = ""
    client_host: str = ""
    version: int = 9

    def __post_init__(self) -> None:
        what = "JoinGroupRequest"
        _check_texts(self, what, "group_id", "member_id", "protocol_type", "client_host")
        _check_text(self.client_id, f"{what}: client_id", LONGEST_CLIENT_ID)
        if self.group_instance_id is not None:
            _check_text(self.group_instance_id, f"{what}: group_instance_id", LONGEST_CLIENT_ID)
        if self.reason is not None:
            _check_text(self.reason, f"{what}: reason")
        _set(self, "session_timeout_ms", read_int(self.session_timeout_ms, f"{what}: session_timeout_ms", bits=32))
        timeout = self.rebalance_timeout_ms
        if timeout is None:
            timeout = self.session_timeout_ms
        _set(self, "rebalance_timeout_ms", read_int(timeout, f"{what}: rebalance_timeout_ms", bits=32))
        _set(self, "version", read_int(self.version, f"{what}: version", bits=16))
        offered: list[Protocol] = []
        for name, metadata in _pairs(self.protocols, f"{what}: protocols", "(name, metadata)"):
            _check_text(name, f"{what}: a protocol's name")
            offered.append(Protocol(name, _blob(metadata, f"{what}: the metadata of protocol {name!r}")))
        _set(self, "protocols", tuple(offered))


@dataclass(frozen=True, slots=True)
class SyncGroupRequest:
    """A member asks for its assignment; the leader brings everybody's (API 14).

    Attributes:
        group_id: The group.
        generation_id: That of the answer to its join.
        member_id: The member.
        group_instance_id: Of a static member.
        protocol_type: As in the answer to its join; version 5 must name it.
        protocol_name: The same.
        assignments: (member id, assignment) pairs of the leader.
        version: 0 to 5.

    Raises:
        WrongTypeError: A field is of another type.
        IllegalArgumentError: A number does not fit, or a text is too long or no UTF-8.
    """

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[tuple[str, bytes], ...] = ()
    version: int = 5

    def __post_init__(self) -> None:
        what = "SyncGroupRequest"
        _check_texts(self, what, "group_id", "member_id")
        _check_optional(self, what, "group_instance_id", "protocol_type", "protocol_name")
        _set(self, "generation_id", read_int(self.generation_id, f"{what}: generation_id", bits=32))
        _set(self, "version", read_int(self.version, f"{what}: version", bits=16))
        assignments = []
        for member_id, assignment in _pairs(self.assignments, f"{what}: assignments", "(member id, assignment)"):
            _check_text(member_id, f"{what}: a member id in assignments")
            assignments.append((member_id, _blob(assignment, f"{what}: the assignment of {shown(member_id)}")))
        _set(self, "assignments", tuple(assignments))


@dataclass(frozen=True, slots=True)
class HeartbeatRequest:
    """A member says that it is alive (API 12).

    Attributes:
        group_id: The group.
        generation_id: The member's.
        member_id: The member.
        group_instance_id: Of a static member.
        version: 0 to 4.

    Raises:
        WrongTypeError: A field is of another type.
        IllegalArgumentError: A number does not fit, or a text is too long or no UTF-8.
    """

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    version: int = 4

    def __post_init__(self) -> None:
        what = "HeartbeatRequest"
        _check_texts(self, what, "group_id", "member_id")
        _check_optional(self, what, "group_instance_id")
        _set(self, "generation_id", read_int(self.generation_id, f"{what}: generation_id", bits=32))
        _set(self, "version", read_int(self.version, f"{what}: version", bits=16))


@dataclass(frozen=True, slots=True)
class LeaveGroupRequest:
    """Members leave, or are removed (API 13).

    Attributes:
        group_id: The group.
        members: Who; versions below 3 carry exactly one.
        version: 0 to 5.

    Raises:
        WrongTypeError: A field is of another type.
        IllegalArgumentError: A number does not fit, a text is too long or no UTF-8, or a version below 3 has not one
            member.

    Example:
        >>> LeaveGroupRequest("orders", [LeavingMember("m-1")]).members[0].member_id
        'm-1'
    """

    group_id: str
    members: tuple[LeavingMember, ...] = ()
    version: int = 5

    def __post_init__(self) -> None:
        what = "LeaveGroupRequest"
        _check_texts(self, what, "group_id")
        _set(self, "version", read_int(self.version, f"{what}: version", bits=16))
        leaving = tuple(_iterable(self.members, f"{what}: members", "an iterable of LeavingMember"))
        for member in leaving:
            if not isinstance(member, LeavingMember):
                raise wrong_type(f"{what}: a member", "a LeavingMember", member)
            _check_texts(member, what, "member_id")
            _check_optional(member, what, "group_instance_id", "reason")
        if 0 <= self.version < 3 and len(leaving) != 1:
            raise IllegalArgumentError(f"{what}: version {self.version} carries one member, not {len(leaving)}")
        _set(self, "members", leaving)


@dataclass(frozen=True, slots=True)
class OffsetCommitRequest:
    """A consumer commits offsets, as a member or on its own (API 8).

    Attributes:
        group_id: The group; "" is one like any other here.
        offsets: What to commit, in the order of the request.
        generation_id: The member's; -1 for a consumer that is no member.
        member_id: The member; "" for a consumer that is none.
        group_instance_id: Of a static member.
        retention_time_ms: How long to keep the offsets, in versions 2 to 4; -1 is the coordinator's own retention.
        version: 2 to 10.

    Raises:
        WrongTypeError: A field is of another type.
        IllegalArgumentError: A number does not fit, a text is too long or no UTF-8, or a topic id is no uuid.

    Example:
        >>> OffsetCommitRequest("orders", [OffsetToCommit("t0", 3, 17)]).offsets[0].offset
        17
    """

    group_id: str
    offsets: tuple[OffsetToCommit, ...] = ()
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    version: int = 9

    def __post_init__(self) -> None:
        what = "OffsetCommitRequest"
        _check_texts(self, what, "group_id", "member_id")
        _check_optional(self, what, "group_instance_id")
        _set(self, "generation_id", read_int(self.generation_id, f"{what}: generation_id", bits=32))
        _set(self, "retention_time_ms", read_int(self.retention_time_ms, f"{what}: retention_time_ms", bits=64))
        _set(self, "version", read_int(self.version, f"{what}: version", bits=16))
        offsets = tuple(_iterable(self.offsets, f"{what}: offsets", "an iterable of OffsetToCommit"))
        for entry in offsets:
            if not isinstance(entry, OffsetToCommit):
                raise wrong_type(f"{what}: an offset", "an OffsetToCommit", entry)
            _check_texts(entry, what, "topic")
            _check_optional(entry, what, "metadata")
            topic_id = entry.topic_id
            if topic_id is not None and not _TOPIC_ID.fullmatch(check_name(topic_id, f"{what}: topic_id")):
                raise IllegalArgumentError(f"{what}: topic_id is no uuid of 22 characters of base64: {shown(topic_id)}")
        _set(self, "offsets", tuple(_with_numbers(entry, what) for entry in offsets))


Request = JoinGroupRequest | SyncGroupRequest | HeartbeatRequest | LeaveGroupRequest | OffsetCommitRequest
VERSIONS: dict[type[Request], range] = {
    JoinGroupRequest: range(10),
    SyncGroupRequest: range(6),
    HeartbeatRequest: range(5),
    LeaveGroupRequest: range(6),
    OffsetCommitRequest: range(2, 11),
}
"""The versions of each request that are understood, which are those of a broker 4.3.1."""


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request that has no answer yet.

    Attributes:
        correlation: Object that the caller passed with the request.
        version: Version of the request.
        is_answered: True once it is answered; further answers are dropped.
    """

    correlation: object
    version: int
    is_answered: bool = False


def _set(request: object, field: str, value: object) -> None:
    """Give a frozen request the value that was read."""
    object.__setattr__(request, field, value)


def _check_text(value: object, what: str, longest: int = LONGEST_TEXT) -> None:
    if type(value) is str and len(value) <= longest // 4:
        if not value.isascii():
            check_name(value, what)
        return
    size = len(check_name(value, what).encode())
    if size > longest:
        raise IllegalArgumentError(f"{what} has {size} bytes of UTF-8, more than {longest}: {shown(value)}")


def is_text(value: object) -> bool:
    """Whether a value is text that Kafka's messages and records can carry."""
    try:
        _check_text(value, "")
    except (IllegalArgumentError, WrongTypeError):
        return False
    return True


def _check_texts(holder: object, what: str, *fields: str) -> None:
    for field in fields:
        _check_text(getattr(holder, field), f"{what}: {field}")


def _check_optional(holder: object, what: str, *fields: str) -> None:
    for field in fields:
        value = getattr(holder, field)
        if value is not None:
            _check_text(value, f"{what}: {field}")


def _with_numbers(entry: OffsetToCommit, what: str) -> OffsetToCommit:
    return entry._replace(
        partition=read_int(entry.partition, f"{what}: a partition id", bits=32),
        offset=read_int(entry.offset, f"{what}: an offset", bits=64),
        leader_epoch=read_int(entry.leader_epoch, f"{what}: a leader epoch", bits=32),
    )


def _blob(value: object, what: str) -> bytes:
    return value if type(value) is bytes else as_bytes(value, what)


def _iterable(value: Iterable[Entry], what: str, wanted: str) -> Iterable[Entry]:
    if isinstance(value, (str, bytes, bytearray)) or not hasattr(value, "__iter__"):
        raise wrong_type(what, wanted, value)
    return value


def _pairs(value: Iterable[tuple[str, bytes]], what: str, pair: str) -> Iterable[tuple[str, bytes]]:
    wanted = f"an iterable of {pair} tuples"
    for entry in _iterable(value, what, wanted):
        if not isinstance(entry, tuple) or len(entry) != 2:
            raise wrong_type(what, wanted, entry)
        yield entry
