"""The consumer's `SubscriptionState`: Kafka's operations on the parts of this package.

`subscription.py` holds the subscription, `assignment.py` the assigned partitions, `partition_state.py` the state of
each partition, and `committed_offsets.py` the additions from Kafka 0.9. A method here parses its arguments, then calls
one part, or several that change together.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Literal, overload

from assignor.errors import IllegalArgumentError, NoOffsetForPartitionError, NullArgumentError
from assignor.matching import TopicPattern
from assignor.matching.topic_names import INTERNAL_TOPICS
from assignor.model import TopicPartition
from assignor.ordering import hash_order
from assignor.subscription_state.assignment import Assignment, read_partitions
from assignor.subscription_state.committed_offsets import CommittedOffsets
from assignor.subscription_state.fetch_state import FetchState
from assignor.subscription_state.position import (
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
from assignor.subscription_state.subscription import (
    ConsumerRebalanceListener,
    ConsumerSubscription,
    SubscriptionPattern,
    SubscriptionType,
)
from assignor.validation import check_name, read_bool, read_names, wrong_type

__all__ = ["SubscriptionState"]

Topics = Iterable[str]
Partitions = Iterable[TopicPartition]
Predicate = Callable[[TopicPartition], bool]

Strategy = AutoOffsetResetStrategy | str | None
"""A strategy, its name, or Java's null."""

ApiVersions = Callable[[int], bool] | bool
"""True if a leader supports OffsetForLeaderEpoch; a callable gets the leader's node id."""

_AWAIT_RESET, _AWAIT_VALIDATION = FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION
_TOPICS = SubscriptionType.AUTO_TOPICS
_PATTERN, _RE2J = SubscriptionType.AUTO_PATTERN, SubscriptionType.AUTO_PATTERN_RE2J


class _Absent(enum.Enum):
    """Default of an argument that accepts None."""

    ABSENT = enum.auto()


_ABSENT: Literal[_Absent.ABSENT] = _Absent.ABSENT


class SubscriptionState:
    """A consumer's subscription, its assignment, and its position in each partition.

    The operations and their errors are those of Kafka's class of the same name
    (org.apache.kafka.clients.consumer.internals.SubscriptionState, kafka-clients 4.4.0). Method names are Kafka's in
    snake case. Java's overloads are one method, an empty Optional is None, and clocks, suppliers and clusters are
    arguments. Collections are copied in and out; Kafka's class keeps the set that it gets. A call that fails changes
    nothing, unless its description says otherwise.

    A method for one partition raises `IllegalStateError` if the partition is not assigned, unless its description says
    otherwise. A method for several partitions stops at the first that is not assigned; as in Kafka, the earlier ones
    are changed.

    The interface of Kafka 0.9 and 0.10, such as `needs_partition_assignment`, is included;
    `docs/subscription-state.md` lists where the old rules differ.

    This class is not thread-safe: to share a state between threads, hold a lock around each call, and around calls that
    belong together. An event loop needs no lock. Predicates and suppliers are called inside methods, so they must not
    call methods that change this object.

    Args:
        default_reset_strategy: Strategy for a partition without an offset: an `AutoOffsetResetStrategy`, or a value of
            `auto.offset.reset` (`"latest"`, `"earliest"`, `"none"`, `"by_duration:PT1H"`). None acts as null does in
            Kafka: like a strategy other than `none`.

    Raises:
        IllegalArgumentError: The name of the strategy is invalid.

    Example:
        >>> from assignor import TopicPartition
        >>> orders = TopicPartition("orders", 0)
        >>> state = SubscriptionState("earliest")
        >>> state.subscribe(["orders"])
        True
        >>> state.assign_from_subscribed([orders])
        >>> state.reset_initializing_positions()
        >>> state.is_offset_reset_needed(orders), state.reset_strategy(orders).name
        (True, 'earliest')
        >>> state.seek(orders, 42)
        >>> state.position(orders).offset, state.is_fetchable(orders)
        (42, True)
    """

    def __init__(self, default_reset_strategy: Strategy) -> None:
        self._default_strategy = _read_strategy(default_reset_strategy)
        self._subscription = ConsumerSubscription()
        self._assignment = Assignment()
        self._committed_offsets = CommittedOffsets()
        self._needs_partition_assignment = False

    def __repr__(self) -> str:
        return f"<SubscriptionState {self.pretty_string()}>"

    # ---- subscribe

    def subscribe(
        self, what: Topics | TopicPattern | SubscriptionPattern, listener: ConsumerRebalanceListener | None = None
    ) -> bool:
        """Subscribe to topics, or to a pattern that the client or the broker matches.

        The assignment does not change. The listener replaces the previous one, even if it is None and, as in Kafka,
        even if the call then fails.

        Args:
            what: Topic names, or a pattern.
            listener: The listener for changes of the assignment.

        Returns:
            True if the subscribed topics changed; a pattern alone does not change them.

        Raises:
            IllegalStateError: Another type of subscription is in use.
        """
        subscription = self._subscription
        if isinstance(what, TopicPattern):
            subscription.register(listener, _PATTERN)
            subscription.pattern = what
            return False
        if isinstance(what, SubscriptionPattern):
            subscription.register(listener, _RE2J)
            subscription.broker_pattern = what
            return False
        topics = frozenset(read_names(what, "subscribe"))
        subscription.register(listener, _TOPICS)
        return self._report_change(subscription.set_topics(topics))

    def subscribe_from_pattern(self, topics: Topics) -> bool:
        """Set the topics that the pattern matches. Return True if the subscribed topics changed.

        Raises:
            IllegalArgumentError: The subscription is not a pattern that the client matches.
        """
        names = frozenset(read_names(topics, "subscribe_from_pattern"))
        return self._report_change(self._subscription.set_matched_topics(names))

    def subscribe_to_share_group(self, topics: Topics) -> bool:
        """Subscribe to topics in a share group. Return True if the subscribed topics changed.

        The listener is removed, even if the call fails.

        Raises:
            IllegalStateError: Another type of subscription is in use.
        """
        names = frozenset(read_names(topics, "subscribe_to_share_group"))
        self._subscription.register(None, SubscriptionType.AUTO_TOPICS_SHARE)
        return self._report_change(self._subscription.set_topics(names))

    def group_subscribe(self, topics: Topics) -> bool:
        """Set the topics of all members of the group, as its leader does.

        Returns:
            True if this member does not subscribe to all of them.

        Raises:
            IllegalStateError: Nothing is subscribed.
        """
        return self._subscription.set_group_topics(frozenset(read_names(topics, "group_subscribe")))

    def reset_group_subscription(self) -> None:
        """Remove the topics of the other members, because this member is no longer the leader."""
        self._subscription.group_topics = frozenset()

    def unsubscribe(self) -> None:
        """Clear the subscription and the assignment; keep the listener."""
        self._subscription.clear()
        self._assignment.clear()
        self._committed_offsets.clear()
        self._needs_partition_assignment = True

    # ---- assign

    def assign_from_user(self, partitions: Partitions) -> bool:
        """Assign the partitions that the user chose; keep the state of partitions that stay.

        The fetch order is that of a java.util.HashMap, grouped by topic. If the partitions are the same, only the type
        of subscription is set.

        Returns:
            True if the topics changed; different partitions of the same topics do not count as a change.

        Raises:
            IllegalStateError: Topics or a pattern are subscribed.
        """
        found = dict.fromkeys(read_partitions(partitions, "assign_from_user"))
        self._subscription.set_type(SubscriptionType.USER_ASSIGNED)
        changed = False
        if found.keys() != self._assignment.partitions.keys():
            self._replace_assignment(hash_order(found))
            changed = self._subscription.set_topics(frozenset(topic for topic, _ in found))
        self._needs_partition_assignment = False
        return changed

    def assign_from_subscribed(self, partitions: Partitions) -> None:
        """Assign the partitions of the group's assignment; keep the state of partitions that stay.

        The fetch order is the given order, grouped by topic. The topics need not be subscribed;
        `check_assignment_matched_subscription` checks that.

        Raises:
            IllegalArgumentError: Nothing is subscribed.
        """
        found = dict.fromkeys(read_partitions(partitions, "assign_from_subscribed"))
        if not self._subscription.is_auto_assigned:
            raise IllegalArgumentError("Attempt to dynamically assign partitions while manual assignment in use")
        self._replace_assignment(found)
        self._needs_partition_assignment = False

    def assign_from_subscribed_awaiting_callback(self, full: Partitions, added: Partitions) -> None:
        """Assign as `assign_from_subscribed`; added partitions are not fetched until the listener has been called.

        Raises:
            IllegalArgumentError: Nothing is subscribed.
            IllegalStateError: An added partition is not assigned. As in Kafka, the assignment has changed.
        """
        marked = read_partitions(added, "assign_from_subscribed_awaiting_callback")
        self.assign_from_subscribed(full)
        self.mark_pending_on_assigned_callback(marked, True)

    def check_assignment_matched_subscription(self, partitions: Partitions) -> bool:
        """Return True if all topics match the pattern or, without a pattern, are subscribed.

        Raises:
            IllegalArgumentError: A pattern is in use, and a name is not a legal topic name in Kafka.
            UnsupportedPatternError: The pattern takes too many steps on a name.
        """
        found = read_partitions(partitions, "check_assignment_matched_subscription")
        return self._subscription.matches({topic for topic, _ in found})

    def assigned_partitions(self) -> set[TopicPartition]:
        """Return a copy of the assignment."""
        return set(self._assignment.partitions)

    def assigned_partitions_list(self) -> list[TopicPartition]:
        """Return a copy of the assignment in fetch order."""
        return list(self._assignment.partitions)

    def num_assigned_partitions(self) -> int:
        """Return the number of assigned partitions."""
        return len(self._assignment.partitions)

    def is_assigned(self, tp: TopicPartition) -> bool:
        """Return True if the partition is assigned."""
        return self._assignment.find(tp) is not None

    def assignment_id(self) -> int:
        """Return the number of times that the assignment was replaced."""
        return self._assignment.id

    def set_assigned_topic_ids(self, topic_ids: Iterable[object]) -> None:
        """Set the ids of the topics that the broker assigned.

        Raises:
            WrongTypeError: The argument is not an iterable of hashable ids.
        """
        wanted = "an iterable of hashable ids"
        if isinstance(topic_ids, (str, bytes, bytearray)):
            raise wrong_type("topic_ids", wanted, topic_ids)
        try:
            self._assignment.topic_ids = frozenset(topic_ids)
        except TypeError as error:
            raise wrong_type("topic_ids", wanted, topic_ids) from error

    def assigned_topic_ids(self) -> frozenset[object]:
        """Return the ids of the topics that the broker assigned."""
        return self._assignment.topic_ids

    def is_assigned_from_re2j(self, topic_id: object) -> bool:
        """Return True if `has_re2j_pattern_subscription` is true and the broker has assigned the topic."""
        return topic_id is not None and self.has_re2j_pattern_subscription() and topic_id in self._assignment.topic_ids

    def move_partition_to_end(self, tp: TopicPartition) -> None:
        """Move the partition to the end of the fetch order; do nothing if it is not assigned."""
        self._assignment.move_to_end(tp)

    # ---- subscription

    @property
    def subscription_type(self) -> SubscriptionType:
        """Current type of subscription."""
        return self._subscription.type

    @property
    def subscribed_pattern(self) -> TopicPattern | None:
        """Pattern that the client matches; None without one."""
        return self._subscription.pattern

    def subscription_pattern(self) -> SubscriptionPattern | None:
        """Return the pattern that the broker matches; None for other types of subscription."""
        return self._subscription.broker_pattern if self._subscription.type is _RE2J else None

    def has_pattern_subscription(self) -> bool:
        """Return True if the subscription is a pattern that the client matches."""
        return self._subscription.type is _PATTERN

    def has_re2j_pattern_subscription(self) -> bool:
        """Return True if the subscription is a pattern that the broker matches."""
        return self._subscription.type is _RE2J

    def has_no_subscription_or_user_assignment(self) -> bool:
        """Return True if there is neither a subscription nor a user assignment."""
        return self._subscription.type is SubscriptionType.NONE

    def has_auto_assigned_partitions(self) -> bool:
        """Return True if a group assigns the partitions."""
        return self._subscription.is_auto_assigned

    def matches_subscribed_pattern(self, topic: str) -> bool:
        """Return True if the subscription is a pattern that the client matches, and the pattern matches the name.

        The name is matched by the rules of the pattern's dialect; in the default dialect `java` the pattern must match
        the whole name.

        Raises:
            IllegalArgumentError: There is a pattern, and the name is not a legal topic name in Kafka.
            UnsupportedPatternError: The pattern takes too many steps on the name.
        """
        check_name(topic, "matches_subscribed_pattern: topic")
        pattern = self._subscription.pattern
        return pattern is not None and pattern.matches(topic)

    def subscription(self) -> frozenset[str]:
        """Return the subscribed topics; empty if the user assigns partitions."""
        return self._subscription.topics if self._subscription.is_auto_assigned else frozenset()

    def metadata_topics(self) -> frozenset[str]:
        """Return the topics that need metadata: subscribed ones, those of user-assigned partitions, and the group's."""
        return self._subscription.group_topics | self._subscription.topics

    def needs_metadata(self, topic: str) -> bool:
        """Return True if `metadata_topics` contains the topic."""
        check_name(topic, "needs_metadata: topic")
        return topic in self._subscription.topics or topic in self._subscription.group_topics

    def rebalance_listener(self) -> ConsumerRebalanceListener | None:
        """Return the last listener; `unsubscribe` keeps it."""
        return self._subscription.listener

    def pretty_string(self) -> str:
        """Return Kafka's description of the subscription; topics are in Java's order of strings.

        Example:
            >>> from assignor import SubscriptionState
            >>> state = SubscriptionState("none")
            >>> state.assign_from_user([("b", 0), ("a", 1)])
            True
            >>> state.pretty_string()
            'Assign([a-1, b-0] , id=1)'
        """
        if self._subscription.type is SubscriptionType.NONE:
            return "None"
        if self._subscription.type is SubscriptionType.USER_ASSIGNED:
            return self._assignment.describe()
        return self._subscription.describe()

    # ---- pause, resume, fetch

    def pause(self, tp: TopicPartition) -> None:
        """Stop fetching the partition until `resume`; the pause ends when the partition is no longer assigned."""
        self._assignment.require(tp).paused = True

    def resume(self, tp: TopicPartition) -> None:
        """Fetch the partition again."""
        self._assignment.require(tp).paused = False

    def is_paused(self, tp: TopicPartition) -> bool:
        """Return True if the partition is assigned and paused."""
        state = self._assignment.find(tp)
        return state is not None and state.paused

    def paused_partitions(self) -> set[TopicPartition]:
        """Return the paused partitions."""
        return {tp for tp, state in self._assignment.partitions.items() if state.paused}

    def mark_pending_revocation(self, partitions: Partitions) -> None:
        """Stop fetching partitions that are about to be revoked."""
        for tp in read_partitions(partitions, "mark_pending_revocation"):
            self._assignment.require(tp).pending_revocation = True

    def mark_pending_on_assigned_callback(self, partitions: Partitions, pending: bool) -> None:
        """Set whether `on_partitions_assigned` is pending for partitions; they are not fetched while it is pending."""
        read_bool(pending, "mark_pending_on_assigned_callback: pending")
        for tp in read_partitions(partitions, "mark_pending_on_assigned_callback"):
            self._assignment.require(tp).pending_callback = pending

    def enable_partitions_awaiting_callback(self, partitions: Partitions) -> None:
        """Clear the pending callback of partitions, so that they are fetched."""
        self.mark_pending_on_assigned_callback(partitions, False)

    def is_fetchable(self, tp: TopicPartition) -> bool:
        """Return True if the partition is assigned and can be fetched now.

        It must have a valid position, not be paused, not be about to be revoked and have no pending callback. If topics
        are subscribed by name, its topic must be subscribed.
        """
        state = self._assignment.find(tp)
        subscription = self._subscription
        is_subscribed = subscription.type is not _TOPICS or tp[0] in subscription.topics
        return state is not None and is_subscribed and state.is_fetchable

    def fetchable_partitions(self, predicate: Predicate | None = None) -> list[TopicPartition]:
        """Return the fetchable partitions that pass the predicate, in fetch order.

        In a share group, return all assigned partitions that pass it.
        """
        _check_callable(predicate, "fetchable_partitions: predicate")
        return [tp for tp in self._fetchable() if predicate is None or predicate(tp)]

    def has_fetchable_partitions(self, predicate: Predicate | None = None) -> bool:
        """Return True if `fetchable_partitions` returns any partition."""
        _check_callable(predicate, "has_fetchable_partitions: predicate")
        return any(predicate is None or predicate(tp) for tp in self._fetchable())

    # ---- seek and position

    def seek(self, tp: TopicPartition, offset: int) -> None:
        """Fetch from an offset without validation; a negative offset is accepted, as in Kafka."""
        self._assignment.require(tp).seek_validated(FetchPosition(read_long(offset, "an offset to seek")))

    def seek_validated(self, tp: TopicPartition, position: FetchPosition | None) -> None:
        """Fetch from a position without validation; clear reset strategy and retry time.

        Raises:
            IllegalStateError: The partition is not assigned, or the position is None. With None, the state
                of the partition becomes FETCHING, as in Kafka.
        """
        self._assignment.require(tp).seek_validated(_read_optional(position))

    def seek_unvalidated(self, tp: TopicPartition, position: FetchPosition | None) -> None:
        """Fetch from a position, after validation if its offset and its leader have epochs.

        Raises:
            IllegalStateError: As in `seek_validated`.
        """
        self._assignment.require(tp).seek_unvalidated(_read_optional(position))

    def maybe_seek_unvalidated(self, tp: TopicPartition, position: FetchPosition | None, strategy: Strategy) -> None:
        """Seek to the position that a reset found, unless it is out of date.

        Do nothing if the partition is not assigned, awaits no reset, or awaits one by another strategy. None means any
        strategy.
        """
        state, position, strategy = self._assignment.find(tp), _read_optional(position), _read_strategy(strategy)
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
        """Return the position, even if it awaits validation; with two arguments, replace it.

        Raises:
            IllegalStateError: The partition is not assigned; or the position is replaced, and the current one is not
                valid.
        """
        state = self._assignment.require(tp)
        if position is _ABSENT:
            return state.position
        state.set_position(_read_optional(position))
        return None

    def position_or_null(self, tp: TopicPartition) -> FetchPosition | None:
        """Return the position; None if the partition is not assigned."""
        state = self._assignment.find(tp)
        return None if state is None else state.position

    def valid_position(self, tp: TopicPartition) -> FetchPosition | None:
        """Return the position if it is valid, else None."""
        state = self._assignment.require(tp)
        return state.position if state.has_valid_position else None

    def has_valid_position(self, tp: TopicPartition) -> bool:
        """Return True if the partition is assigned and its position is valid."""
        state = self._assignment.find(tp)
        return state is not None and state.has_valid_position

    def has_all_fetch_positions(self) -> bool:
        """Return True if all assigned partitions have a valid position, or if no partition is assigned."""
        return all(state.has_valid_position for state in self._assignment.partitions.values())

    def all_consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets to commit: those of the valid positions.

        Raises:
            IllegalArgumentError: An offset is negative.
            NullArgumentError: A caller set a position to None.
        """
        consumed = {}
        for tp, state in self._assignment.partitions.items():
            if state.has_valid_position:
                position = _require_position(state.position, tp)
                consumed[tp] = OffsetAndMetadata(position.offset, position.offset_epoch)
        return consumed

    # ---- reset

    @property
    def default_reset_strategy(self) -> AutoOffsetResetStrategy | None:
        """Strategy for a partition without an offset."""
        return self._default_strategy

    def has_default_offset_reset_policy(self) -> bool:
        """Return True if the default strategy is not `none`."""
        return self._default_strategy != AutoOffsetResetStrategy.NONE

    @overload
    def request_offset_reset(self, tp: TopicPartition, strategy: Strategy = ...) -> None: ...

    @overload
    def request_offset_reset(self, tp: Partitions, strategy: Strategy) -> None: ...

    def request_offset_reset(
        self, tp: TopicPartition | Partitions, strategy: Strategy | Literal[_Absent.ABSENT] = _ABSENT
    ) -> None:
        """Drop the position of one or several partitions and await the offset of a strategy.

        Without a strategy argument the default strategy is used, even if it is `none`.
        """
        chosen = self._default_strategy if strategy is _ABSENT else _read_strategy(strategy)
        if isinstance(tp, tuple) and len(tp) == 2 and not isinstance(tp[0], tuple):
            self._assignment.require(TopicPartition(*tp)).reset(chosen)
            return
        if strategy is _ABSENT:
            raise NullArgumentError("request_offset_reset: several partitions require a strategy")
        for each in read_partitions(tp, "request_offset_reset"):
            self._assignment.require(each).reset(chosen)

    def request_offset_reset_if_partition_assigned(self, tp: TopicPartition) -> None:
        """Reset the partition by the default strategy; do nothing if it is not assigned."""
        state = self._assignment.find(tp)
        if state is not None:
            state.reset(self._default_strategy)

    def is_offset_reset_needed(self, tp: TopicPartition) -> bool:
        """Return True if the partition awaits a reset."""
        return self._assignment.require(tp).fetch_state is _AWAIT_RESET

    def reset_strategy(self, tp: TopicPartition) -> AutoOffsetResetStrategy | None:
        """Return the strategy of the last requested reset; None after a seek."""
        return self._assignment.require(tp).reset_strategy

    def initializing_partitions(self) -> set[TopicPartition]:
        """Return the partitions that need a first position and are not about to be revoked."""
        return {tp for tp, state in self._assignment.partitions.items() if state.should_initialize}

    def reset_initializing_positions(self, predicate: Predicate | None = None) -> None:
        """Reset partitions that need a first position and pass the predicate, by the default strategy.

        Raises:
            NoOffsetForPartitionError: The default strategy is `none`; `partitions` has the partitions without an
                offset.
        """
        _check_callable(predicate, "reset_initializing_positions: predicate")
        without = []
        for tp, state in self._assignment.partitions.items():
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
        """Return the partitions that await a reset and are not backing off."""
        read_long(now, "partitions_needing_reset: now")
        return {
            tp
            for tp, state in self._assignment.partitions.items()
            if state.fetch_state is _AWAIT_RESET and not state.is_backing_off(now)
        }

    def set_next_allowed_retry(self, partitions: Partitions, next_allowed: int) -> None:
        """Set the time in milliseconds before which requests about the partitions are not repeated."""
        read_long(next_allowed, "set_next_allowed_retry: next_allowed")
        for tp in read_partitions(partitions, "set_next_allowed_retry"):
            self._assignment.require(tp).retry_at = next_allowed

    def request_failed(self, partitions: Partitions, next_retry: int) -> None:
        """Set the time of the next retry after a failed request; skip partitions that are no longer assigned."""
        read_long(next_retry, "request_failed: next_retry")
        for tp in read_partitions(partitions, "request_failed"):
            state = self._assignment.partitions.get(tp)
            if state is not None:
                state.retry_at = next_retry

    # ---- validate positions

    def partitions_needing_validation(self, now: int) -> dict[TopicPartition, FetchPosition]:
        """Return the positions that await validation, of partitions that are not backing off."""
        read_long(now, "partitions_needing_validation: now")
        return {
            tp: state.position
            for tp, state in self._assignment.partitions.items()
            if state.fetch_state is _AWAIT_VALIDATION and state.position is not None and not state.is_backing_off(now)
        }

    def maybe_validate_position_for_current_leader(
        self, api_versions: ApiVersions, tp: TopicPartition, leader_and_epoch: LeaderAndEpoch
    ) -> bool:
        """Set the leader of a partition; validate the position if it is from another leader and can be validated.

        Args:
            api_versions: True if the leader supports OffsetForLeaderEpoch from version 3 on, or if its versions are not
                known yet; or a function that returns this for the leader's node id. Unused without a known leader.
            tp: The partition.
            leader_and_epoch: The leader in the latest metadata.

        Returns:
            True if the position then awaits validation; False if the partition is not assigned.
        """
        state, (node, _) = self._assignment.find(tp), read_leader(leader_and_epoch)
        if state is None:
            return False
        if not callable(api_versions):
            read_bool(api_versions, "api_versions")
        if node is not None and not (api_versions(node.id) if callable(api_versions) else api_versions):
            state.follow_leader(leader_and_epoch)
            return False
        return state.validate_for_leader(leader_and_epoch)

    def maybe_complete_validation(
        self, tp: TopicPartition, request_position: FetchPosition, epoch_end_offset: EpochEndOffset
    ) -> LogTruncation | None:
        """Apply a leader's answer: continue, seek to the divergent offset, reset, or report a truncated log.

        Do nothing if the partition is not assigned, awaits no validation, or has another position by now.

        Args:
            tp: The partition.
            request_position: Position in the request to the leader.
            epoch_end_offset: The leader's answer.

        Returns:
            The truncation, if the answer shows one or is undefined and the default strategy is `none`; the position
            then still awaits validation. Else None.

        Raises:
            IllegalArgumentError: The leader's offset is negative but not undefined, and the default strategy is `none`.
        """
        state = self._assignment.find(tp)
        if not isinstance(epoch_end_offset, EpochEndOffset):
            raise wrong_type("an epoch's end", "an EpochEndOffset", epoch_end_offset)
        if state is None:
            return None
        return state.apply_epoch_end(TopicPartition(*tp), request_position, epoch_end_offset, self._default_strategy)

    def awaiting_validation(self, tp: TopicPartition) -> bool:
        """Return True if the position awaits validation."""
        return self._assignment.require(tp).fetch_state is _AWAIT_VALIDATION

    def complete_validation(self, tp: TopicPartition) -> None:
        """Fetch from the position if there is one; clear the retry time."""
        self._assignment.require(tp).complete_validation()

    # ---- offsets of the log

    def update_high_watermark(self, tp: TopicPartition, offset: int) -> None:
        """Set the high watermark, and clear the request for the end offset."""
        self._assignment.require(tp).update_high_watermark(offset)

    def try_updating_high_watermark(self, tp: TopicPartition, offset: int) -> bool:
        """Set the high watermark if the partition is assigned. Return True if it is."""
        state = self._assignment.find(tp)
        if state is None:
            return False
        state.update_high_watermark(offset)
        return True

    def update_last_stable_offset(self, tp: TopicPartition, offset: int) -> None:
        """Set the last stable offset, and clear the request for the end offset."""
        self._assignment.require(tp).update_last_stable(offset)

    def try_updating_last_stable_offset(self, tp: TopicPartition, offset: int) -> bool:
        """Set the last stable offset if the partition is assigned. Return True if it is."""
        state = self._assignment.find(tp)
        if state is None:
            return False
        state.update_last_stable(offset)
        return True

    def try_updating_log_start_offset(self, tp: TopicPartition, offset: int) -> bool:
        """Set the log start offset if the partition is assigned. Return True if it is."""
        state = self._assignment.find(tp)
        if state is None:
            return False
        state.log_start = read_long(offset, "a log start offset")
        return True

    def request_partition_end_offset(self, tp: TopicPartition) -> None:
        """Mark a request for the end offset as in flight."""
        self._assignment.require(tp).end_offset_requested = True

    def partition_end_offset_requested(self, tp: TopicPartition) -> bool:
        """Return True if a request for the end offset is in flight."""
        return self._assignment.require(tp).end_offset_requested

    def maybe_clear_partition_end_offset_requested(self, tp: TopicPartition) -> bool:
        """Clear the request for the end offset. Return True if one was in flight."""
        state = self._assignment.find(tp)
        if state is None or not state.end_offset_requested:
            return False
        state.end_offset_requested = False
        return True

    def partition_lag(self, tp: TopicPartition, isolation_level: IsolationLevel) -> int | None:
        """Return the distance from the position to the end offset; None if either is unknown."""
        end, position = self.partition_end_offset(tp, isolation_level), self._assignment.partitions[tp].position
        return None if end is None or position is None else as_long(end - position.offset)

    def partition_end_offset(self, tp: TopicPartition, isolation_level: IsolationLevel) -> int | None:
        """Return the last stable offset for READ_COMMITTED, else the high watermark; None if unknown."""
        if not isinstance(isolation_level, IsolationLevel):
            raise wrong_type("an isolation level", "an IsolationLevel", isolation_level)
        state = self._assignment.require(tp)
        return state.last_stable if isolation_level is IsolationLevel.READ_COMMITTED else state.high_watermark

    def partition_lead(self, tp: TopicPartition) -> int | None:
        """Return the distance from the log start offset to the position; None if the log start offset is unknown.

        Raises:
            IllegalStateError: The partition is not assigned.
            NullArgumentError: The log start offset is known but there is no position, as in Kafka.
        """
        state = self._assignment.require(tp)
        if state.log_start is None:
            return None
        return as_long(_require_position(state.position, tp).offset - state.log_start)

    # ---- preferred read replica

    def update_preferred_read_replica(self, tp: TopicPartition, replica: int, expires_at: Callable[[], int]) -> None:
        """Set the replica that the leader prefers. If it is already the preferred one, its validity is not extended.

        Args:
            tp: The partition.
            replica: Node id of the replica.
            expires_at: Called only for a new replica; returns the last millisecond at which it is valid.
        """
        self._assignment.require(tp).update_replica(replica, expires_at)

    def try_updating_preferred_read_replica(
        self, tp: TopicPartition, replica: int, expires_at: Callable[[], int]
    ) -> bool:
        """Set the preferred replica if the partition is assigned. Return True if it is."""
        state = self._assignment.find(tp)
        if state is None:
            return False
        state.update_replica(replica, expires_at)
        return True

    def preferred_read_replica(self, tp: TopicPartition, now: int) -> int | None:
        """Return the replica to fetch from; None for the leader, or if the partition is not assigned."""
        state = self._assignment.find(tp)
        return None if state is None else state.preferred_replica(read_long(now, "now"))

    def clear_preferred_read_replica(self, tp: TopicPartition) -> int | None:
        """Remove and return the preferred replica; None without one, or if the partition is not assigned."""
        state = self._assignment.find(tp)
        return None if state is None else state.clear_replica()

    # ---- interface of Kafka 0.9 and 0.10

    @property
    def needs_partition_assignment(self) -> bool:
        """True if the group must assign partitions.

        Set by a change of the subscribed topics, by `need_reassignment` and by `unsubscribe`; cleared when the group or
        the user assigns partitions.
        """
        return self._needs_partition_assignment

    def need_reassignment(self) -> None:
        """Request an assignment, and remove the group's topics that are not subscribed."""
        self._subscription.group_topics &= self._subscription.topics
        self._needs_partition_assignment = True

    @property
    def group_subscription(self) -> frozenset[str]:
        """Known topics of the group: the subscribed topics and those of `group_subscribe`."""
        return self.metadata_topics()

    @property
    def user_assignment(self) -> frozenset[TopicPartition]:
        """Partitions that the user assigned; empty if a group assigns partitions."""
        is_user_assigned = self._subscription.type is SubscriptionType.USER_ASSIGNED
        return frozenset(self._assignment.partitions) if is_user_assigned else frozenset()

    def update_from_metadata(self, topic_names: Topics, *, include_internal: bool = False) -> bool:
        """Subscribe to the topics of the cluster that the pattern matches, as Metadata.Listener did.

        Args:
            topic_names: All topics of the cluster.
            include_internal: True to match internal topics too. By default consumers exclude them
                (`exclude.internal.topics`).

        Returns:
            True if the subscribed topics changed; False without a pattern.

        Raises:
            IllegalArgumentError: A name is not a legal topic name in Kafka.
        """
        names = read_names(topic_names, "update_from_metadata")
        read_bool(include_internal, "update_from_metadata: include_internal")
        if not self.has_pattern_subscription():
            return False
        visible = names if include_internal else [name for name in names if name not in INTERNAL_TOPICS]
        return self.subscribe_from_pattern(filter(self.matches_subscribed_pattern, visible))

    @property
    def needs_fetch_committed_offsets(self) -> bool:
        """True if committed offsets must be fetched: initially, and after `need_refresh_commits`."""
        return self._committed_offsets.needs_fetch

    def need_refresh_commits(self) -> None:
        """Request a fetch of committed offsets, as after a rebalance or an asynchronous commit."""
        self._committed_offsets.request_fetch()

    def commits_refreshed(self) -> None:
        """Mark the committed offsets of all partitions as fetched."""
        self._committed_offsets.complete_fetch()

    def committed(self, tp: TopicPartition) -> OffsetAndMetadata | None:
        """Return the last committed offset that was set."""
        self._assignment.require(tp)
        return self._committed_offsets.get(tp)

    def set_committed(self, tp: TopicPartition, committed: OffsetAndMetadata | None) -> None:
        """Set a committed offset, which only the methods of Kafka 0.9 use.

        Once every assigned partition has one, no fetch is needed.
        """
        if committed is not None and not isinstance(committed, OffsetAndMetadata):
            raise wrong_type("a committed offset", "an OffsetAndMetadata", committed)
        self._assignment.require(tp)
        self._committed_offsets.set(tp, committed, len(self._assignment.partitions))

    # ---- helpers

    def _replace_assignment(self, ordered: Partitions) -> None:
        self._assignment.replace(ordered)
        self._committed_offsets.retain(self._assignment.partitions)

    def _report_change(self, changed: bool) -> bool:
        self._needs_partition_assignment |= changed
        return changed

    def _fetchable(self) -> Iterable[TopicPartition]:
        subscription, partitions = self._subscription, self._assignment.partitions
        if subscription.type is SubscriptionType.AUTO_TOPICS_SHARE:
            return partitions
        found = (tp for tp, state in partitions.items() if state.is_fetchable)
        return found if subscription.type is not _TOPICS else (tp for tp in found if tp.topic in subscription.topics)


def _read_strategy(strategy: Strategy) -> AutoOffsetResetStrategy | None:
    """Return a strategy, given as such or by its name; None stays None, because Kafka's class accepts null."""
    if strategy is None or isinstance(strategy, AutoOffsetResetStrategy):
        return strategy
    return AutoOffsetResetStrategy.from_string(strategy)


def _check_callable(predicate: object, what: str) -> None:
    if predicate is not None and not callable(predicate):
        raise wrong_type(what, "a function or None", predicate)


def _read_optional(position: FetchPosition | None) -> FetchPosition | None:
    return None if position is None else read_position(position)


def _require_position(position: FetchPosition | None, tp: TopicPartition) -> FetchPosition:
    if position is None:
        raise NullArgumentError(f"{tp[0]}-{tp[1]} has no position")
    return position
