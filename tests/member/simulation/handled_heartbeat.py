"""One heartbeat while the model of the coordinator handles it, and its effect on the group's patterns.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager (maybeUpdateRegularExpressions), Kafka 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.member.simulation.consumer_group import Membership, Resolution, Resolved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.member.simulation.consumer_group import ConsumerGroup
    from tests.member.simulation.coordinator_settings import CoordinatorSettings
    from tests.member.simulation.group_member import GroupMember, Partitions
    from tests.member.simulation.topics_image import TopicsImage

__all__ = ["HandledHeartbeat"]

LEAST_REFRESH_INTERVAL_MS = 10_000
"""Least time between two resolutions of the patterns, unless the group has none yet."""


@dataclass(slots=True)
class HandledHeartbeat:
    """The member before and after a heartbeat, and changes of the group that are not stored yet.

    Attributes:
        group: The group.
        member: The member before the heartbeat.
        updated: The member with the fields of the heartbeat.
        replaced: The static member that it replaces.
        epoch: Epoch of the group after the heartbeat.
        names_changed: True if the subscribed names changed.
        regex_changed: True if the pattern changed.
        regex_resolved: True if the pattern is already resolved.
        dropped_regex: Pattern that is no longer used by a member.
        resolution: Resolution of patterns that this heartbeat starts.
        targets: New targets of all members, if they were computed.
    """

    group: ConsumerGroup
    member: GroupMember
    updated: GroupMember
    replaced: GroupMember | None
    epoch: int
    names_changed: bool = False
    regex_changed: bool = False
    regex_resolved: bool = False
    dropped_regex: str | None = None
    resolution: Resolution | None = None
    targets: Mapping[str, Partitions] | None = None

    @property
    def membership(self) -> Membership:
        """Members of the group with this change, and the resolved patterns that are still in use."""
        members = dict(self.group.members)
        if self.replaced:
            members.pop(self.replaced.member_id, None)
        members[self.updated.member_id] = self.updated
        resolved = {regex: each for regex, each in self.group.resolved.items() if regex != self.dropped_regex}
        return Membership(members, resolved)

    @property
    def subscription_changed(self) -> bool:
        """True if the subscription changed."""
        return self.names_changed or self.regex_changed

    @property
    def bumps(self) -> bool:
        """True if this change starts a new group epoch; a new pattern does so once it is resolved."""
        return self.names_changed or (self.regex_changed and self.regex_resolved)

    def check_pattern(self, image: TopicsImage, settings: CoordinatorSettings, now: int) -> None:
        """Check for a new pattern of the member, and start a resolution of patterns if necessary."""
        group, old, new = self.group, self.member.topic_regex, self.updated.topic_regex
        in_use = group.patterns()
        refresh = False
        if old != new:
            self.regex_changed = True
            if old and in_use[old] == 1:
                self.dropped_regex = old
            if not new:
                self.regex_resolved = True
            elif in_use[new]:
                self.regex_resolved = new in group.resolved
            else:
                image.matching(new)
                refresh = True
        if (not refresh and not in_use) or group.resolution:
            return
        last = next(iter(group.resolved.values()), None)
        if last and now <= last.at + LEAST_REFRESH_INTERVAL_MS:
            return
        wanted = in_use.copy()
        if old:
            wanted[old] -= 1
        if new:
            wanted[new] += 1
        patterns = [pattern for pattern, count in wanted.items() if count > 0]
        refresh |= len(patterns) != len(group.resolved)
        refresh |= (last.version if last else 0) < image.version_with_new_topics
        refresh |= last is None or now > last.at + settings.regex_refresh_interval_ms
        if refresh and patterns:
            found = {pattern: Resolved(image.matching(pattern), image.version, now) for pattern in patterns}
            self.resolution = Resolution(now + settings.regex_resolution_ms, found)
