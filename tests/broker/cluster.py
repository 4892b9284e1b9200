"""Real Kafka broker for the tests: one node with its own controller, on the loopback interface, in its own folder.

Maven installs the jars into `target/kafka` once. A broker ends with the process that started it, even if it is killed.
`tests/broker/plugins/racks.py` builds a cluster of several nodes from it.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kio.schema.metadata.v12 import MetadataRequest, MetadataResponse

from assignor.spark.java import OLDEST, java_version
from tests.broker.connection import Connection, ConnectionLostError
from tests.broker.guarded_process import GuardedProcess
from tests.support import maven_jars

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

POM = Path(__file__).with_name("pom.xml")
JARS = (POM.parents[2] / "target" / "kafka").resolve()


class Release(NamedTuple):
    """Jars of a release of Kafka.

    Attributes:
        pom: Pom that copies the jars.
        jars: Folder to which it copies them.
    """

    pom: Path
    jars: Path


CURRENT = Release(POM, JARS)
OLD = Release(POM.with_name("pom-3.7.xml"), JARS.with_name("kafka-3.7"))
"""Kafka 3.7."""

SETTINGS: Mapping[str, str] = {
    "auto.create.topics.enable": "false",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.assignor.offload.enable": "false",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.regex.refresh.interval.ms": "10000",
    "group.consumer.session.timeout.ms": "6000",
    "group.coordinator.append.linger.ms": "0",
    "group.coordinator.background.threads": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.max.session.timeout.ms": "600000",
    "group.min.session.timeout.ms": "100",
    "group.share.assignment.interval.ms": "0",
    "group.share.assignor.offload.enable": "false",
    "group.share.heartbeat.interval.ms": "100",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.assignor.offload.enable": "false",
    "group.streams.initial.rebalance.delay.ms": "0",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.index.size.max.bytes": "65536",
    "num.io.threads": "2",
    "num.network.threads": "2",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.append.linger.ms": "0",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
}
"""Broker settings: short timeouts, and assignments that are computed within the heartbeat that needs them.

So responses depend on the order of requests, but not on the speed of the broker. A broker that was killed waits for the
end of its previous session before it responds, so sessions of members must be longer. One background thread resolves
patterns in the order of the heartbeats that need them.
"""

PATIENT: Mapping[str, str] = {
    "broker.session.timeout.ms": "60000",
    "group.consumer.max.session.timeout.ms": "3600000",
    "group.consumer.session.timeout.ms": "3600000",
    "offsets.retention.check.interval.ms": "86400000",
}
"""Settings of a broker that changes a group only when a heartbeat arrives, also on a busy machine.

It removes neither silent members nor empty groups.
"""

CONTROLLER = 1
"""Id of the node that is also the controller."""

CLASSES = "classes.jsa"
"""Class archive beside the jars; if it exists, Java reads the classes of Kafka from it (see class_archive.py)."""

SMALL_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Xss512k", "-Dlog4j2.level=INFO")


class BrokerMissingError(Exception):
    """Error for missing Java, Maven or jars of a broker."""


class BrokerFailedError(Exception):
    """Error for a broker that did not start or stop; the message has the end of its log."""


class Cluster:
    """One broker. `with` starts it, and kills it at the end.

    Args:
        folder: Folder for its data and log; a restarted broker finds its data there.
        settings: Settings that replace or extend `SETTINGS`.
        jvm: Options for Java; by default those for a fast start and a small heap.
        cluster_id: Id of the cluster; by default a random one.
        release: Release of the broker.

    Attributes:
        port: Port on 127.0.0.1; the same after a restart.
        settings: `SETTINGS` with the given settings.

    Raises:
        BrokerMissingError: Java or Maven is missing, or Maven could not fetch the jars.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        jvm: Sequence[str] = SMALL_JVM,
        cluster_id: str | None = None,
        release: Release = CURRENT,
    ) -> None:
        self._java = find_java()
        self._jvm = jvm
        self._cluster_id = cluster_id or random_id()
        self._jars = release.jars
        install_jars(release)
        self._folder = folder
        self._process: GuardedProcess | None = None
        self.port, controller = free_ports(2)
        self._configuration = folder / "server.properties"
        self._log = folder / "broker.log"
        self.settings = {**SETTINGS, **(settings or {})}
        listener = f"PLAINTEXT://127.0.0.1:{self.port}"
        all_settings = {
            "process.roles": "broker,controller",
            "node.id": str(CONTROLLER),
            "controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{listener},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": listener,
            "log.dirs": str(folder / "data"),
            **self.settings,
        }
        self._configuration.write_text("".join(f"{name}={value}\n" for name, value in all_settings.items()))

    def __enter__(self) -> Cluster:
        self.format()
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    @property
    def data(self) -> Path:
        """Data directory of the broker."""
        return self._folder / "data"

    @property
    def address(self) -> str:
        """Address for the client setting `bootstrap.servers`."""
        return f"127.0.0.1:{self.port}"

    def start(self, timeout: float = 60) -> None:
        """Start the broker with the existing data, and return when it responds."""
        self.launch()
        self.until_ready(timeout)

    def launch(self) -> None:
        """Start the broker's process with the existing data."""
        self._process = GuardedProcess(self._command("kafka.Kafka"), self._log)

    def until_ready(self, timeout: float = 60, brokers: int = 1) -> None:
        """Wait until the broker responds and knows a number of brokers."""
        assert self._process
        end = time.monotonic() + timeout
        while not self._knows(brokers):
            if self._process.has_ended or time.monotonic() > end:
                self.kill()
                raise BrokerFailedError(self._log.read_text(errors="replace")[-3000:])
            time.sleep(0.05)

    def stop(self, timeout: float = 30) -> None:
        """Stop the broker in order, so that it closes its logs."""
        if self._process:
            try:
                self._process.terminate(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise BrokerFailedError(f"the broker did not stop within {timeout} s") from None
        self.kill()

    def kill(self) -> None:
        """Kill the process, if it runs."""
        if self._process:
            self._process.kill()
            self._process = None

    @property
    def pid(self) -> int | None:
        """Process id while the broker runs, else None."""
        return self._process.pid if self._process else None

    def connect(self) -> Connection:
        """Open a connection; the caller closes it."""
        return Connection("127.0.0.1", self.port)

    def _knows(self, brokers: int) -> bool:
        with contextlib.suppress(ConnectionLostError), self.connect() as connection:
            request = MetadataRequest(
                topics=(), allow_auto_topic_creation=False, include_topic_authorized_operations=False
            )
            return len(connection.ask(request, MetadataResponse).brokers) == brokers
        return False

    def format(self, node_id: int = 1) -> None:
        """Write the files that Kafka's StorageTool writes to the broker's folder; the tool takes seconds.

        The levels of features (`bootstrap.checkpoint`) are those that the tool wrote for the first controller.
        """
        data = self.data
        levels = self._jars / "bootstrap.checkpoint"
        if not levels.exists():
            self._format_with_tool()
            if not (data / levels.name).exists():  # Kafka 4.4 has them elsewhere
                return
            made = levels.with_name(f".{uuid.uuid4()}")
            shutil.copyfile(data / levels.name, made)
            made.replace(levels)
            return
        data.mkdir()
        (data / "meta.properties").write_text(
            f"version=1\ncluster.id={self._cluster_id}\nnode.id={node_id}\ndirectory.id={random_id()}\n"
        )
        if node_id == CONTROLLER:
            shutil.copyfile(levels, data / levels.name)

    def _format_with_tool(self) -> None:
        command = self._command("kafka.tools.StorageTool", "format", "-t", self._cluster_id, "-c")
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode:
            raise BrokerFailedError(done.stdout.decode(errors="replace")[-3000:])

    def _command(self, *program: str) -> list[str]:
        options = [*self._jvm, *archive_options(self._jars)]
        return [str(self._java), *options, "-cp", str(self._jars / "*"), *program, str(self._configuration)]


def archive_options(jars: Path) -> list[str]:
    """Return the options with which Java reads classes from an archive; its class path has to start with the jars."""
    archive = jars / CLASSES
    return [f"-XX:SharedArchiveFile={archive}", "-Xlog:disable"] if archive.exists() else []


def find_java() -> Path:
    """Return the program of a Java that can run a broker.

    Raises:
        BrokerMissingError: No such Java was found.
    """
    home = os.environ.get("JAVA_HOME")
    found = [Path(home, "bin", "java")] if home else []
    if on_path := shutil.which("java"):
        found.append(Path(on_path))
    for java in found:
        if (java_version(java) or 0) >= OLDEST:
            return java
    raise BrokerMissingError(f"no Java {OLDEST} or newer in JAVA_HOME or on the PATH; a broker needs one")


def install_jars(release: Release = CURRENT) -> None:
    """Fetch the jars of a broker with Maven, unless they exist.

    Raises:
        BrokerMissingError: Maven is missing or failed.
    """
    if shutil.which("mvn") is None and not (release.jars / ".complete").exists():
        raise BrokerMissingError("no Maven (mvn) on the PATH; it fetches the jars of a broker")
    try:
        maven_jars.install(release.pom, release.jars)
    except maven_jars.JarsMissingError as error:
        raise BrokerMissingError(f"Maven could not fetch the jars of a broker: {error}") from None


def random_id() -> str:
    """Return a new id of a cluster or directory in Kafka's form."""
    return "a" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]  # a leading "-" would be an option


def free_ports(count: int) -> list[int]:
    """Return free ports for a broker, which no other program gets until this process ends.

    A broker binds its ports seconds later, and again after a restart. Linux reserves a port for a socket that is bound
    and does not listen, and lets a broker share it, because both sockets have SO_REUSEADDR.
    """
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in sockets]
        if sys.platform == "linux":
            for each in sockets:
                each.detach()
        return ports
