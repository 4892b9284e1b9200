"""Check of an assignment made by any assignor, or by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from assignor import _core
from assignor._engine import choose
from assignor.display import findings_html, short_repr
from assignor.lines import json_text

if TYPE_CHECKING:
    from assignor.model import PartitionInfo, Subscription, TopicPartition
    from assignor.names import Engine, GroupProtocol


@dataclass(frozen=True, slots=True, repr=False)
class Findings:
    """Problems that `check` found. The truth value is True if there is any problem.

    Attributes:
        unowned: Partitions without an owner, of topics with at least one subscriber.
        doubly_owned: Partitions that are assigned more than once, to one member or to several. In a share group, only
            those that are assigned more than once to one member.
        not_subscribed: (member, partition) pairs whose member does not subscribe to the topic.
        unknown: (member, partition) pairs whose topic or partition id does not exist.

    Order: partitions by topic in Java's order, then by partition id; pairs by member, in the order of the assignment,
    then like partitions.
    """

    unowned: tuple[TopicPartition, ...] = ()
    doubly_owned: tuple[TopicPartition, ...] = ()
    not_subscribed: tuple[tuple[str, TopicPartition], ...] = ()
    unknown: tuple[tuple[str, TopicPartition], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.unowned or self.doubly_owned or self.not_subscribed or self.unknown)

    def __repr__(self) -> str:
        return short_repr(type(self).__name__, {field.name: getattr(self, field.name) for field in fields(self)})

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        return findings_html(
            {"unowned": self.unowned, "doubly_owned": self.doubly_owned},
            {"not_subscribed": self.not_subscribed, "unknown": self.unknown},
        )

    def to_json(self) -> str:
        """Return the findings as a JSON object, which `assignor check` prints.

        Its keys are the attributes. A partition is an array of topic and id, and a pair one of member and partition.

        Example:
            >>> check({"a": [("t", 0)]}, {"t": 2}, {"a": ["t"]}).to_json()
            '{"unowned": [["t", 1]], "doubly_owned": [], "not_subscribed": [], "unknown": []}'
        """
        return json_text(asdict(self))


def check(
    assignment: Mapping[str, Iterable[tuple[str, int]]],
    partitions_per_topic: Mapping[str, int | Iterable[int | PartitionInfo]],
    subscriptions: Mapping[str, Subscription | Iterable[str]],
    *,
    group_protocol: GroupProtocol = "classic",
    engine: Engine = "rust",
) -> Findings:
    """Find partitions that an assignment leaves out, assigns twice or must not assign.

    The check is the same for every assignor, except that a partition of a share group may have several owners. If
    members of a share group keep partitions of topics that they do not subscribe to, or that are deleted, these
    partitions are findings.

    Args:
        assignment: Member id to the partitions of the member. A `Plan` is read without building its lists.
        partitions_per_topic: As for `assign`.
        subscriptions: As for `assign`. A member of the assignment that is missing here has no subscription.
        group_protocol: `"classic"`, `"consumer"` or `"share"`.
        engine: `"rust"`, or `"reference"` for the implementation in plain Python.

    Returns:
        The findings; their truth value is False if there is no problem.

    Raises:
        AssignorError: Invalid input; the message names the member or topic and the value.

    Example:
        >>> check({"a": [("t", 0)], "b": [("t", 0)]}, {"t": 2}, {"a": ["t"], "b": ["t"]})
        ... # doctest: +NORMALIZE_WHITESPACE
        Findings(unowned=(TopicPartition(topic='t', partition=1),),
                 doubly_owned=(TopicPartition(topic='t', partition=0),), not_subscribed=(), unknown=())
    """
    implementation = choose(engine, _core.check, "check")
    if implementation is not _core.check:
        _core.check({}, {}, {}, group_protocol=group_protocol)  # the reference does not check the protocol
    return Findings(*implementation(assignment, partitions_per_topic, subscriptions, group_protocol=group_protocol))
