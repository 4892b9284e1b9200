"""The table of the lines that the tests execute: rooms and sums from reports, and the committed measurement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docs import covered_lines

ROOT = Path(__file__).parents[2]
PYTHON = """\
TN:
SF:python/assignor/replay/events.py
DA:1,1
DA:2,0
end_of_record
SF:python/assignor/replay/records.py
DA:1,0,abcdef
end_of_record
SF:python/assignor/lag.py
DA:7,3
end_of_record
SF:python/assignor/spark.py
DA:1,1
end_of_record
SF:tests/replay/test_events.py
DA:1,1
end_of_record
"""
RUST = """\
SF:/srv/clone/src/replay/machine.rs
DA:1,0
DA:2,5
end_of_record
SF:assignor/src/replay/machine.rs
DA:1,9
DA:2,0
DA:3,0
end_of_record
SF:assignor/src/replay.rs
DA:1,1
end_of_record
SF:assignor/src/replay/tests.rs
DA:1,1
end_of_record
"""


def test_lines_of_several_reports_are_counted_by_room() -> None:
    rooms = covered_lines.rooms_of(covered_lines.lines_of([PYTHON, RUST]))

    assert {"python": {"package": [2, 2], "replay": [1, 3]}, "rust": {"replay": [3, 4]}} == rooms
    assert [
        ("`replay`", "3", "33.3 %", "4", "75.0 %"),
        ("files of the package", "2", "100.0 %", "", ""),
        ("all", "5", "60.0 %", "4", "75.0 %"),
    ] == list(covered_lines.rows(rooms))


def test_a_part_of_the_lines_is_rounded_down() -> None:
    rooms = {"python": {"package": [9999, 10000]}, "rust": {}}

    assert ("all", "10,000", "99.9 %", "", "") == list(covered_lines.rows(rooms))[-1]


@pytest.mark.parametrize(("reports", "missing"), [([PYTHON], "Rust"), ([RUST], "Python"), ([""], "Python and Rust")])
def test_reports_without_a_language_are_refused(
    reports: list[str],
    missing: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(covered_lines, "COVERAGE", tmp_path / "coverage.json")
    paths = [tmp_path / f"{number}.lcov" for number in range(len(reports))]
    for path, text in zip(paths, reports, strict=True):
        path.write_text(text, encoding="utf-8")

    assert 1 == covered_lines.main(["abc", *map(str, paths)])
    assert f"assignor: the reports have no lines of {missing}\n" == capsys.readouterr().err
    assert not (tmp_path / "coverage.json").exists()


def test_the_measurement_is_written_and_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "coverage.json"
    monkeypatch.setattr(covered_lines, "COVERAGE", file)
    (tmp_path / "both.lcov").write_text(PYTHON + RUST, encoding="utf-8")

    assert 0 == covered_lines.main(["abc", str(tmp_path / "both.lcov")])
    assert "the tests execute 60.0 % of 5 lines of Python, 75.0 % of 4 of Rust\n" == capsys.readouterr().out
    assert "abc" == json.loads(file.read_text(encoding="utf-8"))["commit"]
    assert covered_lines.measured(file)["rooms"]["rust"] == {"replay": [3, 4]}


def test_the_committed_measurement_has_each_room() -> None:
    rooms = covered_lines.measured()["rooms"]
    folders = {
        "python": {path.parent.name for path in (ROOT / "python/assignor").glob("*/__init__.py")},
        "rust": {path.name for path in (ROOT / "src").iterdir() if path.is_dir()},
    }

    known = folders["python"] | folders["rust"] | {"package"}
    for language, names in folders.items():
        assert names | {"package"} <= {*rooms[language]} <= known
    assert all(0 < executed <= lines for counts in rooms.values() for executed, lines in counts.values())
