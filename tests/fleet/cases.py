"""Groups with rare features, and scenarios; the answers of all methods equal those for each group alone."""

from __future__ import annotations

from typing import Any

from tests.fleet.columns import Racks, Row, cluster, group, member
from tests.fleet.strategies import Fleet, Step

RACKS: Racks = [["r0"], ["r0", "r1"], [None], [], None, ["r2"], [""]]
TOPICS = cluster({"t": 6, "u": 2, "v": 6, "w": 5, "racks": RACKS, "turns": [["r0"], ["r1"]], "～": 1, "😀": 2, "": 1})
IDS = {"t": "AAAAAAAAAAAAAAAAAAAADw", "u": "AAAAAAAAAAAAAAAAAAAAAQ", "v": "AAAAAAAAAAAAAAAAAAAABw"}
WITH_IDS = {**TOPICS, "topics": [{**row, "topic_id": IDS.get(row["topic"])} for row in TOPICS["topics"]]}
PATTERNS = (
    *((None, "t.*"), ("java", ".*"), ("re2j", ".*"), ("librdkafka", "t"), ("librdkafka", "^t"), ("python", "t")),
    *(("java", "t|new"), ("java", "none")),
)
NO_TOPICS: tuple[list[str] | None, ...] = (None, [])
ASSIGNORS = (
    *(("classic", name) for name in ("range", "roundrobin", "sticky", "cooperative-sticky", "stream")),
    *(("consumer", name) for name in ("uniform", "range")),
    ("share", "simple"),
)


def ids(*names: str, assignor: str = "sticky", protocol: str = "classic", **columns: Any) -> list[Row]:
    """Return members that subscribe to t and u."""
    named = {"assignor": assignor, "group_protocol": protocol, "topics": ["t", "u"]}
    return [member(name, **(named | columns)) for name in names]


def static(id: str, instance_id: str, *topics: str, **columns: Any) -> Row:
    """Return a static member."""
    return member(id, *topics, group_instance_id=instance_id, **columns)


GROUPS: dict[str, list[Row]] = {
    "clusters": [group(member("a", "t", "u"), member("b", pattern=".*"), cluster=name) for name in ("c", "d", "e")],
    "patterns": [group(member("a", pattern=text, dialect=dialect), member("b", "t")) for dialect, text in PATTERNS],
    "names": [group(member("a", "z", "～", "t", "😀", "t", "y"), member("b", "y", "z", rack=""))],
    "instance ids": [group(member("a", "t"), static("z", "x", "t"), static("y", "x", "t"), static("b", "", "t"))],
    "racks": [group(member("a", "racks", rack=rack)) for rack in ("r0", "far", "", None)],
    "rows without a key": [
        group(member("a", "t"), member(None, "t"), None),
        *(group(member("a", "t"), member("a", "u"), member(None), **key) for key in ({"id": None}, {"cluster": None})),
        group(id=None),
        group(),
    ],
    "no subscription": [group(member("a", "t"), member("b", topics=topics), member("c")) for topics in NO_TOPICS],
    "equal loads": [
        group(member("a", "t"), static("b", "y", "t"), static("c", "x", "t")),
        group(member("b", "t"), member("a", "t", "u")),
    ],
    "co-partitioned topics": [
        group(member("a", "t", "u", "v", "w"), member("b", "t", "v"), member("c", "v")),
        group(member("a", "t", "v"), member("b", "t", "v")),
        group(member("a", "t"), member("b", "v")),
        group(member("b", "u", "turns", "～", ""), static("a", "", "u", "～")),
    ],
    "partitions of two members": [
        group(*ids("a", "b", assignor=name), current=[("a", "t", 0, 3), ("b", "t", 2, 2), ("b", "t", 3, 1), *more])
        for name in ("range", "sticky", "stream")
        for more in ([], [("b", "u", 0, 2), ("a", "u", 0, 1)], [("a", "t", 5, 1), ("c", "t", 2, 2), ("c", "t", 2, 1)])
    ],
    "owners without a row": [
        group(member("b", "t"), current=[("z", "u", 0, 2), ("a", "u", 1, 1), (None, "t", 0, 1), ("a", None, 0, 1)]),
        group(current=[("a", "t", 0, 6), ("b", "t", 5, 1)]),
    ],
    "partitions that do not exist": [
        group(
            member("a", "t"), current=[("a", "beyond", 0, 99), ("a", "t", 3, 90), ("a", "u", 2, 1), ("b", "s", 1, 1)]
        ),
        group(*ids("a", "b"), current=[("gone", "t", 0, 3), ("a", "beyond", 0, 9), ("b", "t", 6, 9), ("b", "t", 0, 3)]),
    ],
    "long runs": [
        group(
            *ids("a", "b"),
            current=[
                ("a", "", 0, 2**31 - 1),
                ("a", "t", 3, 2**31 - 4),
                ("b", "t", 6, 2**31 - 6),
                ("b", "t", 2**31 - 1, 1),
            ],
        )
    ],
    "moves": [
        group(*ids("a", "b", assignor="range", topics=["t"]), current=runs)
        for runs in (
            [],
            [("b", "t", 3, 3), ("a", "t", 2, 1), ("a", "t", 0, 2), ("a", "t", 1, 1)],
            [("a", "t", 0, 2), ("b", "t", 4, 2)],
            [("b", "t", 0, 1), ("a", "t", 3, 1), ("b", "t", 1, 2), ("a", "t", 4, 2)],
            [("a", topic, 0, 1) for topic in ("～", "z", "😀", "", "A")],
        )
    ],
    "owned partitions": [
        group(*ids("c", "a", "b", assignor=name, protocol=protocol, generation=3), current=runs)
        for protocol, name in ASSIGNORS
        for runs in ([("a", "t", 0, 6), ("b", "u", 0, 1)], [("b", "t", 0, 3), ("a", "t", 3, 3), ("a", "u", 1, 1)])
    ],
    "generations": [
        group(*ids("a", generation=one), *ids("b", generation=other), current=[("a", "t", 0, 3), ("b", "t", 0, 3)])
        for one, other in ((5, 4), (4, 5), (0, -1), (None, 0))
    ],
    "share groups": [
        group(
            member("a", "t", group_protocol="share"),
            member("b", *topics, group_protocol="share"),
            *(member(name, "u", "t", group_protocol="share", rack="r0") for name in more),
            current=current,
        )
        for topics in (["u", "t"], ["t"], ["gone"])
        for more in ("", "c", "cdefgh")
        for current in (
            [],
            [("a", "t", 0, 6), ("b", "t", 1, 3), ("b", "v", 0, 2), ("a", "v", 1, 1), ("a", "gone", 7, 2)],
            [("a", "t", 4, 4), ("b", "u", 0, 3), ("z", "u", 0, 1), ("b", "gone", 1, 1)],
        )
    ],
    "names of assignors": [
        group(*ids("a", protocol="consumer", assignor="range"), member("b", "t")),
        group(member("a", "t", group_protocol="consumer"), member("b", "t")),
        group(member("a", "t", assignor="range"), member("b", "t", assignor="range", group_protocol="consumer")),
    ],
    "loads": [
        group(
            member("a", "turns", "u", rack="r1", assignor=name),
            static("b", "x", "turns", "gone", rack="r0", assignor=name),
            member("c", assignor=name),
            member(None, "t"),
            current=[("a", "turns", 0, 2), ("a", "u", 1, 1), ("b", "turns", 1, 1)],
        )
        for name in (None, "range", "sticky", "stream")
    ],
    "records": [
        group(*ids("a", rack="r1", assignor=name, topics=["t"]), *ids("b", assignor=name), current=[("a", "t", 0, 3)])
        for name in ("range", "roundrobin", "sticky", "cooperative-sticky")
    ],
}

FLEETS = {
    **{name: Fleet([TOPICS, cluster({"t": 1, "u": 1}, "d")], rows) for name, rows in GROUPS.items()},
    "topic ids": Fleet([WITH_IDS], [group(*ids("a", "b", "c", protocol="consumer", assignor="uniform"))]),
}
"""Fleets without scenarios."""

MORE, LESS, RESTART = ("add_members", 1), ("remove_members", 1), ("rolling_restart", None)
DOUBLE, STATIC, NEW = ("multiply_partitions", 2), ("make_static",), ("add_topic", "new", 4)
UNIFORM, COOPERATIVE = ("use", "uniform", "consumer"), ("use", "cooperative-sticky", "classic")

SCENARIOS: list[list[Step]] = [
    *([], [MORE, LESS, DOUBLE], [MORE, DOUBLE, LESS, STATIC], [RESTART], [("rolling_restart", False), MORE]),
    *([LESS, ("grow_partitions", "u", 9)], [("add_members", 4)], [NEW], [NEW, RESTART], [NEW, DOUBLE]),
    *([MORE, STATIC, STATIC, ("set_racks", ["r"])], [STATIC, RESTART, STATIC], [("add_topic", "u", 1)]),
    *([("set_racks", racks)] for racks in (["r1", "r0"], ["r0", "r1", "r2"], ["r0"])),
    *([("multiply_partitions", 3)], [("grow_partitions", "turns", 5)], [MORE, ("grow_partitions", "u", 4)]),
    *([UNIFORM], [COOPERATIVE], [UNIFORM, COOPERATIVE, MORE], [COOPERATIVE, UNIFORM, RESTART]),
    *([NEW, DOUBLE, UNIFORM, ("add_topic", "turnover", 2)], [UNIFORM, LESS, ("use", "range", "classic"), NEW]),
]

CHANGED: dict[str, Row] = {
    "no members": group(member(None)),
    "a most frequent subscription": group(
        *(member("a", "t"), member("b", "t", rack="r"), member("c", "u"), member("d"), member(None))
    ),
    "equal subscriptions": group(
        *(member("a", "t", "u"), member("b", "u", "t"), member("c", "t"), member("d", "t"), member("e", "u", "t", "u"))
    ),
    "static members": group(static("a", "z", "t"), static("b", "y", "t")),
    "a static member": group(member("a", "t"), static("b", "x", "t")),
    "racks": group(member("a", "turns", rack="r0"), member("b", "turns", rack="r1")),
    "a static member with racks": group(member("a", "turns"), static("b", "x", "turns")),
    "topics of one member": group(member("a", "t"), member("b", "u", "gone")),
    "patterns": group(member("a", pattern="t|new"), member("b", pattern="t"), member("c"), member("d", "new")),
    "patterns of librdkafka": group(
        member("a", "^t", dialect="librdkafka"),
        member("b", "u", "^t.*", "^n", dialect="librdkafka"),
        member("c", "^t", dialect="librdkafka"),
        member("d", r"^(t)\1?$", dialect="librdkafka"),
        member("e", "^new", "^turn.*", pattern="u", dialect="librdkafka"),
        member("f", "^O1|^[oO]", "^t", dialect="librdkafka"),
    ),
    "patterns of all dialects": group(
        *(member(dialect, "u", pattern="t", dialect=dialect) for dialect in ("java", "re2j", "librdkafka", "python")),
        member("names", "t"),
    ),
    "patterns of a group of the consumer protocol": group(
        member("a", "^t", dialect="librdkafka", group_protocol="consumer"),
        member("b", pattern="t", dialect="re2j", group_protocol="consumer"),
        member("c", pattern="t", dialect="python", group_protocol="consumer"),
    ),
    "patterns of an unknown assignor": group(
        member("a", "^t", dialect="librdkafka", group_protocol="consumer", assignor="own"),
        member("b", "t", group_protocol="classic"),
    ),
    **{
        f"{protocol} {name}": group(*ids("a", "b", assignor=name, protocol=protocol), current=[("a", "t", 0, 6)])
        for protocol, name in ASSIGNORS
    },
}
"""Groups that each of the scenarios changes."""
FLEETS |= {
    f"{name} in scenarios": Fleet([TOPICS], [row], [(str(place), None, steps) for place, steps in enumerate(SCENARIOS)])
    for name, row in CHANGED.items()
}

STEPS: list[list[Step]] = [
    *([("add_members", count)] for count in (0, 1)),
    *([("remove_members", count)] for count in (0, 1, 2, 2**32 - 1)),
    *([("multiply_partitions", factor)] for factor in (0, 1, 2)),
    *([("grow_partitions", topic, count)] for topic, count in (("t", 8), ("t", 5), ("u", 8), ("none", 8))),
    *([("set_racks", racks)] for racks in ([], ["r"])),
    *([("add_topic", topic, count)] for topic, count in (("new", 3), ("new", 0), ("u", 99), ("t", 99))),
    [STATIC],
    *([("rolling_restart", is_static)] for is_static in (None, False, True)),
    # Each step starts from the partition counts after the previous step.
    *([DOUBLE, step] for step in (("multiply_partitions", 3), ("multiply_partitions", 0), ("add_topic", "new", 3))),
    *([DOUBLE, ("grow_partitions", "t", count)] for count in (13, 11)),
    *([("grow_partitions", "t", 7), DOUBLE], [("grow_partitions", "t", 10), ("grow_partitions", "t", 8)]),
    *([NEW, ("grow_partitions", "new", 5)], [NEW, ("add_topic", "new", 9)], [("add_topic", "u", 3), DOUBLE]),
    # Other assignors and protocols, and steps after the switch.
    *([("use", name, protocol)] for protocol, name in ASSIGNORS if name != "stream"),
    *(
        [UNIFORM, step]
        for step in (UNIFORM, ("use", "range", "classic"), MORE, LESS, ("rolling_restart", True), RESTART)
    ),
]
IDS_OF_CLIENTS = ("app-8c9f0b1e-6f0e-4e5c-9d0a-3b8f6f7f2a11", "app-8c9f0b1e-6f0e", "app", "")
FLEETS |= {
    "steps": Fleet(
        [TOPICS],
        [group(member("a", "t"), member("b", "t")), group(member("a", "w", "～"), member("b", "w", "～"), id="uneven")],
        [(str(place), None, steps) for place, steps in enumerate(STEPS)],
    ),
    "restarted clients": Fleet(
        [TOPICS],
        [group(member(name, "t"), id=id) for name in IDS_OF_CLIENTS for id in ("g", "h")],
        [("restart", None, [RESTART])],
    ),
    "scenarios of some groups": Fleet(
        [TOPICS],
        [group(member("a", "t"), id=id) for id in ("g", "h", "", None)],
        [("all", None, []), ("none", [], []), ("one", ["h", "x"], [MORE]), ("unnamed", [""], [])],
    ),
}
