"""Tests of the section about decoding and replay of records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from benches import replay_report_sections as sections
from benches.implementations import WrongAnswerError
from benches.selections import SELECTIONS
from benches.timing import Pace

if TYPE_CHECKING:
    from benches.selections import Selection
    from benches.tables import Raw


@pytest.fixture
def one_call(monkeypatch: pytest.MonkeyPatch) -> Selection:
    """Return the quick selection with one timed call of each kind."""
    selection = replace(SELECTIONS["quick"], own_pace=Pace(seconds=0, fewest=1, most=1))
    monkeypatch.setitem(SELECTIONS, "quick", selection)
    return selection


def test_each_call_is_timed(one_call: Selection) -> None:
    raw: Raw = {}
    section = sections.replay(one_call, lambda _: None, raw)

    assert section.figures is not None
    assert 4 == len(section.figures.rows) == len(raw)
    assert all(seconds for times in raw.values() for seconds in times.values())


def test_each_size_of_a_group_is_timed(one_call: Selection) -> None:
    raw: Raw = {}
    section = sections.replay_growth(one_call, lambda _: None, raw)

    assert section.figures is not None
    assert ["", "5 members", "10 members", "20 members", "40 members"] == section.figures.head
    assert 4 == len(raw)
    assert [sections.GENERATION, sections.CURRENT] == [row[0] for row in section.figures.rows]


def test_a_wrong_owner_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    moves = sections.Owners.push
    monkeypatch.setattr(sections.Owners, "push", lambda owners: [*moves(owners), *moves(owners)])

    with pytest.raises(WrongAnswerError, match="current assignments"):
        sections.check_current(3)


def test_a_wrong_answer_is_not_timed() -> None:
    log = sections.commit_log(2, 50)

    with pytest.raises(WrongAnswerError, match="duplicates"):
        sections.check_replay(log.set_column(0, "offset", pa.array([0] * log.num_rows)))
    broken = pa.array([*log["value"].to_pylist()[:-1], b"\0"])
    with pytest.raises(WrongAnswerError, match="not decoded"):
        sections.check_decoding(log.set_column(3, "value", broken))
