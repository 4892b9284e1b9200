"""What the model of the coordinator knows about one member of a group.

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember, Kafka 4.3.1.
"""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from assignor.member.messages import HeartbeatRequest

__all__ = ["GroupMember", "Partitions", "ReconciliationState"]

Partitions = frozenset["tuple[UUID, int]"]
"""Partitions by topic id and number."""

_NONE: Partitions = frozenset()


class ReconciliationState(enum.Enum):
    """How far a member is on the way to its target assignment, in the coordinator's eyes."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member as the coordinator keeps it.

    Attributes:
        member_id: Its id.
        epoch: Its epoch; -2 for a static member that left for a while.
        previous_epoch: The epoch before the last change of its assignment, from which a heartbeat may still come.
        state: How far it is with its assignment.
        instance_id: Of a static member.
        rack_id: Where it is.
        rebalance_timeout_ms: How long it may take to give partitions up.
        topic_names: What it subscribes to by name.
        topic_regex: What it subscribes to by pattern; "" for nothing.
        server_assignor: The assignor it asks for.
        assigned: What it may own now.
        pending_revocation: What it has to give up before it goes on.
    """

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: ReconciliationState = ReconciliationState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topic_names: frozenset[str] = frozenset()
    topic_regex: str = ""
    server_assignor: str | None = None
    assigned: Partitions = _NONE
    pending_revocation: Partitions = _NONE

    @property
    def held(self) -> Partitions:
        """All that nobody else may be given."""
        return self.assigned | self.pending_revocation

    def is_reconciled_to(self, epoch: int) -> bool:
        """Whether nothing is left to do for that target."""
        return self.state is ReconciliationState.STABLE and self.epoch == epoch

    def updated_by(self, request: HeartbeatRequest) -> GroupMember:
        """The member with all that a heartbeat says about itself; what it leaves out stays."""
        names = request.subscribed_topic_names
        timeout = request.rebalance_timeout_ms
        return dataclasses.replace(
            self,
            instance_id=self.instance_id if request.instance_id is None else request.instance_id,
            rack_id=self.rack_id if request.rack_id is None else request.rack_id,
            rebalance_timeout_ms=self.rebalance_timeout_ms if timeout == -1 else timeout,
            server_assignor=self.server_assignor if request.server_assignor is None else request.server_assignor,
            topic_names=self.topic_names if names is None else frozenset(names),
            topic_regex=self.topic_regex if request.subscribed_topic_regex is None else request.subscribed_topic_regex,
        )

    def moved_to(
        self, epoch: int, state: ReconciliationState, assigned: Partitions, pending: Partitions = _NONE
    ) -> GroupMember:
        """The member one step further; the epoch it had becomes the previous one, even if it is the same."""
        return dataclasses.replace(
            self,
            epoch=epoch,
            previous_epoch=self.epoch,
            state=state,
            assigned=assigned,
            pending_revocation=pending,
        )
