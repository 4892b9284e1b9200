"""Data of a watcher: the clock of a partition of the log, and the summary of a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

NO_TIME = -(2**63)
"""Time before all records."""


@dataclass
class PartitionClock:
    """Clock of a partition of the log, in milliseconds.

    Attributes:
        latest: Highest valid timestamp of its records.
        received: Local time at which the last records were received while the log was followed; None before that.
        now: Time up to which its deadlines have fired.
    """

    latest: int = NO_TIME
    received: int | None = None
    now: int = NO_TIME

    def at_end(self, asked: int) -> int:
        """Return a lower bound of the broker's time at local time `asked`, when the end was requested."""
        if self.received is None:
            return asked
        return min(asked, self.latest + asked - self.received)


class Summary(NamedTuple):
    """What most views need of a group.

    Attributes:
        group: Group id.
        kind: Kind of the group.
        state: Kafka's name of its state, or `gone`.
        members: Number of its members.
        generation: Its last generation or epoch; None if it has none.
        committed: Number of its committed offsets.
        log_partition: Partition of `__consumer_offsets` with its records.
    """

    group: str
    kind: str
    state: str
    members: int
    generation: int | None
    committed: int
    log_partition: int

    @property
    def is_gone(self) -> bool:
        """True if nothing is left of the group. A group that only committed offsets has no tombstone of its own."""
        return self.state == "gone" or (self.kind == "offsets" and not self.committed)
