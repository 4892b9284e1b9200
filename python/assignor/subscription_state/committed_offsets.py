"""Committed offsets, as the consumer of Kafka 0.9 and 0.10 stores them.

Source: SubscriptionState of kafka-clients 0.9 and 0.10. The class of kafka-clients 4.4.0 keeps no committed offsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

    from assignor.model import TopicPartition
    from assignor.subscription_state.position import OffsetAndMetadata

__all__ = ["CommittedOffsets"]


class CommittedOffsets:
    """Committed offsets of assigned partitions.

    Attributes:
        needs_fetch: True if committed offsets must be fetched.
    """

    __slots__ = ("_offsets", "_refreshed", "needs_fetch")

    def __init__(self) -> None:
        self.needs_fetch = True
        self._offsets: dict[TopicPartition, OffsetAndMetadata | None] = {}
        # Partitions whose offsets were set since the last request for a fetch.
        self._refreshed: set[TopicPartition] = set()

    def get(self, tp: TopicPartition) -> OffsetAndMetadata | None:
        """Return the last committed offset that was set for a partition."""
        return self._offsets.get(tp)

    def set(self, tp: TopicPartition, committed: OffsetAndMetadata | None, assigned_count: int) -> None:
        """Set the committed offset of a partition; once all assigned partitions have one, no fetch is needed."""
        self._offsets[tp] = committed
        self._refreshed.add(tp)
        if len(self._refreshed) == assigned_count:  # `_refreshed` has assigned partitions only
            self.complete_fetch()

    def request_fetch(self) -> None:
        """Request a fetch of all committed offsets."""
        self.needs_fetch = True
        self._refreshed.clear()

    def complete_fetch(self) -> None:
        """Mark the committed offsets of all partitions as fetched."""
        self.needs_fetch = False
        self._refreshed.clear()

    def retain(self, assigned: Container[TopicPartition]) -> None:
        """Remove partitions that are no longer assigned."""
        if self._offsets:
            self._offsets = {tp: offset for tp, offset in self._offsets.items() if tp in assigned}
            self._refreshed = {tp for tp in self._refreshed if tp in assigned}

    def clear(self) -> None:
        """Remove all partitions."""
        self._offsets.clear()
        self._refreshed.clear()
