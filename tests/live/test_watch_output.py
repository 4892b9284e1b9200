"""Metrics, lines of text and the state file of a watch, without a cluster."""

from __future__ import annotations

import dataclasses
import re
import socket
import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

from assignor.cli import main
from assignor.cluster.log import LogEnd
from assignor.errors import IllegalArgumentError, SnapshotError
from assignor.lag import GROUP_LAG
from assignor.replay import watch_state
from assignor.replay.event_lines import EventLines
from assignor.replay.metric_labels import OTHERS
from assignor.replay.metrics import WatchMetrics
from assignor.replay.watch_server import serve
from assignor.replay.watcher import Watcher
from tests.live.test_watch_server import answer, served
from tests.live.test_watcher import batch, commit, fleet, generation, in_a_storm, snapshots, started

if TYPE_CHECKING:
    from pathlib import Path

Samples = dict[tuple[str, ...], float]


def samples(metrics: WatchMetrics) -> Samples:
    """Return the values that a scrape over HTTP returns, by name and labels."""
    with served(metrics, 0) as connection:
        _, text = answer(connection, "/metrics")
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped(watcher: Watcher, most_groups: int = 10) -> tuple[WatchMetrics, Samples]:
    metrics = WatchMetrics(watcher, threading.Lock(), most_groups)
    return metrics, samples(metrics)


def test_metrics_have_the_storm_rebalances_members_and_lag_of_a_group() -> None:
    watcher = started()
    metrics = WatchMetrics(watcher, threading.Lock())
    rows = [generation(number, 1_000 + number, number) for number in range(1, 22)]
    metrics.observe(watcher.push(batch(*rows, commit(22, 1_030, group="idle")), {3: 23}))
    metrics.behind, metrics.checked = watcher.behind({3: LogEnd(30, 30)}), 12.5
    lag = {"partitions": 1, "lag": 40, "unknown": 2}
    metrics.lag = pa.Table.from_pylist([{"group_id": "billing", **lag}, {"group_id": "gone", **lag}], GROUP_LAG)

    found = samples(metrics)

    assert found == found | {
        ("assignor_storms_active", "billing"): 1,
        ("assignor_storms_active", "idle"): 0,
        ("assignor_storms_total", "billing"): 1,
        ("assignor_rebalances_total", "billing", "classic", "consumer_subscribed"): 1,
        ("assignor_rebalances_total", "billing", "classic", "leader_rejoined"): 20,
        ("assignor_group_members", "billing", "classic"): 1,
        ("assignor_group_members", "idle", "offsets"): 0,
        ("assignor_group_lag_offsets", "billing"): 40,
        ("assignor_group_lag_unknown_partitions", "billing"): 2,
        ("assignor_log_behind_offsets",): 7,
        ("assignor_log_checked_timestamp_seconds",): 12.5,
        ("assignor_records_total",): 22,
        ("assignor_bad_records_total",): 0,
    }
    assert not any("gone" in key for key in found)
    watcher.settle({3: LogEnd(23, 23)}, 10_000_000)
    assert 0 == samples(metrics)["assignor_storms_active", "billing"]


def test_metrics_of_further_groups_are_summed_up() -> None:
    watcher = started()
    for number in range(5):
        watcher.push(batch(generation(number, 1_000 + number, 1, group=f"g{number}")), {3: number + 1})

    _, found = scraped(watcher, most_groups=2)

    members = {key[1:]: value for key, value in found.items() if key[0] == "assignor_group_members"}
    assert {("classic", "g0"): 1, ("classic", "g1"): 1, ("classic", OTHERS): 3} == members


def test_a_port_in_use_is_reported_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        used.listen()
        port = used.getsockname()[1]
        assert 2 == main(["watch", "--bootstrap-server", "127.0.0.1:1", "--metrics", str(port)])
        assert capsys.readouterr().err.startswith(f"assignor: --metrics {port}: cannot listen on 127.0.0.1:{port}: ")
        with pytest.raises(
            IllegalArgumentError,
            match=rf"--metrics {port}: cannot listen .* in use; choose another --metrics",
        ):
            serve(WatchMetrics(started(), threading.Lock()), port, "127.0.0.1")


# ---- lines of text


def test_each_event_is_one_line_with_time_group_causes_and_evidence() -> None:
    watcher = started()
    watcher.observe_topics(snapshots()[0])
    found = watcher.push(fleet(), {})
    lines = EventLines()
    text = [lines.line(event) for event in found]

    assert len(found) > 2_000
    assert [] == [
        line for line in text if "\n" in line or not re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}  \S", line)
    ]
    for event, line in zip(found, text, strict=True):
        assert (event["group"] or "(unknown group)") in line
        if event["event"] == "rebalance":
            assert ", ".join(event["causes"]) in line
            assert event["evidence"].removesuffix(".") in line


def test_a_line_says_each_fact_once() -> None:
    events = [
        {"event": "generation", "generation": 3, "members": 0, "partitions": 0, "protocol": None, "duration_ms": 5},
        {"event": "rebalance", "generation": 4, "causes": ["unknown"], "evidence": "A is new. B joined."}
        | {"joined": ["b"], "left": [], "replaced": [], "moved": [], "unowned": []},
        {"event": "stuck", "member": "a", "since": 0, "until": 9, "topic_partitions": [["t", 0], ["t", 1]]},
        {"event": "stuck", "member": "a", "since": 0, "until": 9, "topic_partitions": [["t", 0]]},
    ]
    lines = EventLines()
    assert [
        "generation 3: the group has no members",
        "rebalance, generation 4: unknown; evidence: A is new. B joined; joined: b",
        "commits again, or has lost its partitions: a, after 9 ms without commits; 2 partitions: t[0–1]",
        "commits again, or has lost its partitions: a, after 9 ms without commits; partition: t[0]",
    ] == [lines.line({"at": 0, "group": "g", "kind": "classic"} | event).split("  ")[2] for event in events]


def test_a_line_escapes_control_characters() -> None:
    (line,) = (EventLines().line(event) for event in in_bad_group())

    assert r"a\u001b[2Jb\n" in line
    assert "\n" not in line


def in_bad_group() -> list[dict[str, Any]]:
    watcher = started()
    watcher.push(batch(commit(0, 1_000, 9, group="a\x1b[2Jb\n")), {3: 1})
    return watcher.push(batch(commit(1, 1_001, 8, group="a\x1b[2Jb\n")), {3: 2})


# ---- state file


def test_a_saved_state_is_loaded_unchanged(tmp_path: Path) -> None:
    watcher = in_a_storm()
    watcher.observe_topics(snapshots()[0])
    state = watcher.state("cluster")

    watch_state.save(tmp_path / "state", state)

    assert watch_state.load(tmp_path / "state") == state
    assert Watcher(state=state).state("cluster") == state
    assert ["state"] == [path.name for path in tmp_path.iterdir()]
    assert watch_state.load(tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:-1], "it is damaged: its checksum is wrong"),
        (lambda data: data[:90] + bytes([data[90] ^ 1]) + data[91:], "it is not a state file|it is damaged"),
        (lambda data: data.replace(b"version 2", b"version 3", 1), "it has version 3, and this release .* version 2"),
        (lambda _: b"", "it is not a state file of assignor watch"),
        (lambda _: b"\x00\xff" * 40, "it is not a state file of assignor watch"),
    ],
)
def test_a_damaged_state_file_is_reported_in_one_line(
    damage: Any, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "state"
    file.write_bytes(damage(in_a_storm().state("cluster").to_bytes()))

    with pytest.raises(SnapshotError, match=message):
        watch_state.load(file)
    assert 2 == main(["watch", "--bootstrap-server", "127.0.0.1:1", "--state", str(file)])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"assignor: cannot continue from {file}: it ")


def test_a_state_file_with_a_replay_of_another_version_is_reported_with_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "state"
    state = in_a_storm().state("cluster")
    watch_state.save(file, dataclasses.replace(state, replay=state.replay[:9] + b"\xff\xff" + state.replay[11:]))

    assert 2 == main(["watch", "--bootstrap-server", "127.0.0.1:1", "--state", str(file)])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"assignor: cannot continue from {file}: the snapshot has version 65535; ")


def test_a_state_file_of_other_groups_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watch_state.save(tmp_path / "state", started(groups=["billing"]).state("cluster"))

    words = ["watch", "--bootstrap-server", "127.0.0.1:1", "--state", str(tmp_path / "state")]
    assert 2 == main([*words, "--group", "other"])
    assert "it is the state of billing; give the same --group options" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--for", "-1"], "--for -1: the number of seconds must be at least 0"),
        (["--for", "nan"], "--for nan: the number of seconds must be at least 0"),
        (["--metrics", "70000"], "--metrics 70000: a port must be from 1 to 65535"),
        (["--metrics", "9", "--metrics-groups", "0"], "--metrics-groups 0: the number must be at least 1"),
        (["--metrics-groups", "5"], "--metrics-groups 5 needs --metrics"),
        (["--metrics-host", "::"], "--metrics-host :: needs --metrics"),
        (["--state", "."], "--state .: it is a folder; give the path of a file"),
        (["--state", "no/file"], "--state no/file: no is not a folder in which files can be written"),
    ],
)
def test_an_invalid_option_is_reported_in_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 2 == main(["watch", "--bootstrap-server", "127.0.0.1:1", *words])
    assert f"assignor: {message}\n" == capsys.readouterr().err


def test_the_option_from_is_reported_if_the_state_file_overrides_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "state"
    watch_state.save(file, started().state("cluster"))

    words = ["--bootstrap-server", "127.0.0.1:1", "--timeout", "100", "--from", "earliest"]
    assert 3 == main(["watch", *words, "--state", str(file)])
    first, second = capsys.readouterr().err.splitlines()
    assert "127.0.0.1:1" in second
    assert first.endswith(f"  assignor: --from earliest has no effect: the watch continues from {file}")
    assert 3 == main(["watch", *words, "--state", str(tmp_path / "new")])
    assert "--from" not in capsys.readouterr().err
