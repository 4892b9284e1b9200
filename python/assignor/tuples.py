"""Named tuples: partitions, parts of plans, and the end of a segment.

`assign` and `plan` import this module instead of the data classes of `assignor.model`, because `dataclasses` takes long
to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy as np
    import numpy.typing as npt


class TopicPartition(NamedTuple):
    """One partition of one topic (org.apache.kafka.common.TopicPartition).

    Attributes:
        topic: Name of the topic.
        partition: Partition id.
    """

    topic: str
    partition: int


class PartitionInfo(NamedTuple):
    """A partition id and the racks of its replicas.

    Attributes:
        partition: The partition id.
        racks: One entry per replica: the rack of its broker, or None if the broker has no rack. None adds no rack to
            the partition; `""` is an ordinary rack name here.
    """

    partition: int
    racks: Collection[str | None] = ()


class Spans(NamedTuple):
    """An assignment as four int32 columns of equal length, with one row per span of consecutive partition ids.

    Attributes:
        member: Index into `plan.members`.
        topic: Index into `plan.topics`.
        start: First partition id of the span.
        count: Number of consecutive ids.
    """

    member: npt.NDArray[np.int32]
    topic: npt.NDArray[np.int32]
    start: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32]  # type: ignore[assignment]  # the column hides tuple.count, which is not needed

    def __repr__(self) -> str:
        from assignor.display import short_repr  # `assign` does not need it

        return short_repr(type(self).__name__, self._asdict())


class Diff(NamedTuple):
    """Differences between a plan and a later plan.

    Attributes:
        added: Member id to the partitions that the member gains in the later plan; members without any are left out.
        revoked: Member id to the partitions that the member loses in the later plan; members without any are left out.
        moved: Number of partitions that have owners in both plans, but not the same ones.
    """

    added: dict[str, list[TopicPartition]]
    revoked: dict[str, list[TopicPartition]]
    moved: int

    def __repr__(self) -> str:
        from assignor.display import short_repr  # `assign` does not need it

        return short_repr(type(self).__name__, self._asdict())

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        from assignor.display import diff_html

        return diff_html(*self)


class Balance(NamedTuple):
    """Balance of a plan: how evenly it distributes partitions over members.

    Attributes:
        min: Lowest number of partitions of a member; 0 if there are no members.
        max: Highest number of partitions of a member.
        mean: Average number of partitions per member.
        idle: Members without partitions, in the order of the plan.
        spread: Topic to the spread of its partitions over its subscribers: the highest number that a subscriber has,
            minus the lowest.
    """

    min: int
    max: int
    mean: float
    idle: tuple[str, ...]
    spread: dict[str, int]

    def __repr__(self) -> str:
        from assignor.display import short_repr  # `assign` does not need it

        return short_repr(type(self).__name__, self._asdict())


class WeightedBalance(NamedTuple):
    """Balance of a plan by number of partitions and by weight, such as records per second.

    Attributes:
        min: As in `Balance`, like the next four.
        max: Highest number of partitions of a member.
        mean: Average number of partitions per member.
        idle: Members without partitions, in the order of the plan.
        spread: Topic to the spread of its partitions over its subscribers.
        least_weight: Lowest weight of a member; 0 if there are no members.
        most_weight: Highest weight of a member.
        mean_weight: Average weight per member.
        weight_bound: Lower bound of `most_weight` for every assignment of these partitions to these members. It is the
            highest of: the heaviest partition; the average weight per member, and per subscriber of the topics that
            have the same subscribers; the lightest k + 1 of the heaviest k * members + 1 partitions, for each k; and
            the result of longest-processing-time packing without subscriptions, divided by Graham's factor
            4/3 - 1/(3 * members).
        packed_weight: Highest weight of a member after longest-processing-time packing: each partition, the heaviest
            first, goes to the subscriber with the lowest weight. This assignment exists, but no assignor of Kafka
            computes it.
        weights: Member id to the weight of its partitions, in the order of the plan.
    """

    min: int
    max: int
    mean: float
    idle: tuple[str, ...]
    spread: dict[str, int]
    least_weight: float
    most_weight: float
    mean_weight: float
    weight_bound: float
    packed_weight: float
    weights: dict[str, float]

    def __repr__(self) -> str:
        from assignor.display import short_repr  # `assign` does not need it

        return short_repr(type(self).__name__, self._asdict())


class SegmentEnd(NamedTuple):
    """Summary of a log segment after its last byte.

    Attributes:
        batches: Number of batches that were read. A message of a message set (versions 0 and 1) counts as a batch.
        records: Number of records, including those of control batches.
        end_offset: Offset after the last batch that was read, or None if no batch was read.
        read_bytes: Size in bytes of the complete batches, including damaged ones.
        damage: Position in the file and reason of each damaged batch. Its records are left out.
        tail: Kind of the bytes behind the last complete batch: `"zeros"` (a preallocated file), `"torn"` (the beginning
            of a batch), or `""`: there are none, or the last damage describes them.
        tail_bytes: Number of these bytes.
    """

    batches: int
    records: int
    end_offset: int | None
    read_bytes: int
    damage: tuple[tuple[int, str], ...]
    tail: str
    tail_bytes: int
