"""From records back to groups: what a coordinator knows when it takes over a log.

Groups of other kinds (KIP-848, share, streams) have records in the same log. They are passed over with their offsets;
a group that was moved between kinds is what its last record says.

Source: the replay methods of GroupMetadataManager and OffsetMetadataManager, and GroupMetadataManager.onLoaded,
kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor import offsets
from assignor.coordinator.group import GroupMember
from assignor.coordinator.records import GROUP_METADATA, OFFSET_COMMIT
from assignor.coordinator.requests import Protocol
from assignor.coordinator.state import GroupState
from assignor.coordinator.stored_offsets import StoredOffset
from assignor.errors import IllegalStateError, WireError
from assignor.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.coordinator.group import ClassicGroup
    from assignor.coordinator.groups import Groups
    from assignor.coordinator.stored_offsets import StoredOffsets

__all__ = ["read_groups"]

OFFSET_COMMITS = (0, OFFSET_COMMIT)
"""The types of committed offsets; 0 is that of very old records."""

OTHER_GROUPS = {3: "consumer", 11: "share", 17: "streams"}
"""The types whose values say that a group is of another kind."""

NO_TIME = -1


def read_groups(records: Iterable[tuple[bytes, bytes | None]], groups: Groups) -> tuple[list[ClassicGroup], list[str]]:
    """Read a log.

    Args:
        records: Key and value of each record, in the order of the log, without those of aborted transactions.
        groups: What makes groups; it stays as it is.

    Returns:
        The groups of the classic protocol, and what was passed over, in sentences.

    Raises:
        WireError: A record cannot be read; `reason` says which one.
        IllegalStateError: A group is there already.
    """
    log = _Log()
    for index, (key, value) in enumerate(records):
        try:
            log.replay(offsets.decode_record(key, value))
        except WireError as error:
            raise WireError(f"record {index}: {error.reason}", error.offset, error.field) from error
    found = []
    for group_id in {**log.classic, **dict.fromkeys(log.offsets)}:
        if group_id in log.others:
            continue
        if group_id in groups and groups[group_id].state is not GroupState.DEAD:
            raise IllegalStateError(f"group {group_id!r} is there already; load records into a coordinator without it")
        group = groups.make(group_id)
        # A group that only commits offsets has no record of its own.
        if group_id in log.classic:
            _restore(group, log.classic[group_id], groups)
        group.offsets = log.offsets.get(group_id, {})
        found.append(group)
    problems = []
    if log.others:
        kinds = sorted(set(log.others.values()))
        problems.append(f"{len(log.others)} groups were passed over, as they are not classic ({', '.join(kinds)})")
    if log.unknown:
        problems.append(f"{log.unknown} records were passed over, as their type is not known")
    return found, problems


class _Log:
    """What stands in a log after the records so far."""

    def __init__(self) -> None:
        self.classic: dict[str, dict[str, Any]] = {}
        self.others: dict[str, str] = {}
        self.offsets: dict[str, StoredOffsets] = {}
        self.unknown = 0

    def replay(self, record: offsets.Record) -> None:
        """Take in one record."""
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
        elif record.type in OFFSET_COMMITS:
            self._replay_offset(group_id, record)
        elif record.type in OTHER_GROUPS:
            if record.value is None:
                self.others.pop(group_id, None)
                self._end(group_id)
            else:
                self.classic.pop(group_id, None)
                self.others[group_id] = OTHER_GROUPS[record.type]

    def _end(self, group_id: str) -> None:
        """A group has ended, if it has no offsets left."""
        if not self.offsets.get(group_id, True):
            del self.offsets[group_id]

    def _replay_offset(self, group_id: str, record: offsets.Record) -> None:
        partition = TopicPartition(record.key["topic"], record.key["partition"])
        value = record.value
        if value is None:
            # The group stays, as in Kafka: it goes by its own tombstone, and not by those of its offsets.
            self.offsets.get(group_id, {}).pop(partition, None)
            return
        expires_at = value.get("expireTimestamp", NO_TIME)
        self.offsets.setdefault(group_id, {})[partition] = StoredOffset(
            value["offset"],
            value["metadata"],
            value.get("leaderEpoch", -1),
            value["commitTimestamp"],
            None if expires_at == NO_TIME else expires_at,
            value.get("topicId"),
        )


def _restore(group: ClassicGroup, value: dict[str, Any], groups: Groups) -> None:
    """Make a group what its record says."""
    members = value["members"]
    group.state = GroupState.STABLE if members else GroupState.EMPTY
    group.generation = value["generation"]
    group.protocol_type = value["protocolType"] or None
    group.protocol_name = value["protocol"]
    group.leader = value["leader"]
    since = value.get("currentStateTimestamp", NO_TIME)
    group.state_since = None if since == NO_TIME else since
    for member in members:
        session_timeout_ms = member["sessionTimeout"]
        rebalance_timeout_ms = member.get("rebalanceTimeout", -1)
        group.add(
            GroupMember(
                member["memberId"],
                groups.session_timer(group, member["memberId"]),
                group_instance_id=member.get("groupInstanceId"),
                client_id=member["clientId"],
                client_host=member["clientHost"],
                protocol_type=value["protocolType"],
                protocols=(Protocol(value["protocol"] or "", member["subscription"]),),
                session_timeout_ms=session_timeout_ms,
                rebalance_timeout_ms=session_timeout_ms if rebalance_timeout_ms == -1 else rebalance_timeout_ms,
                assignment=member["assignment"],
            )
        )
