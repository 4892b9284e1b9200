"""Groups of the benchmarks: points of Kafka's JMH grid, other groups, and series that double one size.

The grid is that of org.apache.kafka.jmh.assignor.ClientSideAssignorBenchmark, with the same names (`topic0`, `member0`,
`rack0`), integer division and buckets. Other groups add members with their own topics, racks that change the answer,
topics of different sizes, several shapes of Python input, Kafka's other assignors, and an event before the assignment
(`benches/rebalances.py`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

import numpy as np

from assignor import MemberColumns, PartitionInfo, Subscription, TopicColumns

SubscriptionType = Literal["HOMOGENEOUS", "HETEROGENEOUS", "DISTINCT", "FIFTHS", "HALF"]
Racks = Literal["none", "three", "two", "far"]
Sizes = Literal["equal", "differ"]
Shape = Literal["lists", "fresh", "sets", "objects"]
"""Form of the subscriptions. `lists`: one list per member, with shared `str` objects. `fresh`: one list per member with
its own `str` objects, as if each member were decoded separately. `sets`: one set per member. `objects`: one
`Subscription` per member."""

Axis = Literal["members", "topics", "partitions"]
"""Size that doubles in a series."""

AssignorName = Literal["range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "server-range", "simple"]
"""Name of an assignor in tables; `uniform`, `server-range` and `simple` are assignors of the broker."""

SERVER = {"uniform": ("consumer", "uniform"), "server-range": ("consumer", "range"), "simple": ("share", "simple")}
"""Group protocols and Kafka's names of the broker's assignors."""

Event = Literal["first", "join", "leave", "rolling"]
"""Event before the timed assignment. `first`: none. `join`: one member joins an assigned group. `leave`: one member
leaves. `rolling`: members leave and return with a new id, one after another, with two rebalances each."""

MEMBERS = (100, 500, 1000, 5000, 10000)
TOPICS = (10, 100, 1000)
RATIOS = (5, 10, 50)
BUCKETS = 5
RACKS = 3
PAIRS = 1_000_000
"""The most (member, topic) pairs for which implementations other than the Rust engine are timed; more take minutes."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Group to assign, described by its sizes.

    Attributes:
        members: Number of members.
        topics: Number of topics.
        partitions: Number of partitions of each topic, or their mean; may be 0.
        subscription: HOMOGENEOUS: every member subscribes to every topic. HETEROGENEOUS: members and topics are split
            into five runs, and a member subscribes to the topics of its run. DISTINCT: every member subscribes to a
            random tenth of the topics. FIFTHS: member m subscribes to fifth m mod 5 of the topics. HALF: members with
            odd numbers subscribe to the first half of the topics, the others to all.
        racks: `none`. `three`: every partition has replicas on all three racks, so racks are read but not used, as with
            JMH's isRackAware. `two`: partition p has replicas on racks p mod 3 and p+1 mod 3, so racks are used. `far`:
            racks are used, and few partitions have a replica on the rack of a member.
        sizes: `equal`. `differ`: topics have different numbers of partitions, as far as the mean allows.
        assignor: Assignor that computes the answer.
        event: Event before the assignment.
    """

    members: int
    topics: int
    partitions: int
    subscription: SubscriptionType = "HOMOGENEOUS"
    racks: Racks = "none"
    sizes: Sizes = "equal"
    assignor: AssignorName = "range"
    event: Event = "first"

    @property
    def name(self) -> str:
        """Name in tables and test ids: members x topics x partitions of a topic, then values that are not defaults."""
        parts = [f"{self.members}x{self.topics}x{self.partitions}"]
        parts += [] if self.subscription == "HOMOGENEOUS" else [self.subscription.lower()]
        parts += [] if self.racks == "none" else [f"{self.racks}-racks"]
        parts += [] if self.sizes == "equal" else ["sizes-differ"]
        parts += [] if self.assignor == "range" else [self.assignor, self.event]
        return "-".join(parts)

    @property
    def total_partitions(self) -> int:
        """Number of partitions of all topics."""
        return sum(self.partition_counts())

    @property
    def pairs(self) -> int:
        """Number of subscriptions, (member, topic) pairs; the cost of a simple assignor is proportional to it."""
        if self.subscription == "DISTINCT":
            return self.members * (self.topics // 10)
        return sum(map(len, self._wanted()))

    def partition_counts(self) -> list[int]:
        """Return the number of partitions of each topic."""
        if self.sizes == "equal" or not self.partitions:
            return [self.partitions] * self.topics
        steps = max(
            1, min(self.topics // 2, self.partitions - 1)
        )  # topics come in pairs, one larger and one smaller than the mean
        counts = [self.partitions + (-1) ** topic * (1 + topic // 2 % steps) for topic in range(self.topics)]
        return counts if self.topics % 2 == 0 else [*counts[:-1], self.partitions]

    def partitions_per_topic(self) -> dict[str, int | list[PartitionInfo]]:
        """Return the topics for `assign`. Each partition has its own tuple of racks; the names in it are shared."""
        counts = {f"topic{topic}": count for topic, count in enumerate(self.partition_counts())}
        if self.racks == "none":
            return {**counts}
        names = [f"rack{rack}" for rack in range(RACKS)]
        return {
            name: [PartitionInfo(id, tuple([names[rack] for rack in self._replicas(topic, id)])) for id in range(count)]
            for topic, (name, count) in enumerate(counts.items())
        }

    def subscriptions(self, shape: Shape = "lists") -> dict[str, Collection[str] | Subscription]:
        """Return the members for `assign`; with racks, always as `Subscription`."""
        if self.racks != "none":
            return {
                f"member{member}": Subscription(tuple(topics), rack=self.rack_of_member(member))
                for member, topics in enumerate(self._wanted())
            }
        wanted: list[Collection[str] | Subscription]
        if shape == "lists":
            wanted = [list(topics) for topics in self._wanted()]
        elif shape == "fresh":
            wanted = [[str(topic.encode(), "ascii") for topic in topics] for topics in self._wanted()]
        elif shape == "sets":
            wanted = [set(topics) for topics in self._wanted()]
        else:
            wanted = [Subscription(tuple(topics)) for topics in self._wanted()]
        return {f"member{member}": topics for member, topics in enumerate(wanted)}

    def topic_ids(self) -> dict[str, UUID]:
        """Return the ids of the topics; they are ordered differently from the names."""
        return {
            f"topic{topic}": UUID(int=_mixed(2 * topic + 1) << 64 | _mixed(2 * topic + 2))
            for topic in range(self.topics)
        }

    def topic_columns(self) -> TopicColumns:
        """Return the topics as columns."""
        counts = np.array(self.partition_counts(), dtype=np.int32)
        names = [f"topic{topic}" for topic in range(self.topics)]
        if self.racks == "none":
            return TopicColumns(names, counts)
        if self.racks == "far":
            raise ValueError(f"{self.name}: the columns hold only racks that repeat after {RACKS} partitions")
        sets = [tuple(f"rack{rack}" for rack in self._replicas(0, first)) for first in range(RACKS)]
        return TopicColumns(names, counts, np.concatenate([np.arange(n, dtype=np.int32) % RACKS for n in counts]), sets)

    def member_columns(self) -> MemberColumns:
        """Return the members as columns; equal subscriptions are stored once."""
        names = [f"member{member}" for member in range(self.members)]
        distinct: dict[int, int] = {}
        lists: list[Sequence[str]] = []
        index = np.empty(self.members, dtype=np.int32)
        for member, topics in enumerate(self._wanted()):
            if id(topics) not in distinct:
                distinct[id(topics)] = len(lists)
                lists.append(topics)
            index[member] = distinct[id(topics)]
        racks = None if self.racks == "none" else [f"rack{member % RACKS}" for member in range(self.members)]
        return MemberColumns(names, index, lists, rack=racks)

    def rack_of_member(self, member: int) -> str | None:
        """Return the rack of a member, given its number."""
        if self.racks == "none":
            return None
        return f"rack{1 - min(member, 1) if self.racks == 'far' else member % RACKS}"

    def topics_of_member(self, member: int) -> range:
        """Return the topics of a member, given its number; the member may not be in the group yet.

        Raises:
            ValueError: The topics depend on the number of members, or are random.
        """
        if self.subscription == "HALF":
            return range(self.topics if member % 2 == 0 else (self.topics + 1) // 2)
        if self.subscription == "FIFTHS":
            return _chunks(self.topics, BUCKETS)[member % BUCKETS]
        if self.subscription == "HOMOGENEOUS":
            return range(self.topics)
        raise ValueError(f"{self.name}: the topics of one more member are not defined")

    def _replicas(self, topic: int, id: int) -> tuple[int, ...]:
        if self.racks == "far":
            return (0 if id == 0 and topic % 10 == 0 else 1, 2)
        return tuple((id + replica) % RACKS for replica in range(3 if self.racks == "three" else 2))

    def _wanted(self) -> list[list[str]]:
        """Return the topics of each member; members with equal topics share a list, unless topics are random."""
        names = [f"topic{topic}" for topic in range(self.topics)]
        if self.subscription == "DISTINCT":
            return [random.Random(member).sample(names, self.topics // 10) for member in range(self.members)]
        if self.subscription in ("FIFTHS", "HALF"):
            lists = [[names[topic] for topic in self.topics_of_member(member)] for member in range(BUCKETS * 2)]
            period = BUCKETS if self.subscription == "FIFTHS" else 2
            return [lists[member % period] for member in range(self.members)]
        count = 1 if self.subscription == "HOMOGENEOUS" else min(BUCKETS, self.members)
        if self.topics < count:
            raise ValueError(f"{self.name}: {self.topics} topics cannot fill {count} buckets")
        wanted: list[list[str]] = []
        for members, topics in zip(_chunks(self.members, count), _chunks(self.topics, count), strict=True):
            wanted += [names[topics.start : topics.stop]] * len(members)
        return wanted


def _mixed(value: int) -> int:
    """Return a 64-bit value mixed by the last steps of SplitMix64."""
    mask = (1 << 64) - 1
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & mask
    value = (value ^ value >> 27) * 0x94D049BB133111EB & mask
    return value ^ value >> 31


def _chunks(size: int, count: int) -> list[range]:
    """Return the numbers below `size` in `count` runs of ceil(size / count); the last runs may be shorter."""
    step = -(-size // count)
    return [range(min(size, start), min(size, start + step)) for start in range(0, step * count, step)]


def jmh(
    members: int,
    topics: int,
    ratio: int,
    subscription: SubscriptionType = "HOMOGENEOUS",
    racks: Racks = "none",
    sizes: Sizes = "equal",
) -> Workload:
    """Return a point of JMH's grid; each topic has members * ratio // topics partitions."""
    return Workload(members, topics, members * ratio // topics, subscription, racks, sizes)


def grid(ratios: Sequence[int] = RATIOS, racks: Sequence[Racks] = ("none", "three", "two")) -> list[Workload]:
    """Return JMH's 90 points without racks and its 90 points with racks, and the same 90 points with racks in use."""
    buckets: tuple[SubscriptionType, ...] = ("HOMOGENEOUS", "HETEROGENEOUS")
    return [jmh(*point) for point in itertools.product(MEMBERS, TOPICS, ratios, buckets, racks)]


def doubling(start: Workload, axis: Axis, racks: Racks = "none") -> list[Workload]:
    """Return a group, and the three groups that result as one of its sizes doubles three times."""
    return [replace(start, racks=racks, **{axis: getattr(start, axis) << step}) for step in range(4)]
