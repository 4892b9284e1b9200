"""Rows of synthetic fleets: their distributions, and the Spark SQL expressions that compute them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.spark.fleet import Fleet
from assignor.spark.schemas import MEMBERS, TOPICS

with dependency("pyspark"):
    from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

CONFIGURED_TOPICS = 361
"""Number of production topics in the counted configuration."""

CONFIGURED_GROUPS = 553
"""Number of production consumer groups in the counted configuration."""

TOPIC_NAME_LENGTHS = (5, 33, 67)
"""Shortest, median and longest topic name of the configuration, in characters; lengths are interpolated linearly."""

PARTITIONS = {1: 80, 3: 100, 6: 100, 10: 120, 15: 450, 20: 110, 30: 30, 50: 10}
"""Number of topics with each partition count, per 1,000 topics.

Counted: median 15, maximum 50, and 4,556 partitions in total or 12.6 per topic. The other numbers are invented to fit.
"""

TOPICS_PER_GROUP = {1: 735, 2: 130, 3: 50, 5: 40, 8: 25, 13: 15, 21: 5}
"""Number of groups with each number of subscribed topics, per 1,000 groups.

Counted per application: median 1, mean 1.85, maximum 21. The other numbers are invented to fit.
"""

MEMBERS_PER_GROUP = {1: 250, 2: 200, 3: 200, 4: 100, 6: 100, 12: 80, 24: 50, 60: 18, 200: 2}
"""Number of groups with each number of members, per 1,000 groups. Invented."""

TOPICS_PER_FAMILY = 8
"""Number of topics whose names have a common prefix, so that one pattern matches them. Invented."""

REPLICAS = 3
"""Replicas of a partition, if the fleet has racks. Invented."""

_WORDS = (
    *("acorn", "walrus", "cobalt", "ginger", "nimbus", "teapot", "lilac", "puffin", "quartz", "biscuit", "violet"),
    *("magpie", "saffron", "umbrella", "otter", "juniper", "fiddle", "yarrow", "kettle", "rhubarb", "dune", "zephyr"),
)
_CHAIN = "-".join(_WORDS)
_BEGINNINGS = tuple(_CHAIN.index(word) + 1 for word in _WORDS[:10])


@dataclass(frozen=True, slots=True)
class SyntheticRows:
    """Checked arguments of `synthetic_fleet`, and the expressions for its rows.

    Arguments of the methods are columns. A `number` is the index of a row in its DataFrame, a `topic` the index of a
    topic in its cluster; both start at 0.
    """

    spark: SparkSession
    group_count: int
    member_count: int | None
    topic_count: int
    topics_per_group: int | None
    cluster_count: int
    rack_count: int
    shares: Mapping[str, float]
    seed: int

    def topics(self) -> DataFrame:
        """Return the topics of all clusters."""
        rows = self.spark.range(self.cluster_count * self.topic_count).select(
            (F.col("id") % self.cluster_count).alias("in_cluster"),
            _quotient(F.col("id"), F.lit(self.cluster_count)).alias("number"),
        )
        cluster, number = F.col("in_cluster"), F.col("number")
        return (
            rows.withColumn("partitions", self._partitions(cluster, number))
            .withColumn("length", self._name_length(number))
            .withColumn("family", _family_name(_quotient(number, F.lit(TOPICS_PER_FAMILY))))
            .select(
                _cluster_name(cluster).alias("cluster"),
                self._topic_name(number, F.col("length"), F.col("family")).alias("topic"),
                "partitions",
                self._replica_racks(number, F.col("partitions")).alias("racks"),
            )
            .to(TOPICS)
        )

    def members(self) -> DataFrame:
        """Return the members of all groups."""
        return self._members().to(MEMBERS)

    def current(self) -> DataFrame:
        """Return the partitions that the members own: the answer of range, without racks."""
        is_newest = F.col("member") == F.col("members") - 1
        before = self._members().where(~(F.col("stale") & is_newest)).to(MEMBERS)
        return Fleet(self.topics().drop("racks"), before.drop("rack")).assign()

    def _members(self) -> DataFrame:
        """Return the members with their columns, their numbers and the columns of their groups."""
        by_pattern = F.col("pattern").isNotNull()
        topics = F.when(F.col("left_out") < 0, F.col("names")).otherwise(
            F.filter("names", lambda _, position: position != F.col("left_out"))
        )
        each = self._groups().select("*", F.explode(F.sequence(F.lit(0), F.col("members") - 1)).alias("member"))
        return (
            each.withColumn("left_out", _left_out(F.col("member"), F.col("names")))
            .withColumn("group_instance_id", self._group_instance_id(F.col("member")))
            .select(
                "*",
                self._member_id(F.col("member"), F.col("group_instance_id")).alias("member_id"),
                self._rack(F.col("member")).alias("rack"),
                F.when(~by_pattern, topics).alias("topics"),
                F.when(by_pattern, F.when(F.col("librdkafka"), "librdkafka").otherwise("java")).alias("dialect"),
            )
        )

    def _groups(self) -> DataFrame:
        """Return one row per group, with the values that its members share."""
        number, cluster, topic = F.col("id"), F.col("in_cluster"), F.lit(self.topic_count)
        by_pattern = F.col("family").isNotNull()
        order = _quotient(number, F.lit(self.cluster_count))
        families = -(-self.topic_count // TOPICS_PER_FAMILY)
        family = F.pmod(self._hash("family", number), F.lit(families))
        first = F.pmod(self._hash("first topic", number), topic)
        if self.topics_per_group is None:
            drawn = _of_thousand(self._thousandth("topics", number), TOPICS_PER_GROUP)
            count = F.least(drawn, topic)
        else:
            count = F.lit(self.topics_per_group)
        if self.member_count is None:
            size = _of_thousand(self._thousandth("members", number), MEMBERS_PER_GROUP)
        else:
            size = F.lit(self.member_count)

        def measured(topic: Column) -> Column:
            # A separate step: within one lambda Spark would compute these values again at each use.
            beginning = _family_name(_quotient(topic, F.lit(TOPICS_PER_FAMILY)))
            return F.struct(topic.alias("number"), self._name_length(topic).alias("length"), beginning.alias("family"))

        def named(topic: Column) -> Column:
            return self._topic_name(topic["number"], topic["length"], topic["family"])

        in_succession = F.transform(
            F.sequence(F.lit(0), F.col("topic_count") - 1), lambda further: (F.col("first") + further) % topic
        )
        in_family = F.sequence(
            F.col("family") * TOPICS_PER_FAMILY,
            F.least((F.col("family") + 1) * TOPICS_PER_FAMILY, topic) - 1,
        )
        numbers = F.when(by_pattern, in_family).otherwise(in_succession)
        names = F.filter(
            F.transform(F.transform(numbers, measured), named),
            lambda name: ~by_pattern | F.startswith(name, _family_name(F.col("family"))),
        )
        rows = self.spark.range(self.group_count).select(
            "id",
            (number % self.cluster_count).alias("in_cluster"),
            F.concat(F.lit("syn-"), _word(order), F.lit("-"), order).alias("group_id"),
            size.alias("members"),
            count.alias("topic_count"),
            first.alias("first"),
            F.when(self._is("pattern", number), family).alias("family"),
            (self._thousandth("client", number) < 300).alias("librdkafka"),
            self._is("asymmetric", number).alias("asymmetric"),
            self._is("stale", number).alias("stale"),
        )
        return rows.select(
            "id",
            _cluster_name(cluster).alias("cluster"),
            "group_id",
            "members",
            "librdkafka",
            F.concat(F.lit("^"), F.replace(_family_name(F.col("family")), F.lit("."), F.lit(r"\.")), F.lit(".+")).alias(
                "pattern"
            ),
            names.alias("names"),
            (F.col("asymmetric") & ~by_pattern & (F.col("topic_count") > 1)).alias("asymmetric"),
            (F.col("stale") & (F.col("members") > 1)).alias("stale"),
        )

    def _group_instance_id(self, member: Column) -> Column:
        return F.when(self._is("static", F.col("id"), member), F.concat(F.col("group_id"), F.lit("-pod-"), member))

    def _member_id(self, member: Column, group_instance_id: Column) -> Column:
        client = F.when(F.col("librdkafka"), "rdkafka").otherwise(
            F.concat(F.lit("consumer-"), F.col("group_id"), F.lit("-1"))
        )
        digits = F.md5(F.concat(F.lit(f"{self.seed} member "), F.col("id"), F.lit(" "), member))
        # Edit the text from its end, so that earlier positions stay valid. A random UUID has version 4 and variant a.
        uuid = digits
        for text, place, length in (("-", 21, 0), ("-a", 17, 1), ("-4", 13, 1), ("-", 9, 0)):
            uuid = F.overlay(uuid, F.lit(text), F.lit(place), F.lit(length))
        return F.concat(F.coalesce(group_instance_id, client), F.lit("-"), uuid)

    def _rack(self, member: Column) -> Column:
        if not self.rack_count:
            return F.lit(None).cast("string")
        return _rack_name(F.pmod(self._hash("rack", F.col("id"), member), F.lit(self.rack_count)))

    def _replica_racks(self, topic: Column, partitions: Column) -> Column:
        if not self.rack_count:
            return F.lit(None).cast(TOPICS["racks"].dataType)

        def of_partition(id: Column) -> Column:
            replicas = range(min(REPLICAS, self.rack_count))
            return F.array(*(_rack_name((topic + id + replica) % self.rack_count) for replica in replicas))

        return F.transform(F.sequence(F.lit(0), partitions - 1), of_partition)

    def _partitions(self, cluster: Column, topic: Column) -> Column:
        return _of_thousand(self._dealt("partitions", 0.618, cluster, topic), PARTITIONS)

    def _name_length(self, topic: Column) -> Column:
        shortest, median, longest = TOPIC_NAME_LENGTHS
        rank = self._dealt("name", 0.414, F.lit(0), topic)  # clusters share names
        lower = _quotient(F.least(rank, F.lit(500)) * (median - shortest), F.lit(500))
        upper = _quotient(F.greatest(rank - 500, F.lit(0)) * (longest + 1 - median), F.lit(500))
        return shortest + lower + upper

    def _topic_name(self, topic: Column, length: Column, family: Column) -> Column:
        """Return a name of this length, longer if the number needs it; it starts with `family` if there is room."""
        end = F.concat(F.lit("."), topic)
        beginning = F.when(F.length(family) + F.length(end) + 3 <= length, family).otherwise(F.lit("syn."))
        room = length - F.length(beginning) - F.length(end)
        words = F.substring(F.lit(_CHAIN), _at(_BEGINNINGS, self._hash("words", topic)), room.cast("int"))
        # Replace a hyphen at which the last word was cut off.
        body = F.regexp_replace(words, "-$", "s")
        return F.when(room > 0, F.concat(beginning, body, end)).otherwise(F.concat(F.lit("syn"), end))

    def _hash(self, purpose: str, *of: Column) -> Column:
        return F.xxhash64(F.lit(self.seed).cast("long"), F.lit(purpose), *(each.cast("long") for each in of))

    def _thousandth(self, purpose: str, *of: Column) -> Column:
        return F.pmod(self._hash(purpose, *of), F.lit(1000))

    def _is(self, purpose: str, *of: Column) -> Column:
        """Return true for the share of rows that has a property."""
        return F.pmod(self._hash(purpose, *of), F.lit(1_000_000)) < round(1_000_000 * self.shares[purpose])

    def _dealt(self, purpose: str, part: float, cluster: Column, topic: Column) -> Column:
        """Return a number from 0 to 999 for each topic of a cluster, distributed evenly over the topics.

        The numbers follow a walk over the topics, whose step is about `part` times the number of topics. The step is
        coprime to the number of topics, so the walk visits each of them once.
        """
        step = max(1, round(part * self.topic_count))
        while math.gcd(step, self.topic_count) != 1:
            step += 1
        place = (topic * F.lit(step) + F.pmod(self._hash(purpose, cluster), F.lit(self.topic_count))) % self.topic_count
        return _quotient((2 * place + 1) * 1000, F.lit(2 * self.topic_count))


def _cluster_name(cluster: Column) -> Column:
    return F.concat(F.lit("synthetic-"), cluster)


def _rack_name(rack: Column) -> Column:
    return F.concat(F.lit("rack-"), rack)


def _family_name(family: Column) -> Column:
    """Return the common prefix of the topic names of a family."""
    return F.concat(F.lit("syn."), _word(family), F.lit("-"), family, F.lit("."))


def _left_out(member: Column, topics: Column) -> Column:
    """Return the position of the topic that a member of an asymmetric group does not subscribe to, -1 for none."""
    return F.when(F.col("asymmetric") & (member > 0), member % F.size(topics)).otherwise(-1)


def _word(number: Column) -> Column:
    return _at(_WORDS, number)


def _at(values: tuple[str, ...] | tuple[int, ...], number: Column) -> Column:
    """Return one of the values, in turn."""
    listed = F.array(*(F.lit(value) for value in values))
    return F.element_at(listed, (F.pmod(number, F.lit(len(values))) + 1).cast("int"))


def _of_thousand(thousandth: Column, table: Mapping[int, int]) -> Column:
    """Return the value of a distribution at a position from 0 to 999."""
    deck = F.flatten(F.array(*(F.array_repeat(F.lit(value), share) for value, share in table.items())))
    return F.element_at(deck, (thousandth + 1).cast("int"))


def _quotient(dividend: Column, divisor: Column) -> Column:
    """Return the integer quotient; `/` would return a fraction."""
    return F.call_function("div", dividend, divisor)
