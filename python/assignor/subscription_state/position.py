"""Positions and what they are compared with, as plain immutable data; `None` is Java's empty Optional.

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
"""What a broker answers for an offset or an epoch that it does not know."""

_LEAST, _MOST = -(2**63), 2**63 - 1


class IsolationLevel(enum.IntEnum):
    """Up to where a consumer reads: the high watermark, or the last stable offset below open transactions."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class Node(NamedTuple):
    """A broker; one that comes back under another address is another node to Kafka."""

    id: int
    host: str = ""
    port: int = -1
    rack: str | None = None


class LeaderAndEpoch(NamedTuple):
    """The leader of a partition and its epoch, each None where it is not known."""

    leader: Node | None = None
    epoch: int | None = None


NO_LEADER = LeaderAndEpoch()


class FetchPosition(NamedTuple):
    """Where fetching goes on.

    Attributes:
        offset: The offset of the next record to fetch; Kafka's class takes a negative one, and so does this.
        offset_epoch: The leader epoch of the record before it, None where it is not known.
        current_leader: The leader that is fetched from.
    """

    offset: int
    offset_epoch: int | None = None
    current_leader: LeaderAndEpoch = NO_LEADER


class EpochEndOffset(NamedTuple):
    """What a leader answers about an epoch: where in its log the epoch ended.

    Attributes:
        leader_epoch: The largest epoch not over the one asked about; -1 where there is none.
        end_offset: Where it ended; -1 where that is not known.
    """

    leader_epoch: int = UNDEFINED
    end_offset: int = UNDEFINED


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """An offset to commit or that was committed.

    Attributes:
        offset: The offset of the next record to consume.
        leader_epoch: The epoch of the record before it; a negative one is none.
        metadata: Whatever the consumer notes beside it.

    Raises:
        IllegalArgumentError: The offset is negative.
    """

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""

    def __post_init__(self) -> None:
        """Refuse a negative offset; drop a negative epoch."""
        if read_long(self.offset, "OffsetAndMetadata: offset") < 0:
            raise IllegalArgumentError("Invalid negative offset")
        if self.leader_epoch is not None and read_int(self.leader_epoch, "leader_epoch", bits=32) < 0:
            object.__setattr__(self, "leader_epoch", None)


class LogTruncation(NamedTuple):
    """That a log was cut off below a position, where no reset strategy says what to do about it.

    Attributes:
        topic_partition: Where.
        fetch_position: The position that is lost.
        divergent_offset: The first offset known to differ, None where none is known.
    """

    topic_partition: TopicPartition
    fetch_position: FetchPosition
    divergent_offset: OffsetAndMetadata | None


def read_long(value: int, what: str) -> int:
    """Return the value after checking that it is an integer of 64 bits."""
    if type(value) is int and _LEAST <= value <= _MOST:
        return value
    return read_int(value, what, bits=64)


def read_position(position: FetchPosition) -> FetchPosition:
    """Return the position after checking its fields."""
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
    """Return the leader and its epoch after checking both."""
    if not isinstance(leader, LeaderAndEpoch):
        raise wrong_type("a leader", "a LeaderAndEpoch", leader)
    node, epoch = leader
    if node is not None and not isinstance(node, Node):
        raise wrong_type("a leader's node", "a Node", node)
    if epoch is not None:
        read_int(epoch, "a leader's epoch", bits=32)
    return leader


def as_long(number: int) -> int:
    """Return the number modulo 2**64, as arithmetic with Java's long does."""
    return number if _LEAST <= number <= _MOST else (number - _LEAST) % 2**64 + _LEAST
