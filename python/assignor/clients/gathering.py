"""From what an admin client said of groups to the rows of a snapshot: the same for every client."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assignor.clients.snapshot import ClusterSnapshot, CurrentRow, GroupRow, Guess, MemberRow, Problem
from assignor.errors import IllegalArgumentError, WireError
from assignor.ordering import java_order
from assignor.validation import check_name, is_int, shown, wrong_type
from assignor.wire import decode_subscription

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assignor.clients.metadata import ClusterTopics

__all__ = ["SeenGroup", "SeenMember", "Told", "batches", "gather", "read_groups", "told"]

REBALANCING = ("PreparingRebalance", "CompletingRebalance")
"""States of a classic group in which a broker tells neither subscriptions nor assignments."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a member told of itself: its topics and its rack."""

    topics: tuple[str, ...]
    rack: str | None


@dataclass(slots=True)
class SeenMember:
    """A member as an admin client described it.

    Attributes:
        member_id: The member.
        group_instance_id: What makes it static, else None.
        told: Its subscription, or why that is not known.
        assigned: The (topic, partition) pairs that it has.
        target: Those that it is to have (KIP-848).
    """

    member_id: str
    group_instance_id: str | None
    told: Told | str
    assigned: Iterable[tuple[str, int]]
    target: Iterable[tuple[str, int]] = ()


@dataclass(slots=True)
class SeenGroup:
    """A group as an admin client listed and described it; `problem` is why it could not be read."""

    group_id: str
    kind: str
    state: str = ""
    protocol: str = ""
    members: list[SeenMember] = field(default_factory=list)
    problem: str | None = None


def told(blob: bytes) -> Told | str:
    r"""Give what the bytes of a classic member's subscription say, or why they say nothing.

    Example:
        >>> told(b"\0\0" b"\0\0\0\1" b"\0\3foo" b"\xff\xff\xff\xff")
        Told(topics=('foo',), rack=None)
    """
    if not blob:
        return "the broker did not tell the subscription: the group was rebalancing, or the member joined just then"
    try:
        found = decode_subscription(blob, tolerant=True)
    except WireError as error:
        return f"its subscription cannot be decoded: {error}"
    return Told(found.topics, found.rack)


def read_groups(groups: Iterable[str] | None) -> list[str] | None:
    """Give the names of the groups that are asked for; None stands for all."""
    if groups is None:
        return None
    if isinstance(groups, (str, bytes)) or not isinstance(groups, Iterable):
        raise wrong_type("groups", "an iterable of group ids", groups)
    return list(dict.fromkeys(check_name(group, "groups: a group id") for group in groups))


def batches(names: Sequence[str], size: int) -> Iterator[list[str]]:
    """Give the names in lists of at most `size`."""
    if not is_int(size) or size < 1:
        raise IllegalArgumentError(f"batch must be a positive int, not {shown(size)}")
    for start in range(0, len(names), size):
        yield list(names[start : start + size])


def gather(
    cluster: str, topics: ClusterTopics, groups: Iterable[SeenGroup], problems: Iterable[Problem] = ()
) -> ClusterSnapshot:
    """Give the snapshot of all that was seen, in order."""
    topic_rows, found = topics.rows(cluster)
    found.extend(problems)
    group_rows: list[GroupRow] = []
    members: list[MemberRow] = []
    current: list[CurrentRow] = []
    guessed: list[Guess] = []
    for group in groups:
        problem = group.problem
        if problem is None and group.kind == "classic" and group.state in REBALANCING and group.members:
            problem = f"it is in {group.state}, when brokers tell neither subscriptions nor assignments; read it again"
        row = GroupRow(
            cluster, group.group_id, group.kind, group.state, group.protocol, len(group.members), problem is None
        )
        group_rows.append(row)
        if problem is not None:
            found.append(Problem(cluster, "group", group.group_id, problem))
            continue
        guess = _topics_of(group)
        for member in group.members:
            key = (cluster, group.group_id, member.member_id)
            if isinstance(member.told, Told):
                names, rack = _in_order(member.told.topics), member.told.rack
            else:
                names, rack = guess, None
                guessed.append(Guess(*key, member.told))
            members.append(MemberRow(*key, member.group_instance_id, rack, names))
            current.extend(CurrentRow(*key, *run) for run in _runs(member.assigned))
    return ClusterSnapshot(
        cluster,
        tuple(sorted(topic_rows, key=lambda row: row.topic)),
        tuple(sorted(members, key=lambda row: row[:3])),
        tuple(sorted(current)),
        tuple(sorted(group_rows)),
        tuple(sorted(guessed)),
        tuple(sorted(found)),
    )


def _topics_of(group: SeenGroup) -> tuple[str, ...]:
    """Give the topics of which anybody in the group has a partition, or is to have one."""
    return _in_order(topic for member in group.members for of in (member.assigned, member.target) for topic, _ in of)


def _in_order(topics: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(topics), key=java_order))


def _runs(partitions: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int, int]]:
    """Give topic, first id and length of each run of consecutive ids."""
    topic, start, end = None, 0, 0
    for name, id in sorted(set(partitions)):
        if name == topic and id == end:
            end += 1
            continue
        if topic is not None:
            yield topic, start, end - start
        topic, start, end = name, id, id + 1
    if topic is not None:
        yield topic, start, end - start
