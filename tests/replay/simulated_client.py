"""State of a client of a simulated group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assignor import Subscription, TopicPartition
from assignor.partition_assignor import CooperativeStickyAssignor, RangeAssignor, RoundRobinAssignor, StickyAssignor
from assignor.wire import encode_subscription

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.coordinator import SyncGroupRequest

COOPERATIVE = "cooperative-sticky"
OFFERS: list[list[type[Any]]] = [
    [RangeAssignor],
    [RoundRobinAssignor],
    [StickyAssignor],
    [CooperativeStickyAssignor],
    [RangeAssignor, RoundRobinAssignor],
]
"""Assignors that the clients of a group offer."""


@dataclass
class Client:
    """Consumer of a group. `life` is "alive", "frozen" (silent), "stalled" (only sends heartbeats) or "gone"."""

    name: str
    group: str
    instance: str | None
    topics: list[str] | None
    assignors: dict[str, Any]
    life: str = "alive"
    member_id: str = ""
    generation: int = -1
    requests: int = 0
    is_waiting: bool = False
    has_to_join: bool = True
    is_unsynced: bool = False
    owned: tuple[TopicPartition, ...] = ()
    leads: dict[str, int | None] | None = None
    late_sync: SyncGroupRequest | None = None

    def forget(self) -> None:
        """Start again without a member id, as a client does whose member id the coordinator does not know."""
        self.member_id, self.generation, self.owned, self.leads, self.late_sync = "", -1, (), None, None
        self.has_to_join, self.is_waiting = True, False

    def protocols(self, cluster: Iterable[str]) -> tuple[tuple[str, bytes], ...]:
        """Return the protocols of a join. A client without topics subscribes to all topics of the cluster."""
        topics = tuple(sorted(cluster if self.topics is None else self.topics))
        found = []
        for name, assignor in self.assignors.items():
            owned = self.owned if name == COOPERATIVE else ()
            data = assignor.subscription_user_data(topics)
            subscription = Subscription(topics, owned_partitions=owned, generation=self.generation, user_data=data)
            found.append((name, encode_subscription(subscription)))
        return tuple(found)
