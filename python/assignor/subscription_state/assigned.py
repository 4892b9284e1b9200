"""The assigned partitions in the order in which they are fetched, and what is known about each but its position.

Source: SubscriptionState and PartitionStates, kafka-clients 4.4.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.errors import IllegalStateError
from assignor.model import TopicPartition
from assignor.subscription_state.partition_state import PartitionState
from assignor.subscription_state.position import read_long
from assignor.validation import check_name, read_int, read_partition, wrong_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MOST = 2**31 - 1


class AssignedPartitions:
    """Partitions in the order of fetching, and what is known about each."""

    def __init__(self) -> None:
        self._states: dict[TopicPartition, PartitionState] = {}

    # ---- which are assigned

    def assigned_partitions(self) -> set[TopicPartition]:
        """A copy of the assignment."""
        return set(self._states)

    def assigned_partitions_list(self) -> list[TopicPartition]:
        """A copy of the assignment in the order of fetching."""
        return list(self._states)

    def num_assigned_partitions(self) -> int:
        """How many are assigned."""
        return len(self._states)

    def is_assigned(self, tp: TopicPartition) -> bool:
        """Whether it is assigned."""
        return self._state_or_none(tp) is not None

    def move_partition_to_end(self, tp: TopicPartition) -> None:
        """Make it the last of the order, as after a fetch; nothing happens if it is not assigned."""
        if self._state_or_none(tp) is not None:
            standing = TopicPartition(
                *read_partition(tp, "SubscriptionState")
            )  # not an equal tuple with numbers of another kind
            self._states[standing] = self._states.pop(standing)

    # ---- paused, about to go, just come

    def pause(self, tp: TopicPartition) -> None:
        """Fetch nothing of it until it is resumed; a pause lasts as long as the partition stays assigned.

        Raises:
            IllegalStateError: It is not assigned.
        """
        self._state(tp).paused = True

    def resume(self, tp: TopicPartition) -> None:
        """Fetch from it again.

        Raises:
            IllegalStateError: It is not assigned.
        """
        self._state(tp).paused = False

    def is_paused(self, tp: TopicPartition) -> bool:
        """Whether it is assigned and paused."""
        state = self._state_or_none(tp)
        return state is not None and state.paused

    def paused_partitions(self) -> set[TopicPartition]:
        """Those that are paused."""
        return {tp for tp, state in self._states.items() if state.paused}

    def mark_pending_revocation(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch nothing of them any more, since they are about to be taken away.

        Raises:
            IllegalStateError: One is not assigned; as in Kafka those before it stay marked.
        """
        for tp in read_partitions(partitions, "mark_pending_revocation"):
            self._state(tp).pending_revocation = True

    def mark_pending_on_assigned_callback(self, partitions: Iterable[TopicPartition], pending: bool) -> None:
        """Say whether their listener still has to be told of them; until then nothing is fetched.

        Raises:
            IllegalStateError: One is not assigned; as in Kafka those before it stay marked.
        """
        for tp in read_partitions(partitions, "mark_pending_on_assigned_callback"):
            self._state(tp).pending_callback = bool(pending)

    def enable_partitions_awaiting_callback(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch from them, since their listener was told of them.

        Raises:
            IllegalStateError: One is not assigned; as in Kafka those before it are enabled.
        """
        self.mark_pending_on_assigned_callback(partitions, False)

    # ---- the ends of the log

    def update_high_watermark(self, tp: TopicPartition, offset: int) -> None:
        """Note up to where its log is replicated; no end offset is requested any more.

        Raises:
            IllegalStateError: It is not assigned.
        """
        state = self._state(tp)
        state.high_watermark = read_long(offset, "a high watermark")
        state.end_offset_requested = False

    def try_updating_high_watermark(self, tp: TopicPartition, offset: int) -> bool:
        """The same if it is assigned; whether it is."""
        if self._state_or_none(tp) is None:
            return False
        self.update_high_watermark(tp, offset)
        return True

    def update_last_stable_offset(self, tp: TopicPartition, offset: int) -> None:
        """Note its last stable offset; no end offset is requested any more.

        Raises:
            IllegalStateError: It is not assigned.
        """
        state = self._state(tp)
        state.last_stable = read_long(offset, "a last stable offset")
        state.end_offset_requested = False

    def try_updating_last_stable_offset(self, tp: TopicPartition, offset: int) -> bool:
        """The same if it is assigned; whether it is."""
        if self._state_or_none(tp) is None:
            return False
        self.update_last_stable_offset(tp, offset)
        return True

    def try_updating_log_start_offset(self, tp: TopicPartition, offset: int) -> bool:
        """Note where its log starts, if it is assigned; whether it is."""
        state = self._state_or_none(tp)
        if state is None:
            return False
        state.log_start = read_long(offset, "a log start offset")
        return True

    def request_partition_end_offset(self, tp: TopicPartition) -> None:
        """Note that its end offset is being asked for.

        Raises:
            IllegalStateError: It is not assigned.
        """
        self._state(tp).end_offset_requested = True

    def partition_end_offset_requested(self, tp: TopicPartition) -> bool:
        """Whether it is being asked for.

        Raises:
            IllegalStateError: It is not assigned.
        """
        return self._state(tp).end_offset_requested

    def maybe_clear_partition_end_offset_requested(self, tp: TopicPartition) -> bool:
        """Note that it is not being asked for any more; whether it was."""
        state = self._state_or_none(tp)
        if state is None or not state.end_offset_requested:
            return False
        state.end_offset_requested = False
        return True

    # ---- replicas to fetch from, requests to repeat

    def update_preferred_read_replica(self, tp: TopicPartition, replica: int, expires_at: Callable[[], int]) -> None:
        """Note which replica its leader prefers; the lease of the one that is preferred already is not extended.

        Args:
            tp: The partition.
            replica: The replica's node id.
            expires_at: Is asked, for a new replica only, until which millisecond it holds.

        Raises:
            IllegalStateError: It is not assigned.
        """
        state = self._state(tp)
        state.update_replica(read_int(replica, "a preferred replica", bits=32), expires_at)

    def try_updating_preferred_read_replica(
        self, tp: TopicPartition, replica: int, expires_at: Callable[[], int]
    ) -> bool:
        """The same if it is assigned; whether it is."""
        if self._state_or_none(tp) is None:
            return False
        self.update_preferred_read_replica(tp, replica, expires_at)
        return True

    def preferred_read_replica(self, tp: TopicPartition, now: int) -> int | None:
        """The replica to fetch from, None where it is the leader; the last millisecond of a lease still counts."""
        state = self._state_or_none(tp)
        return None if state is None else state.preferred_replica(read_long(now, "now"))

    def clear_preferred_read_replica(self, tp: TopicPartition) -> int | None:
        """Fetch from the leader; the replica that was preferred, if one was."""
        state = self._state_or_none(tp)
        return None if state is None else state.clear_replica()

    def set_next_allowed_retry(self, partitions: Iterable[TopicPartition], next_allowed: int) -> None:
        """Ask nothing about them before that millisecond.

        Raises:
            IllegalStateError: One is not assigned; as in Kafka those before it are noted.
        """
        read_long(next_allowed, "set_next_allowed_retry: next_allowed")
        for tp in read_partitions(partitions, "set_next_allowed_retry"):
            self._state(tp).retry_at = next_allowed

    def request_failed(self, partitions: Iterable[TopicPartition], next_retry: int) -> None:
        """Repeat nothing about them before that millisecond; those that are not assigned any more are skipped."""
        read_long(next_retry, "request_failed: next_retry")
        for tp in read_partitions(partitions, "request_failed"):
            state = self._states.get(tp)
            if state is not None:
                state.retry_at = next_retry

    # ---- how a partition is looked up

    def _state(self, tp: TopicPartition) -> PartitionState:
        state = self._state_or_none(tp)
        if state is None:
            raise IllegalStateError(f"No current assignment for partition {tp[0]}-{tp[1]}")
        return state

    def _state_or_none(self, tp: TopicPartition) -> PartitionState | None:
        try:
            state = self._states.get(tp)
        except TypeError:  # it has no hash, and so is no tuple
            state = None
        if state is None:  # what was found was read when it was assigned
            read_partition(tp, "SubscriptionState")
        return state

    def _retain(self, ordered: Iterable[TopicPartition]) -> None:
        """Assign exactly these, topic after topic; what is known about those that stay is kept."""
        by_topic: dict[str, list[TopicPartition]] = {}
        for tp in ordered:
            by_topic.setdefault(tp.topic, []).append(tp)
        known = self._states
        self._states = {tp: known.get(tp) or PartitionState() for each in by_topic.values() for tp in each}


def read_partitions(partitions: Iterable[TopicPartition], owner: str) -> list[TopicPartition]:
    """The partitions of an iterable, in its order; `owner` says whose they are when one cannot be meant."""
    if isinstance(partitions, (str, bytes, bytearray)) or not hasattr(partitions, "__iter__"):
        raise wrong_type(f"{owner}: partitions", "an iterable of (topic, partition)", partitions)
    found = list(partitions)
    for index, tp in enumerate(found):
        if not (type(tp) is TopicPartition and type(tp[0]) is str and type(tp[1]) is int and 0 <= tp[1] <= _MOST):
            topic, partition = read_partition(tp, owner)
            found[index] = TopicPartition(topic, read_int(partition, f"{owner}: a partition id", bits=32))
    for topic in {topic for topic, _ in found}:
        check_name(topic, f"{owner}: a topic")
    return found
