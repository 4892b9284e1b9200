"""Requests of the classic group protocol as immutable dataclasses, and a request that waits for its answer.

The fields are those of Kafka's messages, plus three from the connection: the `version` of the request, which affects
some answers, and the `client_id` and `client_host` of the sender. Constructors check that every value can be written to
the log: text is UTF-8 of at most 32,767 bytes, and numbers fit their width. They accept values that a broker answers
with an error. Any iterable is accepted for a tuple.

Source: JoinGroupRequest.json and those of the other four requests, kafka-clients 4.3.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.validation import as_bytes, check_name, read_entries, read_int, shown, wrong_type

__all__ = [
    "VERSIONS",
    "HeartbeatRequest",
    "JoinGroupRequest",
    "LeaveGroupRequest",
    "LeavingMember",
    "OffsetCommitRequest",
    "OffsetToCommit",
    "PendingRequest",
    "Request",
    "SyncGroupRequest",
]

LONGEST_TEXT = 2**15 - 1
"""Largest number of bytes of a string in Kafka's messages and records, whose lengths are int16."""

LONGEST_CLIENT_ID = LONGEST_TEXT - 64
"""Largest number of bytes of a client id or instance id, which leaves room for the suffix of a member id."""

_SHORT_TEXT = LONGEST_CLIENT_ID // 4
"""Largest number of characters of a text that needs no check of its size in UTF-8."""

_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{21}[AQgw]")
"""128 bits in URL-safe base64; the last character carries two of them."""

Entry = TypeVar("Entry")


Protocols = tuple[tuple[str, bytes], ...]
"""Protocols that a member offers, as pairs of name and metadata.

The name is that of an assignor for consumers, such as "range"; the metadata is the member's subscription. The garbage
collector does not visit plain tuples of text and bytes, unlike named tuples."""


class LeavingMember(NamedTuple):
    """One member of a LeaveGroup request.

    Attributes:
        member_id: Id of the member; "" to remove a static member by its instance id.
        group_instance_id: Instance id of a static member.
        reason: Reason in words, which people read in logs; absent below version 5.
    """

    member_id: str
    group_instance_id: str | None = None
    reason: str | None = None


class OffsetToCommit(NamedTuple):
    """Offset to commit for one partition.

    Attributes:
        topic: Name of the topic.
        partition: Partition id.
        offset: Offset of the next record to consume.
        metadata: Metadata to store with the offset; None is stored as "".
        leader_epoch: Leader epoch of the last consumed record; -1 if unknown.
        topic_id: The topic's uuid, as Kafka's URL-safe base64; None if unknown.
    """

    topic: str
    partition: int
    offset: int
    metadata: str | None = ""
    leader_epoch: int = -1
    topic_id: str | None = None


@dataclass(frozen=True, slots=True)
class JoinGroupRequest:
    """Request of a member to join the group, or its next generation (API 11).

    Attributes:
        group_id: Id of the group.
        member_id: Id that the coordinator issued; "" for a new member.
        protocol_type: Type of the group: "consumer", "connect" or another.
        protocols: Protocols that the member offers, in order of preference.
        session_timeout_ms: Time without a request after which the coordinator removes the member.
        rebalance_timeout_ms: Time that the coordinator waits for the member to join again; None for the session
            timeout, as in version 0.
        group_instance_id: Instance id of a static member (KIP-345).
        reason: Reason in words, which people read in logs; absent below version 8.
        client_id: Id of the sender.
        client_host: Host of the sender.
        version: Version of the request, 0 to 9.

    Raises:
        WrongTypeError: A field has a wrong type.
        IllegalArgumentError: A number does not fit its width, or a text is too long or not valid UTF-8.

    Example:
        >>> JoinGroupRequest("orders", protocols=[("range", b"")]).protocols
        (('range', b''),)
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

    if TYPE_CHECKING:  # the constructor takes any iterable for a tuple

        def __init__(
            self,
            group_id: str,
            member_id: str = "",
            protocol_type: str = "consumer",
            protocols: Iterable[tuple[str, bytes]] = (),
            session_timeout_ms: int = 45_000,
            rebalance_timeout_ms: int | None = None,
            group_instance_id: str | None = None,
            reason: str | None = None,
            client_id: str = "",
            client_host: str = "",
            version: int = 9,
        ) -> None: ...

    def __post_init__(self) -> None:
        what = "JoinGroupRequest"
        _check_texts(self, what, "group_id", "member_id", "protocol_type", "client_host")
        _check_text(self.client_id, f"{what}: client_id", LONGEST_CLIENT_ID)
        if self.group_instance_id is not None:
            _check_text(self.group_instance_id, f"{what}: group_instance_id", LONGEST_CLIENT_ID)
        _check_optional(self, what, "reason")
        _check_int(self, what, "session_timeout_ms", bits=32)
        if self.rebalance_timeout_ms is None:
            _set(self, "rebalance_timeout_ms", self.session_timeout_ms)
        _check_int(self, what, "rebalance_timeout_ms", bits=32)
        _check_int(self, what, "version", bits=16)
        given = _pairs(self.protocols, f"{what}: protocols", "(name, metadata)")
        _set(self, "protocols", _read_pairs(given, what, "a protocol's name", "metadata of protocol", repr))


@dataclass(frozen=True, slots=True)
class SyncGroupRequest:
    """Request of a member for its assignment; the leader's request carries all assignments (API 14).

    Attributes:
        group_id: Id of the group.
        generation_id: Generation of the answer to the member's join.
        member_id: Id of the member.
        group_instance_id: Instance id of a static member.
        protocol_type: Protocol type of the answer to the join; required from version 5.
        protocol_name: Protocol of the answer to the join; required from version 5.
        assignments: (member id, assignment) pairs from the leader.
        version: Version of the request, 0 to 5.

    Raises:
        WrongTypeError: A field has a wrong type.
        IllegalArgumentError: A number does not fit its width, or a text is too long or not valid UTF-8.
    """

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[tuple[str, bytes], ...] = ()
    version: int = 5

    if TYPE_CHECKING:  # the constructor takes any iterable for a tuple

        def __init__(
            self,
            group_id: str,
            generation_id: int,
            member_id: str,
            group_instance_id: str | None = None,
            protocol_type: str | None = None,
            protocol_name: str | None = None,
            assignments: Iterable[tuple[str, bytes]] = (),
            version: int = 5,
        ) -> None: ...

    def __post_init__(self) -> None:
        what = "SyncGroupRequest"
        _check_texts(self, what, "group_id", "member_id")
        _check_optional(self, what, "group_instance_id", "protocol_type", "protocol_name")
        _check_int(self, what, "generation_id", bits=32)
        _check_int(self, what, "version", bits=16)
        if type(self.assignments) is not tuple or self.assignments:  # only the leader's request has some
            given = _pairs(self.assignments, f"{what}: assignments", "(member id, assignment)")
            _set(self, "assignments", _read_pairs(given, what, "a member id in assignments", "assignment of", shown))


@dataclass(frozen=True, slots=True)
class HeartbeatRequest:
    """Heartbeat of a member (API 12).

    Attributes:
        group_id: Id of the group.
        generation_id: Generation of the member.
        member_id: Id of the member.
        group_instance_id: Instance id of a static member.
        version: Version of the request, 0 to 4.

    Raises:
        WrongTypeError: A field has a wrong type.
        IllegalArgumentError: A number does not fit its width, or a text is too long or not valid UTF-8.
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
        _check_int(self, what, "generation_id", bits=32)
        _check_int(self, what, "version", bits=16)


@dataclass(frozen=True, slots=True)
class LeaveGroupRequest:
    """Request to remove members, from the members or from an administrator (API 13).

    Attributes:
        group_id: Id of the group.
        members: Members to remove; exactly one below version 3.
        version: Version of the request, 0 to 5.

    Raises:
        WrongTypeError: A field has a wrong type.
        IllegalArgumentError: A number does not fit its width, a text is too long or not valid UTF-8, or the request has
            a version below 3 and not exactly one member.

    Example:
        >>> LeaveGroupRequest("orders", [LeavingMember("m-1")]).members[0].member_id
        'm-1'
    """

    group_id: str
    members: tuple[LeavingMember, ...] = ()
    version: int = 5

    if TYPE_CHECKING:  # the constructor takes any iterable for a tuple

        def __init__(self, group_id: str, members: Iterable[LeavingMember] = (), version: int = 5) -> None: ...

    def __post_init__(self) -> None:
        what = "LeaveGroupRequest"
        _check_texts(self, what, "group_id")
        _check_int(self, what, "version", bits=16)
        leaving = tuple(read_entries(self.members, f"{what}: members", "an iterable of LeavingMember"))
        for member in leaving:
            if not isinstance(member, LeavingMember):
                raise wrong_type(f"{what}: a member", "a LeavingMember", member)
            _check_texts(member, what, "member_id")
            _check_optional(member, what, "group_instance_id", "reason")
        if 0 <= self.version < 3 and len(leaving) != 1:
            raise IllegalArgumentError(f"{what}: version {self.version} must have one member, not {len(leaving)}")
        _set(self, "members", leaving)


@dataclass(frozen=True, slots=True)
class OffsetCommitRequest:
    """Request to commit offsets, from a member or from a consumer outside the group (API 8).

    Attributes:
        group_id: Id of the group; "" is a valid id here.
        offsets: Offsets to commit, in the order of the request.
        generation_id: Generation of the member; -1 for a consumer that is not a member.
        member_id: Id of the member; "" for a consumer that is not a member.
        group_instance_id: Instance id of a static member.
        retention_time_ms: Time to keep the offsets, in versions 2 to 4; -1 for the coordinator's retention.
        version: Version of the request, 2 to 10.

    Raises:
        WrongTypeError: A field has a wrong type.
        IllegalArgumentError: A number does not fit its width, a text is too long or not valid UTF-8, or a topic id is
            not a uuid.

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

    if TYPE_CHECKING:  # the constructor takes any iterable for a tuple

        def __init__(
            self,
            group_id: str,
            offsets: Iterable[OffsetToCommit] = (),
            generation_id: int = -1,
            member_id: str = "",
            group_instance_id: str | None = None,
            retention_time_ms: int = -1,
            version: int = 9,
        ) -> None: ...

    def __post_init__(self) -> None:
        what = "OffsetCommitRequest"
        _check_texts(self, what, "group_id", "member_id")
        _check_optional(self, what, "group_instance_id")
        _check_int(self, what, "generation_id", bits=32)
        _check_int(self, what, "retention_time_ms", bits=64)
        _check_int(self, what, "version", bits=16)
        offsets: tuple[Any, ...] = tuple(
            read_entries(self.offsets, f"{what}: offsets", "an iterable of OffsetToCommit")
        )
        for entry in offsets:
            if not isinstance(entry, OffsetToCommit):
                raise wrong_type(f"{what}: an offset", "an OffsetToCommit", entry)
            _check_texts(entry, what, "topic")
            _check_optional(entry, what, "metadata")
            topic_id = entry.topic_id
            if topic_id is not None and not _TOPIC_ID.fullmatch(check_name(topic_id, f"{what}: topic_id")):
                raise IllegalArgumentError(f"{what}: topic_id = {shown(topic_id)}: a uuid has 22 characters of base64")
        _set(self, "offsets", tuple(_with_numbers(entry, what) for entry in offsets))


Request = JoinGroupRequest | SyncGroupRequest | HeartbeatRequest | LeaveGroupRequest | OffsetCommitRequest
VERSIONS: dict[type[Request], range] = {
    JoinGroupRequest: range(10),
    SyncGroupRequest: range(6),
    HeartbeatRequest: range(5),
    LeaveGroupRequest: range(6),
    OffsetCommitRequest: range(2, 11),
}
"""Versions of each request that a Kafka 4.3.1 broker supports."""


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request that has no answer yet.

    Attributes:
        correlation: Object that the caller passed with the request.
        version: Version of the request.
        is_answered: True once the request is answered; later answers are dropped.
    """

    correlation: object
    version: int
    is_answered: bool = False


def _set(request: object, field: str, value: object) -> None:
    """Set a field of a frozen request."""
    object.__setattr__(request, field, value)


def _check_text(value: object, what: str, longest: int = LONGEST_TEXT) -> None:
    if type(value) is str and len(value) <= _SHORT_TEXT:
        if not value.isascii():
            check_name(value, what)
        return
    size = len(check_name(value, what).encode())
    if size > longest:
        raise IllegalArgumentError(f"{what} = {shown(value)} has {size} bytes of UTF-8; the limit is {longest}")


def is_text(value: object) -> bool:
    """Return True if a value is text that Kafka's messages and records can carry."""
    try:
        _check_text(value, "")
    except (IllegalArgumentError, WrongTypeError):
        return False
    return True


def _check_texts(holder: object, what: str, *fields: str) -> None:
    for field in fields:
        value = getattr(holder, field)
        if type(value) is str and len(value) <= _SHORT_TEXT and value.isascii():
            continue  # most texts: formatting the name of the field would take longer than this check
        _check_text(value, f"{what}: {field}")


def _check_optional(holder: object, what: str, *fields: str) -> None:
    for field in fields:
        if getattr(holder, field) is not None:
            _check_texts(holder, what, field)


def _check_int(request: object, what: str, field: str, *, bits: int) -> None:
    """Check that a field is an integer of at most `bits` bits, and store it as a plain int."""
    value = getattr(request, field)
    if type(value) is not int or value.bit_length() >= bits:
        _set(request, field, read_int(value, f"{what}: {field}", bits=bits))


def _with_numbers(entry: OffsetToCommit, what: str) -> OffsetToCommit:
    return entry._replace(
        partition=read_int(entry.partition, f"{what}: a partition id", bits=32),
        offset=read_int(entry.offset, f"{what}: an offset", bits=64),
        leader_epoch=read_int(entry.leader_epoch, f"{what}: a leader epoch", bits=32),
    )


def _read_pairs(
    given: Iterable[tuple[str, bytes]], what: str, name_is: str, blob_is: str, quoted: Callable[[str], str]
) -> tuple[tuple[str, bytes], ...]:
    """Return checked pairs of a name and bytes. A plain pair is shared with the caller: nothing in it can change."""
    found = []
    name_is = f"{what}: {name_is}"
    for entry in given:
        name, blob = entry
        _check_text(name, name_is)
        if type(entry) is not tuple or type(blob) is not bytes:
            entry = name, as_bytes(blob, f"{what}: the {blob_is} {quoted(name)}")
        found.append(entry)
    return tuple(found)


def _pairs(value: Iterable[tuple[str, bytes]], what: str, pair: str) -> Iterable[tuple[str, bytes]]:
    wanted = f"an iterable of {pair} tuples"
    for entry in read_entries(value, what, wanted):
        if not isinstance(entry, tuple) or len(entry) != 2:
            raise wrong_type(what, wanted, entry)
        yield entry
