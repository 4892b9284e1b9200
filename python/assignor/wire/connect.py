"""Decoder of the messages of Kafka Connect.

They are the subscriptions and assignments of members of a group of protocol type `connect`, and begin with an int16
version: 0 for the protocol `default`, 1 for `compatible` and 2 for `sessioned`. Bytes after the last field are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from assignor import _core
from assignor._engine import choose
from assignor.validation import as_bytes

if TYPE_CHECKING:
    from assignor.names import Engine
    from assignor.validation import Bytes

__all__ = [
    "ConnectAssignment",
    "ConnectSubscription",
    "ConnectorTask",
    "decode_connect_assignment",
    "decode_connect_subscription",
]

RawTasks = tuple[list[str], list[tuple[str, int]]]
RawAssignment = tuple[int, int, str, str, int, RawTasks, RawTasks, int]


class ConnectorTask(NamedTuple):
    """Task of a connector.

    Attributes:
        connector: The name of the connector.
        task: The number of the task.

    Example:
        >>> str(ConnectorTask("orders", 0))
        'orders-0'
    """

    connector: str
    task: int

    def __str__(self) -> str:
        """Return the name that Kafka prints."""
        return f"{self.connector}-{self.task}"


@dataclass(frozen=True, slots=True)
class ConnectAssignment:
    """Assignment of a worker.

    In the protocols `compatible` and `sessioned`, an assignment has only what changes. After the rebalance, a worker
    runs what it ran when it joined (`owned` of its `ConnectSubscription`), without what is revoked, and what is added.

    Attributes:
        version: The version.
        leader: The member id of the leader.
        leader_url: The address of the leader.
        config_offset: The offset of the configurations for which the leader computed the assignment.
        connectors: The connectors that the worker gets: all of them in version 0, new ones since version 1.
        tasks: The tasks that the worker gets, in the same way.
        revoked_connectors: The connectors that the worker has to give up (since version 1).
        revoked_tasks: The tasks that the worker has to give up (since version 1).
        delay_ms: The time in milliseconds after which the worker joins again (since version 1), because the leader
            waits for a worker to return, or has revoked tasks in several rebalances; 0 if there is no such rebalance.
        error: The error of the leader; 1 if the workers know different configurations, so that nothing is assigned.
    """

    version: int
    leader: str
    leader_url: str
    config_offset: int
    connectors: tuple[str, ...] = ()
    tasks: tuple[ConnectorTask, ...] = ()
    revoked_connectors: tuple[str, ...] = ()
    revoked_tasks: tuple[ConnectorTask, ...] = ()
    delay_ms: int = 0
    error: int = 0


@dataclass(frozen=True, slots=True)
class ConnectSubscription:
    """State of a worker when it joins.

    Attributes:
        version: The version.
        url: The address at which the worker accepts requests.
        config_offset: The newest offset of the topic of configurations that the worker knows.
        owned: The assignment that the worker has, which is complete (since version 1); None if it has none.
    """

    version: int
    url: str
    config_offset: int
    owned: ConnectAssignment | None = None


def decode_connect_subscription(data: Bytes, *, engine: Engine = "rust") -> ConnectSubscription:
    r"""Decode the state of a worker.

    Args:
        data: The subscription of a member of a group of protocol type `connect`.
        engine: "rust" or "reference".

    Returns:
        The fields, with the values of Kafka 4.4: of `ConnectProtocol` for version 0, of
        `IncrementalCooperativeConnectProtocol` for newer ones. Versions above 2 are read as 2.

    Raises:
        WireError: The message is invalid: Kafka's reader throws SchemaException.
        WrongTypeError: `data` is not bytes. None raises its subclass NullArgumentError.

    Example:
        >>> decode_connect_subscription(b"\0\0" b"\0\x09http://a/" + bytes(8)).url
        'http://a/'
    """
    implementation = choose(engine, _core.decode_connect_subscription, "wire.connect")
    version, url, config_offset, owned = implementation(as_bytes(data, "data"))
    return ConnectSubscription(version, url, config_offset, None if owned is None else _assignment(owned))


def decode_connect_assignment(data: Bytes, *, engine: Engine = "rust") -> ConnectAssignment:
    r"""Decode the assignment of a worker.

    Args:
        data: The assignment of a member of a group of protocol type `connect`.
        engine: "rust" or "reference".

    Returns:
        The fields, with the values of Kafka 4.4, as of `decode_connect_subscription`. Connectors and tasks are in wire
        order.

    Raises:
        WireError: The message is invalid: Kafka's reader throws SchemaException.
        WrongTypeError: `data` is not bytes. None raises its subclass NullArgumentError.

    Example:
        >>> head = b"\0\0" b"\0\0" b"\0\1w" b"\0\x09http://a/" + bytes(8)
        >>> tasks = b"\0\0\0\1" b"\0\6orders" b"\0\0\0\2" b"\xff\xff\xff\xff" b"\0\0\0\0"
        >>> found = decode_connect_assignment(head + tasks)
        >>> found.connectors, [str(task) for task in found.tasks]
        (('orders',), ['orders-0'])
    """
    implementation = choose(engine, _core.decode_connect_assignment, "wire.connect")
    return _assignment(implementation(as_bytes(data, "data")))


def _assignment(raw: RawAssignment) -> ConnectAssignment:
    version, error, leader, leader_url, config_offset, (connectors, tasks), revoked, delay = raw
    return ConnectAssignment(
        version=version,
        leader=leader,
        leader_url=leader_url,
        config_offset=config_offset,
        connectors=tuple(connectors),
        tasks=tuple(ConnectorTask(*task) for task in tasks),
        revoked_connectors=tuple(revoked[0]),
        revoked_tasks=tuple(ConnectorTask(*task) for task in revoked[1]),
        delay_ms=delay,
        error=error,
    )
