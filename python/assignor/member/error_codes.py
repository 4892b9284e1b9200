"""Reactions of a member to the errors in answers to heartbeats.

Source: AbstractHeartbeatRequestManager and ConsumerHeartbeatRequestManager, kafka-clients 4.3.1; the codes are those of
org.apache.kafka.common.protocol.Errors. As in Kafka, an error that is not listed is fatal.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

__all__ = ["ERRORS", "GROUP_ID_NOT_FOUND", "UNKNOWN_SERVER_ERROR", "HeartbeatError", "Reaction", "heartbeat_error"]

UNKNOWN_SERVER_ERROR = -1
GROUP_ID_NOT_FOUND = 69


class Reaction(enum.Enum):
    """Reaction to an error."""

    RETRY = "send the heartbeat again after the backoff"
    FIND_COORDINATOR = "find the coordinator, then send the heartbeat again"
    RAISE = "raise the error to the application, and send the heartbeat again after the backoff"
    REJOIN = "the member is fenced: release its partitions and join again"
    FAIL = "raise the error to the application; the member enters FATAL"


class HeartbeatError(NamedTuple):
    """One of Kafka's errors.

    Attributes:
        name: Kafka's name of the error.
        reaction: Reaction of the member.
        text: Message for the application, with the placeholder `{group_id}`; None for the coordinator's message.
    """

    name: str
    reaction: Reaction
    text: str | None = None


ERRORS = {
    14: HeartbeatError("COORDINATOR_LOAD_IN_PROGRESS", Reaction.RETRY),
    15: HeartbeatError("COORDINATOR_NOT_AVAILABLE", Reaction.FIND_COORDINATOR),
    16: HeartbeatError("NOT_COORDINATOR", Reaction.FIND_COORDINATOR),
    25: HeartbeatError("UNKNOWN_MEMBER_ID", Reaction.REJOIN),
    29: HeartbeatError("TOPIC_AUTHORIZATION_FAILED", Reaction.RAISE),
    30: HeartbeatError(
        "GROUP_AUTHORIZATION_FAILED", Reaction.FAIL, "the client is not authorized for the group {group_id!r}"
    ),
    35: HeartbeatError(
        "UNSUPPORTED_VERSION",
        Reaction.FAIL,
        "the cluster does not support the protocol of KIP-848; use group.protocol=classic until it is upgraded",
    ),
    42: HeartbeatError("INVALID_REQUEST", Reaction.FAIL),
    GROUP_ID_NOT_FOUND: HeartbeatError("GROUP_ID_NOT_FOUND", Reaction.FAIL),
    81: HeartbeatError("GROUP_MAX_SIZE_REACHED", Reaction.FAIL),
    82: HeartbeatError("FENCED_INSTANCE_ID", Reaction.FAIL),
    110: HeartbeatError("FENCED_MEMBER_EPOCH", Reaction.REJOIN),
    111: HeartbeatError("UNRELEASED_INSTANCE_ID", Reaction.FAIL),
    112: HeartbeatError("UNSUPPORTED_ASSIGNOR", Reaction.FAIL),
    128: HeartbeatError("INVALID_REGULAR_EXPRESSION", Reaction.FAIL),
}
"""Errors by code."""


def heartbeat_error(code: int) -> HeartbeatError:
    """Return the name of an error code and the reaction to it.

    Example:
        >>> heartbeat_error(110).reaction.name, heartbeat_error(999).name
        ('REJOIN', 'UNKNOWN_ERROR_999')
    """
    if code == UNKNOWN_SERVER_ERROR:
        return HeartbeatError("UNKNOWN_SERVER_ERROR", Reaction.FAIL)
    return ERRORS.get(code) or HeartbeatError(f"UNKNOWN_ERROR_{code}", Reaction.FAIL)
