"""Long rebalances of a live cluster: groups that wait for members longer than their largest rebalance timeout.

The log has the results of rebalances only. Whether a group is in a rebalance is known from the coordinator, which
describes the group as PreparingRebalance while it waits for members to join.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.dependencies import dependency
from assignor.lines import escape, format_duration, format_time

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from assignor.replay.conditions import Conditions

Event = dict[str, Any]

DEFAULT_TIMEOUT_MS = 300_000
"""Rebalance timeout of a group whose members are not known: the default of `max.poll.interval.ms`."""

LONGEST_GAP_MS = 60_000
"""Time between two answers after which a group may have completed a rebalance in between."""

_GROUP_METADATA = b"\x00\x02"
"""First bytes of the key of a classic group's record: its type."""


class LongRebalances:
    """Groups in a rebalance, and since when. Times are in milliseconds of the local clock.

    Args:
        timeout: Name of the time that a rebalance must exceed, for the sentences.
    """

    def __init__(self, timeout: str = "its largest rebalance timeout") -> None:
        self._timeout = timeout
        self._since: dict[str, int] = {}
        self._at: int | None = None

    def note(self, events: Iterable[Event]) -> None:
        """Note new generations, and changes that polls show. Each one ends a rebalance."""
        for event in events:
            if event["event"] in {"generation", "rebalance"}:
                self._since.pop(event["group"], None)

    def observe(
        self, at: int, groups: Iterable[str], timeout: Callable[[str], int], conditions: Conditions
    ) -> list[str]:
        """Add the groups that are in a rebalance at a time, and change their conditions.

        Args:
            at: The time.
            groups: Group ids.
            timeout: Function that returns the largest rebalance timeout of a group in milliseconds.
            conditions: The conditions of the groups.

        Returns:
            A sentence for each rebalance that has become too long, and for each such rebalance that is over.
        """
        if self._at is None or at - self._at > LONGEST_GAP_MS:
            self._since = {}
        self._at = at
        self._since = {group: self._since.get(group, at) for group in groups}
        is_long = {group: since for group, since in self._since.items() if at - since > timeout(group)}
        sentences = []
        for group, condition in list(conditions.groups.items()):
            since = condition.rebalancing_since
            if since is not None and group not in is_long:
                condition.rebalancing_since = None
                sentences.append(f"the rebalance of group {escape(group)} is over after {format_duration(at - since)}")
        for group, since in is_long.items():
            condition = conditions.of(group)
            if condition.rebalancing_since is None:
                condition.rebalancing_since = since
                sentences.append(
                    f"group {escape(group)} has been in a rebalance since {format_time(since)}, longer than "
                    f"{self._timeout} of {format_duration(timeout(group))}"
                )
        return sentences


def rebalance_timeouts(records: pa.RecordBatch) -> dict[str, int | None]:
    """Return the largest rebalance timeout of the members of classic groups, by their last record in a batch.

    The timeout is in milliseconds; None for a group without members.
    """
    found = records.filter(pc.equal(pc.binary_slice(records["key"], 0, 2), _GROUP_METADATA))
    if not found.num_rows:
        return {}
    groups = pa.array(_core.record_groups(found["key"])).to_pylist()
    last = {group: row for row, group in enumerate(groups) if group is not None}
    chosen = found.take(pa.array(list(last.values()), pa.int64()))
    values = pa.record_batch(_core.decode_batch(chosen["key"], chosen["value"]))["value_json"].to_pylist()
    return {group: _largest(value) for group, value in zip(last, values, strict=True)}


def _largest(value: str | None) -> int | None:
    members = json.loads(value)["members"] if value is not None else ()
    return max(map(_timeout, members), default=None)


def _timeout(member: dict[str, int]) -> int:
    """Return the rebalance timeout of a member; records of version 0 have only the session timeout."""
    timeout = member.get("rebalanceTimeout", -1)
    return member["sessionTimeout"] if timeout < 0 else timeout
