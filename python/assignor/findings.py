"""`check`: what is wrong with an assignment, whoever made it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor import _core
from assignor._engine import Engine, choose

if TYPE_CHECKING:
    from assignor.model import PartitionInfo, Subscription, TopicPartition


@dataclass(frozen=True, slots=True)
class Findings:
    """What `check` found; true when there is something to report.

    Attributes:
        unowned: Partitions of topics that somebody subscribes to and nobody has.
        doubly_owned: Partitions that are handed out more than once, be it to one member or to several.
        not_subscribed: (member, partition) where the member does not subscribe to the topic.
        unknown: (member, partition) where the topic or the id does not exist.

    Order: by member as the assignment gives them, then topics in Java's order, then ids.
    """

    unowned: tuple[TopicPartition, ...] = ()
    doubly_owned: tuple[TopicPartition, ...] = ()
    not_subscribed: tuple[tuple[str, TopicPartition], ...] = ()
    unknown: tuple[tuple[str, TopicPartition], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.unowned or self.doubly_owned or self.not_subscribed or self.unknown)


def check(
    assignment: Mapping[str, Iterable[tuple[str, int]]],
    partitions_per_topic: Mapping[str, int | Iterable[int | PartitionInfo]],
    subscriptions: Mapping[str, Subscription | Iterable[str]],
    *,
    engine: Engine = "rust",
) -> Findings:
    """Find what an assignment leaves out, assigns twice or should not assign.

    It asks nothing of the assignor that made it: range, sticky and hand-made assignments are checked alike.

    Args:
        assignment: Member id to the partitions it has; of a `Plan` only the spans are read.
        partitions_per_topic: As `assign` takes it.
        subscriptions: As `assign` takes it. A member that is only in the assignment subscribes to nothing.
        engine: `"rust"`, or `"reference"` for the same in plain Python.

    Returns:
        The findings; false when there are none.

    Raises:
        AssignorError: Input that cannot be meant; the message names member or topic and the value.

    Example:
        >>> check({"a": [("t", 0)], "b": [("t", 0)]}, {"t": 2}, {"a": ["t"], "b": ["t"]})
        ... # doctest: +NORMALIZE_WHITESPACE
        Findings(unowned=(TopicPartition(topic='t', partition=1),),
                 doubly_owned=(TopicPartition(topic='t', partition=0),), not_subscribed=(), unknown=())
    """
    found = choose(engine, _core.check, "check")(assignment, partitions_per_topic, subscriptions)
    return Findings(*found)
