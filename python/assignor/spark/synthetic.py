"""Generator of synthetic fleets of any size, for benchmarks, for tests and for trials without a cluster.

Spark SQL computes each topic and member from a seed and the number of the row, without a shuffle, and `Fleet` computes
the owned partitions. No row passes through the driver, and the rows do not depend on the number of cores or Spark
partitions.

The distributions of topics and subscriptions follow the public Terraform configuration of a company (361 topics and 553
consumer groups in production), counted in August 2026. Its names are not used. The configuration has no data about
members, so group sizes and all shares below are invented.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignor.errors import IllegalArgumentError
from assignor.spark.schemas import check_session
from assignor.spark.synthetic_rows import CONFIGURED_GROUPS, CONFIGURED_TOPICS, SyntheticRows
from assignor.validation import shown, wrong_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SyntheticFleet", "synthetic_fleet"]

_MOST = 2**31 - 1


class SyntheticFleet(NamedTuple):
    """Synthetic fleet, in the order of the arguments of `Fleet`.

    Attributes:
        topics: Topics, with the columns of `schemas.TOPICS`.
        members: Members, with the columns of `schemas.MEMBERS`.
        current: Partitions that the members own, with the columns of `schemas.ASSIGNMENTS`.
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
    """Generate a fleet. Clusters are named `synthetic-0` and so on, groups `syn-...` and topics `syn....`.

    All clusters have topics and groups of the same names but of different sizes, as different environments often do.
    Only (cluster, name) is unique.

    * Topics: `assignor.spark.synthetic_rows` has their distributions. A cluster follows `PARTITIONS` if it has at least
      50 topics, and `TOPIC_NAME_LENGTHS` if it has at least 500. A name ends with the number of its topic, and is
      longer than its drawn length if the number needs more characters. Every eight consecutive topics are a family:
      their names have a common prefix, except names that are too short for it.
    * Members: ids have the format of brokers, `<client id>-<UUID>`, or `<group instance id>-<UUID>` for static members.
      70 % of the groups have Java clients, the others librdkafka clients.
    * Subscriptions: a group subscribes to consecutive topics; all topics are equally likely. In an asymmetric group
      each member except the first omits one topic, in turn.
    * Current assignment: that of range without racks. In a stale group it dates from before the newest member joined,
      so a new assignment moves partitions. Members without partitions have no row.

    Args:
        spark: The session, classic or Connect.
        groups: Number of groups in all clusters, distributed evenly.
        members: Members of each group; by default the invented distribution `MEMBERS_PER_GROUP`.
        topics: Topics of each cluster; by default the counted ratio of 361 topics to 553 groups.
        topics_per_group: Topics of each group that subscribes by name; by default the distribution `TOPICS_PER_GROUP`,
            limited to the number of topics.
        clusters: Number of clusters.
        racks: Number of racks of the brokers and members of a cluster; 0 leaves the columns null. The replicas of a
            partition are in at most three racks.
        static_share: Share, from 0 to 1, of members with a group instance id. A group can have static and dynamic
            members, as during a migration.
        pattern_share: Share of groups that subscribe by a pattern, which matches one family of topics. It matches none
            if all names of the family are too short for the common prefix.
        asymmetric_share: Among the groups that subscribe to at least two topics by name, the share of those whose
            members subscribe to different topics.
        stale_share: Among the groups with at least two members, the share of those whose current assignment lacks the
            newest member.
        seed: Seed of the pseudo-random values.

    Returns:
        Three lazy DataFrames with rows in no particular order. Each use computes them again. Only `current` keeps all
        members of a group in memory together.

    Raises:
        IllegalArgumentError: A count below 1 or above 2^31 - 1 (racks may be 0), a share outside of 0 to 1, more topics
            per group than topics, or a seed with more than 64 bits.
        WrongTypeError: A count or the seed is not an `int`, or a share is not a number.

    Example:
        >>> from assignor.spark.session import session
        >>> with session() as spark:  # doctest: +SKIP
        ...     fleet = synthetic_fleet(spark, 1000, members=50, seed=7)
        ...     fleet.members.count()
        50000
    """
    check_session(spark, "range")
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
    made = SyntheticRows(spark, groups, members, topics, topics_per_group, clusters, racks, shares, seed)
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
