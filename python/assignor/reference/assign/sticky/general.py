"""General algorithm of sticky assignment, for groups whose members subscribe to different topics.

Source: GeneralAssignmentBuilder in AbstractStickyAssignor of kafka-clients 4.4.0.

Kafka moves a partition back to its previous owner, if that member has at least two partitions fewer, even if the member
no longer subscribes to the topic. Later moves usually take the partition away again, so the answer is valid, but
differs from the answer without that move. So if a previous owner no longer subscribes, balancing first makes Kafka's
moves. If Kafka then fails, never ends or leaves a partition with such a member, balancing starts again, and only
subscribers get partitions back.

Two steps of Kafka are left out where only subscribers get partitions back, because they do not change the result.
Before it looks for a new owner of a partition, Kafka checks whether the group is balanced; a balanced group has no
partition to move, so the check only ends a pass early. Kafka also excludes members that share no topic; no partition
can move to or from them.

Kafka loops forever if balancing returns to an earlier state. Here, from that point on, the chosen partition itself
moves, never another one in its place (see `movements.py`). Each move then makes the sizes of two members more equal, so
balancing ends.
"""

from __future__ import annotations

import itertools
from collections import Counter

from assignor.ordering import java_order
from assignor.reference.assign.sticky.claims import Claims, Place
from assignor.reference.assign.sticky.movements import Movements
from assignor.reference.assign.sticky.racks import Racks
from assignor.reference.bytes import to_int32
from assignor.reference.group import Member


def assign(claims: Claims, racks: Racks) -> dict[str, list[Place]]:
    """Return the partitions of each member."""
    return _Assignment(claims, racks).answer()


class _DefectError(Exception):
    """Error for a group that Kafka's class does not give a valid assignment."""


class _Assignment:
    """Assignment in progress.

    Attributes:
        most: Number of partitions of the topics of each member.
        returns_to_all: True while members also get back partitions of topics that they no longer subscribe to.
    """

    def __init__(self, claims: Claims, racks: Racks) -> None:
        self.claims = claims
        self.racks = racks
        self.assignment: dict[str, list[Place]] = {member.info.member_id: [] for member in claims.members}
        self.owner: dict[Place, Member] = {}
        topics = dict.fromkeys(place.topic for place in claims.partitions)
        # In the order of ids, so that `min` returns the lowest id among members with equally many partitions.
        members = sorted(claims.members, key=lambda member: java_order(member.info.member_id))
        self.subscribers = {topic: [member for member in members if topic in member.topics] for topic in topics}
        self.previous_owners = claims.previous_owners()
        self.by_id = {member.info.member_id: member for member in claims.members}
        sizes = Counter(place.topic for place in claims.partitions)
        self.most = {id: sum(sizes[topic] for topic in member.topics) for id, member in self.by_id.items()}
        self.returns_to_all = False

    def answer(self) -> dict[str, list[Place]]:
        """Assign all partitions."""
        is_revocation = self.keep()
        is_initial = not self.owner
        # The sort is stable: topics with the same number of subscribers stay in Java's order.
        ordered = sorted(self.claims.partitions, key=lambda place: len(self.subscribers[place.topic]))
        unassigned = [place for place in ordered if place not in self.owner]
        self.assign_rest(unassigned)

        unassigned = [place for place in unassigned if self.is_movable(place)]
        movable = [place for place in ordered if self.is_movable(place)]
        passes = [movable] if is_revocation else [unassigned, movable]
        owner = dict(self.owner)
        self.returns_to_all = any(self.has_left(place) for place in movable)
        if self.returns_to_all:
            try:
                self.balance(passes, is_initial)
                self.check_owners()
            except _DefectError:
                self.restore(owner)
            else:
                return self.assignment
        self.returns_to_all = False
        self.balance(passes, is_initial)
        return self.assignment

    def keep(self) -> bool:
        """Let members keep what they own; return True if a member loses a partition that still exists."""
        is_revocation = False
        for member in self.claims.members:
            for place in self.claims.owned[member.info.member_id]:
                if place.topic in member.topics and not self.racks.mismatch(member, place):
                    self.give(place, member)
                else:
                    is_revocation = True
        return is_revocation

    def assign_rest(self, unassigned: list[Place]) -> None:
        """Assign each partition without an owner to the subscriber with the fewest partitions.

        If racks matter, subscribers on the partition's racks and subscribers without a rack come first.
        """
        for place in unassigned if self.racks.matter else []:
            near = [member for member in self.subscribers[place.topic] if not self.racks.mismatch(member, place)]
            if near:
                self.give(place, min(near, key=self.owned_by))
        for place in unassigned:
            if place not in self.owner:
                self.give(place, min(self.subscribers[place.topic], key=self.owned_by))

    def balance(self, passes: list[list[Place]], is_initial: bool) -> None:
        """Move partitions to members with at least two fewer than their owner.

        The moves are undone if the last list of partitions had moves and the balance has not improved.

        Args:
            passes: Lists of partitions. Passes are made over each list until one moves nothing.
            is_initial: True if no member kept a partition. The moves are then not undone.

        Raises:
            _DefectError: All members get partitions back, and Kafka's class fails or does not end.
        """
        score, owner = self.balance_score(), dict(self.owner)
        movements = Movements()
        for places in passes:
            states: list[dict[Place, Member]] = []
            while self.balance_once(places, movements):
                state = dict(self.owner)
                if state in states:
                    if self.returns_to_all:
                        raise _DefectError
                    movements.substitute = False
                states.append(state)
            has_moved = bool(states)
        if has_moved and not is_initial and self.balance_score() >= score:
            self.restore(owner)

    def balance_once(self, places: list[Place], movements: Movements) -> bool:
        """Try to move each partition once; return True if any partition moved."""
        has_moved = False
        for place in places:
            if self.returns_to_all and self.is_balanced():
                break
            target = self.better_owner(place)
            if target is not None:
                self.move(place, target, movements)
                has_moved = True
        return has_moved

    def better_owner(self, place: Place) -> Member | None:
        """Return the member to move a partition to, if any: the previous owner, or one with the fewest partitions.

        Raises:
            _DefectError: All members get partitions back, and the previous owner does not take part.
        """
        owned = self.owned_by(self.owner[place])
        subscribers = self.subscribers[place.topic]
        if place in self.previous_owners:
            previous = self.by_id[self.previous_owners[place]]
            if self.returns_to_all and not self.takes_part(previous):
                raise _DefectError
            if (self.returns_to_all or previous in subscribers) and owned > self.owned_by(previous) + 1:
                return previous
        lowest = min(subscribers, key=self.owned_by)
        return lowest if owned > self.owned_by(lowest) + 1 else None

    def is_balanced(self) -> bool:
        """Return True if no partition can move to a subscriber with at least two partitions fewer than its owner.

        As in Kafka, subscribers whose number of partitions equals that of their topics do not count.
        """
        largest = dict.fromkeys(self.subscribers, 0)
        for place, owner in self.owner.items():
            largest[place.topic] = max(largest[place.topic], self.owned_by(owner))
        return not any(
            self.owned_by(member) + 1 < largest[topic] and self.owned_by(member) != self.most[member.info.member_id]
            for topic, members in self.subscribers.items()
            for member in members
        )

    def has_left(self, place: Place) -> bool:
        """Return True if the previous owner of a partition no longer subscribes to its topic."""
        return place in self.previous_owners and place.topic not in self.by_id[self.previous_owners[place]].topics

    def check_owners(self) -> None:
        """Raise an error if a member has a partition of a topic that it does not subscribe to."""
        if any(place.topic not in member.topics for place, member in self.owner.items()):
            raise _DefectError

    def move(self, place: Place, target: Member, movements: Movements) -> None:
        """Move a partition, or another one of the same topic that has moved in the opposite direction before."""
        moved = movements.actual(place, self.owner[place].info.member_id, target.info.member_id)
        owner = self.owner[moved]
        movements.record(moved, owner.info.member_id, target.info.member_id)
        self.assignment[owner.info.member_id].remove(moved)
        self.give(moved, target)

    def restore(self, owner: dict[Place, Member]) -> None:
        """Give the partitions to their earlier owners."""
        self.assignment = {id: [] for id in self.assignment}
        for place, member in owner.items():
            self.give(place, member)

    def balance_score(self) -> int:
        """Return the sum of the size differences of all pairs of members that can get or lose partitions.

        Kafka adds 32-bit integers. With millions of pairs the sum overflows, which changes the result.
        """
        sizes = [self.owned_by(member) for member in self.claims.members if self.takes_part(member)]
        return to_int32(sum(abs(one - other) for one, other in itertools.combinations(sizes, 2)))

    def takes_part(self, member: Member) -> bool:
        """Return True if a member can get or lose partitions, because it shares a topic with another member."""
        topics = [topic for topic in self.subscribers if topic in member.topics]
        return any(len(self.subscribers[topic]) > 1 for topic in topics)

    def is_movable(self, place: Place) -> bool:
        """Return True if the partition's topic has more than one subscriber."""
        return len(self.subscribers[place.topic]) > 1

    def give(self, place: Place, member: Member) -> None:
        """Make a member the owner of a partition."""
        self.owner[place] = member
        self.assignment[member.info.member_id].append(place)

    def owned_by(self, member: Member) -> int:
        """Return the current number of partitions of a member."""
        return len(self.assignment[member.info.member_id])
