"""Consumer group of kafka-python without a server: the client's own code leads it; members are given as bytes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

from kafka.cluster import ClusterMetadata
from kafka.consumer.subscription_state import SubscriptionState
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.protocol.consumer.group import JoinGroupRequest, JoinGroupResponse, SyncGroupRequest, SyncGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription
from kafka.protocol.metadata import MetadataResponse

from assignor import PartitionInfo, Subscription
from assignor.wire import decode_assignment, encode_subscription

Topics = Mapping[str, int | Iterable[int | PartitionInfo]]
Partitions = set[tuple[str, int]]

CLIENT = "kafka-python"
LEADER = "leader-1"


def cluster(topics: Topics, metadata: ClusterMetadata | None = None) -> ClusterMetadata:
    """Return metadata with these topics, and a broker per rack that holds the replicas of this rack."""
    infos = {
        topic: [each if isinstance(each, PartitionInfo) else PartitionInfo(each) for each in _partitions(given)]
        for topic, given in topics.items()
    }
    racks = {rack for of in infos.values() for info in of for rack in info.racks}
    brokers = {rack: number for number, rack in enumerate(sorted(racks | {None}, key=str), 1)}
    replicas = {
        topic: {info.partition: [brokers[rack] for rack in info.racks] or [brokers[None]] for info in of}
        for topic, of in infos.items()
    }
    metadata = ClusterMetadata() if metadata is None else metadata
    metadata.update_metadata(metadata_response({id: rack for rack, id in brokers.items()}, replicas))
    return metadata


def metadata_response(
    racks: Mapping[int, str | None],
    topics: Mapping[str, Mapping[int, list[int]]],
    errors: Mapping[str, int] = MappingProxyType({}),
) -> MetadataResponse:
    """Return a broker's response.

    Args:
        racks: The rack of each broker.
        topics: The brokers with a replica, by topic and partition id.
        errors: The error codes of other topics.
    """
    broker, topic_class = MetadataResponse.MetadataResponseBroker, MetadataResponse.MetadataResponseTopic
    partition = topic_class.MetadataResponsePartition
    rows = [
        topic_class(
            version=8,
            error_code=0,
            name=topic,
            is_internal=topic.startswith("__"),
            partitions=[
                partition(
                    version=8,
                    error_code=0,
                    partition_index=id,
                    leader_id=replicas[0],
                    leader_epoch=0,
                    replica_nodes=replicas,
                    isr_nodes=replicas,
                    offline_replicas=[],
                )
                for id, replicas in of.items()
            ],
        )
        for topic, of in topics.items()
    ]
    rows += [
        topic_class(version=8, error_code=code, name=topic, is_internal=False, partitions=[])
        for topic, code in errors.items()
    ]
    return MetadataResponse(
        version=8,
        throttle_time_ms=0,
        brokers=[broker(version=8, node_id=id, host="h", port=1, rack=rack) for id, rack in racks.items()],
        cluster_id="c",
        controller_id=1,
        topics=rows,
    )


def _partitions(given: int | Iterable[int | PartitionInfo]) -> Iterable[int | PartitionInfo]:
    return range(given) if isinstance(given, int) else given


def joined(subscriptions: Mapping[str, Subscription | bytes | tuple[str, ...]], version: int = 3) -> list[Any]:
    """Return the members of a JoinGroup response as the client passes them to its assignor."""
    members = []
    for member, given in subscriptions.items():
        subscription = Subscription(given) if isinstance(given, tuple) else given
        data = subscription if isinstance(subscription, bytes) else encode_subscription(subscription, version)
        instance_id = None if isinstance(subscription, bytes) else subscription.group_instance_id
        members.append(_member(member, instance_id, ConsumerProtocolSubscription.decode(data)))
    return members


def _member(member: str, instance_id: str | None, metadata: Any) -> Any:
    return JoinGroupResponse.JoinGroupResponseMember(
        version=7, member_id=member, group_instance_id=instance_id, metadata=metadata
    )


def answer(assignor: Any, topics: Topics, subscriptions: Mapping[str, Any], version: int = 3) -> dict[str, Partitions]:
    """Return the partitions that an assignor of the client gives to each member, decoded from the assignments."""
    given = assignor.assign(cluster(topics), joined(subscriptions, version))
    return {member: set(decode_assignment(assignment.encode()).partitions) for member, assignment in given.items()}


class _Net:
    """Event loop of the client, which nothing uses here."""


def coordinator(*assignors: Any) -> ConsumerCoordinator:
    """Return a coordinator of a consumer that has no connections."""
    manager = SimpleNamespace(cluster=ClusterMetadata(), _net=_Net())
    client = SimpleNamespace(_manager=manager, is_disconnected=lambda _: False)
    manager.cluster.request_update = lambda: None
    return ConsumerCoordinator(
        client,
        SubscriptionState(),
        group_id="g",
        api_version=(3, 0),
        enable_auto_commit=False,
        assignors=list(assignors),
    )


class Leader:
    """Consumer whose requests are answered here, and which leads a group with members that are given as bytes.

    Attributes:
        sent: Encoded assignment of each member in the last SyncGroup request.
        subscription: The bytes that the consumer joined with.
    """

    def __init__(self, topics: Topics, assignor: Any, *subscribed: str) -> None:
        self.sent: dict[str, bytes] = {}
        self.subscription = b""
        self._others: Mapping[str, tuple[str | None, bytes]] = {}
        self._generations = itertools.count(1)
        self._coordinator = coordinator(assignor)
        self._coordinator._manager.send = self._send
        self._coordinator.coordinator_id = 1
        self._coordinator._subscription.subscribe(topics=subscribed)
        cluster(topics, self._coordinator._cluster)

    def rebalance(self, others: Mapping[str, tuple[str | None, bytes]] | None = None) -> set[tuple[str, int]]:
        """Let the consumer join, assign, and take its own assignment; return the partitions that it then owns."""
        self._others = others or {}
        generation = next(self._generations)
        self._generation = generation
        data = _run(self._coordinator._do_join_and_sync_async())
        protocol = self._coordinator._generation.protocol
        _run(self._coordinator._on_join_complete_async(generation, LEADER, protocol, data))
        return {tuple(partition) for partition in self._coordinator._subscription.assigned_partitions()}

    async def _send(self, request: Any, node_id: int | None = None, **_: Any) -> Any:
        del node_id
        version = 7 if isinstance(request, JoinGroupRequest) else 5
        request = type(request)[None].decode(request.encode(version=version), version=version)
        if isinstance(request, SyncGroupRequest):
            self.sent = {entry.member_id: bytes(entry.assignment) for entry in request.assignments}
            return SyncGroupResponse(
                version=5,
                error_code=0,
                protocol_type="consumer",
                protocol_name=request.protocol_name,
                assignment=self.sent[LEADER],
            )
        assert isinstance(request, JoinGroupRequest)
        (protocol,) = request.protocols
        self.subscription = bytes(protocol.metadata)
        members = {LEADER: (request.group_instance_id, self.subscription), **self._others}
        response = JoinGroupResponse(
            version=7,
            throttle_time_ms=0,
            error_code=0,
            generation_id=self._generation,
            protocol_type="consumer",
            protocol_name=protocol.name,
            leader=LEADER,
            member_id=LEADER,
            members=[_member(member, instance_id, data) for member, (instance_id, data) in members.items()],
        )
        return JoinGroupResponse.decode(response.encode(version=7), version=7)


def _run(coroutine: Any) -> Any:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the coroutine waits for something")
