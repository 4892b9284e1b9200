"""Log of a real broker: `replay --broker-log` gives its reason as the first cause of each rebalance."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from assignor.cli import main
from tests.broker.admin import Admin
from tests.broker.cluster import SMALL_JVM, Cluster
from tests.broker.running import running
from tests.live.watching import until
from tests.replay.test_events_recorded import causes_of
from tests.support.recorded_fleet import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.broker

CLASSIC, NEXT, TOPIC = "logged-classic", "logged-next", "logged"
SESSION_MS = 1_500

LOGGING = """
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""
"""Kafka's own layout of lines."""

BEGINS = re.compile(
    rf"Preparing to rebalance group {CLASSIC} in state \w+ with old generation (\d+) \(reason: (.*)\)\. \("
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kafka")


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[Cluster]:
    """Start a broker whose log has the lines that Kafka writes by default."""
    configuration = folder / "log4j2.properties"
    configuration.write_text(LOGGING)
    with running(Cluster, folder, jvm=(*SMALL_JVM, f"-Dlog4j2.configurationFile={configuration}")) as found:
        with found.connect() as connection:
            Admin(connection).await_coordinators()
        yield found


class Members:
    """Members in processes of their own; `with` kills them."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        admin = AdminClient({"bootstrap.servers": address})
        admin.create_topics([NewTopic(TOPIC, 4)])[TOPIC].result(60)

    def __enter__(self) -> Members:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()

    def join(self, group: str, name: str) -> None:
        """Start a member."""
        client = "librdkafka" if group == CLASSIC else "librdkafka-next"
        words = [client, self._address, group, TOPIC, name, str(SESSION_MS)]
        command = [sys.executable, "-m", "tests.live.consumer_program", *words]
        self._processes[name] = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a member."""
        self._processes[name].send_signal(number)

    def await_members(self, **counts: int) -> None:
        """Wait until the groups are stable with these numbers of members."""
        wanted = {{"classic": CLASSIC, "next": NEXT}[name]: count for name, count in counts.items()}

        admin = AdminClient(
            {"bootstrap.servers": self._address}
        )  # an earlier one may know the broker before its restart

        def is_stable() -> bool:
            futures = admin.describe_consumer_groups(list(wanted), request_timeout=10)
            try:
                found = {group: future.result(60) for group, future in futures.items()}
            except KafkaException:  # a group does not exist yet, or the broker starts
                return False
            return all(
                found[group].state.name in {"STABLE", "EMPTY"} and len(found[group].members) == count
                for group, count in wanted.items()
            )

        until(is_stable)


def play(cluster: Cluster) -> None:
    """Let members join, close, unsubscribe, die, and miss a restart of the broker."""
    with Members(cluster.address) as members:
        members.join(CLASSIC, "a")
        members.join(NEXT, "e")
        members.await_members(classic=1, next=1)
        for name, other, number in (("b", "f", signal.SIGTERM), ("c", "g", signal.SIGKILL)):
            members.join(CLASSIC, name)
            members.join(NEXT, other)
            members.await_members(classic=2, next=2)
            members.signal(name, number)
            members.signal(other, number)
            members.await_members(classic=1, next=1)
        consumer = Consumer({"bootstrap.servers": cluster.address, "group.id": CLASSIC, "enable.auto.commit": False})
        consumer.subscribe([TOPIC])
        until(lambda: consumer.poll(0.05) is None and len(consumer.assignment()) == 2)
        consumer.unsubscribe()
        consumer.poll(0.05)
        members.await_members(classic=1)
        consumer.close()
        members.join(CLASSIC, "d")
        members.await_members(classic=2)
        cluster.kill()
        members.signal("d", signal.SIGKILL)
        cluster.start()
        members.await_members(classic=1, next=1)
        members.signal("a", signal.SIGTERM)
        members.signal("e", signal.SIGTERM)
        members.await_members(classic=0, next=0)


def test_the_first_cause_of_each_rebalance_is_the_one_that_the_broker_logged(
    cluster: Cluster, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play(cluster)
    recording, log = str(tmp_path / "recording"), folder / "broker.log"
    address = ("--bootstrap-server", cluster.address)
    assert 0 == main(["record", *address, "--out", recording, "--until-end"])
    capsys.readouterr()
    assert 0 == main(["replay", recording, "--json", "--broker-log", str(log)])
    captured = capsys.readouterr()
    events: list[dict[str, Any]] = [json.loads(line) for line in captured.out.splitlines()]
    rebalances = [each for each in events if each["event"] == "rebalance"]

    logged = {int(old) + 1: causes_of(reason) for old, reason in BEGINS.findall(log.read_text(encoding="utf-8"))}
    found = {each["generation"]: each["causes"][0] for each in rebalances if each["group"] == CLASSIC}
    # After a restart, the broker logs an expired session, or first that another member joins with a new id.
    (moved,) = (each for each in rebalances if "coordinator_moved" in each["causes"])
    assert "after the coordinator had loaded the group" in moved["evidence"]
    logged[moved["generation"]] |= {"coordinator_moved"}
    assert [] == [generation for generation, cause in found.items() if cause not in logged[generation]]
    assert logged.keys() == found.keys()
    assert {"consumer_subscribed", "consumer_closed", "consumer_dead"} <= set(found.values())

    of_next = [each["causes"][0] for each in rebalances if each["group"] == NEXT]
    joined = "consumer_subscribed"
    assert [joined, joined, "consumer_closed", joined, "consumer_dead", "consumer_closed"] == of_next
    assert all(each["logged_reason"] for each in rebalances)
    assert "0 ms" not in captured.err
    assert all(0 <= each["at"] - each["logged_at"] < 60_000 for each in rebalances)
