"""State of one assigned partition: its fetch state, position, pauses, log offsets and preferred replica.

Source: SubscriptionState.TopicPartitionState, kafka-clients 4.4.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.errors import IllegalStateError
from assignor.subscription_state.fetch_state import TABLE, FetchState
from assignor.subscription_state.position import (
    UNDEFINED,
    EpochEndOffset,
    FetchPosition,
    LogTruncation,
    OffsetAndMetadata,
    read_long,
    read_position,
)
from assignor.subscription_state.reset_strategy import AutoOffsetResetStrategy
from assignor.validation import read_int, wrong_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.model import TopicPartition
    from assignor.subscription_state.position import LeaderAndEpoch

FETCHING, AWAIT_RESET, AWAIT_VALIDATION = FetchState.FETCHING, FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION
INITIALIZING = FetchState.INITIALIZING

_VALID = frozenset(state for state, rules in TABLE.items() if rules.valid_position)


class PartitionState:
    """State of one assigned partition.

    Only `transition` and `set_position` change `fetch_state` and `position`. In a state that requires a position the
    partition has one, unless a caller set it to None.

    Attributes:
        fetch_state: Fetch state.
        position: Fetch position; None before the first one, while a reset is awaited, and if a caller set None.
        reset_strategy: Strategy of the last requested reset; None after a seek.
        retry_at: Time in milliseconds before which a failed request is not repeated; None without a failure.
        paused: True if the application paused the partition.
        pending_revocation: True if the partition is about to be revoked.
        pending_callback: True while a call of `on_partitions_assigned` is pending for it.
        high_watermark: High watermark; None if unknown.
        last_stable: Last stable offset; None if unknown.
        log_start: Log start offset; None if unknown.
        end_offset_requested: True if a request for the end offset is in flight.
        replica: Node id of the preferred read replica; None without one.
        replica_expires: Last millisecond at which `replica` is valid; as in Kafka, only `clear_replica` resets it.
    """

    __slots__ = (
        "end_offset_requested",
        "fetch_state",
        "high_watermark",
        "last_stable",
        "log_start",
        "paused",
        "pending_callback",
        "pending_revocation",
        "position",
        "replica",
        "replica_expires",
        "reset_strategy",
        "retry_at",
    )

    def __init__(self) -> None:
        self.fetch_state = INITIALIZING
        self.position: FetchPosition | None = None
        self.reset_strategy: AutoOffsetResetStrategy | None = None
        self.retry_at: int | None = None
        self.paused = self.pending_revocation = self.pending_callback = self.end_offset_requested = False
        self.high_watermark: int | None = None
        self.last_stable: int | None = None
        self.log_start: int | None = None
        self.replica: int | None = None
        self.replica_expires: int | None = None

    # ---- queries

    @property
    def has_valid_position(self) -> bool:
        """True if records may be fetched from the position."""
        return self.fetch_state in _VALID

    @property
    def is_fetchable(self) -> bool:
        """True if the position is valid and the partition is not paused, being revoked or awaiting its callback."""
        return self.fetch_state in _VALID and not (self.paused or self.pending_revocation or self.pending_callback)

    @property
    def should_initialize(self) -> bool:
        """True if the partition needs its first position."""
        return self.fetch_state is INITIALIZING and not self.pending_revocation

    def is_backing_off(self, now: int) -> bool:
        """Return True if a request failed and must not be repeated yet."""
        return self.retry_at is not None and now < self.retry_at

    # ---- fetch state and position

    def transition(
        self, target: FetchState, position: FetchPosition | None, strategy: AutoOffsetResetStrategy | None
    ) -> None:
        """Enter a fetch state; ignore a transition that the table does not list.

        The position becomes None in a state that does not require one.

        Raises:
            IllegalStateError: The state requires a position and `position` is None. As in Kafka, the state has changed.
        """
        if target not in TABLE[self.fetch_state].next:
            return
        self.fetch_state = target
        self.reset_strategy = strategy
        self.retry_at = None
        if not TABLE[target].requires_position:
            self.position = None
            return
        self.position = position
        if position is None:
            raise IllegalStateError(f"Transitioned subscription state to {target.name}, but position is null")

    def reset(self, strategy: AutoOffsetResetStrategy | None) -> None:
        """Drop the position and await the offset of a reset strategy."""
        self.transition(AWAIT_RESET, None, strategy)

    def seek_validated(self, position: FetchPosition | None) -> None:
        """Fetch from a position without validation."""
        self.transition(FETCHING, position, None)

    def seek_unvalidated(self, position: FetchPosition | None) -> None:
        """Fetch from a position, after validation if it can be validated."""
        self.seek_validated(position)
        if position is not None:
            self.validate(position)

    def validate(self, position: FetchPosition) -> None:
        """Set a position and await its validation if its offset and its leader have epochs."""
        needs_validation = position.offset_epoch is not None and position.current_leader.epoch is not None
        self.transition(AWAIT_VALIDATION if needs_validation else FETCHING, position, self.reset_strategy)

    def validate_for_leader(self, leader: LeaderAndEpoch) -> bool:
        """Validate the position if the leader changed. Return True if the position then awaits validation."""
        if self.fetch_state is AWAIT_RESET or leader.leader is None:
            return False
        if self.position is not None and self.position.current_leader != leader:
            self.validate(self.position._replace(current_leader=leader))
            self.replica = None
        return self.fetch_state is AWAIT_VALIDATION

    def follow_leader(self, leader: LeaderAndEpoch) -> None:
        """Fetch from a leader without validation."""
        if self.position is not None:
            self.transition(FETCHING, self.position._replace(current_leader=leader), self.reset_strategy)

    def complete_validation(self) -> None:
        """Fetch from the position if there is one."""
        if self.position is not None:
            self.transition(FETCHING, self.position, self.reset_strategy)

    def apply_epoch_end(
        self,
        tp: TopicPartition,
        requested: FetchPosition,
        end: EpochEndOffset,
        strategy: AutoOffsetResetStrategy | None,
    ) -> LogTruncation | None:
        """Apply a leader's answer about the epoch of the position that awaits validation.

        Args:
            tp: The partition, for the result.
            requested: Position in the request.
            end: The answer.
            strategy: The default reset strategy.

        Returns:
            The truncation if the log was truncated and the default strategy is `none`.

        Raises:
            IllegalArgumentError: The end offset is negative but not undefined, and the strategy is `none`.
        """
        current = self.position
        if self.fetch_state is not AWAIT_VALIDATION or current is None or current != requested:
            return None
        has_strategy = strategy != AutoOffsetResetStrategy.NONE
        if UNDEFINED in end:
            if has_strategy:
                self.reset(strategy)
                return None
            return LogTruncation(tp, requested, None)
        if end.end_offset >= current.offset:
            self.complete_validation()
            return None
        if has_strategy:
            position = FetchPosition(end.end_offset, end.leader_epoch, current.current_leader)
            self.seek_validated(read_position(position))
            return None
        return LogTruncation(tp, requested, OffsetAndMetadata(end.end_offset, end.leader_epoch))

    def set_position(self, position: FetchPosition | None) -> None:
        """Replace a valid position.

        Raises:
            IllegalStateError: The current position is not valid.
        """
        if not self.has_valid_position:
            raise IllegalStateError("Cannot set a new position without a valid current position")
        self.position = position

    # ---- offsets of the log

    def update_high_watermark(self, offset: int) -> None:
        """Set the high watermark, and clear the request for the end offset."""
        self.high_watermark = read_long(offset, "a high watermark")
        self.end_offset_requested = False

    def update_last_stable(self, offset: int) -> None:
        """Set the last stable offset, and clear the request for the end offset."""
        self.last_stable = read_long(offset, "a last stable offset")
        self.end_offset_requested = False

    # ---- preferred read replica

    def update_replica(self, replica: int, expires_at: Callable[[], int]) -> None:
        """Set the preferred replica; `expires_at` is called only for a new replica."""
        replica = read_int(replica, "a preferred replica", bits=32)
        if not callable(expires_at):
            raise wrong_type("expires_at", "a function", expires_at)
        if self.replica != replica:
            self.replica_expires = read_long(expires_at(), "the time at which a preferred replica expires")
            self.replica = replica

    def preferred_replica(self, now: int) -> int | None:
        """Return the preferred replica; remove it if it has expired."""
        if self.replica_expires is not None and now > self.replica_expires:
            self.replica = None
        return self.replica

    def clear_replica(self) -> int | None:
        """Remove and return the preferred replica; return None without one."""
        replica = self.replica
        if replica is not None:
            self.replica = self.replica_expires = None
        return replica
