"""Sample records, and changed copies of them."""

from __future__ import annotations

import dataclasses
from typing import Any

from assignor.offsets import Record

Path = tuple[str | int, ...]
"""Names of fields and indices of elements; the first is `key` or `value`."""

COMMIT = Record(
    1,
    "OFFSET_COMMIT",
    {"group": "g", "topic": "t", "partition": 3},
    3,
    {"offset": 5, "leaderEpoch": -1, "metadata": "m", "commitTimestamp": 7},
)
MEMBER = {
    "memberId": "m",
    "groupInstanceId": None,
    "clientId": "c",
    "clientHost": "/127.0.0.1",
    "rebalanceTimeout": 60_000,
    "sessionTimeout": 45_000,
    "subscription": b"s",
    "assignment": b"",
}
GROUP = Record(
    2,
    "GROUP_METADATA",
    {"group": "g"},
    3,
    {
        "protocolType": "consumer",
        "generation": 1,
        "protocol": "range",
        "leader": "m",
        "currentStateTimestamp": 9,
        "members": [MEMBER],
    },
)
TOPIC = {"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [0, 2]}
CURRENT = Record(
    8,
    "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT",
    {"groupId": "g", "memberId": "m"},
    0,
    {
        "memberEpoch": 2,
        "previousMemberEpoch": 1,
        "state": 0,
        "assignedPartitions": [TOPIC],
        "partitionsPendingRevocation": [],
    },
)
ENDPOINT = Record(
    19,
    "STREAMS_GROUP_MEMBER_METADATA",
    {"groupId": "g", "memberId": "m"},
    0,
    {
        "instanceId": None,
        "rackId": None,
        "clientId": "c",
        "clientHost": "h",
        "rebalanceTimeoutMs": 1,
        "topologyEpoch": 0,
        "processId": "p",
        "userEndpoint": {"host": "h", "port": 65_535},
        "clientTags": [],
    },
)
METADATA = Record(
    5,
    "CONSUMER_GROUP_MEMBER_METADATA",
    {"groupId": "g", "memberId": "m"},
    0,
    {
        "instanceId": None,
        "rackId": None,
        "clientId": "c",
        "clientHost": "h",
        "subscribedTopicNames": ["t"],
        "subscribedTopicRegex": None,
        "rebalanceTimeoutMs": 1,
        "serverAssignor": None,
    },
)


def encoded_parts(record: Record) -> tuple[Any, ...]:
    """Return the parts of a record that are encoded."""
    return record.type, record.key, record.version, record.value


def changed(record: Record, path: Path, value: Any) -> Record:
    """Return a copy of a record with another value at a path."""

    def put(inner: Any, steps: Path) -> Any:
        if not steps:
            return value
        if isinstance(inner, dict):
            return inner | {steps[0]: put(inner.get(steps[0]), steps[1:])}
        return [put(item, steps[1:]) if index == steps[0] else item for index, item in enumerate(inner)]

    parts: dict[str, Any] = {"key": record.key, "value": record.value}
    return dataclasses.replace(record, **{str(path[0]): put(parts[str(path[0])], path[1:])})
