"""Where fetching goes on in each partition: seeking, resetting, validating.

Source: SubscriptionState, kafka-clients 4.4.0.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Literal, overload

from assignor.errors import NoOffsetForPartitionError, NullArgumentError
from assignor.model import TopicPartition
from assignor.ordering import hash_order
from assignor.subscription_state.assigned import AssignedPartitions, read_partitions
from assignor.subscription_state.fetch_state import FetchState
from assignor.subscription_state.position import (
    UNDEFINED,
    EpochEndOffset,
    FetchPosition,
    IsolationLevel,
    LeaderAndEpoch,
    LogTruncation,
    OffsetAndMetadata,
    as_long,
    read_leader,
    read_long,
    read_position,
)
from assignor.subscription_state.reset_strategy import AutoOffsetResetStrategy
from assignor.validation import wrong_type

Strategy = AutoOffsetResetStrategy | str | None
"""A strategy, its name, or Java's null."""

ApiVersions = Callable[[int], bool] | bool
"""Whether a leader, given by its node id, can be asked about epochs."""

_AWAIT_RESET, _AWAIT_VALIDATION = FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION


class _Absent(enum.Enum):
    """Stands for an argument that is not given, where None means something."""

    ABSENT = enum.auto()


_ABSENT: Literal[_Absent.ABSENT] = _Absent.ABSENT


class FetchPositions(AssignedPartitions):
    """The positions of the assigned partitions.

    Args:
        default_reset_strategy: What to do about a partition without an offset where nothing else is said.
    """

    def __init__(self, default_reset_strategy: Strategy) -> None:
        super().__init__()
        self._default_strategy = read_strategy(default_reset_strategy)

    @property
    def default_reset_strategy(self) -> AutoOffsetResetStrategy | None:
        """What to do about a partition without an offset where nothing else is said."""
        return self._default_strategy

    def has_default_offset_reset_policy(self) -> bool:
        """Whether the default strategy is another than none."""
        return self._default_strategy != AutoOffsetResetStrategy.NONE

    # ---- positions

    def seek(self, tp: TopicPartition, offset: int) -> None:
        """Fetch from an offset, without validation; a negative one is taken, as Kafka's class does.

        Raises:
            IllegalStateError: It is not assigned.
        """
        self._state(tp).seek_validated(FetchPosition(read_long(offset, "an offset to seek")))

    def seek_validated(self, tp: TopicPartition, position: FetchPosition | None) -> None:
        """Fetch from a position that is known to be good; neither a strategy nor a time to retry is left.

        Raises:
            IllegalStateError: It is not assigned; or the position is None, with which Kafka's class enters the state
                FETCHING all the same, and so does this.
        """
        self._state(tp).seek_validated(_read_optional(position))

    def seek_unvalidated(self, tp: TopicPartition, position: FetchPosition | None) -> None:
        """Fetch from a position, after it is validated if its offset and its leader have epochs.

        Raises:
            IllegalStateError: As in `seek_validated`.
        """
        self._state(tp).seek_unvalidated(_read_optional(position))

    def maybe_seek_unvalidated(self, tp: TopicPartition, position: FetchPosition | None, strategy: Strategy) -> None:
        """The same for the answer to a reset, unless that reset is out of date.

        Nothing happens if the partition is not assigned, awaits no reset, or awaits one by another strategy; None is
        whatever strategy.
        """
        state, position, strategy = self._state_or_none(tp), _read_optional(position), read_strategy(strategy)
        if state is None or state.fetch_state is not _AWAIT_RESET:
            return
        if strategy is None or strategy == state.reset_strategy:
            state.seek_unvalidated(position)

    @overload
    def position(self, tp: TopicPartition) -> FetchPosition | None: ...

    @overload
    def position(self, tp: TopicPartition, position: FetchPosition | None) -> None: ...

    def position(
        self, tp: TopicPartition, position: FetchPosition | Literal[_Absent.ABSENT] | None = _ABSENT
    ) -> FetchPosition | None:
        """The position, also while it is being validated; or, with two arguments, go on from another one.

        Raises:
            IllegalStateError: It is not assigned; or another is to be set, and the present one is not valid.
        """
        state = self._state(tp)
        if position is _ABSENT:
            return state.position
        state.set_position(_read_optional(position))
        return None

    def position_or_null(self, tp: TopicPartition) -> FetchPosition | None:
        """The position, None if it is not assigned."""
        state = self._state_or_none(tp)
        return None if state is None else state.position

    def valid_position(self, tp: TopicPartition) -> FetchPosition | None:
        """The position if it may be fetched from.

        Raises:
            IllegalStateError: It is not assigned.
        """
        state = self._state(tp)
        return state.position if state.has_valid_position else None

    def has_valid_position(self, tp: TopicPartition) -> bool:
        """Whether it is assigned and may be fetched from."""
        state = self._state_or_none(tp)
        return state is not None and state.has_valid_position

    def has_all_fetch_positions(self) -> bool:
        """Whether all may be fetched from; true where none is assigned."""
        return all(state.has_valid_position for state in self._states.values())

    def all_consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What to commit: the valid positions.

        Raises:
            IllegalArgumentError: One of them is negative.
            NullArgumentError: One of them is None, which somebody has set.
        """
        consumed = {}
        for tp, state in self._states.items():
            if state.has_valid_position:
                position = _known(state.position, tp)
                consumed[tp] = OffsetAndMetadata(position.offset, position.offset_epoch)
        return consumed

    # ---- how far it is to the ends of the log

    def partition_lag(self, tp: TopicPartition, isolation_level: IsolationLevel) -> int | None:
        """How far the position is from the end; None where either is not known.

        Raises:
            IllegalStateError: It is not assigned.
        """
        end, position = self.partition_end_offset(tp, isolation_level), self._states[tp].position
        return None if end is None or position is None else as_long(end - position.offset)

    def partition_end_offset(self, tp: TopicPartition, isolation_level: IsolationLevel) -> int | None:
        """The last stable offset for READ_COMMITTED, else the high watermark; None where it is not known.

        Raises:
            IllegalStateError: It is not assigned.
        """
        if not isinstance(isolation_level, IsolationLevel):
            raise wrong_type("an isolation level", "an IsolationLevel", isolation_level)
        state = self._state(tp)
        return state.last_stable if isolation_level is IsolationLevel.READ_COMMITTED else state.high_watermark

    def partition_lead(self, tp: TopicPartition) -> int | None:
        """How far the position is from the start of the log; None where the start is not known.

        Raises:
            IllegalStateError: It is not assigned.
            NullArgumentError: The start is known and there is no position: Kafka's class does not look.
        """
        state = self._state(tp)
        if state.log_start is None:
            return None
        return as_long(_known(state.position, tp).offset - state.log_start)

    # ---- resets

    @overload
    def request_offset_reset(self, tp: TopicPartition, strategy: Strategy = ...) -> None: ...

    @overload
    def request_offset_reset(self, tp: Iterable[TopicPartition], strategy: Strategy) -> None: ...

    def request_offset_reset(
        self, tp: TopicPartition | Iterable[TopicPartition], strategy: Strategy | Literal[_Absent.ABSENT] = _ABSENT
    ) -> None:
        """Drop the position of a partition, or of several, and wait for the offset that a strategy means.

        The default strategy is meant where none is given, even if it is none.

        Raises:
            IllegalStateError: One is not assigned; as in Kafka those before it are reset.
        """
        chosen = self._default_strategy if strategy is _ABSENT else read_strategy(strategy)
        if isinstance(tp, tuple) and len(tp) == 2 and not isinstance(tp[0], tuple):
            self._state(TopicPartition(*tp)).reset(chosen)
            return
        if strategy is _ABSENT:
            raise NullArgumentError("request_offset_reset: several partitions need a strategy")
        for each in read_partitions(tp, "request_offset_reset"):
            self._state(each).reset(chosen)

    def request_offset_reset_if_partition_assigned(self, tp: TopicPartition) -> None:
        """Reset it by the default strategy if it is assigned."""
        state = self._state_or_none(tp)
        if state is not None:
            state.reset(self._default_strategy)

    def is_offset_reset_needed(self, tp: TopicPartition) -> bool:
        """Whether it awaits a reset.

        Raises:
            IllegalStateError: It is not assigned.
        """
        return self._state(tp).fetch_state is _AWAIT_RESET

    def reset_strategy(self, tp: TopicPartition) -> AutoOffsetResetStrategy | None:
        """The strategy of the reset that was asked for last, None since the last seek.

        Raises:
            IllegalStateError: It is not assigned.
        """
        return self._state(tp).reset_strategy

    def initializing_partitions(self) -> set[TopicPartition]:
        """Those that need a first position and are not about to be taken away."""
        return {tp for tp, state in self._states.items() if state.should_initialize}

    def reset_initializing_positions(self, predicate: Callable[[TopicPartition], bool] | None = None) -> None:
        """Reset those that need a first position, or those among them that pass, by the default strategy.

        Raises:
            NoOffsetForPartitionError: The default strategy is none; `partitions` are those without an offset.
        """
        without = []
        for tp, state in self._states.items():
            if state.should_initialize and (predicate is None or predicate(tp)):
                if self._default_strategy == AutoOffsetResetStrategy.NONE:
                    without.append(tp)
                else:
                    state.reset(self._default_strategy)
        if without:
            listed = ", ".join(f"{topic}-{partition}" for topic, partition in hash_order(without))
            error = NoOffsetForPartitionError(f"Undefined offset with no reset policy for partitions: [{listed}]")
            error.partitions = frozenset(without)
            raise error

    def partitions_needing_reset(self, now: int) -> set[TopicPartition]:
        """Those that await a reset and are not backing off."""
        read_long(now, "partitions_needing_reset: now")
        return {
            tp
            for tp, state in self._states.items()
            if state.fetch_state is _AWAIT_RESET and not state.is_backing_off(now)
        }

    # ---- validation of positions against leaders

    def partitions_needing_validation(self, now: int) -> dict[TopicPartition, FetchPosition]:
        """Those that await validation and are not backing off, with their positions."""
        read_long(now, "partitions_needing_validation: now")
        return {
            tp: state.position
            for tp, state in self._states.items()
            if state.fetch_state is _AWAIT_VALIDATION and state.position is not None and not state.is_backing_off(now)
        }

    def maybe_validate_position_for_current_leader(
        self, api_versions: ApiVersions, tp: TopicPartition, leader_and_epoch: LeaderAndEpoch
    ) -> bool:
        """Take note of a partition's leader: a position under another one is to be validated, where it can be.

        Args:
            api_versions: Whether the leader can be asked (OffsetForLeaderEpoch from version 3 on) or its versions are
                not known yet; a callable gets its node id. Without a known leader it does not matter.
            tp: The partition.
            leader_and_epoch: What the metadata say now.

        Returns:
            Whether the position awaits validation then; False if the partition is not assigned.
        """
        state, (node, _) = self._state_or_none(tp), read_leader(leader_and_epoch)
        if state is None:
            return False
        if node is not None and not (api_versions(node.id) if callable(api_versions) else api_versions):
            state.follow_leader(leader_and_epoch)
            return False
        return state.validate_for_leader(leader_and_epoch)

    def maybe_complete_validation(
        self, tp: TopicPartition, request_position: FetchPosition, epoch_end_offset: EpochEndOffset
    ) -> LogTruncation | None:
        """Take a leader's answer: go on, go back to where the logs part, reset, or report that the log was cut off.

        Nothing happens if the partition is not assigned, awaits no validation, or has another position by now.

        Args:
            tp: The partition.
            request_position: The position that the leader was asked about.
            epoch_end_offset: Its answer.

        Returns:
            What was cut off, where no default strategy says what to do about it; the partition goes on waiting then.

        Raises:
            IllegalArgumentError: The leader's offset is negative without being undefined, and there is no strategy.
        """
        state = self._state_or_none(tp)
        if not isinstance(epoch_end_offset, EpochEndOffset):
            raise wrong_type("an epoch's end", "an EpochEndOffset", epoch_end_offset)
        if state is None or state.fetch_state is not _AWAIT_VALIDATION or state.position is None:
            return None
        current = state.position
        if current != request_position:
            return None
        epoch, end = epoch_end_offset
        if UNDEFINED in (epoch, end):
            if self.has_default_offset_reset_policy():
                state.reset(self._default_strategy)
                return None
            return LogTruncation(TopicPartition(*tp), request_position, None)
        if end >= current.offset:
            state.complete_validation()
            return None
        if self.has_default_offset_reset_policy():
            state.seek_validated(read_position(FetchPosition(end, epoch, current.current_leader)))
            return None
        return LogTruncation(TopicPartition(*tp), request_position, OffsetAndMetadata(end, epoch))

    def awaiting_validation(self, tp: TopicPartition) -> bool:
        """Whether its position awaits validation.

        Raises:
            IllegalStateError: It is not assigned.
        """
        return self._state(tp).fetch_state is _AWAIT_VALIDATION

    def complete_validation(self, tp: TopicPartition) -> None:
        """Fetch from its position, if it has one; no time to retry is left.

        Raises:
            IllegalStateError: It is not assigned.
        """
        self._state(tp).complete_validation()


def read_strategy(strategy: Strategy) -> AutoOffsetResetStrategy | None:
    """The strategy, given as itself or by its name; Kafka's class takes null, and so None stays None."""
    if strategy is None or isinstance(strategy, AutoOffsetResetStrategy):
        return strategy
    return AutoOffsetResetStrategy.from_string(strategy)


def _read_optional(position: FetchPosition | None) -> FetchPosition | None:
    return None if position is None else read_position(position)


def _known(position: FetchPosition | None, tp: TopicPartition) -> FetchPosition:
    if position is None:
        raise NullArgumentError(f"{tp[0]}-{tp[1]} has no position")
    return position
