"""Hypothesis strategies for groups: static and dynamic members, racks, ids with gaps, names in several scripts.

Names use a small alphabet: topics differ in one letter, and instance ids may be equal on request. It includes
characters whose order in Java differs from the order of code points.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from assignor import PartitionInfo, Subscription

RACKS = ("r0", "r1", "r2")


class Group(NamedTuple):
    """The arguments of `assign`."""

    topics: dict[str, Any]
    members: dict[str, Any]
    prefer_rack_aware: bool = False


def names(*, ascii_only: bool = False) -> st.SearchStrategy[str]:
    """Draw names of topics and members. ASCII names, for comparison with other implementations, are not empty."""
    return st.text("abB0-", min_size=1, max_size=3) if ascii_only else st.text("aB0é\ue000～\U00010000😀", max_size=3)


def replicas() -> st.SearchStrategy[tuple[str | None, ...]]:
    """Draw racks of the replicas of a partition; None is a broker without a rack, `""` an ordinary rack."""
    return st.lists(st.sampled_from([*RACKS, *RACKS, "", None]), max_size=3).map(tuple)


def ids(size: int) -> st.SearchStrategy[list[int]]:
    """Draw `size` partition ids, with gaps and in any order."""
    return st.lists(st.integers(0, 3 * size + 1), min_size=size, max_size=size, unique=True)


@st.composite
def partitions(draw: st.DrawFn, size: int, *, racks: bool) -> Any:
    """Draw the partitions of a topic: a count, ids, or ids with racks."""
    kind = draw(st.sampled_from(["count", "ids", "racks", "holes and racks"] if racks else ["count", "ids"]))
    if kind == "count":
        return size
    found = draw(ids(size)) if kind in {"ids", "holes and racks"} else list(range(size))
    if kind == "ids":
        return found
    return [PartitionInfo(id, draw(replicas())) for id in found]


@st.composite
def groups(
    draw: st.DrawFn,
    *,
    racks: bool = True,
    static: bool = True,
    equal_instance_ids: bool = False,
    ascii_only: bool = False,
) -> Group:
    """Draw a valid group.

    Sizes and subscriptions come from small pools, so that topics are often co-partitioned.
    """
    sizes = draw(st.lists(st.integers(0, 9), min_size=1, max_size=2))
    topic_names = draw(st.lists(names(ascii_only=ascii_only), max_size=4, unique=True))
    topics = {name: draw(partitions(draw(st.sampled_from(sizes)), racks=racks)) for name in topic_names}

    wanted = [*topic_names, "absent"]
    pool = draw(st.lists(st.lists(st.sampled_from(wanted), max_size=5), min_size=1, max_size=2))
    pool.append(topic_names)
    member_ids = draw(st.lists(names(ascii_only=ascii_only), max_size=6, unique=True))
    instance_ids = draw(
        st.lists(names(), min_size=len(member_ids), max_size=len(member_ids), unique=not equal_instance_ids)
    )
    members: dict[str, Any] = {}
    for member_id, instance_id in zip(member_ids, instance_ids, strict=True):
        subscribed = draw(st.sampled_from(pool))
        rack = draw(st.sampled_from([*RACKS, "", "elsewhere", None])) if racks else None
        if static and draw(st.booleans()):
            members[member_id] = Subscription(tuple(subscribed), group_instance_id=instance_id, rack=rack)
        elif rack is not None or draw(st.booleans()):
            members[member_id] = Subscription(tuple(subscribed), rack=rack)
        else:
            members[member_id] = draw(st.permutations(subscribed))
    return Group(topics, members, draw(st.booleans()) if racks else False)


WRONG_PARTITIONS = (-1, True, 2**31, 1.5, None, "3", b"3", [0, 0], [1, -1], [None], ["0"], [PartitionInfo(0, (7,))])  # type: ignore[arg-type]  # beyond the types, on purpose
WRONG_TOPICS = ("t", b"t", None, 7, ["t", 7], [None], ["\ud800"])
WRONG_NAMES = (7, None, b"t", "\udfff")


@st.composite
def wrong_groups(draw: st.DrawFn) -> Group:
    """Draw a group with one or two invalid values."""
    group = draw(groups(equal_instance_ids=True))
    topics, members = list(group.topics.items()), list(group.members.items())
    for _ in range(draw(st.integers(1, 2))):
        match draw(st.sampled_from(["partitions", "topics", "topic name", "member id"])):
            case "partitions":
                topics.append(("wrong", draw(st.sampled_from(WRONG_PARTITIONS))))
            case "topics":
                members.append(("wrong", draw(st.sampled_from(WRONG_TOPICS))))
            case "topic name":
                topics.append((draw(st.sampled_from(WRONG_NAMES)), 1))  # type: ignore[arg-type]  # beyond the types, on purpose
            case _:
                members.append((draw(st.sampled_from(WRONG_NAMES)), ["t"]))  # type: ignore[arg-type]  # beyond the types, on purpose
    return Group(dict(draw(st.permutations(topics))), dict(draw(st.permutations(members))), group.prefer_rack_aware)
