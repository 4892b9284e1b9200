"""Load of a page against the number of members: what a group is like with 1, 2, 3, ... members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.errors import AssignorError
from assignor.page.what_if import is_computed, subscription_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assignor.page.data import MemberRow, Row

MOST_COUNTS = 48
"""Largest number of members that a page computes for a group."""

_FIELDS = ("members", "is_today", "is_good", "idle_members", "least_loaded", "most_loaded", "mean_load", "moved")


def scales(group: Mapping[str, Any], members: Sequence[MemberRow], topics: Mapping[str, Any] | None) -> list[Row]:
    """Compute a group with 1 to twice its number of members, but at most `MOST_COUNTS` and at least two more.

    Args:
        group: The group, as in `report.json`.
        members: Its members.
        topics: Partitions of the topics, as `assignor.plan` accepts them.

    Returns:
        A row per number of members. Empty if `assignor.page.what_if.what_ifs` has no rows for the group, or if it has
        more than `MOST_COUNTS` members.
    """
    if topics is None or not is_computed(group, members) or len(members) > MOST_COUNTS:
        return []
    names = {topic for member in members for topic in (*member.topics, *(span[0] for span in member.spans))}
    has_pattern = any(member.pattern for member in members)
    chosen = {topic: each for topic, each in topics.items() if has_pattern or topic in names}
    try:
        from assignor.scaling import scale  # needs pyarrow

        found = scale(
            chosen,
            {member.member_id: subscription_of(member, group) for member in members},
            max_members=min(MOST_COUNTS, max(2 * len(members), len(members) + 2)),
            assignor=group["protocol"],
            group_protocol=group["kind"],
            group=group["group"],
        )
    except AssignorError:  # for example a pattern that the engine does not support, or pyarrow is missing
        return []
    rows = ({name: getattr(each, name) for name in _FIELDS} for each in found.counts if each.most_loaded is not None)
    return [{"group": group["group"], **row, "good": "yes" if row["is_good"] else "no"} for row in rows]
