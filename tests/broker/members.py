"""Members of a scenario, driven in one thread. After each event no partition may have two owners."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v6 import FindCoordinatorResponse
from kio.schema.metadata.v13 import MetadataResponse
from kio.schema.offset_commit.v10 import OffsetCommitResponse

from assignor import TopicPartition
from assignor.member import HeartbeatRequest, MemberState, events
from tests.broker.admin import RequestError, commit_request, coordinator_request, ids_request, names_by_id
from tests.broker.connection import Connection, ConnectionLostError
from tests.broker.heartbeat import ConsumerGroupHeartbeatResponse, from_wire, to_wire
from tests.broker.member_client import MemberClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from kio.static.protocol import Entity

    from tests.broker.admin import DescribedGroup
    from tests.broker.member_timeline import MemberTimeline
    from tests.broker.scenario import Scenario

PAUSE = 0.01
"""Seconds that one step waits for a response."""

RETRY_MS = 50
"""Milliseconds until the next request for the coordinator."""

View = dict[str, tuple[int, frozenset[TopicPartition]]]
"""Epoch and owned partitions by member id."""


class Members:
    """Members of a scenario.

    Attributes:
        clients: Our members of the group, by name.
        others: Consumers of another library in the same group; they are polled with ours.
        beside: Members of other scenarios that are driven together with these.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.clients: dict[str, MemberClient] = {}
        self.others: list[Any] = []
        self.beside: list[Members] = []
        self._connection: Connection | None = scenario.connection
        self._pending: dict[int, Callable[[Entity | None], None]] = {}
        self._deliveries: list[Callable[[], None]] = []
        self._searching: dict[MemberClient, int] = {}

    def join(
        self,
        name: str,
        *topics: str,
        pattern: str | None = None,
        timeline: MemberTimeline | None = None,
        **options: Any,
    ) -> MemberClient:
        """Add a member that subscribes to topics of the scenario; record its timeline if given."""
        options.setdefault("server_assignor", self.scenario.assignor)
        client = MemberClient(self, self.scenario.group, name, **options)
        client.timeline = timeline
        client.on_event = self._check_single_owners
        self.clients[name] = client
        client.subscribe(*map(self.scenario.topic, topics), pattern=pattern)
        return client

    def kill(self, name: str) -> MemberClient:
        """Remove a member without a leave request."""
        client = self.clients.pop(name)
        self._searching.pop(client, None)
        return client

    def step(self) -> None:
        """Let every application poll once, and deliver the responses that have arrived."""
        self._step()
        for members in self.beside:
            members._step()

    def until(self, condition: Callable[[], object], timeout: float = 60) -> None:
        """Run until a condition holds.

        Raises:
            TimeoutError: It does not hold after `timeout` seconds; the message has the states of the members.
        """
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"after {timeout} s: {self._situation()}")
            self.step()

    def run(self, seconds: float) -> None:
        """Run for a number of seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.step()

    def meanwhile(self, change: Callable[[], object]) -> None:
        """Call a function while no heartbeat is in flight."""
        end = time.monotonic() + 10
        while self._pending and time.monotonic() < end:
            self._receive(PAUSE)
        change()

    def settle(self, timeout: float = 60) -> View:
        """Run until each partition has an owner, all members are stable and the coordinator has the same view.

        Returns:
            The coordinator's view, which equals that of the members.
        """
        self.step()
        self.until(self._settled, timeout)
        self.meanwhile(self.scenario.describe)
        return self.coordinator_view()

    def assert_shared(self) -> None:
        """Settle, and check that both sides have one view in which each partition has one owner."""
        assert self.settle() == self.view()
        assert self.partitions() == self.owned()

    def view(self) -> View:
        """Return the view of the members. The epochs of `others` are not known; the group epoch is used instead."""
        epoch = self.scenario.admin.describe(self.scenario.group).epoch if self.others else 0
        ours = {
            client.member_id: (client.member.epoch, frozenset(client.member.assignment))
            for client in self.clients.values()
            if client.member.state != MemberState.UNSUBSCRIBED
        }
        return ours | {other.memberid(): (epoch, frozenset(_assignment(other))) for other in self.others}

    def coordinator_view(self) -> View:
        """Return the view of the coordinator."""
        return _view(self.scenario.admin.describe(self.scenario.group))

    def owned(self) -> list[TopicPartition]:
        """Return the partitions that the members own in their own view, sorted, once per owner."""
        found = [partition for client in self.clients.values() for partition in client.member.assignment]
        return sorted([*found, *(partition for other in self.others for partition in _assignment(other))])

    def partitions(self) -> list[TopicPartition]:
        """Return all partitions of the scenario's topics."""
        return sorted(
            TopicPartition(name, partition)
            for name, count in self.scenario.counts.items()
            for partition in range(count)
        )

    def now(self) -> int:
        """Return the milliseconds since the start of the scenario."""
        return self.scenario.now()

    def send_heartbeat(self, client: MemberClient, number: int, request: HeartbeatRequest) -> bool:
        """Send a heartbeat; return False if there is no connection."""
        sent = self.now()
        client.heartbeats += 1

        def answered(body: Entity | None) -> None:
            if not isinstance(body, ConsumerGroupHeartbeatResponse):
                self._deliver(client, events.TransportFailed(number, True, "disconnected"))
                return
            response = from_wire(body)
            self.scenario.recording.exchange(sent, self.now(), client.name, request, response)
            if client.loses_answers:
                client.loses_answers -= 1
                self._deliver(client, events.TransportFailed(number, True, "lost"))
            else:
                self._deliver(client, events.ResponseReceived(number, response))

        return self._ask(to_wire(request), ConsumerGroupHeartbeatResponse, answered)

    def find_coordinator(self, client: MemberClient) -> None:
        """Find the coordinator; retry until it is found."""

        def answered(body: Entity | None) -> None:
            if isinstance(body, FindCoordinatorResponse) and body.coordinators[0].error_code == ErrorCode.none:
                self._deliver(client, events.CoordinatorFound())
            else:
                self._searching[client] = self.now() + RETRY_MS

        if self._connection is None:
            self._reconnect()
        if not self._ask(coordinator_request(self.scenario.group), FindCoordinatorResponse, answered):
            self._searching[client] = self.now() + RETRY_MS

    def ask_names(self, client: MemberClient, topic_ids: tuple[UUID, ...]) -> None:
        """Request the names of topics."""

        def answered(body: Entity | None) -> None:
            names = names_by_id(body) if isinstance(body, MetadataResponse) else {}
            self._deliver(client, events.MetadataArrived(names))

        if not self._ask(ids_request(topic_ids), MetadataResponse, answered):
            self._deliver(client, events.MetadataArrived({}))

    def commit(self, client: MemberClient, number: int) -> None:
        """Commit the application's positions of the member's partitions."""

        def answered(body: Entity | None) -> None:
            codes = (
                {part.error_code for topic in body.topics for part in topic.partitions}
                if isinstance(body, OffsetCommitResponse)
                else {ErrorCode.network_exception}
            )
            if codes <= {ErrorCode.none}:
                self._deliver(client, events.CommitDone(number))
            else:
                self._deliver(client, events.CommitFailed(number, ", ".join(code.name for code in codes)))

        offsets: dict[UUID, dict[int, int]] = defaultdict(dict)
        for partition in client.member.assignment:
            offsets[self.scenario.ids[partition.topic]][partition.partition] = client.offsets.get(partition, 0)
        identity = client.member.commit_identity()
        request = commit_request(
            self.scenario.group, offsets, identity.member_id, identity.member_epoch, identity.instance_id
        )
        if not self._ask(request, OffsetCommitResponse, answered):
            self._deliver(client, events.CommitFailed(number, "not connected"))

    def _step(self) -> None:
        for client in list(self.clients.values()):
            if client in self._searching and self._searching[client] <= self.now():
                del self._searching[client]
                self.find_coordinator(client)
            client.step()
        for other in self.others:
            other.poll(0)
            # Check after each poll: the assignments of two consumers cannot be read at the same time.
            both = set(_assignment(other)) & set(self._owned_by_ours())
            assert not both, f"{both} are owned twice: {self._situation()}"
        self._receive(PAUSE)
        while self._deliveries:
            self._deliveries.pop(0)()

    def _ask(self, request: Entity, answer: type[Entity], answered: Callable[[Entity | None], None]) -> bool:
        if self._connection is None:
            return False
        try:
            self._pending[self._connection.send(request, answer)] = answered
        except ConnectionLostError:
            self._disconnected()
            return False
        return True

    def _receive(self, timeout: float) -> None:
        if self._connection is None or not self._pending:
            time.sleep(timeout)
            return
        try:
            for number, body in self._connection.receive(timeout):
                self._pending.pop(number)(body)
        except ConnectionLostError:
            self._disconnected()

    def _disconnected(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None
        pending, self._pending = self._pending, {}
        for answered in pending.values():
            answered(None)
        for client in self.clients.values():
            self._deliver(client, events.CoordinatorLost())

    def _reconnect(self) -> None:
        try:
            self._connection = self.scenario.reconnect()
        except ConnectionLostError:
            self._connection = None

    def _deliver(self, client: MemberClient, event: events.Event) -> None:
        """Deliver an event in the next step, unless the client has been removed by then."""

        def deliver() -> None:
            if client in self.clients.values():
                client.handle(event)

        self._deliveries.append(deliver)

    def _owned_by_ours(self) -> list[TopicPartition]:
        ours = (client for client in self.clients.values() if not client.doubted)
        return [partition for client in ours for partition in client.member.assignment]

    def _check_single_owners(self) -> None:
        owned = self._owned_by_ours()
        assert len(set(owned)) == len(owned), f"owned twice: {self._situation()}"

    def _settled(self) -> bool:
        states = {client.member.state for client in self.clients.values()}
        if not states <= {MemberState.STABLE, MemberState.UNSUBSCRIBED} or self.owned() != self.partitions():
            return False
        try:
            group = self.scenario.admin.describe(self.scenario.group)
        except (ConnectionLostError, RequestError):
            return False  # the coordinator is not available yet
        reached = all(member.assigned == member.target for member in group.members.values())
        return group.state == "Stable" and reached and _view(group) == self.view()

    def _situation(self) -> str:
        ours = {
            client.name: (client.member.state.name, client.member.epoch, client.member.assignment, client.errors)
            for client in self.clients.values()
        }
        try:
            view: object = self.coordinator_view()
        except (ConnectionLostError, RequestError) as error:
            view = error
        return f"{ours}, the coordinator says {view}"


def side_by_side(*groups: Members) -> None:
    """Drive the members of several scenarios together."""
    for members in groups:
        members.beside = [other for other in groups if other is not members]


def _view(group: DescribedGroup) -> View:
    return {member_id: (member.epoch, member.assigned) for member_id, member in group.members.items()}


def _assignment(consumer: Any) -> list[TopicPartition]:
    return [TopicPartition(each.topic, each.partition) for each in consumer.assignment()]
