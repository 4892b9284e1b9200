"""One heartbeat on its way through the model of the coordinator, and what it does to the group's patterns.

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

REFRESH_AT_MOST_EVERY = 10_000
"""Patterns are not resolved anew before so many milliseconds have passed, unless the group has none yet."""


@dataclass(slots=True)
class HandledHeartbeat:
    """The member before and after, and what becomes of the group; nothing lasts before it is kept.

    Attributes:
        group: The group.
        member: The member before.
        updated: The member with what the heartbeat says about itself.
        replaced: The static member whose place it takes.
        epoch: The group's epoch after it.
        names_changed: Whether it subscribes to other names.
        regex_changed: Whether it subscribes by another pattern.
        regex_resolved: Whether it is known already what that pattern means.
        dropped_regex: The pattern that nobody subscribes by any more.
        resolution: What is found out about patterns from now on.
        targets: The new target of all members, if one was made.
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
        """The group's members with this change, under the patterns that stay."""
        members = dict(self.group.members)
        if self.replaced:
            members.pop(self.replaced.member_id, None)
        members[self.updated.member_id] = self.updated
        resolved = {regex: each for regex, each in self.group.resolved.items() if regex != self.dropped_regex}
        return Membership(members, resolved)

    @property
    def subscription_changed(self) -> bool:
        """Whether it subscribes to something else in any way."""
        return self.names_changed or self.regex_changed

    @property
    def bumps(self) -> bool:
        """Whether that alone makes a new group epoch; a pattern does once it is known what it means."""
        return self.names_changed or (self.regex_changed and self.regex_resolved)

    def look_at_pattern(self, image: TopicsImage, settings: CoordinatorSettings, now: int) -> None:
        """Finds out whether the member's pattern is another one, and whether patterns have to be resolved."""
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
        if last and now <= last.at + REFRESH_AT_MOST_EVERY:
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
