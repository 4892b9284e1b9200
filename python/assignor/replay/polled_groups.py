"""What successive polls of an Admin client show of the groups of a cluster, as records that a replay reads.

A user without permission to read `__consumer_offsets` can still describe groups. `PolledGroups` compares each poll with
the previous ones and returns the records that a coordinator would have written for the difference, so that the one
replay finds the events. It has no clock and does no I/O.

A poll is not a log. Rules for what it does not show:

* A group that could not be described, or that waits for its members to join, keeps its last known members and owners.
* A group is gone if `POLLS_WITHOUT` complete polls in a row do not list it although its last coordinator runs. A group
  whose coordinator does not run is listed by no broker.
* A group that is described for the first time has changed only if an earlier complete poll did not list it. Otherwise
  its members may have joined long before: it is in `Changes.unknown_before`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from assignor.cluster.description import UNREAD
from assignor.cluster.descriptions import REBALANCING, MemberSubscription
from assignor.model import Subscription
from assignor.offsets import Record, encode_record
from assignor.wire import encode_assignment, encode_subscription

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assignor.cluster.cluster_description import ClusterDescription
    from assignor.cluster.descriptions import GroupDescription, MemberDescription

    Place = tuple[str, int]
    Bytes = tuple[bytes, bytes | None]

POLLS_WITHOUT = 2
"""Number of complete polls in a row that must not list a group that is gone: while its coordinator moves from one
running broker to another, it may be listed by neither."""


@dataclass(frozen=True, slots=True)
class Poll:
    """Groups of a cluster at one time. Times are in milliseconds.

    Attributes:
        asked: Time before the first request.
        at: Time after the last answer.
        groups: Descriptions of the groups that could be described.
        committed: Committed offsets of the groups whose offsets could be read.
        unread: Ids of the groups that exist and could not be described.
        is_complete: True if every broker listed its groups.
        brokers: Ids of the brokers that run.
    """

    asked: int
    at: int
    groups: Mapping[str, GroupDescription]
    committed: Mapping[str, Mapping[Place, int]] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()
    is_complete: bool = True
    brokers: frozenset[int] = frozenset()

    @classmethod
    def of(cls, description: ClusterDescription, asked: int, at: int) -> Poll:
        """Return the poll whose answers are in a description."""
        failed = {group for group, problem in description.problems if problem != UNREAD}
        groups = {group.group_id: group for group in description.groups if group.problem in (None, UNREAD)}
        committed: dict[str, dict[Place, int]] = {}
        for name in groups:
            if name in failed:
                continue  # its committed offsets could not be read
            rows = description.partitions.get(name, ())
            committed[name] = {
                (row["topic"], row["partition"]): row["committed"] for row in rows if row["committed"] is not None
            }
        unread = frozenset(group.group_id for group in description.groups if group.group_id not in groups)
        return cls(asked, at, groups, committed, unread, description.is_complete, description.brokers)


@dataclass(frozen=True, slots=True)
class Changes:
    """Difference of a poll to the previous ones.

    Attributes:
        records: Key and value of records, in the order in which a replay applies them.
        since: Time of the last poll that showed another state of a group, by group; the change is later.
        unknown_before: Groups without a known earlier state, whose members and owners are no change.
    """

    records: Sequence[Bytes]
    since: Mapping[str, int]
    unknown_before: frozenset[str]


@dataclass(frozen=True, slots=True)
class PolledMember:
    """Member as a poll shows it. `topics` can be a guess, see `PolledGroups.is_guessed`."""

    id: str
    instance: str | None
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    assigned: tuple[Place, ...]


@dataclass(slots=True)
class _Known:
    """State of a group at the last poll that showed it.

    Attributes:
        asked: Time before that poll; members and owners are from the last poll outside of a rebalance.
        generation: Number of states with members that differ. It is not Kafka's generation, which no client returns.
        members: Its members, sorted by id.
        committed: Its committed offsets.
        description: The last description.
        guessed: Whether a subscription was a guess at the poll before that one, and at that one.
        without: Number of the polls in a row that show that the group may be gone.
    """

    asked: int
    description: GroupDescription
    generation: int = 0
    members: tuple[PolledMember, ...] = ()
    committed: dict[Place, int] = field(default_factory=dict)
    guessed: tuple[bool, bool] = (False, False)
    without: int = 0


class PolledGroups:
    """Groups of a cluster, as successive polls show them.

    Attributes:
        lost: Ids of the groups that the last poll does not list because their coordinators do not run.
    """

    def __init__(self) -> None:
        self.lost: list[str] = []
        self._groups: dict[str, _Known] = {}
        self._complete: int | None = None
        self._unread: frozenset[str] = frozenset()

    def observe(self, poll: Poll) -> Changes:
        """Compare a poll with the previous ones.

        Args:
            poll: The poll; its times are later than those of the previous poll.
        """
        records: list[Bytes] = []
        since: dict[str, int] = {}
        unknown: set[str] = set()
        for name, description in sorted(poll.groups.items()):
            known = self._groups.get(name)
            if known is None:
                known = self._groups[name] = _Known(poll.asked, description)
                if self._complete is None or name in self._unread:
                    unknown.add(name)
                since[name] = self._complete or poll.asked
            else:
                since[name] = known.asked
            records += self._changes(name, known, description, poll)
        for name in self._missing(poll):
            known = self._groups.pop(name)
            since[name] = known.asked
            records += [_commit(name, place, None, poll.at) for place in known.committed]
            records.append(_group(name, None))
        if poll.is_complete:
            self._complete = poll.asked
        self._unread = poll.unread | (self._unread - poll.groups.keys())
        return Changes(records, since, frozenset(unknown))

    def description(self, group: str) -> GroupDescription | None:
        """Return the last description of a group; None if it has none or is gone."""
        known = self._groups.get(group)
        return None if known is None else known.description

    def rebalancing(self) -> list[str]:
        """Return the ids of the groups that wait for members, or for the assignment, at the last poll."""
        return [name for name, known in self._groups.items() if known.description.state in REBALANCING]

    def is_guessed(self, group: str) -> bool:
        """Return True if a subscription of a group is a guess, or was at the poll before: all assigned topics."""
        known = self._groups.get(group)
        return known is not None and any(known.guessed)

    def _slots(self, group: str, members: Iterable[PolledMember]) -> list[tuple[object, ...]]:
        """Return what stays equal without a rebalance: the id of a static member can change, and a guess can."""
        is_guessed = self.is_guessed(group)
        return sorted(
            (each.instance or each.id, each.instance is None, () if is_guessed else each.topics, each.assigned)
            for each in members
        )

    def _missing(self, poll: Poll) -> list[str]:
        """Return the known groups that are gone, and note those that are lost.

        A description of a share or streams group has no coordinator, so such a group is not known to be gone.
        """
        gone, self.lost = [], []
        for name, known in self._groups.items():
            node = known.description.coordinator
            if name in poll.groups or name in poll.unread:
                known.without = 0
            elif node is not None and node[0] not in poll.brokers:
                self.lost.append(name)
            elif poll.is_complete and known.description.problem is None:
                known.without += 1
                if known.without >= POLLS_WITHOUT:
                    gone.append(name)
        return gone

    def _changes(self, name: str, known: _Known, description: GroupDescription, poll: Poll) -> Iterator[Bytes]:
        """Yield the records of a group that was described, and make the description its known state."""
        owned = {place for member in known.members for place in member.assigned}
        changed = dict(_changed(known.committed, poll.committed.get(name)))
        # A commit between two polls is one of the previous owner, if there was one, else one of the next owner.
        yield from (_commit(name, place, at, poll.at) for place, at in changed.items() if place in owned)
        if description.problem is None and description.state not in REBALANCING:
            members = tuple(polled_members(description))
            is_guess = any(not isinstance(each.subscription, MemberSubscription) for each in description.members)
            known.guessed = (known.guessed[1], is_guess)
            if members != known.members:
                known.generation += self._slots(name, members) != self._slots(name, known.members)
                known.members = members
                yield _group(name, (known.generation, members))
            known.asked = poll.asked
        known.description = description
        yield from (_commit(name, place, at, poll.at) for place, at in changed.items() if place not in owned)
        if name in poll.committed:
            known.committed = dict(poll.committed[name])


def _changed(before: Mapping[Place, int], after: Mapping[Place, int] | None) -> Iterator[tuple[Place, int | None]]:
    """Yield the partitions with another committed offset, and the offset; None if it is deleted."""
    if after is None:
        return
    for place, offset in sorted(after.items()):
        if before.get(place) != offset:
            yield place, offset
    yield from ((place, None) for place in sorted(before.keys() - after.keys()))


def polled_members(group: GroupDescription) -> list[PolledMember]:
    """Return the members of a group, sorted by id.

    The assignment of a member of a KIP-848 group is its target: a partition that is on its way from one member to
    another has no owner.
    """
    has_target = group.kind == "consumer" and any(tuple(each.target) for each in group.members)
    assigned = {each.member_id: _places(each.target if has_target else each.assigned) for each in group.members}
    topics = tuple(sorted({topic for places in assigned.values() for topic, _ in places}))
    found = [_member(each, topics, assigned[each.member_id]) for each in group.members]
    return sorted(found, key=lambda member: member.id)


def _member(member: MemberDescription, guess: tuple[str, ...], assigned: tuple[Place, ...]) -> PolledMember:
    known = member.subscription
    topics = tuple(sorted(known.topics)) if isinstance(known, MemberSubscription) else guess
    return PolledMember(
        member.member_id, member.group_instance_id, member.client_id, member.client_host, topics, assigned
    )


def _places(pairs: Iterable[Place]) -> tuple[Place, ...]:
    return tuple(sorted(set(pairs)))


_NO_RECORD = Record(2, "GROUP_METADATA", {}, None, None)


def _group(name: str, state: tuple[int, tuple[PolledMember, ...]] | None) -> Bytes:
    """Return the record of a group with its number and members; None for its tombstone.

    Fields that no Admin client returns have the values of a coordinator that does not know them: no assignor, so that
    the assignment is not compared, and no timeouts, from which causes could be concluded.
    """
    record = replace(_NO_RECORD, key={"group": name})
    if state is None:
        return encode_record(record)
    generation, members = state
    value: dict[str, Any] = {
        "protocolType": "consumer",
        "generation": generation,
        "protocol": None,
        "leader": None,
        "currentStateTimestamp": -1,
        "members": [
            {
                "memberId": member.id,
                "groupInstanceId": member.instance,
                "clientId": member.client_id,
                "clientHost": member.client_host,
                "rebalanceTimeout": 0,
                "sessionTimeout": 0,
                "subscription": encode_subscription(Subscription(topics=member.topics), version=0),
                "assignment": encode_assignment(member.assigned, version=0),
            }
            for member in members
        ],
    }
    return encode_record(replace(record, version=3, value=value))


def _commit(group: str, place: Place, offset: int | None, at: int) -> Bytes:
    """Return the record of a committed offset; None for its tombstone."""
    topic, partition = place
    key = {"group": group, "topic": topic, "partition": partition}
    value = {"offset": offset, "leaderEpoch": -1, "metadata": "", "commitTimestamp": at}
    is_deleted = offset is None
    return encode_record(Record(1, "OFFSET_COMMIT", key, None if is_deleted else 3, None if is_deleted else value))
