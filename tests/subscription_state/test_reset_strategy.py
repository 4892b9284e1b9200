"""Reset strategies: the values of the setting, compared with answers recorded from Kafka's class."""

from __future__ import annotations

import pytest

from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.subscription_state import AutoOffsetResetStrategy, StrategyType

HOUR = 3600 * 10**9
DAY = 24 * HOUR

UNABLE = "Unable to parse duration string in by_duration offset reset strategy."


@pytest.mark.parametrize("name", ["latest", "earliest", "none"])
def test_a_strategy_without_duration_is_a_constant(name: str) -> None:
    strategy = AutoOffsetResetStrategy.from_string(name)

    assert strategy is getattr(AutoOffsetResetStrategy, name.upper())
    assert (name, name, None) == (strategy.name, str(strategy), strategy.duration)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("PT1H", HOUR),
        ("pt1h", HOUR),
        ("P1D", DAY),
        ("P1Dt", DAY),
        ("PT0S", 0),
        ("PT1.5S", 1_500_000_000),
        ("PT1,5S", 1_500_000_000),
        ("PT1.S", 1_000_000_000),
        ("PT1.123456789S", 1_123_456_789),
        ("-PT-1.5S", 1_500_000_000),
        ("PT-1H61M", 60_000_000_000),
        ("P-1DT25H", HOUR),
        ("-P-1D", DAY),
        ("+PT+1H", HOUR),
        ("P1DT1H1M1.5S", DAY + HOUR + 61_500_000_000),
        ("P106751991167300D", 106751991167300 * DAY),
        ("PT9223372036854775807.999999999S", 2**63 * 10**9 - 1),
        ("PT00000000000000000000000000001S", 10**9),
    ],
)
def test_durations_are_parsed_as_by_java(text: str, nanoseconds: int) -> None:
    strategy = AutoOffsetResetStrategy.from_string(f"by_duration:{text}")

    assert ("by_duration", nanoseconds) == (strategy.name, strategy.duration)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("by_duration", "<:duration> part is missing in by_duration auto offset reset strategy."),
        *(
            (f"by_duration:{text}", UNABLE)
            for text in (
                "",
                "P",
                "PT",
                "P1DT",
                "Pt",
                "-PT1H",
                "PT-1H",
                "PT-0.5S",
                "PT.5S",
                "PT1.1234567891S",
                "P1W",
                "PT1H1",
                "PT1M1H",
                "P106751991167301D",
                "PT9223372036854775808S",
                "PT١S",
                "PT1ſ",
                ":PT1H",
                "PT1H\n",
                f"PT{'9' * 5000}S",
            )
        ),
        *(
            (text, f"Unknown auto offset reset strategy: {text}")
            for text in ("", "LATEST", "Latest", " latest", "none:", "by_durationPT1H")
        ),
    ],
)
def test_invalid_settings_are_rejected_with_kafkas_messages(text: str, message: str) -> None:
    with pytest.raises(IllegalArgumentError) as caught:
        AutoOffsetResetStrategy.from_string(text)

    assert message == str(caught.value)


def test_none_is_rejected_as_null_in_kafka() -> None:
    with pytest.raises(IllegalArgumentError, match=r"^Auto offset reset strategy is null$"):
        AutoOffsetResetStrategy.from_string(None)  # type: ignore[arg-type]  # deliberately wrong type


def test_each_strategy_has_its_timestamp_for_list_offsets() -> None:
    def timestamp(text: str) -> int | None:
        return AutoOffsetResetStrategy.from_string(text).timestamp(now=1_000_000)

    assert (-1, -2, None) == (timestamp("latest"), timestamp("earliest"), timestamp("none"))
    assert 940_000 == timestamp("by_duration:PT1M")
    assert 999_999 == timestamp("by_duration:PT0.000000001S")  # rounded down, as in Java


def test_equal_durations_are_equal_strategies() -> None:
    assert AutoOffsetResetStrategy.from_string("by_duration:PT60M") == AutoOffsetResetStrategy.from_string(
        "by_duration:PT1H"
    )
    assert AutoOffsetResetStrategy.from_string("by_duration:PT1H") != AutoOffsetResetStrategy.from_string(
        "by_duration:PT2H"
    )


def test_the_constructor_checks_its_arguments() -> None:
    with pytest.raises(WrongTypeError, match="type must be a StrategyType, not str"):
        AutoOffsetResetStrategy("latest")  # type: ignore[arg-type]  # deliberately wrong type
    with pytest.raises(IllegalArgumentError, match="type = latest, duration = 5: a duration is required"):
        AutoOffsetResetStrategy(StrategyType.LATEST, 5)
    with pytest.raises(IllegalArgumentError, match="type = by_duration, duration = None: "):
        AutoOffsetResetStrategy(StrategyType.BY_DURATION)
    with pytest.raises(IllegalArgumentError, match="a duration cannot be negative: -1"):
        AutoOffsetResetStrategy(StrategyType.BY_DURATION, -1)
    with pytest.raises(WrongTypeError, match="an int of nanoseconds, not float"):
        AutoOffsetResetStrategy(StrategyType.BY_DURATION, 1.5)  # type: ignore[arg-type]  # deliberately wrong type
    with pytest.raises(WrongTypeError, match="must be a str, not int"):
        AutoOffsetResetStrategy.from_string(7)  # type: ignore[arg-type]  # deliberately wrong type
