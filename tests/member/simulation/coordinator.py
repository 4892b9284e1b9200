"""Model of the group coordinator of Kafka 4.3.1 for consumer groups under KIP-848, in virtual time without I/O.

It answers heartbeats with the errors, epochs and assignments of a broker. The topics are given. Sessions, revocation
timeouts and resolutions of patterns end only when `expire` is called, which each heartbeat does first. The model has no
classic groups, authorization or log.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager, Kafka 4.3.1.
"""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kio.schema.errors import ErrorCode

from assignor.member.messages import JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH, HeartbeatResponse
from tests.member.simulation.admission import (
    RequestError,
    check_epoch,
    check_instance,
    static_member,
    unknown_member,
    validate,
)
from tests.member.simulation.consumer_group import ConsumerGroup, Membership, Resolution
from tests.member.simulation.coordinator_settings import CoordinatorSettings
from tests.member.simulation.current_assignment import Target, next_step
from tests.member.simulation.group_member import GroupMember, ReconciliationState
from tests.member.simulation.handled_heartbeat import HandledHeartbeat
from tests.member.simulation.targets import MemberSpec, compute_targets
from tests.member.simulation.topics_image import TopicsImage

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping
    from uuid import UUID

    from assignor.member.messages import HeartbeatRequest
    from tests.member.simulation.group_member import Partitions
    from tests.member.simulation.targets import Topic

__all__ = ["GroupDescription", "ModelCoordinator", "Removal"]

_NEVER = 1 << 62


class Removal(NamedTuple):
    """Removal of a member by the coordinator."""

    at: int
    group_id: str
    member_id: str
    reason: str
    """One of `session`, `rebalance`, `left`, `replaced`."""


class GroupDescription(NamedTuple):
    """A group as ConsumerGroupDescribe shows it."""

    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: Mapping[str, GroupMember]
    targets: Mapping[str, Partitions]


@dataclass(slots=True)
class ModelCoordinator:
    """Coordinator of any number of groups.

    Attributes:
        settings: Settings of the broker.
        removals: Removals so far, in order.
        groups: Groups by id.
    """

    settings: CoordinatorSettings = field(default_factory=CoordinatorSettings)
    removals: list[Removal] = field(default_factory=list)
    groups: dict[str, ConsumerGroup] = field(default_factory=dict)
    _image: TopicsImage = field(default_factory=TopicsImage)
    _nothing_before: int = 0

    @property
    def topics(self) -> Mapping[str, Topic]:
        """Existing topics by name."""
        return self._image.topics

    def heartbeat(self, request: HeartbeatRequest, now: int) -> HeartbeatResponse:
        """Return the answer to a heartbeat."""
        self.expire(now)
        self._nothing_before = 0
        try:
            validate(request, self.settings.assignors)
            if request.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
                return self._leave(request, now)
            return self._regular(request, now)
        except RequestError as error:
            return HeartbeatResponse(error_code=error.code, error_message=str(error))

    def expire(self, now: int) -> None:
        """Complete resolutions that are due, and remove members whose session or revocation timeout has passed."""
        if now < self._nothing_before:
            return
        self._expire(now)
        self._nothing_before = min(self._deadlines(), default=_NEVER)

    def _expire(self, now: int) -> None:
        for group_id, group in self.groups.items():
            if group.resolution and group.resolution.at <= now:
                self._resolved(group, group.resolution)
            for member_id, at in sorted(group.sessions.items(), key=lambda item: item[1]):
                if at <= now:
                    del group.sessions[member_id]
                    if member_id in group.members:
                        self._remove(group_id, group.members[member_id], at, "session")
            for member_id, (at, epoch) in list(group.revocations.items()):
                if at <= now:
                    del group.revocations[member_id]
                    member = group.members.get(member_id)
                    if member and member.epoch == epoch:
                        self._remove(group_id, member, at, "rebalance")

    def next_deadline(self) -> int | None:
        """Return the next time at which `expire` has an effect, or None."""
        return min(self._deadlines(), default=None)

    def change_topics(self, topics: Mapping[str, Topic]) -> None:
        """Replace the topics."""
        changed = self._image.change(topics)
        for group in self.groups.values():
            membership = group.membership
            if any(not changed.isdisjoint(membership.topics_of(member)) for member in group.members.values()):
                group.metadata_expired = True

    def matching(self, pattern: str) -> frozenset[str]:
        """Return the topics that match a pattern."""
        return self._image.matching(pattern)

    def fail_over(self, now: int) -> None:
        """Simulate a fail-over to another broker, which reads the log: all timers restart."""
        self._nothing_before = 0
        for group in self.groups.values():
            group.resolution = None
            group.metadata_expired = True
            group.sessions = dict.fromkeys(group.members, now + self.settings.session_timeout_ms)
            group.revocations = {
                member.member_id: (now + member.rebalance_timeout_ms, member.epoch)
                for member in group.members.values()
                if member.state is ReconciliationState.UNREVOKED_PARTITIONS
            }

    def delete_group(self, group_id: str) -> None:
        """Remove a group, as a broker does with an empty group without offsets."""
        self.groups.pop(group_id, None)

    def describe(self, group_id: str) -> GroupDescription | None:
        """Return the description of a group; None if it does not exist."""
        group = self.groups.get(group_id)
        if group is None:
            return None
        votes = group.preferred_assignor(None, GroupMember("")) or self.settings.assignors[0]
        targets = {member_id: group.targets.get(member_id, frozenset()) for member_id in group.members}
        return GroupDescription(
            group.state, group.epoch, group.assignment_epoch, votes, copy.copy(group.members), targets
        )

    def member(self, group_id: str, member_id: str) -> GroupMember | None:
        """Return a member's state; None if it is not in the group."""
        group = self.groups.get(group_id)
        return group.members.get(member_id) if group else None

    def held(self, group: ConsumerGroup) -> Container[tuple[UUID, int]]:
        """Return the partitions that must not be assigned because a member holds them."""
        return group.holders

    def _deadlines(self) -> Iterator[int]:
        for group in self.groups.values():
            yield from group.sessions.values()
            yield from (at for at, _ in group.revocations.values())
            if group.resolution:
                yield group.resolution.at

    def _regular(self, request: HeartbeatRequest, now: int) -> HeartbeatResponse:
        owned = _owned(request)
        heartbeat = self._begin(request, owned)
        heartbeat.check_pattern(self._image, self.settings, now)
        homogeneous = heartbeat.group.membership.is_homogeneous()
        metadata = heartbeat.group.metadata
        if heartbeat.bumps or heartbeat.group.metadata_expired:
            metadata = heartbeat.membership.metadata(self.topics)
            homogeneous = heartbeat.membership.is_homogeneous()
            if heartbeat.bumps or metadata != heartbeat.group.metadata:
                heartbeat.epoch += 1
        target = self._target(heartbeat, now, homogeneous=homogeneous)
        updated = heartbeat.updated
        if heartbeat.subscription_changed or not updated.is_reconciled_to(target.epoch):
            updated = next_step(
                updated,
                target,
                self.held(heartbeat.group),
                owned,
                subscription_changed=heartbeat.subscription_changed,
            )
        heartbeat.group.metadata_expired = False
        self._keep(request.group_id, heartbeat, metadata, now)
        self._set_timers(heartbeat, updated, now)
        full = (
            request.rebalance_timeout_ms != -1
            and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
            and owned is not None
        )
        has_assignment = request.member_epoch == JOIN_EPOCH or full or updated.assigned != heartbeat.member.assigned
        return HeartbeatResponse(
            member_id=updated.member_id,
            member_epoch=updated.epoch,
            heartbeat_interval_ms=self.settings.heartbeat_interval_ms,
            assignment=_by_topic(updated.assigned) if has_assignment else None,
        )

    def _begin(self, request: HeartbeatRequest, owned: Partitions | None) -> HandledHeartbeat:
        """Find or create the group and the member."""
        joins = request.member_epoch == JOIN_EPOCH
        group = self.groups.get(request.group_id)
        if group is None:
            if not joins:
                raise RequestError(ErrorCode.group_id_not_found, f"Consumer group {request.group_id} not found.")
            group = ConsumerGroup()
        if len(group.members) >= self.settings.max_size and request.member_id not in group.members:
            raise RequestError(ErrorCode.group_max_size_reached, "The consumer group has reached its maximum capacity.")
        replaced = None
        if request.instance_id is None or (joins and request.instance_id not in group.static_members):
            found = group.members.get(request.member_id)
            if found is None and not joins:
                raise unknown_member(request)
            member = found or GroupMember(request.member_id)
            if request.instance_id is None:
                check_epoch(member, request.member_epoch, owned)
        else:
            member = static_member(group, request)
            if joins:
                if member.epoch != LEAVE_STATIC_EPOCH:
                    raise RequestError(ErrorCode.unreleased_instance_id, f"Owned by {member.member_id}.")
                replaced = member
                member = dataclasses.replace(member, member_id=request.member_id, epoch=0, previous_epoch=0)
            else:
                check_instance(member, request)
                check_epoch(member, request.member_epoch, owned)
        updated = member.updated_by(request)
        return HandledHeartbeat(
            group, member, updated, replaced, group.epoch, names_changed=updated.topic_names != member.topic_names
        )

    def _resolved(self, group: ConsumerGroup, resolution: Resolution) -> None:
        """Store the topics of resolved patterns; different topics start a new epoch."""
        group.resolution = None
        in_use = group.patterns()
        bump = False
        for pattern, found in resolution.found.items():
            if in_use[pattern]:
                before = group.resolved.get(pattern)
                bump |= (before.topics if before else frozenset()) != found.topics
                group.resolved[pattern] = found
        metadata = group.membership.metadata(self.topics)
        if bump or metadata != group.metadata:
            group.epoch += 1
            group.metadata = metadata
            group.metadata_expired = False

    def _target(self, heartbeat: HandledHeartbeat, now: int, *, homogeneous: bool) -> Target:
        """Return the member's target; compute new targets if the epoch has changed and the interval has passed."""
        group, updated = heartbeat.group, heartbeat.updated
        membership = heartbeat.membership
        interval = self.settings.assignment_interval_ms
        soon = group.assigned_at is not None and interval and now < group.assigned_at + interval
        epoch = group.assignment_epoch
        partitions = group.target_of(heartbeat.updated)
        if group.assignment_epoch < heartbeat.epoch and not soon:
            resolved = Membership(membership.members, group.resolved)
            order = group.in_order((updated.member_id,))
            members = {
                member_id: MemberSpec(
                    resolved.topics_of(resolved.members[member_id]),
                    resolved.members[member_id].instance_id,
                    partitions if member_id == updated.member_id else group.targets.get(member_id, frozenset()),
                )
                for member_id in order
                if member_id in membership.members
            }
            name = group.preferred_assignor(heartbeat.member, updated) or self.settings.assignors[0]
            heartbeat.targets = compute_targets(name, members, self.topics, homogeneous=homogeneous)
            epoch, partitions = heartbeat.epoch, heartbeat.targets[updated.member_id]
        names = Membership(membership.members, group.resolved).topics_of(updated)
        subscribed = frozenset(self.topics[name].id for name in names if name in self.topics)
        return Target(epoch, partitions, subscribed)

    def _keep(self, group_id: str, heartbeat: HandledHeartbeat, metadata: Mapping[str, Topic], now: int) -> None:
        """Store the changes of a heartbeat in the group."""
        group = self.groups.setdefault(group_id, heartbeat.group)
        if heartbeat.replaced:
            target = group.targets.get(heartbeat.replaced.member_id, frozenset())
            group.remove(heartbeat.replaced)
            group.targets[heartbeat.member.member_id] = target
            if heartbeat.replaced.member_id != heartbeat.member.member_id:
                self.removals.append(Removal(now, group_id, heartbeat.replaced.member_id, "replaced"))
        if heartbeat.dropped_regex is not None:
            group.resolved.pop(heartbeat.dropped_regex, None)
        if heartbeat.resolution:
            group.resolution = heartbeat.resolution
        if heartbeat.epoch != group.epoch:
            group.epoch = heartbeat.epoch
            group.metadata = metadata
        if heartbeat.targets is not None:
            group.targets.update(heartbeat.targets)
            group.assignment_epoch = heartbeat.epoch
            group.assigned_at = now

    def _set_timers(self, heartbeat: HandledHeartbeat, updated: GroupMember, now: int) -> None:
        group = heartbeat.group
        if updated != heartbeat.updated:
            if updated.state is ReconciliationState.UNREVOKED_PARTITIONS:
                group.revocations[updated.member_id] = now + updated.rebalance_timeout_ms, updated.epoch
            else:
                group.revocations.pop(updated.member_id, None)
        # The coordinator writes two records, each only if it changes the member. Each can add buckets to its table.
        if heartbeat.updated != heartbeat.member or updated.member_id not in group.members:
            group.put(heartbeat.updated)
        if updated != heartbeat.updated:
            group.put(updated)
        group.sessions[updated.member_id] = now + self.settings.session_timeout_ms

    def _leave(self, request: HeartbeatRequest, now: int) -> HeartbeatResponse:
        group = self.groups.get(request.group_id)
        if group is None:
            raise RequestError(ErrorCode.group_id_not_found, f"Group {request.group_id} not found.")
        if request.instance_id is None:
            found = group.members.get(request.member_id)
            if found is None:
                raise unknown_member(request)
            self._remove(request.group_id, found, now, "left")
        else:
            member = static_member(group, request)
            check_instance(member, request)
            if request.member_epoch == LEAVE_STATIC_EPOCH:
                group.put(dataclasses.replace(member, epoch=LEAVE_STATIC_EPOCH, pending_revocation=frozenset()))
            else:
                self._remove(request.group_id, member, now, "left")
        return HeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)

    def _remove(self, group_id: str, member: GroupMember, at: int, reason: str) -> None:
        """Remove a member, and increase the epoch; the next heartbeat of any member computes a new target."""
        group = self.groups[group_id]
        last = member.topic_regex and group.patterns()[member.topic_regex] == 1
        group.remove(member)
        if last:
            group.resolved.pop(member.topic_regex, None)
        group.metadata = group.membership.metadata(self.topics)
        group.epoch += 1
        group.sessions.pop(member.member_id, None)
        group.revocations.pop(member.member_id, None)
        self.removals.append(Removal(at, group_id, member.member_id, reason))


def _owned(request: HeartbeatRequest) -> Partitions | None:
    if request.topic_partitions is None:
        return None
    return frozenset((topic_id, number) for topic_id, numbers in request.topic_partitions.items() for number in numbers)


def _by_topic(partitions: Partitions) -> Mapping[UUID, tuple[int, ...]]:
    found: dict[UUID, tuple[int, ...]] = {}
    for topic_id, number in sorted(partitions):
        found[topic_id] = (*found.get(topic_id, ()), number)
    return found
