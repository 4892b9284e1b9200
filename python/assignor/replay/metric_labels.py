"""Groups with a label of their own in metrics: a limited number, those that matter most."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

OTHERS = "other groups"
"""Label of all groups without a label of their own."""


class Weight(NamedTuple):
    """What decides whether a group gets a label.

    Attributes:
        group: Group id.
        is_problem: True if a condition of the group needs attention.
        members: Number of its members.
        lag: Its lag; 0 if it is not known.
    """

    group: str
    is_problem: bool
    members: int
    lag: int

    @property
    def tier(self) -> int:
        """Number of the tier of the group; labels go to the lowest tiers first."""
        return next(tier for tier, has in enumerate((self.is_problem, self.members, self.lag, True)) if has)


class GroupLabels:
    """Labels of groups.

    Groups with problems come first, then groups with members, then groups with lag. Among equals, a group keeps its
    label, so that its series do not end without need.

    Args:
        most: Highest number of groups with a label of their own.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.groups: set[str] = set()

    def choose(self, weights: Collection[Weight]) -> set[str]:
        """Choose the groups with a label among all groups, and return those that lose theirs."""
        order = sorted(weights, key=lambda each: (each.tier, each.group not in self.groups, -each.lag, each.group))
        chosen = {each.group for each in order[: self._most]}
        lost = self.groups - chosen
        self.groups = chosen
        return lost

    def of(self, group: str) -> str:
        """Return the label of a group. A new group gets a label of its own at once if one is free."""
        if group not in self.groups:
            if len(self.groups) >= self._most:
                return OTHERS
            self.groups.add(group)
        return group
