"""Instances of a Kafka Streams application, each in a process of its own."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.broker.applications.brokers import installer
from tests.support.kafka_program import KafkaProgram

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.broker.applications.driver import Driver, Owned

VIEWS, ORDERS, REPARTITIONED = "page-views", "shop-orders", 5
"""Topics that the application reads, and the number of partitions of its repartition topic."""


class StreamsInstances:
    """Instances of one application.

    Args:
        driver: Driver of the clients.
        group: Application id.
        protocol: "streams" or "classic".
        commit_ms: Milliseconds between commits.

    Attributes:
        kind: "streams" (groups with epochs) or "stream" (the classic protocol).
        standbys: Number of standby tasks of each task with state.
    """

    def __init__(self, driver: Driver, group: str, protocol: str, commit_ms: int = 15_000) -> None:
        self.group, self.kind = group, "streams" if protocol == "streams" else "stream"
        self.standbys = 1
        self._driver, self._protocol, self._commit_ms = driver, protocol, commit_ms
        self._programs: dict[str, KafkaProgram] = {}
        self._states: dict[str, Any] = {}
        driver.follow(self)

    def start(self, name: str, threads: int) -> None:
        """Start an instance; one that was killed finds its state again."""
        self._driver.note("start", group=self.group, client=name, threads=threads)
        self._programs[name] = KafkaProgram("recorded.StreamsApplication", installer(self._driver.release))
        self._programs[name].ask(
            {
                "do": "start",
                "views": VIEWS,
                "orders": ORDERS,
                "repartitioned": REPARTITIONED,
                "settings": self._settings(name, threads),
            }
        )

    def kill(self, name: str) -> None:
        """Kill the process of an instance."""
        self._driver.note("kill", group=self.group, client=name)
        self._programs.pop(name).kill()

    def leave(self, name: str) -> None:
        """Close an instance, so that it leaves the group."""
        self._driver.note("leave", group=self.group, client=name)
        program = self._programs.pop(name)
        program.ask({"do": "leave"})
        program.kill()

    def stop(self) -> None:
        """Kill all instances."""
        for program in self._programs.values():
            program.kill()

    def owned(self) -> Owned | None:
        """Return process and tasks of each thread, by the client id of its consumer; None while tasks are missing."""
        self._states = {name: program.ask({"do": "say"}) for name, program in self._programs.items()}
        found: Owned = {}
        is_running = True
        for name, state in self._states.items():
            is_running &= state["state"] == "RUNNING"
            for client, thread in state["threads"].items():
                is_running &= thread["state"] == "RUNNING"
                tasks = {"active": thread["active"], "standby": thread["standby"]}
                found[client] = {"process": self._process(name), **tasks}
        copies = min(self.standbys, len(self._programs) - 1)
        is_complete = is_running and (
            Counter(self._tasks()) == _counts(found, "active")
            and Counter(task for task in self._tasks() if task[0] != "0" for _ in range(copies))
            == _counts(found, "standby")
        )
        return found if is_complete else None

    def describe(self) -> str:
        """Return the states of all instances."""
        return f"{self.group}: {self._states}"

    def _settings(self, name: str, threads: int) -> dict[str, str]:
        settings = {
            "application.id": self.group,
            "bootstrap.servers": self._driver.address,
            "client.id": name,
            "commit.interval.ms": str(self._commit_ms),
            "metadata.max.age.ms": "2000",
            "num.stream.threads": str(threads),
            "state.dir": str(self._driver.folder / name),
        }
        if self._protocol == "streams":
            return settings | {"group.protocol": "streams"}
        return settings | {
            "heartbeat.interval.ms": "1000",
            "num.standby.replicas": str(self.standbys),
            "session.timeout.ms": "6000",
        }

    def _process(self, name: str) -> str | None:
        """Return the process id, which an instance with state keeps in its folder."""
        path = self._driver.folder / name / self.group / "kafka-streams-process-metadata"
        return json.loads(path.read_bytes())["processId"] if path.is_file() else None

    def _tasks(self) -> Iterator[str]:
        """Yield the names of all tasks."""
        counts = (self._driver.partitions[VIEWS], REPARTITIONED, self._driver.partitions[ORDERS])
        for subtopology, count in enumerate(counts):
            for partition in range(count):
                yield f"{subtopology}_{partition}"


def _counts(owned: Owned, kind: str) -> Counter[str]:
    return Counter(task for thread in owned.values() for task in thread[kind])
