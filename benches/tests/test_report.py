"""Tests of the report with made-up figures: turns, ratios, tables, targets and the file of figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import assignor._core
from benches import conftest, run
from benches.checks import require, require_release
from benches.report import SECTIONS, Factor, Measured, Part, Row, Run, Section, Target, shown
from benches.timing import Pace, alternate, interleave, ratio


def parts(_: Run) -> Iterator[Part]:
    yield Row("3x1x6", {"Java": [0.004, 0.006], "plan": [0.001, 0.002]}, {"pairs": "3"})
    yield Target("Java / plan", 12.34, 10)
    yield Row("3x2x6", {"plan": [0.002]})
    yield Target("beyond it", 30, 20, "%", "<=")
    yield "Made up."


def measured(factor: Factor | None = None) -> Measured:
    return Section("speed", "Speed", "A note.", parts, factor).measure(Run("quick"))


def test_a_section_shows_its_figures_and_targets() -> None:
    assert list(measured("first / this").text())[1:] == [
        "Speed",
        "=====",
        "A note. Made up.",
        "",
        "              Java                 plan  pairs",
        "-----  -----------  -------------------  -----",
        "3x1x6  4.00 / 5.00  1.00 / 1.50 (3.50x)      3",
        "3x2x6            -          2.00 / 2.00      -",
        "",
        "target       measured  wanted",
        "-----------  --------  ------  ------",
        "Java / plan     12.3x  >= 10x     met",
        "beyond it       30.0%  <= 20%  MISSED",
    ]


@pytest.mark.parametrize(
    ("factor", "cell"),
    [(None, "1.00 / 1.50"), ("this / first", "1.00 / 1.50 (0.292x)"), ("this / previous", "1.00 / 1.50 (0.292x)")],
)
def test_a_cell_shows_the_factor_of_its_section(factor: Factor | None, cell: str) -> None:
    (table, _) = measured(factor).tables()

    assert cell == table.rows[0][2]


def test_a_section_is_stored_with_its_command_in_the_order_of_the_report(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    path.write_text(json.dumps({"other": {}, "encode": {}, "java": {}}), encoding="utf-8")
    section = Section("peers", "Speed", "A note.", parts).measure(Run("quick"))

    run.store(section, path, {"CPU": "fast"}, "python -m benches.run --quick --only peers")

    stored = json.loads(path.read_text(encoding="utf-8"))
    assert ["peers", "java", "encode", "other"] == list(stored)
    assert ["title", "note", "command", "commit", "uncommitted_changes", "machine", "tables"] == list(stored["peers"])
    assert {"CPU": "fast"} == stored["peers"]["machine"]
    assert [["3x1x6", "4.00 / 5.00", "1.00 / 1.50", "3"], ["3x2x6", "-", "2.00 / 2.00", "-"]] == (
        stored["peers"]["tables"][0]["rows"]
    )


@pytest.mark.parametrize(("is_right", "code"), [(True, 0), (False, 1)])
def test_a_run_prints_sections_and_fails_after_a_wrong_answer(
    is_right: bool, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def made_up(_: Run) -> Iterator[Part]:
        yield from parts(_)
        require(is_right, "plan is wrong")

    monkeypatch.setattr(assignor._core, "__build__", "release")
    monkeypatch.setitem(SECTIONS, "encode", Section("encode", "Speed", "A note.", made_up))

    assert code == run.main(["--quick", "--only", "encode", "--json", str(tmp_path / "times.json")])
    out, error = capsys.readouterr()
    if is_right:
        assert "1 of 2 targets are met." in out
        times = json.loads((tmp_path / "times.json").read_text(encoding="utf-8"))["measured"]["encode"]
        assert {"3x1x6": {"Java": [0.004, 0.006], "plan": [0.001, 0.002]}, "3x2x6": {"plan": [0.002]}} == times
    else:
        assert error.endswith("assignor: plan is wrong\n")


@pytest.mark.parametrize("build", ["debug", "local"])
def test_a_build_that_is_not_a_release_build_is_not_timed(
    build: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(assignor._core, "__build__", build)

    with pytest.raises(RuntimeError, match=f"is a {build} build, which is too slow to time.*make build"):
        require_release()
    enabled: Any = SimpleNamespace(config=SimpleNamespace(getoption=lambda _: True))
    with pytest.raises(pytest.UsageError, match="make build"):
        conftest.pytest_collection_finish(enabled)
    assert 1 == run.main(["--quick", "--only", "encode"])
    assert f"is a {build} build" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.00123, "0.00123"), (0.0123, "0.0123"), (0.5, "0.500"), (9.99, "9.99"), (12345.6, "12,346")],
)
def test_figures_have_three_significant_digits(value: float, text: str) -> None:
    assert text == shown(value)


def test_implementations_take_turns_and_ratios_are_taken_within_a_round() -> None:
    turns: list[str] = []
    seconds = {"slow": [3.0, 4.0, 9.0, 10.0], "fast": [1.0, 2.0, 1.0, 2.0]}

    def sample(implementation: str) -> float:
        turns.append(implementation)
        return seconds[implementation][turns.count(implementation) - 1]

    times = interleave(
        {"slow": lambda _: sample("slow"), "fast": lambda _: sample("fast")}, Pace(seconds=0, fewest=3, most=9)
    )

    assert turns == ["slow", "fast"] * 4  # the first call is a warm-up
    assert times == {"slow": [4.0, 9.0, 10.0], "fast": [2.0, 1.0, 2.0]}
    assert ratio(times, "slow", "fast") == 5


def test_short_calls_are_repeated() -> None:
    asked: list[int] = []

    def sample(calls: int) -> float:
        asked.append(calls)
        return 2**-20

    interleave({"short": sample}, Pace(seconds=0, fewest=2, most=9))

    assert asked == [1, 2098, 2098]  # 2098 calls of 2**-20 s take two milliseconds


def test_sides_alternate_and_their_phases_have_times_by_side() -> None:
    turns: list[str] = []

    def side(name: str) -> dict[str, float]:
        turns.append(name)
        return {"join": 1.0, "sync": len(turns)}

    times = alternate({"ours": lambda: side("ours"), "Java": lambda: side("Java")}, 2, lambda _: None)

    assert ["ours", "Java"] * 2 == turns
    assert {"join": {"ours": [1, 1], "Java": [1, 1]}, "sync": {"ours": [1, 3], "Java": [2, 4]}} == times
