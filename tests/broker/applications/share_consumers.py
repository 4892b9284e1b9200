"""Share consumers of Kafka's Java client, several of them in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.broker.applications.brokers import installer
from tests.support.kafka_program import KafkaProgram

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.broker.applications.driver import Driver, Owned


class ShareProcess:
    """Process of share consumers.

    Args:
        driver: Driver of the clients.
    """

    def __init__(self, driver: Driver) -> None:
        self.program = KafkaProgram("consumers.ShareConsumers", installer(driver.release))

    def say(self) -> dict[str, Any]:
        """Return the state of each consumer, by its client id."""
        state: dict[str, Any] = self.program.ask({"do": "say"})
        return state


class ShareGroup:
    """Share consumers of one group, in several processes.

    Args:
        driver: Driver of the clients.
        group: Group id.
    """

    kind = "share"

    def __init__(self, driver: Driver, group: str) -> None:
        self.group = group
        self._driver = driver
        self._places: dict[str, ShareProcess] = {}
        self._topics: dict[str, list[str]] = {}
        self._states: dict[str, Any] = {}
        driver.follow(self)

    def join(self, process: ShareProcess, name: str, topics: Iterable[str]) -> None:
        """Start a consumer."""
        self._topics[name], self._places[name] = sorted(topics), process
        self._driver.note("start", group=self.group, client=name, topics=self._topics[name])
        settings = {"bootstrap.servers": self._driver.address, "group.id": self.group, "metadata.max.age.ms": "2000"}
        process.program.ask({"do": "join", "name": name, "topics": self._topics[name], "settings": settings})

    def subscribe(self, name: str, topics: Iterable[str]) -> None:
        """Change the subscription of a consumer."""
        self._topics[name] = sorted(topics)
        self._driver.note("subscribe", group=self.group, client=name, topics=self._topics[name])
        self._places[name].program.ask({"do": "subscribe", "name": name, "topics": self._topics[name]})

    def leave(self, name: str) -> None:
        """Close a consumer."""
        self._driver.note("leave", group=self.group, client=name)
        del self._topics[name]
        self._places.pop(name).program.ask({"do": "leave", "name": name})

    def lose(self, process: ShareProcess) -> None:
        """Forget the consumers of a process that was killed."""
        for name in [name for name, place in self._places.items() if place is process]:
            self._driver.note("kill", group=self.group, client=name)
            del self._places[name], self._topics[name]

    def stop(self) -> None:
        """Kill all processes."""
        for process in {id(each): each for each in self._places.values()}.values():
            process.program.kill()

    def owned(self) -> Owned | None:
        """Return the partitions of each consumer; None while partitions are missing."""
        self._states = {}
        for process in {id(each): each for each in self._places.values()}.values():
            self._states |= process.say()
        found = {name: self._states[name]["partitions"] for name in self._topics}
        wanted = {
            f"{topic}-{id}"
            for topics in self._topics.values()
            for topic in topics
            for id in range(self._driver.partitions.get(topic, 0))
        }
        has_errors = any(self._states[name]["error"] for name in self._topics)
        return found if not has_errors and wanted <= {each for owned in found.values() for each in owned} else None

    def describe(self) -> str:
        """Return the states of all consumers."""
        return f"{self.group}: {self._states}"
