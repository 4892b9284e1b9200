"""Tests of the growth of lag: slow consumers are found; commits, bursts and rebalances are not growth."""

from __future__ import annotations

import random

import pytest

from assignor.errors import IllegalArgumentError
from assignor.lag_growth import Growth, Measurement, find_growth


def measurements(
    lags: list[int | None], *, produced: int = 100, generations: list[int | None] | None = None
) -> list[Measurement]:
    """Return measurements every 10 s."""
    numbers = generations or [1] * len(lags)
    return [
        Measurement(10_000 * at, lag, produced, number)
        for at, (lag, number) in enumerate(zip(lags, numbers, strict=True))
    ]


def simulated(rng: random.Random, speed: float, *, commit_ms: int, step_ms: int, count: int) -> list[Measurement]:
    """Return the lag of a consumer that reads at `speed` times the rate of production, but never beyond the end."""
    end, consumed, committed, next_commit = 0.0, 0.0, 0.0, rng.randrange(commit_ms)
    found: list[Measurement] = []
    seen = 0
    for at in range(count * step_ms):
        rate = 2.0 * rng.random()
        end += rate
        consumed = min(end, consumed + rate * speed)
        if at == next_commit:
            committed, next_commit = consumed, at + commit_ms
        if at % step_ms == 0:
            found.append(Measurement(at, round(end) - round(committed), round(end) - seen, 1))
            seen = round(end)
    return found


def test_lag_that_rises_five_times_in_a_row_grows() -> None:
    lags: list[int | None] = [40, 60, 80, 100, 130, 160]

    assert Growth(0, None, 40, 160, 500, 5, 1) == find_growth(measurements(lags))
    assert find_growth(measurements(lags[:-1])) is None
    assert find_growth(measurements(lags[:-1]), rises=4) is not None


def test_growth_ends_with_the_last_rise() -> None:
    found = find_growth(measurements([40, 60, 80, 100, 130, 160, 150, 20]))

    assert (0, 50_000, 160) == (found.since, found.until, found.last) if found else found


def test_one_rise_is_not_growth() -> None:
    assert find_growth(measurements([0, 0, 0, 5_000, 5_000, 5_000, 5_000, 5_000])) is None


def test_growth_is_at_least_a_share_of_the_new_records() -> None:
    lags: list[int | None] = [0, 10, 20, 30, 40, 50]

    assert find_growth(measurements(lags, produced=100)) is not None
    assert find_growth(measurements(lags, produced=101)) is None
    assert find_growth(measurements(lags, produced=101), share=0.09) is not None


def test_growth_is_within_one_generation() -> None:
    lags: list[int | None] = [0, 20, 40, 60, 80, 100, 120, 140]

    assert find_growth(measurements(lags, generations=[1, 1, 1, 1, 2, 2, 2, 2])) is None
    found = find_growth(measurements(lags, generations=[1, 1, 2, 2, 2, 2, 2, 2]))
    assert (20_000, 2) == (found.since, found.generation) if found else found
    assert find_growth(measurements(lags, generations=[None] * 8)) is None


def test_unknown_lag_interrupts_growth() -> None:
    assert find_growth(measurements([0, 20, 40, None, 60, 80, 100, 120])) is None


def test_the_last_of_several_periods_of_growth_is_returned() -> None:
    rising: list[int | None] = [0, 20, 40, 60, 80, 100]

    found = find_growth(measurements([*rising, *rising, 120]))

    assert (60_000, None, 120) == (found.since, found.until, found.last) if found else found


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("commit_ms", "step_ms"), [(500, 100), (100, 500), (100, 100), (300, 250)])
def test_a_consumer_that_keeps_up_has_no_growing_lag(seed: int, commit_ms: int, step_ms: int) -> None:
    found = simulated(random.Random(seed), 1.0, commit_ms=commit_ms, step_ms=step_ms, count=100)

    assert find_growth(found, 2 * commit_ms) is None


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("commit_ms", "step_ms"), [(500, 100), (100, 500), (100, 100), (300, 250)])
def test_a_consumer_that_is_too_slow_has_growing_lag(seed: int, commit_ms: int, step_ms: int) -> None:
    found = simulated(random.Random(seed), 0.7, commit_ms=commit_ms, step_ms=step_ms, count=100)

    growth = find_growth(found, 2 * commit_ms)

    assert growth is not None
    assert growth.until is None
    assert 0.2 < (growth.last - growth.first) / growth.produced < 0.4


def test_the_rise_between_two_commits_is_not_growth() -> None:
    lags: list[int | None] = [10 * (at % 8) for at in range(24)]

    assert find_growth(measurements(lags, produced=10), 0) is not None
    assert find_growth(measurements(lags, produced=10), 160_000) is None


def test_an_incomplete_window_does_not_count() -> None:
    # Windows of 20 s: the low points are 0, 20, 40, 60, 80; the last window has only its first measurement.
    lags: list[int | None] = [0, 90, 20, 90, 40, 90, 60, 90, 80, 90, 200]

    assert find_growth(measurements(lags, produced=1), 20_000) is None
    assert find_growth(measurements([*lags, 210], produced=1), 20_000) is not None


def test_settings_are_checked() -> None:
    with pytest.raises(IllegalArgumentError, match=r"^rises must be at least 1, not 0$"):
        find_growth([], rises=0)
    with pytest.raises(IllegalArgumentError, match=r"^share must be from 0 to 1, not 1.5$"):
        find_growth([], share=1.5)
    assert find_growth([]) is None
