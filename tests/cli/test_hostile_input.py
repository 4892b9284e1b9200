"""Commands with files, options and streams that cannot be used: one line names the input, and the exit code is 2."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

from assignor.cli import COMMANDS
from tests.cli.commands import GROUP
from tests.cli.hostile import rows_with_names, write
from tests.cli.running import NO_BROKER, Ended, run
from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from collections.abc import Callable

DIGITS = b"9" * 5_000
DEEP = 100_000
GROUP_JSON = '{"partitions_per_topic": {"t": %s}, "subscriptions": {"a": %s}}'
FILES = {
    "nested lists": b"[" * DEEP,
    "nested objects": b'{"a":' * DEEP,
    "nested in a key": b'{"key": "", "value": null, "x": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "many digits": DIGITS,
    "many digits in a count": (GROUP_JSON % (DIGITS.decode(), "[]")).encode(),
    "many digits in an offset": b'{"key": "", "value": null, "offset": ' + DIGITS + b"}",
    "100 digits": (GROUP_JSON % ("1" + "0" * 100, '["t"]')).encode(),
    "no number": (GROUP_JSON % ("NaN", '["t"]')).encode(),
    "infinite": (GROUP_JSON % ("1e400", '["t"]')).encode(),
    "lone surrogate": (GROUP_JSON % ("1", r'["\ud800"]')).encode(),
    "lone surrogate in a rack": (GROUP_JSON % ("1", r'{"topics": ["t"], "rack": "\ud800"}')).encode(),
    "owned partition": (GROUP_JSON % ("1", '{"topics": [], "owned_partitions": [[[], {}]]}')).encode(),
    "unknown key": '{"\x7f\x9b\u202e": 1, "partitions_per_topic": {}, "subscriptions": {}}'.encode(),
    "not UTF-8": b"\xff\xfe[",
    "UTF-16": "{}".encode("utf-16"),
    "null": b"\0",
    "empty list": b"[]",
    "number": b"5",
    "string": b'"\\u001b[2J"',
    "cut": b'{"partitions_per_topic": {"t": 1',
}
_OF_A_NAME = {
    "100 digits": "topic 't'",
    "no number": "topic 't'",
    "infinite": "topic 't'",
    "lone surrogate": "member 'a'",
}
NAMED_BY_ITS_PLACE = {f"file-{place}": _OF_A_NAME[name] for place, name in enumerate(FILES) if name in _OF_A_NAME}
"""Files with an invalid value, which the message names by its topic or member, as it does for the functions."""

PATHS = ("folder", "missing", "a\0b", "missing\n\x1b[2J\u202e", "missing\udcff", "file/below", "m" * 300, "loop")

MANY = max(60, hypothesis.settings().max_examples)
"""Number of cases that are drawn; the long profile draws all."""


def is_named(ended: Ended, name: str, codes: tuple[int, ...] = (2,)) -> bool:
    """Return True if a command ended with one line on standard error that has a name, and with no output; or with 0."""
    is_one_line = ("", 1) == (ended.out, ended.err.count("\n")) and ended.err[:-1].isprintable()
    is_error = is_one_line and ended.err.startswith("assignor") and name in ended.err
    return ended.code in codes and (ended.code == 0 or is_error)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of `FILES`, and with files and folders that cannot be read."""
    folder = tmp_path_factory.mktemp("files")
    for place, data in enumerate(FILES.values()):
        (folder / f"file-{place}").write_bytes(data)
    (folder / "ok.json").write_text(json.dumps(GROUP))
    (folder / "file").touch()
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")
    return folder


READERS: dict[str, Callable[[str], list[str]]] = {
    "assign": lambda path: ["assign", path],
    "assign --text": lambda path: ["assign", path, "--text"],
    "plan": lambda path: ["plan", path],
    "check": lambda path: ["check", path],
    "check ASSIGNMENT": lambda path: ["check", path, "ok.json"],
    "check INPUT": lambda path: ["check", "ok.json", path],
    "what-if": lambda path: ["what-if", path, "--step", "add_members=1"],
    "scale": lambda path: ["scale", path],
    "decode": lambda path: ["decode", path],
    "replay": lambda path: ["replay", path],
    "report": lambda path: ["report", path],
    "describe": lambda path: ["describe", *NO_BROKER, "--command-config", path],
    "record": lambda path: ["record", "--out", "new", *NO_BROKER, "--command-config", path],
    "watch": lambda path: ["watch", *NO_BROKER, "--command-config", path],
}
"""Commands with a file to read."""

READS = [*itertools.product(READERS, (*(f"file-{place}" for place in range(len(FILES))), *PATHS))]


@hypothesis.given(case=st.sampled_from(READS))
@hypothesis.settings(max_examples=2 * MANY)
def test_a_file_that_cannot_be_read_is_named(files: Path, case: tuple[str, str]) -> None:
    command, path = case
    codes: tuple[int, ...] = (2,)
    name = path.partition("\n")[0].partition("\udcff")[0].partition("\0")[0][:60]
    if path in NAMED_BY_ITS_PLACE and command in {"assign", "assign --text", "plan"}:
        name = NAMED_BY_ITS_PLACE[path]
    elif path in NAMED_BY_ITS_PLACE and command in {"check", "check INPUT", "what-if", "scale"}:
        name = ""
    elif command in {"describe", "record", "watch"} and path.startswith("file-"):
        name, codes = "", (2, 3)  # most texts are settings that librdkafka does not know
    with contextlib.chdir(files):
        ended = run(READERS[command](path))
        assert is_named(ended, name, codes), ended


@pytest.mark.parametrize("content", FILES)
@pytest.mark.parametrize("command", ["match", "explain", "assign", "decode", "check"])
def test_standard_input_is_named(command: str, content: str) -> None:
    is_topics = command in {"match", "explain"}  # other text than JSON is one topic per line, and a list can be empty
    ended = run([command, *(["a"] if is_topics else []), "-"], FILES[content])
    name = "" if is_topics or content in _OF_A_NAME else "standard input"
    assert is_named(ended, name, (0, 2) if is_topics else (2,)), ended


def damages() -> dict[str, Callable[[Path], object]]:
    """Return functions that damage a file of a recording."""
    half = slice(40, -200)

    def as_folder(path: Path, *tables: pa.Table | bytes) -> None:
        path.unlink()
        path.mkdir()
        for number, table in enumerate(tables):
            part = path / f"part-{number}.parquet"
            part.write_bytes(table) if isinstance(table, bytes) else pq.write_table(table, part)

    def of_type(path: Path, kind: pa.DataType, value: object) -> None:
        table = pq.read_table(path)
        columns = [pa.array([value] * len(table), kind)] * table.num_columns
        pq.write_table(pa.table(columns, table.column_names), path)

    def repeated(path: Path) -> None:
        table = pq.read_table(path)
        pq.write_table(table.append_column(table.column_names[0], table[0]), path)

    def overwritten(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[half] = bytes(byte ^ 0x55 for byte in data[half])
        path.write_bytes(data)

    return {
        "empty": lambda path: path.write_bytes(b""),
        "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
        "first bytes": lambda path: path.write_bytes(path.read_bytes()[:20]),
        "no Parquet": lambda path: path.write_bytes(b"\x1b[2J\xff" * 50),
        "overwritten": overwritten,
        "other columns": lambda path: pq.write_table(pa.table({"a\x1b\n\u202e": [1]}), path),
        "repeated column": repeated,
        "texts": lambda path: of_type(path, pa.string(), "x\x1b"),
        "fractions": lambda path: of_type(path, pa.float64(), 1.5),
        "flags": lambda path: of_type(path, pa.bool_(), True),
        "nulls": lambda path: of_type(path, pa.null(), None),
        "null texts": lambda path: of_type(path, pa.string(), None),
        "empty folder": as_folder,
        "folder with a damaged file": lambda path: as_folder(path, b"junk"),
        "folder with two schemas": lambda path: as_folder(path, pq.read_table(path), pa.table({"a": [1]})),
        "link to itself": lambda path: (path.unlink(), path.symlink_to(path.name)),
    }


JSON_FILES = [
    *(b"[" * DEEP, b"[[0, " + DIGITS + b"]]", b"\xff", b"", b"{}", b"5", b"null", b"[[0]]", b"[[0, 1, 2]]"),
    *(b'[["\\ud800", 1]]', b"[[0, -1]]", b"[[null, null]]", b'{"cluster_id": ' + b"[" * DEEP, b'{"cluster_id": 1}'),
]
RECORDINGS = [
    *((f"{name}.parquet", damage) for name in ("records", "topics", "end_offsets") for damage in damages()),
    *((name, content) for name in ("aborted.json", "cluster.json") for content in (*JSON_FILES, None)),
]


@hypothesis.given(
    case=st.sampled_from(RECORDINGS), command=st.sampled_from(["report", "replay", "replay --json", "decode"])
)
@hypothesis.settings(max_examples=MANY)
def test_a_damaged_recording_is_named(case: tuple[str, str | bytes | None], command: str) -> None:
    name, damage = case
    with tempfile.TemporaryDirectory() as temporary:
        folder = write(Path(temporary) / "recording", *rows_with_names("name"))
        if isinstance(damage, str):
            damages()[damage](folder / name)
        elif damage is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(damage)
        verb, *options = command.split()
        out = ["--out", Path(temporary) / "out"] if verb == "report" else []
        ended = run([verb, folder, *options, *out])

        assert is_named(ended, str(folder), (0, 2)), ended
        assert (2, "decode") != (ended.code, verb) or name != "end_offsets.parquet" or "end_offsets" in ended.err


@pytest.mark.parametrize(
    "option", ["report --out", "report --page", "report --keep", "watch --state", "watch --page", "record"]
)
@pytest.mark.parametrize("path", ["file/x", "a\0b", "\udcff/x\x1b", "/proc/x/y", "m" * 300, "device"])
def test_an_output_that_cannot_be_written_is_named(tmp_path: Path, option: str, path: str) -> None:
    folder = write(tmp_path / "in", *rows_with_names("name"))
    words: dict[str, list[object]] = {
        "report --out": ["report", folder, "--out", path],
        "report --page": ["report", folder, "--out", "o", "--page", path],
        "report --keep": ["report", *NO_BROKER, "--keep", path],
        "watch --state": ["watch", *NO_BROKER, "--state", path],
        "watch --page": ["watch", *NO_BROKER, "--page", path],
        "record": ["record", *NO_BROKER, "--out", path],
    }
    with contextlib.chdir(tmp_path):
        Path("file").touch()
        os.mkfifo("device")

        # A recording folder is created after the cluster has answered.
        ended = run(words[option])
        assert is_named(ended, "", (2, 3) if option in {"record", "report --keep"} else (2,)), ended
        assert stat.S_ISFIFO(Path("device").stat().st_mode)


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--bootstrap-server", ["127.0.0.1:\udcff", "a\0b:1", "\x1b[2J:9", "", ":", "[::1", "127.0.0.1:99999"]),
        ("--timeout", ["9" * 5_000, "99999999999999999999", "2147483648", "1e3", "-1", "nan"]),
        ("--command-config", ["folder", "missing", "a\0b", "\udcff"]),
    ],
)
@pytest.mark.parametrize("command", ["describe", "watch", "record --out new", "report"])
def test_an_option_of_a_cluster_that_cannot_be_used_is_named(
    tmp_path: Path, command: str, option: str, values: list[str]
) -> None:
    (tmp_path / "folder").mkdir()
    with contextlib.chdir(tmp_path):
        for value in values:
            ended = run([*command.split(), *NO_BROKER, option, value])
            assert is_named(ended, "", (2, 3)), ended


@pytest.mark.parametrize(
    "setting", [r"a.b=\ud800", r"a\ud800=1", r"client.id=\u0000", r"ssl.keystore.location=a\u0000b"]
)
def test_a_setting_that_librdkafka_cannot_read_is_named_with_its_file(tmp_path: Path, setting: str) -> None:
    (tmp_path / "client.properties").write_text(setting)

    ended = run(["describe", *NO_BROKER, "--command-config", tmp_path / "client.properties"])
    assert is_named(ended, "client.properties"), ended


def test_a_port_or_an_address_that_cannot_be_opened_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        ended = run(["watch", *NO_BROKER, "--metrics", port])
        assert is_named(ended, f"--metrics {port}: cannot listen"), ended
        for host in ("\udcff", "a\0b", "x" * 300, "no host"):
            ended = run(["watch", *NO_BROKER, "--metrics", port, "--metrics-host", host])
            assert is_named(ended, f"--metrics {port}"), ended


@pytest.mark.parametrize("command", ["decode", "replay", "watch", "describe"])
def test_a_group_whose_bytes_are_not_utf8_is_named(command: str) -> None:
    ended = run([command, *(["x"] if command in {"decode", "replay"} else []), "--group", "a\udcff"])
    assert is_named(ended, r"'a\udcff' is not"), ended


def test_an_argument_is_invalid_in_one_line_for_each_command() -> None:
    for command in COMMANDS:
        for word in ("--\x1b[2J", "--\udcff", "--json=\u202e", "--timeout=" + "9" * 5_000):
            ended = run([command, word])
            assert is_named(ended, f"assignor {command}: "), ended


SHELL = {
    "closed output": ("{assign} >&-", 2, "cannot write to standard output: Bad file descriptor"),
    "output for reading": ("{assign} 1</dev/null", 2, "cannot write to standard output: Bad file descriptor"),
    "full output": ("{assign} >/dev/full", 2, "cannot write to standard output: No space left on device"),
    "help on a full output": ("{assignor} --help >/dev/full", 2, "cannot write to standard output: No space left"),
    "closed pipe": ("{assign} | true", 0, ""),
    "closed input": ("{assignor} assign - <&-", 2, "standard input cannot be read: Bad file descriptor"),
    "closed error": ("{assignor} assign missing 2>&-", 2, ""),
    "full error": ("{assignor} assign missing 2>/dev/full", 2, ""),
    "bytes that are not UTF-8": (
        r"{assignor} assign $'a\xff\x1b[2J'",
        2,
        r"a\udcff\u001b[2J cannot be read: No such file",
    ),
}


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="the system has no /dev/full")
@pytest.mark.parametrize("case", SHELL)
def test_a_stream_that_cannot_be_used_is_named(tmp_path: Path, case: str) -> None:
    (tmp_path / "ok.json").write_text(json.dumps(GROUP))
    line, code, message = SHELL[case]
    assignor = f"{sys.executable} -m assignor"
    script = line.format(assignor=assignor, assign=f"{assignor} assign ok.json")
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (code, "") == (done.returncode, done.stdout)
    assert message in done.stderr
    assert (1 if message else 0) == done.stderr.count("\n"), done.stderr


@pytest.mark.plain_build
def test_a_full_disk_is_named_with_the_output_folder(tmp_path: Path) -> None:
    report = f"{sys.executable} -m assignor report {RECORDING} --engine local --json --out {tmp_path / 'out'}"
    done = subprocess.run(["bash", "-c", f"ulimit -f 40; {report}"], capture_output=True, text=True, check=False)

    assert (2, "") == (done.returncode, done.stdout)
    message = f"cannot write {tmp_path / 'out'}: File too large; free space or choose another --out folder"
    assert f"assignor: {message}" == done.stderr.splitlines()[-1]
    assert [] == list(tmp_path.iterdir())


def test_paths_that_are_not_utf8_are_written_where_the_system_allows_them(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", *rows_with_names("name"))
    (tmp_path / "\udcff").mkdir()

    page = tmp_path / "\udcff" / "page.html"
    assert 0 == run(["report", folder, "--json", "--out", tmp_path / "out", "--page", page]).code
    assert page.exists()
    ended = run(["report", folder, "--json", "--out", tmp_path / "\udcff" / "out"])
    assert is_named(ended, "the output folder '"), ended
    ended = run(["replay", folder.rename(tmp_path / "\udcff" / "in")])
    assert is_named(ended, "the path must be UTF-8"), ended
