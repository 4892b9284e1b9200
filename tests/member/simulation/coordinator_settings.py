"""Settings of a broker that affect the answers of its group coordinator.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorConfig, Kafka 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CoordinatorSettings"]


@dataclass(frozen=True, slots=True)
class CoordinatorSettings:
    """Settings of a broker with the broker's defaults; times are in milliseconds.

    Attributes:
        heartbeat_interval_ms: `group.consumer.heartbeat.interval.ms`.
        session_timeout_ms: `group.consumer.session.timeout.ms`.
        max_size: `group.consumer.max.size`.
        assignors: `group.consumer.assignors`; the first is the default.
        assignment_interval_ms: `group.consumer.assignment.interval.ms`.
        regex_refresh_interval_ms: `group.consumer.regex.refresh.interval.ms`.
        regex_resolution_ms: Duration of the resolution of patterns; not a setting, but a duration in the broker.
    """

    heartbeat_interval_ms: int = 5000
    session_timeout_ms: int = 45_000
    max_size: int = 2**31 - 1
    assignors: tuple[str, ...] = ("uniform", "range")
    assignment_interval_ms: int = 1000
    regex_refresh_interval_ms: int = 600_000
    regex_resolution_ms: int = 5
