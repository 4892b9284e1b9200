"""The guard of the speed: its arithmetic on made-up counts, its budget, and that it notices when interning is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import assignor._core
from benches import instructions, twins
from benches.counted import CALLS
from benches.instructions import SLACK, CannotCountError, Verdict, budget_of, compare, table

BUDGET = {"plan": {"measured": 1000, "limit": 1150}, "assign": {"measured": 200, "limit": 230}}


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that stands in for the committed one."""
    file = tmp_path / "instructions.json"
    file.write_text(json.dumps({"made with": instructions.made_with(), "calls": BUDGET}), encoding="utf-8")
    monkeypatch.setattr(instructions, "BUDGET", file)
    return file


def _count_as(counts: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "count", lambda *_: counts)


@pytest.mark.parametrize(
    ("count", "verdict", "is_failure"),
    [(1151, "OVER", True), (1150, "ok", False), (800, "ok", False), (799, "far under", False)],
)
def test_a_call_may_take_its_limit_and_no_more(count: int, verdict: str, is_failure: bool) -> None:
    [found] = compare({"plan": count}, {"plan": BUDGET["plan"]})

    assert Verdict("plan", count, 1000, 1150) == found
    assert (verdict, is_failure) == (found.verdict, found.is_failure)


def test_a_call_without_a_budget_and_a_budget_without_a_call_are_failures() -> None:
    found = compare({"plan": 1000, "new": 5}, BUDGET)

    assert [("plan", "ok"), ("new", "NO BUDGET"), ("assign", "UNKNOWN CALL")] == [(v.call, v.verdict) for v in found]
    assert [False, True, True] == [v.is_failure for v in found]


def test_verdicts_are_a_table() -> None:
    lines = list(table(compare({"plan": 1200, "new": 5}, {"plan": BUDGET["plan"]})).text())

    assert lines == [
        "call  measured  committed  limit  ratio",
        "----  --------  ---------  -----  -----  ---------",
        "plan     1,200      1,000  1,150  1.200       OVER",
        "new          5          -      -      -  NO BUDGET",
    ]


def test_one_call_over_its_limit_fails_the_guard(
    written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = written.read_text(encoding="utf-8")
    _count_as({"plan": 1151, "assign": 200}, monkeypatch)

    assert 1 == instructions.main([])
    assert ["OVER", "ok"] == [line.split()[-1] for line in capsys.readouterr().out.splitlines()[2:]]
    assert before == written.read_text(encoding="utf-8")


def test_what_is_far_under_is_said_and_no_failure(
    written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert written.exists()
    _count_as({"plan": 1000, "assign": 100}, monkeypatch)

    assert 0 == instructions.main([])
    assert "`python -m benches.instructions --update` lowers it" in capsys.readouterr().out


def test_another_compiler_than_that_of_the_budget_is_said(
    written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written.write_text(json.dumps({"made with": "rustc 1.0", "calls": BUDGET}), encoding="utf-8")
    _count_as({"plan": 1000, "assign": 200}, monkeypatch)

    assert 0 == instructions.main([])
    assert "The budget was made with rustc 1.0" in capsys.readouterr().out


def test_an_update_replaces_the_budget(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _count_as({"plan": 2000}, monkeypatch)

    assert 0 == instructions.main(["--update"])
    assert {"plan": {"measured": 2000, "limit": 2300}} == json.loads(written.read_text(encoding="utf-8"))["calls"]


def test_the_committed_budget_is_of_every_call_and_close_to_what_was_measured() -> None:
    calls = json.loads(instructions.BUDGET.read_text(encoding="utf-8"))["calls"]

    assert list(CALLS) == list(calls)
    assert 1.15 == SLACK
    assert calls == budget_of({call: entry["measured"] for call, entry in calls.items()})


def test_a_debug_build_is_not_counted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(assignor._core, "__build__", "debug")
    monkeypatch.setattr(instructions, "HERE_IS", instructions.BUDGET_IS_FOR)

    assert 2 == instructions.main([])
    assert "is a debug build" in capsys.readouterr().err


def test_another_python_than_that_of_the_budget_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "HERE_IS", ("Linux", "x86_64", "CPython", (3, 12)))

    with pytest.raises(CannotCountError, match=r"the budget is for CPython 3\.11"):
        instructions.count(["plan"])


@pytest.mark.long
@pytest.mark.timeout(1800)  # a core is compiled: two minutes, or several where the machine has more to do
def test_the_guard_notices_when_members_who_subscribe_alike_are_not_recognised() -> None:
    try:
        counts = instructions.count(list(CALLS), twins.build("uninterned"))
    except (CannotCountError, twins.TwinMissingError) as why:
        pytest.skip(str(why))
    budget = json.loads(instructions.BUDGET.read_text(encoding="utf-8"))["calls"]

    over = {found.call for found in compare(counts, budget) if found.verdict == "OVER"}

    assert {"assign", "plan", "plan, objects"} <= over
