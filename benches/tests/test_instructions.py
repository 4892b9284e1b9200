"""Tests of the guard of instruction counts: its arithmetic, its budget, and its exit code if a budget is too small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import assignor._core
from benches import instructions
from benches.guarded_calls import CALLS
from benches.instructions import SLACK, CannotCountError, compare

CALL = "plan, tiny"
"""The call that these tests count with valgrind."""

BUDGET = {"plan": 1000, "assign": 200}


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that replaces the committed budget."""
    file = tmp_path / "instructions.json"
    file.write_text(json.dumps({"made with": instructions.made_with(), "calls": BUDGET}), encoding="utf-8")
    monkeypatch.setattr(instructions, "BUDGET", file)
    return file


def _count_as(counts: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "count", lambda *_: counts)


def test_counts_are_compared_with_their_budgets() -> None:
    budget = dict.fromkeys(("plan", "check", "low", "lower", "gone"), 1000)
    found = compare({"plan": 1151, "check": 1150, "low": 800, "lower": 799, "new": 5}, budget)

    assert ["OVER", "ok", "ok", "far under", "NO BUDGET", "UNKNOWN CALL"] == [each.status for each in found]
    assert ("plan", "1,151", "1,000", "1,150", "1.151", "OVER") == found[0].cells()
    assert ("new", "5", "-", "-", "-", "NO BUDGET") == found[4].cells()


def test_one_call_over_its_limit_fails_the_guard(
    written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = written.read_text(encoding="utf-8")
    _count_as({"plan": 1151, "assign": 200}, monkeypatch)

    assert 1 == instructions.main([])
    assert ["OVER", "ok"] == [line.split()[-1] for line in capsys.readouterr().out.splitlines()[2:]]
    assert before == written.read_text(encoding="utf-8")


def test_another_compiler_and_a_call_far_under_its_budget_are_reported_without_failure(
    written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written.write_text(json.dumps({"made with": "rustc 1.0", "calls": BUDGET}), encoding="utf-8")
    _count_as({"plan": 1000, "assign": 100}, monkeypatch)

    assert 0 == instructions.main([])
    out = capsys.readouterr().out
    assert "The budget was made with rustc 1.0" in out
    assert "lower it: `python -m benches.instructions --update`" in out


def test_an_update_replaces_the_budget(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _count_as({"plan": 2000}, monkeypatch)

    assert 0 == instructions.main(["--update"])
    assert {"plan": 2000} == json.loads(written.read_text(encoding="utf-8"))["calls"]


def test_the_committed_budget_has_every_call() -> None:
    calls = json.loads(instructions.BUDGET.read_text(encoding="utf-8"))["calls"]

    assert list(CALLS) == list(calls)
    assert 1.15 == SLACK


@pytest.mark.parametrize("build", ["debug", "local"])
def test_a_build_that_is_not_a_release_build_is_not_counted(
    build: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(assignor._core, "__build__", build)
    monkeypatch.setattr(instructions, "HERE_IS", instructions.BUDGET_IS_FOR)

    assert 2 == instructions.main([])
    assert f"is a {build} build" in capsys.readouterr().err


def test_a_python_other_than_that_of_the_budget_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "HERE_IS", ("Linux", "x86_64", "CPython", (3, 12)))

    with pytest.raises(CannotCountError, match=r"the budget is for CPython 3\.11"):
        instructions.count(["plan"])


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    """Return the instruction count of one call."""
    try:
        return instructions.count([CALL])
    except CannotCountError as why:
        pytest.skip(str(why))


@pytest.mark.parametrize(("factor", "code", "status"), [(1.0, 0, "ok"), (0.8, 1, "OVER")], ids=["true", "too small"])
def test_the_guard_fails_exactly_when_the_budget_is_too_small(
    factor: float,
    code: int,
    status: str,
    counts: dict[str, int],
    written: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    budget = {CALL: int(factor * counts[CALL])}
    written.write_text(json.dumps({"made with": instructions.made_with(), "calls": budget}), encoding="utf-8")
    _count_as(counts, monkeypatch)

    assert code == instructions.main(["--only", CALL])
    assert status == capsys.readouterr().out.splitlines()[2].split()[-1]
