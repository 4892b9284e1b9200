"""What is known about one assigned partition, and how it goes from one fetch state to the next.

Source: SubscriptionState.TopicPartitionState, kafka-clients 4.4.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.errors import IllegalStateError
from assignor.subscription_state.fetch_state import TABLE, FetchState
from assignor.subscription_state.position import read_long

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.subscription_state.position import FetchPosition, LeaderAndEpoch, OffsetAndMetadata
    from assignor.subscription_state.reset_strategy import AutoOffsetResetStrategy

FETCHING, AWAIT_RESET, AWAIT_VALIDATION = FetchState.FETCHING, FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION
INITIALIZING = FetchState.INITIALIZING

_VALID = frozenset(state for state, rules in TABLE.items() if rules.valid_position)


class PartitionState:
    """Everything that is known about one assigned partition.

    Attributes:
        fetch_state: Where it stands.
        position: Where fetching goes on; None before the first position and while a reset is awaited, and where None
            was given as one.
        reset_strategy: The strategy of the reset that was asked for last, None once a position was sought.
        retry_at: The time before which a failed request is not repeated, None if there was none.
        paused: Whether the user wants nothing of it for now.
        pending_revocation: Whether it is about to be taken away.
        pending_callback: Whether the listener does not know yet that it was assigned.
        high_watermark: The end of the log as far as it is replicated, None where it is not known.
        last_stable: The last stable offset, likewise.
        log_start: The start of the log, likewise.
        end_offset_requested: Whether a request for the end of the log is on its way.
        replica: The replica that the leader wants to be fetched from, None where there is none.
        replica_expires: Until when; Kafka forgets this only with `clear_replica`.
        committed: The committed offset as the older design kept it.
    """

    __slots__ = (
        "committed",
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
        self.committed: OffsetAndMetadata | None = None

    @property
    def has_valid_position(self) -> bool:
        """Whether the position may be fetched from."""
        return self.fetch_state in _VALID

    @property
    def is_fetchable(self) -> bool:
        """Whether something is to be fetched now, as far as the partition itself knows."""
        return self.fetch_state in _VALID and not (self.paused or self.pending_revocation or self.pending_callback)

    @property
    def should_initialize(self) -> bool:
        """Whether a first position is to be looked for."""
        return self.fetch_state is INITIALIZING and not self.pending_revocation

    def is_backing_off(self, now: int) -> bool:
        """Whether a request failed so recently that it is not to be repeated yet."""
        return self.retry_at is not None and now < self.retry_at

    def transition(
        self, target: FetchState, position: FetchPosition | None, strategy: AutoOffsetResetStrategy | None
    ) -> None:
        """Go to a state with a position and a strategy; a step that the table does not have is ignored.

        The position is dropped where the state keeps none.

        Raises:
            IllegalStateError: The state requires a position and got None; as in Kafka it is entered all the same.
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
        """Wait for the offset that a strategy means."""
        self.transition(AWAIT_RESET, None, strategy)

    def seek_validated(self, position: FetchPosition | None) -> None:
        """Fetch from a position that is known to be good."""
        self.transition(FETCHING, position, None)

    def seek_unvalidated(self, position: FetchPosition | None) -> None:
        """Fetch from a position, once it is validated if it can be."""
        self.seek_validated(position)
        if position is not None:
            self.validate(position)

    def validate(self, position: FetchPosition) -> None:
        """Take a position; the leader has to be asked about it where both epochs are known."""
        asked = position.offset_epoch is not None and position.current_leader.epoch is not None
        self.transition(AWAIT_VALIDATION if asked else FETCHING, position, self.reset_strategy)

    def validate_for_leader(self, leader: LeaderAndEpoch) -> bool:
        """Validate the position if the leader is a new one; whether a validation is awaited then."""
        if self.fetch_state is AWAIT_RESET or leader.leader is None:
            return False
        if self.position is not None and self.position.current_leader != leader:
            self.validate(self.position._replace(current_leader=leader))
            self.replica = None
        return self.fetch_state is AWAIT_VALIDATION

    def follow_leader(self, leader: LeaderAndEpoch) -> None:
        """Fetch from a leader that cannot be asked, without validation."""
        if self.position is not None:
            self.transition(FETCHING, self.position._replace(current_leader=leader), self.reset_strategy)

    def complete_validation(self) -> None:
        """Fetch from the position, if there is one."""
        if self.position is not None:
            self.transition(FETCHING, self.position, self.reset_strategy)

    def set_position(self, position: FetchPosition | None) -> None:
        """Go on from another position, None included.

        Raises:
            IllegalStateError: The present one is not valid.
        """
        if not self.has_valid_position:
            raise IllegalStateError("Cannot set a new position without a valid current position")
        self.position = position

    def update_replica(self, replica: int, expires_at: Callable[[], int]) -> None:
        """Note which replica is preferred; for the one that is, the time does not change and is not asked for."""
        if self.replica != replica:
            self.replica_expires = read_long(expires_at(), "the time at which a preferred replica expires")
            self.replica = replica

    def preferred_replica(self, now: int) -> int | None:
        """The preferred replica until it expires; then it is forgotten."""
        if self.replica_expires is not None and now > self.replica_expires:
            self.replica = None
        return self.replica

    def clear_replica(self) -> int | None:
        """Forget the preferred replica; it, if there was one."""
        replica = self.replica
        if replica is not None:
            self.replica = self.replica_expires = None
        return replica
