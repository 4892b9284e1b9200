"""The error codes with which a coordinator of classic groups answers, under Kafka's names.

Source: org.apache.kafka.common.protocol.Errors, kafka-clients 4.3.1, and
GroupMetadataManager.appendGroupMetadataErrorToResponseError, kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

import enum

__all__ = ["ErrorCode", "told_of"]


class ErrorCode(enum.IntEnum):
    """Kafka's name and number of each error that an answer can carry."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    OFFSET_METADATA_TOO_LARGE = 12
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    UNSUPPORTED_VERSION = 35
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    MEMBER_ID_REQUIRED = 79
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82


_TRANSLATED = {
    3: ErrorCode.COORDINATOR_NOT_AVAILABLE,  # UNKNOWN_TOPIC_OR_PARTITION
    6: ErrorCode.NOT_COORDINATOR,  # NOT_LEADER_OR_FOLLOWER
    7: ErrorCode.COORDINATOR_NOT_AVAILABLE,  # REQUEST_TIMED_OUT
    19: ErrorCode.COORDINATOR_NOT_AVAILABLE,  # NOT_ENOUGH_REPLICAS
    56: ErrorCode.NOT_COORDINATOR,  # KAFKA_STORAGE_ERROR
}

_PASSED_ON = frozenset(ErrorCode) - {ErrorCode.NONE}


def told_of(error: int) -> ErrorCode:
    """What members are told of a log's error; one that is not translated passes, if it is one of ours.

    Example:
        >>> told_of(19).name, told_of(16).name, told_of(10).name
        ('COORDINATOR_NOT_AVAILABLE', 'NOT_COORDINATOR', 'UNKNOWN_SERVER_ERROR')
    """
    if error in _TRANSLATED:
        return _TRANSLATED[error]
    return ErrorCode(error) if error in _PASSED_ON else ErrorCode.UNKNOWN_SERVER_ERROR
