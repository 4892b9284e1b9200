"""Random groups at the edge of Kafka's classes: long lives, skewed subscriptions, and keys with equal hash codes.

Members miss rounds, so that claims are old. They change their subscriptions, racks and instance ids. Names and topic
ids often have one hash code: nine of them in a bucket of a Java hash table become a tree. In some share groups, many
partitions share a bucket: if they have equal hash codes, Kafka's answer is not determined.
"""

from __future__ import annotations

from tests.assign.simulated_groups import RACKS, Json, SimulatedGroup
from tests.conformance.assignor_vectors import DEFECTS

BLOCKS = ("Aa", "BB")
"""Strings of one hash code, and so are all strings of the same number of these blocks."""


def colliding_name(number: int, blocks: int = 7) -> str:
    """Return one of 2**blocks distinct names with the same hash code."""
    return "".join(BLOCKS[number >> place & 1] for place in range(blocks))


def colliding_id(high: int, word: int, code: int) -> int:
    """Return a topic id with a given hash code.

    Args:
        high: High 64 bits of the id.
        word: Any 32-bit number, from which the low bits are made.
        code: Hash code, a 32-bit number.
    """
    return high << 64 | high ^ (word << 32 | word ^ code)


def crowding_code(code: int, number: int) -> int:
    """Return a hash code of a topic id whose partitions share a bucket with those of other numbers below 2**16.

    A pair of topic id and partition has 31 times the hash code of the id, plus the partition. Its bucket depends on the
    low bits of the hash code, XORed with its high half.
    """
    return (code ^ (number << 16 | number)) * pow(31, -1, 2**32) % 2**32


class EdgeGroup(SimulatedGroup):
    """Group with old claims, few common topics, and keys with equal hash codes."""

    missing = 0.15
    first_topics = (3, 3, 5, 9, 11, 13, 16, 24)
    first_members = (1, 2, 3, 6, 6, 12, 24)
    name = "edge "

    def _draw_shape(self) -> None:
        self._style = self._random.choice(["all", "all", "skewed", "skewed", "classes", "overlap", "random"])
        self._most_partitions = self._random.choice([1, 2, 4, 8])
        self._colliding = {what for what in ("ids", "topics", "members") if self._random.random() < 0.5}
        self._code = self._random.getrandbits(32)
        self._equal_ids = self._random.choice([1, 6, 2**7]) if self.is_share else 2**7

    def _take(self, case: Json) -> None:
        """Give the members the partitions of Kafka's answer, unless it shows a defect, which would stay for ever."""
        if self.is_share or not DEFECTS.intersection(case["tags"]):
            super()._take(case)

    def _happen(self) -> None:
        events = [self._join, self._leave, self._restart, self._resubscribe, self._resubscribe, self._resubscribe]
        events += [self._create_topic, self._grow_topic, self._delete_topic, self._move, self._change_instance]
        self._random.choice(events)()

    def _move(self) -> None:
        """Move a member to another rack."""
        if self._has_racks:
            self._random.choice(self.members).rack = self._random.choice([*RACKS, "elsewhere", None])

    def _change_instance(self) -> None:
        """Give a member an instance id, another one, or none."""
        if self._has_statics:
            self._number += 1
            self._random.choice(self.members).instance_id = self._random.choice([None, f"i{self._number}"])

    def _subscription(self) -> list[str]:
        if self._style != "skewed":
            return super()._subscription()
        topics = list(self.counts)
        if self._random.random() < 0.2:
            return topics
        return self._random.sample(topics[:4], min(len(topics), self._random.choice([0, 1, 1, 1, 2, 3]), 4))

    def _new_topic(self) -> str:
        if "topics" in self._colliding and len(self.ids) < 2**7:
            return colliding_name(len(self.ids))
        return super()._new_topic()

    def _new_topic_id(self) -> int:
        if "ids" in self._colliding and self._random.random() < 0.9:
            number = len(self.ids) // self._equal_ids
            code = crowding_code(self._code, number) if self.is_share else self._code
            return colliding_id(self._random.getrandbits(64), self._random.getrandbits(32), code)
        return super()._new_topic_id()

    def _new_id(self) -> str:
        if "members" in self._colliding and self._number < 2**7:
            self._number += 1
            return colliding_name(self._number - 1)
        return super()._new_id()
