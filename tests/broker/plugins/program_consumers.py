"""Running consumers of Java, franz-go and releases of the Python clients, in programs that answer lines of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

from assignor import TopicPartition
from tests.broker.java_consumers import CLASSES
from tests.broker.plugins.client_consumers import PAUSE, Joining, Owned
from tests.support import go_program
from tests.support.client_releases import ClientRelease, environment
from tests.support.kafka_program import KafkaProgram
from tests.support.time_limit import within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


LEAVE_MS = 1_000
"""Time limit for leaving a group. Without it, a Java consumer waits until its group has rebalanced."""


class _ProgramConsumers:
    """Consumers in one process that answers each line of JSON with the states of all consumers."""

    def __init__(self, address: str, ask: Callable[[object], Any], end: Callable[[], object]) -> None:
        self._address = address
        self._ask = ask
        self._end = end
        self._states: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)
        self._thread.start()

    def leave(self, name: str) -> None:
        """Close a consumer, and wait until it is closed."""
        self._tell({"do": "leave", "name": name, "limit_ms": LEAVE_MS})

    def owned(self, name: str) -> Owned:
        """Return the partitions that a consumer owns in its own view."""
        return frozenset(TopicPartition(*each) for each in self._states.get(name, {}).get("partitions", ()))

    def errors(self, name: str) -> list[str]:
        """Return the last error that a consumer raised."""
        error = self._states.get(name, {}).get("error")
        return [error] if error else []

    def close(self) -> None:
        """Close all consumers, and the process."""
        self._ending.set()
        within(f"polling {self._thread.name}", self._thread.join)
        self._end()

    def _tell(self, command: object) -> None:
        with self._lock:
            self._states = self._ask(command)

    def _run(self) -> None:
        while not self._ending.wait(PAUSE / 5):
            if self._states:
                self._tell({"do": "poll"})


class JavaConsumers(_ProgramConsumers):
    """Consumers of Kafka's Java client in one process, polled one after the other.

    Raises:
        OracleMissingError: Java, its compiler or the jars of Kafka are missing.
    """

    def __init__(self, address: str) -> None:
        program = KafkaProgram("consumers.Consumers")
        super().__init__(address, program.ask, program.__exit__)

    def join(self, joining: Joining) -> None:
        """Start a consumer."""
        settings = {
            "session.timeout.ms": str(joining.session_ms),
            "group.instance.id": joining.instance_id,
            "client.rack": joining.rack,
        }
        self._tell(
            {
                "do": "join",
                "name": joining.name,
                "group": joining.group,
                "address": self._address,
                "assignor": ",".join(
                    f"org.apache.kafka.clients.consumer.{CLASSES[name]}" for name in joining.strategies
                ),
                "topics": list(joining.topics),
                "settings": {name: value for name, value in settings.items() if value},
            }
        )


class _LineProgram(_ProgramConsumers):
    """Consumers in a process that reads commands from its standard input, and answers on its standard output."""

    def __init__(self, address: str, command: Sequence[str | Path], variables: Mapping[str, str] | None = None) -> None:
        process = subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=variables)

        def ask(command: object) -> Any:
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps(command) + "\n")
            process.stdin.flush()
            return json.loads(within(f"the answer to {command}", process.stdout.readline))

        super().__init__(address, ask, lambda: process.communicate(timeout=60))


class ReleaseConsumers(_LineProgram):
    """Consumers of a release of kafka-python or aiokafka with our assignors, which poll by themselves.

    Raises:
        ReleaseMissingError: pip cannot install the release.
    """

    def __init__(self, address: str, release: ClientRelease) -> None:
        program = [sys.executable, "-m", "tests.broker.plugins.release_program", release.client, address]
        super().__init__(address, program, environment(release))

    def join(self, joining: Joining) -> None:
        """Start a consumer."""
        fields = joining._asdict()
        del fields["client"]
        self._tell({"do": "join", "assignors": fields.pop("strategies"), **fields})


class FranzGoConsumers(_LineProgram):
    """Consumers of franz-go in one process, which poll by themselves.

    Raises:
        GoMissingError: Go is missing, or cannot fetch the modules.
    """

    def __init__(self, address: str) -> None:
        super().__init__(address, [go_program.build("consumers")])

    def join(self, joining: Joining) -> None:
        """Start a consumer."""
        self._tell(
            {
                "do": "join",
                "name": joining.name,
                "group": joining.group,
                "address": self._address,
                "assignor": ",".join(joining.strategies),
                "instance": joining.instance_id or "",
                "rack": joining.rack or "",
                "topics": list(joining.topics),
            }
        )
