"""Whether records were waiting for a member that stopped committing offsets.

A member commits nothing while its partitions have no new records, so its silence alone proves nothing. Records are
waiting at a time if the end of the partition is then known to be beyond the committed offset: from an end offset, or
because another group has committed a higher offset of the same partition.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PATIENCE", "WAIT_MS", "Position", "Waiting", "find_waiting"]

PATIENCE = 5
"""Smallest number of usual intervals between commits for which records have to wait."""

WAIT_MS = 60_000
"""Time in milliseconds for which records have to wait; half of the silence is enough if that is shorter.

Records that arrive just before the silence ends are no sign of a stuck member: it may be about to commit, or another
member may be about to start.
"""


class Position(NamedTuple):
    """Offset that the end of a partition had reached at a time.

    Attributes:
        at: Time in milliseconds.
        offset: An end offset, or the committed offset of another group.
        group: The other group; None for an end offset, which is exact.
    """

    at: int
    offset: int
    group: str | None = None


class Waiting(NamedTuple):
    """Records of a partition that waited for a member.

    Attributes:
        since: Time from which records are known to wait, in milliseconds.
        lag: Highest known number of waiting records.
        group: The group that read further; None if an end offset shows the highest lag.
    """

    since: int
    lag: int
    group: str | None


def find_waiting(
    commits: Iterable[tuple[int, int | None]],
    positions: Iterable[Position],
    *,
    since: int,
    until: int,
    usual_ms: int,
    is_lasting: bool,
) -> Waiting | None:
    """Return the records that waited while a member was silent; None if none are known to have waited.

    Args:
        commits: Times and committed offsets of the partition in the member's group, in the order of the log; None is a
            deleted offset. The last commit before the silence is among them; the commit that ends it is not.
        positions: Known positions of the end of the partition up to the end of the silence.
        since: Time of the last commit before the silence, in milliseconds.
        until: Time at which the silence ends, or up to which the log is known.
        usual_ms: Usual time between commits of the member, in milliseconds.
        is_lasting: True if the member has not committed again.
    """
    steps: list[tuple[int, int, tuple[int | None] | Position]] = [(at, 0, (offset,)) for at, offset in commits]
    steps += [(max(found.at, since), 1, found) for found in positions]
    committed: int | None = None
    end = -1
    waiting: Waiting | None = None
    was_empty = False
    for at, _, step in sorted(steps, key=itemgetter(0, 1)):
        if not isinstance(step, Position):
            (committed,) = step
            if committed is None or committed >= end:
                waiting = None
            continue
        end = step.offset if step.group is None else max(end, step.offset)
        if committed is None:
            continue
        lag = end - committed
        if lag > 0:
            if waiting is None:
                waiting = Waiting(at, lag, step.group)
            elif lag > waiting.lag:
                waiting = Waiting(waiting.since, lag, step.group)
        elif step.group is None:
            waiting, was_empty = None, was_empty or step.at >= since
    if waiting is None:
        return None
    # If the first known end offset of a lasting silence shows waiting records, they may have waited from the beginning.
    if is_lasting and waiting.group is None and not was_empty:
        return waiting
    enough = max(PATIENCE * usual_ms, min(WAIT_MS, (until - since) // 2))
    return waiting if until - waiting.since >= enough else None
