"""What happens in the recordings, in the order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker.applications.connect_workers import ConnectWorkers
from tests.broker.applications.share_consumers import ShareGroup, ShareProcess
from tests.broker.applications.streams_instances import ORDERS, VIEWS, StreamsInstances

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.broker.applications.driver import Driver

MAIL, BOUNCES, UPLOADS, LINES = "mail-outbox", "mail-bounces", "photo-uploads", "file-lines"

TOPICS = {MAIL: 3, BOUNCES: 8, UPLOADS: 12, VIEWS: 4, ORDERS: 3, LINES: 6}
"""Topics and their partitions at the start."""

SESSION = 12.0
"""Seconds after which the session of a killed client has ended for sure."""


NEW_CONFIG = {"streams.acceptable.recovery.lag": "5", "streams.task.offset.interval.ms": "2000"}
"""Configuration of a group of Kafka 4.4 in which a new process lacks more records of state than is acceptable."""


def play(driver: Driver, *, is_new: bool) -> None:
    """Play everything: share groups, both protocols of Streams, and Connect.

    Args:
        driver: Driver of the clients.
        is_new: Play only what the broker computes, with the further configuration of Kafka 4.4.
    """
    share_groups(driver)
    if is_new:
        streams(driver, StreamsInstances(driver, "page-counter", "streams", commit_ms=3000), NEW_CONFIG)
        return
    streams(driver, StreamsInstances(driver, "page-counter", "streams"), {})
    streams(driver, StreamsInstances(driver, "page-archive", "classic"), {})
    connect(driver)


def share_groups(driver: Driver) -> None:
    """Play two share groups: members come and go, topics grow, and one is deleted while it is assigned."""
    mailers, resizers = ShareGroup(driver, "mailers"), ShareGroup(driver, "resizers")
    first, second = ShareProcess(driver), ShareProcess(driver)
    mailers.join(first, "mailer-1", [MAIL])
    resizers.join(first, "resizer-1", [UPLOADS])
    driver.settle("one share consumer")
    for number, process in ((2, first), (3, first), (4, second), (5, second)):
        mailers.join(process, f"mailer-{number}", [MAIL])
    resizers.join(second, "resizer-2", [UPLOADS])
    driver.settle("more share consumers than partitions", at_least=8)
    mailers.subscribe("mailer-3", [MAIL, BOUNCES])
    mailers.subscribe("mailer-4", [BOUNCES])
    resizers.join(first, "resizer-3", [UPLOADS])
    driver.settle("different subscriptions", at_least=8)
    mailers.leave("mailer-2")
    driver.grow(MAIL, 7)
    driver.grow(UPLOADS, 13)
    driver.settle("grown topics", at_least=8)
    second.program.kill()
    mailers.lose(second)
    resizers.lose(second)
    driver.settle("killed share consumers", at_least=SESSION)
    third = ShareProcess(driver)
    mailers.join(third, "mailer-6", [MAIL, BOUNCES])
    mailers.join(third, "mailer-7", [BOUNCES])
    resizers.join(third, "resizer-4", [UPLOADS])
    driver.settle("new share consumers", at_least=8)
    driver.delete(BOUNCES)
    driver.settle("deleted topic", at_least=8)
    mailers.subscribe("mailer-7", [MAIL])
    resizers.leave("resizer-1")
    driver.settle("fewer share consumers", at_least=8)


def streams(driver: Driver, instances: StreamsInstances, config: Mapping[str, str]) -> None:
    """Play a Streams application with standby tasks: it grows, crashes and shrinks, and a topic grows.

    Args:
        driver: Driver of the clients.
        instances: Instances of the application; none has started yet.
        config: Further configuration of the group.
    """
    group = instances.group
    one, two, three = (f"{group}-{number}" for number in (1, 2, 3))
    is_streams = instances.kind == "streams"
    if is_streams:
        driver.configure(group, {"streams.num.standby.replicas": "1", **config})
    instances.start(one, threads=2)
    driver.settle(f"{group}: one instance", at_least=30 if config else 8)
    instances.start(two, threads=1)
    driver.settle(f"{group}: two instances")
    instances.start(three, threads=2)
    driver.settle(f"{group}: three instances", at_least=8)
    instances.kill(two)
    driver.settle(f"{group}: killed instance", at_least=SESSION)
    instances.start(two, threads=1)
    driver.settle(f"{group}: instance is back", at_least=8)
    driver.grow(VIEWS, driver.partitions[VIEWS] + 2)
    driver.settle(f"{group}: grown topic", at_least=8)
    if is_streams:
        instances.standbys = 2
        driver.configure(group, {"streams.num.standby.replicas": "2"})
        driver.settle(f"{group}: two standby tasks", at_least=8)
    instances.leave(one)
    driver.settle(f"{group}: instance has left", at_least=8)


def connect(driver: Driver) -> None:
    """Play two Connect clusters: one that grows and crashes, one whose workers get a newer protocol."""
    files = ConnectWorkers(driver, "connect-files", "sessioned")
    files.start("files-worker-1")
    driver.settle("connect-files: one worker")
    for name in ("tail-access", "tail-errors"):
        files.add_source(name)
    files.add_sink("write-lines", 4)
    driver.settle("connect-files: connectors")
    files.start("files-worker-2")
    driver.settle("connect-files: two workers", at_least=25)
    files.start("files-worker-3")
    files.add_source("tail-audit")
    driver.settle("connect-files: three workers", at_least=20)
    files.kill("files-worker-2")
    driver.settle("connect-files: killed worker", at_least=25)
    files.kill("files-worker-3")
    driver.settle("connect-files: one worker is left", at_least=SESSION + 8)
    files.start("files-worker-3")
    driver.settle("connect-files: worker is back", at_least=15)
    files.delete("tail-errors")
    driver.settle("connect-files: deleted connector", at_least=5)
    archive = ConnectWorkers(driver, "connect-archive", "eager")
    archive.start("archive-worker-1")
    driver.settle("connect-archive: one worker")
    archive.add_sink("archive-lines", 3)
    driver.settle("connect-archive: connector")
    archive.start("archive-worker-2")
    driver.settle("connect-archive: two workers", at_least=15)
    archive.leave("archive-worker-2")
    archive.start("archive-worker-2", "compatible")
    driver.settle("connect-archive: one of two workers is new", at_least=15)
    archive.leave("archive-worker-1")
    driver.settle("connect-archive: the new worker", at_least=15)
    archive.start("archive-worker-1", "compatible")
    driver.settle("connect-archive: two new workers", at_least=25)
