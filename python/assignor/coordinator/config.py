"""What an operator can set: the broker's settings for classic groups, under names close to Kafka's.

Source: GroupCoordinatorConfig, kafka-group-coordinator 4.3.1; the defaults are its defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from assignor.errors import IllegalArgumentError
from assignor.validation import read_int

__all__ = ["CoordinatorConfig"]

_DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class CoordinatorConfig:
    """Settings of a coordinator; times are in milliseconds.

    Attributes:
        min_session_timeout_ms: The least session timeout that a member may ask for (`group.min.session.timeout.ms`).
        max_session_timeout_ms: The greatest (`group.max.session.timeout.ms`).
        initial_rebalance_delay_ms: How long a group that was empty waits for more members
            (`group.initial.rebalance.delay.ms`); it waits as long again whenever one came, up to the first member's
            rebalance timeout.
        group_max_size: How many members a group may have (`group.max.size`).
        new_member_join_timeout_ms: How long the join of a new member waits before the member counts as gone.
        offsets_retention_ms: How long offsets are kept that nobody uses (`offsets.retention.minutes`): seven days.
        offsets_retention_check_interval_ms: How often they are looked for (`offsets.retention.check.interval.ms`).
        offset_metadata_max_size: The longest metadata, in UTF-16 units, that may be committed with an offset
            (`offset.metadata.max.bytes`).

    Raises:
        WrongTypeError: A setting is not an int.
        IllegalArgumentError: A setting is negative or too large, or the least session timeout is above the greatest.

    Example:
        >>> CoordinatorConfig(initial_rebalance_delay_ms=0).offsets_retention_ms // (24 * 60 * 60 * 1000)
        7
    """

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = 2**31 - 1
    new_member_join_timeout_ms: int = 300_000
    offsets_retention_ms: int = 7 * _DAY_MS
    offsets_retention_check_interval_ms: int = 600_000
    offset_metadata_max_size: int = 4_096

    def __post_init__(self) -> None:
        least = {"group_max_size": 1, "offsets_retention_check_interval_ms": 1, "offsets_retention_ms": 1}
        for field in fields(self):
            value = read_int(getattr(self, field.name), f"CoordinatorConfig: {field.name}", bits=64)
            if value < least.get(field.name, 0):
                raise IllegalArgumentError(
                    f"CoordinatorConfig: {field.name} must be at least {least.get(field.name, 0)}, not {value}"
                )
        if self.min_session_timeout_ms > self.max_session_timeout_ms:
            raise IllegalArgumentError(
                f"CoordinatorConfig: min_session_timeout_ms ({self.min_session_timeout_ms}) is above "
                f"max_session_timeout_ms ({self.max_session_timeout_ms})"
            )
