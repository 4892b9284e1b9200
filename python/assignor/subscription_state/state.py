"""The consumer's subscription state: today's class, and the older design's view on the same object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.matching.topic_names import INTERNAL_TOPICS
from assignor.subscription_state.position import OffsetAndMetadata
from assignor.subscription_state.subscribed import Subscribed
from assignor.subscription_state.subscribing import SubscriptionType
from assignor.validation import read_names, wrong_type

if TYPE_CHECKING:
    from assignor.model import TopicPartition
    from assignor.subscription_state.positions import Strategy
    from assignor.subscription_state.subscribed import Partitions, Topics


class SubscriptionState(Subscribed):
    """What a consumer subscribes to, what it is assigned, and where it stands in each partition.

    Equal to Kafka's class of that name (org.apache.kafka.clients.consumer.internals.SubscriptionState, kafka-clients
    4.4.0), operation by operation, errors included; its methods have Kafka's names in snake case. Java's overloads are
    one method here, its empty Optional is None, and what would have been a clock, a supplier or a cluster is an
    argument. Collections are copied when they are given and when they are returned; Kafka's class keeps the very set
    that it was given. Where a call fails it changes nothing, but for what its description says.

    `needs_partition_assignment` and what follows it is the view of the design of Kafka 0.9 and 0.10 on the same object.
    It adds flags and names and changes no answer of the rest; `docs/decisions.md` lists where the old rules differ.

    There are no locks inside. Kafka's class is synchronized since a heartbeat thread looks at it; to share this one
    between threads, hold one lock of your own around each call, and around calls that belong together. In an event
    loop no lock is needed, as no method awaits anything. Predicates and suppliers are called in the middle of a
    method, and so must not call methods that change this object.

    Args:
        default_reset_strategy: What to do about a partition that has no offset: an `AutoOffsetResetStrategy` or what
            the setting `auto.offset.reset` says (`"latest"`, `"earliest"`, `"none"`, `"by_duration:PT1H"`). None is
            what null is to Kafka: a strategy that is not none.

    Raises:
        IllegalArgumentError: No strategy has that name.

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
        super().__init__(default_reset_strategy)
        self._needs_partition_assignment = False
        self._needs_fetch_committed_offsets = True
        # The partitions whose committed offsets have arrived since they were asked for.
        self._arrived: set[TopicPartition] = set()

    def __repr__(self) -> str:
        return f"<SubscriptionState {self.pretty_string()}>"

    # ---- the older design: whether partitions have to be assigned anew

    @property
    def needs_partition_assignment(self) -> bool:
        """Whether the group has to assign partitions.

        It has to when the subscribed topics changed, after `need_reassignment` and after `unsubscribe`, until
        partitions are assigned, by the group or by the user.
        """
        return self._needs_partition_assignment

    def need_reassignment(self) -> None:
        """Ask for an assignment; of the group's topics only one's own are left."""
        self._group_topics &= self._topics
        self._needs_partition_assignment = True

    def assign_from_user(self, partitions: Partitions) -> bool:
        """Assign what the user picked, as `Subscribed.assign_from_user` says; no assignment is needed any more."""
        changed = super().assign_from_user(partitions)
        self._arrived &= self._states.keys()
        self._needs_partition_assignment = False
        return changed

    def assign_from_subscribed(self, partitions: Partitions) -> None:
        """Assign what the group decided, as `Subscribed.assign_from_subscribed` says; no other is needed any more."""
        super().assign_from_subscribed(partitions)
        self._arrived &= self._states.keys()
        self._needs_partition_assignment = False

    def unsubscribe(self) -> None:
        """Forget subscription and assignment; the listener stays."""
        super().unsubscribe()
        self._arrived.clear()
        self._needs_partition_assignment = True

    def _change_subscription(self, topics: frozenset[str]) -> bool:
        changed = super()._change_subscription(topics)
        self._needs_partition_assignment |= changed
        return changed

    # ---- the older design: topics

    @property
    def group_subscription(self) -> frozenset[str]:
        """The topics of the group as far as this member knows them: its own and what `group_subscribe` added."""
        return self.metadata_topics()

    @property
    def user_assignment(self) -> frozenset[TopicPartition]:
        """What the user assigned; nothing where a group decides."""
        return frozenset(self._states) if self._type is SubscriptionType.USER_ASSIGNED else frozenset()

    def update_from_metadata(self, topic_names: Topics, *, include_internal: bool = False) -> bool:
        """Subscribe to those topics of the cluster that the pattern matches, as Metadata.Listener did.

        Args:
            topic_names: All topics of the cluster.
            include_internal: Whether topics that the broker keeps for itself are matched too; consumers leave them out
                by default (`exclude.internal.topics`).

        Returns:
            Whether the subscribed topics changed; never where no pattern is in use.

        Raises:
            IllegalArgumentError: A name that Kafka could not have.
        """
        names = read_names(topic_names, "update_from_metadata")
        if not self.has_pattern_subscription():
            return False
        visible = names if include_internal else [name for name in names if name not in INTERNAL_TOPICS]
        return self.subscribe_from_pattern(filter(self.matches_subscribed_pattern, visible))

    # ---- the older design: committed offsets

    @property
    def needs_fetch_committed_offsets(self) -> bool:
        """Whether committed offsets have to be fetched: at first, and after `need_refresh_commits`."""
        return self._needs_fetch_committed_offsets

    def need_refresh_commits(self) -> None:
        """Ask for committed offsets, as after a rebalance or an asynchronous commit."""
        self._needs_fetch_committed_offsets = True
        self._arrived.clear()

    def commits_refreshed(self) -> None:
        """Say that the committed offsets have arrived, of all partitions that have any."""
        self._needs_fetch_committed_offsets = False
        self._arrived.clear()

    def committed(self, tp: TopicPartition) -> OffsetAndMetadata | None:
        """The committed offset that was noted last.

        Raises:
            IllegalStateError: It is not assigned.
        """
        return self._state(tp).committed

    def set_committed(self, tp: TopicPartition, committed: OffsetAndMetadata | None) -> None:
        """Note a committed offset; today's class does not look at it.

        Once that was done for every assigned partition, none has to be fetched any more.

        Raises:
            IllegalStateError: It is not assigned.
        """
        if committed is not None and not isinstance(committed, OffsetAndMetadata):
            raise wrong_type("a committed offset", "an OffsetAndMetadata", committed)
        self._state(tp).committed = committed
        self._arrived.add(tp)
        if len(self._arrived) == len(self._states):  # all of them are assigned
            self.commits_refreshed()
