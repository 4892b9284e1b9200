"""Cases that show defects of Kafka's assignors: the input, Kafka's answer, and the engine's.

They are the groups among the examples of `tests/conformance/deviations.json`. Each case is minimal. `docs/decisions.md`
explains why the engine's answer differs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.assign.simulated_groups import sticky_user_data
from tests.conformance.deviations import DEVIATIONS

Json = dict[str, Any]
Shares = dict[str, str]
"""Partitions by member as text, such as `t0 t1 u0`: the one-letter name of each partition's topic, and its id."""


class Given(NamedTuple):
    """Member: its topics as letters, its owned partitions, and their generation."""

    topics: str
    owned: str = ""
    generation: int = -1


class Defect(NamedTuple):
    """Defect of Kafka.

    Attributes:
        kinds: The assignors with the defect, by their names in the vectors.
        topics: Number of partitions of each topic.
        members: The members in the order of the subscriptions.
        kafka: Kafka's answer, or the class of its exception, or `endless`, or `not determined`.
        ours: The engine's answer, or the name of its error; for cooperative-sticky, the partitions given in this
            rebalance.
        cooperative: Kafka's answer and the engine's for cooperative-sticky, if they differ from those for sticky.
        topic_ids: Id of each topic; by default the ids are 1, 2, ...
        after: Topics and members of an earlier call of the same object of Kafka's class.
    """

    kinds: tuple[str, ...]
    topics: dict[str, int]
    members: dict[str, Given]
    kafka: Shares | str
    ours: Shares | str
    cooperative: tuple[Shares | str, Shares | str] | None = None
    topic_ids: dict[str, str] | None = None
    after: Json | None = None

    def answers(self, kind: str) -> tuple[Shares | str, Shares | str]:
        """Return Kafka's answer and the engine's."""
        return self.cooperative if self.cooperative and kind == "cooperative_sticky" else (self.kafka, self.ours)


def entries(shares: str) -> list[list[Any]]:
    """Return partitions in the format of the vectors."""
    return [[each[0], int(each[1:])] for each in shares.split()]


def question(defect: Defect, kind: str) -> Json:
    """Return the case for one assignor, in the format of the vectors, without the earlier call."""
    found = [_member(member, given, kind) for member, given in defect.members.items()]
    topics: Any = defect.topics
    if kind.startswith(("server_", "share_")):
        ids = defect.topic_ids or {
            topic: f"00000000-0000-0000-0000-{number:012d}" for number, topic in enumerate(defect.topics, start=1)
        }
        topics = [{"name": topic, "id": ids[topic], "partitions": count} for topic, count in defect.topics.items()]
    return {"assignor": kind, "topics": topics, "members": found}


def earlier_question(defect: Defect, kind: str) -> Json | None:
    """Return the case of the earlier call; None without one."""
    if defect.after is None:
        return None
    members = {member: Given(**given) for member, given in defect.after["members"].items()}
    return question(defect._replace(topics=defect.after["topics"], members=members), kind)


def _member(member: str, given: Given, kind: str) -> Json:
    owned, generation = entries(given.owned), given.generation
    found: Json = {"member_id": member, "topics": list(given.topics)}
    if kind.startswith(("server_", "share_")):
        found["assigned"] = owned
    elif kind == "cooperative_sticky":
        found |= {"owned": owned, "generation": generation}
    elif kind == "sticky":
        claimed = None if generation < 0 else generation
        found |= {"owned": [], "generation": generation, "previous": {"partitions": owned, "generation": claimed}}
        if owned or generation >= 0:
            found["user_data"] = sticky_user_data(owned, claimed).hex()
    return found


def _defect(kinds: tuple[str, ...], data: Json) -> Defect:
    fields = dict(data)
    members = {member: Given(**given) for member, given in fields.pop("members").items()}
    cooperative = fields.pop("cooperative", None)
    both = (cooperative["kafka"], cooperative["ours"]) if cooperative else None
    return Defect(kinds, members=members, cooperative=both, **fields)


DEFECTS = {each.case: _defect(each.assignors, each.data) for each in DEVIATIONS if each.example == "group"}
"""Defects by their effect in Kafka."""
