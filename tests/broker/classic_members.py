"""Classic groups of hand-made members, each with a connection of its own, because brokers hold answers of JoinGroup."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kio.schema.errors import ErrorCode
from kio.schema.join_group.v9 import JoinGroupRequest, JoinGroupResponse
from kio.schema.join_group.v9.request import JoinGroupRequestProtocol
from kio.schema.leave_group.v5 import LeaveGroupRequest, LeaveGroupResponse
from kio.schema.leave_group.v5.request import MemberIdentity
from kio.schema.sync_group.v5 import SyncGroupRequest, SyncGroupResponse
from kio.schema.sync_group.v5.request import SyncGroupRequestAssignment
from kio.schema.types import GroupId
from kio.static.primitive import i32

from tests.broker.connection import milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.broker.cluster import Cluster
    from tests.broker.connection import Connection

_SECONDS = 60


@dataclass
class ClassicMember:
    """Member of a classic group: its subscription, and the generation that it has joined."""

    metadata: bytes
    instance_id: str | None = None
    id: str = ""
    generation: int = -1
    connection: Any = field(default=None, repr=False)
    waits: bool = False


class ClassicGroup:
    """Classic group whose members join and leave at once; `with` closes the connections.

    Attributes:
        members: The members that are in the group.
        leader: Id of the leader.
    """

    def __init__(
        self, cluster: Cluster, name: str, *, protocol: str = "range", protocol_type: str = "consumer"
    ) -> None:
        self.name = name
        self.members: list[ClassicMember] = []
        self.leader = ""
        self._cluster, self._protocol, self._protocol_type = cluster, protocol, protocol_type
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> ClassicGroup:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def start(self, *members: ClassicMember, assignments: Callable[[list[str]], Mapping[str, bytes]]) -> None:
        """Let members join, and the leader assign; `assignments` gets the member ids in the order of `members`."""
        for member in members:
            member.connection = self._stack.enter_context(self._cluster.connect())
            self.members.append(member)
        self._rebalance()
        self._sync(assignments([member.id for member in self.members]))

    def leave(self, member: ClassicMember, assignments: Callable[[list[str]], Mapping[str, bytes]] | None) -> None:
        """Let a member leave. With `assignments`, the others rebalance as a classic group."""
        identity = MemberIdentity(member_id=member.id, group_instance_id=member.instance_id, reason=None)
        request = LeaveGroupRequest(group_id=GroupId(self.name), members=(identity,))
        answer = member.connection.ask(request, LeaveGroupResponse)
        assert answer.error_code == ErrorCode.none, answer
        self.members.remove(member)
        if assignments is not None:
            self._rebalance()
            self._sync(assignments([member.id for member in self.members]))

    def _join(self, member: ClassicMember) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=GroupId(self.name),
            session_timeout=milliseconds(600_000),
            rebalance_timeout=milliseconds(600_000),
            member_id=member.id,
            group_instance_id=member.instance_id,
            protocol_type=self._protocol_type,
            protocols=(JoinGroupRequestProtocol(name=self._protocol, metadata=member.metadata),),
        )

    def _rebalance(self) -> None:
        """Let all members join until they have the same generation: each join of one can start another rebalance."""
        end = time.monotonic() + _SECONDS
        waiting = False
        for member in self.members:
            member.generation = -1
        while waiting or len({member.generation for member in self.members}) > 1 or self.members[0].generation < 0:
            assert time.monotonic() < end, self.members
            for member in self.members:
                if not member.waits:
                    member.connection.send(self._join(member), JoinGroupResponse)
                    member.waits = True
            for member in self.members:
                for _, answer in member.connection.receive(0.05):
                    assert answer.error_code in (ErrorCode.none, ErrorCode.member_id_required), answer
                    member.waits, member.id, self.leader = False, answer.member_id, answer.leader
                    member.generation = int(answer.generation_id)
            waiting = any(member.waits for member in self.members)

    def _sync(self, assignments: Mapping[str, bytes]) -> None:
        for member in self.members:
            given = assignments.items() if member.id == self.leader else ()
            request = SyncGroupRequest(
                group_id=GroupId(self.name),
                generation_id=i32(member.generation),
                member_id=member.id,
                group_instance_id=member.instance_id,
                protocol_type=self._protocol_type,
                protocol_name=self._protocol,
                assignments=tuple(SyncGroupRequestAssignment(member_id=id, assignment=data) for id, data in given),
            )
            member.connection.send(request, SyncGroupResponse)
        for member in self.members:
            (answer,) = _answers(member.connection)
            assert answer.error_code == ErrorCode.none, answer


def _answers(connection: Connection) -> list[Any]:
    end = time.monotonic() + _SECONDS
    while True:
        found = [answer for _, answer in connection.receive(1)]
        if found:
            return found
        assert time.monotonic() < end
