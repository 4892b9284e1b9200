"""The rows of synthetic fleets: the shapes that they follow, and the expressions that make them up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from assignor.spark.schemas import ASSIGNMENTS, MEMBERS, TOPICS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

CONFIGURED_TOPICS = 361
"""Topics of the configuration's production."""

CONFIGURED_GROUPS = 553
"""Consumer groups that read them."""

TOPIC_NAME_LENGTHS = (5, 33, 67)
"""Shortest, median and longest topic name of the configuration, in characters; between them lengths rise evenly."""

PARTITIONS = {1: 80, 3: 100, 6: 100, 10: 120, 15: 450, 20: 110, 30: 30, 50: 10}
"""Partitions of a topic: of 1,000 topics so many have so many.

Counted are the median 15, the most 50 and 4,556 in all, which is 12.6 a topic; the other numbers are invented to fit.
"""

TOPICS_PER_GROUP = {1: 735, 2: 130, 3: 50, 5: 40, 8: 25, 13: 15, 21: 5}
"""Topics that a group subscribes to: of 1,000 groups so many have so many.

Counted, for each application, are the median 1, the mean 1.85 and the most 21; the other numbers are invented to fit.
"""

MEMBERS_PER_GROUP = {1: 250, 2: 200, 3: 200, 4: 100, 6: 100, 12: 80, 24: 50, 60: 18, 200: 2}
"""Members of a group: of 1,000 groups so many have so many. All of it is invented."""

TOPICS_PER_FAMILY = 8
"""Topics whose names begin alike, so that one pattern matches them. Invented."""

REPLICAS = 3
"""Replicas of a partition, where there are racks. Invented."""

_WORDS = (
    *("acorn", "walrus", "cobalt", "ginger", "nimbus", "teapot", "lilac", "puffin", "quartz", "biscuit", "violet"),
    *("magpie", "saffron", "umbrella", "otter", "juniper", "fiddle", "yarrow", "kettle", "rhubarb", "dune", "zephyr"),
)
_CHAIN = "-".join(_WORDS)
_BEGINNINGS = tuple(_CHAIN.index(word) + 1 for word in _WORDS[:10])


@dataclass(frozen=True, slots=True)
class Maker:
    """The arguments, checked, and the expressions made of them.

    The methods take and give columns; a `number` is a row's place in its DataFrame, from 0, and a `topic` that of a
    topic in its cluster.
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
        """The topics of all clusters."""
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
        """The members of all groups."""
        by_pattern = F.col("pattern").isNotNull()
        topics = F.when(F.col("left_out") < 0, F.col("names")).otherwise(
            F.filter("names", lambda _, position: position != F.col("left_out"))
        )
        groups = self._groups().withColumn("names", F.col("wanted.topic")).drop("wanted")
        each = groups.select("*", F.explode(F.sequence(F.lit(0), F.col("members") - 1)).alias("member"))
        return (
            each.withColumn("left_out", _left_out(F.col("member"), F.col("names")))
            .withColumn("group_instance_id", self._group_instance_id(F.col("member")))
            .select(
                "cluster",
                "group_id",
                self._member_id(F.col("member"), F.col("group_instance_id")).alias("member_id"),
                "group_instance_id",
                self._rack(F.col("member")).alias("rack"),
                F.when(~by_pattern, topics).alias("topics"),
                "pattern",
                F.when(by_pattern, F.when(F.col("librdkafka"), "librdkafka").otherwise("java")).alias("dialect"),
            )
            .to(MEMBERS)
        )

    def current(self) -> DataFrame:
        """What the members have."""

        def consumer(member: Column) -> Column:
            static = self._group_instance_id(member)
            return F.struct(
                # Range takes static members first, by instance id, and then the others by member id.
                static.isNull().alias("dynamic"),
                F.coalesce(static, F.lit("")).alias("group_instance_id"),
                self._member_id(member, static).alias("member_id"),
                _left_out(member, F.col("wanted")).alias("left_out"),
            )

        last = F.col("members") - F.when(F.col("stale"), 2).otherwise(1)
        return (
            self._groups()
            .select(
                "cluster",
                "group_id",
                "wanted",
                F.sort_array(F.transform(F.sequence(F.lit(0), last), consumer)).alias("members"),
            )
            .select("cluster", "group_id", "members", F.posexplode("wanted").alias("position", "wanted"))
            .withColumn("members", F.filter("members", lambda member: member["left_out"] != F.col("position")))
            .withColumn("consumers", F.size("members"))
            .select(
                "*",
                # Only so many can have a partition.
                F.posexplode(F.slice("members", F.lit(1), F.col("wanted.partitions"))).alias("rank", "member"),
            )
            .withColumn("each", _quotient(F.col("wanted.partitions"), F.col("consumers")).cast("int"))
            .withColumn("extra", F.col("wanted.partitions") % F.col("consumers"))
            .select(
                "cluster",
                "group_id",
                "member.member_id",
                "wanted.topic",
                (F.col("rank") * F.col("each") + F.least("rank", "extra")).alias("start"),
                (F.col("each") + F.when(F.col("rank") < F.col("extra"), 1).otherwise(0)).alias("count"),
            )
            .to(ASSIGNMENTS)
        )

    def _groups(self) -> DataFrame:
        """One row per group, with all that its members have in common."""
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
            # A step of its own: within one lambda everything would be computed wherever it is used.
            beginning = _family_name(_quotient(topic, F.lit(TOPICS_PER_FAMILY)))
            return F.struct(topic.alias("number"), self._name_length(topic).alias("length"), beginning.alias("family"))

        def named(topic: Column) -> Column:
            return F.struct(
                self._topic_name(topic["number"], topic["length"], topic["family"]).alias("topic"),
                self._partitions(cluster, topic["number"]).alias("partitions"),
            )

        def topics_of(numbers: Column) -> Column:
            return F.transform(F.transform(numbers, measured), named)

        in_succession = F.transform(
            F.sequence(F.lit(0), F.col("topic_count") - 1), lambda further: (F.col("first") + further) % topic
        )
        in_family = F.sequence(
            F.col("family") * TOPICS_PER_FAMILY,
            F.least((F.col("family") + 1) * TOPICS_PER_FAMILY, topic) - 1,
        )
        numbers = F.when(by_pattern, in_family).otherwise(in_succession)
        wanted = F.filter(
            topics_of(numbers), lambda each: ~by_pattern | F.startswith(each["topic"], _family_name(F.col("family")))
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
            wanted.alias("wanted"),
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
        # From the end, so that places before stay as they are; a random UUID has its version, 4, and its variant.
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
        """A name of that length, or as long as its number needs; `family` is how it begins if there is room."""
        end = F.concat(F.lit("."), topic)
        beginning = F.when(F.length(family) + F.length(end) + 3 <= length, family).otherwise(F.lit("syn."))
        room = length - F.length(beginning) - F.length(end)
        words = F.substring(F.lit(_CHAIN), _at(_BEGINNINGS, self._hash("words", topic)), room.cast("int"))
        # A word cut off right after a hyphen ends in something else.
        body = F.regexp_replace(words, "-$", "s")
        return F.when(room > 0, F.concat(beginning, body, end)).otherwise(F.concat(F.lit("syn"), end))

    def _hash(self, purpose: str, *of: Column) -> Column:
        return F.xxhash64(F.lit(self.seed).cast("long"), F.lit(purpose), *(each.cast("long") for each in of))

    def _thousandth(self, purpose: str, *of: Column) -> Column:
        return F.pmod(self._hash(purpose, *of), F.lit(1000))

    def _is(self, purpose: str, *of: Column) -> Column:
        """Whether it is one of the share that has this."""
        return F.pmod(self._hash(purpose, *of), F.lit(1_000_000)) < round(1_000_000 * self.shares[purpose])

    def _dealt(self, purpose: str, part: float, cluster: Column, topic: Column) -> Column:
        """A thousandth for each topic of a cluster: dealt and not drawn, each as often as any other.

        `part` tells topics and purposes apart: a step of that part of the topics, without a common divisor, comes by
        each of them once.
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
    """How the names of the topics of a family begin."""
    return F.concat(F.lit("syn."), _word(family), F.lit("-"), family, F.lit("."))


def _left_out(member: Column, topics: Column) -> Column:
    """Position of the topic to which a member of an asymmetric group does not subscribe, -1 for none."""
    return F.when(F.col("asymmetric") & (member > 0), member % F.size(topics)).otherwise(-1)


def _word(number: Column) -> Column:
    return _at(_WORDS, number)


def _at(values: tuple[str, ...] | tuple[int, ...], number: Column) -> Column:
    """One of the values, by turns."""
    listed = F.array(*(F.lit(value) for value in values))
    return F.element_at(listed, (F.pmod(number, F.lit(len(values))) + 1).cast("int"))


def _of_thousand(thousandth: Column, table: Mapping[int, int]) -> Column:
    """The value of the table in whose part the thousandth lies."""
    deck = F.flatten(F.array(*(F.array_repeat(F.lit(value), share) for value, share in table.items())))
    return F.element_at(deck, (thousandth + 1).cast("int"))


def _quotient(dividend: Column, divisor: Column) -> Column:
    """The whole part of the quotient: `/` would give a fraction."""
    return F.call_function("div", dividend, divisor)
