"""Classic group and its members, as `assignor.migration.migrate` reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assignor import _core
from assignor.validation import as_bytes, check_name

if TYPE_CHECKING:
    from assignor.weights import Weights

__all__ = ["ClassicGroup", "ClassicMember", "classic_member"]

Span = tuple[str, int, int]
"""Topic, first partition and number of partitions."""


@dataclass(frozen=True, slots=True)
class ClassicMember:
    """Member of a classic group.

    Attributes:
        member_id: The member id.
        topics: The topics that it subscribes to.
        spans: The partitions that it owns.
        group_instance_id: Instance id of a static member, else None.
        rack: Its rack; None if it has none.
        library: Its client library, such as `java`; None if it is not known (`classic_member` finds it).
        library_version: The version, as far as it is visible, such as `3.0.12` or `3.4+`.
        conversion_problem: Why the broker cannot take the member over: `user_data`, `subscription` or `assignment`;
            None if it can, or it is not known.
        pattern: Patterns instead of topics, if they are known; members send topics only.
        dialect: Dialect of the patterns, such as `librdkafka`.
    """

    member_id: str
    topics: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    group_instance_id: str | None = None
    rack: str | None = None
    library: str | None = None
    library_version: str | None = None
    conversion_problem: str | None = None
    pattern: tuple[str, ...] = ()
    dialect: str | None = None


@dataclass(frozen=True, slots=True)
class ClassicGroup:
    """Classic group.

    Attributes:
        group_id: The group id.
        members: The members.
        assignor: The protocol that its members agreed on, such as `range`; None if it is not known.
        protocol_type: `consumer`, `connect` or another one; None or "" if it is not known.
        unknown: Sentences on what is not known of the group, such as user data.
        problem: Why the group cannot be judged, such as a rebalance in which brokers return no members; else None.
        has_owners: False if the partitions of the members are not known.
        generation: The generation in which the members got their partitions; None if it is not known.
        weights: Weights of the partitions, such as their records per second, in a form of `assignor.weights`; None if
            they are not known.
    """

    group_id: str
    members: tuple[ClassicMember, ...] = ()
    assignor: str | None = None
    protocol_type: str | None = None
    unknown: tuple[str, ...] = ()
    problem: str | None = None
    has_owners: bool = True
    generation: int | None = None
    weights: Weights | None = field(default=None, compare=False, repr=False)

    def topics(self) -> set[str]:
        """Return the topics that members subscribe to, and those of the partitions that they own."""
        named = {topic for member in self.members for topic in member.topics}
        return named | {topic for member in self.members for topic, _, _ in member.spans}


def classic_member(
    group_id: str, assignor: str | None, client_id: str, metadata: bytes, assignment: bytes
) -> dict[str, str | None]:
    r"""Return the client of a classic member, and why a broker cannot take the member over.

    Args:
        group_id: The group.
        assignor: The protocol of the group, such as `range`; None if it is not known.
        client_id: The client id. A default one names the library.
        metadata: Bytes of its subscription, whose form shows the library if the client id does not.
        assignment: Bytes of its assignment; empty before its first one.

    Returns:
        The fields `library`, `library_version` and `conversion_problem` of `ClassicMember`.

    Raises:
        WrongTypeError: An argument has another type.

    Example:
        >>> classic_member("billing", "range", "kafka-python-2.2.15", b"\0\0\0\0\0\0\0\0\0\0", b"")
        {'library': 'kafka-python', 'library_version': '2.2.15', 'conversion_problem': None}
    """
    found = _core.classic_member(
        check_name(group_id, "group_id"),
        "" if assignor is None else check_name(assignor, "assignor"),
        check_name(client_id, "client_id"),
        as_bytes(metadata, "metadata"),
        as_bytes(assignment, "assignment"),
    )
    return dict(zip(("library", "library_version", "conversion_problem"), found, strict=True))
