"""Comparison of recorded generations with the answer of the assignor that their group uses.

A log has the time of each generation, and a recording has topic metadata for some times only. The metadata that the
leader used is that of the last snapshot before the generation, that of the first snapshot after it, or a mixture of
both. A generation is *equal* if the assignor gives the recorded assignment for either snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignor.errors import WireError
from assignor.model import Subscription
from assignor.reference.assign import assign
from assignor.reference.replay.member import OwnedPartitions, merged

if TYPE_CHECKING:
    from assignor.model import PartitionInfo
    from assignor.reference.history.metadata import Metadata, MetadataSnapshot
    from assignor.reference.replay.classic import ParsedMember, ParsedSubscription

__all__ = ["Comparison", "compare"]


class Comparison(NamedTuple):
    """Result of the comparison of a generation.

    `assignor` is the one whose answer was compared; `outcome` is `equal`, `different` or `unknown`; `remarks` are
    sentences: reasons why the generation is not equal, and blobs that Kafka refuses.
    """

    assignor: str
    outcome: str
    remarks: list[str]


class ReadableMember(NamedTuple):
    """A member both of whose blobs can be read."""

    member: ParsedMember
    subscription: ParsedSubscription
    owned: OwnedPartitions


def compare(assignor: str, parsed: list[ParsedMember], time: int, metadata: Metadata) -> Comparison | None:
    """Compare the assignment of a generation with the answer of an assignor.

    None if all members can be read and there is no topic metadata.
    """
    remarks = []
    members = []
    for member in parsed:
        if not isinstance(member.subscription, WireError) and not isinstance(member.assignment, WireError):
            members.append(ReadableMember(member, member.subscription, member.assignment))
            if member.subscription.refused is not None:
                refused = member.subscription.refused
                remarks.append(f"Kafka's own reader refuses the subscription of {member.id}: {refused}")
        if isinstance(member.subscription, WireError):
            remarks.append(f"the subscription of {member.id} cannot be read: {member.subscription}")
        if isinstance(member.assignment, WireError):
            remarks.append(f"the assignment of {member.id} cannot be read: {member.assignment}")
    if len(members) < len(parsed):
        return Comparison(assignor, "unknown", remarks)
    snapshots = metadata.around(time)
    if not snapshots:
        return None
    recorded = [member.owned for member in members]
    if any(answer(assignor, members, snapshot.topics) == recorded for snapshot in snapshots):
        return Comparison(assignor, "equal", remarks)
    return Comparison(assignor, "different", [*remarks, explain(assignor, members, snapshots)])


def answer(
    assignor: str, members: list[ReadableMember], topics: dict[str, list[PartitionInfo]]
) -> list[OwnedPartitions]:
    """Return the partitions that the assignor gives each member."""
    subscriptions = {
        member.id: Subscription(tuple(subscription.topics), member.instance_id, subscription.rack)
        for member, subscription, _ in members
    }
    assignment = assign(topics, subscriptions, assignor=assignor)
    return [merged((topic, [id]) for topic, id in assignment[member.id]) for member, _, _ in members]


def explain(assignor: str, members: list[ReadableMember], snapshots: list[MetadataSnapshot]) -> str:
    """Explain why an assignment is not the answer of the assignor, as far as the log shows it."""
    recorded = [member.owned for member in members]
    assigned = {topic for owned in recorded for topic in owned}
    wanted = {topic for member in members for topic in member.subscription.topics}
    for snapshot in snapshots:
        known = {topic: partitions for topic, partitions in snapshot.topics.items() if topic in assigned}
        if answer(assignor, members, known) == recorded:
            missing = sorted(wanted & snapshot.topics.keys() - assigned)
            return f"assigned before the metadata of {', '.join(missing)} had arrived"
    expected = answer(assignor, members, snapshots[0].topics)
    differing = sum(has != should for has, should in zip(recorded, expected, strict=True))
    difference = f"not the {assignor} rules: {differing} of {len(members)} members have other partitions"
    return difference + (", though every partition is handed out once" if flat(recorded) == flat(expected) else "")


def flat(assignments: list[OwnedPartitions]) -> list[tuple[str, int]]:
    """Return all assigned partitions in order."""
    return sorted((topic, id) for owned in assignments for topic, ids in owned.items() for id in ids)
