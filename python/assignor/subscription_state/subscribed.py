"""What is subscribed or assigned, and by whom: the types that exclude each other.

Source: SubscriptionState, kafka-clients 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from assignor.errors import IllegalArgumentError, IllegalStateError
from assignor.matching import TopicPattern
from assignor.model import TopicPartition
from assignor.ordering import hash_order, java_order, presized_capacity
from assignor.subscription_state.assigned import read_partitions
from assignor.subscription_state.partition_state import PartitionState
from assignor.subscription_state.positions import FetchPositions, Strategy
from assignor.subscription_state.subscribing import (
    AUTO_TYPES,
    ConsumerRebalanceListener,
    SubscriptionPattern,
    SubscriptionType,
    read_listener,
)
from assignor.validation import check_name, read_names, wrong_type

_EXCLUSIVE = "Subscription to topics, partitions and pattern are mutually exclusive"

_NONE, _USER_ASSIGNED = SubscriptionType.NONE, SubscriptionType.USER_ASSIGNED
_TOPICS, _SHARE = SubscriptionType.AUTO_TOPICS, SubscriptionType.AUTO_TOPICS_SHARE
_PATTERN, _RE2J = SubscriptionType.AUTO_PATTERN, SubscriptionType.AUTO_PATTERN_RE2J

Topics = Iterable[str]
Partitions = Iterable[TopicPartition]
Predicate = Callable[[TopicPartition], bool]


class Subscribed(FetchPositions):
    """Subscription, assignment and what follows from both, as Kafka's class has it today."""

    def __init__(self, default_reset_strategy: Strategy) -> None:
        super().__init__(default_reset_strategy)
        self._type = _NONE
        self._topics: frozenset[str] = frozenset()
        self._group_topics: frozenset[str] = frozenset()
        self._pattern: TopicPattern | None = None
        self._re2j_pattern: SubscriptionPattern | None = None
        self._listener: ConsumerRebalanceListener | None = None
        self._topic_ids: frozenset[object] = frozenset()
        self._assignment_id = 0

    # ---- subscribing

    def subscribe(
        self, what: Topics | TopicPattern | SubscriptionPattern, listener: ConsumerRebalanceListener | None = None
    ) -> bool:
        """Subscribe to topics, to a pattern that is matched here, or to one that the broker matches.

        The assignment stays as it is. The listener replaces the one before, None too, and as in Kafka it does so even
        where the call then fails.

        Args:
            what: Names of topics, or a pattern.
            listener: Who is to be told of partitions that come and go.

        Returns:
            Whether the subscribed topics changed; a pattern alone does not change them.

        Raises:
            IllegalStateError: Another type of subscription is in use.
        """
        if isinstance(what, TopicPattern):
            self._register(listener, _PATTERN)
            self._pattern = what
            return False
        if isinstance(what, SubscriptionPattern):
            self._register(listener, _RE2J)
            self._re2j_pattern = what
            return False
        topics = frozenset(read_names(what, "subscribe"))
        self._register(listener, _TOPICS)
        return self._change_subscription(topics)

    def subscribe_from_pattern(self, topics: Topics) -> bool:
        """Say which topics the pattern means now.

        Returns:
            Whether the subscribed topics changed.

        Raises:
            IllegalArgumentError: No pattern that is matched here is in use.
        """
        names = frozenset(read_names(topics, "subscribe_from_pattern"))
        if self._type is not _PATTERN:
            raise IllegalArgumentError(
                f"Attempt to subscribe from pattern while subscription type set to {self._type.name}"
            )
        return self._change_subscription(names)

    def subscribe_to_share_group(self, topics: Topics) -> bool:
        """Subscribe to topics in a share group; no listener is left, even where the call fails.

        Returns:
            Whether the subscribed topics changed.

        Raises:
            IllegalStateError: Another type of subscription is in use.
        """
        names = frozenset(read_names(topics, "subscribe_to_share_group"))
        self._register(None, _SHARE)
        return self._change_subscription(names)

    def group_subscribe(self, topics: Topics) -> bool:
        """Say what all members of the group subscribe to, as a leader learns it; it replaces what was said before.

        Returns:
            Whether there are topics among them that this member does not subscribe to.

        Raises:
            IllegalStateError: Nothing is subscribed.
        """
        names = frozenset(read_names(topics, "group_subscribe"))
        if not self.has_auto_assigned_partitions():
            raise IllegalStateError(_EXCLUSIVE)
        self._group_topics = names
        return not names <= self._topics

    def reset_group_subscription(self) -> None:
        """Forget what the others subscribe to, as a member that is no leader any more."""
        self._group_topics = frozenset()

    def unsubscribe(self) -> None:
        """Forget subscription and assignment; the listener stays."""
        self._topics = self._group_topics = frozenset()
        self._topic_ids = frozenset()
        self._states = {}
        self._pattern = None
        self._type = _NONE
        self._assignment_id += 1

    # ---- assigning

    def assign_from_user(self, partitions: Partitions) -> bool:
        """Assign what the user picked; what is known about partitions that stay is kept.

        The order of fetching is that of a java.util.HashMap, topic after topic. Without a change of partitions nothing
        happens, but that the type of subscription is now this one.

        Returns:
            Whether the topics changed, other partitions of the same topics being no change.

        Raises:
            IllegalStateError: Something is subscribed.
        """
        found = dict.fromkeys(read_partitions(partitions, "assign_from_user"))
        self._set_type(_USER_ASSIGNED)
        if found.keys() == self._states.keys():
            return False
        self._assignment_id += 1
        self._retain(hash_order(found))
        return self._change_subscription(frozenset(topic for topic, _ in found))

    def assign_from_subscribed(self, partitions: Partitions) -> None:
        """Assign what the group decided; what is known about partitions that stay is kept.

        The order of fetching is the one given, topic after topic. Whether the topics are subscribed is not looked at:
        `check_assignment_matched_subscription` does.

        Raises:
            IllegalArgumentError: Nothing is subscribed.
        """
        found = dict.fromkeys(read_partitions(partitions, "assign_from_subscribed"))
        if not self.has_auto_assigned_partitions():
            raise IllegalArgumentError("Attempt to dynamically assign partitions while manual assignment in use")
        self._assignment_id += 1
        self._retain(found)

    def assign_from_subscribed_awaiting_callback(self, full: Partitions, added: Partitions) -> None:
        """The same, and fetch nothing of those that were added until the listener was told of them.

        Raises:
            IllegalArgumentError: Nothing is subscribed.
            IllegalStateError: One that was added is not assigned; as in Kafka all are assigned nevertheless.
        """
        marked = read_partitions(added, "assign_from_subscribed_awaiting_callback")
        self.assign_from_subscribed(full)
        self.mark_pending_on_assigned_callback(marked, True)

    def check_assignment_matched_subscription(self, partitions: Partitions) -> bool:
        """Whether all are of topics that match the pattern or, where there is none, that are subscribed.

        Raises:
            IllegalArgumentError: A pattern is in use, and Kafka could have no topic of such a name.
            UnsupportedPatternError: The pattern takes too many steps on a name.
        """
        topics = {topic for topic, _ in read_partitions(partitions, "check_assignment_matched_subscription")}
        if self._pattern is not None:
            return all(map(self._pattern.matches, topics))
        return topics <= self._topics

    def assignment_id(self) -> int:
        """How many times partitions were assigned or given up."""
        return self._assignment_id

    def set_assigned_topic_ids(self, topic_ids: Iterable[object]) -> None:
        """Say which topics the broker assigned, by id.

        Raises:
            WrongTypeError: No iterable of hashable ids.
        """
        wanted = "an iterable of hashable ids"
        if isinstance(topic_ids, (str, bytes, bytearray)):
            raise wrong_type("topic_ids", wanted, topic_ids)
        try:
            self._topic_ids = frozenset(topic_ids)
        except TypeError as error:
            raise wrong_type("topic_ids", wanted, topic_ids) from error

    def assigned_topic_ids(self) -> frozenset[object]:
        """The topics that the broker assigned, by id."""
        return self._topic_ids

    def is_assigned_from_re2j(self, topic_id: object) -> bool:
        """Whether the broker assigned the topic of this id because of its pattern."""
        return topic_id is not None and self.has_re2j_pattern_subscription() and topic_id in self._topic_ids

    # ---- what is in use

    @property
    def subscription_type(self) -> SubscriptionType:
        """Which of the types is in use."""
        return self._type

    @property
    def subscribed_pattern(self) -> TopicPattern | None:
        """The pattern that is matched here."""
        return self._pattern

    def subscription_pattern(self) -> SubscriptionPattern | None:
        """The pattern that the broker matches, if that is in use."""
        return self._re2j_pattern if self._type is _RE2J else None

    def has_pattern_subscription(self) -> bool:
        """Whether a pattern that is matched here is in use."""
        return self._type is _PATTERN

    def has_re2j_pattern_subscription(self) -> bool:
        """Whether a pattern that the broker matches is in use."""
        return self._type is _RE2J

    def has_no_subscription_or_user_assignment(self) -> bool:
        """Whether nothing is in use."""
        return self._type is _NONE

    def has_auto_assigned_partitions(self) -> bool:
        """Whether a group decides about the partitions."""
        return self._type in AUTO_TYPES

    def matches_subscribed_pattern(self, topic: str) -> bool:
        """Whether the pattern matches the name as its dialect says, where one that is matched here is in use.

        The consumer's own dialect is `java`: the whole name has to match.

        Raises:
            IllegalArgumentError: A pattern is in use, and Kafka could have no topic of that name.
            UnsupportedPatternError: The pattern takes too many steps on the name.
        """
        check_name(topic, "matches_subscribed_pattern: topic")
        return self._pattern is not None and self._pattern.matches(topic)

    def subscription(self) -> frozenset[str]:
        """The subscribed topics; none where the user assigns, though the class knows the topics then too."""
        return self._topics if self.has_auto_assigned_partitions() else frozenset()

    def metadata_topics(self) -> frozenset[str]:
        """The topics of which metadata are needed: one's own, those that the user assigned, those of the group."""
        return self._group_topics | self._topics

    def needs_metadata(self, topic: str) -> bool:
        """Whether it is among them."""
        return check_name(topic, "needs_metadata: topic") in self._topics or topic in self._group_topics

    def rebalance_listener(self) -> ConsumerRebalanceListener | None:
        """The listener that was given last; `unsubscribe` does not forget it."""
        return self._listener

    def pretty_string(self) -> str:
        """What is in use, in Kafka's words; topics in Java's order.

        Example:
            >>> from assignor import SubscriptionState
            >>> state = SubscriptionState("none")
            >>> state.assign_from_user([("b", 0), ("a", 1)])
            True
            >>> state.pretty_string()
            'Assign([a-1, b-0] , id=1)'
        """
        if self._type is _NONE:
            return "None"
        if self._type is _PATTERN:
            return f"Subscribe({self._pattern.pattern if self._pattern else None})"
        if self._type is _RE2J:
            return f"Subscribe({self._re2j_pattern})"
        if self._type is _USER_ASSIGNED:
            # Kafka shows a copy, a table that was made large enough at once.
            listed = hash_order(self._states, presized_capacity(len(self._states)))
            shown = ", ".join(f"{topic}-{partition}" for topic, partition in listed)
            return f"Assign([{shown}] , id={self._assignment_id})"
        topics = ",".join(sorted(self._topics, key=java_order))
        return f"Subscribe to Share Group({topics})" if self._type is _SHARE else f"Subscribe({topics})"

    # ---- what is to be fetched

    def is_fetchable(self, tp: TopicPartition) -> bool:
        """Whether something is to be fetched of it now.

        It has a valid position, is neither paused nor about to go nor unknown to the listener, and if topics are
        subscribed by name its own is among them.
        """
        state = self._state_or_none(tp)
        return state is not None and self._is_fetchable_and_subscribed(tp, state)

    def fetchable_partitions(self, predicate: Predicate | None = None) -> list[TopicPartition]:
        """Those of which something is to be fetched now and that pass, in order; in a share group all that pass."""
        return [tp for tp in self._fetchable() if predicate is None or predicate(tp)]

    def has_fetchable_partitions(self, predicate: Predicate | None = None) -> bool:
        """Whether there are any."""
        return any(predicate is None or predicate(tp) for tp in self._fetchable())

    def _fetchable(self) -> Iterable[TopicPartition]:
        if self._type is _SHARE:
            return self._states
        found = (tp for tp, state in self._states.items() if state.is_fetchable)
        return found if self._type is not _TOPICS else (tp for tp in found if tp.topic in self._topics)

    def _is_fetchable_and_subscribed(self, tp: TopicPartition, state: PartitionState) -> bool:
        return (self._type is not _TOPICS or tp[0] in self._topics) and state.is_fetchable

    # ---- what changes

    def _register(self, listener: ConsumerRebalanceListener | None, wanted: SubscriptionType) -> None:
        self._listener = read_listener(listener)  # before the type is looked at, as in Kafka
        self._set_type(wanted)

    def _set_type(self, wanted: SubscriptionType) -> None:
        if self._type not in (_NONE, wanted):
            raise IllegalStateError(_EXCLUSIVE)
        self._type = wanted

    def _change_subscription(self, topics: frozenset[str]) -> bool:
        if topics == self._topics:
            return False
        self._topics = topics
        return True
