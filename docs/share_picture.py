"""Picture of the members that read each partition of a share group, while members join and leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assignor import Subscription, TopicPartition, plan

TOPICS = {"orders": 3, "payments": 2}
"""Topics with the number of their partitions."""

CHANGES = {"a and b start": "ab", "c to f join": "abcdef", "a leaves": "bcdef"}
"""What happens, and the members afterwards."""


def share_ownership() -> str:
    """Return a text with the partitions of each member and the number of their owners after each change."""
    numbers = {topic: [str(id) for id in range(count)] for topic, count in TOPICS.items()}
    lines = [
        ("", "", cells({topic: [topic] for topic in TOPICS}), ""),
        ("", "", cells(numbers), "partitions"),
    ]
    before: Mapping[str, Sequence[TopicPartition]] = {}
    for change, members in CHANGES.items():
        owned = {member: tuple(before.get(member, ())) for member in members}
        given = {member: Subscription(tuple(TOPICS), owned_partitions=owned[member]) for member in members}
        after = plan(TOPICS, given, group_protocol="share")
        owners = {topic: [after.owners(topic, id) for id in range(count)] for topic, count in TOPICS.items()}
        for member, partitions in after.items():
            marks = {topic: ["x" if member in each else "." for each in found] for topic, found in owners.items()}
            lines += [(change if member == members[0] else "", member, cells(marks), str(len(partitions)))]
        counts = {topic: [str(len(each)) for each in found] for topic, found in owners.items()}
        lines += [("", "", cells(counts), "owners")]
        before = dict(after)
    rows = (f"{change:16}{member:4}{row}   {last}".rstrip() for change, member, row, last in lines)
    return "\n".join(["```text", *rows, "```"])


def cells(columns: Mapping[str, Sequence[str]]) -> str:
    """Return a line with a cell for each partition, and a gap between topics."""
    return "   ".join(" ".join(texts).ljust(max(len(topic), 2 * TOPICS[topic] - 1)) for topic, texts in columns.items())
