"""Cluster of several brokers, each in a rack of its own; the first is also the controller."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Self

from tests.broker.cluster import CONTROLLER, Cluster, free_ports, random_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.broker.connection import Connection


class RackedCluster:
    """One broker per rack. `with` starts them, and kills them at the end.

    Args:
        folder: Folder with a folder per broker.
        racks: Rack of each broker; broker n, counted from 1, is in rack n.
        **settings: Further settings of the brokers, with `_` for `.` in their names.

    Raises:
        BrokerMissingError: Java or Maven is missing, or Maven could not fetch the jars.
    """

    def __init__(self, folder: Path, racks: tuple[str, ...], **settings: str) -> None:
        controller, *ports = free_ports(1 + len(racks))
        voters = f"{CONTROLLER}@127.0.0.1:{controller}"
        common = {"controller.quorum.voters": voters, "offsets.topic.num.partitions": "1"}
        common |= {name.replace("_", "."): value for name, value in settings.items()}
        cluster_id = random_id()
        self._nodes = []
        for number, (rack, port) in enumerate(zip(racks, ports, strict=True), 1):
            listener = f"PLAINTEXT://127.0.0.1:{port}"
            is_controller = number == CONTROLLER
            own = {
                **common,
                "node.id": str(number),
                "process.roles": "broker,controller" if is_controller else "broker",
                "listeners": f"{listener},CONTROLLER://127.0.0.1:{controller}" if is_controller else listener,
                "advertised.listeners": listener,
                "broker.rack": rack,
            }
            (folder / str(number)).mkdir()
            node = self.node(folder / str(number), own, cluster_id)
            node.port = port
            self._nodes.append(node)

    def node(self, folder: Path, settings: Mapping[str, str], cluster_id: str) -> Cluster:
        """Return a broker that has not started; a subclass may choose its release and its options of Java."""
        return Cluster(folder, settings, cluster_id=cluster_id)

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as started:
            started.callback(self.kill)
            for number, node in enumerate(self._nodes, 1):
                node.format(number)
            for node in self._nodes:
                node.launch()
            for node in self._nodes:
                node.until_ready(brokers=len(self._nodes))
            started.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    @property
    def address(self) -> str:
        """Addresses for the client setting `bootstrap.servers`."""
        return ",".join(node.address for node in self._nodes)

    def connect(self) -> list[Connection]:
        """Open a connection to each broker; the caller closes them."""
        return [node.connect() for node in self._nodes]

    def stop(self, broker: int) -> None:
        """Stop a broker, which hands its partitions over to others first."""
        self._nodes[broker - 1].stop()

    def start(self, broker: int) -> None:
        """Start a broker that was stopped."""
        self._nodes[broker - 1].launch()

    def crash(self, broker: int) -> None:
        """Kill the process of a broker."""
        self._nodes[broker - 1].kill()

    def restart(self, broker: int) -> None:
        """Start a broker that was stopped or killed with its data, and wait until it sees all others."""
        self.start(broker)
        self._nodes[broker - 1].until_ready(brokers=len(self._nodes))

    def kill(self) -> None:
        """Kill all processes."""
        for node in self._nodes:
            node.kill()
