"""Reset strategies: where a consumer starts in a partition without an offset (`auto.offset.reset`).

Source: org.apache.kafka.clients.consumer.internals.AutoOffsetResetStrategy, kafka-clients 4.4.0.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import ClassVar

from assignor.errors import IllegalArgumentError
from assignor.subscription_state.position import read_long
from assignor.validation import shown, wrong_type

__all__ = ["AutoOffsetResetStrategy", "StrategyType"]

_SECOND = 1_000_000_000
_LONG = 2**63

# java.time.Duration.parse: days, then hours, minutes and seconds after a T; each, and the whole, may have a sign.
_DURATION = re.compile(
    r"([-+]?)P(?:([-+]?[0-9]+)D)?(?:T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)


class StrategyType(enum.StrEnum):
    """Kind of strategy; the value is its name in the setting."""

    LATEST = "latest"
    EARLIEST = "earliest"
    NONE = "none"
    BY_DURATION = "by_duration"


@dataclass(frozen=True, slots=True)
class AutoOffsetResetStrategy:
    """A reset strategy: `LATEST`, `EARLIEST`, `NONE`, or another from `from_string`.

    Attributes:
        type: Kind of the strategy.
        duration: For `BY_DURATION`, the time before now in nanoseconds; else None.

    Raises:
        WrongTypeError: The type is not a `StrategyType`, or the duration not an int.
        IllegalArgumentError: A duration is given without `BY_DURATION`, is missing with it, or is negative.

    Example:
        >>> AutoOffsetResetStrategy.from_string("by_duration:PT1H30M").timestamp(now=10_000_000)
        4600000
    """

    type: StrategyType
    duration: int | None = None

    LATEST: ClassVar[AutoOffsetResetStrategy]
    EARLIEST: ClassVar[AutoOffsetResetStrategy]
    NONE: ClassVar[AutoOffsetResetStrategy]

    def __post_init__(self) -> None:
        """Check type and duration."""
        if not isinstance(self.type, StrategyType):
            raise wrong_type("AutoOffsetResetStrategy: type", "a StrategyType", self.type)
        if (self.duration is None) != (self.type is not StrategyType.BY_DURATION):
            raise IllegalArgumentError(
                f"AutoOffsetResetStrategy: type = {self.type}, duration = {shown(self.duration)}: a duration is "
                "required for by_duration and not allowed for other types"
            )
        if self.duration is not None:
            if type(self.duration) is not int:
                raise wrong_type("AutoOffsetResetStrategy: duration", "an int of nanoseconds", self.duration)
            if self.duration < 0:
                raise IllegalArgumentError(
                    f"AutoOffsetResetStrategy: a duration cannot be negative: {shown(self.duration)}"
                )

    @classmethod
    def from_string(cls, text: str) -> AutoOffsetResetStrategy:
        """Parse the setting: `latest`, `earliest`, `none`, or `by_duration:` and an ISO-8601 duration.

        Raises:
            IllegalArgumentError: The text is not a valid setting; the message is Kafka's.
            WrongTypeError: The argument is not a str.

        Example:
            >>> AutoOffsetResetStrategy.from_string("latest") is AutoOffsetResetStrategy.LATEST
            True
        """
        if text is None:
            raise IllegalArgumentError("Auto offset reset strategy is null")
        if not isinstance(text, str):
            raise wrong_type("auto offset reset strategy", "a str", text)
        if text == StrategyType.BY_DURATION:
            raise IllegalArgumentError("<:duration> part is missing in by_duration auto offset reset strategy.")
        if text in _BY_NAME:
            return _BY_NAME[text]
        name, colon, duration = text.partition(":")
        if name != StrategyType.BY_DURATION or not colon:
            raise IllegalArgumentError(f"Unknown auto offset reset strategy: {text}")
        nanoseconds = _parse_duration(duration)
        if nanoseconds is None or nanoseconds < 0:  # Kafka replaces its message for negative durations by this one too
            raise IllegalArgumentError("Unable to parse duration string in by_duration offset reset strategy.")
        return cls(StrategyType.BY_DURATION, nanoseconds)

    @property
    def name(self) -> str:
        """Name of the kind of strategy, without the duration."""
        return self.type.value

    def timestamp(self, now: int) -> int | None:
        """Return the timestamp for a ListOffsets request: -1 for the end, -2 for the start, or a time; None for `none`.

        Args:
            now: Time in milliseconds since 1970.
        """
        if self.duration is not None:
            return read_long(now, "timestamp: now") + -self.duration // 1_000_000
        return {StrategyType.LATEST: -1, StrategyType.EARLIEST: -2}.get(self.type)

    def __str__(self) -> str:
        return self.type.value


def _parse_duration(text: str) -> int | None:
    """Return the nanoseconds of an ISO-8601 duration, parsed as by java.time.Duration; None if it is invalid."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    sign, days, hours, minutes, seconds, fraction = found.groups()
    if text.endswith("T") or not (days or hours or minutes or seconds):  # Java accepts a lower-case t at the end
        return None
    if max(len(amount or "") for amount in (days, hours, minutes, seconds)) > 1000:
        return None  # Python limits the number of digits; Java accepts at most 19 significant ones
    total = 0
    for amount, each in ((seconds, 1), (minutes, 60), (hours, 3_600), (days, 86_400)):
        value = int(amount or 0) * each
        total += value
        if not (-_LONG <= value < _LONG and -_LONG <= total < _LONG):
            return None
    nanoseconds = int((fraction or "").ljust(9, "0"))
    if seconds and seconds.startswith("-"):
        nanoseconds = -nanoseconds
    nanoseconds += total * _SECOND
    if sign == "-":
        nanoseconds = -nanoseconds
    return nanoseconds if -_LONG <= nanoseconds // _SECOND < _LONG else None


AutoOffsetResetStrategy.LATEST = AutoOffsetResetStrategy(StrategyType.LATEST)
AutoOffsetResetStrategy.EARLIEST = AutoOffsetResetStrategy(StrategyType.EARLIEST)
AutoOffsetResetStrategy.NONE = AutoOffsetResetStrategy(StrategyType.NONE)
_BY_NAME: dict[str, AutoOffsetResetStrategy] = {
    strategy.name: strategy
    for strategy in (AutoOffsetResetStrategy.LATEST, AutoOffsetResetStrategy.EARLIEST, AutoOffsetResetStrategy.NONE)
}
