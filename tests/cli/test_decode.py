"""The command `decode`: JSON lines and recordings."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from assignor.cli import main
from assignor.offsets import decode_record
from tests.cli.commands import Commands
from tests.replay.logs import classic, classic_gone, commit, member
from tests.support.recorded_fleet import RECORDING, TRUTH

EVENTS = [
    commit("t", 3, offset=42),
    commit("t", 3, offset=None),
    classic(1, member("é", ["t"], {"t": [0]})),
    classic_gone(),
]


def encoded(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def decoded(commands: Commands, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in commands.output("decode", *words).splitlines()]


def test_records_are_decoded_in_their_order(commands: Commands) -> None:
    rows = [
        {"offset": place, "key": encoded(each.key), "value": encoded(each.value)} for place, each in enumerate(EVENTS)
    ]

    found = decoded(commands, commands.file("\n".join(map(json.dumps, rows)).encode()))

    assert [0, 1, 2, 3] == [each["offset"] for each in found]
    for event, row in zip(EVENTS, found, strict=True):
        expected = decode_record(event.key, event.value)
        assert (expected.type, expected.name, expected.group, "decoded") == (
            row["type"],
            row["type_name"],
            row["group_id"],
            row["status"],
        )
        assert expected.key == row["key"]
        assert (expected.value is None) == (row["value"] is None)
    assert 42 == found[0]["value"]["offset"]
    assert "é" == found[2]["consumer_protocol"][0]["memberId"]
    assert "version" not in found[1]


def test_empty_lines_of_standard_input_are_skipped_and_bad_records_have_an_error(commands: Commands) -> None:
    key = encoded(EVENTS[0].key)
    commands.stdin(f'\n{{"key": "AAEA", "value": null}}\n\n{{"key": {json.dumps(key)}, "value": "AAM="}}\n'.encode())

    first, second = decoded(commands, "-")

    assert ("bad", "bad") == (first["status"], second["status"])
    assert "key.group" in first["error"]
    assert ("g", 1) == (second["group_id"], second["type"])


def test_a_recording_is_decoded_as_kafka_does(commands: Commands) -> None:
    found = decoded(commands, str(RECORDING))

    with gzip.open(TRUTH / "decoded.jsonl.gz", "rt", encoding="utf-8") as text:
        expected = {(each["partition"], each["offset"]): each for each in map(json.loads, text)}
    assert len(expected) == len(found)
    assert Counter(each["type"] for each in expected.values()) == Counter(each["type"] for each in found)
    for each in found:
        assert expected[each["partition"], each["offset"]]["key"] == each["key"]
    one = decoded(commands, str(RECORDING), "--group", "billing")
    assert [each for each in found if each.get("group_id") == "billing"] == one


def test_a_group_without_a_record_is_named(commands: Commands, capsys: pytest.CaptureFixture[str]) -> None:
    row = json.dumps({"key": encoded(EVENTS[0].key), "value": encoded(EVENTS[0].value)})
    names = ("nope", "g", "none")

    assert 0 == main(["decode", commands.file(row.encode()), *(word for name in names for word in ("--group", name))])

    printed = capsys.readouterr()
    assert 1 == printed.out.count("\n")
    assert "assignor: no record is of group 'nope'\nassignor: no record is of group 'none'\n" == printed.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "FILE, line 2 is not JSON: "),
        ("| offset: 0 CreateTime: 5 keySize: 11", "FILE, line 2: the line is cut off; no record can be read: "),
        ("[]", 'FILE, line 2 must be an object with the keys "key" and "value" in base64'),
        ('{"key": "AAEA"}', 'FILE, line 2 must be an object with the keys "key" and "value" in base64'),
        ('{"key": "AAEA", "value": 1}', "FILE, line 2: value must be a base64 string or null, not 1"),
        ('{"key": "AAEA", "value": null, "offset": "1"}', "FILE, line 2: offset must be an int, not str: '1'"),
        ('{"key": "AAEA", "value": null, "offset": 9223372036854775808}', "FILE, line 2: offset cannot be over "),
    ],
)
def test_an_invalid_line_is_reported_in_one_line_with_its_place(commands: Commands, line: str, message: str) -> None:
    assert commands.error("decode", commands.file(f"\n{line}\n".encode())).startswith(message)


def test_a_folder_that_is_no_recording_is_reported_in_one_line(commands: Commands, tmp_path: Any) -> None:
    assert "expected a recording (records.parquet), a broker's data directory" in commands.error(
        "decode", str(tmp_path)
    )


DUMP = Path(__file__).parents[1] / "data/dump_text"


@pytest.mark.parametrize("version", ["0.11.0.3", "3.7.2", "4.3.1"])
def test_the_text_of_kafkas_tool_is_decoded(
    commands: Commands, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    data = (DUMP / f"kafka-{version}.txt").read_bytes()
    lost = [4, 5] if version == "0.11.0.3" else []
    for path in (commands.file(data), commands.file(gzip.compress(data)), "-"):
        commands.stdin(data)

        assert 0 == main(["decode", path])

        printed = capsys.readouterr()
        rows = [json.loads(line) for line in printed.out.splitlines()]
        assert [offset for offset in (0, 1, 2, 3, 4, 5, 6, 7, 9) if offset not in lost] == [
            row["offset"] for row in rows
        ]
        assert {"decoded"} == {row["status"] for row in rows}
        assert {7} == {row["partition"] for row in rows}
        assert ["g:1", 5, "a:b"] == [rows[1]["group_id"], rows[1]["value"]["offset"], rows[1]["value"]["metadata"]]
        assert (version == "4.3.1") == ("" == printed.err), "what the older forms lack is said"
        assert all(line.startswith("assignor: ") for line in printed.err.splitlines())


def test_a_dump_without_the_decoder_says_how_to_print_it(commands: Commands) -> None:
    lines = (DUMP / "kafka-4.3.1.txt").read_text().splitlines()
    text = "\n".join(line.partition(" key: ")[0] for line in lines)

    error = commands.error("decode", commands.file(text.encode()))

    assert "FILE has no keys and values of records; print it again with --offsets-decoder" == error
