"""Commands that read data directories and segments, and their errors: one line that names the file."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from assignor.cluster import Recording
from assignor.cluster.recording_files import RecordingFiles
from assignor.sources import data_directory
from tests.cli.running import NO_BROKER, Ended, run
from tests.sources.folders import commits, group_in, log_folder, write_directory
from tests.sources.segment_bytes import Entry, batch, write_segment
from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.sources.data_directory import Directories

EXPECTED = (
    "; expected a recording (records.parquet), a broker's data directory, a folder __consumer_offsets-N, or a segment"
)
SEGMENT = f"{0:020}.log"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a data directory with three commits of two groups each, and a topic."""
    directory = write_directory(tmp_path / "kafka" / "data", 7, 8)
    write_segment(directory / "orders-0", 0, batch(0, *(Entry(b"k") for _ in range(9))))
    return directory


def error_of(*words: object) -> str:
    """Return the error of a command, which must be one line, with exit code 2 and no output."""
    ended = run(words)
    assert (2, "") == (ended.code, ended.out), ended
    (line,) = ended.err.splitlines()
    return line.removeprefix("assignor: ")


def groups_of(ended: Ended) -> list[str]:
    assert ended.code == 0, ended.err
    return sorted({json.loads(line)["group_id"] for line in ended.out.splitlines()})


def test_each_command_reads_a_data_directory(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    groups = sorted(map(group_in, (7, 8)))

    assert groups_of(run(["decode", data])) == groups
    assert groups_of(run(["decode", log_folder(data, 7) / SEGMENT])) == [group_in(7)]
    replayed = run(["replay", data])
    assert replayed.code == 0
    assert "partition counts are those of the folders" in replayed.out
    report = run(["report", data, "--json"])
    assert [group["group"] for group in json.loads(report.out)["groups"]] == groups
    assert [group["lag"]["lag"] for group in json.loads(report.out)["groups"]] == [7, 7]
    assert json.loads(report.out)["notes"] == [line.removeprefix("assignor: ")[:-1] for line in report.err.splitlines()]
    text = run(["report", data / "..", "--out", "out", "--page", "page.html"])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"{data / '..'}</title>" in page
    assert "Partition counts are those of the folders" in page
    assert "Notes on the files\n  48 of 50 partitions of __consumer_offsets are missing" in text.out
    assert sorted(path.name for path in (tmp_path / "assignor-report").iterdir()) == ["data"]


def test_a_converted_recording_is_read_like_its_source(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "recording"
    for words in (["record", "--from", data, "--out", out], ["record", tmp_path / "again", "--from", data]):
        ended = run(words)
        assert (ended.code, ended.out) == (0, "")
        assert ended.err.splitlines()[-1].startswith("assignor: recorded 6 records in ")

    read, *others = (run(["replay", path, "--json"]) for path in (data, out, tmp_path / "again"))
    assert others == [read, read]
    assert Recording.open(out).notes[-1].startswith("partition counts are those of the folders")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_conversion_replaces_nothing(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "recording"
    assert run(["record", "--from", data, "--out", out]).code == 0

    assert error_of("record", "--from", data, "--out", out) == f"{out} is not an empty folder; give a new folder"
    assert error_of("record", "--from", out, "--out", tmp_path / "b") == f"{out} is the folder of a recording already"
    (tmp_path / "file").touch()
    below_file = tmp_path / "file" / "x"
    assert error_of("record", "--from", data, "--out", below_file).startswith(
        f"cannot create the folder {below_file}: "
    )


def test_options_of_a_conversion_and_of_a_live_cluster_exclude_each_other(data: Path, tmp_path: Path) -> None:
    assert error_of("record", tmp_path / "a", "--from", data, *NO_BROKER[:2]) == (
        "--bootstrap-server is for a live cluster, and --from reads files"
    )
    assert "record needs the FOLDER of the recording" in error_of("record", "--from", data)
    assert "record needs the FOLDER of the recording" in error_of("record", "a", "--out", "b", *NO_BROKER)
    assert "report needs either the PATH of a recording" in error_of("report")
    assert f"{RECORDING} is the folder of a recording, which cannot be read together with other paths" in error_of(
        "replay", data, RECORDING
    )


def test_a_report_replaces_no_data(data: Path) -> None:
    for out in (data, data.parent, data.parent.parent):
        assert f"cannot replace {out}: it contains the recording" in error_of("report", data, "--json", "--out", out)


def test_nothing_is_written_into_a_data_directory(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker does not start if its data directory has a folder that is no partition."""
    problem = f"{data} is the data directory of a broker, which does not start if it has other folders"
    monkeypatch.chdir(data)
    assert problem in error_of("report", ".", "--json")
    assert problem in error_of("report", RECORDING, "--json", "--out", data / "a" / "b")
    assert problem in error_of("record", "recording", "--from", log_folder(data, 7))
    (data / "meta.properties").unlink()
    (data / "recovery-point-offset-checkpoint").touch()
    assert problem in error_of("record", "recording", "--from", log_folder(data, 7))
    assert sorted(path.name for path in data.iterdir() if path.is_dir()) == [
        *(f"__consumer_offsets-{id}" for id in (7, 8)),
        "orders-0",
    ]
    assert run(["record", tmp_path / "recording", "--from", log_folder(data, 7)]).code == 0


FOREIGN: dict[str, tuple[bytes, str]] = {
    "parquet": (b"PAR1" + bytes(50), "a Parquet file"),
    "gzip": (gzip.compress(commits(7, 0, 3)), "compressed with gzip; decompress it first"),
    "lfs": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        "a pointer to a file in Git LFS, without its",
    ),
    "text": (b"[2024-01-01 00:00:00,000] INFO started (kafka.server.KafkaServer)\n", "text"),
    "encrypted": (bytes(range(128, 256)), "no log segment: it is encrypted, or of another program"),
    "short": (b"\1\2\3", "no log segment: it is too short"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_named_with_what_it_is(data: Path, name: str) -> None:
    content, kind = FOREIGN[name]
    segment = log_folder(data, 7) / SEGMENT
    segment.write_bytes(content)

    assert error_of("replay", segment).startswith(f"{segment} is {kind}")
    assert EXPECTED in error_of("replay", segment)
    assert error_of("replay", log_folder(data, 7)).startswith(f"{segment} is {kind}")
    ended = run(["replay", data])
    assert f"{segment} is no segment (it is {kind}" in ended.out, "the other partition is kept"
    assert group_in(8) in run(["decode", data]).out


def test_files_that_cannot_be_read_are_named_and_the_rest_is_kept(data: Path) -> None:
    gone, folder = log_folder(data, 7) / SEGMENT, log_folder(data, 8) / f"{50:020}.log"
    gone.unlink()
    gone.symlink_to(data / "nowhere")
    folder.mkdir()

    text = run(["replay", data]).out
    assert f"{gone} cannot be read to the end (No such file or directory)" in text
    assert f"{folder} cannot be read to the end (Is a directory)" in text
    assert groups_of(run(["decode", data])) == [group_in(8)]
    assert error_of("replay", log_folder(data, 7)) == f"{gone} cannot be read: No such file or directory"


@contextlib.contextmanager
def without_permissions() -> Iterator[None]:
    """Read as a user without permissions in the block, because root reads every file."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_files_without_permission_are_named(data: Path) -> None:
    run(["replay", data])  # imports modules, whose files a user without permissions may not read
    run(["replay", data / "nothing"])
    with tempfile.TemporaryDirectory() as folder:  # the folders above `tmp_path` can be private
        Path(folder).chmod(0o755)
        copy = Path(shutil.copytree(data, Path(folder) / "data"))
        segment = log_folder(copy, 7) / SEGMENT
        segment.chmod(0)
        with without_permissions():
            assert error_of("replay", segment) == f"{segment} cannot be read: Permission denied"
            assert f"{segment} cannot be read to the end (Permission denied)" in run(["replay", copy]).out
            assert groups_of(run(["decode", copy])) == [group_in(8)]


def test_a_file_that_shrinks_or_vanishes_while_it_is_read(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(paths: list[Path]) -> Directories:
        found = original(paths)
        (log_folder(data, 7) / SEGMENT).write_bytes(commits(7, 0, 2)[:-9])
        (log_folder(data, 8) / SEGMENT).unlink()
        return found

    original = data_directory.find_directories
    monkeypatch.setattr("assignor.sources.source.find_directories", find)
    text = run(["replay", data]).out

    assert f"{log_folder(data, 7) / SEGMENT} is cut off (the last " in text
    assert f"{log_folder(data, 8) / SEGMENT} cannot be read to the end (No such file or directory)" in text


def test_a_damaged_segment_is_noted(data: Path) -> None:
    segment = log_folder(data, 7) / SEGMENT
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)

    assert f"{segment} has damaged batches, which are left out (byte " in run(["replay", data]).out
    assert len(run(["decode", data]).out.splitlines()) == 5


def test_names_that_are_not_utf_8_and_control_a_terminal(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\n\x1b[2J")
    data = write_directory(tmp_path / name, 7)

    text = run(["replay", tmp_path]).out
    assert run(["replay", data, "--json"]).code == 0
    assert "\x1b" not in text
    assert "1 record" not in error_of("replay", tmp_path / name / "gone")


def test_other_files_of_a_directory_are_no_segments(data: Path, tmp_path: Path) -> None:
    index = log_folder(data, 7) / f"{0:020}.index"
    index.write_bytes(bytes(16))

    assert error_of("replay", index).startswith(f"{index} is a file beside a segment{EXPECTED}")
    assert error_of("replay", data / "meta.properties").startswith(f"{data / 'meta.properties'} is text{EXPECTED}")
    (tmp_path / "nothing").touch()
    assert error_of("replay", tmp_path / "nothing").startswith(f"{tmp_path / 'nothing'} is empty{EXPECTED}")


def test_records_of_json_lines_in_several_files_are_decoded(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text('{"key": "AAIAAWc=", "value": null}\n')

    assert groups_of(run(["decode", tmp_path / "a", tmp_path / "b"])) == ["g"]
    assert "is not UTF-8" in error_of("decode", write_bytes(tmp_path / "c", b'{"key": "\xff"}'))


def write_bytes(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_full_disk_says_what_to_do(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("cannot write") from OSError(28, "No space left on device")

    monkeypatch.setattr(RecordingFiles, "add", fail)

    assert "No space left on device; free space, or choose another folder with the environment variable TMPDIR" in (
        error_of("replay", data)
    )
    assert "No space left on device; free space" in error_of("record", tmp_path / "out", "--from", data)
    assert not (tmp_path / "out").exists()
