"""The groups that benchmarks run on: the grid of Kafka's JMH benchmark, and series that double one size at a time.

The grid is that of org.apache.kafka.jmh.assignor.ClientSideAssignorBenchmark, with its names (`topic0`, `member0`,
`rack0`), its integer division and its buckets. Of its axes two are left out: COOPERATIVE_STICKY, which is another
assignor, and INCREMENTAL, which in that class times a full assignment of one member fewer. One value is added: `two`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal, get_args

from assignor import PartitionInfo, Subscription

SubscriptionType = Literal["HOMOGENEOUS", "HETEROGENEOUS"]
Racks = Literal["none", "three", "two"]

MEMBERS = (100, 500, 1000, 5000, 10000)
TOPICS = (10, 100, 1000)
RATIOS = (5, 10, 50)
BUCKETS = 5
RACKS = 3


@dataclass(frozen=True, slots=True)
class Workload:
    """A group to assign, by its sizes.

    Attributes:
        name: What tables and test ids call it.
        members: Number of members.
        topics: Number of topics.
        partitions: Number of partitions of each topic; may be 0.
        subscription: HOMOGENEOUS: every member subscribes to every topic. HETEROGENEOUS: members and topics are cut
            into five runs, and a member subscribes to the topics of its own run.
        racks: `none`. `three`: every partition is on all three racks, so rack logic stays off and only reading racks is
            paid for, as with JMH's isRackAware. `two`: partition p is on racks p mod 3 and p+1 mod 3: rack logic is on.
    """

    name: str
    members: int
    topics: int
    partitions: int
    subscription: SubscriptionType = "HOMOGENEOUS"
    racks: Racks = "none"

    @property
    def total_partitions(self) -> int:
        """Partitions of all topics."""
        return self.topics * self.partitions

    @property
    def pairs(self) -> int:
        """Number of (member, topic) subscriptions: what a plain assignor's cost grows with."""
        return sum(len(members) * len(topics) for members, topics in self.buckets())

    def buckets(self) -> list[tuple[range, range]]:
        """Which members subscribe to which topics, both by number; no member and no topic is in two buckets.

        Raises:
            ValueError: There are fewer topics than buckets, which JMH refuses too.
        """
        count = 1 if self.subscription == "HOMOGENEOUS" else min(BUCKETS, self.members)
        if self.topics < count:
            raise ValueError(f"{self.name}: {self.topics} topics cannot fill {count} buckets")
        return list(zip(_chunks(self.members, count), _chunks(self.topics, count), strict=True))

    def partitions_per_topic(self) -> dict[str, int | list[PartitionInfo]]:
        """The topics, as `assign` takes them."""
        if self.racks == "none":
            return {f"topic{topic}": self.partitions for topic in range(self.topics)}
        replicas = 3 if self.racks == "three" else 2
        places = [tuple(f"rack{(first + step) % RACKS}" for step in range(replicas)) for first in range(RACKS)]
        return {
            f"topic{topic}": [PartitionInfo(id, places[id % RACKS]) for id in range(self.partitions)]
            for topic in range(self.topics)
        }

    def subscriptions(self) -> dict[str, list[str] | Subscription]:
        """The members, as `assign` takes them: every member has topics of its own, of `str` objects that all share."""
        names = [f"topic{topic}" for topic in range(self.topics)]
        wanted = {
            f"member{member}": names[topics.start : topics.stop]
            for members, topics in self.buckets()
            for member in members
        }
        if self.racks == "none":
            return {**wanted}
        return {
            member: Subscription(tuple(topics), rack=f"rack{number % RACKS}")
            for number, (member, topics) in enumerate(wanted.items())
        }


def _chunks(size: int, count: int) -> list[range]:
    """The numbers below `size` in `count` runs of ceil(size / count); the last ones may be shorter."""
    step = -(-size // count)
    return [range(min(size, start), min(size, start + step)) for start in range(0, step * count, step)]


def jmh(
    members: int, topics: int, ratio: int, subscription: SubscriptionType = "HOMOGENEOUS", racks: Racks = "none"
) -> Workload:
    """A point of JMH's grid; `ratio` is partitions to members, and a topic has members * ratio // topics partitions."""
    name = f"{subscription}-{members}x{topics}x{ratio}" + ("" if racks == "none" else f"-racks-{racks}")
    return Workload(name, members, topics, members * ratio // topics, subscription, racks)


def grid() -> list[Workload]:
    """Every point: 90 of JMH's without racks, the same 90 with its racks, and 90 where rack logic is on."""
    return [
        jmh(members, topics, ratio, subscription, racks)
        for racks, subscription, members, topics, ratio in itertools.product(
            get_args(Racks), get_args(SubscriptionType), MEMBERS, TOPICS, RATIOS
        )
    ]


def _sized(members: int, topics: int, partitions: int) -> Workload:
    return Workload(f"growth-{members}x{topics}x{partitions}", members, topics, partitions)


def _growth(doublings: int) -> dict[str, list[Workload]]:
    base = {"members": 125, "topics": 50, "partitions": 50}
    series = {}
    for axis in base:
        sizes = [{**base, axis: base[axis] << step} for step in range(doublings + 1)]
        series[axis] = [_sized(**size) for size in sizes]
    return series


# Named members x topics x partitions of a topic; the first of each series is the same.
GROWTH = _growth(doublings=4)
"""By the size that doubles from one workload to the next."""

_QUICK = [
    jmh(100, 10, 10),
    jmh(100, 10, 10, "HETEROGENEOUS"),
    jmh(100, 1000, 5),  # topics without partitions
    jmh(100, 10, 10, racks="three"),
    jmh(100, 10, 10, racks="two"),
]

_DEFAULT = [
    *(
        jmh(members, topics, 10, subscription)
        for subscription in get_args(SubscriptionType)
        for members, topics in ((100, 10), (100, 100), (100, 1000), (1000, 10), (1000, 100), (10000, 10), (10000, 100))
    ),
    jmh(1000, 1000, 50),
    jmh(1000, 1000, 50, "HETEROGENEOUS"),
    jmh(1000, 100, 10, racks="three"),
    jmh(1000, 100, 10, racks="two"),
    jmh(1000, 100, 10, "HETEROGENEOUS", racks="two"),
    jmh(100, 10, 50, racks="two"),  # several partitions of a topic for each member
]

_SERIES = list({workload.name: workload for series in GROWTH.values() for workload in series}.values())

SELECTIONS = {"quick": _QUICK, "default": [*_DEFAULT, *_SERIES], "all": [*grid(), *_SERIES]}
"""What one can ask to run: a smoke test; JMH's ratio 10 and a few more points; everything."""

WORKLOADS = {workload.name: workload for selection in SELECTIONS.values() for workload in selection}
"""All of them by name."""
