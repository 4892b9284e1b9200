"""Decoder of the user data of Kafka Streams on the classic protocol.

Members of a group with the protocol `stream` have it in their subscription and assignment. It begins with an int32
version, from 1 to 11. Bytes after the last field are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from assignor import _core
from assignor._engine import choose
from assignor.model import TopicPartition
from assignor.validation import as_bytes

if TYPE_CHECKING:
    from assignor.names import Engine
    from assignor.validation import Bytes

__all__ = [
    "StreamsAssignment",
    "StreamsHost",
    "StreamsSubscription",
    "StreamsTask",
    "decode_streams_assignment",
    "decode_streams_subscription",
]


class StreamsTask(NamedTuple):
    """Task of a Kafka Streams application.

    Attributes:
        subtopology: The subtopology.
        partition: The partition of the subtopology's source topics.
        topology: The name of the topology (versions 10 and 11); None for an application with one topology.

    Example:
        >>> str(StreamsTask(0, 3))
        '0_3'
    """

    subtopology: int
    partition: int
    topology: str | None = None

    def __str__(self) -> str:
        """Return the name that Kafka prints."""
        name = f"{self.subtopology}_{self.partition}"
        return name if self.topology is None else f"{self.topology}__{name}"


class StreamsHost(NamedTuple):
    """Instance of an application that answers queries.

    Attributes:
        host: The host name.
        port: The port.
    """

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class StreamsSubscription:
    """User data of a subscription: what a member reports to the leader.

    Attributes:
        version: The version.
        process_id: The process that the member belongs to. Each thread of a process is a member.
        previous_active: The tasks that the member ran.
        previous_standby: The other tasks whose state the process has on its disks.
        offset_sums: The sum of the offsets of each task's changelogs (since version 7); -2 for a task that the member
            ran. A task may repeat; Kafka then uses its last sum.
        latest_supported_version: The newest version that the member knows (since version 3).
        user_endpoint: The address at which the process answers queries, as `host:port` (since version 2).
        unique_field: A number that changes with each subscription, so that its bytes differ (since version 8).
        error_code: The error of the member; 4 asks all processes to shut down (since version 9).
        client_tags: The tags of the process, such as its zone, as pairs of key and value (since version 11).
    """

    version: int
    process_id: UUID
    previous_active: tuple[StreamsTask, ...] = ()
    previous_standby: tuple[StreamsTask, ...] = ()
    offset_sums: tuple[tuple[StreamsTask, int], ...] = ()
    latest_supported_version: int | None = None
    user_endpoint: str | None = None
    unique_field: int = 0
    error_code: int = 0
    client_tags: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class StreamsAssignment:
    """User data of an assignment: the tasks that a member gets.

    Attributes:
        version: The version.
        active_tasks: The task of each assigned partition, in the order of topic and partition. A task with several
            source topics repeats.
        standby_tasks: The standby tasks with their changelog partitions.
        partitions_by_host: The source partitions of the active tasks of each host (since version 2).
        standby_partitions_by_host: The partitions of the standby tasks of each host (since version 6).
        latest_supported_version: The newest version that all members know (since version 3).
        error_code: The error of the leader (since version 4): 1 for a missing source topic, 3 for an error of the
            assignor, 4 if a process asks all processes to shut down.
        next_rebalance_ms: The time in milliseconds since 1970 at which the member asks for the next rebalance (since
            version 7); None if it does not.
    """

    version: int
    active_tasks: tuple[StreamsTask, ...] = ()
    standby_tasks: tuple[tuple[StreamsTask, tuple[TopicPartition, ...]], ...] = ()
    partitions_by_host: tuple[tuple[StreamsHost, tuple[TopicPartition, ...]], ...] = ()
    standby_partitions_by_host: tuple[tuple[StreamsHost, tuple[TopicPartition, ...]], ...] = ()
    latest_supported_version: int | None = None
    error_code: int = 0
    next_rebalance_ms: int | None = None


def decode_streams_subscription(user_data: Bytes, *, engine: Engine = "rust") -> StreamsSubscription:
    r"""Decode the user data of a subscription of Kafka Streams.

    Args:
        user_data: The user data of a subscription with the protocol `stream`, from `decode_subscription`.
        engine: "rust" or "reference".

    Returns:
        The fields, with the values of Kafka 4.4's `SubscriptionInfo`.

    Raises:
        WireError: The version is not known, or the bytes are invalid. Of a newer version, Kafka's leader reads the
            version only and asks the member for an older one.
        WrongTypeError: `user_data` is not bytes. None raises its subclass NullArgumentError.

    Example:
        >>> tasks = b"\0\0\0\1" b"\0\0\0\0" b"\0\0\0\3" + b"\0\0\0\0"
        >>> [str(task) for task in decode_streams_subscription(b"\0\0\0\1" + bytes(16) + tasks).previous_active]
        ['0_3']
    """
    implementation = choose(engine, _core.decode_streams_subscription, "wire.streams")
    version, latest, process, active, standby, sums, endpoint, unique, error, tags = implementation(
        as_bytes(user_data, "user_data")
    )
    return StreamsSubscription(
        version=version,
        process_id=UUID(bytes=process),
        previous_active=_tasks(active),
        previous_standby=_tasks(standby),
        offset_sums=tuple((StreamsTask(*task), total) for task, total in sums),
        latest_supported_version=latest,
        user_endpoint=endpoint,
        unique_field=unique,
        error_code=error,
        client_tags=tuple(tags),
    )


def decode_streams_assignment(user_data: Bytes, *, engine: Engine = "rust") -> StreamsAssignment:
    r"""Decode the user data of an assignment of Kafka Streams.

    Args:
        user_data: The user data of an assignment with the protocol `stream`, from `decode_assignment`.
        engine: "rust" or "reference".

    Returns:
        The fields, with the values of Kafka 4.4's `AssignmentInfo`.

    Raises:
        WireError: The version is not known, or the bytes are invalid. A partition whose topic has no name in the
            message is also invalid: Kafka's reader returns it with null as topic.
        WrongTypeError: `user_data` is not bytes. None raises its subclass NullArgumentError.

    Example:
        >>> tasks = b"\0\0\0\1" b"\0\0\0\0" b"\0\0\0\3" + b"\0\0\0\0"
        >>> decode_streams_assignment(b"\0\0\0\1" + tasks).active_tasks
        (StreamsTask(subtopology=0, partition=3, topology=None),)
    """
    implementation = choose(engine, _core.decode_streams_assignment, "wire.streams")
    version, latest, active, standby, hosts, standby_hosts, error, next_rebalance = implementation(
        as_bytes(user_data, "user_data")
    )
    return StreamsAssignment(
        version=version,
        active_tasks=_tasks(active),
        standby_tasks=tuple((StreamsTask(*task), _partitions(partitions)) for task, partitions in standby),
        partitions_by_host=tuple((StreamsHost(*host), _partitions(partitions)) for host, partitions in hosts),
        standby_partitions_by_host=tuple(
            (StreamsHost(*host), _partitions(partitions)) for host, partitions in standby_hosts
        ),
        latest_supported_version=latest,
        error_code=error,
        next_rebalance_ms=next_rebalance,
    )


def _tasks(tasks: list[tuple[int, int, str | None]]) -> tuple[StreamsTask, ...]:
    return tuple(StreamsTask(*task) for task in tasks)


def _partitions(partitions: list[tuple[str, int]]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(*partition) for partition in partitions)
