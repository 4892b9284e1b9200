"""Constrained algorithm of sticky assignment, for groups whose members subscribe to the same topics or to none.

Each member with topics gets `low` or `high` partitions, which differ by at most one. Source:
ConstrainedAssignmentBuilder in AbstractStickyAssignor of kafka-clients 4.4.0.
"""

from __future__ import annotations

from typing import NamedTuple

from assignor.ordering import java_order
from assignor.reference.assign.sticky.claims import Claims, Place
from assignor.reference.assign.sticky.racks import Racks
from assignor.reference.assign.table_order import member_order
from assignor.reference.group import Member


class Answer(NamedTuple):
    """Partitions of each member, and those that another member has to give up first."""

    assignment: dict[str, list[Place]]
    transferring: set[Place]


def assign(claims: Claims, racks: Racks) -> Answer:
    """Return the partitions of each member, and those that another member has to give up first."""
    return _Assignment(claims, racks).answer()


class _Assignment:
    """Assignment in progress.

    `under` are the members with fewer than `low` partitions, and `exact` those with `low` that may get one more.
    `at_high` counts the members with `high` partitions; at most `more` members may have `high`.
    """

    def __init__(self, claims: Claims, racks: Racks) -> None:
        self.claims = claims
        self.racks = racks
        self.assignment: dict[str, list[Place]] = {member.info.member_id: [] for member in claims.members}
        self.given_up: dict[Place, Member] = {}
        self.transferring: set[Place] = set()
        self.under: list[Member] = []
        self.exact: list[Member] = []
        sharing = sum(bool(member.topics) for member in claims.members)
        self.low, self.more = divmod(len(claims.partitions), sharing or 1)
        self.high = self.low + (self.more > 0)
        self.at_high = 0

    def answer(self) -> Answer:
        """Assign all partitions."""
        # Kafka copies the members from one hash table to another one before members keep what they own.
        for member in member_order(self.claims.members):
            if member.topics:
                self.keep(member)
            else:
                self.give_up(member, self.claims.owned[member.info.member_id])
        self.under.sort(key=_by_id)
        self.exact.sort(key=_by_id)
        kept = {place for places in self.assignment.values() for place in places}
        rest = [place for place in self.claims.partitions if place not in kept]
        if self.racks.matter:
            rest = self.assign_by_rack(sorted(rest, key=self.number_of_near_members))
        self.assign_in_turn(rest)
        return Answer(self.assignment, self.transferring)

    def keep(self, member: Member) -> None:
        """Let a member keep what it owns, up to `low` or `high` partitions."""
        owned = self.claims.owned[member.info.member_id]
        places = [place for place in owned if not self.racks.mismatch(member, place)]
        self.give_up(member, [place for place in owned if self.racks.mismatch(member, place)])
        places = [place for place in places if place not in self.claims.doubly_claimed]
        places.sort(key=lambda place: (place.position, java_order(place.topic)))
        if len(places) < self.low:
            count = len(places)
            self.under.append(member)
        elif len(places) >= self.high and self.at_high < self.more:
            count = self.high
            self.count_high()
        else:
            count = self.low
            if self.at_high < self.more:
                self.exact.append(member)
        self.assignment[member.info.member_id] = places[:count]
        self.give_up(member, places[count:])

    def give_up(self, member: Member, places: list[Place]) -> None:
        """Record that a member gives up partitions."""
        for place in places:
            self.given_up[place] = member

    def number_of_near_members(self, place: Place) -> int:
        """Return the number of members on the racks of a partition."""
        return sum(self.racks.match(member, place) for member in self.claims.members)

    def assign_by_rack(self, rest: list[Place]) -> list[Place]:
        """Assign partitions to members on their racks; return the partitions that none of these members can take."""
        left = []
        cursor = 0
        for place in rest:
            around = [(cursor + step) % len(self.under) for step in range(len(self.under))]
            index = next((index for index in around if self.racks.match(self.under[index], place)), None)
            if index is not None:
                member = self.under[index]
                if self.give(member, place) == self.low:
                    del self.under[index]
                    if self.low < self.high and self.at_high < self.more:
                        self.exact.append(member)
                    cursor = index
                else:
                    cursor = index + 1
                cursor = cursor % len(self.under) if self.under else 0
                continue
            found = next((member for member in self.exact if self.racks.match(member, place)), None)
            if found is None:
                left.append(place)
            elif self.give(found, place) == self.high:
                self.exact.remove(found)
                self.count_high()
        return left

    def assign_in_turn(self, rest: list[Place]) -> None:
        """Assign partitions in turn to the members with fewer than `low`, then one each to members with `low`."""
        index = 0
        for place in rest:
            if not self.under:
                self.give(self.exact.pop(0), place)
                continue
            member = self.under[index]
            if self.give(member, place) == self.low:
                del self.under[index]
                self.exact.append(member)
            else:
                index += 1
            index = index if index < len(self.under) else 0

    def count_high(self) -> None:
        """Count a member that reached `high` partitions. If it is the last one allowed, the others keep `low`."""
        self.at_high += 1
        if self.at_high == self.more:
            self.exact.clear()

    def give(self, member: Member, place: Place) -> int:
        """Assign a partition to a member; return the member's new number of partitions."""
        places = self.assignment[member.info.member_id]
        places.append(place)
        if place in self.claims.doubly_claimed or self.given_up.get(place, member) is not member:
            self.transferring.add(place)
        return len(places)


def _by_id(member: Member) -> bytes:
    return java_order(member.info.member_id)
