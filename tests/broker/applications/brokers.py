"""Two racked brokers of a release of Kafka, whose logs have the lines that Kafka writes by default."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.broker.cluster import JARS, SMALL_JVM, Cluster, Release, install_jars
from tests.broker.plugins.racks import RackedCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RELEASES = {
    "4.3": Release(Path(__file__).with_name("pom.xml"), JARS.with_name("kafka-applications")),
    "4.4": Release(Path(__file__).with_name("pom-4.4.xml"), JARS.with_name("kafka-applications-4.4")),
}
"""Releases with their jars of brokers and of Kafka Streams; those of 4.3 include Connect."""

NEW_SETTINGS = {"group.streams.min.task.offset.interval.ms": "1000"}
"""Further settings of brokers of Kafka 4.4."""

SETTINGS = {
    "group.share.heartbeat.interval.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.min.session.timeout.ms": "3000",
    "group.share.session.timeout.ms": "6000",
    "group.streams.heartbeat.interval.ms": "1000",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.min.session.timeout.ms": "3000",
    "group.streams.session.timeout.ms": "6000",
    "offsets.topic.num.partitions": "3",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.state.topic.replication.factor": "1",
}
"""Settings of the brokers: short sessions, and few partitions of internal topics."""

LOGGING = """
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c{1})%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


class RecordedCluster(RackedCluster):
    """Two brokers.

    Args:
        folder: Folder with a folder per broker.
        release: Release of the brokers.
        settings: Settings besides `SETTINGS`.

    Attributes:
        logs: Log of each broker, from broker 1 on.
    """

    def __init__(self, folder: Path, release: Release, settings: Mapping[str, str]) -> None:
        configuration = folder / "log4j2.properties"
        configuration.write_text(LOGGING)
        self._jvm = (*SMALL_JVM, f"-Dlog4j2.configurationFile={configuration}")
        self._release = release
        super().__init__(folder, ("r0", "r1"), **SETTINGS, **settings)
        self.logs = [folder / str(number) / "broker.log" for number in (1, 2)]

    def node(self, folder: Path, settings: Mapping[str, str], cluster_id: str) -> Cluster:
        """Return a broker of the release."""
        return Cluster(folder, settings, self._jvm, cluster_id, self._release)


def installer(release: Release) -> Callable[[], Path]:
    """Return a function that fetches the jars of a release, unless they exist, and returns their folder."""

    def install() -> Path:
        install_jars(release)
        return release.jars

    return install
