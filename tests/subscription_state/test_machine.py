"""Random operations on a SubscriptionState, compared with a simple model after every operation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from assignor import SubscriptionState, TopicPartition
from assignor.errors import IllegalArgumentError, IllegalStateError, NoOffsetForPartitionError
from assignor.matching import TopicPattern
from assignor.subscription_state import (
    AutoOffsetResetStrategy,
    EpochEndOffset,
    FetchPosition,
    FetchState,
    IsolationLevel,
    LeaderAndEpoch,
    Node,
    SubscriptionPattern,
    SubscriptionType,
)
from assignor.subscription_state.fetch_state import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPICS = ["a", "b", "orders"]
topics = st.sets(st.sampled_from(TOPICS))
partition = st.builds(TopicPartition, st.sampled_from(TOPICS), st.integers(0, 2))
partitions = st.lists(partition, max_size=6)
epochs = st.none() | st.integers(0, 3)
leaders = st.builds(LeaderAndEpoch, st.none() | st.builds(Node, st.integers(1, 2)), epochs)
offsets = st.integers(0, 20)
positions = st.builds(FetchPosition, offsets, epochs, leaders)
strategies = st.sampled_from(["latest", "earliest", "none", "by_duration:PT1H"])
times = st.integers(0, 10)

USER, NONE = SubscriptionType.USER_ASSIGNED, SubscriptionType.NONE


class SubscriptionStateMachine(RuleBasedStateMachine):
    """The state under test, a model of it, and their invariants."""

    @initialize(strategy=strategies)
    def start(self, strategy: str) -> None:
        self.state = SubscriptionState(strategy)
        self.strategy = strategy
        self.type = NONE
        self.topics: set[str] = set()
        self.group: set[str] = set()
        self.assigned: set[TopicPartition] = set()
        self.paused: set[TopicPartition] = set()
        self.leaving: set[TopicPartition] = set()
        self.unannounced: set[TopicPartition] = set()
        self.before: dict[TopicPartition, FetchState] = {}
        self.assignments = 0
        self.needs_assignment = False

    # ---- helpers for the expected result of a call

    @contextmanager
    def expect_success(self, work: bool, error: type[Exception] = IllegalStateError) -> Iterator[None]:
        """Fail unless the call succeeds, or raises this error if it must not succeed."""
        if work:
            yield
        else:
            with pytest.raises(error):
                yield

    def set_type(self, wanted: SubscriptionType) -> bool:
        """Return True if the type can be set; set it in the model."""
        if self.type not in (NONE, wanted):
            return False
        self.type = wanted
        return True

    def set_topics(self, names: set[str]) -> bool:
        """Return True if the topics change; set them in the model."""
        changed = self.topics != names
        self.topics = names
        self.needs_assignment |= changed
        return changed

    def require_assigned(self, tp: TopicPartition, call: Callable[[], Any]) -> None:
        """Call a method that requires the partition to be assigned."""
        with self.expect_success(tp in self.assigned):
            call()

    # ---- subscriptions and assignments

    @rule(names=topics)
    def subscribe(self, names: set[str]) -> None:
        with self.expect_success(self.set_type(SubscriptionType.AUTO_TOPICS)):
            changed = self.state.subscribe(names)
            assert self.set_topics(names) == changed

    @rule(names=topics)
    def subscribe_to_share_group(self, names: set[str]) -> None:
        with self.expect_success(self.set_type(SubscriptionType.AUTO_TOPICS_SHARE)):
            changed = self.state.subscribe_to_share_group(names)
            assert self.set_topics(names) == changed

    @rule(pattern=st.sampled_from([".*", "a|b"]))
    def subscribe_pattern(self, pattern: str) -> None:
        with self.expect_success(self.set_type(SubscriptionType.AUTO_PATTERN)):
            assert not self.state.subscribe(TopicPattern(pattern))

    @rule(pattern=st.sampled_from([".*", "a|b"]))
    def subscribe_broker_pattern(self, pattern: str) -> None:
        with self.expect_success(self.set_type(SubscriptionType.AUTO_PATTERN_RE2J)):
            assert not self.state.subscribe(SubscriptionPattern(pattern))

    @rule(names=topics)
    def subscribe_from_pattern(self, names: set[str]) -> None:
        with self.expect_success(self.type is SubscriptionType.AUTO_PATTERN, IllegalArgumentError):
            changed = self.state.subscribe_from_pattern(names)
            assert self.set_topics(names) == changed

    @rule(names=topics)
    def group_subscribe(self, names: set[str]) -> None:
        with self.expect_success(self.type not in (NONE, USER)):
            assert (not names <= self.topics) == self.state.group_subscribe(names)
            self.group = names

    @rule()
    def need_reassignment(self) -> None:
        self.state.need_reassignment()
        self.group &= self.topics
        self.needs_assignment = True

    @rule()
    def reset_group_subscription(self) -> None:
        self.state.reset_group_subscription()
        self.group = set()

    @precondition(lambda self: self.type is not NONE)
    @rule()
    def unsubscribe(self) -> None:
        self.state.unsubscribe()
        self.type, self.topics, self.group, self.needs_assignment = NONE, set(), set(), True
        self.assignments += 1
        self.assigned.clear()
        self.paused.clear()
        self.leaving.clear()
        self.unannounced.clear()
        self.before.clear()

    @rule(given=partitions)
    def assign_from_user(self, given: list[TopicPartition]) -> None:
        with self.expect_success(self.set_type(USER)):
            changed = self.state.assign_from_user(given)
            if set(given) == self.assigned:
                assert not changed
            else:
                assert self.set_topics({tp.topic for tp in given}) == changed
                self.replace_assignment(given)
            self.needs_assignment = False

    @rule(given=partitions, data=st.data())
    def assign_from_subscribed(self, given: list[TopicPartition], data: st.DataObject) -> None:
        added = data.draw(st.lists(st.sampled_from(given))) if given else []
        with self.expect_success(self.type not in (NONE, USER), IllegalArgumentError):
            self.state.assign_from_subscribed_awaiting_callback(given, added)
            self.replace_assignment(given)
            self.unannounced |= set(added)
            grouped = dict.fromkeys(tp.topic for tp in given)
            wanted = [tp for topic in grouped for tp in dict.fromkeys(given) if tp.topic == topic]
            assert wanted == self.state.assigned_partitions_list()
            self.needs_assignment = False

    def replace_assignment(self, given: list[TopicPartition]) -> None:
        """Assign the partitions in the model."""
        self.assigned = set(given)
        self.paused &= self.assigned
        self.leaving &= self.assigned
        self.unannounced &= self.assigned
        self.before = {tp: state for tp, state in self.before.items() if tp in self.assigned}
        self.assignments += 1

    # ---- partitions

    @rule(tp=partition, pause=st.booleans())
    def pause_or_resume(self, tp: TopicPartition, pause: bool) -> None:
        self.require_assigned(tp, lambda: self.state.pause(tp) if pause else self.state.resume(tp))
        if pause and tp in self.assigned:
            self.paused.add(tp)
        else:
            self.paused.discard(tp)

    @rule(tp=partition, position=positions, how=st.sampled_from(["seek", "validated", "unvalidated"]))
    def seek(self, tp: TopicPartition, position: FetchPosition, how: str) -> None:
        if how == "seek":
            self.require_assigned(tp, lambda: self.state.seek(tp, position.offset))
            position = FetchPosition(position.offset)
        else:
            self.require_assigned(tp, lambda: getattr(self.state, f"seek_{how}")(tp, position))
        assert self.state.position_or_null(tp) == (position if tp in self.assigned else None)

    @rule(tp=partition, position=positions, strategy=strategies)
    def complete_reset(self, tp: TopicPartition, position: FetchPosition, strategy: str) -> None:
        awaited = tp in self.assigned and self.state.is_offset_reset_needed(tp)
        awaited = awaited and self.state.reset_strategy(tp) == AutoOffsetResetStrategy.from_string(strategy)
        before = self.state.position_or_null(tp)
        self.state.maybe_seek_unvalidated(tp, position, strategy)
        assert self.state.position_or_null(tp) == (position if awaited else before)

    @rule(tp=partition, position=positions)
    def set_position(self, tp: TopicPartition, position: FetchPosition) -> None:
        with self.expect_success(tp in self.assigned and self.state.has_valid_position(tp)):
            self.state.position(tp, position)
            assert position == self.state.valid_position(tp)

    @rule(tp=partition, leader=leaders, usable=st.booleans())
    def update_leader(self, tp: TopicPartition, leader: LeaderAndEpoch, usable: bool) -> None:
        awaits = self.state.maybe_validate_position_for_current_leader(usable, tp, leader)
        assert not awaits or self.state.awaiting_validation(tp)
        position = self.state.position_or_null(tp)
        if position is not None and leader.leader is not None:
            assert leader == position.current_leader

    @rule(tp=partition, answer=st.builds(EpochEndOffset, st.integers(-1, 3), st.integers(-1, 20)))
    def complete_validation(self, tp: TopicPartition, answer: EpochEndOffset) -> None:
        asked = self.state.position_or_null(tp)
        if asked is None:
            return
        validating = self.state.awaiting_validation(tp)
        truncation = self.state.maybe_complete_validation(tp, asked, answer)
        if truncation is not None:
            assert validating
            assert self.strategy == "none"
            assert self.state.awaiting_validation(tp)
        elif validating:
            assert not self.state.awaiting_validation(tp)

    @rule(given=partitions, strategy=strategies)
    def reset(self, given: list[TopicPartition], strategy: str) -> None:
        with self.expect_success(self.assigned.issuperset(given)):
            self.state.request_offset_reset(given, strategy)

    @rule(given=st.sets(partition))
    def initialize_positions(self, given: set[TopicPartition]) -> None:
        needing = self.state.initializing_partitions() & given
        with self.expect_success(self.strategy != "none" or not needing, NoOffsetForPartitionError):
            self.state.reset_initializing_positions(given.__contains__)
        left = self.state.initializing_partitions() & given
        assert left == (needing if self.strategy == "none" else set())

    @rule(given=partitions, at=times)
    def fail(self, given: list[TopicPartition], at: int) -> None:
        self.state.request_failed(given, at)

    @rule(tp=partition, offset=offsets)
    def update_end_offsets(self, tp: TopicPartition, offset: int) -> None:
        known = tp in self.assigned
        assert known == self.state.try_updating_high_watermark(tp, offset)
        assert known == self.state.try_updating_last_stable_offset(tp, offset)
        if known and (position := self.state.position(tp)) is not None:
            assert offset - position.offset == self.state.partition_lag(tp, IsolationLevel.READ_COMMITTED)

    @rule(given=partitions)
    def mark_pending_revocation(self, given: list[TopicPartition]) -> None:
        with self.expect_success(self.assigned.issuperset(given)):
            self.state.mark_pending_revocation(given)
        for tp in given:
            if tp not in self.assigned:
                break
            self.leaving.add(tp)

    @rule(given=partitions)
    def announce(self, given: list[TopicPartition]) -> None:
        with self.expect_success(self.assigned.issuperset(given)):
            self.state.enable_partitions_awaiting_callback(given)
        for tp in given:
            if tp not in self.assigned:
                break
            self.unannounced.discard(tp)

    @rule(tp=partition)
    def move_to_end(self, tp: TopicPartition) -> None:
        before = self.state.assigned_partitions_list()
        self.state.move_partition_to_end(tp)
        assert [each for each in before if each != tp] + [tp] * before.count(
            tp
        ) == self.state.assigned_partitions_list()

    # ---- invariants

    @invariant()
    def the_model_agrees(self) -> None:
        state = self.state
        by_group = self.type not in (NONE, USER)
        assert self.type is state.subscription_type
        assert (self.topics if by_group else set()) == state.subscription()
        assert self.topics | self.group == state.metadata_topics() == state.group_subscription
        assert self.assigned == state.assigned_partitions() == set(state.assigned_partitions_list())
        assert len(self.assigned) == state.num_assigned_partitions()
        assert (self.assigned if self.type is USER else set()) == state.user_assignment
        assert self.paused == state.paused_partitions()
        assert self.assignments == state.assignment_id()
        assert self.needs_assignment == state.needs_partition_assignment

    @invariant()
    def no_partition_is_listed_twice(self) -> None:
        assert len(set(self.state.assigned_partitions_list())) == len(self.state.assigned_partitions_list())

    @invariant()
    def a_partition_has_a_position_exactly_if_its_state_requires_one(self) -> None:
        for tp in self.state.assigned_partitions():
            rules = TABLE[self.state._assignment.partitions[tp].fetch_state]
            assert rules.requires_position == (self.state.position(tp) is not None)
            assert rules.valid_position == self.state.has_valid_position(tp)
            assert self.state.valid_position(tp) == (self.state.position(tp) if rules.valid_position else None)

    @invariant()
    def no_partition_returns_to_the_first_state(self) -> None:
        for tp in self.state.assigned_partitions():
            now = self.state._assignment.partitions[tp].fetch_state
            assert now is not FetchState.INITIALIZING or self.before.get(tp, now) is now
            self.before[tp] = now

    @invariant()
    def a_partition_is_in_one_list_only(self) -> None:
        state, later = self.state, 10**6
        fetching = {tp for tp in state.assigned_partitions() if state.has_valid_position(tp)}
        needing = [state.partitions_needing_reset(later), set(state.partitions_needing_validation(later)), fetching]
        states = state._assignment.partitions
        first = {tp for tp in state.assigned_partitions() if states[tp].fetch_state is FetchState.INITIALIZING}
        assert state.num_assigned_partitions() == sum(map(len, [*needing, first]))
        assert first - self.leaving == state.initializing_partitions()
        assert state.has_all_fetch_positions() == (fetching == state.assigned_partitions())
        assert fetching == state.all_consumed().keys()

    @invariant()
    def only_partitions_with_a_valid_position_that_are_not_paused_or_pending_are_fetchable(self) -> None:
        state = self.state
        alone = [tp for tp in state.assigned_partitions_list() if state.is_fetchable(tp)]
        everything = self.type is SubscriptionType.AUTO_TOPICS_SHARE
        assert (state.assigned_partitions_list() if everything else alone) == state.fetchable_partitions()
        by_name = self.type is SubscriptionType.AUTO_TOPICS
        held_back = self.paused | self.leaving | self.unannounced
        assert alone == [
            tp
            for tp in state.assigned_partitions_list()
            if state.has_valid_position(tp) and tp not in held_back and (not by_name or tp.topic in self.topics)
        ]


test_the_state_equals_a_simple_model = SubscriptionStateMachine.TestCase
