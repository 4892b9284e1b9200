"""What-if scenarios: steps that change a group, each followed by the rebalances that it causes."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from assignor.errors import IllegalArgumentError
from assignor.ordering import java_order
from assignor.reference.assign import ASSIGNORS
from assignor.reference.fleet.assignor import Assignor
from assignor.reference.fleet.cluster import MAX_PARTITIONS, matches
from assignor.reference.fleet.rebalance import owned_by, rebalance, starting_plan
from assignor.reference.fleet.roster import Plan, kafka_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.reference.fleet.cluster import Cluster
    from assignor.reference.fleet.reading import Group
    from assignor.reference.fleet.roster import RosterMember

Step = tuple[Any, ...]
"""Name of a step and its arguments."""


class SimulatedGroup:
    """Group during a scenario.

    Attributes:
        plan: The current assignment.
        rebalances: The number of rebalances so far.
        moved: The number of moves of partitions between members, over all rebalances.
        assignor: The assignor of the group; None if the group cannot be computed.
    """

    def __init__(self, group: Group) -> None:
        self.group_id = group.group_id
        self.cluster = group.cluster
        self.assignor = group.assignor
        self.plan = starting_plan(group.roster, group.cluster, group.assignor, group.owned)
        # After a rebalance of the scenario all members have the same generation.
        self.roster = [member._replace(generation=None) for member in group.roster]
        self.rebalances = 0
        self.moved = 0
        self._made = 0
        self._has_unknown_rebalance = False

    @property
    def is_computed(self) -> bool:
        """True if the group and each of its rebalances could be computed."""
        return self.assignor is not None and not self._has_unknown_rebalance

    def apply(self, step: Step) -> None:
        """Apply a step; it does not change a group without members.

        Raises:
            IllegalArgumentError: A subscribed topic would have more than `MAX_PARTITIONS` partitions.
        """
        kind, *arguments = step
        if self.roster:
            STEPS[kind](self, *arguments)

    def add_members(self, count: int) -> None:
        """Add members with the most frequent subscription: copies of the last such member in Kafka's order."""
        of_topics = Counter(member.topics for member in self.roster)
        most = max(of_topics.values())
        *_, like = [member for member in kafka_order(self.roster) if of_topics[member.topics] == most]
        for _ in range(count):
            id = self._another_id(like.id)
            self.roster.append(like._replace(id=id, instance_id=None if like.instance_id is None else id))
        if count:
            self._rebalance()

    def remove_members(self, count: int) -> None:
        """Remove the last members in Kafka's order."""
        ordered = kafka_order(self.roster)
        stay = {member.id for member in ordered[: max(len(ordered) - count, 0)]}
        self.roster = [member for member in self.roster if member.id in stay]
        if count:
            self._rebalance()

    def multiply_partitions(self, factor: int) -> None:
        """Multiply the number of partitions of each topic; 0 and 1 change nothing."""
        self._change_topics(self.cluster.multiplied(factor))

    def grow_partitions(self, topic: str, count: int) -> None:
        """Increase the number of partitions of a topic; a topic that has more does not change."""
        self._change_topics(self.cluster.with_partitions(topic, count))

    def set_racks(self, racks: list[str]) -> None:
        """Put the members on racks in turn, in Kafka's order."""
        if racks:
            on = dict(zip((member.id for member in kafka_order(self.roster)), itertools.cycle(racks), strict=False))
            self._change_each(lambda member: member._replace(rack=on[member.id]))
            self._rebalance()

    def add_topic(self, topic: str, count: int) -> None:
        """Add a topic that all members subscribe to, except those with a pattern that does not match it."""

        def subscribed(member: RosterMember) -> RosterMember:
            wanted = member.pattern is None or matches(member.pattern, topic)
            return member._replace(topics=member.topics | {topic}, is_subscribed=True) if wanted else member

        before = self.roster
        self._change_each(subscribed)
        self._change_topics(self.cluster.with_topic(topic, count), subscriptions_changed=before != self.roster)

    def make_static(self) -> None:
        """Give each dynamic member an instance id, which equals its member id."""
        if any(member.instance_id is None for member in self.roster):
            self._change_each(lambda m: m if m.instance_id is not None else m._replace(instance_id=m.id))
            self._rebalance()

    def rolling_restart(self, instance_ids: bool | None = None) -> None:
        """Restart each member, in Kafka's order.

        A dynamic member leaves and joins again with another id. The restart of a static member changes nothing.
        If `instance_ids` is not None, all members count as static (True) or dynamic (False).
        """
        for member in kafka_order(self.roster):
            if member.instance_id is not None if instance_ids is None else instance_ids:
                continue
            place = self.roster.index(member)
            del self.roster[place]
            self._rebalance()
            self.roster.insert(place, member._replace(id=self._another_id(member.id)))
            self._rebalance()

    def use(self, assignor: str, group_protocol: str) -> None:
        """Switch the group to another assignor, and rebalance."""
        before, self.assignor = self.assignor, Assignor(group_protocol, assignor)
        if before != self.assignor:
            self._rebalance()

    def _another_id(self, id: str) -> str:
        self._made += 1
        return another_id(self.group_id, id, self._made)

    def _change_each(self, change: Callable[[RosterMember], RosterMember]) -> None:
        self.roster = [change(member) for member in self.roster]

    def _change_topics(self, cluster: Cluster, *, subscriptions_changed: bool = False) -> None:
        """Change the cluster; rebalance if it changes the group's topics."""
        self.cluster = cluster
        wanted = frozenset[str]().union(*(member.topics for member in self.roster))
        counts = {topic: cluster.topics[topic].count for topic in wanted & cluster.topics.keys()}
        before = {topic: found.count for topic, found in self.plan.topics.items()}
        for topic, count in sorted(counts.items(), key=lambda entry: java_order(entry[0])):
            if count > MAX_PARTITIONS and count != before.get(topic):
                reason = f"topic '{topic}' would have {count} partitions; the limit is {MAX_PARTITIONS}"
                raise IllegalArgumentError(reason)
        if subscriptions_changed or counts != before:
            self._rebalance()

    def _rebalance(self) -> None:
        """Rebalance the group.

        A partition that moves through two cooperative rebalances (revoked, then assigned) counts as one move.
        """
        if self.assignor is None:
            self._has_unknown_rebalance = True
            self.plan = Plan.from_owned(self.roster, self.cluster, owned_by(self.plan))
            return
        later, rebalances = rebalance(self.roster, self.cluster, self.assignor, self.plan)
        self.rebalances += rebalances
        self.moved += self.plan.moved(later)
        self.plan = later


STEPS: dict[str, Callable[..., None]] = {
    "add_members": SimulatedGroup.add_members,
    "remove_members": SimulatedGroup.remove_members,
    "multiply_partitions": SimulatedGroup.multiply_partitions,
    "grow_partitions": SimulatedGroup.grow_partitions,
    "set_racks": SimulatedGroup.set_racks,
    "add_topic": SimulatedGroup.add_topic,
    "make_static": SimulatedGroup.make_static,
    "rolling_restart": SimulatedGroup.rolling_restart,
    "use": SimulatedGroup.use,
}


def check_step(step: Step) -> None:
    """Check the name and the arguments of a step.

    Raises:
        IllegalArgumentError: The step is unknown, or the group protocol has no such assignor.
    """
    kind, *arguments = step
    if kind not in STEPS:
        raise IllegalArgumentError(f"a scenario has no step '{kind}'")
    if kind == "use":
        assignor, group_protocol = arguments
        if (group_protocol, assignor) not in ASSIGNORS:
            raise IllegalArgumentError(f"group_protocol '{group_protocol}' has no assignor '{assignor}'")


def another_id(group_id: str, id: str, number: int) -> str:
    """Return a new member id made from another member id: the same prefix with another UUID.

    The prefix is the id without its trailing UUID, if it has one. `number` makes the ids of a scenario distinct.

    Example:
        >>> another_id("g", "app-8c9f0b1e-6f0e-4e5c-9d0a-3b8f6f7f2a11", 1) == another_id("g", "app", 1)
        False
        >>> another_id("g", "app", 1)[:4]
        'app-'
    """
    seed = f"{group_id}\0{id}\0{number}".encode()
    high = fnv(0xCBF2_9CE4_8422_2325, seed)
    low = fnv(high, seed)
    beginning = UUID.sub("", id) if UUID.search(id) else f"{id}-"
    return (
        f"{beginning}{high >> 32:08x}-{high >> 16 & 0xFFFF:04x}-4{high & 0xFFF:03x}"
        f"-{low >> 48 & 0x3FFF | 0x8000:04x}-{low & 0xFFFF_FFFF_FFFF:012x}"
    )


UUID = re.compile(r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")


def fnv(state: int, data: bytes) -> int:
    """Continue the 64-bit FNV-1a hash of a state with data."""
    for byte in data:
        state = (state ^ byte) * 0x0100_0000_01B3 % 2**64
    return state
