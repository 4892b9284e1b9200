"""The command `assignor replay`: events as JSON and as text, order, isolation, groups, and invalid input."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor.cli import main
from assignor.cluster import Recording, records
from assignor.replay.events import COMMON, FIELDS, to_json
from assignor.replay.recorded import end_of
from assignor.replay.spool import LineSpool
from tests.replay.logs import event, member
from tests.support.recorded_fleet import RECORDING
from tests.support.time_limit import killed_at_end

Row = dict[str, Any]


def group_record(group: str, number: int, members: tuple[str, ...], offset: int, at: int, partition: int = 0) -> Row:
    """Return the record of a generation in which each member owns a partition of topic t."""
    value = {
        "protocolType": "consumer",
        "generation": number,
        "protocol": "range",
        "leader": members[0] if members else None,
        "members": [member(name, ["t"], {"t": [place]}) for place, name in enumerate(members)],
    }
    written = event(2, {"group": group}, value, version=3)
    place = {"partition": partition, "offset": offset, "timestamp": at}
    return {**place, "key": written.key, "value": written.value}


LOG = [
    group_record("b", 1, ("b1",), 0, 1000),
    group_record("b", 2, ("b1", "b2"), 3, 4000),
    group_record("a", 1, ("a1",), 0, 1000, 1),
    group_record("a", 2, ("a1", "é"), 1, 2000, 1),
    {"partition": 1, "offset": 2, "timestamp": 2000, "key": b"\x00\x63\x00\x01x", "value": b"later"},
    group_record("a", 3, ("a1",), 5, 9000, 1),
]
"""Records of two groups in two partitions of the log, and one of an unknown type."""


@pytest.mark.parametrize("name", ["partition", "offset", "timestamp"])
def test_a_null_is_reported_with_its_column_and_file(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "records.parquet"
    write(folder, [*LOG, {**LOG[0], name: None}])

    for command in (["replay", str(folder)], ["report", str(folder), "--out", str(folder.parent / "out")]):
        assert 2 == main([*command, "--engine", "local"])
        error = capsys.readouterr().err.splitlines()[-1]
        assert f"assignor: {path}: column {name} has 1 null; only key and value can be null" == error


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a recording of `LOG`."""
    folder = tmp_path / "recording"
    folder.mkdir()
    pq.write_table(pq.read_table(RECORDING / "topics.parquet").slice(0, 0), folder / "topics.parquet")
    write(folder, LOG)
    return folder


def write(folder: Path, rows: list[Row]) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=records.SCHEMA), folder / "records.parquet")


def replayed(capsys: pytest.CaptureFixture[str], folder: Path, *options: str) -> list[Row]:
    """Return the events that the command prints."""
    assert 0 == main(["replay", str(folder), "--json", *options])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_json_has_an_object_per_event_with_the_fields_of_its_kind(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = replayed(capsys, folder)

    assert {"generation", "rebalance", "member", "bad_record"} <= {each["event"] for each in found}
    for each in found:
        assert [*COMMON, *FIELDS[each["event"]]] == list(each)
    rebalances = [(each["group"], each["generation"], each["at"]) for each in found if each["event"] == "rebalance"]
    assert [("a", 1, 1000), ("b", 1, 1000), ("a", 2, 2000), ("b", 2, 4000), ("a", 3, 9000)] == rebalances
    second = next(each for each in found if each["event"] == "rebalance" and each["group"] == "b" and each["joined"])
    assert ["b1"] == second["joined"]


def test_events_are_in_the_order_of_time_group_and_offset(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = replayed(capsys, folder)

    keys = [(each["at"], each["group"] is not None, each["group"] or "", each["offset"]) for each in found]
    assert sorted(keys) == keys
    assert {None, "a", "b"} == {each["group"] for each in found}


def test_the_order_of_records_in_the_files_does_not_matter(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = replayed(capsys, folder)

    assert records._has_log_order(Recording.open(folder))
    for seed in range(3):
        rows = LOG.copy()
        random.Random(seed).shuffle(rows)
        write(folder, rows)
        assert expected == replayed(capsys, folder)
    write(folder, LOG[::-1])
    assert not records._has_log_order(Recording.open(folder))


def test_records_of_aborted_transactions_are_omitted_unless_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "aborted.json").write_text("[[0, 3], [7, 7]]")

    def last_of_b(*options: str) -> int:
        found = replayed(capsys, folder, *options)
        return max(int(each["generation"]) for each in found if each["group"] == "b")

    assert 1 == last_of_b() == last_of_b("--isolation", "read_committed")
    assert 2 == last_of_b("--isolation", "read_uncommitted")
    for options, note in (
        ([], "read_committed: 2 records of aborted transactions are omitted."),
        (
            ["--isolation", "read_uncommitted"],
            "read_uncommitted: all records are replayed; 2 are known to be aborted.",
        ),
    ):
        main(["replay", str(folder), *options])
        assert note == capsys.readouterr().out.splitlines()[0]
        main(["replay", str(folder), "--json", *options])
        assert f"assignor: {note}\n" in capsys.readouterr().err
    (folder / "aborted.json").unlink()
    main(["replay", str(folder)])
    assert "read_committed: there is no aborted.json, so all records are replayed" in capsys.readouterr().out


def test_groups_are_chosen_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    everything = replayed(capsys, folder)

    assert [each for each in everything if each["group"] == "a"] == replayed(capsys, folder, "--group", "a")
    both = replayed(capsys, folder, "--group", "a", "--group", "b")
    assert [each for each in everything if each["group"] is not None] == both
    assert 2 == main(["replay", str(folder), "--group", "a", "--group", "c"])
    assert f"assignor: no group in {folder / 'records.parquet'} matches 'c'" in capsys.readouterr().err


def test_the_text_has_a_history_per_group(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["replay", str(folder)])

    printed = capsys.readouterr()
    assert ["records without a readable group", "a", "b"] == [
        part.splitlines()[0] for part in printed.out.split("Times are in UTC.\n\n")[1].split("\n\n")
    ]
    assert "joined: client-é é on 10.0.0.1" in printed.out
    assert "replaying" in printed.err


def test_an_empty_recording_has_no_events(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, [])

    assert [] == replayed(capsys, folder)
    assert None is end_of(Recording.open(folder))


def test_a_damaged_file_is_an_error_on_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, [{**LOG[0], "offset": number} for number in range(200)])
    path = folder / "records.parquet"
    content = bytearray(path.read_bytes())
    content[40 : len(content) // 2] = bytes(len(content) // 2 - 40)
    path.write_bytes(content)

    assert 2 == main(["replay", str(folder), "--json"])
    printed = capsys.readouterr()
    assert "" == printed.out
    assert printed.err.startswith(f"assignor: {path} cannot be read as Parquet: ")
    assert 1 == printed.err.count("\n")


def test_characters_other_than_ascii_are_escaped_on_request() -> None:
    given = {"event": "bad_record", "group": "é", "record_type": 3, "error": "x", "other": 1}

    assert '"group": "é"' in to_json(given)
    assert '"group": "\\u00e9"' in to_json(given, ascii_only=True)
    assert "other" not in to_json(given)


def test_partitions_of_any_input_type_are_written_as_pairs() -> None:
    given = {"event": "rebalance", "moved": [{"topic": "t", "partition": 1}], "unowned": [("t", 2), ["t", 3]]}

    found = json.loads(to_json(given))

    assert ([["t", 1]], [["t", 2], ["t", 3]]) == (found["moved"], found["unowned"])
    assert None is json.loads(to_json({**given, "moved": None}))["moved"]


@pytest.mark.parametrize("limit", [0, 50, 10_000])
def test_lines_are_sorted_with_any_memory_limit_and_lines_with_equal_keys_keep_their_order(limit: int) -> None:
    lines = [(number * 7 % 10, f"line {number}") for number in range(200)]
    with LineSpool(limit) as spool:
        for key, line in lines:
            spool.add((key, "same"), line)
        found = list(spool)

    assert [line for _, line in sorted(lines, key=lambda each: each[0])] == found


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_ctrl_c_ends_with_one_line_and_no_output(options: list[str]) -> None:
    program = (
        "import sys, time\n"
        "from assignor.cli import main\n"
        "from assignor.replay import recorded\n"
        "replay = recorded.replay\n"
        "def interrupted(*given, **settings):\n"
        "    for number, event in enumerate(replay(*given, **settings)):\n"
        "        if number == 100:\n"
        "            print('ready', file=sys.stderr, flush=True)\n"
        "            while True:\n"  # a signal just before one long sleep would not end the sleep
        "                time.sleep(0.01)\n"
        "        yield event\n"
        "recorded.replay = interrupted\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", program, "replay", str(RECORDING), "--engine", "local", *options]
    pipe = subprocess.PIPE
    with killed_at_end(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)) as process:
        assert process.stderr is not None
        assert "ready\n" == process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate()

    assert (130, "", "assignor: interrupted\n") == (process.returncode, out, errors)
