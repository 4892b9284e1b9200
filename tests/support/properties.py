"""Properties of every assignment by the range assignor. Each property is a function that raises `AssertionError`.

The properties parse the input themselves, and do not use the code under test.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from assignor import PartitionInfo, Subscription
from tests.support.engines import Assign
from tests.support.strategies import Group

Answer: TypeAlias = Mapping[str, Iterable[tuple[str, int]]]


def ids_of(partitions: Any) -> list[int]:
    """Return the partition ids of a topic in ascending order."""
    if isinstance(partitions, int):
        return list(range(partitions))
    return sorted(entry.partition if isinstance(entry, PartitionInfo) else entry for entry in partitions)


def topics_of(subscription: Any) -> set[str]:
    """Return the topics of a subscription."""
    return set(subscription.topics if isinstance(subscription, Subscription) else subscription)


def instance_id_of(subscription: Any) -> str | None:
    """Return the instance id of a static member, or None."""
    return subscription.group_instance_id if isinstance(subscription, Subscription) else None


def consumers(group: Group, topic: str) -> list[str]:
    """Return the subscribers of a topic in Kafka's order."""

    def order(member: str) -> tuple[bool, bytes]:
        instance_id = instance_id_of(group.members[member])
        return instance_id is None, (member if instance_id is None else instance_id).encode("utf-16-be")

    return sorted((member for member in group.members if topic in topics_of(group.members[member])), key=order)


def per_topic(answer: Answer) -> dict[str, dict[str, list[int]]]:
    """Return the partition ids by topic and member, in the order of the lists."""
    found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for member, partitions in answer.items():
        for topic, id in partitions:
            found[topic][member].append(id)
    return found


def assert_every_member_has_an_entry(group: Group, answer: Answer) -> None:
    """Check that each member has an entry, in the order of the subscriptions."""
    assert list(group.members) == list(answer)


def assert_lists_are_ordered(answer: Answer) -> None:
    """Check that lists are sorted by topic in UTF-16 order, then by id."""
    for member, partitions in answer.items():
        found = list(partitions)
        assert sorted(found, key=lambda entry: (entry[0].encode("utf-16-be"), entry[1])) == found, member


def assert_each_partition_exactly_once(group: Group, answer: Answer) -> None:
    """Check that exactly the partitions of subscribed topics are assigned, each once."""
    wanted = {topic for subscription in group.members.values() for topic in topics_of(subscription)}
    expected = Counter((topic, id) for topic, found in group.topics.items() if topic in wanted for id in ids_of(found))
    assert expected == Counter(entry for partitions in answer.values() for entry in partitions)


def assert_only_to_subscribers(group: Group, answer: Answer) -> None:
    """Check that members get only partitions of topics that they subscribe to."""
    for member, partitions in answer.items():
        assert {topic for topic, _ in partitions} <= topics_of(group.members[member]), member


def assert_counts_are_quota_or_one_more(group: Group, answer: Answer) -> None:
    """Check that each subscriber of a topic gets the quota, and exactly `extra` subscribers get one more."""
    found = per_topic(answer)
    for topic, partitions in group.topics.items():
        members = consumers(group, topic)
        if members:
            quota, extra = divmod(len(ids_of(partitions)), len(members))
            counts = sorted(len(found[topic][member]) for member in members)
            assert [quota] * (len(members) - extra) + [quota + 1] * extra == counts, topic


def assert_ranges_follow_the_order_of_members(group: Group, answer: Answer) -> None:
    """Check that, without racks, ranges follow the order of members and the first members get one partition more."""
    found = per_topic(answer)
    for topic, partitions in group.topics.items():
        members = consumers(group, topic)
        if members:
            assert ids_of(partitions) == [id for member in members for id in found[topic][member]], topic
            counts = [len(found[topic][member]) for member in members]
            assert sorted(counts, reverse=True) == counts, topic


def assert_properties_hold(group: Group, answer: Answer, *, plain: bool) -> None:
    """Check all properties; the order of ranges only if `plain` is True."""
    assert_every_member_has_an_entry(group, answer)
    assert_lists_are_ordered(answer)
    assert_each_partition_exactly_once(group, answer)
    assert_only_to_subscribers(group, answer)
    assert_counts_are_quota_or_one_more(group, answer)
    if plain:
        assert_ranges_follow_the_order_of_members(group, answer)


def assert_the_order_of_the_input_does_not_matter(assign: Assign, group: Group, reordered: Group) -> None:
    """Check that reordering the input changes only the order of members in the answer."""
    first = assign(group.topics, group.members, prefer_rack_aware=group.prefer_rack_aware)
    second = assign(reordered.topics, reordered.members, prefer_rack_aware=group.prefer_rack_aware)
    assert dict(first) == dict(second)


def assert_static_members_keep_their_partitions(assign: Assign, group: Group, renamed: Mapping[str, str]) -> None:
    """Check that static members keep their partitions if only member ids change."""
    later = {renamed[member]: subscription for member, subscription in group.members.items()}
    assert len(later) == len(group.members)
    before = assign(group.topics, group.members, prefer_rack_aware=group.prefer_rack_aware)
    after = assign(group.topics, later, prefer_rack_aware=group.prefer_rack_aware)
    for member, subscription in group.members.items():
        if instance_id_of(subscription) is not None:
            assert before[member] == after[renamed[member]], member
