"""The options `--group`, `--since` and `--until` on the recorded cluster, without Spark and with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor.cli import main
from assignor.cluster import Recording
from assignor.cluster.name_patterns import NamePatterns
from assignor.errors import IllegalArgumentError
from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]

ENGINES = ["local", pytest.param("spark", marks=pytest.mark.spark)]
LONG = ["local", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.long])]
"""The same, with Spark in the long profile only."""


def replayed(capsys: pytest.CaptureFixture[str], *options: str) -> list[Row]:
    """Return the events that `replay` prints for the recorded cluster."""
    assert 0 == main(["replay", str(RECORDING), "--json", *options])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def reported(capsys: pytest.CaptureFixture[str], out: Path, *options: str) -> dict[str, Any]:
    """Return the report on the recorded cluster."""
    assert 0 == main(["report", str(RECORDING), "--json", "--out", str(out), *options])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def middle() -> int:
    """Return a time in the middle of the recorded cluster's log."""
    times = sorted(pq.read_table(RECORDING / "records.parquet", columns=["timestamp"])["timestamp"].to_pylist())
    return int(times[len(times) // 2])


def test_a_pattern_has_two_special_characters() -> None:
    names = ["billing-eu", "billing-us", "billing.eu", "billing", "[ab]", "a", "x\ny", "🙂"]

    for pattern, expected in {
        "billing-*": ["billing-eu", "billing-us"],
        "billing?eu": ["billing-eu", "billing.eu"],
        "billing.eu": ["billing.eu"],
        "[ab]": ["[ab]"],
        "x*y": ["x\ny"],
        "?": ["a", "🙂"],
        "*": names,
        "BILLING": [],
        "": [],
    }.items():
        chosen = NamePatterns([pattern])
        assert expected == [name for name in names if chosen.matches(name)], pattern
        assert expected == pa.array(names).filter(chosen.mask(pa.array(names))).to_pylist(), pattern
        assert ([] if expected else [pattern]) == chosen.unmatched(names)
    assert ["c*"] == NamePatterns(["a", "c*", "a"]).unmatched(["a", "b"])


def test_a_pattern_after_an_exclamation_mark_leaves_names_out() -> None:
    names = ["billing-eu", "billing-test", "audit", "audit-test", "!audit", "x\n-test", "-test"]

    for patterns, expected in {
        ("!*-test",): ["billing-eu", "audit", "!audit"],
        ("billing-*", "!*-test"): ["billing-eu"],
        ("!*-test", "billing-*", "audit"): ["billing-eu", "audit"],
        ("!audit",): ["billing-eu", "billing-test", "audit-test", "!audit", "x\n-test", "-test"],
        ("?audit", "audit"): ["audit", "!audit"],
        ("*", "!*"): [],
        ("audit", "!audit"): [],
        (): [],
    }.items():
        chosen = NamePatterns(patterns)
        assert expected == [name for name in names if chosen.matches(name)], patterns
    assert [] == NamePatterns(["!gone-*", "audit"]).unmatched(names)
    assert ["gone"] == NamePatterns(["!audit", "gone"]).unmatched(names)
    assert not NamePatterns(["!audit"]).are_names
    NamePatterns(["!audit"]).check_matched(names, "f")
    NamePatterns(["!audit"]).check_matched([], "f")
    with pytest.raises(
        IllegalArgumentError, match=r"^'a\*', '!a\*' together leave out all groups in f; choose others$"
    ):
        NamePatterns(["a*", "!a*"]).check_matched(names, "f")


@pytest.mark.parametrize("engine", LONG)
def test_replay_leaves_groups_out(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    everything = replayed(capsys, "--engine", "local")

    found = replayed(capsys, "--engine", engine, "--group", "!*-sync", "--group", "!billing")

    left_out = names(everything) - names(found)
    assert {"inventory-sync", "billing"} <= left_out
    assert all(group.endswith("-sync") or group == "billing" for group in left_out)
    assert [each for each in everything if each["group"] not in left_out] == found


@pytest.mark.parametrize("engine", LONG)
def test_replay_shows_the_groups_that_match(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    everything = replayed(capsys, "--engine", "local")

    found = replayed(capsys, "--engine", engine, "--group", "*-sync", "--group", "bill?ng*")
    groups = {each["group"] for each in found}
    assert {"inventory-sync", "billing"} <= groups
    assert [each for each in everything if each["group"] in groups] == found
    assert groups == {name for name in names(everything) if name.endswith("-sync") or name.startswith("billing")}


def names(events: list[Row]) -> set[str]:
    """Return the groups of events."""
    return {each["group"] for each in events if each["group"] is not None}


def test_decode_prints_the_groups_that_match(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["decode", str(RECORDING), "--group", "bill*", "--group", "no-*"])

    found = capsys.readouterr()
    assert {"billing"} == {json.loads(line)["group_id"] for line in found.out.splitlines()}
    assert "assignor: no record is of group 'no-*'\n" in found.err


@pytest.mark.parametrize("engine", ENGINES)
def test_until_reads_the_log_up_to_a_time(capsys: pytest.CaptureFixture[str], tmp_path: Path, engine: str) -> None:
    until = middle()
    records = pq.read_table(RECORDING / "records.parquet")
    (tmp_path / "cut").mkdir()
    for name in ("topics.parquet", "aborted.json"):
        (tmp_path / "cut" / name).write_bytes((RECORDING / name).read_bytes())
    is_read = pa.compute.less_equal(records["timestamp"], until)
    pq.write_table(records.filter(is_read), tmp_path / "cut" / "records.parquet")
    assert 0 == main(["replay", str(tmp_path / "cut"), "--json", "--engine", "local"])
    expected = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert expected == replayed(capsys, "--engine", engine, "--until", str(until))
    found = reported(capsys, tmp_path / "report", "--engine", engine, "--until", str(until))
    assert pa.compute.sum(is_read).as_py() == found["records"] < len(records)


def test_until_leaves_out_later_end_offsets(tmp_path: Path) -> None:
    rows = [{"at": at, "topic": "t", "partition": 0, "end_offset": at, "start_offset": 0} for at in (10, 20, 30)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "end_offsets.parquet")
    recording = Recording(tmp_path, ())

    for until, expected in ((20, [10, 20]), (9, []), (None, [10, 20, 30])):
        found = recording.select(until=until).end_offset_rows()
        assert found is not None
        assert expected == found.to_table()["at"].to_pylist()


def test_records_without_a_valid_time_are_read_with_until(tmp_path: Path) -> None:
    from assignor.cluster.records import SCHEMA, scan

    times = [5, 2**63 - 1, 11, -1, 10]
    rows = [
        {"partition": 0, "offset": offset, "timestamp": time, "key": b"", "value": None}
        for offset, time in enumerate(times)
    ]
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), tmp_path / "records.parquet")

    (batch,) = scan(Recording(tmp_path, ()).select(until=10), ["offset"])
    assert [0, 1, 3, 4] == batch["offset"].to_pylist()


def test_since_leaves_out_earlier_events(capsys: pytest.CaptureFixture[str]) -> None:
    since = middle()
    everything = replayed(capsys)

    found = replayed(capsys, "--since", str(since))
    assert [each for each in everything if each["at"] >= since] == found
    assert 0 < len(found) < len(everything)


@pytest.mark.parametrize("engine", LONG)
def test_a_report_on_some_groups_is_a_part_of_the_whole(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, engine: str
) -> None:
    whole = reported(capsys, tmp_path / "whole", "--engine", "local")

    found = reported(capsys, tmp_path / "some", "--engine", engine, "--group", "inventory-*")
    assert [each for each in whole["groups"] if each["group"].startswith("inventory-")] == found["groups"] != []
    assert [each for each in whole["findings"] if each["group"].startswith("inventory-")] == found["findings"] != []
    assert whole["records"] == found["records"]


def test_a_report_leaves_out_findings_that_ended_before_since(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    whole = reported(capsys, tmp_path / "whole")
    ends = sorted(each["until"] for each in whole["findings"] if each["until"] is not None)
    since = ends[len(ends) // 2]

    found = reported(capsys, tmp_path / "part", "--since", str(since))
    assert since == found["since"]
    assert [each for each in whole["findings"] if each["until"] is None or each["until"] >= since] == found["findings"]
    assert len(found["findings"]) < len(whole["findings"])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--group", "no-*"], f"no group in {RECORDING / 'records.parquet'} matches 'no-*'"),
        (["--since", "2026-02-02", "--until", "2026-02-01T10:00Z"], "--since 2026-02-02 00:00:00.000 is after --until"),
    ],
)
def test_choices_without_a_result_are_errors(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], problem: str
) -> None:
    for command in (["replay", str(RECORDING)], ["report", str(RECORDING), "--out", str(tmp_path / "out")]):
        assert 2 == main([*command, *options])
        assert problem in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "-1", "10000-01-01", str(2**70), "1969-12-31T23:00"])
def test_a_time_that_cannot_be_read_is_named(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with pytest.raises(SystemExit):
        main(["replay", str(RECORDING), f"--until={text}"])
    assert f"argument --until: {text!r} is no time between 1970 and 9999; give one such as" in capsys.readouterr().err
