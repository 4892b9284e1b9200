"""OffsetCommit, DeleteGroups, and how offsets and groups come to their end.

Source: OffsetMetadataManager, GroupCoordinatorShard.cleanupGroupMetadata and deleteGroups, kafka-group-coordinator
4.3.1; KafkaApis for topics that are not known.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from assignor.coordinator.error_codes import ErrorCode
from assignor.coordinator.records import group_tombstone, offset_record, offset_tombstone
from assignor.coordinator.responses import DeleteGroupResponse, OffsetCommitResponse, PartitionResponse
from assignor.coordinator.state import ANSWERS, GroupState, RequestKind
from assignor.coordinator.stored_offsets import StoredOffset, expired_offsets
from assignor.coordinator.timers import Timer
from assignor.coordinator.wrapping import wrapped
from assignor.model import TopicPartition

if TYPE_CHECKING:
    from assignor.coordinator.config import CoordinatorConfig
    from assignor.coordinator.group import ClassicGroup
    from assignor.coordinator.groups import Groups
    from assignor.coordinator.leading import Leading
    from assignor.coordinator.outbox import Asked, Outbox
    from assignor.coordinator.rebalancing import Rebalancing
    from assignor.coordinator.requests import OffsetCommitRequest, OffsetToCommit
    from assignor.coordinator.timers import Timers

__all__ = ["Committing"]

WITH_GROUP_ID_NOT_FOUND = 9
"""From this version on a commit to a group that is not there is told so."""


class Committing:
    """What becomes of offsets."""

    def __init__(
        self,
        config: CoordinatorConfig,
        groups: Groups,
        timers: Timers,
        outbox: Outbox,
        rebalancing: Rebalancing,
        leading: Leading,
    ) -> None:
        self._config = config
        self._groups = groups
        self._timers = timers
        self._out = outbox
        self._rebalancing = rebalancing
        self._leading = leading
        self._check_timer = Timer(self._delete_expired, "")
        # Commits of each group that are being written.
        self._in_flight: Counter[str] = Counter()
        # The latest write of each partition that is done, while other writes are not.
        self._latest: dict[tuple[str, TopicPartition], int] = {}

    def look_for_expired(self, *, wanted: bool) -> None:
        """Look for what has expired at each interval from now on, or no more."""
        if not wanted:
            self._timers.cancel(self._check_timer)
        elif self._check_timer.deadline is None:
            self._timers.set(self._check_timer, self._out.now + self._config.offsets_retention_check_interval_ms)

    def commit(self, request: OffsetCommitRequest, asked: Asked) -> None:
        """Handle a commit."""
        results = {
            index: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            for index, entry in enumerate(request.offsets)
            if not self._leading.may_exist(entry.topic, entry.partition)
        }
        group = self._may_commit(request) if len(results) < len(request.offsets) else None
        too_long = self._config.offset_metadata_max_size
        stored: list[tuple[TopicPartition, StoredOffset]] = []
        for index, entry in enumerate(request.offsets):
            if index in results:
                continue
            if isinstance(group, ErrorCode):
                results[index] = group
            elif len((entry.metadata or "").encode("utf-16-le")) // 2 > too_long:
                results[index] = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                results[index] = ErrorCode.NONE
                stored.append((TopicPartition(entry.topic, entry.partition), self._stored(request, entry)))
        if isinstance(group, ErrorCode) or group is None or not stored:
            self._out.answer(asked, _committed(request, results))
            return
        self._store(group, stored, request, results, asked)

    def _store(
        self,
        group: ClassicGroup,
        stored: list[tuple[TopicPartition, StoredOffset]],
        request: OffsetCommitRequest,
        results: dict[int, ErrorCode],
        asked: Asked,
    ) -> None:
        number = self._next_write()
        self._in_flight[group.group_id] += 1

        def done(error: ErrorCode | None) -> None:
            self._in_flight[group.group_id] -= 1
            if not self._in_flight[group.group_id]:
                del self._in_flight[group.group_id]
            if error is None:
                # A group that ended while this was being written lives again by it.
                kept = self._groups.get(group.group_id) or self._groups.create(group.group_id)
                for partition, offset in stored:
                    if self._is_latest(group.group_id, partition, number):
                        kept.offsets[partition] = offset
                self._out.answer(asked, _committed(request, results))
            else:
                for index, code in results.items():
                    results[index] = code if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else error
                self._out.answer(asked, _committed(request, results))

        records = [offset_record(group.group_id, partition, offset) for partition, offset in stored]
        self._out.write(group.group_id, records, done)

    def _next_write(self) -> int:
        """The number that the next write will have."""
        if self._out.is_settled:
            self._latest.clear()
        return self._out.last_write + 1

    def _is_latest(self, group_id: str, partition: TopicPartition, number: int) -> bool:
        """Whether no later write about a partition is done; what the log says last counts, whatever is told first."""
        latest = max(self._latest.get((group_id, partition), 0), number)
        if not self._out.is_settled:
            self._latest[group_id, partition] = latest
        return latest == number

    def _may_commit(self, request: OffsetCommitRequest) -> ClassicGroup | ErrorCode:
        """The group, or why not. A consumer that is no member may commit to a group that is empty, or not there yet."""
        group = self._groups.get(request.group_id)
        if group is None:
            if request.generation_id >= 0:
                new = request.version >= WITH_GROUP_ID_NOT_FOUND
                return ErrorCode.GROUP_ID_NOT_FOUND if new else ErrorCode.ILLEGAL_GENERATION
            group = self._groups.create(request.group_id)
        answer = ANSWERS[group.state][RequestKind.COMMIT]
        if group.state is GroupState.DEAD and isinstance(answer, ErrorCode):
            return answer
        if request.generation_id < 0 and group.state is GroupState.EMPTY:
            return group
        if request.generation_id < 0 and not request.member_id and request.group_instance_id is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        member = group.find(request.member_id, request.group_instance_id)
        if isinstance(member, ErrorCode):
            return member
        if request.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        member.connected = True
        if isinstance(answer, ErrorCode):
            return answer
        self._rebalancing.restart_session(member)
        return group

    def _stored(self, request: OffsetCommitRequest, entry: OffsetToCommit) -> StoredOffset:
        retention = request.retention_time_ms
        expires_at = None if retention == -1 else wrapped(self._out.now + retention, bits=64)
        return StoredOffset(
            entry.offset, entry.metadata or "", entry.leader_epoch, self._out.now, expires_at, entry.topic_id
        )

    # The end

    def delete(self, group_id: str, asked: Asked) -> None:
        """Handle the deletion of a group."""
        group = self._groups.get(group_id)
        state = GroupState.DEAD if group is None else group.state
        answer = ANSWERS[state][RequestKind.DELETE]
        if group is None or isinstance(answer, ErrorCode):
            error = answer if isinstance(answer, ErrorCode) else ErrorCode.GROUP_ID_NOT_FOUND
            self._out.answer(asked, DeleteGroupResponse(error))
            return
        self._end(group, list(group.offsets), asked)

    def _delete_expired(self, _: Timer) -> None:
        """Delete offsets that are too old, and groups that are empty and have none left."""
        for group in list(self._groups.values()):
            if group.state is GroupState.DEAD or self._in_flight[group.group_id]:
                continue  # what is being written may be newer than what has expired
            expired = list(expired_offsets(group, self._out.now, self._config.offsets_retention_ms))
            if group.state is GroupState.EMPTY and len(expired) == len(group.offsets):
                self._end(group, expired, None)
            elif expired:
                self._forget(group, expired)
        self.look_for_expired(wanted=bool(self._groups))

    def _end(self, group: ClassicGroup, partitions: list[TopicPartition], asked: Asked | None) -> None:
        """Write that a group is no more, with the offsets of these partitions."""
        generation = group.generation
        number = self._next_write()

        def done(error: ErrorCode | None) -> None:
            if error is None:
                self._drop(group.group_id, partitions, number)
                is_there = self._groups.get(group.group_id) is group
                if is_there and group.state is GroupState.EMPTY and group.generation == generation:
                    self._groups.discard(group)
                    if group.offsets:
                        # They were being written when the end was; all else of the group is gone from the log.
                        self._groups.create(group.group_id).offsets = group.offsets
            if asked is not None:
                self._out.answer(asked, DeleteGroupResponse(ErrorCode.NONE if error is None else error))

        records = [offset_tombstone(group.group_id, partition) for partition in partitions]
        self._out.write(group.group_id, [*records, group_tombstone(group.group_id)], done)

    def _forget(self, group: ClassicGroup, expired: list[TopicPartition]) -> None:
        """Write that offsets are no more."""
        number = self._next_write()

        def done(error: ErrorCode | None) -> None:
            if error is None:
                self._drop(group.group_id, expired, number)

        self._out.write(group.group_id, [offset_tombstone(group.group_id, partition) for partition in expired], done)

    def _drop(self, group_id: str, partitions: list[TopicPartition], number: int) -> None:
        """Forget offsets, but for those that were committed later."""
        group = self._groups.get(group_id)
        for partition in partitions:
            if self._is_latest(group_id, partition, number) and group is not None:
                group.offsets.pop(partition, None)


def _committed(request: OffsetCommitRequest, results: dict[int, ErrorCode]) -> OffsetCommitResponse:
    """The answer, in the order of the results, and where partitions are refused by topic, as a broker merges it."""
    order = list(results)
    if ErrorCode.UNKNOWN_TOPIC_OR_PARTITION in results.values():
        places = {name: place for place, name in enumerate(dict.fromkeys(request.offsets[i].topic for i in order))}
        order.sort(key=lambda index: places[request.offsets[index].topic])
    entries = ((request.offsets[index], results[index]) for index in order)
    return OffsetCommitResponse(tuple(PartitionResponse(each.topic, each.partition, code) for each, code in entries))
