"""Immutable data classes of subscriptions and members, and the named tuples of `assignor.tuples`."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError
from assignor.ordering import java_order
from assignor.tuples import Balance, Diff, PartitionInfo, Spans, TopicPartition
from assignor.validation import (
    check_dialect,
    check_name,
    is_int,
    read_index,
    read_names,
    read_partitions,
    read_patterns,
    shown,
    wrong_type,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.names import Dialect

__all__ = [
    "Balance",
    "Diff",
    "MemberInfo",
    "PartitionInfo",
    "RebalanceProtocol",
    "Spans",
    "Subscription",
    "TopicPartition",
]


class RebalanceProtocol(enum.IntEnum):
    """Way in which members give up partitions in a rebalance (ConsumerPartitionAssignor.RebalanceProtocol)."""

    EAGER = 0
    COOPERATIVE = 1

    @classmethod
    def for_id(cls, protocol_id: int) -> RebalanceProtocol:
        """Return the protocol with a wire id.

        Raises:
            IllegalArgumentError: No protocol has the id.
            WrongTypeError: The id is not an int.

        Example:
            >>> RebalanceProtocol.for_id(1)
            <RebalanceProtocol.COOPERATIVE: 1>
        """
        try:
            return cls(read_index(protocol_id, "RebalanceProtocol: an id"))
        except ValueError:
            raise IllegalArgumentError(
                f"no rebalance protocol has the id {shown(protocol_id)}; 0 is EAGER, 1 is COOPERATIVE"
            ) from None


@dataclass(frozen=True, slots=True)
class Subscription:
    """A member's subscription, with the data that it sends to the leader (ConsumerPartitionAssignor.Subscription).

    A member can have names and patterns together. It gets each topic once, whether a name, a pattern or several of them
    stand for it. The order of names and patterns has no effect.

    Attributes:
        topics: Topic names, from any iterable of `str`. Duplicate names have no effect. In the dialect `librdkafka`, a
            name that begins with `^` is a pattern, as in the list of topics that librdkafka takes. It is moved to
            `pattern`.
        group_instance_id: Instance id of a static member (KIP-345). `""` counts as an instance id, as in Kafka.
        rack: Rack of the member (KIP-881). None and `""` mean no rack.
        owned_partitions: Partitions that the member owns. Sticky assignors read them; range and round robin do not.
        generation: Generation in which the member got its owned partitions.
        user_data: Bytes of the member's assignor. If given, `sticky` reads the owned partitions from them.
        pattern: Topic pattern, or several in any iterable of `str`. They are matched against the existing topics. The
            attribute is None without patterns, a `str` for one pattern and a tuple for several distinct ones.
        dialect: Dialect of the patterns: `"java"`, `"re2j"`, `"librdkafka"` or `"python"`. Patterns are parsed when
            they are resolved, not here.

    Raises:
        WrongTypeError: `topics` is a `str` or not iterable, or another value has the wrong type.
        NullArgumentError: `topics`, a name or one of several patterns is None.
        IllegalArgumentError: A name has a lone surrogate, or the dialect is unknown.

    Example:
        >>> Subscription(["orders", "payments"], rack="r1").topics
        ('orders', 'payments')
        >>> Subscription(pattern="orders-.*").dialect
        'java'
        >>> mixed = Subscription(["orders", "^eu-.*", "^us-.*"], dialect="librdkafka")
        >>> mixed.topics, mixed.pattern
        (('orders',), ('^eu-.*', '^us-.*'))
    """

    topics: tuple[str, ...] = ()
    group_instance_id: str | None = None
    rack: str | None = None
    owned_partitions: tuple[TopicPartition, ...] = ()
    generation: int | None = None
    user_data: bytes | None = None
    pattern: str | tuple[str, ...] | None = None
    dialect: Dialect = "java"

    if TYPE_CHECKING:  # the constructor takes more types than the attributes have

        def __init__(
            self,
            topics: Iterable[str] = (),
            group_instance_id: str | None = None,
            rack: str | None = None,
            owned_partitions: Iterable[tuple[str, int]] = (),
            generation: int | None = None,
            user_data: bytes | None = None,
            pattern: str | Iterable[str] | None = None,
            dialect: Dialect = "java",
        ) -> None: ...

    def __post_init__(self) -> None:
        """Validate the fields, convert topics and owned partitions to tuples, and separate names from patterns."""
        object.__setattr__(self, "topics", read_names(self.topics, "Subscription"))
        check_dialect(check_name(self.dialect, "Subscription: dialect"), "Subscription: dialect")
        for field in ("group_instance_id", "rack"):
            value = getattr(self, field)
            if value is not None:
                check_name(value, f"Subscription: {field}")
        if self.pattern is not None or self.dialect == "librdkafka":
            self._set_patterns()
        owned = read_partitions(self.owned_partitions, "Subscription: owned_partitions")
        object.__setattr__(self, "owned_partitions", tuple(TopicPartition(*partition) for partition in owned))
        if self.generation is not None and not is_int(self.generation):
            raise wrong_type("Subscription: generation", "an int", self.generation)
        if self.user_data is not None and not isinstance(self.user_data, bytes):
            raise wrong_type("Subscription: user_data", "bytes", self.user_data)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The distinct patterns, in the order given; empty without patterns."""
        if self.pattern is None:
            return ()
        return (self.pattern,) if isinstance(self.pattern, str) else self.pattern

    def _set_patterns(self) -> None:
        """Store each pattern once; those among the names of a librdkafka list come first."""
        given = read_patterns(self.pattern, "Subscription: pattern")
        if self.dialect == "librdkafka":
            listed = tuple(name for name in self.topics if name.startswith("^"))
            if listed:
                object.__setattr__(self, "topics", tuple(name for name in self.topics if not name.startswith("^")))
                given = (*listed, *given)
        distinct = tuple(dict.fromkeys(given))
        pattern = distinct if len(distinct) > 1 else next(iter(distinct), None)
        object.__setattr__(self, "pattern", pattern)


@dataclass(frozen=True, slots=True, eq=False)
class MemberInfo:
    """A member that sorts as in Kafka's assignors (AbstractPartitionAssignor.MemberInfo).

    Static members come first, by instance id; then dynamic members, by member id. Strings compare in Java's order. Two
    members are equal if their member ids are equal; the other fields do not count.

    Attributes:
        member_id: Id of the member.
        group_instance_id: Instance id of a static member; None for a dynamic member.
        rack: Rack of the member; None without one.

    Example:
        >>> members = [MemberInfo("a"), MemberInfo("b", "y"), MemberInfo("c", "x")]
        >>> [member.member_id for member in sorted(members)]
        ['c', 'b', 'a']
    """

    member_id: str
    group_instance_id: str | None = None
    rack: str | None = None

    def __post_init__(self) -> None:
        """Validate the names."""
        check_name(self.member_id, "MemberInfo: member_id")
        for field in ("group_instance_id", "rack"):
            value = getattr(self, field)
            if value is not None:
                check_name(value, f"MemberInfo: {field}")

    def _order(self) -> tuple[bool, bytes]:
        if self.group_instance_id is not None:
            return False, java_order(self.group_instance_id)
        return True, java_order(self.member_id)

    def __lt__(self, other: MemberInfo) -> bool:
        return self._order() < other._order() if isinstance(other, MemberInfo) else NotImplemented

    def __le__(self, other: MemberInfo) -> bool:
        return self._order() <= other._order() if isinstance(other, MemberInfo) else NotImplemented

    def __gt__(self, other: MemberInfo) -> bool:
        return self._order() > other._order() if isinstance(other, MemberInfo) else NotImplemented

    def __ge__(self, other: MemberInfo) -> bool:
        return self._order() >= other._order() if isinstance(other, MemberInfo) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self.member_id == other.member_id if isinstance(other, MemberInfo) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.member_id)
