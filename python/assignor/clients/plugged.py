"""Base of the assignors that plug into kafka-python and aiokafka: a state for each consumer, and a leader's answer.

The modules of the clients convert between the client's objects and the values of `assignor.clients.membership`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self
from weakref import WeakKeyDictionary

from assignor.calling_consumer import OfOneClient, calling_consumer
from assignor.clients.membership import VERSION, JoinedMembers, Membership, known_partitions, log, plan_joined
from assignor.clients.shadow import is_readable, log_comparison
from assignor.errors import WrongTypeError
from assignor.validation import read_bool, shown, wrong_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from operator import attrgetter

    from assignor import Plan
    from assignor.errors import AssignorError
    from assignor.model import PartitionInfo
    from assignor.names import AssignorName

__all__ = ["ClassOrInstanceMethod", "PluggedAssignor"]


class ClassOrInstanceMethod:
    """Method of an instance that can also be called on the class, which then uses one instance of its own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: PluggedAssignor | None, owner: type[PluggedAssignor]) -> Callable[..., Any]:
        function = self._function
        if instance is not None:
            bound: Callable[..., Any] = function.__get__(instance)
            return bound

        @functools.wraps(function)
        def of_class(*arguments: Any, **options: Any) -> Any:
            return function(owner._of_class(), *arguments, **options)

        return of_class


class Member(NamedTuple):
    """State of one consumer: of the member, and in shadow mode the client's own assignor."""

    membership: Membership
    shadowed: Any


class PluggedAssignor(OfOneClient):
    """Assignor of a client's consumers. Each consumer that uses the instance, or the class, has a state of its own.

    Args:
        client_rack: Rack of the consumer; None or `""` means no rack.
        shadow: Use the subscriptions and answers of the client's own assignor, and log how Kafka's differ.
        tolerant: Read subscriptions whose body has an older version than their header.

    Raises:
        AssignorError: `client_rack` is not a name, or it has more than 32,767 bytes of UTF-8; or another argument is no
            bool.
    """

    name: ClassVar[AssignorName]
    """Kafka's name of the assignor."""

    _client: ClassVar[str]
    _own: ClassVar[type[Any]]
    """The client's own assignor of the same name."""

    _assignment: ClassVar[type[Any]]
    """Class of the client for an assignment, which is created from its bytes."""

    _partitions_of: ClassVar[attrgetter[Any]]
    """Attribute of an assignment of the client with its topics and their partition ids."""

    _reads_user_data: ClassVar[bool] = False
    _cooperative: bool = False
    _class_instance: ClassVar[Any]

    def __init__(self, *, client_rack: str | None = None, shadow: bool = False, tolerant: bool = False) -> None:
        super().__init__()
        self._client_rack = client_rack
        self._is_shadow, self._is_tolerant = read_bool(shadow, "shadow"), read_bool(tolerant, "tolerant")
        self._has_unreadable_members = False
        self._members: WeakKeyDictionary[object, Member] = WeakKeyDictionary()
        self._latest = self._create_member()

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={shown(value)}" for name, value in self._options().items() if value)
        return f"{type(self).__name__}({given})"

    def _options(self) -> dict[str, object]:
        """Return the arguments of the constructor."""
        return {"client_rack": self._client_rack, "shadow": self._is_shadow, "tolerant": self._is_tolerant}

    @classmethod
    def _of_class(cls) -> Self:
        """Return the instance for calls on the class."""
        if "_class_instance" not in vars(cls):  # that of a base class has the state of other consumers
            cls._class_instance = cls()
        instance: Self = cls._class_instance
        return instance

    def _create_member(self) -> Member:
        shadowed = self._create_shadowed() if self._is_shadow else None
        return Member(Membership(self.name, self._client_rack, self._cooperative), shadowed)

    def _create_shadowed(self) -> Any:
        raise NotImplementedError

    def _member(self) -> Member:
        """Return the state of the consumer that calls; for other code that of the consumer that called last.

        Raises:
            WrongAssignorError: A consumer of another client calls.
        """
        caller = calling_consumer()
        if caller is None:
            return self._latest
        self._check_client(caller)
        found = self._members.get(caller.coordinator)
        if found is None:
            found = self._members[caller.coordinator] = self._create_member()
        self._latest = found
        return found

    def _read_members(self, members: Any) -> Any:
        raise NotImplementedError

    def _check_members(self, members: Any) -> None:
        raise NotImplementedError

    def _joined(self, members: Any) -> JoinedMembers:
        raise NotImplementedError

    def _partitions(self, cluster: Any, joined: JoinedMembers) -> Mapping[str, int | list[int] | list[PartitionInfo]]:
        """Return the partitions of the members' topics."""
        return known_partitions(cluster, joined)

    def _plan(self, cluster: Any, joined: JoinedMembers) -> Plan:
        return plan_joined(self.name, self._partitions(cluster, joined), joined)

    def _partitions_in(self, assignment: Any) -> Iterable[tuple[str, int]]:
        """Return the partitions of an assignment of the client."""
        if not callable(getattr(assignment, "partitions", None)):
            raise wrong_type("assignment", f"an assignment of {self._client}", assignment)
        partitions: Iterable[tuple[str, int]] = assignment.partitions()
        return partitions

    @ClassOrInstanceMethod
    def assign(self, cluster: Any, members: Any) -> dict[str, Any]:
        """Return the assignment of each member, as Kafka's assignor of the same name computes it.

        Args:
            cluster: The client's `ClusterMetadata`. Topics without known partitions are skipped, as in Kafka.
            members: The members with decoded subscriptions, as the client passes them.

        Returns:
            For each member an assignment whose `encode()` returns the bytes that Kafka's leader writes, in version 3.
            Its attributes are decoded when they are read.

        Raises:
            AssignorError: Invalid subscription; the message names the member.
            WrongTypeError: `cluster` or `members` is not what the client passes.
        """
        if not hasattr(cluster, "partitions_for_topic"):
            raise self._wrong_cluster(cluster)
        members = self._read_members(members)
        if not members:
            return {}
        shadowed = self._member().shadowed
        if shadowed is not None:
            return self._shadow_answer(shadowed, cluster, members)
        try:
            plan = self._plan(cluster, self._joined(members))
        except (AttributeError, TypeError):
            self._check_members(members)  # only now: it takes time in a large group
            raise
        encoded = plan.encode(VERSION)
        return {member: self._assignment(data) for member, data in encoded.items()}

    def _wrong_cluster(self, cluster: Any) -> AssignorError:
        error = wrong_type("cluster", f"a ClusterMetadata of {self._client}", cluster)
        if isinstance(cluster, Mapping):
            return WrongTypeError(f"{error}; for mappings use assignor.{type(self).__name__}")
        return error

    def _shadow_answer(self, shadowed: Any, cluster: Any, members: Any) -> dict[str, Any]:
        """Return the answer of the client's class, and log in one line how that of Kafka's class differs.

        An error of Kafka's class is logged, not raised.
        """
        try:
            answer: dict[str, Any] = shadowed.assign(cluster, members)
        except Exception:
            log.warning(
                "%s: %s's assignor fails in this rebalance; shadow mode raises its error", self.name, self._client
            )
            raise
        try:
            joined = self._joined(members)
            if self.name == "sticky" and not all(map(is_readable, joined.user_data or ())):
                self._log_unreadable()
            else:
                entries = {member: type(self)._partitions_of(of) for member, of in answer.items()}
                log_comparison(self.name, self._client, entries, self._plan(cluster, joined))
        except Exception:  # a comparison must not break the group
            log.exception("%s: cannot compare %s's answer with Kafka's", self.name, self._client)
        return answer

    def _log_unreadable(self) -> None:
        """Log once that the members claim their partitions in a form that Kafka's class cannot read."""
        if self._has_unreadable_members:
            return
        self._has_unreadable_members = True
        log.warning(
            "%s: Kafka's class cannot read the user data that %s's own class writes, so assignments of members with "
            "such user data are not compared; a leader with Kafka's class assigns the partitions of these members as "
            "if they had no owners. This is logged once",
            self.name,
            self._client,
        )
