"""Makes up fleets of any size, for benchmarks, for tests and for trying the pipeline without a cluster.

Everything is computed by Spark SQL from a seed and the number of a row: no row passes through the driver or Python,
nothing is shuffled, and the same arguments give the same rows however many cores or partitions there are.

The shape of topics and subscriptions follows a public Terraform configuration of one company (361 topics and the 553
consumer groups of its production), counted in August 2026; none of its names is used. Such a configuration says nothing
about members: how many a group has, and every share below, is invented.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignor.errors import IllegalArgumentError
from assignor.spark.synthetic_rows import CONFIGURED_GROUPS, CONFIGURED_TOPICS, Maker
from assignor.validation import shown, wrong_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SyntheticFleet", "synthetic_fleet"]

_MOST = 2**31 - 1


class SyntheticFleet(NamedTuple):
    """A fleet that nobody runs, in the order in which `Fleet` takes its parts.

    Attributes:
        topics: The columns of `schemas.TOPICS`.
        members: The columns of `schemas.MEMBERS`.
        current: What the members are said to have now: the columns of `schemas.ASSIGNMENTS`.
    """

    topics: DataFrame
    members: DataFrame
    current: DataFrame


def synthetic_fleet(
    spark: SparkSession,
    groups: int,
    *,
    members: int | None = None,
    topics: int | None = None,
    topics_per_group: int | None = None,
    clusters: int = 1,
    racks: int = 0,
    static_share: float = 0.1,
    pattern_share: float = 0.05,
    asymmetric_share: float = 0.1,
    stale_share: float = 0.2,
    seed: int = 0,
) -> SyntheticFleet:
    """Makes up a fleet; its names say so: clusters are `synthetic-0` and so on, groups begin `syn-` and topics `syn.`.

    All clusters have topics and groups of the same names, as those of different environments often do, but not of the
    same sizes: only (cluster, name) is unique.

    * Topics: `PARTITIONS` (from 50 topics on) and `TOPIC_NAME_LENGTHS` (from 500 on, as far as a topic's number leaves
      room) of `assignor.spark.synthetic_rows` hold for each cluster as they stand. Eight topics in succession are a
      family: their names begin alike, but for those too short for it.
    * Members: ids as brokers make them, `<client id>-<UUID>` or for a static member `<group instance id>-<UUID>`. In
      7 groups of 10 the client is Java's, in the others librdkafka.
    * Subscriptions: a group's topics are neighbours, all equally likely. The members of an asymmetric group leave out
      one topic each, by turns, but for the first.
    * Current assignment: what range gives without regard to racks. A stale group has it from before its newest member
      joined, who has nothing yet; planning it anew moves partitions. Members without partitions have no row.

    Args:
        spark: The session, classic or Connect.
        groups: Groups of all clusters together, dealt out by turns.
        members: Members of every group; by default as `MEMBERS_PER_GROUP` says, which is invented.
        topics: Topics of each cluster; by default as many per group as in the configuration counted (361 to 553).
        topics_per_group: Topics of every group that subscribes by name; by default as `TOPICS_PER_GROUP` says, but at
            most all of them.
        clusters: How many clusters.
        racks: How many racks the brokers and members of a cluster are in; 0 leaves the columns null. Replicas are in
            at most three of them.
        static_share: Share, from 0 to 1, of members that have a group instance id; groups are mixed, as they are while
            an application is being changed over.
        pattern_share: Share of groups that subscribe by a pattern, which means one family of topics; where all its
            names are too short the pattern matches none.
        asymmetric_share: Share, of the groups with two topics by name or more, whose members subscribe to different
            ones.
        stale_share: Share, of the groups with two members or more, whose current assignment is of before the newest
            member.
        seed: Another seed gives another fleet.

    Returns:
        Three lazy DataFrames in no order of rows. Each is computed anew wherever it is used. A group's members are
        kept in memory together for `current` alone.

    Raises:
        IllegalArgumentError: A count below 1 or above 2^31 - 1 (racks may be 0), a share outside of 0 to 1, more topics
            per group than topics, or a seed beyond 64 bits.
        WrongTypeError: A count or the seed is no `int`, or a share no number.

    Example:
        >>> from assignor.spark.session import session
        >>> with session() as spark:  # doctest: +SKIP
        ...     fleet = synthetic_fleet(spark, 1000, members=50, seed=7)
        ...     fleet.members.count()
        50000
    """
    _check_count("groups", groups)
    _check_count("clusters", clusters)
    _check_count("racks", racks, least=0)
    for name, count in {"members": members, "topics": topics, "topics_per_group": topics_per_group}.items():
        if count is not None:
            _check_count(name, count)
    shares = {"static": static_share, "pattern": pattern_share, "asymmetric": asymmetric_share, "stale": stale_share}
    for name, share in shares.items():
        _check_share(f"{name}_share", share)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise wrong_type("synthetic_fleet: seed", "an int", seed)
    if not -(2**63) <= seed < 2**63:
        raise IllegalArgumentError(f"synthetic_fleet: seed must have at most 64 bits: {shown(seed)}")
    if topics is None:
        topics = max(topics_per_group or 1, round(groups / clusters * CONFIGURED_TOPICS / CONFIGURED_GROUPS))
    if topics_per_group is not None and topics_per_group > topics:
        raise IllegalArgumentError(
            f"synthetic_fleet: topics_per_group must be at most topics, which is {topics}: {topics_per_group}"
        )
    made = Maker(spark, groups, members, topics, topics_per_group, clusters, racks, shares, seed)
    return SyntheticFleet(made.topics(), made.members(), made.current())


def _check_count(name: str, value: object, least: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_type(f"synthetic_fleet: {name}", "an int", value)
    if not least <= value <= _MOST:
        raise IllegalArgumentError(f"synthetic_fleet: {name} must be between {least} and {_MOST}: {shown(value)}")


def _check_share(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_type(f"synthetic_fleet: {name}", "a number", value)
    if not 0 <= value <= 1:
        raise IllegalArgumentError(f"synthetic_fleet: {name} must be between 0 and 1: {shown(value)}")
