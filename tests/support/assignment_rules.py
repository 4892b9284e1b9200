"""Rules for assignments of every assignor. Each rule is a function that raises `AssertionError`.

The rules parse the input themselves, and do not use the code under test.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from assignor import PartitionInfo, Subscription
from tests.support.strategies import Group

Entry = tuple[str, int]
Answer = Mapping[str, Iterable[Entry]]
Topics = Mapping[str, Any]
Members = Mapping[str, Any]


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


def wanted_partitions(topics: Topics, members: Members) -> set[Entry]:
    """Return the partitions of all topics that have a subscriber."""
    wanted = {topic for subscription in members.values() for topic in topics_of(subscription)}
    return {(topic, id) for topic, partitions in topics.items() if topic in wanted for id in ids_of(partitions)}


def claimed_partitions(members: Members) -> dict[str, set[Entry]]:
    """Return the owned partitions of each member's subscription."""
    return {
        member: {(topic, id) for topic, id in found.owned_partitions} if isinstance(found, Subscription) else set()
        for member, found in members.items()
    }


def assert_every_member_is_present(members: Members, answer: Answer) -> None:
    """Check that the answer has each member, in the order of the subscriptions."""
    assert list(members) == list(answer)


def assert_lists_are_ordered(answer: Answer) -> None:
    """Check that lists are sorted by topic in UTF-16 order, then by id."""
    for member, partitions in answer.items():
        found = list(partitions)
        assert sorted(found, key=lambda entry: (entry[0].encode("utf-16-be"), entry[1])) == found, member


def assert_no_partition_is_given_twice(answer: Answer) -> None:
    """Check that each partition has at most one owner."""
    given = Counter(tuple(entry) for entries in answer.values() for entry in entries)
    assert [] == [entry for entry, count in given.items() if count > 1]


def assert_only_subscribers_are_given_partitions(members: Members, answer: Answer) -> None:
    """Check that each member subscribes to the topics of its partitions."""
    for member, entries in answer.items():
        assert set() == {topic for topic, _ in entries} - topics_of(members[member]), member


def assert_only_existing_partitions_are_given(topics: Topics, answer: Answer) -> None:
    """Check that each partition of the answer exists."""
    existing = {(topic, id) for topic, partitions in topics.items() for id in ids_of(partitions)}
    assert set() == {tuple(entry) for entries in answer.values() for entry in entries} - existing


def missing_partitions(topics: Topics, members: Members, answer: Answer) -> set[Entry]:
    """Return the partitions that have a subscriber and no owner."""
    return wanted_partitions(topics, members) - {(topic, id) for entries in answer.values() for topic, id in entries}


def assert_every_partition_is_given(topics: Topics, members: Members, answer: Answer) -> None:
    """Check that each partition of a topic with a subscriber has an owner."""
    assert set() == missing_partitions(topics, members, answer)


def assert_only_claimed_partitions_are_withheld(topics: Topics, members: Members, answer: Answer) -> None:
    """Check that each partition without an owner is claimed by a member, which gives it up first."""
    claimed = set().union(*claimed_partitions(members).values())
    assert set() == missing_partitions(topics, members, answer) - claimed


def assert_no_partition_is_given_while_another_member_owns_it(members: Members, answer: Answer) -> None:
    """Check that a member gets only partitions that it claims itself or that no member claims."""
    claimed = claimed_partitions(members)
    for member, entries in answer.items():
        new = {(topic, id) for topic, id in entries} - claimed[member]
        for other, held in claimed.items():
            assert set() == new & held, f"{member} is given what {other} owns"


def assert_is_valid(topics: Topics, members: Members, answer: Answer, *, withholds: bool = False) -> None:
    """Check that an answer is a valid assignment.

    Args:
        topics: The argument `partitions_per_topic` of `assign`.
        members: The argument `subscriptions` of `assign`.
        answer: The assignment.
        withholds: True if the assignor is cooperative: it may withhold partitions until their owners give them up.
    """
    assert_every_member_is_present(members, answer)
    assert_lists_are_ordered(answer)
    assert_no_partition_is_given_twice(answer)
    assert_only_subscribers_are_given_partitions(members, answer)
    assert_only_existing_partitions_are_given(topics, answer)
    if withholds:
        assert_only_claimed_partitions_are_withheld(topics, members, answer)
    else:
        assert_every_partition_is_given(topics, members, answer)


# ---- rules of the range assignor


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
