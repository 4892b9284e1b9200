"""`scale`: what a group is like with 1, 2, 3, ... members, and which of these numbers are good.

The engine computes each number of members with the assignor, the topics and the subscriptions of the group. The rows
answer "Which replica counts are good?" for a deployment or an autoscaler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor import _core
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.lines import format_count, format_topic_id
from assignor.single_group import cluster_column, group_column
from assignor.validation import check_name, read_index, shown, wrong_type

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from assignor.model import PartitionInfo, Subscription
    from assignor.names import AssignorName, GroupProtocol
    from assignor.weights import Weights

__all__ = ["MAX_MEMBERS", "ScaledGroup", "Scaling", "read_max_members", "scale"]

MAX_MEMBERS = 100_000
"""Largest number of members that `scale` computes; larger numbers are probably mistakes."""

_OF_WEIGHTS = (
    "is_good_by_weight",
    "unweighted",
    "least_weight",
    "most_weight",
    "mean_weight",
    "weight_bound",
    "packed_weight",
)


class ScaledGroup(NamedTuple):
    """A group with a number of members, after its next rebalance. A value that is not known is None.

    Attributes:
        members: Number of members.
        is_today: True for the number of members that the group has today.
        is_good: True if no member is idle, the loads of any two members differ by at most one partition, and every
            partition has an owner.
        is_good_by_weight: The same with weights: the weights of any two members differ by at most the weight of the
            heaviest partition, which no assignment can divide.
        idle_members: Number of members without partitions.
        least_loaded: Lowest number of partitions of a member.
        most_loaded: Highest number of partitions of a member.
        mean_load: Average number of partitions per member.
        moved: Number of partitions that have another owner than today.
        unowned: Number of partitions without an owner, of the topics that members subscribe to today.
        rack_misses: Number of partitions without a replica on the rack of their owner.
        unweighted: Number of partitions without a weight. If there are any, the fields that follow are None.
        least_weight: Lowest weight of a member.
        most_weight: Highest weight of a member.
        mean_weight: Average weight per member.
        weight_bound: Lower bound of `most_weight` for every assignment, see `assignor.WeightedBalance`.
        packed_weight: Highest weight of a member after longest-processing-time packing, see
            `assignor.WeightedBalance`.
    """

    members: int
    is_today: bool
    is_good: bool | None = None
    is_good_by_weight: bool | None = None
    idle_members: int | None = None
    least_loaded: int | None = None
    most_loaded: int | None = None
    mean_load: float | None = None
    moved: int | None = None
    unowned: int | None = None
    rack_misses: int | None = None
    unweighted: int | None = None
    least_weight: float | None = None
    most_weight: float | None = None
    mean_weight: float | None = None
    weight_bound: float | None = None
    packed_weight: float | None = None


@dataclass(frozen=True, slots=True)
class Scaling:
    """A group by its number of members.

    Attributes:
        group: Name of the group; `""` if it has none.
        members: Number of members today.
        assignor: Kafka's name of the assignor.
        group_protocol: Protocol of the assignor.
        has_weights: True if weights were given.
        counts: The group with 1, 2, 3, ... members.
        problem: Why there are no counts; None if there are.
    """

    group: str
    members: int
    assignor: str | None
    group_protocol: str | None
    has_weights: bool
    counts: tuple[ScaledGroup, ...]
    problem: str | None = None

    @property
    def good(self) -> tuple[int, ...]:
        """The good numbers of members, by number of partitions."""
        return tuple(each.members for each in self.counts if each.is_good)

    @property
    def good_by_weight(self) -> tuple[int, ...] | None:
        """The good numbers of members by weight; None if the weight of a partition is not known."""
        if not self.has_weights or any(each.is_good_by_weight is None for each in self.counts):
            return None
        return tuple(each.members for each in self.counts if each.is_good_by_weight)

    @property
    def today(self) -> ScaledGroup | None:
        """The group with its members of today; None if `counts` ends before."""
        return next((each for each in self.counts if each.is_today), None)

    @property
    def weights_problem(self) -> str | None:
        """Why a value by weight is None; None if none is, or if no weights were given."""
        if not self.has_weights or self.good_by_weight is not None:
            return None
        if self.group_protocol == "share":
            return "members of a share group share the records of a partition"
        missing = max(each.unweighted or 0 for each in self.counts)
        return f"{format_count(missing, 'partition')} without a known weight"

    def to_json(self) -> dict[str, Any]:
        """Return the object that `assignor scale --json` prints; the keys of weights only if weights were given."""
        left_out = () if self.has_weights else _OF_WEIGHTS
        counts = [
            {name: value for name, value in each._asdict().items() if name not in left_out} for each in self.counts
        ]
        found = {**asdict(self), "good": list(self.good), "counts": counts}
        if self.has_weights:
            by_weight = self.good_by_weight
            found["good_by_weight"] = None if by_weight is None else list(by_weight)
            found["weights_problem"] = self.weights_problem
        return found


def scale(
    partitions_per_topic: Mapping[str, int | Iterable[int | PartitionInfo]],
    subscriptions: Mapping[str, Subscription | Iterable[str]],
    *,
    max_members: int | None = None,
    assignor: AssignorName | None = None,
    group_protocol: GroupProtocol = "classic",
    topic_ids: Mapping[str, UUID | bytes | str] | None = None,
    assignment: Mapping[str, Iterable[tuple[str, int]]] | None = None,
    weights: Weights | None = None,
    group: str = "",
) -> Scaling:
    """Compute a group with 1, 2, 3, ... members.

    Members leave and join as in the scenarios of `what-if`: those that leave are the last ones in Kafka's order; those
    that join have the most common subscription of the group, and ids that are made up. The ids decide with `range` and
    `roundrobin` which partitions move, but no load. Each number of members is computed on its own: from today's
    assignment to the next rebalance, and with `cooperative-sticky` to the one that follows it.

    Args:
        partitions_per_topic: As for `assignor.plan`, as a mapping. The ids of a topic must be 0 to n-1.
        subscriptions: As for `assignor.plan`, as a mapping.
        max_members: Largest number of members; the number of today by default.
        assignor: As for `assignor.plan`.
        group_protocol: As for `assignor.plan`.
        topic_ids: As for `assignor.plan`.
        assignment: The partitions of each member today. By default the owned partitions of the subscriptions and, if
            there are none, the assignment that the assignor computes for the members of today.
        weights: Weight of each partition, such as its records per second, in a form of `assignor.weights`. A partition
            without a weight makes all values by weight None.
        group: Name of the group, which decides the ids of new members.

    Returns:
        The group by its number of members, in ascending order. A group without members has no counts.

    Raises:
        WrongTypeError, IllegalArgumentError: Invalid input, as for `assignor.plan`, or invalid weights, or a
            `max_members` that is no int from 1 to `MAX_MEMBERS`.
        MissingDependencyError: pyarrow is not installed.

    Example:
        >>> from assignor.scaling import scale
        >>> found = scale({"orders": 6, "refunds": 6}, {"a": ["orders", "refunds"]}, max_members=7)
        >>> found.good
        (1, 2, 3, 6)
        >>> [(each.members, each.least_loaded, each.most_loaded) for each in found.counts[3:]]
        [(4, 2, 4), (5, 2, 4), (6, 2, 2), (7, 0, 2)]
        >>> scale({"t": 6}, {"a": ["t"]}, max_members=0)
        Traceback (most recent call last):
        assignor.errors.IllegalArgumentError: max_members must be from 1 to 100000, got 0
    """
    check_name(group, "group")
    for what, given in (("partitions_per_topic", partitions_per_topic), ("subscriptions", subscriptions)):
        if not isinstance(given, Mapping):
            raise wrong_type(what, "a mapping", given)
    if max_members is not None:
        max_members = read_max_members(max_members)
    planned = _core.plan(
        partitions_per_topic, subscriptions, assignor=assignor, group_protocol=group_protocol, topic_ids=topic_ids
    )
    ids = None
    if topic_ids is not None:
        ids = {topic: id if isinstance(id, str) else format_topic_id(id) for topic, id in topic_ids.items()}
    clusters = cluster_column(partitions_per_topic, topic_ids=ids, weights=weights)
    groups = group_column(
        subscriptions,
        assignor=planned.assignor,
        group_protocol=planned.group_protocol,
        group_id=group,
        assignment=assignment,
    )
    (column,) = _core.Clusters(clusters).scale(groups, max_members)
    counts = tuple(ScaledGroup(**row) for row in pa.array(column).to_pylist()[0])
    problem = None if counts else "the group has no members, so its subscriptions are not known"
    return Scaling(group, len(planned), planned.assignor, planned.group_protocol, weights is not None, counts, problem)


def read_max_members(value: object) -> int:
    """Return a largest number of members if it is valid."""
    number = read_index(value, "max_members")
    if not 1 <= number <= MAX_MEMBERS:
        raise IllegalArgumentError(f"max_members must be from 1 to {MAX_MEMBERS}, got {shown(value)}")
    return number
