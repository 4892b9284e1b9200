"""All the members of a scenario, moved in one thread: after each event nobody may own what somebody else owns."""

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
from tests.broker.admin import RefusedError, commit_request, coordinator_request, ids_request, names_by_id
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
"""Seconds that one step waits for an answer."""

RETRY_MS = 50
"""Milliseconds until a coordinator is looked for again."""

View = dict[str, tuple[int, frozenset[TopicPartition]]]
"""By member id: the epoch and what is owned."""


class Members:
    """The members of a scenario.

    Attributes:
        clients: Those of ours that take part, by name.
        others: Consumers of another library in the same group; they are polled with ours.
        beside: Members of other scenarios, which move whenever these do.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.clients: dict[str, MemberClient] = {}
        self.others: list[Any] = []
        self.beside: list[Members] = []
        self._connection: Connection | None = scenario.connection
        self._asked: dict[int, Callable[[Entity | None], None]] = {}
        self._arrived: list[Callable[[], None]] = []
        self._searching: dict[MemberClient, int] = {}

    def join(
        self,
        name: str,
        *topics: str,
        pattern: str | None = None,
        timeline: MemberTimeline | None = None,
        **options: Any,
    ) -> MemberClient:
        """Let a new member subscribe to topics of the scenario and take part; record its timeline if given."""
        options.setdefault("server_assignor", self.scenario.assignor)
        client = MemberClient(self, self.scenario.group, name, **options)
        client.timeline = timeline
        client.looks = self._nobody_owns_twice
        self.clients[name] = client
        client.subscribe(*map(self.scenario.topic, topics), pattern=pattern)
        return client

    def kill(self, name: str) -> MemberClient:
        """Let a member vanish without a word."""
        client = self.clients.pop(name)
        self._searching.pop(client, None)
        return client

    def step(self) -> None:
        """Let every application poll once, and hand over the answers that have come."""
        self._step()
        for members in self.beside:
            members._step()

    def until(self, happened: Callable[[], object], timeout: float = 20) -> None:
        """Go on until something has happened.

        Raises:
            TimeoutError: It has not in so many seconds; says where everybody is.
        """
        end = time.monotonic() + timeout
        while not happened():
            if time.monotonic() > end:
                raise TimeoutError(f"after {timeout} s: {self._situation()}")
            self.step()

    def run(self, seconds: float) -> None:
        """Go on for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.step()

    def meanwhile(self, change: Callable[[], object]) -> None:
        """Do something while no heartbeat is under way."""
        end = time.monotonic() + 10
        while self._asked and time.monotonic() < end:
            self._receive(PAUSE)
        change()

    def settle(self, timeout: float = 30) -> View:
        """Go on until each partition is owned, everybody is at rest and the coordinator sees it the same way.

        Returns:
            What the coordinator says of each member; it is what the members say.
        """
        self.step()
        self.until(self._settled, timeout)
        self.meanwhile(self.scenario.describe)
        return self.coordinator_view()

    def view(self) -> View:
        """Say what each member believes; of the others' epochs nothing is known but that they are the group's."""
        epoch = self.scenario.admin.describe(self.scenario.group).epoch if self.others else 0
        ours = {
            client.member_id: (client.member.epoch, frozenset(client.member.assignment))
            for client in self.clients.values()
            if client.member.state != MemberState.UNSUBSCRIBED
        }
        return ours | {other.memberid(): (epoch, frozenset(_assignment(other))) for other in self.others}

    def coordinator_view(self) -> View:
        """Say what the coordinator thinks of each member."""
        return _view(self.scenario.admin.describe(self.scenario.group))

    def owned(self) -> list[TopicPartition]:
        """Give all that is owned by the members' own account, sorted, as often as it is owned."""
        found = [partition for client in self.clients.values() for partition in client.member.assignment]
        return sorted([*found, *(partition for other in self.others for partition in _assignment(other))])

    def partitions(self) -> list[TopicPartition]:
        """Give all partitions of the scenario's topics."""
        return sorted(
            TopicPartition(name, partition)
            for name, count in self.scenario.counts.items()
            for partition in range(count)
        )

    def now(self) -> int:
        """Give the milliseconds since the scenario began."""
        return self.scenario.now()

    def send_heartbeat(self, client: MemberClient, number: int, request: HeartbeatRequest) -> bool:
        """Send a heartbeat; False when there is no connection."""
        sent = self.now()
        client.heartbeats += 1

        def answered(body: Entity | None) -> None:
            if not isinstance(body, ConsumerGroupHeartbeatResponse):
                self._hand_over(client, events.TransportFailed(number, True, "disconnected"))
                return
            response = from_wire(body)
            self.scenario.recording.exchange(sent, self.now(), client.name, request, response)
            if client.loses_answers:
                client.loses_answers -= 1
                self._hand_over(client, events.TransportFailed(number, True, "lost"))
            else:
                self._hand_over(client, events.ResponseReceived(number, response))

        return self._ask(to_wire(request), ConsumerGroupHeartbeatResponse, answered)

    def find_coordinator(self, client: MemberClient) -> None:
        """Look for the coordinator, again and again until there is one."""

        def answered(body: Entity | None) -> None:
            if isinstance(body, FindCoordinatorResponse) and body.coordinators[0].error_code == ErrorCode.none:
                self._hand_over(client, events.CoordinatorFound())
            else:
                self._searching[client] = self.now() + RETRY_MS

        if self._connection is None:
            self._reconnect()
        if not self._ask(coordinator_request(self.scenario.group), FindCoordinatorResponse, answered):
            self._searching[client] = self.now() + RETRY_MS

    def ask_names(self, client: MemberClient, topic_ids: tuple[UUID, ...]) -> None:
        """Ask for the names of topics."""

        def answered(body: Entity | None) -> None:
            names = names_by_id(body) if isinstance(body, MetadataResponse) else {}
            self._hand_over(client, events.MetadataArrived(names))

        if not self._ask(ids_request(topic_ids), MetadataResponse, answered):
            self._hand_over(client, events.MetadataArrived({}))

    def commit(self, client: MemberClient, number: int) -> None:
        """Commit how far the application got in what the member owns."""

        def answered(body: Entity | None) -> None:
            codes = (
                {part.error_code for topic in body.topics for part in topic.partitions}
                if isinstance(body, OffsetCommitResponse)
                else {ErrorCode.network_exception}
            )
            if codes <= {ErrorCode.none}:
                self._hand_over(client, events.CommitDone(number))
            else:
                self._hand_over(client, events.CommitFailed(number, ", ".join(code.name for code in codes)))

        offsets: dict[UUID, dict[int, int]] = defaultdict(dict)
        for partition in client.member.assignment:
            offsets[self.scenario.ids[partition.topic]][partition.partition] = client.offsets.get(partition, 0)
        who = client.member.commit_identity()
        request = commit_request(self.scenario.group, offsets, who.member_id, who.member_epoch, who.instance_id)
        if not self._ask(request, OffsetCommitResponse, answered):
            self._hand_over(client, events.CommitFailed(number, "not connected"))

    def _step(self) -> None:
        for client in list(self.clients.values()):
            if client in self._searching and self._searching[client] <= self.now():
                del self._searching[client]
                self.find_coordinator(client)
            client.step()
        for other in self.others:
            other.poll(0)
            # One by one: two of them are not asked at the same instant.
            both = set(_assignment(other)) & set(self._owned_by_ours())
            assert not both, f"{both} are owned twice: {self._situation()}"
        self._receive(PAUSE)
        while self._arrived:
            self._arrived.pop(0)()

    def _ask(self, request: Entity, answer: type[Entity], answered: Callable[[Entity | None], None]) -> bool:
        if self._connection is None:
            return False
        try:
            self._asked[self._connection.send(request, answer)] = answered
        except ConnectionLostError:
            self._disconnected()
            return False
        return True

    def _receive(self, timeout: float) -> None:
        if self._connection is None or not self._asked:
            time.sleep(timeout)
            return
        try:
            for number, body in self._connection.receive(timeout):
                self._asked.pop(number)(body)
        except ConnectionLostError:
            self._disconnected()

    def _disconnected(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None
        asked, self._asked = self._asked, {}
        for answered in asked.values():
            answered(None)
        for client in self.clients.values():
            self._hand_over(client, events.CoordinatorLost())

    def _reconnect(self) -> None:
        try:
            self._connection = self.scenario.reconnect()
        except ConnectionLostError:
            self._connection = None

    def _hand_over(self, client: MemberClient, event: events.Event) -> None:
        """Hand it over within the next step, unless the client is gone by then."""

        def hand_over() -> None:
            if client in self.clients.values():
                client.handle(event)

        self._arrived.append(hand_over)

    def _owned_by_ours(self) -> list[TopicPartition]:
        ours = (client for client in self.clients.values() if not client.doubted)
        return [partition for client in ours for partition in client.member.assignment]

    def _nobody_owns_twice(self) -> None:
        owned = self._owned_by_ours()
        assert len(set(owned)) == len(owned), f"owned twice: {self._situation()}"

    def _settled(self) -> bool:
        states = {client.member.state for client in self.clients.values()}
        if not states <= {MemberState.STABLE, MemberState.UNSUBSCRIBED} or self.owned() != self.partitions():
            return False
        try:
            group = self.scenario.admin.describe(self.scenario.group)
        except (ConnectionLostError, RefusedError):
            return False  # the coordinator is not there yet
        reached = all(member.assigned == member.target for member in group.members.values())
        return group.state == "Stable" and reached and _view(group) == self.view()

    def _situation(self) -> str:
        ours = {
            client.name: (client.member.state.name, client.member.epoch, client.member.assignment, client.errors)
            for client in self.clients.values()
        }
        try:
            view: object = self.coordinator_view()
        except (ConnectionLostError, RefusedError) as error:
            view = error
        return f"{ours}, the coordinator says {view}"


def side_by_side(*groups: Members) -> None:
    """Let the members of several scenarios wait at the same time."""
    for members in groups:
        members.beside = [other for other in groups if other is not members]


def _view(group: DescribedGroup) -> View:
    return {member_id: (member.epoch, member.assigned) for member_id, member in group.members.items()}


def _assignment(consumer: Any) -> list[TopicPartition]:
    return [TopicPartition(each.topic, each.partition) for each in consumer.assignment()]
