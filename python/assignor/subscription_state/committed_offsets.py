"""Committed offsets as the consumer of Kafka 0.9 and 0.10 keeps them.

Source: SubscriptionState of kafka-clients 0.9 and 0.10. Today's class does not keep committed offsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

    from assignor.model import TopicPartition
    from assignor.subscription_state.position import OffsetAndMetadata

__all__ = ["CommittedOffsets"]


class CommittedOffsets:
    """The committed offsets of assigned partitions, and whether they have to be fetched.

    Attributes:
        needs_fetch: True if committed offsets have to be fetched.
    """

    __slots__ = ("_offsets", "_refreshed", "needs_fetch")

    def __init__(self) -> None:
        self.needs_fetch = True
        self._offsets: dict[TopicPartition, OffsetAndMetadata | None] = {}
        # The partitions whose offsets were set since a fetch was requested.
        self._refreshed: set[TopicPartition] = set()

    def get(self, tp: TopicPartition) -> OffsetAndMetadata | None:
        """Return the committed offset of a partition that was set last."""
        return self._offsets.get(tp)

    def set(self, tp: TopicPartition, committed: OffsetAndMetadata | None, assigned_count: int) -> None:
        """Set the committed offset of a partition; nothing has to be fetched once all assigned partitions have one."""
        self._offsets[tp] = committed
        self._refreshed.add(tp)
        if len(self._refreshed) == assigned_count:  # every partition in the set is assigned
            self.complete_fetch()

    def request_fetch(self) -> None:
        """Request all committed offsets anew."""
        self.needs_fetch = True
        self._refreshed.clear()

    def complete_fetch(self) -> None:
        """Note that the committed offsets of all partitions have arrived."""
        self.needs_fetch = False
        self._refreshed.clear()

    def retain(self, assigned: Container[TopicPartition]) -> None:
        """Forget partitions that are not assigned any more."""
        if self._offsets:
            self._offsets = {tp: offset for tp, offset in self._offsets.items() if tp in assigned}
            self._refreshed = {tp for tp in self._refreshed if tp in assigned}

    def clear(self) -> None:
        """Forget all partitions."""
        self._offsets.clear()
        self._refreshed.clear()
