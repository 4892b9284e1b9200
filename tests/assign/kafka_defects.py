"""Cases that show defects of Kafka's assignors: the input, Kafka's answer, and the engine's.

Each case is minimal. `docs/decisions.md` explains why the engine's answer differs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.assign.simulated_groups import sticky_user_data

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
        kafka: Kafka's answer, or the class of its exception, or `endless`.
        ours: The engine's answer; for cooperative-sticky, the partitions given in this rebalance.
        cooperative: Kafka's answer and the engine's for cooperative-sticky, if they differ from those for sticky.
    """

    kinds: tuple[str, ...]
    topics: dict[str, int]
    members: dict[str, Given]
    kafka: Shares | str
    ours: Shares
    cooperative: tuple[Shares | str, Shares] | None = None

    def answers(self, kind: str) -> tuple[Shares | str, Shares]:
        """Return Kafka's answer and the engine's."""
        return self.cooperative if self.cooperative and kind == "cooperative_sticky" else (self.kafka, self.ours)


def entries(shares: str) -> list[list[Any]]:
    """Return partitions in the format of the vectors."""
    return [[each[0], int(each[1:])] for each in shares.split()]


def question(defect: Defect, kind: str) -> Json:
    """Return the case for one assignor, in the format of the vectors."""
    members = []
    for member, given in defect.members.items():
        owned, generation = entries(given.owned), given.generation
        found: Json = {"member_id": member, "topics": list(given.topics)}
        if kind.startswith("server_"):
            found["assigned"] = owned
        elif kind == "cooperative_sticky":
            found |= {"owned": owned, "generation": generation}
        elif kind == "sticky":
            claimed = None if generation < 0 else generation
            found |= {"owned": [], "generation": generation, "previous": {"partitions": owned, "generation": claimed}}
            if owned or generation >= 0:
                found["user_data"] = sticky_user_data(owned, claimed).hex()
        members.append(found)
    topics: Any = defect.topics
    if kind.startswith("server_"):
        ids = (f"00000000-0000-0000-0000-{number:012d}" for number in range(1, len(topics) + 1))
        topics = [
            {"name": topic, "id": id, "partitions": count}
            for (topic, count), id in zip(defect.topics.items(), ids, strict=True)
        ]
    return {"assignor": kind, "topics": topics, "members": members}


STICKY = ("sticky", "cooperative_sticky")
UNIFORM = ("server_uniform",)
ILLEGAL_STATE = "java.lang.IllegalStateException"
NULL_POINTER = "java.lang.NullPointerException"
UNASSIGNED = "org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException"

DEFECTS = {
    "a member without topics gets partitions if it comes first": Defect(
        STICKY,
        {"t": 4},
        {"a": Given(""), "b": Given("t")},
        {"a": "t0 t2", "b": "t1 t3"},
        {"a": "", "b": "t0 t1 t2 t3"},
    ),
    "a list that names a topic twice counts as another set of topics": Defect(
        STICKY,
        {"t": 2, "u": 2},
        {"a": Given("tu"), "b": Given("tt")},
        {"a": "t0 u0", "b": "t1 u1"},
        {"a": "u0 u1", "b": "t0 t1"},
    ),
    "a partition goes back to an owner that no longer subscribes": Defect(
        STICKY,
        {"t": 6, "u": 2},
        {"a": Given("t", "t0 t1 t2 t3 t4 t5", 5), "b": Given("tu", "", 5), "c": Given("u", "t0 t1 t2 t3 t4 t5", 4)},
        {"a": "t3 t4 t5", "b": "t2 u0", "c": "t0 t1 u1"},
        {"a": "t3 t4 t5", "b": "t0 t1 t2", "c": "u0 u1"},
        ({"a": "t3 t4 t5", "b": "u0", "c": "t0 t1 u1"}, {"a": "t3 t4 t5", "b": "", "c": "u0 u1"}),
    ),
    "an earlier owner that takes no part in balancing makes the assignment fail": Defect(
        STICKY,
        {"t": 6, "u": 2, "v": 1},
        {"a": Given("t", "t0 t1 t2 t3 t4 t5", 5), "b": Given("t", "", 5), "c": Given("v", "t0 t1 t2 t3 t4 t5", 4)},
        NULL_POINTER,
        {"a": "t3 t4 t5", "b": "t0 t1 t2", "c": "v0"},
        (NULL_POINTER, {"a": "t3 t4 t5", "b": "", "c": "v0"}),
    ),
    "a claimed partition that does not exist is kept": Defect(
        STICKY,
        {"t": 4},
        {"a": Given("t", "t0 t9", 1), "b": Given("t", "t1", 1)},
        {"a": "t0 t9", "b": "t1 t2 t3"},
        {"a": "t0 t2", "b": "t1 t3"},
    ),
    "claimed partitions that do not exist make the assignment fail": Defect(
        STICKY,
        {"t": 4},
        {"a": Given("t", "t0 t9", 1), "b": Given("t", "t1 t2 t8", 1)},
        ILLEGAL_STATE,
        {"a": "t0 t3", "b": "t1 t2"},
    ),
    "a claimed partition that does not exist is kept where subscriptions differ": Defect(
        STICKY,
        {"t": 4, "u": 2},
        {"a": Given("tu", "t0 t9", 1), "b": Given("t", "t1", 1)},
        {"a": "t0 t9 u0 u1", "b": "t1 t2 t3"},
        {"a": "t0 u0 u1", "b": "t1 t2 t3"},
    ),
    "balancing returns to an earlier state and does not end": Defect(
        STICKY,
        {"t": 10, "u": 7, "v": 4},
        {
            "m0": Given("tv", "t0 t1 t3 t4 t5 v0 v2", 5),
            "m1": Given("u", "u0 u3 u5 u6", 5),
            "m2": Given("u", "u1 u2 u4", 5),
            "m3": Given("tv", "t2 t6 t7 t8 t9 v1 v3", 5),
            "m4": Given("", "", 5),
            "m5": Given("uv", "", 5),
        },
        "endless",
        {
            "m0": "t0 t1 t3 t4 t5",
            "m1": "u0 u1 u5 u6",
            "m2": "u2 u3 u4",
            "m3": "t2 t6 t7 t8 t9",
            "m4": "",
            "m5": "v0 v1 v2 v3",
        },
        (
            "endless",
            {
                "m0": "t0 t1 t3 t4 t5",
                "m1": "u0 u5 u6",
                "m2": "u2 u4",
                "m3": "t2 t6 t7 t8 t9",
                "m4": "",
                "m5": "",
            },
        ),
    ),
    "a group without members makes a sticky assignment fail": Defect(
        STICKY, {"t": 4}, {}, "java.lang.ArithmeticException", {}
    ),
    "a group without members makes a round-robin assignment fail": Defect(
        ("roundrobin",), {"t": 4}, {}, "java.lang.IllegalArgumentException", {}
    ),
    "a partition with two owners leaves partitions without owner": Defect(
        UNIFORM,
        {"t": 4},
        {"a": Given("t", "t0 t1"), "b": Given("t", "t1")},
        UNASSIGNED,
        {"a": "t0 t2", "b": "t1 t3"},
    ),
    "a partition with two owners keeps both where subscriptions differ": Defect(
        UNIFORM,
        {"t": 4, "u": 1},
        {"a": Given("t", "t0 t1"), "b": Given("tu", "t1")},
        {"a": "t0 t1 t3", "b": "t1 t2 u0"},
        {"a": "t0 t3", "b": "t1 t2 u0"},
    ),
    "a partition of the target that does not exist leaves partitions without owner": Defect(
        UNIFORM,
        {"t": 4},
        {"a": Given("t", "t0 t9"), "b": Given("t", "t1")},
        UNASSIGNED,
        {"a": "t0 t2", "b": "t1 t3"},
    ),
    "a partition of the target that does not exist makes the assignment fail where subscriptions differ": Defect(
        UNIFORM,
        {"t": 4, "u": 1},
        {"a": Given("t", "t0 t9"), "b": Given("tu", "t1")},
        "java.lang.ArrayIndexOutOfBoundsException",
        {"a": "t0 t2", "b": "t1 t3 u0"},
    ),
}
"""Defects by their effect in Kafka."""

EARLIER = {
    "assignor": "cooperative_sticky",
    "topics": {"t": 1},
    "members": [{"member_id": "a", "topics": ["t"], "owned": [], "generation": 1000}],
}
"""A case with a high generation, which Kafka's sticky assignors remember for all later calls."""

LATER = Defect(
    ("cooperative_sticky",),
    {"t": 1, "u": 1},
    {"a": Given("tu", "u0", 2), "b": Given("u", "", 2), "c": Given("u", "u0", 1)},
    {"a": "t0", "b": "", "c": ""},
    {"a": "t0", "b": "", "c": "u0"},
)
"""A group whose assignment changes if Kafka's assignor has seen a higher generation before."""
