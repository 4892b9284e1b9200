"""Broker for tests: it ends with the process that started it, and errors name missing programs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.broker.cluster import POM, BrokerMissingError, Cluster, Release
from tests.broker.connection import Connection, ConnectionLostError
from tests.support.time_limit import killed_at_end

JAVA = """echo 'openjdk version "17.0.1"'"""

STARTER = """
import pathlib, sys, time
from tests.broker.cluster import Cluster
with Cluster(pathlib.Path(sys.argv[1])) as broker:
    print(broker.port, flush=True)
    time.sleep(600)
"""


@pytest.mark.broker
def test_a_broker_ends_when_its_starter_is_killed(broker: Cluster, tmp_path: Path) -> None:
    assert answers(broker.port)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", STARTER, str(tmp_path)]
    with killed_at_end(subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)) as starter:
        assert starter.stdout
        port = int(starter.stdout.readline())
        assert answers(port)
        starter.send_signal(signal.SIGKILL)
    end = time.monotonic() + 60
    while answers(port) and time.monotonic() < end:
        time.sleep(0.05)
    assert not answers(port)


def test_a_missing_java_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(BrokerMissingError, match=r"^no Java 17 or newer in JAVA_HOME or on the PATH"):
        Cluster(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_missing_maven_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_on_path(monkeypatch, tmp_path, java=JAVA)
    with pytest.raises(BrokerMissingError, match=r"^no Maven \(mvn\) on the PATH"):
        Cluster(tmp_path, release=Release(POM, tmp_path / "jars"))
    assert not (tmp_path / "jars").exists()


def test_the_error_has_the_last_line_of_maven(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_on_path(monkeypatch, tmp_path, java=JAVA, mvn="echo trying; echo no such host; echo; exit 1")
    with pytest.raises(BrokerMissingError, match=r"^Maven could not fetch the jars of a broker: no such host$"):
        Cluster(tmp_path, release=Release(POM, tmp_path / "jars"))
    assert not (tmp_path / "jars").exists()


def test_existing_jars_are_not_fetched_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_on_path(monkeypatch, tmp_path, java=JAVA, mvn=f"echo called >>{tmp_path}/calls; /bin/mkdir {tmp_path}/jars")
    for _ in range(2):
        Cluster(tmp_path, release=Release(POM, tmp_path / "jars"))
    assert "called\n" == (tmp_path / "calls").read_text()


def put_on_path(monkeypatch: pytest.MonkeyPatch, folder: Path, **scripts: str) -> None:
    """Set the PATH to a folder with only these shell scripts."""
    commands = folder / "bin"
    commands.mkdir()
    for name, script in scripts.items():
        (commands / name).write_text(f"#!/bin/sh\n{script}\n")
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(commands))
    monkeypatch.delenv("JAVA_HOME", raising=False)


def answers(port: int) -> bool:
    try:
        Connection("127.0.0.1", port).close()
    except ConnectionLostError:
        return False
    return True
