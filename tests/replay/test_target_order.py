"""Drawn target assignments of consumer groups whose next one depends on the order of the topics in the records."""

from __future__ import annotations

import random
from uuid import UUID

import pytest

from assignor import Subscription, TopicPartition, assign
from tests.replay.logs import CONSUMER, metadata, outcomes, replayed, topic_id

Target = dict[str, list[int]]

DIFFERENT = (40, 69, 71, 101, 106, 145, 173, 228, 236, 237, 244, 268, 349)
"""Seeds of groups whose answer is another one if the previous targets are sorted by topic id."""


class DrawnGroup:
    """Group with a previous target of each member, from before topics were deleted."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        size = draw.choice([3, 5, 9, 12, 14, 20])
        names = {"".join(draw.choice("abcdefgh") for _ in range(draw.choice([4, 8, 15]))) for _ in range(size)}
        self.counts = {name: draw.choice([1, 2, 3, 4]) for name in sorted(names)}
        deleted = set(draw.sample(sorted(names), draw.choice([0, 1, 1, 2])))
        self.members = [f"m{number}" for number in range(draw.choice([2, 3, 4]))]
        self.targets: dict[str, Target] = {member: {} for member in self.members}
        for name, count in self.counts.items():
            for partition in range(count):
                self.targets[draw.choice(self.members)].setdefault(name, []).append(partition)
        for member, target in self.targets.items():
            order = list(target)
            draw.shuffle(order)
            self.targets[member] = {name: target[name] for name in order}
        self.topics = {name: count for name, count in self.counts.items() if name not in deleted}

    def answer(self, targets: dict[str, Target]) -> dict[str, Target]:
        """Return the answer of `uniform` to previous targets."""
        subscriptions = {
            member: Subscription(
                tuple(self.topics),
                owned_partitions=tuple(TopicPartition(name, id) for name, ids in target.items() for id in ids),
            )
            for member, target in targets.items()
        }
        ids = {name: UUID(bytes=name.encode().ljust(16, b"\0")) for name in self.counts}
        found = assign(self.topics, subscriptions, assignor="uniform", group_protocol="consumer", topic_ids=ids)
        answer: dict[str, Target] = {member: {} for member in found}
        for member, partitions in found.items():
            for name, partition in sorted(partitions):
                answer[member].setdefault(name, []).append(partition)
        return answer

    def sorted_targets(self) -> dict[str, Target]:
        """Return the previous targets with the topics sorted by the text of their ids."""
        return {
            member: {name: target[name] for name in sorted(target, key=topic_id)}
            for member, target in self.targets.items()
        }


@pytest.mark.parametrize("seed", DIFFERENT)
def test_uniform_starts_from_the_topics_in_the_order_of_the_record(seed: int) -> None:
    group = DrawnGroup(seed)
    expected = group.answer(group.targets)
    assert expected != group.answer(group.sorted_targets())

    events = [CONSUMER.joins(member, subscribedTopicNames=list(group.topics)) for member in group.members]
    for epoch, targets in ((2, group.targets), (3, expected)):
        events += [CONSUMER.epoch(epoch)]
        events += [CONSUMER.target_of(member, targets[member]) for member in group.members]
        events += [CONSUMER.target_epoch(epoch)]
    topics = metadata({0: group.counts, 1_000 * len(events) // 2: group.topics})

    assert ("uniform", "equal") == outcomes(replayed(*events, topics=topics))[-1]
