"""Example consumers of kafka-python and aiokafka: copies run in a group, share its partitions and end after SIGTERM."""

from __future__ import annotations

import collections
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import confluent_kafka
import pytest

from tests.broker.admin import Admin
from tests.broker.plugins.client_consumers import needs_racks_of_aiokafka

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker.cluster import Cluster

pytestmark = pytest.mark.broker

EXAMPLES = Path(__file__).parents[2] / "examples"

TOPICS = {"tickets": 4, "visits": 2}


class RunningExample:
    """Process of an example; a thread reads the lines that it prints."""

    def __init__(self, program: str, *arguments: str) -> None:
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, str(EXAMPLES / program), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def assigned(self) -> list[str]:
        """The partitions in the last line about an assignment."""
        lines = [line for line in self.lines if line.startswith("assigned:")]
        return lines[-1].split()[1:] if lines else []

    @property
    def is_running(self) -> bool:
        """True until the process ends."""
        return self._process.poll() is None

    def stop(self) -> int:
        """Tell the process to terminate, and return its exit code."""
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(30)
        finally:
            self._process.kill()
            self._reader.join()
            assert self._process.stdout
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self.lines.append(line.rstrip())


@pytest.fixture(scope="module")
def address(broker: Cluster) -> str:
    """Return the address of a broker with a record in each partition of the topics."""
    with broker.connect() as connection:
        Admin(connection).create_topics(TOPICS)
        Admin(connection).await_coordinator("examples")
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.address, "log.connection.close": False})
    for topic, count in TOPICS.items():
        for partition in range(count):
            producer.produce(topic, f"{topic} {partition}", partition=partition)
    assert 0 == producer.flush(30)
    return broker.address


def until(condition: Callable[[], object], *examples: RunningExample) -> None:
    """Wait for a condition."""
    end = time.monotonic() + 60
    while not condition():
        in_time = time.monotonic() < end and all(example.is_running for example in examples)
        assert in_time, [example.lines for example in examples]
        time.sleep(0.05)


@pytest.fixture(params=["kafka_python_consumer.py", "aiokafka_consumer.py"])
def program(request: pytest.FixtureRequest) -> str:
    """Return the file name of an example that the installed client can run."""
    if request.param == "aiokafka_consumer.py":
        needs_racks_of_aiokafka()
    return str(request.param)


def test_two_example_consumers_share_the_partitions_as_kafka_assigns_them(address: str, program: str) -> None:
    group = program.partition("_consumer")[0]
    first = RunningExample(program, address, group, *TOPICS, "--instance", "a")
    everything = [f"{topic}-{partition}" for topic, count in TOPICS.items() for partition in range(count)]
    until(lambda: first.assigned == everything, first)
    until(lambda: len([line for line in first.lines if ": b'" in line]) == len(everything), first)

    second = RunningExample(program, address, group, *TOPICS, "--rack", "r1", "--instance", "b")
    until(lambda: second.assigned == ["tickets-2", "tickets-3", "visits-1"], first, second)
    until(lambda: first.assigned == ["tickets-0", "tickets-1", "visits-0"], first, second)

    assert [0, 0] == [second.stop(), first.stop()]
    values = [line.partition(": ")[2] for line in first.lines if ": b'" in line]
    assert collections.Counter(repr(f"{topic} {p}".encode()) for topic, n in TOPICS.items() for p in range(n)) == (
        collections.Counter(values)
    )


def test_shadow_mode_of_an_example_logs_the_comparison(address: str, program: str) -> None:
    example = RunningExample(program, address, f"shadow-{program}", "tickets", "--shadow")
    until(lambda: example.assigned, example)

    assert 0 == example.stop()
    client = program.partition("_consumer")[0].replace("_", "-")
    assert f"INFO assignor.clients: range: {client}'s answer for 1 members equals Kafka's" in example.lines
