"""Fetch positions, leaders and offsets as immutable data; `None` represents Java's empty Optional.

Source: SubscriptionState.FetchPosition and LogTruncation, Metadata.LeaderAndEpoch, Node, OffsetAndMetadata,
IsolationLevel and OffsetForLeaderEpochResponseData.EpochEndOffset of kafka-clients 4.4.0.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

from assignor.errors import IllegalArgumentError
from assignor.model import TopicPartition
from assignor.validation import read_int, wrong_type

__all__ = [
    "NO_LEADER",
    "EpochEndOffset",
    "FetchPosition",
    "IsolationLevel",
    "LeaderAndEpoch",
    "LogTruncation",
    "Node",
    "OffsetAndMetadata",
]

UNDEFINED = -1
"""Offset or epoch in a broker's answer if the broker does not know it."""

_LEAST, _MOST = -(2**63), 2**63 - 1


class IsolationLevel(enum.IntEnum):
    """Limit of a consumer's reads: the high watermark, or the last stable offset, which open transactions hold back."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class Node(NamedTuple):
    """A broker; as in Kafka, a broker with a new address is a different node.

    Attributes:
        id: Id of the broker.
        host: Host name.
        port: Port; -1 if unknown.
        rack: Rack of the broker; None without one.
    """

    id: int
    host: str = ""
    port: int = -1
    rack: str | None = None


class LeaderAndEpoch(NamedTuple):
    """Leader of a partition and its epoch, each None if unknown.

    Attributes:
        leader: Broker that leads the partition.
        epoch: Leader epoch.
    """

    leader: Node | None = None
    epoch: int | None = None


NO_LEADER = LeaderAndEpoch()


class FetchPosition(NamedTuple):
    """Position of a consumer in a partition.

    Attributes:
        offset: Offset of the next record to fetch; as in Kafka, it may be negative.
        offset_epoch: Leader epoch of the previous record; None if unknown.
        current_leader: Leader to fetch from.
    """

    offset: int
    offset_epoch: int | None = None
    current_leader: LeaderAndEpoch = NO_LEADER


class EpochEndOffset(NamedTuple):
    """A leader's answer about an epoch: the end of the epoch in its log.

    Attributes:
        leader_epoch: Largest epoch that is not above the requested one; -1 without such an epoch.
        end_offset: End offset of that epoch; -1 if unknown.
    """

    leader_epoch: int = UNDEFINED
    end_offset: int = UNDEFINED


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """Offset to commit, or committed offset.

    Attributes:
        offset: Offset of the next record to consume.
        leader_epoch: Leader epoch of the previous record; a negative epoch becomes None.
        metadata: Metadata that the consumer stores with the offset.

    Raises:
        IllegalArgumentError: The offset is negative.
    """

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""

    def __post_init__(self) -> None:
        """Reject a negative offset, and replace a negative epoch by None."""
        if read_long(self.offset, "OffsetAndMetadata: offset") < 0:
            raise IllegalArgumentError("Invalid negative offset")
        if self.leader_epoch is not None and read_int(self.leader_epoch, "leader_epoch", bits=32) < 0:
            object.__setattr__(self, "leader_epoch", None)


class LogTruncation(NamedTuple):
    """A log truncation below a fetch position, without a reset strategy to handle it.

    Attributes:
        topic_partition: The partition.
        fetch_position: Position that no longer exists in the log.
        divergent_offset: First offset known to differ; None if unknown.
    """

    topic_partition: TopicPartition
    fetch_position: FetchPosition
    divergent_offset: OffsetAndMetadata | None


def read_long(value: int, what: str) -> int:
    """Return the value if it is an integer of 64 bits, else raise an error."""
    if type(value) is int and _LEAST <= value <= _MOST:
        return value
    return read_int(value, what, bits=64)


def read_position(position: FetchPosition) -> FetchPosition:
    """Return the position if its fields are valid, else raise an error."""
    if not isinstance(position, FetchPosition):
        raise wrong_type("a position", "a FetchPosition", position)
    offset, epoch, leader = position
    if not (type(offset) is int and _LEAST <= offset <= _MOST):
        position = position._replace(offset=read_int(offset, "a position's offset", bits=64))
    if epoch is not None:
        read_int(epoch, "a position's epoch", bits=32)
    if leader is not NO_LEADER:
        read_leader(leader)
    return position


def read_leader(leader: LeaderAndEpoch) -> LeaderAndEpoch:
    """Return the leader and epoch if both are valid, else raise an error."""
    if not isinstance(leader, LeaderAndEpoch):
        raise wrong_type("a leader", "a LeaderAndEpoch", leader)
    node, epoch = leader
    if node is not None and not isinstance(node, Node):
        raise wrong_type("a leader's node", "a Node", node)
    if epoch is not None:
        read_int(epoch, "a leader's epoch", bits=32)
    return leader


def as_long(number: int) -> int:
    """Return the number wrapped to 64 bits, as in arithmetic with Java's long."""
    return number if _LEAST <= number <= _MOST else (number - _LEAST) % 2**64 + _LEAST
