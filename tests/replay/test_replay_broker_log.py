"""`--broker-log` of `replay` and `report` on the recorded cluster, without Spark and with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from assignor.cli import main
from tests.replay.event_logs import STORM, broker_reasons
from tests.replay.test_events_recorded import causes_of
from tests.support.recorded_fleet import RECORDING, TRUTH

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]

LOG = TRUTH / "broker.log.gz"
"""Lines of the brokers of the recorded cluster, without the storm, those of assignments, and those of patterns."""

ENGINES = ["local", pytest.param("spark", marks=pytest.mark.spark)]


def replayed(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[list[Row], str]:
    """Return the events that `replay` prints, and its notes."""
    assert 0 == main(["replay", str(RECORDING), "--json", *options])
    captured = capsys.readouterr()
    return [json.loads(line) for line in captured.out.splitlines()], captured.err


@pytest.mark.parametrize("engine", ENGINES)
def test_the_reason_of_the_broker_is_the_first_cause_of_each_rebalance(
    engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    events, notes = replayed(capsys, "--engine", engine, "--broker-log", str(LOG))
    expected = {
        (line["group"], line["generation"]): causes_of(line["reason"])
        for line in broker_reasons()
        if line["what"] == "rebalance" and line["group"] != STORM
    }
    rebalances = {
        (each["group"], each["generation"]): each
        for each in events
        if each["event"] == "rebalance" and each["kind"] == "classic" and each["group"] != STORM
    }

    assert expected.keys() == rebalances.keys()
    wrong = {key: each["causes"] for key, each in rebalances.items() if each["causes"][0] not in expected[key]}
    # The leader joined again because topics changed, which the records show.
    assert {("crm-cdc-sink", 4): "topic_created", ("crm-cdc-sink", 7): "partitions_increased"} == {
        key: causes[0] for key, causes in wrong.items()
    }
    assert all("cached metadata has changed" in rebalances[key]["logged_reason"] for key in wrong)
    # The assignment of generation 1 was never written: another member joined before it was complete.
    assert [("order-processor", 1)] == [key for key, each in rebalances.items() if each["offset"] < 0]
    others = [each for each in events if each["event"] == "rebalance" and each["group"] == STORM]
    assert {None} == {each["logged_at"] for each in others}
    assert "the times are in UTC, with which they match the records" in notes
    assert "1 rebalance without a record" in notes


def test_expired_and_closed_members_of_groups_with_epochs_are_those_that_the_brokers_logged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    events, _ = replayed(capsys, "--broker-log", str(LOG))
    members = [each for each in events if each["event"] == "member" and each["kind"] not in {"classic", "offsets"}]
    found = {(each["group"], each["member"], each["action"]) for each in members if each["causes"]}
    logged = {
        (line["group"], line["member"], line["what"])
        for line in broker_reasons()
        if line["what"] in {"left", "expired"}
    }

    assert logged == found


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.long])])
def test_a_report_compares_the_causes_and_keeps_all_rebalances(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report"
    options = ("--engine", engine, "--out", str(out), "--broker-log", str(LOG))
    assert 0 == main(["report", str(RECORDING), "--json", *options])
    found = json.loads(capsys.readouterr().out)["broker_log"]
    events, _ = replayed(capsys, "--broker-log", str(LOG))

    wanted = [each for each in events if each["event"] == "rebalance" and each["logged_at"] is not None]
    rows = [row for row in pq.read_table(out / "events").to_pylist() if row["logged_at"] is not None]
    names = ["group", "generation", "at", "offset", "causes", "logged_at", "logged_reason", "inferred_causes"]
    texts = [sorted(json.dumps([row[name] for name in names]) for row in each) for each in (wanted, rows)]
    assert texts[0] == texts[1]
    assert (1, 0) == (found["only_logged"], found["missing"])
    differing = [each for each in wanted if each["inferred_causes"] and each["inferred_causes"][0] != each["causes"][0]]
    assert sorted((each["group"], each["generation"]) for each in differing) == sorted(
        (row["group"], row["generation"]) for row in found["differences"]
    )
    assert found["among"] == len(differing) == 11

    assert 0 == main(["report", str(RECORDING), *options, "--group", "billing", "--page", str(tmp_path / "page.html")])
    text = capsys.readouterr().out
    assert "Log of the broker" in text
    assert "the broker logged consumer_dead" in text
    assert "order-processor" not in text


def test_the_text_marks_the_certain_cause(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["replay", str(RECORDING), "--group", "order-processor", "--broker-log", str(LOG)])
    text = capsys.readouterr().out

    assert "generation 1: consumer_subscribed (certain)" in text
    assert "The recording has no record of this generation." in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--broker-log", str(RECORDING)), "is a folder: give log files, and the input before --broker-log"),
        (("--broker-log", "missing.log"), "cannot read the broker log missing.log: No such file or directory"),
        (
            ("--broker-log", str(RECORDING / "aborted.json")),
            "has no line about a group; expected lines of a Kafka broker",
        ),
        (("--broker-log-zone", "UTC"), "--broker-log-zone UTC needs --broker-log"),
        (
            ("--broker-log", str(LOG), "--broker-log-zone", "Nowhere"),
            "time zone 'Nowhere' is not known: expected an offset",
        ),
    ],
)
@pytest.mark.parametrize("command", ["replay", "report"])
def test_wrong_files_are_named(
    command: str, options: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", str(tmp_path / "report")) if command == "report" else ()
    assert 2 == main([command, str(RECORDING), *options, *out])
    assert message in capsys.readouterr().err


def test_lines_about_a_storm_and_about_an_epoch_without_a_number_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = "[2026-11-20 23:{},000] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=0] {} (k.X)\n"
    begins = (
        f"Preparing to rebalance group {STORM} in state Stable with old generation 99999 (reason: Leader x re-joining)."
    )
    left = "[GroupId email-workers] Member x left the share group."
    log = tmp_path / "server.log"
    log.write_text("".join(layout.format(at, begins) for at in ("52:00", "52:01")) + layout.format("52:17", left))
    options = ("--broker-log", str(log), "--broker-log-zone", "UTC")
    assert 0 == main(["replay", str(RECORDING), "--group", STORM, "--group", "email-workers", *options])
    text = capsys.readouterr().out
    assert "generation 100000: unknown" in text
    assert "epoch not known: consumer_closed (certain)" in text
    assert "REBALANCE STORM: 12,459 rebalances" in text

    page = tmp_path / "page.html"
    assert 0 == main(["report", str(RECORDING), "--out", str(tmp_path / "report"), "--page", str(page), *options])
    assert "epoch not known" in page.read_text(encoding="utf-8")


def test_a_report_without_the_records_takes_no_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["report", "--bootstrap-server", "127.0.0.1:1", "--admin", "--broker-log", str(LOG)])
    assert "--broker-log explains the rebalances of a log: it cannot be used with --admin" in capsys.readouterr().err
