"""Findings about rebalance loops in the report on a recording, and `--fail-on rebalance_loop`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor.cli import main
from assignor.cluster import records
from tests.replay import looping_groups as groups
from tests.replay.logs import TOPICS, metadata
from tests.replay.looping_groups import HOUR, SECOND, START, Group

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]


def recording(folder: Path, group: Group) -> str:
    """Write a recording of a group, and return its folder."""
    folder.mkdir()
    rows = [{"partition": 0, **record._asdict()} for record in group.records]
    pq.write_table(pa.Table.from_pylist(rows, schema=records.SCHEMA), folder / "records.parquet")
    topics = metadata({START - HOUR: {"t": group.partitions}})
    pq.write_table(pa.Table.from_pylist(topics, schema=TOPICS), folder / "topics.parquet")
    return str(folder)


def report(tmp_path: Path, group: Group, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[Row]]:
    """Return the exit code of `--fail-on rebalance_loop`, and the findings about loops and storms."""
    code = main(["report", recording(tmp_path / "in", group), "--out", str(tmp_path / "out"), "--json", *FAIL_ON])
    found = json.loads(capsys.readouterr().out)["findings"]
    return code, [each for each in found if each["kind"] in {"rebalance_loop", "storm"}]


FAIL_ON = ["--fail-on", "rebalance_loop"]


def test_a_loop_is_a_finding_with_what_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, (found,) = report(tmp_path, groups.leader_joins_again(Group(), 1, 100, 8.5 * SECOND), capsys)

    assert (1, "rebalance_loop", "warning") == (code, found["kind"], found["severity"])
    assert (START, None) == (found["since"], found["until"])
    assert (
        "rebalance loop: 100 rebalances since 2023-11-14 22:13:20.000, usually every 8.5 s: the leader joins again"
        == found["text"]
    )
    assert found["evidence"].startswith(
        "Generations 1 to 100; client: app on 10.0.0.1. The last rebalance: The members"
    )


def test_a_loop_that_ended_has_its_last_rebalance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group = groups.opened_and_closed(Group(), 50, 5 * SECOND)
    until = group.at
    code, (found,) = report(tmp_path, group.wait(HOUR).commit(), capsys)

    assert (1, until) == (code, found["until"])
    assert found["text"].endswith(", usually every 2.5 s: members join and leave, usually every 5.0 s")
    assert "Generations 1 to 100: 49 members took the place of one that had left; client: app on" in found["evidence"]


def test_a_deployment_is_no_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group = groups.deployment(groups.birth(Group(), 20), 10 * SECOND, rounds=2)

    assert (0, []) == report(tmp_path, group, capsys)


def test_a_storm_is_not_reported_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, (found,) = report(tmp_path, groups.leader_joins_again(Group(), 3, 200, 300), capsys)

    assert (0, "storm") == (code, found["kind"])


def test_the_text_names_the_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group = groups.new_id_each_time(Group(), 2, 100, 10)

    assert 0 == main(["report", recording(tmp_path / "in", group), "--out", str(tmp_path / "out")])

    assert "g: rebalance loop: 100 rebalances since" in capsys.readouterr().out
