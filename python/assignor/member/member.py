"""A consumer group's member under KIP-848, sans-io: events in, effects out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.member.state import MemberState

if TYPE_CHECKING:
    from assignor.member.effects import Effect
    from assignor.member.events import Event
    from assignor.model import TopicPartition

__all__ = ["Member"]


class Member:
    """One member."""

    def __init__(
        self,
        group_id: str,
        member_id: str,
        *,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = 300_000,
        server_assignor: str | None = None,
        auto_commit: bool = False,
        retry_backoff_ms: int = 100,
        retry_backoff_max_ms: int = 1000,
        jitter: float = 0.2,
        request_timeout_ms: int = 30_000,
        heartbeat_while_preparing_to_leave: bool = False,
        heartbeat_while_fenced: bool = False,
        join_at_once: bool = False,
    ) -> None:
        raise NotImplementedError

    def handle(self, event: Event, now: int) -> tuple[Effect, ...]:
        """Take an event in."""
        raise NotImplementedError

    def next_deadline(self) -> int | None:
        """When to call again."""
        raise NotImplementedError

    state: MemberState
    epoch: int
    assignment: tuple[TopicPartition, ...]
