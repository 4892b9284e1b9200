"""Classic groups of a description as text or JSON, as `assignor.migration.migrate` reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.lines import spans_of
from assignor.migration import ClassicGroup, ClassicMember
from assignor.model import Subscription
from assignor.sources.group_text import CLASSIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.sources.group_text import DescribedGroup

NO_BYTES = "it does not have the bytes of the members, so user data and unreadable subscriptions are not seen"


def described_text_groups(described: Iterable[DescribedGroup]) -> tuple[list[ClassicGroup], list[dict[str, Any]]]:
    """Return the classic groups of a description, and the topics that it names; groups of other protocols are left out.

    A group whose protocol the description does not have counts as classic.
    """
    groups: list[ClassicGroup] = []
    counts: dict[str, int] = {}
    for group in described:
        if group.protocol not in (CLASSIC, None):
            continue
        for topic, count in group.counts.items():
            counts[topic] = max(count, counts.get(topic, 0))
        members = tuple(
            ClassicMember(
                name,
                subscription.topics,
                tuple(spans_of(sorted(subscription.owned_partitions))),
                subscription.group_instance_id,
                subscription.rack,
            )
            for name, subscription in group.subscriptions().items()
        )
        problem = group.problem
        if problem is None and not members and group.size:
            problem = f"the text does not list its {group.size} members; describe it with --members --verbose"
        unknown = (*group.notes(), NO_BYTES)
        groups.append(ClassicGroup(group.name, members, group.assignor, None, unknown, problem, group.is_settled))
    return groups, [{"topic": topic, "partitions": count} for topic, count in counts.items()]


def group_of_subscriptions(
    name: str, subscriptions: Mapping[str, Any], assignor: str | None, unknown: tuple[str, ...] = (NO_BYTES,)
) -> ClassicGroup:
    """Return a group from the subscriptions of its members, as `assignor.assign` reads them; they may have patterns."""
    members = []
    for member, given in subscriptions.items():
        found = given if isinstance(given, Subscription) else Subscription(given)
        members.append(
            ClassicMember(
                member,
                found.topics,
                tuple(spans_of(sorted(found.owned_partitions))),
                found.group_instance_id,
                found.rack,
                pattern=found.patterns,
                dialect=found.dialect if found.patterns else None,
            )
        )
    has_owners = any(member.spans for member in members)
    return ClassicGroup(name, tuple(members), assignor, None, unknown, None, has_owners)
