"""What a member does about each error that a heartbeat can be answered with.

Source: AbstractHeartbeatRequestManager and ConsumerHeartbeatRequestManager, kafka-clients 4.3.1; the codes are those of
org.apache.kafka.common.protocol.Errors. An error that is not listed is fatal, as it is there.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

__all__ = ["ERRORS", "GROUP_ID_NOT_FOUND", "UNKNOWN_SERVER_ERROR", "HeartbeatError", "Reaction", "heartbeat_error"]

UNKNOWN_SERVER_ERROR = -1
GROUP_ID_NOT_FOUND = 69


class Reaction(enum.Enum):
    """What follows from an error."""

    RETRY = "the heartbeat is sent again after the backoff"
    FIND_COORDINATOR = "the coordinator is looked for, and the heartbeat sent again once it is found"
    RAISE = "the error goes to the application; the heartbeat is sent again after the backoff"
    REJOIN = "the member is fenced: it gives its partitions up and joins again"
    FAIL = "the error goes to the application, and the member is at its end"


class HeartbeatError(NamedTuple):
    """One of Kafka's errors.

    Attributes:
        name: Kafka's.
        reaction: What follows.
        text: The message for the application; None if it is the coordinator's own. `{group_id}` stands for the group.
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
        "GROUP_AUTHORIZATION_FAILED", Reaction.FAIL, "this client may not be a member of the group {group_id!r}"
    ),
    35: HeartbeatError(
        "UNSUPPORTED_VERSION",
        Reaction.FAIL,
        "the cluster does not speak the protocol of KIP-848; use group.protocol=classic until it is upgraded",
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
"""By error code."""


def heartbeat_error(code: int) -> HeartbeatError:
    """Return the name of an error code and the reaction to it.

    Example:
        >>> heartbeat_error(110).reaction.name, heartbeat_error(999).name
        ('REJOIN', 'UNKNOWN_ERROR_999')
    """
    if code == UNKNOWN_SERVER_ERROR:
        return HeartbeatError("UNKNOWN_SERVER_ERROR", Reaction.FAIL)
    return ERRORS.get(code) or HeartbeatError(f"UNKNOWN_ERROR_{code}", Reaction.FAIL)
