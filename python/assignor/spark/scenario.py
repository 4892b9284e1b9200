"""Scenarios: what could happen to groups, as steps one after another, for `Fleet.what_if`.

A scenario is plain data; nothing here needs Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from assignor._core import plan
from assignor.errors import IllegalArgumentError
from assignor.validation import check_name, shown, wrong_type

__all__ = ["Scenario"]

_MOST_PARTITIONS = 10_000_000
"""The engine plans no topic of more, which is more than the largest clusters have in all."""

_MOST_MEMBERS = 100_000
"""More members at once than any group has: a number that large is a slip."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Steps that change groups, each followed by the rebalances that it brings; every method gives a longer scenario.

    Attributes:
        name: What its rows are called; each scenario of one `what_if` needs a name of its own.
        groups: Ids of the groups that it is about, in whatever cluster; None is all. Other groups have no row for it.
        steps: The steps as tuples, which the methods make.

    Raises:
        WrongTypeError, IllegalArgumentError: An argument that cannot be meant.

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

    def __post_init__(self) -> None:
        check_name(self.name, "the name of a scenario")
        if self.groups is not None:
            groups = _names(self.groups, "groups")
            object.__setattr__(self, "groups", frozenset(groups))

    def add_members(self, count: int) -> Scenario:
        """So many members come, all at once.

        They subscribe as most members of the group do, are on the rack of the last such member in Kafka's order, and
        are static if it is. Their ids begin as that member's does, and end as if drawn at random, the same every time.
        """
        return self._then("add_members", _count(count, "add_members: count", _MOST_MEMBERS))

    def remove_members(self, count: int) -> Scenario:
        """So many members leave, all at once: the last ones in Kafka's order."""
        return self._then("remove_members", _count(count, "remove_members: count", _MOST_MEMBERS))

    def multiply_partitions(self, factor: int) -> Scenario:
        """Every topic has so many times the partitions; new ones are placed on racks as the first ones are, in turn."""
        return self._then("multiply_partitions", _count(factor, "multiply_partitions: factor", 1000, least=1))

    def grow_partitions(self, partitions: Mapping[str, int]) -> Scenario:
        """Topics have so many partitions; one that does not exist, or has as many already, stays as it is."""
        if not isinstance(partitions, Mapping):
            raise wrong_type("grow_partitions: partitions", "a mapping of topics to counts", partitions)
        found = self
        for topic, count in partitions.items():
            name = check_name(topic, "a topic")
            count = _count(count, f"grow_partitions: topic '{name}'", _MOST_PARTITIONS)
            found = found._then("grow_partitions", name, count)
        return found

    def set_racks(self, racks: Iterable[str]) -> Scenario:
        """The members are on these racks, in Kafka's order in turn: the first on the first rack, and so on."""
        found = _names(racks, "racks")
        if not found:
            raise IllegalArgumentError("set_racks: racks must name a rack")
        return self._then("set_racks", found)

    def add_topic(self, topic: str, partitions: int) -> Scenario:
        """There is a topic more, and members subscribe to it, but for those whose pattern does not match it."""
        name = check_name(topic, "a topic")
        return self._then("add_topic", name, _count(partitions, f"add_topic: topic '{name}'", _MOST_PARTITIONS))

    def make_static(self) -> Scenario:
        """Every dynamic member gets an instance id: its member id, so that order stays."""
        return self._then("make_static")

    def rolling_restart(self, *, instance_ids: bool | None = None) -> Scenario:
        """Every member restarts, one after another in Kafka's order.

        With an instance id it is back before its session ends: no rebalance. Without, it leaves, which is a rebalance,
        and joins under another id, which is one more.

        Args:
            instance_ids: None takes each member as it is; True has all stay as with an instance id, False has all
                leave as without one. The order of members is by the instance ids that they have in either case.
        """
        if instance_ids is not None and not isinstance(instance_ids, bool):
            raise wrong_type("rolling_restart: instance_ids", "a bool or None", instance_ids)
        return self._then("rolling_restart", instance_ids)

    def use(self, assignor: str | None = None, group_protocol: str = "classic") -> Scenario:
        """Switch the group to another assignor or protocol; it rebalances, and later steps use the new assignor.

        The assignor starts from what the members own, as Kafka's does when the members switch one after another or a
        classic group becomes a group of the consumer protocol (KIP-848). A group that already uses this assignor does
        not change. A group whose own assignor is not Kafka's is computed from this step on.

        Args:
            assignor: Kafka's name of the assignor; None means the default of the protocol.
            group_protocol: `"classic"` or `"consumer"`.

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
    """Scenarios as the engines take them.

    Raises:
        WrongTypeError: Something else than scenarios.
        IllegalArgumentError: None at all, or two of one name.
    """
    if isinstance(scenarios, Scenario):
        scenarios = [scenarios]
    if not isinstance(scenarios, Iterable):
        raise wrong_type("scenarios", "an iterable of Scenario", scenarios)
    found: dict[str, tuple[str, list[str] | None, list[tuple[Any, ...]]]] = {}
    for scenario in scenarios:
        if not isinstance(scenario, Scenario):
            raise wrong_type("a scenario", "a Scenario", scenario)
        if scenario.name in found:
            raise IllegalArgumentError(f"two scenarios have the name {shown(scenario.name)}")
        groups = None if scenario.groups is None else sorted(scenario.groups)
        found[scenario.name] = (scenario.name, groups, list(scenario.steps))
    if not found:
        raise IllegalArgumentError("scenarios must hold a Scenario")
    return list(found.values())


def _count(value: object, what: str, most: int, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(what, "an int", value)
    if not least <= value <= most:
        raise IllegalArgumentError(f"{what} must be from {least} to {most}, not {value}")
    return int(value)


def _names(given: object, what: str) -> tuple[str, ...]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise wrong_type(what, "an iterable of names", given)
    return tuple(check_name(name, f"a name in {what}") for name in given)
