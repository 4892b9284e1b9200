"""State of one member of a group in the model of the coordinator.

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
"""Pairs of topic id and partition id."""

_NONE: Partitions = frozenset()


class ReconciliationState(enum.Enum):
    """Progress of a member towards its target assignment."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member in the coordinator.

    Attributes:
        member_id: Id of the member.
        epoch: Epoch of the member; -2 for a static member that left temporarily.
        previous_epoch: Epoch before the last change of the assignment, which a late heartbeat may still have.
        state: Progress of the reconciliation.
        instance_id: Instance id of a static member.
        rack_id: Rack of the member.
        rebalance_timeout_ms: Time limit of revocations.
        topic_names: Topics subscribed by name.
        topic_regex: Subscribed pattern; "" for none.
        server_assignor: Requested assignor.
        assigned: Partitions that the member may own.
        pending_revocation: Partitions that the member must revoke before it proceeds.
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
        """Partitions that no other member may get."""
        return self.assigned | self.pending_revocation

    def is_reconciled_to(self, epoch: int) -> bool:
        """Return True if the member has reconciled the target of this epoch."""
        return self.state is ReconciliationState.STABLE and self.epoch == epoch

    def updated_by(self, request: HeartbeatRequest) -> GroupMember:
        """Return the member with the fields of a heartbeat; absent fields are unchanged."""
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
        """Return the member with a new epoch and assignment; its epoch becomes the previous one, even if equal."""
        return dataclasses.replace(
            self,
            epoch=epoch,
            previous_epoch=self.epoch,
            state=state,
            assigned=assigned,
            pending_revocation=pending,
        )
