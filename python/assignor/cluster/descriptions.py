"""Descriptions of groups and members in one form for all admin clients, and the snapshot built from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assignor.cluster.snapshot import ClusterSnapshot, CurrentRow, GroupRow, GuessedSubscription, MemberRow, Problem
from assignor.errors import IllegalArgumentError, WireError
from assignor.lines import spans_of
from assignor.migration import classic_member
from assignor.ordering import java_order
from assignor.validation import check_name, read_entries, read_index, shown
from assignor.wire import decode_subscription

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assignor.cluster.client_topics import ClusterTopics

__all__ = [
    "GroupDescription",
    "MemberDescription",
    "MemberSubscription",
    "MemberTasks",
    "batches",
    "build_snapshot",
    "decode_member_subscription",
    "read_batch",
    "read_group_ids",
]

REBALANCING = ("PreparingRebalance", "CompletingRebalance")
"""States of a classic group in which a broker returns neither subscriptions nor assignments."""


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """Topics and rack that a member reported when it joined."""

    topics: tuple[str, ...]
    rack: str | None


@dataclass(frozen=True, slots=True)
class MemberTasks:
    """Tasks of a member of a streams group, such as `0_3`: subtopology and partition.

    Attributes:
        process: Id of the process, which can have several members.
        active: Tasks that it runs.
        standby: Tasks whose state it copies.
        warmup: Tasks whose state it restores before it gets them.
    """

    process: str
    active: tuple[str, ...]
    standby: tuple[str, ...]
    warmup: tuple[str, ...]


@dataclass(slots=True)
class MemberDescription:
    """Description of a member by an admin client.

    Attributes:
        member_id: The member id.
        group_instance_id: The instance id of a static member, else None.
        subscription: Its subscription, or the reason why it is not known.
        assigned: The (topic, partition) pairs that it owns.
        target: The (topic, partition) pairs of its target assignment (KIP-848).
        client_id: Its client id.
        client_host: The host on which it runs, as the broker sees it.
        tasks: Its tasks, if it is a member of a streams group. `assigned` are the partitions of the active ones.
        metadata: Bytes of the subscription of a classic member, if the client returns them.
        assignment: Bytes of its assignment; None if the client does not return them.
    """

    member_id: str
    group_instance_id: str | None
    subscription: MemberSubscription | str
    assigned: Iterable[tuple[str, int]]
    target: Iterable[tuple[str, int]] = ()
    client_id: str = ""
    client_host: str = ""
    tasks: MemberTasks | None = None
    metadata: bytes = field(default=b"", repr=False)
    assignment: bytes | None = field(default=None, repr=False)


@dataclass(slots=True)
class GroupDescription:
    """Description of a group by an admin client.

    `problem` is the reason why it could not be read. `coordinator` is the id, host and port of its coordinator, if the
    client returns them.
    """

    group_id: str
    kind: str
    state: str = ""
    protocol: str = ""
    members: list[MemberDescription] = field(default_factory=list)
    problem: str | None = None
    coordinator: tuple[int, str, int] | None = None

    def owners(self) -> dict[tuple[str, int], list[str]]:
        """Return the ids of the members that own each partition; only in a share group these can be several."""
        found: dict[tuple[str, int], list[str]] = {}
        for member in self.members:
            for place in sorted(set(member.assigned)):
                found.setdefault(place, []).append(member.member_id)
        return found


def decode_member_subscription(metadata: bytes) -> MemberSubscription | str:
    r"""Return the subscription of a classic member from its JoinGroup metadata, or the reason why it is not known.

    Example:
        >>> decode_member_subscription(b"\0\0" b"\0\0\0\1" b"\0\3foo" b"\xff\xff\xff\xff")
        MemberSubscription(topics=('foo',), rack=None)
    """
    if not metadata:
        return "the broker returned no subscription: the group was rebalancing, or the member was joining"
    try:
        subscription = decode_subscription(metadata, tolerant=True)
    except WireError as error:
        return f"the subscription cannot be decoded: {error}"
    return MemberSubscription(subscription.topics, subscription.rack)


def read_group_ids(groups: Iterable[str] | None) -> list[str] | None:
    """Return the distinct group ids of an iterable; None means all groups."""
    if groups is None:
        return None
    entries = read_entries(groups, "groups", "an iterable of group ids")
    return list(dict.fromkeys(check_name(group, "groups: a group id") for group in entries))


def read_batch(batch: object) -> int:
    """Return the number of groups that are described in one call."""
    number = read_index(batch, "batch")
    if number < 1:
        raise IllegalArgumentError(f"batch must be a positive int, not {shown(batch)}")
    return number


def batches(names: Sequence[str], size: int) -> Iterator[list[str]]:
    """Yield the names in lists of at most `size`."""
    for start in range(0, len(names), size):
        yield list(names[start : start + size])


def build_snapshot(
    cluster: str, topics: ClusterTopics, groups: Iterable[GroupDescription], problems: Iterable[Problem] = ()
) -> ClusterSnapshot:
    """Build the snapshot of a cluster from its topics and the descriptions of its groups; rows are sorted."""
    topic_rows, all_problems = topics.rows(cluster)
    all_problems.extend(problems)
    group_rows: list[GroupRow] = []
    members: list[MemberRow] = []
    current: list[CurrentRow] = []
    guessed: list[GuessedSubscription] = []
    for group in groups:
        problem = group.problem
        if problem is None and group.kind == "classic" and group.state in REBALANCING and group.members:
            problem = (
                f"the group is in state {group.state}, in which brokers return no subscriptions; read it again later"
            )
        row = GroupRow(
            cluster, group.group_id, group.kind, group.state, group.protocol, len(group.members), problem is None
        )
        group_rows.append(row)
        if problem is not None:
            all_problems.append(Problem(cluster, "group", group.group_id, problem))
            continue
        group_topics = _assigned_topics(group)
        for member in group.members:
            key = (cluster, group.group_id, member.member_id)
            if isinstance(member.subscription, MemberSubscription):
                subscribed, rack = _sorted_topics(member.subscription.topics), member.subscription.rack
            else:
                subscribed, rack = group_topics, None
                guessed.append(GuessedSubscription(*key, reason=member.subscription))
            client = _client(group, member)
            members.append(
                MemberRow(
                    *key,
                    member.group_instance_id,
                    rack,
                    subscribed,
                    assignor=group.protocol or None,
                    group_protocol=group.kind or None,
                    protocol_type="consumer" if group.kind == "classic" else None,
                    library=client.get("library"),
                    library_version=client.get("library_version"),
                    conversion_problem=client.get("conversion_problem"),
                )
            )
            current.extend(CurrentRow(*key, *span) for span in spans_of(sorted(set(member.assigned))))
    return ClusterSnapshot(
        cluster,
        tuple(sorted(topic_rows, key=lambda row: row.topic)),
        tuple(sorted(members, key=lambda row: row[:3])),
        tuple(sorted(current)),
        tuple(sorted(group_rows)),
        tuple(sorted(guessed)),
        tuple(sorted(all_problems)),
    )


def _client(group: GroupDescription, member: MemberDescription) -> dict[str, str | None]:
    """Return the columns that the bytes of a classic member show; none if the client did not return them."""
    if group.kind != "classic" or member.assignment is None or not member.metadata:
        return {}
    return classic_member(group.group_id, group.protocol, member.client_id, member.metadata, member.assignment)


def _assigned_topics(group: GroupDescription) -> tuple[str, ...]:
    """Return the topics with partitions in the current or target assignment of a member."""
    return _sorted_topics(
        topic for member in group.members for partitions in (member.assigned, member.target) for topic, _ in partitions
    )


def _sorted_topics(topics: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(topics), key=java_order))
