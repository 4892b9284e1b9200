"""Base of the assignors for clients that describe messages as `Struct` classes: aiokafka, and kafka-python 2.

Both have the same interface, because aiokafka began with the code of kafka-python: a leader decodes only version 0 of a
subscription, and gets the topics and the user data of each member by member id. kafka-python 2.3 adds instance ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from assignor.clients.membership import VERSION, JoinedMembers
from assignor.clients.plugged import ClassOrInstanceMethod, PluggedAssignor
from assignor.validation import read_items, shown, wrong_type
from assignor.wire import encode_subscription

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["EncodedAssignment", "EncodedSubscription", "StructAssignor"]


class EncodedSubscription:
    """Subscription of a member, which encodes to version 3; base of a subclass of the client's class for version 0."""

    SCHEMA: Any

    def __init__(self, encoded: bytes, topics: Iterable[str], user_data: bytes | None) -> None:
        # The client's `__init__` is not called: in older releases, it hides the method `encode`.
        for name, value in zip(self.SCHEMA.names, (VERSION, list(topics), user_data), strict=True):
            setattr(self, name, value)
        self._encoded = encoded

    def encode(self) -> bytes:
        """Return the bytes of version 3."""
        return self._encoded


class EncodedAssignment:
    """Assignment of a member as bytes, base of a subclass of the client's class.

    The attributes are decoded when one is first read or written.
    """

    SCHEMA: Any
    _decoder: ClassVar[Any]
    """The client's class."""

    def __init__(self, encoded: bytes) -> None:
        self._encoded: bytes | None = encoded

    def encode(self) -> bytes:
        """Return the bytes; attributes that were read or written, and so may have been changed, are encoded again."""
        if self._encoded is not None:
            return self._encoded
        data: bytes = self.SCHEMA.encode([getattr(self, name) for name in self.SCHEMA.names])
        return data

    def _decode(self) -> None:
        if self._encoded is not None:
            decoded = self._decoder.decode(self._encoded)
            self._encoded = None
            for name in self.SCHEMA.names:
                setattr(self, name, getattr(decoded, name))

    def __getattr__(self, name: str) -> Any:
        if name in self.SCHEMA.names and self._encoded is not None:
            self._decode()
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "_encoded":
            self._decode()
        super().__setattr__(name, value)

    def get_item(self, name: str) -> Any:
        """Return a field by name."""
        self._decode()
        return super().get_item(name)  # type: ignore[misc]  # of the client's class

    def __repr__(self) -> str:
        self._decode()
        return super().__repr__()

    def __eq__(self, other: object) -> bool:
        self._decode()
        if isinstance(other, EncodedAssignment):
            other._decode()
        return super().__eq__(other)

    __hash__ = object.__hash__


class StructAssignor(PluggedAssignor):
    """Assignor that a consumer accepts as a class or as an instance; arguments are those of its subclasses."""

    _partitions_of = attrgetter("assignment")
    _subscription: ClassVar[type[EncodedSubscription]]

    def _create_shadowed(self) -> Any:
        # The clients' own classes keep state in class attributes. A subclass per consumer separates these states.
        return type(self._own.__name__, (self._own,), {})

    @ClassOrInstanceMethod
    def metadata(self, topics: Iterable[str]) -> Any:
        """Return the subscription for JoinGroup, in version 3 as Kafka's consumer writes it."""
        member = self._member()
        if member.shadowed is not None:
            return member.shadowed.metadata(topics)
        subscription = member.membership.subscription(topics)
        return self._subscription(
            encode_subscription(subscription, VERSION), subscription.topics, subscription.user_data
        )

    @ClassOrInstanceMethod
    def on_assignment(self, assignment: Any) -> None:
        """Remember the member's own assignment; its generation is not passed."""
        member = self._member()
        if member.shadowed is not None:
            member.shadowed.on_assignment(assignment)
        member.membership.on_assignment(self._partitions_in(assignment))

    def _read_members(self, members: Any) -> dict[Any, Any]:
        if not isinstance(members, Mapping):
            raise wrong_type("members", "a mapping of member ids to subscriptions", members)
        return dict(read_items(members, "members"))

    def _check_members(self, members: Mapping[Any, Any]) -> None:
        for id, member in members.items():
            if not (hasattr(member, "subscription") and hasattr(member, "user_data")):
                raise wrong_type(f"members: member {shown(id)}", f"a decoded subscription of {self._client}", member)

    def _joined(self, members: Mapping[str, Any]) -> JoinedMembers:
        instance_ids = [getattr(member, "group_instance_id", None) for member in members.values()]
        return JoinedMembers(
            list(members),
            [member.subscription for member in members.values()],
            instance_ids if any(id is not None for id in instance_ids) else None,
            user_data=[member.user_data for member in members.values()] if self._reads_user_data else None,
        )
