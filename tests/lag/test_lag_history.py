"""Lag over time of a live cluster: its memory is bounded, and the latest measurement stays."""

from __future__ import annotations

import pyarrow as pa
import pytest

from assignor.lag import GROUP_LAG
from assignor.replay import lag_history
from assignor.replay.lag_history import LagHistory


def lags(**known: int | None) -> pa.Table:
    """Return the lag of groups, with the columns of `GROUP_LAG`."""
    rows = [{"group_id": group, "lag": lag} for group, lag in known.items()]
    return pa.Table.from_pylist(rows, GROUP_LAG)


def test_the_lag_of_the_wanted_groups_is_returned() -> None:
    history = LagHistory()
    history.add(1, lags(a=5, b=6))
    history.add(2, lags(a=None, c=7))

    assert [("a", 1, 5), ("a", 2, None), ("c", 2, 7)] == [tuple(row.values()) for row in history.rows(["a", "c"])]


@pytest.mark.parametrize(("measurements", "rows"), [(8, 10**6), (10**6, 8)])
def test_old_measurements_are_sparse(monkeypatch: pytest.MonkeyPatch, measurements: int, rows: int) -> None:
    monkeypatch.setattr(lag_history, "MOST_MEASUREMENTS", measurements)
    monkeypatch.setattr(lag_history, "MOST_ROWS", rows)
    history = LagHistory()
    for at in range(1_000):
        history.add(at, lags(a=at))
        times = [row["at"] for row in history.rows(["a"])]
        assert at == times[-1]
        assert times == sorted(times)
        assert len(times) <= 8
    assert times[0] < 100


def test_without_wanted_groups_nothing_is_returned() -> None:
    history = LagHistory()
    history.add(1, lags(a=5))
    history.forget([])

    assert [] == list(history.rows([]))
    history.forget(["a"])
    assert [] == list(history.rows(["a"]))
