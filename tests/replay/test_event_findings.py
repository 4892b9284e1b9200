"""Findings from events: storms, stuck members and unusual offsets, and their agreement with `assignor replay`."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor.cli import main
from assignor.cluster import Recording, records
from assignor.report import local
from assignor.report.event_findings import STUCK_MS, findings_of_events
from assignor.report.findings import Finding
from assignor.report.summary import summarize
from tests.replay.generated_events import METADATA, random_log
from tests.replay.logs import Event, classic, commit, member
from tests.support.record_bytes import LogRecord
from tests.support.recorded_fleet import RECORDING

Row = dict[str, Any]

PARTITIONS = [{"topic": "t", "partition": id} for id in (0, 1, 4)]


def storm(since: int, until: int | None = None, rebalances: int = 20) -> Row:
    return {"event": "storm", "since": since, "until": until, "rebalances": rebalances, "topic_partitions": PARTITIONS}


def stuck(name: str, since: int, until: int | None = None) -> Row:
    facts = {"usual_interval_ms": 5000, "topic_partitions": PARTITIONS[:1]}
    return {"event": "stuck", "member": name, "since": since, "until": until, **facts}


def offsets(problem: str, at: int, *ids: int) -> Row:
    partitions = [{"topic": "t", "partition": id} for id in ids]
    facts = {"topic_partitions": partitions, "evidence": f"At {at}.", "since": None, "until": None}
    return {"event": "offsets", "problem": problem, "at": at, **facts}


def found(*events: Row) -> list[Finding]:
    return list(findings_of_events("g", events))


def test_each_storm_is_a_finding_with_its_last_counts() -> None:
    ended, lasting = found(storm(5), storm(5, 90_000, 70), storm(200_000), storm(200_000, None, 30))

    assert ("storm", 5, 90_000) == (ended.kind, ended.since, ended.until)
    assert ended.text.endswith(": 70 rebalances with unchanged membership within 90.0 s from 1970-01-01 00:00:00.005")
    assert ("storm", 200_000, None) == (lasting.kind, lasting.since, lasting.until)
    assert lasting.text.endswith(": 30 rebalances with unchanged membership since 1970-01-01 00:03:20.000")
    assert "Partitions that changed owners or had no owner: 3 partitions: t[0–1 4]." in lasting.evidence


def test_stuck_members_are_one_finding_while_they_last() -> None:
    (only,) = found(stuck("a", 7000), stuck("b", 9000))

    assert ("stuck", 7000, None) == (only.kind, only.since, only.until)
    assert "2 members have not committed offsets as usual, the first since 1970-01-01 00:00:07.000" == only.text
    assert only.evidence.startswith("a (usually commits every 5.0 s): t[0]; b (usually commits every 5.0 s): t[0].")


def test_a_member_that_commits_again_is_a_finding_only_after_a_minute() -> None:
    assert [] == found(stuck("a", 0), stuck("a", 0, STUCK_MS - 1))
    (only,) = found(stuck("a", 0), stuck("b", 5), stuck("a", 0, STUCK_MS), stuck("b", 5, 200_000))

    assert (0, 200_000) == (only.since, only.until)
    assert "2 members committed no offsets for up to 3 min 20 s, from 1970-01-01 00:00:00.005" == only.text


def test_a_member_that_is_stuck_again_is_an_open_finding() -> None:
    kinds = [(each.since, each.until) for each in found(stuck("a", 0), stuck("a", 0, 70_000), stuck("a", 80_000))]

    assert [(80_000, None), (0, 70_000)] == kinds


def test_many_stuck_members_are_counted() -> None:
    (only,) = found(*(stuck(f"m{number}", 1) for number in range(9)))

    assert "9 members have not committed offsets as usual, the first since 1970-01-01 00:00:00.001" == only.text
    assert "; 5 more." in only.evidence
    assert "m4" not in only.evidence


def test_unusual_offsets_are_one_finding_of_each_kind() -> None:
    findings = found(
        offsets("went_back", 10, 2),
        offsets("never_committed", 20, 5),
        offsets("went_back", 30, 1),
        offsets("not_owned", 40, 3),
        offsets("never_committed", 50, 6),
    )

    assert [
        ("went_back", 10, 30, "a committed offset went back 2 times, in 2 partitions"),
        ("not_owned", 40, 40, "offsets were committed for 1 partition without an owner"),
        ("never_committed", 20, None, "no committed offset for 2 owned partitions"),
    ] == [(each.kind, each.since, each.until, each.text) for each in findings]
    assert "2 partitions: t[1–2]. At 10." == findings[0].evidence


def recording(folder: Path, rows: list[Row], topics: Iterable[Row] = ()) -> Recording:
    """Write a recording of these records."""
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=records.SCHEMA), folder / "records.parquet")
    schema = pq.read_schema(RECORDING / "topics.parquet")
    pq.write_table(pa.Table.from_pylist(list(topics), schema=schema), folder / "topics.parquet")
    return Recording.open(folder)


def report(given: Recording, part: Path) -> list[Finding]:
    part.mkdir()
    local.write_tables(given, part)
    return summarize(given, part).findings()


def logged(*entries: tuple[int, Any]) -> list[Row]:
    """Return records of times and events."""
    return [
        {"partition": 0, "offset": place, "timestamp": at, "key": each.key, "value": each.value}
        for place, (at, each) in enumerate(entries)
    ]


OWNER = member("a", ["t"], {"t": [0, 1, 2]})


def test_a_partition_that_gets_a_commit_later_is_not_a_finding(tmp_path: Path) -> None:
    rows = logged(
        (0, classic(1, OWNER)),
        (1_000, commit("t", 0, offset=1)),
        (70_000, commit("t", 1, offset=1)),
        (80_000, commit("t", 0, offset=2)),
        (90_000, commit("t", 0, offset=None)),
        (95_000, commit("t", 2, offset=None)),
    )

    (only,) = [each for each in report(recording(tmp_path / "in", rows), tmp_path / "out") if "commit" in each.kind]

    assert ("never_committed", 60_000, None) == (only.kind, only.since, only.until)
    assert only.evidence.startswith("t[2]. The partitions had no committed offset during 60 s")


def test_a_partition_counts_again_after_its_offset_was_deleted(tmp_path: Path) -> None:
    rows = logged(
        (0, classic(1, OWNER)),
        (1_000, commit("t", 0, offset=1)),
        (1_000, commit("t", 1, offset=1)),
        (1_000, commit("t", 2, offset=1)),
        (2_000, commit("t", 1, offset=None)),
        (99_000, commit("t", 0, offset=2)),
    )

    (only,) = [each for each in report(recording(tmp_path / "in", rows), tmp_path / "out") if "commit" in each.kind]

    assert only.evidence.startswith("t[1]. ")


def test_a_partition_without_an_owner_at_the_end_is_not_a_finding(tmp_path: Path) -> None:
    owned, fewer = classic(1, OWNER), classic(2, member("a", ["t"], {"t": [0]}))
    rows = logged((0, owned), (1_000, commit("t", 1)), (70_000, fewer))

    (only,) = [each for each in report(recording(tmp_path / "in", rows), tmp_path / "out") if "commit" in each.kind]

    assert only.evidence.startswith("t[0]. ")


def test_a_group_that_never_commits_stores_its_offsets_elsewhere(tmp_path: Path) -> None:
    rows = logged((0, classic(1, OWNER)), (70_000, classic(2, OWNER)))

    assert [] == [each for each in report(recording(tmp_path / "in", rows), tmp_path / "out") if "commit" in each.kind]


def test_findings_of_unowned_partitions_and_idle_members_have_no_times(tmp_path: Path) -> None:
    idle = member("b", ["t"], {})
    rows = logged((0, classic(1, OWNER, idle)), (3_600_000, classic(2, OWNER, idle)))
    topics = [
        {"t": at, "topic": "t", "topic_id": "", "partition": id, "racks": None}
        for at, count in ((-1, 3), (7_200_000, 5))
        for id in range(count)
    ]

    found = {each.kind: each for each in report(recording(tmp_path / "in", rows, topics), tmp_path / "out")}

    assert [(None, None)] * 2 == [(found[kind].since, found[kind].until) for kind in ("unowned", "idle")]
    assert "Without an owner: t[3–4]." == found["unowned"].evidence


def of_group(entry: Event | LogRecord, number: int) -> Row:
    """Return key and value of a record of the group g, moved to a group with a number."""
    key = entry.key and entry.key.replace(b"\0\1g", f"\0\4g{number:03}".encode())
    return {"key": key, "value": entry.value}


def expected(events: list[Row]) -> set[tuple[Any, ...]]:
    """Return the findings that correspond to the events of `assignor replay --json`, without those of stuck members.

    A finding is its kind, group and times, and the number of rebalances of a storm.
    """
    found: set[tuple[Any, ...]] = set()
    open_storms: dict[str, tuple[int, int]] = {}
    problems: dict[tuple[str, str], list[int]] = {}
    owners: dict[tuple[str, str], tuple[int, int | None]] = {}
    for each in events:
        group = each["group"]
        if each["event"] == "storm" and each["until"] is None:
            open_storms[group] = (each["since"], each["rebalances"])
        elif each["event"] == "storm":
            found.add(("storm", group, open_storms.pop(group)[0], each["until"], each["rebalances"]))
        elif each["event"] == "offsets" and each["since"] is None and each["problem"] != "never_committed":
            problems.setdefault((each["problem"], group), []).append(each["at"])
    found |= {("storm", group, since, None, count) for group, (since, count) in open_storms.items()}
    for each in sorted(events, key=lambda each: each["offset"]):  # in the order of the log: timestamps go backwards
        if each["event"] == "offsets" and each["since"] is not None:
            since, _ = owners.get((each["problem"], each["group"]), (each["since"], None))
            owners[each["problem"], each["group"]] = min(since, each["since"]), each["until"]
    found |= {(problem, group, *times) for (problem, group), times in owners.items()}
    return found | {(problem, group, min(times), max(times)) for (problem, group), times in problems.items()}


def rebalances(text: str) -> list[int]:
    """Return the number of rebalances in the text of a storm; empty for other findings."""
    return [int(number.replace(",", "")) for number in re.findall(r"^rebalance storm: ([\d,]+) rebalances", text)]


def assert_agreement(folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> set[tuple[Any, ...]]:
    """Assert that the findings of a report are those of the events that `assignor replay` prints, and return them."""
    capsys.readouterr()
    assert 0 == main(["report", str(folder), "--json", "--engine", "local", "--out", str(out)])
    reported = json.loads(capsys.readouterr().out)["findings"]
    assert 0 == main(["replay", str(folder), "--json", "--engine", "local"])
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    kinds = ("storm", "went_back", "not_owned", "two_owners", "not_subscribed", "unknown_partition")
    found = [
        (each["kind"], each["group"], each["since"], each["until"], *rebalances(each["text"]))
        for each in reported
        if each["kind"] in kinds
    ]
    assert sorted(map(repr, found)) == sorted(map(repr, expected(events)))
    stuck = [each for each in reported if each["kind"] == "stuck"]
    for each in stuck:
        assert each["since"] in silence_times(events, each["group"], "since")
        assert each["until"] is None or each["until"] in silence_times(events, each["group"], "until")
    return {*found, *((each["kind"], each["group"], each["since"], each["until"]) for each in stuck)}


def silence_times(events: list[Row], group: str, name: str) -> set[int | None]:
    """Return the values of a field of the events about stuck members of a group."""
    return {each[name] for each in events if each["event"] == "stuck" and each["group"] == group}


def test_the_findings_of_the_fleet_are_the_events_of_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = assert_agreement(RECORDING, tmp_path / "out", capsys)

    assert {("storm", "inventory-sync"), ("went_back", "notify-dispatch")} == {each[:2] for each in found}


def test_the_findings_of_random_logs_are_the_events_of_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = set()
    for seed in range(3):
        rng = random.Random(seed)
        rows: list[Row] = []
        for number in range(30):
            for entry in random_log(rng, 60):
                place = {"partition": number, "offset": entry.offset, "timestamp": entry.timestamp}
                rows.append({**place, **of_group(entry, number)})
        given = recording(tmp_path / f"in {seed}", rows, METADATA)
        kinds |= {
            (kind, until is None) for kind, _, _, until, *_ in assert_agreement(given.folder, tmp_path / "out", capsys)
        }

    owners = {"two_owners", "not_subscribed"}
    assert owners | {"stuck", "went_back", "not_owned"} <= {kind for kind, _ in kinds}
    assert ("stuck", True) in kinds


def test_wrong_owners_are_one_finding_with_their_first_and_last_time() -> None:
    def owners(since: int, until: int | None, *ids: int) -> Row:
        return {**offsets("two_owners", until or since, *ids), "since": since, "until": until}

    again = found(owners(5, None, 0), owners(5, None, 0, 1), owners(5, 9, 0, 1), owners(20, None, 4))
    ended = found(owners(5, None, 0), owners(5, 9, 0))

    assert [("two_owners", 5, None)] == [(each.kind, each.since, each.until) for each in again]
    text = "more than one member owns 3 partitions: t[0–1 4], so records are consumed more than once; 2 times"
    assert text == again[0].text
    assert "At 20." == again[0].evidence
    assert [("two_owners", 5, 9)] == [(each.kind, each.since, each.until) for each in ended]
    assert "more than one member owns t[0], so records are consumed more than once" == ended[0].text


def test_storms_at_random_times_are_those_of_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(7)
    rows: list[Row] = []
    for number in range(40):
        at = 0
        for generation in range(1, 120):
            at += rng.choice([100, 500, 2_900, 3_100] if rng.random() < 0.97 else [100_000])
            written = of_group(classic(generation, OWNER), number)
            rows.append({"partition": number, "offset": generation, "timestamp": at, **written})

    found = assert_agreement(recording(tmp_path / "in", rows).folder, tmp_path / "out", capsys)

    assert len(found) > 50
    assert {True, False} == {until is None for _, _, _, until, _ in found}
