"""The records of a group in `__consumer_offsets`, written as Kafka writes them.

Source: GroupCoordinatorRecordHelpers, kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor import offsets
from assignor.coordinator.effects import LogRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignor.coordinator.group import ClassicGroup
    from assignor.coordinator.stored_offsets import StoredOffset
    from assignor.model import TopicPartition

__all__ = [
    "GROUP_METADATA",
    "OFFSET_COMMIT",
    "group_record",
    "group_tombstone",
    "new_group_record",
    "offset_record",
    "offset_tombstone",
]

OFFSET_COMMIT = 1
GROUP_METADATA = 2

_GROUP_METADATA_VERSION = 3
_OFFSET_COMMIT_VERSION = 4
_OFFSET_COMMIT_VERSION_WITH_EXPIRY = 1

_NO_TIME = -1


def new_group_record(group: ClassicGroup) -> LogRecord:
    """That a group exists, before it had a generation."""
    value = {
        "protocolType": "",
        "generation": 0,
        "protocol": None,
        "leader": None,
        "currentStateTimestamp": _NO_TIME if group.state_since is None else group.state_since,
        "members": [],
    }
    return _record(GROUP_METADATA, {"group": group.group_id}, _GROUP_METADATA_VERSION, value)


def group_record(group: ClassicGroup, assignment: Mapping[str, bytes]) -> LogRecord:
    """The state of a group: its generation, and its members with these assignments by member id."""
    members = [
        {
            "memberId": member.member_id,
            "groupInstanceId": member.group_instance_id,
            "clientId": member.client_id,
            "clientHost": member.client_host,
            "rebalanceTimeout": member.rebalance_timeout_ms,
            "sessionTimeout": member.session_timeout_ms,
            "subscription": member.metadata(group.protocol_name),
            "assignment": assignment.get(member.member_id, b""),
        }
        for member in group.members
    ]
    value = {
        "protocolType": group.protocol_type or "",
        "generation": group.generation,
        "protocol": group.protocol_name,
        "leader": group.leader,
        "currentStateTimestamp": _NO_TIME if group.state_since is None else group.state_since,
        "members": members,
    }
    return _record(GROUP_METADATA, {"group": group.group_id}, _GROUP_METADATA_VERSION, value)


def group_tombstone(group_id: str) -> LogRecord:
    """The end of a group."""
    return _record(GROUP_METADATA, {"group": group_id}, None, None)


def offset_record(group_id: str, partition: TopicPartition, stored: StoredOffset) -> LogRecord:
    """One committed offset."""
    value: dict[str, object] = {"offset": stored.offset, "metadata": stored.metadata}
    value["commitTimestamp"] = stored.committed_at
    if stored.expires_at is None:
        version = _OFFSET_COMMIT_VERSION
        value["leaderEpoch"] = stored.leader_epoch
        if stored.topic_id is not None:
            value["topicId"] = stored.topic_id
    else:
        version = _OFFSET_COMMIT_VERSION_WITH_EXPIRY
        value["expireTimestamp"] = stored.expires_at
    return _record(OFFSET_COMMIT, _offset_key(group_id, partition), version, value)


def offset_tombstone(group_id: str, partition: TopicPartition) -> LogRecord:
    """The end of one committed offset."""
    return _record(OFFSET_COMMIT, _offset_key(group_id, partition), None, None)


def _offset_key(group_id: str, partition: TopicPartition) -> dict[str, object]:
    return {"group": group_id, "topic": partition.topic, "partition": partition.partition}


def _record(number: int, key: dict[str, object], version: int | None, value: dict[str, object] | None) -> LogRecord:
    return LogRecord(*offsets.encode_record(offsets.Record(number, None, key, version, value)))
