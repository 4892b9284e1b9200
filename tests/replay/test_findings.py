"""Findings of a report: kinds, severities, times and evidence, and the exit code of `--fail-on`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor.cli import main
from assignor.cluster import Recording, records
from assignor.report.findings import KINDS, Finding
from assignor.report.group_report import Compared, ComparedAssignments, OfClass, Remark
from assignor.report.text import render
from tests.replay.logs import event, member
from tests.replay.test_event_findings import storm
from tests.replay.test_report import group, report
from tests.support.recorded_fleet import RECORDING

Row = dict[str, Any]


def test_a_group_without_problems_has_no_findings() -> None:
    assert [] == report(group()).findings()


def test_each_problem_is_a_finding_with_the_text_of_the_report() -> None:
    given = report(
        group("storm", events=(storm(5, 9, 9000),)),
        group("unowned", unowned=3, unowned_spans=(("t", 0, 2), ("u", 4, 1))),
        group("idle", idle_members=1),
        group("skew", least_loaded=3, most_loaded=13),
        group("bad", bad_records=7, bad_records_between=(1, 2)),
    )

    found = {finding.kind: finding for finding in given.findings()}

    assert ["storm", "unowned", "idle", "skew", "bad_records"] == list(found)
    unknown = (None, None)
    assert [(5, 9), unknown, unknown, unknown, (1, 2)] == [(each.since, each.until) for each in found.values()]
    assert all(kind == found[kind].kind and found[kind].evidence for kind in found)
    assert "Without an owner: t[0–1] u[4]." == found["unowned"].evidence
    text = render(given)
    for finding in found.values():
        assert f"  {finding.group}: {finding.text}\n" in text


def test_differences_are_one_finding_per_assignor_and_group() -> None:
    remarks = [
        Remark("g", number, "different", f"why {number}", 100 * number, "unexplained") for number in range(1, 13)
    ]
    remarks += [
        Remark("g", 20, "unknown", "no bytes", None, "unreadable"),
        Remark("g", 21, "equal", "odd bytes", 5),
        Remark("g", 22, "different", "no topic t yet", 6, "explained"),
        Remark("g", 23, "different", "moved", 7, "healed"),
        Remark("g", 24, "unknown", "no topic u", 8, "unknown_topics"),
    ]
    first = {
        "unexplained": OfClass("generation 2: moved", 30, 40),
        "explained": OfClass("generation 1: no topic t yet", 20, 20),
        "healed": OfClass("generation 3: moved", 35, 36),
        "unknown_topics": OfClass("generation 9: no topic u", 37, 38),
    }
    sticky = ComparedAssignments("sticky", Compared(16, 10, 3, 1, 3, 3), first)

    found = report(
        group("g", range_generations=Compared(22, 8, 2, 1, 1, 1), assignments=(sticky,)), remarks=tuple(remarks)
    ).findings()

    texts = [
        ("different", "12 of 22 range assignments differ", 100, 1200),
        ("different", "2 of 16 sticky assignments differ", 30, 40),
        ("unreadable", "1 range assignment not compared: bytes cannot be decoded", None, None),
        ("note", "1 of 22 range assignments differ because the assignor had other topic metadata", 6, 6),
        ("note", "1 of 22 range assignments differ, but were corrected within seconds", 7, 7),
        ("note", "1 range assignment not compared: the topic metadata lacks topics", 8, 8),
        ("note", "range assignments that equal Kafka's, with a remark", 5, 5),
        ("note", "1 of 16 sticky assignments differ because the assignor had other topic metadata", 20, 20),
        ("note", "3 of 16 sticky assignments differ, but were corrected within seconds", 35, 36),
        ("note", "3 sticky assignments not compared: the topic metadata lacks topics", 37, 38),
    ]
    assert texts == [(each.kind, each.text, each.since, each.until) for each in found]
    assert "Generations 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more. Generation 1: why 1" == found[0].evidence
    assert "The first is generation 2: moved" == found[1].evidence
    assert "Generation 20: no bytes" == found[2].evidence


def test_the_json_of_a_finding_has_its_severity() -> None:
    found = Finding("skew", 1, None, "g", "uneven", "facts").to_json()

    expected = {"kind": "skew", "severity": "warning", "since": 1, "until": None, "group": "g", "text": "uneven"}
    assert {**expected, "evidence": "facts"} == found
    assert {"error", "warning", "info"} == {kind.severity for kind in KINDS.values()}


def test_the_docs_list_the_kinds() -> None:
    page = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (error|warning|info) \| (.*) \|$", page, flags=re.MULTILINE)

    assert [(kind, found.severity, found.meaning) for kind, found in KINDS.items()] == rows


def test_each_kind_has_a_section_with_its_severity() -> None:
    page = (Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## `(\w+)`\n\nSeverity: (\w+)\.\n\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)

    assert page.count("\n## ") == len(sections)
    assert [(kind, found.severity) for kind, found in KINDS.items()] == [section[:2] for section in sections]
    for _, _, text in sections:
        assert ["Rule", "Limit", "What to do", "When it is wrong"] == re.findall(
            r"^\* \*\*(.+?):\*\*", text, re.MULTILINE
        )


def recorded(folder: Path, times: list[int]) -> Recording:
    """Return a recording of a group with a rebalance of unchanged members at each time."""
    rows: list[Row] = []
    for number, time in enumerate(times, start=1):
        value = {
            "protocolType": "consumer",
            "generation": number,
            "protocol": "range",
            "leader": "a",
            "members": [member("a", ["t"], {"t": [0]})],
        }
        written = event(2, {"group": "g"}, value, version=3)
        rows.append({"partition": 0, "offset": number, "timestamp": time, "key": written.key, "value": written.value})
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=records.SCHEMA), folder / "records.parquet")
    pq.write_table(pq.read_table(RECORDING / "topics.parquet").slice(0, 0), folder / "topics.parquet")
    return Recording.open(folder)


def test_fail_on_sets_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stormy = recorded(tmp_path / "stormy", [1000 * number for number in range(30)]).folder
    quiet = recorded(tmp_path / "quiet", [0]).folder
    out = ["--json", "--out", str(tmp_path / "out")]

    assert 1 == main(["report", str(stormy), *out, "--fail-on", "unowned, storm"])
    assert 0 == main(["report", str(stormy), *out, "--fail-on", "unowned,skew"])
    assert 0 == main(["report", str(stormy), *out])
    assert 0 == main(["report", str(quiet), *out, "--fail-on", "storm"])
    capsys.readouterr()
    assert 2 == main(["report", str(stormy), *out, "--fail-on", "storm,strom"])
    kinds = ", ".join(KINDS)
    assert f"assignor: --fail-on strom: a finding must be one of {kinds}\n" == capsys.readouterr().err
