"""Scenarios for `Fleet.what_if`: sequences of changes to groups.

A scenario is plain data; this module does not need Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from assignor._core import plan
from assignor.errors import IllegalArgumentError
from assignor.validation import check_name, read_entries, read_items, shown, wrong_type

if TYPE_CHECKING:
    from assignor.names import AssignorName, GroupProtocol

__all__ = ["Scenario"]

_MOST_PARTITIONS = 10_000_000
"""Largest partition count of a topic in a scenario; the engine has the same limit."""

_MOST_MEMBERS = 100_000
"""Largest number of members that a step adds or removes; larger numbers are probably mistakes."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Sequence of steps that change groups. Each step is followed by the rebalances that it causes.

    Each method returns a new scenario with one more step.

    Attributes:
        name: Name of the scenario in the result; unique within a call of `what_if`.
        groups: Ids of the groups that the scenario changes, in all clusters; None for all groups. Other groups have no
            rows in the result. A group that does not exist has a row without a cluster that says so.
        steps: The steps as tuples. Use the methods to add steps.

    Raises:
        WrongTypeError, IllegalArgumentError: Invalid argument.

    Example:
        >>> from assignor.spark import Scenario
        >>> two_more = Scenario("two more, then twice the partitions").add_members(2).multiply_partitions(2)
        >>> two_more.steps
        (('add_members', 2), ('multiply_partitions', 2))
        >>> Scenario("none left").remove_members(-1)
        Traceback (most recent call last):
        assignor.errors.IllegalArgumentError: remove_members: count must be from 0 to 100000, not -1
    """

    name: str
    groups: frozenset[str] | None = None
    steps: tuple[tuple[Any, ...], ...] = field(default=())

    if TYPE_CHECKING:  # the constructor takes any iterable of names

        def __init__(
            self, name: str, groups: Iterable[str] | None = None, steps: tuple[tuple[Any, ...], ...] = ()
        ) -> None: ...

    def __post_init__(self) -> None:
        check_name(self.name, "the name of a scenario")
        if self.groups is not None:
            groups = _names(self.groups, "groups")
            object.__setattr__(self, "groups", frozenset(groups))
        if not isinstance(self.steps, tuple) or not all(isinstance(step, tuple) for step in self.steps):
            raise wrong_type("steps", "a tuple of the tuples that the methods add", self.steps)

    def add_members(self, count: int) -> Scenario:
        """Add `count` members at the same time.

        They have the most common subscription of the group. They have the rack of the last member with this
        subscription in Kafka's order, and are static if that member is. Their ids have the same prefix as its id and a
        pseudo-random suffix, which is the same in each run.
        """
        return self._then("add_members", _count(count, "add_members: count", _MOST_MEMBERS))

    def remove_members(self, count: int) -> Scenario:
        """Remove the last `count` members in Kafka's order, at the same time."""
        return self._then("remove_members", _count(count, "remove_members: count", _MOST_MEMBERS))

    def multiply_partitions(self, factor: int) -> Scenario:
        """Multiply the partitions of every topic by `factor`; new partitions repeat the racks of the existing ones."""
        return self._then("multiply_partitions", _count(factor, "multiply_partitions: factor", 1000, least=1))

    def grow_partitions(self, partitions: Mapping[str, int]) -> Scenario:
        """Grow topics to the given partition counts.

        A topic that does not exist in a cluster, or has more partitions, does not change; `problems` of the outcome
        says so.
        """
        if not isinstance(partitions, Mapping):
            raise wrong_type("grow_partitions: partitions", "a mapping of topics to counts", partitions)
        found = self
        for topic, count in read_items(partitions, "grow_partitions: partitions"):
            name = check_name(topic, "a topic")
            count = _count(count, f"grow_partitions: topic '{name}'", _MOST_PARTITIONS)
            found = found._then("grow_partitions", name, count)
        return found

    def set_racks(self, racks: Iterable[str]) -> Scenario:
        """Place the members on these racks in turn: the first member in Kafka's order on the first rack, and so on."""
        found = _names(racks, "racks")
        if not found:
            raise IllegalArgumentError("set_racks: racks must contain at least one rack")
        return self._then("set_racks", found)

    def add_topic(self, topic: str, partitions: int) -> Scenario:
        """Add a topic. All members subscribe to it, except those with a pattern that does not match it.

        A topic that exists keeps its partitions; `problems` of the outcome says so if their number differs.
        """
        name = check_name(topic, "a topic")
        return self._then("add_topic", name, _count(partitions, f"add_topic: topic '{name}'", _MOST_PARTITIONS))

    def make_static(self) -> Scenario:
        """Make every dynamic member static. Its instance id is its member id, which keeps the order of members."""
        return self._then("make_static")

    def rolling_restart(self, *, instance_ids: bool | None = None) -> Scenario:
        """Restart every member, one after another in Kafka's order.

        A static member is back before its session expires, without a rebalance. A dynamic member leaves and joins with
        a new member id: two rebalances.

        Args:
            instance_ids: True restarts all members as static members, False as dynamic members, None each as it is.
                Members are ordered by their actual instance ids in all cases.
        """
        if instance_ids is not None and not isinstance(instance_ids, bool):
            raise wrong_type("rolling_restart: instance_ids", "a bool or None", instance_ids)
        return self._then("rolling_restart", instance_ids)

    def use(self, assignor: AssignorName | None = None, group_protocol: GroupProtocol = "classic") -> Scenario:
        """Switch the group to another assignor or protocol; it rebalances, and later steps use the new assignor.

        The assignor starts from the partitions that the members own. Kafka's assignors do the same when the members
        switch one after another, or when a classic group becomes a group of the consumer protocol (KIP-848). A group
        that already uses this assignor does not change. A group whose own assignor is not Kafka's is computed from this
        step on.

        A switch to another protocol can change what the patterns of members mean. From `classic` to `consumer`:

        * `librdkafka`: the client sends its names, and its patterns joined by `|`, to the broker, which matches whole
          names by RE2/J. If the broker rejects the pattern, the member gets no partitions.
        * `java`: the client matches a `java.util.regex.Pattern` in both protocols. Nothing changes.
        * `python`: kafka-python and aiokafka do not support the protocol. The topics are assumed to stay the same.

        Members of share groups subscribe to names only. The topics of members with patterns are assumed to stay the
        same.

        The column `pattern_changes` of `Fleet.what_if` has the topics that members gain and lose, and the problems.

        Args:
            assignor: Kafka's name of the assignor; None means the default of the protocol.
            group_protocol: `"classic"`, `"consumer"` or `"share"`.

        Raises:
            WrongTypeError, IllegalArgumentError: Unknown protocol, or unknown assignor of that protocol.

        Example:
            >>> from assignor.spark import Scenario
            >>> Scenario("KIP-848, one joins").use(group_protocol="consumer").add_members(1).steps
            (('use', 'uniform', 'consumer'), ('add_members', 1))
        """
        checked = plan({}, {}, assignor=assignor, group_protocol=group_protocol)
        return self._then("use", checked.assignor, checked.group_protocol)

    def _then(self, *step: Any) -> Scenario:
        return replace(self, steps=(*self.steps, step))


def as_data(scenarios: Scenario | Iterable[Scenario]) -> list[tuple[str, list[str] | None, list[tuple[Any, ...]]]]:
    """Return scenarios as plain data for the engines.

    Raises:
        WrongTypeError: `scenarios` is not a Scenario or an iterable of them.
        IllegalArgumentError: There are no scenarios, or two have the same name.
    """
    if isinstance(scenarios, Scenario):
        scenarios = [scenarios]
    found: dict[str, tuple[str, list[str] | None, list[tuple[Any, ...]]]] = {}
    for scenario in read_entries(scenarios, "scenarios", "an iterable of Scenario"):
        if not isinstance(scenario, Scenario):
            raise wrong_type("a scenario", "a Scenario", scenario)
        if scenario.name in found:
            raise IllegalArgumentError(f"two scenarios have the name {shown(scenario.name)}; names must be unique")
        groups = None if scenario.groups is None else sorted(scenario.groups)
        found[scenario.name] = (scenario.name, groups, list(scenario.steps))
    if not found:
        raise IllegalArgumentError("scenarios must contain at least one Scenario")
    return list(found.values())


def _count(value: object, what: str, most: int, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(what, "an int", value)
    if not least <= value <= most:
        raise IllegalArgumentError(f"{what} must be from {least} to {most}, not {shown(value)}")
    return int(value)


def _names(given: object, what: str) -> tuple[str, ...]:
    entries = read_entries(given, what, "an iterable of names")
    return tuple(check_name(name, f"a name in {what}") for name in entries)
