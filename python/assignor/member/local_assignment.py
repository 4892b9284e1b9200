"""An assignment as the member keeps it: partitions by topic id, and a local epoch that tells two alike ones apart.

Source: AbstractMembershipManager.LocalAssignment, kafka-clients 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assignor.member.messages import Assignment

__all__ = ["NO_ASSIGNMENT", "LocalAssignment"]


@dataclass(frozen=True, slots=True)
class LocalAssignment:
    """Partitions by topic id, and which assignment of this life it is.

    Attributes:
        epoch: Counts the assignments received since the member joined, from 0; -1 is no assignment at all.
        partitions: By topic id, ascending.
    """

    epoch: int
    partitions: Assignment

    def followed_by(self, partitions: Assignment) -> LocalAssignment:
        """The assignment to have once these partitions arrived: this one, if it has just these already.

        Example:
            >>> first = NO_ASSIGNMENT.followed_by({})
            >>> first.epoch, first.followed_by({}) is first
            (0, True)
        """
        if self.epoch >= 0 and self.partitions == partitions:
            return self
        return LocalAssignment(self.epoch + 1, partitions)


NO_ASSIGNMENT = LocalAssignment(-1, {})
"""What a member has that is in no group."""
