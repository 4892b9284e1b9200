"""Machines that a Python worker keeps between the micro-batches of a stream.

Spark gives the state of a key to any worker, and can process a micro-batch again. So a kept machine is used only if the
state that Spark returns has the version that the machine was saved with. Every save has a new random version, so the
version of a discarded attempt never matches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from assignor.spark.event_machine import EventMachine

KEPT_BYTES = 32 << 20
"""Limit of the snapshots of the machines that a worker keeps, in bytes. Machines need three to six times as much."""

Place = tuple[bytes, "Hashable"]
"""Place of a machine: its query and its key."""


@dataclass
class LiveMachines:
    """Machines by their place.

    Attributes:
        limit: Highest sum of the sizes of the kept machines' snapshots in bytes. If a machine does not fit, machines
            of other queries are dropped; if it still does not fit, it is not kept. Machines of the same query are not
            dropped for it: each micro-batch uses all of them in the same order, so each would be dropped before it is
            used again.
    """

    limit: int = KEPT_BYTES
    _kept: dict[Place, tuple[bytes, EventMachine, int]] = field(default_factory=dict, init=False)
    _size: int = field(default=0, init=False)

    def take(self, place: Place, version: bytes) -> EventMachine | None:
        """Remove the machine of a place, and return it if it was kept with this version.

        The machine is removed, so that a micro-batch that fails leaves no machine with half of its records.
        """
        if (found := self._kept.pop(place, None)) is None:
            return None
        kept_version, machine, size = found
        self._size -= size
        return machine if kept_version == version else None

    def keep(self, place: Place, version: bytes, machine: EventMachine, size: int) -> None:
        """Keep the machine of a place; `version` and `size` (in bytes) are those of its saved state."""
        self.take(place, version)
        self._kept[place] = (version, machine, size)
        self._size += size
        while self._size > self.limit:
            query, _ = place
            dropped = next((other for other in self._kept if other[0] != query), place)
            self.take(dropped, version)


LIVE = LiveMachines()
"""The machines of this process."""
