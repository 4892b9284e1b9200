"""The nouns: partitions, subscriptions and members, as plain immutable data."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from assignor.errors import IllegalArgumentError
from assignor.ordering import java_order
from assignor.validation import check_dialect, check_name, is_int, read_names, read_partitions, shown, wrong_type

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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


class TopicPartition(NamedTuple):
    """One partition of one topic (org.apache.kafka.common.TopicPartition)."""

    topic: str
    partition: int


class PartitionInfo(NamedTuple):
    """A partition id and where its replicas are.

    Attributes:
        partition: The id.
        racks: One entry per replica: the rack of its broker, or None where the broker has no rack. None adds nothing to
            the racks of the partition; `""` is a rack like any other here.
    """

    partition: int
    racks: tuple[str | None, ...] = ()


class Spans(NamedTuple):
    """An assignment as four int32 columns of equal length, a row per run of consecutive partition ids.

    Attributes:
        member: Index into `plan.members`.
        topic: Index into `plan.topics`.
        start: First partition id of the run.
        count: Number of consecutive ids.
    """

    member: npt.NDArray[np.int32]
    topic: npt.NDArray[np.int32]
    start: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32]  # type: ignore[assignment]  # the column hides tuple.count, of no use here


class Diff(NamedTuple):
    """What changes from one plan to a later one.

    Attributes:
        added: Member id to the partitions that it has in the later plan and did not have; only members with any.
        revoked: Member id to the partitions that it has no more; only members with any.
        moved: How many partitions have an owner in both plans, and not the same.
    """

    added: dict[str, list[TopicPartition]]
    revoked: dict[str, list[TopicPartition]]
    moved: int


class Balance(NamedTuple):
    """How evenly a plan shares.

    Attributes:
        min: The fewest partitions that a member has; 0 where there are no members.
        max: The most.
        mean: The average.
        idle: The members that have none, in order.
        spread: Topic to the difference between the most and the fewest partitions that one of its consumers has of it.
    """

    min: int
    max: int
    mean: float
    idle: tuple[str, ...]
    spread: dict[str, int]


class RebalanceProtocol(enum.IntEnum):
    """How members give up partitions in a rebalance (ConsumerPartitionAssignor.RebalanceProtocol)."""

    EAGER = 0
    COOPERATIVE = 1

    @classmethod
    def for_id(cls, protocol_id: int) -> RebalanceProtocol:
        """The protocol with this wire id.

        Raises:
            IllegalArgumentError: No protocol has that id.

        Example:
            >>> RebalanceProtocol.for_id(1)
            <RebalanceProtocol.COOPERATIVE: 1>
        """
        try:
            return cls(protocol_id)
        except ValueError:
            raise IllegalArgumentError(
                f"no rebalance protocol has the id {protocol_id!r}; 0 is EAGER, 1 is COOPERATIVE"
            ) from None


@dataclass(frozen=True, slots=True)
class Subscription:
    """What one member wants, and what it tells the leader about itself (ConsumerPartitionAssignor.Subscription).

    Attributes:
        topics: Names of topics, from any iterable of `str`; a name given twice has no further effect.
        group_instance_id: Makes the member static (KIP-345). `""` counts as present, as in Kafka.
        rack: Where the member is (KIP-881). `""` is no rack.
        owned_partitions: Partitions that the member owns, for sticky assignors. Range and round robin do not read them.
        generation: The generation in which it held them.
        user_data: Bytes of the member's assignor. The sticky assignor reads the owned partitions from them.
        pattern: Instead of topics: those that the pattern matches among the topics that there are.
        dialect: Who reads the pattern: `"java"`, `"re2j"`, `"librdkafka"` or `"python"`. Whether the dialect accepts
            the pattern is found out when it is resolved.

    Raises:
        WrongTypeError: A `str` where an iterable of topics is meant, or a name that is no `str`.
        NullArgumentError: None as topics or as a name.
        IllegalArgumentError: A name with a lone surrogate, an unknown dialect, or pattern and topics together.

    Example:
        >>> Subscription(["orders", "payments"], rack="r1").topics
        ('orders', 'payments')
        >>> Subscription(pattern="orders-.*").dialect
        'java'
    """

    topics: tuple[str, ...] = ()
    group_instance_id: str | None = None
    rack: str | None = None
    owned_partitions: tuple[TopicPartition, ...] = ()
    generation: int | None = None
    user_data: bytes | None = None
    pattern: str | None = None
    dialect: str = "java"

    def __post_init__(self) -> None:
        """Take any iterable as topics and owned partitions, and refuse what cannot be meant."""
        object.__setattr__(self, "topics", read_names(self.topics, "Subscription"))
        check_dialect(check_name(self.dialect, "Subscription: dialect"), "Subscription: dialect")
        for field in ("group_instance_id", "rack"):
            value = getattr(self, field)
            if value is not None:
                check_name(value, f"Subscription: {field}")
        if self.pattern is not None:
            check_name(self.pattern, "Subscription: pattern")
            if self.topics:
                raise IllegalArgumentError(
                    f"Subscription: give topics or a pattern, not both: {shown(self.topics)} and {shown(self.pattern)}"
                )
        owned = read_partitions(self.owned_partitions, "Subscription: owned_partitions")
        object.__setattr__(self, "owned_partitions", tuple(TopicPartition(*partition) for partition in owned))
        if self.generation is not None and not is_int(self.generation):
            raise wrong_type("Subscription: generation", "an int", self.generation)
        if self.user_data is not None and not isinstance(self.user_data, bytes):
            raise wrong_type("Subscription: user_data", "bytes", self.user_data)


@dataclass(frozen=True, slots=True, eq=False)
class MemberInfo:
    """A member as the assignor orders it (AbstractPartitionAssignor.MemberInfo).

    Static members come first, by instance id; then dynamic ones, by member id; strings in Java's order. Two members are
    equal when their member ids are, whatever the rest.

    Example:
        >>> members = [MemberInfo("a"), MemberInfo("b", "y"), MemberInfo("c", "x")]
        >>> [member.member_id for member in sorted(members)]
        ['c', 'b', 'a']
    """

    member_id: str
    group_instance_id: str | None = None
    rack: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is no name."""
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
