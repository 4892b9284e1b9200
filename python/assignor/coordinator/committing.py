"""Handlers of OffsetCommit and DeleteGroups, and the expiry of offsets and groups.

Source: OffsetMetadataManager, OffsetExpirationConditionImpl, ClassicGroup.offsetExpirationCondition,
GroupCoordinatorShard.cleanupGroupMetadata and deleteGroups, kafka-group-coordinator 4.3.1; KafkaApis, Kafka 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.coordinator import rebalancing
from assignor.coordinator.group import StoredOffset, to_signed
from assignor.coordinator.members import CONSUMER
from assignor.coordinator.records import group_tombstone, offset_record, offset_tombstone
from assignor.coordinator.responses import DeleteGroupResponse, OffsetCommitResponse, PartitionResponse
from assignor.coordinator.state import ANSWERS, DEAD, EMPTY, STABLE, ErrorCode, RequestKind
from assignor.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.coordinator.context import Context
    from assignor.coordinator.group import ClassicGroup
    from assignor.coordinator.requests import OffsetCommitRequest, OffsetToCommit, PendingRequest
    from assignor.coordinator.timers import Timer

__all__ = ["commit", "delete", "delete_expired", "schedule_retention_check"]

WITH_GROUP_ID_NOT_FOUND = 9
"""First version in which a commit to a missing group is answered GROUP_ID_NOT_FOUND."""

# OffsetCommit


def commit(context: Context, request: OffsetCommitRequest, pending: PendingRequest) -> OffsetCommitResponse | None:
    """Handle an OffsetCommit request; return its answer, or None if the answer waits for a write."""
    results = {
        index: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for index, entry in enumerate(request.offsets)
        if not context.topics.may_exist(entry.topic, entry.partition)
    }
    group = _check_commit(context, request) if len(results) < len(request.offsets) else None
    max_size = context.config.offset_metadata_max_size
    stored: list[tuple[TopicPartition, StoredOffset]] = []
    for index, entry in enumerate(request.offsets):
        if index in results:
            continue
        if isinstance(group, ErrorCode):
            results[index] = group
        elif len((entry.metadata or "").encode("utf-16-le")) // 2 > max_size:
            results[index] = ErrorCode.OFFSET_METADATA_TOO_LARGE
        else:
            results[index] = ErrorCode.NONE
            stored.append((TopicPartition(entry.topic, entry.partition), _stored(context, request, entry)))
    if isinstance(group, ErrorCode) or group is None or not stored:
        return _commit_response(request, results)
    _write_offsets(context, group, stored, request, results, pending)
    return None


def _check_commit(context: Context, request: OffsetCommitRequest) -> ClassicGroup | ErrorCode:
    """Return the group, or the error of the commit.

    A consumer that is not a member may commit to an Empty group. If the group does not exist, the commit creates it.
    """
    group = context.groups.get(request.group_id)
    if group is None:
        if request.generation_id >= 0:
            is_new = request.version >= WITH_GROUP_ID_NOT_FOUND
            return ErrorCode.GROUP_ID_NOT_FOUND if is_new else ErrorCode.ILLEGAL_GENERATION
        group = context.create_group(request.group_id)
    answer = ANSWERS[group.state][RequestKind.COMMIT]
    if group.state is DEAD and isinstance(answer, ErrorCode):
        return answer
    if request.generation_id < 0 and group.state is EMPTY:
        return group
    if request.generation_id < 0 and not request.member_id and request.group_instance_id is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    member = group.find(request.member_id, request.group_instance_id)
    if isinstance(member, ErrorCode):
        return member
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    member.is_connected = True
    if isinstance(answer, ErrorCode):
        return answer
    rebalancing.restart_session(context, member)
    return group


def _stored(context: Context, request: OffsetCommitRequest, entry: OffsetToCommit) -> StoredOffset:
    retention = request.retention_time_ms
    expires_at = None if retention == -1 else to_signed(context.now + retention, bits=64)
    return StoredOffset(entry.offset, entry.metadata or "", entry.leader_epoch, context.now, expires_at, entry.topic_id)


def _write_offsets(
    context: Context,
    group: ClassicGroup,
    stored: list[tuple[TopicPartition, StoredOffset]],
    request: OffsetCommitRequest,
    results: dict[int, ErrorCode],
    pending: PendingRequest,
) -> None:
    """Write offsets, and store them in the group when the write completes."""
    group_id, commits = group.group_id, context.commits_in_flight
    number = _next_write(context)
    commits[group_id] += 1

    def written(error: ErrorCode | None) -> None:
        commits[group_id] -= 1
        if not commits[group_id]:
            del commits[group_id]
        if error is None:
            # The commit creates the group again if it was deleted in the meantime.
            current = context.groups.get(group_id) or context.create_group(group_id)
            for partition, offset in stored:
                if _is_latest(context, group_id, partition, number):
                    current.store_offset(partition, offset)
        else:
            for index, code in results.items():
                results[index] = code if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else error
        context.answer(pending, _commit_response(request, results))

    records = [offset_record(group_id, partition, offset) for partition, offset in stored]
    context.write(group_id, records, written)


def _commit_response(request: OffsetCommitRequest, results: dict[int, ErrorCode]) -> OffsetCommitResponse:
    """Return the answer, with its partitions in the order of `results`.

    If a partition is unknown, the partitions are grouped by topic, as in a broker's answer.
    """
    order = list(results)
    if ErrorCode.UNKNOWN_TOPIC_OR_PARTITION in results.values():
        places = {name: place for place, name in enumerate(dict.fromkeys(request.offsets[i].topic for i in order))}
        order.sort(key=lambda index: places[request.offsets[index].topic])
    entries = ((request.offsets[index], results[index]) for index in order)
    return OffsetCommitResponse(tuple(PartitionResponse(each.topic, each.partition, code) for each, code in entries))


# Writes of one partition may be confirmed in any order. The last one in the log is the current offset.


def _next_write(context: Context) -> int:
    """Return the number of the next write."""
    if context.is_settled:
        context.latest_offset_writes.clear()
    return context.last_write + 1


def _is_latest(context: Context, group_id: str, partition: TopicPartition, number: int) -> bool:
    """Return True if no later write of the partition's offset has completed."""
    latest = max(context.latest_offset_writes.get((group_id, partition), 0), number)
    if not context.is_settled:
        context.latest_offset_writes[group_id, partition] = latest
    return latest == number


# Deletion and expiry


def delete(context: Context, group_id: str, pending: PendingRequest) -> DeleteGroupResponse | None:
    """Handle the deletion of a group; return its answer, or None if the answer waits for a write."""
    group = context.groups.get(group_id)
    state = DEAD if group is None else group.state
    answer = ANSWERS[state][RequestKind.DELETE]
    if group is None or isinstance(answer, ErrorCode):
        return DeleteGroupResponse(answer if isinstance(answer, ErrorCode) else ErrorCode.GROUP_ID_NOT_FOUND)
    _delete_group(context, group, list(group.offsets), pending)
    return None


def schedule_retention_check(context: Context, *, is_needed: bool) -> None:
    """Set the timer of the next search for expired offsets if it is not set, or cancel it if there are no groups."""
    timer = context.retention_timer
    if not is_needed:
        context.timers.cancel(timer)
    elif timer.deadline is None:
        context.timers.set(timer, context.now + context.config.offsets_retention_check_interval_ms)


def delete_expired(context: Context, _: Timer) -> None:
    """Delete expired offsets, and delete Empty groups without other offsets."""
    quiet_until = context.advances_to
    for group in list(context.groups.values()):
        if group.state is DEAD or context.commits_in_flight[group.group_id]:
            continue  # a commit in flight may replace an expired offset
        expired = []
        for partition, time in expiry_times(group, context.config.offsets_retention_ms):
            if time <= context.now:
                expired.append(partition)
            else:
                quiet_until = min(quiet_until, time)
        if group.state is EMPTY and len(expired) == len(group.offsets):
            _delete_group(context, group, expired, None)
        elif expired:
            _delete_offsets(context, group, expired)
    deadline = context.timers.next_deadline()
    _skip_searches(context, quiet_until if deadline is None else min(quiet_until, deadline))


def _skip_searches(context: Context, quiet_until: int) -> None:
    """Set the timer of the next search; skip the searches before `quiet_until`, which would find nothing.

    A call can be years later than the one before it. Until then, only timers change a group.
    """
    schedule_retention_check(context, is_needed=bool(context.groups))
    timer, interval = context.retention_timer, context.config.offsets_retention_check_interval_ms
    if timer.deadline is not None and (skipped := (quiet_until - timer.deadline.time) // interval) > 0:
        context.timers.set(timer, timer.deadline.time + skipped * interval)


def expiry_times(group: ClassicGroup, retention_ms: int) -> Iterator[tuple[TopicPartition, int]]:
    """Return the partitions whose offsets can expire in the present state of the group, and the times at which they do.

    In an Empty group, all offsets can expire. In a Stable group of consumers, only offsets of topics without
    subscribers can expire. In other states no offset expires.

    An offset that has an expiry time expires at that time. Other offsets expire `retention_ms` after the commit, or, in
    an Empty group that had members, `retention_ms` after the group became Empty.
    """
    if group.protocol_type is None:
        base = None
    elif group.state is EMPTY:
        base = group.state_since
    elif group.protocol_type == CONSUMER and group.subscribed_topics is not None and group.state is STABLE:
        base = None
    else:
        return
    if group.subscribed_topics is None and group.protocol_type == CONSUMER:
        return  # the subscriptions of the members are unreadable, and may contain any topic
    subscribed = frozenset(group.subscribed_topics or ())
    for partition, stored in group.offsets.items():
        if partition.topic in subscribed:
            continue
        if stored.expires_at is not None:
            yield partition, stored.expires_at
        else:
            yield partition, (stored.committed_at if base is None else base) + retention_ms


def _delete_group(
    context: Context, group: ClassicGroup, partitions: list[TopicPartition], pending: PendingRequest | None
) -> None:
    """Write the tombstones of a group and of these offsets, and discard both when the write completes."""
    generation = group.generation
    number = _next_write(context)

    def written(error: ErrorCode | None) -> None:
        if error is None:
            _discard_offsets(context, group.group_id, partitions, number)
            is_current = context.groups.get(group.group_id) is group
            if is_current and group.state is EMPTY and group.generation == generation:
                context.discard_group(group)
                if group.offsets:
                    # These offsets were committed after the tombstones: the log still has them, but not the group.
                    context.create_group(group.group_id).offsets = group.offsets
        if pending is not None:
            context.answer(pending, DeleteGroupResponse(ErrorCode.NONE if error is None else error))

    records = [offset_tombstone(group.group_id, partition) for partition in partitions]
    context.write(group.group_id, [*records, group_tombstone(group.group_id)], written)


def _delete_offsets(context: Context, group: ClassicGroup, expired: list[TopicPartition]) -> None:
    """Write the tombstones of offsets, and discard the offsets when the write completes."""
    number = _next_write(context)

    def written(error: ErrorCode | None) -> None:
        if error is None:
            _discard_offsets(context, group.group_id, expired, number)

    records = [offset_tombstone(group.group_id, partition) for partition in expired]
    context.write(group.group_id, records, written)


def _discard_offsets(context: Context, group_id: str, partitions: list[TopicPartition], number: int) -> None:
    """Discard offsets, except those with a later commit."""
    group = context.groups.get(group_id)
    for partition in partitions:
        if _is_latest(context, group_id, partition, number) and group is not None:
            group.offsets.pop(partition, None)
