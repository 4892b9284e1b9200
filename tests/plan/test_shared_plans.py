"""Plans in which a partition has several owners, compared with sets of owners."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given, reject
from hypothesis import strategies as st

from assignor import Plan, Subscription, TopicPartition, errors, plan

TOPICS = ("t", "u", "v")

partitions = st.builds(TopicPartition, st.sampled_from((*TOPICS, "gone")), st.sampled_from((0, 1, 2, 3, 4, 5, 9)))
members = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.builds(
        Subscription,
        st.lists(st.sampled_from(TOPICS), unique=True).map(tuple),
        owned_partitions=st.lists(partitions, unique=True, max_size=6).map(tuple),
    ),
    max_size=8,
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw the plan of a share group."""
    counts = {topic: draw(st.integers(0, 6)) for topic in TOPICS}
    try:
        return plan(counts, draw(members), group_protocol="share")
    except errors.IllegalStateError:
        reject()


def owners(found: Plan) -> dict[TopicPartition, set[str]]:
    """Return the owners of each partition that has any."""
    of_partitions: dict[TopicPartition, set[str]] = defaultdict(set)
    for member, owned in found.items():
        for partition in owned:
            of_partitions[partition].add(member)
    return of_partitions


def in_order(owned: set[TopicPartition]) -> list[TopicPartition]:
    """Sort partitions by topic, then by id."""
    return sorted(owned)


@given(plans(), plans())
def test_a_difference_is_that_of_the_sets_of_partitions(before: Plan, after: Plan) -> None:
    found = before.diff(after)

    gained = {member: in_order(set(after[member]) - set(before.get(member, ()))) for member in after}
    lost = {member: in_order(set(before[member]) - set(after.get(member, ()))) for member in before}
    assert {member: owned for member, owned in gained.items() if owned} == found.added
    assert {member: owned for member, owned in lost.items() if owned} == found.revoked
    had, has = owners(before), owners(after)
    assert sum(had[partition] != has[partition] for partition in had.keys() & has.keys()) == found.moved


@given(plans())
def test_owners_counts_and_spread_are_those_of_the_lists(found: Plan) -> None:
    has = owners(found)
    for topic in (*TOPICS, "gone", "none"):
        for id in range(11):
            expected = tuple(member for member in found.members if member in has.get(TopicPartition(topic, id), ()))
            assert expected == found.owners(topic, id)
            assert (expected or (None,))[0] == found.owner(topic, id)
    assert [len(owned) for owned in found.values()] == found.counts().tolist()
    assert {*TOPICS, *(topic for topic, _ in has)} == set(found.topics) == set(found.balance().spread)


@given(plans())
def test_a_plan_is_equal_to_its_json_and_its_lists(found: Plan) -> None:
    assert found == Plan.from_json(found.to_json())
    assert found == dict(found)
    assert found.spans().count.sum() == sum(map(len, found.values()))
    assert list(found) == list(found.encode())
