"""Recorder that is stopped, killed or out of disk, and brokers that stop: the next run continues without a loss."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import assignor
from assignor.cli import main
from assignor.cluster import Recording, recorder
from assignor.cluster.connection import ClientSettings
from assignor.cluster.log import READ_UNCOMMITTED
from assignor.cluster.recorder import record
from assignor.cluster.recording_files import RecordingFiles
from assignor.cluster.records import in_log_order
from assignor.errors import IllegalArgumentError
from tests.broker.cluster import Cluster
from tests.live.test_record import Commits, command, in_log, places
from tests.live.watching import until

if TYPE_CHECKING:
    from tests.live.test_record import Place

pytestmark = pytest.mark.broker

LIMITED = (
    "import resource, sys\n"
    "from assignor.cli import main\n"
    "size = int(sys.argv.pop(1))\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))\n"
    "sys.exit(main(sys.argv[1:]))\n"
)
"""Program that runs the command and can write files of at most a given number of bytes."""


def start(*arguments: str, file_size: int | None = None, folder: Path | None = None) -> subprocess.Popen[str]:
    """Start the command in a folder, in a process that can write files of at most `file_size` bytes."""
    program = ["-m", "assignor"] if file_size is None else ["-c", LIMITED, str(file_size)]
    return subprocess.Popen(
        [sys.executable, *program, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(assignor.__file__).parents[1])},
    )


def is_recorded(folder: Path) -> bool:
    return len(list((folder / "records.parquet").glob("part-*"))) > 1


def complete(address: str, folder: Path) -> None:
    """Continue the recording to the end of the log, and check that it has each record once."""
    assert 0 == main(command(address, folder, "--until-end"))
    assert sorted(in_log(address, READ_UNCOMMITTED)) == sorted(places(folder))


def test_ctrl_c_ends_with_complete_files_and_a_summary(broker: Cluster, tmp_path: Path) -> None:
    Commits(broker).plain(range(3))
    process = start(*command(broker.address, tmp_path))
    # The records of this file are read, and the file is not yet complete.
    until((tmp_path / "records.parquet" / ".part-00000001.parquet").exists)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)

    assert 130 == process.returncode
    assert f"records in {tmp_path}, " in errors.splitlines()[-1]
    assert places(tmp_path)
    complete(broker.address, tmp_path)


def recorded_before(broker: Cluster, folder: Path, later: range) -> list[Place]:
    """Record a log up to its end, write more commits, and return the places of the recorded records."""
    commits = Commits(broker)
    commits.plain(range(3))
    assert 0 == main(command(broker.address, folder, "--until-end"))
    before = places(folder)
    commits.plain(later)
    return before


def test_a_killed_run_is_continued(broker: Cluster, tmp_path: Path) -> None:
    before = recorded_before(broker, tmp_path, range(3, 6))
    process = start(*command(broker.address, tmp_path))
    until((tmp_path / "records.parquet" / ".part-00000002.parquet").exists)
    process.kill()
    process.communicate(timeout=60)

    Recording.open(tmp_path)
    assert before == places(tmp_path)
    complete(broker.address, tmp_path)


@pytest.mark.plain_build
def test_a_full_disk_is_reported_in_one_line_and_the_run_is_continued(broker: Cluster, tmp_path: Path) -> None:
    before = recorded_before(broker, tmp_path, range(300))
    process = start(*command(broker.address, tmp_path, "--until-end"), file_size=4096)
    _, errors = process.communicate(timeout=60)

    assert 2 == process.returncode
    hint = "Correct this and run the command again; `assignor record` continues after the last complete file"
    assert f"assignor: cannot write to {tmp_path}: File too large. {hint}\n" == errors
    assert before == places(tmp_path)
    complete(broker.address, tmp_path)


def test_the_recorder_waits_until_a_killed_broker_is_restarted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "COMMIT_SECONDS", 0.0)
    (tmp_path / "broker").mkdir()
    out = tmp_path / "out"
    with Cluster(tmp_path / "broker") as broker:
        commits = Commits(broker)
        commits.plain(range(3))
        problems: list[str] = []
        step = count = 0

        def is_stopped() -> bool:
            """Kill the broker after the first records, and restart it when the recorder waits for it."""
            nonlocal step, count
            if step == 0 and is_recorded(out):
                broker.kill()
                step = 1
            elif step == 1 and problems:
                broker.start()
                commits.plain(range(3, 5))
                commits.admin.delete_topics([commits.topic])[commits.topic].result(30)
                count = len(in_log(broker.address, READ_UNCOMMITTED))
                step = 2
            return step == 2 and len(places(out)) >= count

        settings = ClientSettings.read(broker.address, timeout=5)
        found = record(
            settings,
            out,
            is_stopped=is_stopped,
            show=lambda progress: problems.append(progress.problem) if progress.problem else None,
        )

        assert "" == found.problem
        assert broker.address in problems[0]
        assert sorted(in_log(broker.address, READ_UNCOMMITTED)) == sorted(places(out))
        names = [row["topic"] for row in Recording.open(out).topics().to_pylist()]
        assert commits.topic in names, "the first snapshot is before the topic was deleted"

        (out / "cluster.json").write_text('{"cluster_id": "other"}')
        with pytest.raises(IllegalArgumentError, match=r"is a recording of the cluster other, but 127.* give another"):
            record(settings, out, until_end=True)


@pytest.mark.parametrize("words", [["record", "--out", "out"], ["report"], ["describe"], ["watch"]])
def test_ctrl_c_ends_a_command_that_waits_for_the_cluster(words: list[str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        process = start(*words, "--bootstrap-server", address, "--timeout", "300000", folder=tmp_path)
        connection, _ = silent.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)

    assert (130, "assignor: interrupted\n") == (process.returncode, errors)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "reason"), [("file", "it is a file"), ("file/out", "Not a directory")])
def test_a_path_that_cannot_be_a_folder_is_reported(name: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    message = f"cannot create the folder {tmp_path / name}: {reason}; choose another folder"
    with pytest.raises(IllegalArgumentError, match=f"^{re.escape(message)}$"):
        RecordingFiles(tmp_path / name, "id", "address")


def test_a_folder_that_is_no_recording_or_is_in_use_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(IllegalArgumentError, match=r"is not empty and has no cluster\.json: give a new folder"):
        RecordingFiles(tmp_path, "id", "address")
    assert ["notes.txt"] == [path.name for path in tmp_path.iterdir()]

    with (
        RecordingFiles(tmp_path / "out", "id", "address"),
        pytest.raises(IllegalArgumentError, match="another process"),
    ):
        RecordingFiles(tmp_path / "out", "id", "address")
    with RecordingFiles(tmp_path / "out", "id", "address") as files:
        assert {} == files.positions
    assert 0 == sum(batch.num_rows for batch in in_log_order(Recording.open(tmp_path / "out")))


@pytest.mark.parametrize(
    ("options", "code", "error"),
    [
        (
            ["--until-end"],
            3,
            "cannot list the topics: no answer from 127.0.0.1:1 within 0.2 s: Connect to ipv4#127.0.0.1:1",
        ),
        (["--duration", "0"], 2, "--duration 0: the number of seconds must be positive"),
        (["--timeout", "5"], 2, "--timeout 5: the time is in milliseconds and must be at least 100"),
        (["--command-config", "missing"], 2, "cannot read missing: No such file or directory"),
    ],
)
def test_invalid_options_and_unreachable_brokers_are_reported_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], options: list[str], code: int, error: str
) -> None:
    timeout = [] if "--timeout" in options else ["--timeout", "200"]
    assert code == main([*command("127.0.0.1:1", tmp_path / "out"), *timeout, *options])

    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"assignor: {error}")
    assert "TLS" not in line
    assert not (tmp_path / "out").exists()
