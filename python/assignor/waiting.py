"""Whether records were waiting for a member that stopped committing offsets.

A member commits nothing while its partitions have no new records, so its silence alone proves nothing. Records are
waiting at a time if the end of the partition is then known to be beyond the committed offset: from an end offset, or
because another group has committed a higher offset of the same partition.

A member can commit one partition every second and another one every minute, because the second gets a batch of records
each minute. So each partition is judged by its own usual interval.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["INTERVALS", "PATIENCE", "WAIT_MS", "Position", "Waiting", "find_waiting", "usual_intervals"]

INTERVALS = 10
"""Number of usual intervals without a commit of the partition after which it is not committed as usual."""

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


def usual_intervals(event: Mapping[str, Any]) -> list[int]:
    """Return the usual interval between commits of each partition of an event `stuck`, in milliseconds.

    It is that of the member, or that of the partition if that is longer.
    """
    usual = int(event["usual_interval_ms"])
    return [max(usual, interval or 0) for interval in event["partition_intervals_ms"]]


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
        usual_ms: Usual time between commits of the partition, in milliseconds.
        is_lasting: True if the member has not committed again.
    """
    steps: list[tuple[int, int, tuple[int | None] | Position]] = [(at, 0, (offset,)) for at, offset in commits]
    steps += [(max(found.at, since), 1, found) for found in positions]
    committed: int | None = None
    committed_at = since
    end = -1
    waiting: Waiting | None = None
    was_empty = False
    for at, _, step in sorted(steps, key=itemgetter(0, 1)):
        if not isinstance(step, Position):
            (committed,), committed_at = step, at
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
    if waiting is None or until - committed_at < INTERVALS * usual_ms:
        return None
    # If the first known end offset of a lasting silence shows waiting records, they may have waited from the beginning.
    if is_lasting and waiting.group is None and not was_empty:
        return waiting
    enough = max(PATIENCE * usual_ms, min(WAIT_MS, (until - since) // 2))
    return waiting if until - waiting.since >= enough else None
