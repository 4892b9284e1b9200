"""Log of a real broker: `replay --broker-log` gives its reason as the first cause of each rebalance."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from assignor.cli import main
from tests.broker.cluster import CURRENT, OLD, SMALL_JVM, Cluster, Release
from tests.broker.running import running
from tests.live.watching import until
from tests.replay.test_events_recorded import causes_of
from tests.support.recorded_fleet import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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
    rf"Preparing to rebalance group {CLASSIC} in state \w+ with old generation (\d+)(?: \(\S+\))? "
    r"\(reason: (.*?)\)\.? \("
)


@pytest.fixture(scope="module", params=[CURRENT, pytest.param(OLD, marks=pytest.mark.long)], ids=["4.3", "3.7"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedCluster]:
    """Start a broker whose log has the lines that Kafka writes by default."""
    folder = tmp_path_factory.mktemp("kafka")
    configuration = folder / "log4j2.properties"
    configuration.write_text(LOGGING)
    jvm = (*SMALL_JVM, f"-Dlog4j2.configurationFile={configuration}")
    with running(LoggedCluster, folder, jvm=jvm, release=request.param) as found:
        until(lambda: has_coordinators(found.address))
        yield found


class LoggedCluster(Cluster):
    """Broker whose log can be read, of Kafka 4.3 or 3.7. The old one has no groups with epochs."""

    def __init__(self, folder: Path, *, jvm: Sequence[str], release: Release) -> None:
        super().__init__(folder, jvm=jvm, release=release)
        self.log = folder / "broker.log"
        self.groups = (CLASSIC,) if release == OLD else (CLASSIC, NEXT)


def has_coordinators(address: str) -> bool:
    """Return True if the broker coordinates groups; it creates the topic for their records when it is asked first."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "any"})
    try:
        consumer.committed([TopicPartition(TOPIC, 0)], timeout=5)
    except KafkaException:
        return False
    finally:
        consumer.close()
    return True


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

    def await_members(self, count: int, *groups: str) -> None:
        """Wait until the groups are stable with this number of members."""
        admin = AdminClient(
            {"bootstrap.servers": self._address}
        )  # an earlier one may know the broker before its restart

        def is_stable() -> bool:
            futures = admin.describe_consumer_groups(list(groups), request_timeout=10)
            try:
                found = [future.result(60) for future in futures.values()]
            except KafkaException:  # a group does not exist yet, or the broker starts
                return False
            return all(each.state.name in {"STABLE", "EMPTY"} and len(each.members) == count for each in found)

        until(is_stable)


def play(cluster: LoggedCluster) -> None:
    """Let members join, close, unsubscribe, die, and miss a restart of the broker."""
    groups = cluster.groups
    with Members(cluster.address) as members:
        for group in groups:
            members.join(group, f"a of {group}")
        members.await_members(1, *groups)
        for name, number in (("b", signal.SIGTERM), ("c", signal.SIGKILL)):
            for group in groups:
                members.join(group, f"{name} of {group}")
            members.await_members(2, *groups)
            for group in groups:
                members.signal(f"{name} of {group}", number)
            members.await_members(1, *groups)
        consumer = Consumer({"bootstrap.servers": cluster.address, "group.id": CLASSIC, "enable.auto.commit": False})
        consumer.subscribe([TOPIC])
        until(lambda: consumer.poll(0.05) is None and len(consumer.assignment()) == 2)
        consumer.unsubscribe()
        consumer.poll(0.05)
        members.await_members(1, CLASSIC)
        consumer.close()
        members.join(CLASSIC, "d")
        members.await_members(2, CLASSIC)
        cluster.kill()
        members.signal("d", signal.SIGKILL)
        cluster.start()
        members.await_members(1, *groups)
        for group in groups:
            members.signal(f"a of {group}", signal.SIGTERM)
        members.await_members(0, *groups)


def test_the_first_cause_of_each_rebalance_is_the_one_that_the_broker_logged(
    cluster: LoggedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play(cluster)
    recording, log = str(tmp_path / "recording"), cluster.log
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
    expected = [joined, joined, "consumer_closed", joined, "consumer_dead", "consumer_closed"]
    assert (expected if NEXT in cluster.groups else []) == of_next
    assert all(each["logged_reason"] for each in rebalances)
    assert "0 ms" not in captured.err
    assert all(0 <= each["at"] - each["logged_at"] < 60_000 for each in rebalances)
