"""Hypothesis strategies for fleets: clusters with racks, groups of all kinds, current assignments, and scenarios.

The few names cause collisions: topics that only some clusters have, members with equal instance ids, and subscriptions
that differ in their order only. Some drawn values are invalid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import strategies as st

from tests.fleet.columns import Row, cluster, group

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Draw = Any
Step = tuple[Any, ...]
Scenario = tuple[str, list[str] | None, list[Step]]

NAMES = ("t", "u", "v", "tu", "__consumer_offsets", "é", "～", "😀", "")
RACKS = ("r0", "r1", "r2", "")
IDS = ("a", "b", "é", "～", "😀", "", "app-8c9f0b1e-6f0e-4e5c-9d0a-3b8f6f7f2a11", "app-8c9f0b1e-6f0e")
PATTERNS = (".*", "t.*", "(t|u)", "^t", "[^t]+", "", "v")
LISTED = ("^t", "^t.*", "^.*u", r"^(t)\1?$", "^[^t]", "^O1|^[oO]")
"""Patterns in a list of librdkafka. The broker matches some of them differently, or rejects them."""

WRONG_PATTERNS = ("(", "*", r"(?<x>a)\k<x>", "[a")
ASSIGNORS = (
    *((name, None) for name in (None, "range", "roundrobin", "sticky", "cooperative-sticky", "stream")),
    *((name, "consumer") for name in (None, "range", "uniform", "sticky")),
    ("range", "share"),
)
"""Names of assignor and group protocol in the rows of a group."""

TOPIC_IDS = ("AAAAAAAAAAAAAAAAAAAAAQ", "O2a7KRH1Rd-atpW2TTMtdQ", "_____________________w", "AAAAAAAAAAAAAAAAAAAAAg")
WRONG_TOPIC_IDS = ("", "O2a7KRH1Rd-atpW2TTMtdR", "O2a7KRH1Rd+atpW2TTMtdQ", "O2a7KRH1Rd-atpW2TTMtdQ==", "é")
MAX_INT32 = 2**31 - 1


class Fleet(NamedTuple):
    """Fleet: clusters, groups and scenarios."""

    clusters: list[Row]
    groups: list[Row]
    scenarios: Sequence[Scenario] = ()


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for None and the values of the given strategy."""
    return st.none() | strategy


def rarely(draw: Draw) -> bool:
    """Draw True with a probability of 1/15."""
    return bool(draw(st.integers(0, 14)) == 9)


@st.composite
def clusters(draw: Draw, name: str) -> Row:
    """Draw a cluster with topics of few sizes, some with racks."""
    sizes = draw(st.lists(st.integers(0, 7), min_size=1, max_size=2))
    topics: dict[str, Any] = {}
    for topic in draw(st.lists(st.sampled_from(NAMES), max_size=5, unique=True)):
        count = draw(st.sampled_from(sizes))
        on = st.lists(some(st.sampled_from(RACKS)), max_size=3)
        has_racks = draw(st.booleans())
        topics[topic] = draw(st.lists(some(on), min_size=count, max_size=count)) if has_racks else count
    found = cluster(topics, name)
    ids = draw(st.permutations(TOPIC_IDS)) if draw(st.booleans()) else []
    for row, topic_id in zip(found["topics"], ids, strict=False):
        row["topic_id"] = draw(st.sampled_from([None, topic_id, topic_id]))
    if rarely(draw) and found["topics"]:
        found["topics"][-1]["topic_id"] = draw(st.sampled_from([*WRONG_TOPIC_IDS, *TOPIC_IDS]))
    if rarely(draw) and found["topics"]:
        found["topics"].append(draw(st.sampled_from(found["topics"])))
    if rarely(draw):
        found["topics"].append({"topic": draw(some(st.just("w"))), "partitions": draw(some(st.just(-1)))})
    return found


@st.composite
def members(draw: Draw, id: str | None, wrong: bool) -> Row:
    """Draw a member that subscribes to topics, by a pattern, by both, or not at all."""
    row: Row = {"member_id": id, "rack": draw(some(st.sampled_from([*RACKS, "elsewhere"])))}
    kinds = ["topics", "topics", "topics", "pattern", "list", "nothing", "both" if wrong else "topics"]
    match draw(st.sampled_from(kinds)):
        case "topics":
            row["topics"] = draw(st.lists(st.sampled_from(NAMES), max_size=4))
        case "pattern":
            row["topics"] = draw(st.sampled_from([None, [], ["t"], ["u", "beyond"]]))
            row["pattern"] = draw(st.sampled_from(PATTERNS + WRONG_PATTERNS if wrong else PATTERNS))
            row["dialect"] = draw(some(st.sampled_from(["java", "re2j", "librdkafka", "python"])))
        case "list":
            row["topics"] = draw(st.lists(st.sampled_from([*LISTED, *NAMES[:4]]), max_size=4))
            row["dialect"] = draw(st.sampled_from(["librdkafka", "librdkafka", "librdkafka", "java"]))
        case "both":
            row.update(topics=draw(st.sampled_from([["t"], [None], [""]])), pattern="t", dialect="perl")
            del row[draw(st.sampled_from(["topics", "pattern"]))]
    return row


@st.composite
def groups(draw: Draw, known: list[str], id: str) -> Row:
    """Draw a group of one of the clusters, or of an unknown one."""
    wrong = rarely(draw)
    ids = draw(st.lists(st.sampled_from(IDS), max_size=6, unique=not wrong))
    of_group = [draw(members(member_id, wrong)) for member_id in ids]
    for row in of_group if draw(st.booleans()) else []:
        row["group_instance_id"] = draw(some(st.sampled_from(["x", "y", "a", ""])))
    name_assignor(draw, of_group)
    of_group += draw(st.sampled_from([[], [], [], [None], [draw(members(None, False)), None]]))
    runs = [draw(current(wrong)) for _ in range(draw(st.integers(0, 6)))]
    return group(
        *draw(st.permutations(of_group)),
        id=draw(st.sampled_from([id] * 9 + [None])),
        cluster=draw(st.sampled_from([*known * 3, "other", "", None])),
        current=runs,
    )


def name_assignor(draw: Draw, of_group: list[Row]) -> None:
    """Add the name of the group's assignor to the members; some have no name, and a few have another one."""
    known = st.sampled_from(ASSIGNORS)
    assignor, group_protocol = draw(known)
    generation = draw(some(st.integers(-1, 9)))
    for row in of_group:
        row["assignor"] = draw(st.sampled_from([assignor, assignor, assignor, None]))
        row["group_protocol"] = draw(st.sampled_from([group_protocol, group_protocol, None]))
        row["generation"] = draw(st.sampled_from([generation, generation, generation, 3, None]))
    if rarely(draw) and of_group:
        of_group[0]["assignor"], of_group[0]["group_protocol"] = draw(known)


@st.composite
def current(draw: Draw, wrong: bool) -> tuple[str | None, str | None, int | None, int | None]:
    """Draw a run of partitions: usually within a topic, sometimes far beyond its end."""
    start, count = draw(st.integers(0, 9)), draw(st.integers(1, 9))
    if draw(st.integers(0, 19)) == 0:
        start, count = draw(
            st.sampled_from([(0, MAX_INT32), (MAX_INT32, 1), (1, MAX_INT32), (MAX_INT32 - 3, 4), (7, 2**30)])
        )
    if wrong and draw(st.booleans()):
        start, count = draw(st.sampled_from([(-1, 2), (0, 0), (0, -1), (2, MAX_INT32), (None, 1), (1, None)]))
    holder = draw(st.sampled_from([*IDS[:3], "gone", None] if rarely(draw) else [*IDS[:3], "gone"]))
    return holder, draw(st.sampled_from(["t", "t", "u", "～", "😀", "beyond"])), start, count


STEPS: dict[str, Callable[[Draw], Step]] = {
    "add_members": lambda draw: (draw(st.integers(0, 3)),),
    "remove_members": lambda draw: (draw(st.integers(0, 3)),),
    "multiply_partitions": lambda draw: (draw(st.sampled_from([0, 1, 2, 2, 3, 2**31])),),
    "grow_partitions": lambda draw: (draw(st.sampled_from(NAMES)), draw(st.integers(0, 12))),
    "set_racks": lambda draw: (draw(st.lists(st.sampled_from(RACKS), max_size=3)),),
    "add_topic": lambda draw: (draw(st.sampled_from([*NAMES, "new", "tnew"])), draw(st.integers(0, 7))),
    "make_static": lambda _draw: (),
    "rolling_restart": lambda draw: (draw(st.sampled_from([None, None, True, False])),),
    "use": lambda draw: draw(
        st.sampled_from([("range", "classic"), ("cooperative-sticky", "classic"), ("uniform", "consumer")])
    ),
}


@st.composite
def scenarios(draw: Draw, number: int) -> Scenario:
    """Draw a scenario of a few steps, for some groups or all."""
    kinds = draw(st.lists(st.sampled_from(sorted(STEPS)), max_size=4))
    about = draw(some(st.lists(st.sampled_from(["g0", "g1", ""]), max_size=2)))
    return f"s{number}", about, [(kind, *STEPS[kind](draw)) for kind in kinds]


@st.composite
def fleets(draw: Draw) -> Fleet:
    """Draw a fleet."""
    names = draw(st.lists(st.sampled_from(["c", "d", ""]), min_size=1, max_size=2, unique=True))
    known = [draw(clusters(name)) for name in names]
    if rarely(draw):
        known.append(draw(clusters(draw(some(st.just(names[0]))))))
    asked = [draw(groups(names, f"g{number}")) for number in range(draw(st.integers(0, 3)))]
    return Fleet(known, asked, [draw(scenarios(number)) for number in range(draw(st.integers(0, 2)))])
