"""Consumer of kafka-python or aiokafka that calls an assignor, and the error if the assignor is not for this client.

The clients do not pass the consumer to an assignor, so it is looked for in the frames of the call.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

from assignor.errors import WrongTypeError
from assignor.validation import shown

if TYPE_CHECKING:
    from types import FrameType

CLIENTS = {"kafka": "kafka-python", "aiokafka": "aiokafka"}
"""Name of the client of each top-level package."""

MODULES = {"kafka-python": "assignor.clients.kafka_python", "aiokafka": "assignor.clients.aiokafka"}
"""Module with the assignors for the consumers of each client."""

NAMES = {
    "kafka-python": ("RangeAssignor", "RoundRobinAssignor", "StickyAssignor", "CooperativeStickyAssignor"),
    "aiokafka": ("RangeAssignor", "RoundRobinAssignor", "StickyAssignor"),
}
"""Classes of these modules."""

COORDINATORS = {"ConsumerCoordinator", "GroupCoordinator", "CoordinatorGroupRebalance"}
"""Classes of the clients whose methods call an assignor. The last has the coordinator of its consumer."""

FRAMES = 8
"""Number of frames in which the consumer is looked for, because another assignor may wrap the one that it calls."""


class CallingConsumer(NamedTuple):
    """A consumer that calls an assignor.

    Attributes:
        client: Name of the client.
        coordinator: The coordinator of the consumer.
    """

    client: str
    coordinator: Any


def calling_consumer() -> CallingConsumer | None:
    """Return the consumer that calls an assignor; None if other code calls it."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(FRAMES):
        if frame is None:
            return None
        found = _consumer(frame)
        if found is not None:
            return found
        frame = frame.f_back
    return None


def creating_consumer(created: object) -> CallingConsumer | None:
    """Return the consumer that itself creates an object, in whose `__init__` this is called; None for other code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_locals.get("self") is created:
        frame = frame.f_back
    return None if frame is None else _consumer(frame)


def _consumer(frame: FrameType) -> CallingConsumer | None:
    """Return the consumer if one of its methods runs in this frame."""
    owner = frame.f_locals.get("self")
    for kind in type(owner).__mro__:
        if kind.__name__ in COORDINATORS:
            client = CLIENTS.get(kind.__module__.partition(".")[0])
            if client is not None:
                return CallingConsumer(client, getattr(owner, "_coordinator", owner))
    return None


class WrongAssignorError(WrongTypeError, AttributeError):
    """An assignor that a consumer cannot use; also an AttributeError, as it lacks what the consumer asks for."""


class OfOneClient:
    """Base of the assignors: a consumer that cannot use one gets an error with the right import.

    kafka-python 3 creates an assignor in its consumer. If it gets something else than one of its own assignors, it
    calls it.
    """

    _client: ClassVar[str | None]
    """Name of the client whose consumers can use the assignor."""

    _module: ClassVar[str]
    """Module from which the class is imported."""

    def __init__(self) -> None:
        caller = creating_consumer(self)
        if caller is not None:
            self._check_client(caller)

    def __call__(self) -> NoReturn:
        """Raise the error: only a consumer that cannot use the assignor calls it."""
        caller = calling_consumer()
        raise self._wrong(caller) if caller else WrongTypeError(f"{type(self).__name__} object is not callable")

    @classmethod
    def _check_client(cls, caller: CallingConsumer) -> None:
        if caller.client != cls._client:
            raise cls._wrong(caller)

    @classmethod
    def _wrong(cls, caller: CallingConsumer | None) -> WrongAssignorError:
        """Return the error for a consumer that cannot use the assignor; None stands for one that is not known."""
        consumers = f"consumers of {caller.client}" if caller else "consumers of Python clients"
        return WrongAssignorError(f"{cls._module}.{cls.__name__} is not for {consumers}: {cls._right_imports(caller)}")

    @classmethod
    def _right_imports(cls, caller: CallingConsumer | None) -> str:
        lines = {
            client: f"`from {MODULES[client]} import {cls.__name__ if cls.__name__ in names else ', '.join(names)}`"
            for client, names in NAMES.items()
        }
        if caller is not None:
            return f"use {lines[caller.client]}"
        return "use " + ", or ".join(f"for {client} {line}" for client, line in lines.items())


class _Unusable:
    """Attribute that raises the error for the wrong assignor when it is read from the class or from an instance."""

    def __get__(self, instance: object, owner: type[OfNoClient]) -> NoReturn:
        raise owner._wrong(calling_consumer())


class OfNoClient(OfOneClient):
    """Base of the assignors for no consumer of a Python client. kafka-python 2 and aiokafka read `metadata`."""

    _client = None
    _module = "assignor"
    metadata: ClassVar[Any] = _Unusable()

    @classmethod
    def _refuse_metadata(cls, value: object) -> None:
        """Raise the error for a client's metadata in place of partitions by topic; accept anything else."""
        client = CLIENTS.get(type(value).__module__.partition(".")[0])
        if client is not None and hasattr(value, "partitions_for_topic"):
            raise WrongTypeError(
                f"partitions_per_topic must be a mapping, not {type(value).__name__}: {shown(value)}; a leader of "
                f"{client} uses {MODULES[client]}.{cls.__name__}"
            )
