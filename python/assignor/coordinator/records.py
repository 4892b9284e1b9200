"""Records of groups in `__consumer_offsets`: written as Kafka writes them, and read back into groups.

The log also has records of other group types (KIP-848, share, streams). These groups are skipped with their offsets. A
group that changed its type has the type of its last record.

Source: GroupCoordinatorRecordHelpers, GroupMetadataManager.onLoaded, and the replay methods of GroupMetadataManager and
OffsetMetadataManager, kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor import _core, offsets
from assignor.coordinator.context import LogRecord
from assignor.coordinator.group import ClassicGroup, StoredOffset
from assignor.coordinator.members import GroupMember
from assignor.coordinator.state import GroupState
from assignor.coordinator.timers import TimerKind
from assignor.errors import IllegalStateError, WireError
from assignor.model import TopicPartition
from assignor.validation import read_entries, wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.coordinator.group import StoredOffsets

__all__ = [
    "group_record",
    "group_tombstone",
    "new_group_record",
    "offset_record",
    "offset_tombstone",
    "read_groups",
]

OFFSET_COMMIT = 1
GROUP_METADATA = 2

_OFFSET_COMMITS = (0, OFFSET_COMMIT)
"""Types of committed offsets; 0 is the type of very old records."""

_OTHER_GROUPS = {3: "consumer", 11: "share", 17: "streams"}
"""Record types whose values mark a group of another type."""

_GROUP_METADATA_VERSION = 3
_OFFSET_COMMIT_VERSION = 4
_OFFSET_COMMIT_VERSION_WITH_EXPIRY = 1

_NO_TIME = -1

# Writing


def new_group_record(group: ClassicGroup) -> LogRecord:
    """Return the record of a group that has no generation yet."""
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
    """Return the record of a group's generation: its members, with the given assignments by member id."""
    protocol, assigned = group.protocol_name, assignment.get
    members: list[tuple[object, ...]] = [
        (
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            member.rebalance_timeout_ms,
            member.session_timeout_ms,
            member.metadata(protocol),
            assigned(member.member_id, b""),
        )
        for member in group.members.in_order()
    ]
    value = {
        "protocolType": group.protocol_type or "",
        "generation": group.generation,
        "protocol": group.protocol_name,
        "leader": group.leader,
        "currentStateTimestamp": _NO_TIME if group.state_since is None else group.state_since,
    }
    # Encoding this record takes most of the time of a large group's sync. Reading tuples takes about half the time of
    # reading dicts.
    key, version = {"group": group.group_id}, _GROUP_METADATA_VERSION
    return LogRecord(*_core.encode_record_with_rows(GROUP_METADATA, key, version, value, "members", members))


def group_tombstone(group_id: str) -> LogRecord:
    """Return the tombstone of a group."""
    return _record(GROUP_METADATA, {"group": group_id}, None, None)


def offset_record(group_id: str, partition: TopicPartition, stored: StoredOffset) -> LogRecord:
    """Return the record of a committed offset."""
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
    """Return the tombstone of a committed offset."""
    return _record(OFFSET_COMMIT, _offset_key(group_id, partition), None, None)


def _offset_key(group_id: str, partition: TopicPartition) -> dict[str, object]:
    return {"group": group_id, "topic": partition.topic, "partition": partition.partition}


def _record(number: int, key: dict[str, object], version: int | None, value: dict[str, object] | None) -> LogRecord:
    return LogRecord(*offsets.encode_record(offsets.Record(number, None, key, version, value)))


# Reading


def read_groups(
    records: Iterable[tuple[bytes, bytes | None]], groups: Mapping[str, ClassicGroup], now: int
) -> tuple[list[ClassicGroup], list[str]]:
    """Read the groups of a log.

    Args:
        records: Key and value of each record, in the order of the log, without those of aborted transactions.
        groups: Groups that the coordinator already has; unchanged.
        now: `state_since` of groups without a group record.

    Returns:
        The groups of the classic protocol, and sentences about skipped records.

    Raises:
        WireError: A record cannot be decoded; `reason` names it.
        IllegalStateError: A group already exists.
    """
    log = _Log()
    wanted = "an iterable of (key, value)"
    for index, record in enumerate(read_entries(records, "load: records", wanted)):
        if not isinstance(record, tuple) or len(record) != 2:
            raise wrong_type(f"load: records[{index}]", "a pair of key and value", record)
        key, value = record
        try:
            log.replay(offsets.decode_record(key, value))
        except WireError as error:
            raise WireError(f"record {index}: {error.reason}", error.offset, error.field) from error
    found = []
    for group_id in {**log.classic, **dict.fromkeys(log.offsets)}:
        if group_id in log.others:
            continue
        if group_id in groups and groups[group_id].state is not GroupState.DEAD:
            raise IllegalStateError(
                f"group {group_id!r} already exists; load its records into a coordinator without it"
            )
        group = ClassicGroup(TimerKind.JOIN_PHASE, group_id, state_since=now)
        # A group that only commits offsets has no group record.
        if group_id in log.classic:
            _restore(group, log.classic[group_id])
        for partition, offset in log.offsets.get(group_id, {}).items():
            group.store_offset(partition, offset)
        found.append(group)
    problems = []
    if log.others:
        kinds = sorted(set(log.others.values()))
        problems.append(f"skipped {len(log.others)} groups of other types: {', '.join(kinds)}")
    if log.unknown:
        problems.append(f"skipped {log.unknown} records of unknown types")
    return found, problems


class _Log:
    """Groups and offsets of a log, up to the last record that was replayed."""

    def __init__(self) -> None:
        self.classic: dict[str, dict[str, Any]] = {}
        self.others: dict[str, str] = {}
        self.offsets: dict[str, StoredOffsets] = {}
        self.unknown = 0

    def replay(self, record: offsets.Record) -> None:
        """Apply one record."""
        group_id = record.group
        if record.status == "unknown_type" or group_id is None:
            self.unknown += 1
        elif record.type == GROUP_METADATA:
            self.classic.pop(group_id, None)
            if record.value is None:
                self._end(group_id)
            else:
                self.classic[group_id] = record.value
                self.others.pop(group_id, None)
        elif record.type in _OFFSET_COMMITS:
            self._replay_offset(group_id, record)
        elif record.type in _OTHER_GROUPS:
            if record.value is None:
                self.others.pop(group_id, None)
                self._end(group_id)
            else:
                self.classic.pop(group_id, None)
                self.others[group_id] = _OTHER_GROUPS[record.type]

    def _end(self, group_id: str) -> None:
        """Remove a group that has ended, unless it has offsets."""
        if not self.offsets.get(group_id, True):
            del self.offsets[group_id]

    def _replay_offset(self, group_id: str, record: offsets.Record) -> None:
        partition = TopicPartition(record.key["topic"], record.key["partition"])
        value = record.value
        if value is None:
            # As in Kafka, the group remains: only its own tombstone removes it.
            self.offsets.get(group_id, {}).pop(partition, None)
            return
        expires_at = value.get("expireTimestamp", _NO_TIME)
        self.offsets.setdefault(group_id, {})[partition] = StoredOffset(
            value["offset"],
            value["metadata"],
            value.get("leaderEpoch", -1),
            value["commitTimestamp"],
            None if expires_at == _NO_TIME else expires_at,
            value.get("topicId"),
        )


def _restore(group: ClassicGroup, value: dict[str, Any]) -> None:
    """Set the state of a new group from its record."""
    members = value["members"]
    group.state = GroupState.STABLE if members else GroupState.EMPTY
    group.generation = value["generation"]
    group.protocol_type = value["protocolType"] or None
    group.protocol_name = value["protocol"]
    group.leader = value["leader"]
    since = value.get("currentStateTimestamp", _NO_TIME)
    group.state_since = None if since == _NO_TIME else since
    for member in members:
        session_timeout_ms = member["sessionTimeout"]
        rebalance_timeout_ms = member.get("rebalanceTimeout", -1)
        group.add(
            GroupMember(
                TimerKind.SESSION,
                group.group_id,
                member["memberId"],
                group_instance_id=member.get("groupInstanceId"),
                client_id=member["clientId"],
                client_host=member["clientHost"],
                protocols=((value["protocol"] or "", member["subscription"]),),
                session_timeout_ms=session_timeout_ms,
                rebalance_timeout_ms=session_timeout_ms if rebalance_timeout_ms == -1 else rebalance_timeout_ms,
                assignment=member["assignment"],
            ),
            value["protocolType"],
        )
