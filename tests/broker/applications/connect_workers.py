"""Workers of distributed Kafka Connect, each in a process of its own, and their REST interface on 127.0.0.1."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.broker.cluster import find_java, free_ports, install_jars
from tests.broker.guarded_process import GuardedProcess

if TYPE_CHECKING:
    from tests.broker.applications.driver import Driver, Owned

JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dlog4j2.level=WARN")

DELAY_MS = 8000
"""Time for which the tasks of a lost worker wait for its return."""

_STARTED = ("RUNNING", "FAILED")
"""States of a part that a worker has started. A failed task stays assigned to its worker."""


class ConnectWorkers:
    """Workers of one Connect cluster.

    Args:
        driver: Driver of the clients.
        group: Group of the workers.
        protocol: `connect.protocol` of workers that are started without one.
    """

    kind = "connect"

    def __init__(self, driver: Driver, group: str, protocol: str) -> None:
        self.group = group
        self._driver, self._protocol = driver, protocol
        self._ports: dict[str, int] = {}
        self._processes: dict[str, GuardedProcess] = {}
        self._connectors: dict[str, int] = {}
        self._said: Any = None
        driver.follow(self)

    def start(self, name: str, protocol: str | None = None) -> None:
        """Start a worker; a worker that is started again keeps its address."""
        protocol = protocol or self._protocol
        port = self._ports.get(name) or free_ports(1)[0]
        self._ports[name] = port
        self._driver.note("start", group=self.group, client=name, worker=f"127.0.0.1:{port}", protocol=protocol)
        path = self._driver.folder / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in self._settings(name, port, protocol).items()))
        install_jars(self._driver.release)
        jars = str(self._driver.release.jars / "*")
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        command = [str(find_java()), *JVM, "-cp", jars, main, str(path)]
        self._processes[name] = GuardedProcess(command, path.with_suffix(".log"))

    def kill(self, name: str) -> None:
        """Kill the process of a worker."""
        self._driver.note("kill", group=self.group, client=name)
        self._processes.pop(name).kill()

    def leave(self, name: str) -> None:
        """Stop a worker in order."""
        self._driver.note("leave", group=self.group, client=name)
        process = self._processes.pop(name)
        try:
            process.terminate(30)
        except subprocess.TimeoutExpired:
            process.kill()

    def stop(self) -> None:
        """Kill all workers."""
        for process in self._processes.values():
            process.kill()

    def add_source(self, name: str) -> None:
        """Add a connector that reads a file in one task."""
        file = self._driver.folder / f"{name}.txt"
        file.write_text("first line\nsecond line\n")
        self._add(name, 1, {"connector.class": "FileStreamSource", "file": str(file), "topic": "file-lines"})

    def add_sink(self, name: str, tasks: int) -> None:
        """Add a connector that writes a file in several tasks."""
        file = self._driver.folder / f"{name}.txt"
        self._add(name, tasks, {"connector.class": "FileStreamSink", "file": str(file), "topics": "file-lines"})

    def delete(self, name: str) -> None:
        """Delete a connector."""
        self._driver.note("delete connector", group=self.group, connector=name)
        del self._connectors[name]
        self._ask("DELETE", f"/connectors/{name}")

    def owned(self) -> Owned | None:
        """Return the connectors and tasks of each worker, by its address; None while some have not started."""
        self._said = self._ask("GET", "/connectors?expand=status")
        if not isinstance(self._said, dict) or set(self._said) != set(self._connectors):
            return None
        live = {f"127.0.0.1:{self._ports[name]}" for name in self._processes}
        found: Owned = {worker: {"connectors": [], "tasks": []} for worker in sorted(live)}
        tasks: Counter[str] = Counter()
        for name, said in sorted(self._said.items()):
            parts = [said["status"]["connector"], *said["status"]["tasks"]]
            if any(part["state"] not in _STARTED or part["worker_id"] not in live for part in parts):
                return None
            found[parts[0]["worker_id"]]["connectors"].append(name)
            for part in parts[1:]:
                found[part["worker_id"]]["tasks"].append(f"{name}-{part['id']}")
            tasks[name] = len(parts) - 1
        return found if tasks == Counter(self._connectors) else None

    def describe(self) -> str:
        """Return what the workers said last."""
        return f"{self.group}: {self._said}"

    def _add(self, name: str, tasks: int, config: dict[str, str]) -> None:
        self._driver.note("add connector", group=self.group, connector=name, tasks=tasks)
        self._connectors[name] = tasks
        answer = self._ask("PUT", f"/connectors/{name}/config", {**config, "tasks.max": str(tasks)})
        if not isinstance(answer, dict) or "error_code" in answer:
            raise RuntimeError(f"connector {name} was not added: {answer}")

    def _settings(self, name: str, port: int, protocol: str) -> dict[str, Any]:
        converter = "org.apache.kafka.connect.storage.StringConverter"
        return {
            "bootstrap.servers": self._driver.address,
            "client.id": name,
            "config.storage.replication.factor": 1,
            "config.storage.topic": f"{self.group}-configs",
            "connect.protocol": protocol,
            "group.id": self.group,
            "heartbeat.interval.ms": 1000,
            "key.converter": converter,
            "listeners": f"http://127.0.0.1:{port}",
            "offset.flush.interval.ms": 15000,
            "offset.storage.partitions": 1,
            "offset.storage.replication.factor": 1,
            "offset.storage.topic": f"{self.group}-offsets",
            "plugin.discovery": "service_load",
            "rebalance.timeout.ms": 10000,
            "rest.advertised.host.name": "127.0.0.1",
            "scheduled.rebalance.max.delay.ms": DELAY_MS,
            "session.timeout.ms": 6000,
            "status.storage.partitions": 1,
            "status.storage.replication.factor": 1,
            "status.storage.topic": f"{self.group}-status",
            "value.converter": converter,
        }

    def _ask(self, method: str, path: str, body: object = None) -> object:
        """Send a request to the first worker; return the answer, or the text of an error."""
        name = next(iter(self._processes))
        connection = http.client.HTTPConnection("127.0.0.1", self._ports[name], timeout=40)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            text = connection.getresponse().read()
            return json.loads(text) if text else None
        except (OSError, http.client.HTTPException, ValueError) as error:
            return str(error)
        finally:
            connection.close()
