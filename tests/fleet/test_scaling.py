"""Tests of `scale`: each row is what `assign` gives for that number of members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import PartitionInfo, Subscription, TopicPartition, _core, assign, errors
from assignor.scaling import scale
from assignor.single_group import cluster_column, group_column

if TYPE_CHECKING:
    from collections.abc import Mapping

ASSIGNORS = (
    *(("classic", name) for name in ("range", "roundrobin", "sticky", "cooperative-sticky")),
    *(("consumer", name) for name in ("uniform", "range")),
)
TOPICS = ("t", "u", "v")

Assignment = dict[str, list[TopicPartition]]


def last_most_common(members: Mapping[str, Subscription]) -> str:
    """Return the last member with the most frequent subscription."""
    kinds = {name: frozenset(each.topics) for name, each in members.items()}
    sizes = {name: [*kinds.values()].count(kind) for name, kind in kinds.items()}
    return max(name for name, size in sizes.items() if size == max(sizes.values()))


def subscriptions_of(
    members: Mapping[str, Subscription], count: int, added: list[str], like: str
) -> dict[str, Subscription]:
    """Return the members of a group that has `count` of them: the first ones, or more with these ids."""
    if count <= len(members):
        return {name: members[name] for name in sorted(members)[:count]}
    new = Subscription(members[like].topics, rack=members[like].rack, generation=members[like].generation)
    return {**members, **dict.fromkeys(added[: count - len(members)], new)}


def owners_of(assignment: Assignment) -> dict[tuple[str, int], str]:
    return {place: member for member, places in assignment.items() for place in places}


def owners_today(counts: Mapping[str, int], members: Mapping[str, Subscription]) -> dict[tuple[str, int], str]:
    """Return the owners of partitions that exist and to whose topics their owners subscribe."""
    return {
        place: name
        for name, each in members.items()
        for place in each.owned_partitions
        if place.topic in each.topics and place.partition < counts.get(place.topic, 0)
    }


def rack_misses(topics: Mapping[str, Any], members: Mapping[str, Subscription], assignment: Assignment) -> int:
    racks = {
        (topic, info.partition): set(info.racks)
        for topic, infos in topics.items()
        if isinstance(infos, list)
        for info in infos
    }
    places = [(members[name].rack, racks.get(place)) for name, each in assignment.items() for place in each]
    return sum(bool(rack and on and rack not in on) for rack, on in places)


def added_ids(like: str, count: int) -> list[str]:
    """Return the ids of members that are added to a group like this member, in the order in which they are added."""
    groups = group_column({like: ["all"]}, assignor="roundrobin", group_protocol="classic")
    engine = _core.Clusters(cluster_column({"all": count + 1}))
    found = [like]
    for number in range(1, count + 1):
        (spans,) = engine.assign_after(groups, [("more", None, [("add_members", number)])])
        found += {span["member_id"] for span in pa.array(spans).to_pylist()[0]} - {*found}
    return found[1:]


def settled(topics: dict[str, Any], members: dict[str, Subscription], **settings: Any) -> Assignment:
    """Return the assignment after the next rebalance and, with cooperative-sticky, those that follow it."""
    for _ in range(4):
        answer = assign(topics, members, **settings)
        counts = {topic: len(each) if isinstance(each, list) else each for topic, each in topics.items()}
        lost = [
            place
            for name, each in members.items()
            for place in each.owned_partitions
            if place not in answer[name] and place.topic in each.topics and place.partition < counts[place.topic]
        ]
        if settings["assignor"] != "cooperative-sticky" or not lost:
            break
        members = {
            name: Subscription(each.topics, rack=each.rack, owned_partitions=tuple(answer[name]))
            for name, each in members.items()
        }
    return answer


@st.composite
def groups(draw: Any) -> tuple[dict[str, Any], dict[str, Subscription]]:
    racks = st.lists(st.sampled_from(["r0", "r1"]), max_size=2)
    topics: dict[str, Any] = {}
    for topic in TOPICS:
        count = draw(st.integers(0, 7))
        infos = [PartitionInfo(id, tuple(draw(racks))) for id in range(count)]
        topics[topic] = infos if draw(st.booleans()) else count
    names = draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5, unique=True))
    free = [(topic, id) for topic in TOPICS for id in range(7)]
    members = {}
    for name in names:
        owned = draw(st.lists(st.sampled_from(free), max_size=4, unique=True)) if free else []
        free = [each for each in free if each not in owned]
        members[name] = Subscription(
            tuple(draw(st.lists(st.sampled_from([*TOPICS, "w"]), unique=True))),
            rack=draw(st.sampled_from([None, "r0", "r1"])),
            owned_partitions=tuple(TopicPartition(*each) for each in owned),
            generation=draw(st.sampled_from([None, 3])),
        )
    return topics, members


@given(groups(), st.sampled_from(ASSIGNORS), st.integers(1, 9))
def test_each_count_is_what_assign_gives(
    group: tuple[dict[str, Any], dict[str, Subscription]], assignor: tuple[str, str], most: int
) -> None:
    (topics, members), (protocol, name) = group, assignor
    settings: Any = {"assignor": name, "group_protocol": protocol}
    counts = {topic: len(each) if isinstance(each, list) else each for topic, each in topics.items()}
    subscribed = {topic for each in members.values() for topic in each.topics if topic in topics}
    has_owners = any(each.owned_partitions for each in members.values())
    owners = owners_today(counts, members) if has_owners else owners_of(settled(topics, members, **settings))
    like = last_most_common(members)

    found = scale(topics, members, max_members=most, **settings)

    assert [*range(1, most + 1)] == [each.members for each in found.counts]
    assert [each.members for each in found.counts if each.is_today] == [len(members)] * (len(members) <= most)
    added = added_ids(like, most)
    for each in found.counts:
        answer = settled(topics, subscriptions_of(members, each.members, added, like), **settings)
        loads = [len(partitions) for partitions in answer.values()]
        assert (min(loads), max(loads), loads.count(0)) == (each.least_loaded, each.most_loaded, each.idle_members)
        assert sum(loads) / len(loads) == each.mean_load
        unowned = sum(counts[topic] for topic in subscribed) - sum(loads)
        assert unowned == each.unowned
        assert each.is_good == (loads.count(0) == 0 and max(loads) - min(loads) <= 1 and unowned == 0)
        now = owners_of(answer)
        assert sum(owners[place] != now[place] for place in owners.keys() & now.keys()) == each.moved
        assert rack_misses(topics, members | dict.fromkeys(added, members[like]), answer) == each.rack_misses


def test_moves_start_from_the_given_assignment() -> None:
    members = {"a": ["t"], "b": ["t"]}
    swapped = {"a": [("t", 1)], "b": [("t", 0)]}

    assert [0, 0] == [each.moved for each in scale({"t": 2}, members).counts[1:]] + [0]
    assert 2 == scale({"t": 2}, members, assignment=swapped).counts[1].moved


def test_a_count_without_owners_for_a_topic_of_today_is_not_good() -> None:
    found = scale({"t": 1, "u": 1}, {"a": ["t"], "b": ["u"]}, max_members=2)

    assert [(1, False), (0, True)] == [(each.unowned, each.is_good) for each in found.counts]


@pytest.mark.parametrize("wrong", [0, -1, 100_001])
def test_a_wrong_maximum_is_named(wrong: int) -> None:
    with pytest.raises(errors.IllegalArgumentError, match=rf"^max_members must be from 1 to 100000, got {wrong}$"):
        scale({"t": 1}, {"a": ["t"]}, max_members=wrong)


def test_a_group_without_members_has_a_reason() -> None:
    found = scale({"t": 1}, {}, max_members=3)

    assert ((), "the group has no members, so its subscriptions are not known") == (found.counts, found.problem)
    assert found.today is None
