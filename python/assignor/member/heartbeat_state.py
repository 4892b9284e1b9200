"""Timing and fields of heartbeats.

Source: HeartbeatRequestState and RequestState (timing), ConsumerHeartbeatRequestManager.HeartbeatState (fields),
ExponentialBackoff; kafka-clients 4.3.1.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor.member.messages import HeartbeatRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.member.assignments import LocalAssignment
    from assignor.member.messages import Assignment

__all__ = ["LONG_AGO", "Heartbeat", "HeartbeatFields", "HeartbeatTimer"]

LONG_AGO = -(2**63)
"""A time before any that a caller can pass."""


@dataclass(slots=True)
class Heartbeat:
    """One heartbeat in flight.

    Attributes:
        join_number: Number of the join to which the heartbeat belongs.
        acknowledges: True if it acknowledges an assignment.
        leaves: True if it leaves the group.
        expires: Time at which it times out.
        is_awaited: False if its answer is ignored.
        is_sent: True once it was sent.
    """

    join_number: int
    acknowledges: bool
    leaves: bool
    expires: int
    is_awaited: bool = True
    is_sent: bool = False


class HeartbeatTimer:
    """Interval between heartbeats, and backoff after a failed one.

    Args:
        backoff_ms: Wait after the first failure; it doubles with each further failure.
        backoff_max_ms: Longest wait.
        jitter: Largest random change of the wait, as a fraction of it.
        seed: Seed of the random numbers.
    """

    def __init__(self, backoff_ms: int, backoff_max_ms: int, jitter: float, seed: str) -> None:
        self._first = backoff_ms
        self.backoff_max_ms = backoff_max_ms
        self._jitter = jitter
        self._random = random.Random(seed)
        self._interval = 0
        self._interval_ends = LONG_AGO
        self._backoff_ends = LONG_AGO
        self._failures = 0

    def due(self) -> int:
        """Return the earliest time of the next heartbeat."""
        return max(self._interval_ends, self._backoff_ends)

    def sent(self, now: int) -> None:
        """Start the interval when a heartbeat is sent."""
        self._interval_ends = now + self._interval

    def answered(self, now: int, interval: int) -> None:
        """Clear the failures after a successful answer; restart the interval if the coordinator changed it."""
        if interval != self._interval:
            self._interval = interval
            self._interval_ends = now + interval
        self._failures = 0
        self._backoff_ends = now + self._backoff()

    def failed(self, now: int) -> None:
        """Start the backoff after a failure; the next heartbeat does not wait for the interval."""
        self._interval_ends = LONG_AGO
        self._backoff_ends = now + self._backoff()
        self._failures += 1

    def forget_failures(self) -> None:
        """Clear the backoff."""
        self._failures = 0
        self._backoff_ends = LONG_AGO

    def begin(self) -> None:
        """Start a join: its first heartbeat waits only for the backoff after a failure."""
        self._interval_ends = LONG_AGO
        if not self._failures:
            self._backoff_ends = LONG_AGO

    def _backoff(self) -> int:
        wait = self._first
        for _ in range(self._failures):
            if wait >= self.backoff_max_ms:
                break
            wait *= 2
        wait = min(wait, self.backoff_max_ms)
        if self._jitter:
            wait = int(wait * self._random.uniform(1 - self._jitter, 1 + self._jitter))
        return min(max(wait, 1), self.backoff_max_ms)


class HeartbeatFields:
    """Builder of heartbeat requests, with all fields or only those that changed.

    A member that joins sends all fields. After a failed heartbeat, a member that has joined sends all but the rack.

    Args:
        group_id: Id of the group.
        member_id: Id of the member.
        instance_id: Instance id of a static member.
        rack_id: Rack of the member.
        rebalance_timeout_ms: Time that the coordinator waits for revocations.
        server_assignor: Requested assignor of the coordinator.
    """

    def __init__(
        self,
        group_id: str,
        member_id: str,
        instance_id: str | None,
        rack_id: str | None,
        rebalance_timeout_ms: int,
        server_assignor: str | None,
    ) -> None:
        self._group_id = group_id
        self._member_id = member_id
        self._instance_id = instance_id
        self._rack_id = rack_id
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._server_assignor = server_assignor
        # True if the coordinator may have a pattern: from this member, or from an earlier one with the same instance
        # id.
        self._may_know_pattern = instance_id is not None
        self.forget()

    def forget(self) -> None:
        """Treat no field as sent, because earlier heartbeats may not have arrived."""
        self._sent_constants = False
        self._sent_topics: tuple[str, ...] | None = None
        self._sent_pattern: str | None = None
        self._sent_assignment: LocalAssignment | None = None

    def request(
        self,
        epoch: int,
        topics: tuple[str, ...],
        pattern: str | None,
        current: LocalAssignment,
        reported: Callable[[], Assignment],
        *,
        joining: bool,
    ) -> HeartbeatRequest:
        """Return the next heartbeat, and store its fields as sent.

        The owned partitions are sent again after each reconciled assignment, even if they are the same. A removed
        pattern is sent as "", and again whenever all fields are sent.

        Args:
            epoch: Epoch of the member.
            topics: Subscribed topic names.
            pattern: Subscribed pattern.
            current: Last reconciled assignment.
            reported: Function that returns the partitions to report. It is slow, so it is called only if they are sent.
            joining: True if the member is joining.
        """
        constants = joining or not self._sent_constants
        says_pattern = pattern != self._sent_pattern or (constants and (pattern is not None or self._may_know_pattern))
        request = HeartbeatRequest(
            self._group_id,
            self._member_id,
            epoch,
            instance_id=self._instance_id,
            rack_id=self._rack_id if joining else None,
            rebalance_timeout_ms=self._rebalance_timeout_ms if constants else -1,
            subscribed_topic_names=topics if joining or topics != self._sent_topics else None,
            subscribed_topic_regex=(pattern or "") if says_pattern else None,
            server_assignor=self._server_assignor if constants else None,
            topic_partitions=reported() if joining or current != self._sent_assignment else None,
        )
        self._sent_constants = True
        self._sent_topics = topics
        self._sent_pattern = pattern
        self._may_know_pattern |= pattern is not None
        self._sent_assignment = current
        return request
