"""Consumer group of aiokafka without a server: the client's own code leads it; members are given as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from types import MappingProxyType, SimpleNamespace
from typing import Any

from aiokafka.cluster import ClusterMetadata
from aiokafka.consumer.group_coordinator import CoordinatorGroupRebalance, GroupCoordinator
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata
from aiokafka.errors import KafkaError
from aiokafka.protocol.group import JoinGroupResponse_v5
from aiokafka.protocol.metadata import MetadataResponse_v3

from assignor import PartitionInfo, Subscription
from assignor.wire import decode_assignment, encode_subscription

Topics = Mapping[str, int | Iterable[int | PartitionInfo]]
Partitions = set[tuple[str, int]]

CLIENT = "aiokafka"
LEADER = "leader-1"


def cluster(topics: Topics) -> ClusterMetadata:
    """Return metadata with these topics."""
    ids = {
        topic: range(given)
        if isinstance(given, int)
        else [each.partition if isinstance(each, PartitionInfo) else each for each in given]
        for topic, given in topics.items()
    }
    metadata = ClusterMetadata()
    metadata.update_metadata(metadata_response({1: "r1"}, {topic: {id: [1] for id in of} for topic, of in ids.items()}))
    return metadata


def metadata_response(
    racks: Mapping[int, str | None],
    topics: Mapping[str, Mapping[int, list[int]]],
    errors: Mapping[str, int] = MappingProxyType({}),
) -> MetadataResponse_v3:
    """Return a broker's response; the arguments are those of the function of `kafka_python_group`."""
    rows: list[Any] = [
        (0, topic, topic.startswith("__"), [(0, id, of[0], of, of) for id, of in partitions.items()])
        for topic, partitions in topics.items()
    ]
    rows += [(code, topic, False, []) for topic, code in errors.items()]
    return MetadataResponse_v3(0, [(id, "h", 1, rack) for id, rack in racks.items()], "c", 1, rows)


def joined(subscriptions: Mapping[str, Subscription | bytes | tuple[str, ...]], version: int = 3) -> dict[str, Any]:
    """Return the members of a JoinGroup response as the client passes them to its assignor."""
    return {
        member: ConsumerProtocolMemberMetadata.decode(encoded(given, version))
        for member, given in subscriptions.items()
    }


def encoded(given: Subscription | bytes | tuple[str, ...], version: int = 3) -> bytes:
    """Return a subscription as bytes."""
    subscription = Subscription(given) if isinstance(given, tuple) else given
    return subscription if isinstance(subscription, bytes) else encode_subscription(subscription, version)


def answer(assignor: Any, topics: Topics, subscriptions: Mapping[str, Any], version: int = 3) -> dict[str, Partitions]:
    """Return the partitions that an assignor of the client gives to each member, decoded from the assignments."""
    given = assignor.assign(cluster(topics), joined(subscriptions, version))
    return {member: set(decode_assignment(assignment.encode()).partitions) for member, assignment in given.items()}


async def lead(assignor: Any, topics: Topics, subscriptions: Mapping[str, Any], version: int = 3) -> dict[str, bytes]:
    """Return the assignments of the SyncGroup request that aiokafka's coordinator sends for a JoinGroup response."""
    members = [(member, None, encoded(given, version)) for member, given in subscriptions.items()]
    response = JoinGroupResponse_v5(0, 0, 1, assignor.name, LEADER, LEADER, members)
    coordinator = GroupCoordinator.__new__(GroupCoordinator)
    coordinator._assignors = (assignor,)
    coordinator._cluster = cluster(topics)
    coordinator._subscription = SimpleNamespace(subscribed_pattern=False)

    async def metadata_is_loaded() -> None:
        return None

    coordinator._client = SimpleNamespace(
        set_topics=lambda _: None,
        _maybe_wait_metadata=metadata_is_loaded,
        api_version=(2, 3),  # releases before 0.13 read it
    )
    coordinator.group_id, coordinator.generation, coordinator.member_id = "g", 1, LEADER
    coordinator._group_instance_id = None
    coordinator._rebalance_timeout_ms = 1
    requests = []

    async def keep(request: Any) -> bytes:
        requests.append(request)
        return b""

    rebalance = CoordinatorGroupRebalance(coordinator, "g", 1, None, (assignor,), 1, 1)
    rebalance._send_sync_group_request = keep
    await rebalance._on_join_leader(JoinGroupResponse_v5.decode(response.encode()))
    (request,) = requests
    return dict(getattr(request, "_group_assignment", None) or request.group_assignment)


def coordinator(assignor: Any) -> GroupCoordinator:
    """Return a coordinator of a consumer that has no connections, and can receive an assignment."""
    found = GroupCoordinator.__new__(GroupCoordinator)
    found._assignors, found.group_id, found._closing = (assignor,), "g", Future()
    assigned = SimpleNamespace(assignment=None)
    found._subscription = SimpleNamespace(
        subscription=assigned, listener=None, assign_from_subscribed=lambda _: None, assigned_partitions=list
    )

    async def nothing() -> None:
        return None

    found._stop_commit_offsets_refresh_task = nothing
    found.start_commit_offsets_refresh_task = lambda _: None
    return found


class _Wrapper:
    """Assignor that calls another one, and keeps the subscription."""

    def __init__(self, assignor: Any) -> None:
        self.name = assignor.name
        self.subscription = b""
        self._assignor = assignor

    def metadata(self, topics: Iterable[str]) -> Any:
        """Return the subscription of the other assignor."""
        found = self._assignor.metadata(topics)
        self.subscription = found.encode()
        return found


async def join(coordinator: GroupCoordinator, *topics: str) -> bytes:
    """Return the subscription of the JoinGroup request that a coordinator sends; it gets no response."""

    async def fail(request: Any) -> Any:
        raise KafkaError(f"no connection for {request}")

    coordinator._send_req, coordinator.member_id, coordinator._group_instance_id = fail, "", None
    wrapper = _Wrapper(*coordinator._assignors)
    coordinator._client = SimpleNamespace(api_version=(2, 3))  # releases before 0.13 read it
    coordinator._rebalance_timeout_ms = 1
    subscription = SimpleNamespace(topics=topics, active=True)
    await CoordinatorGroupRebalance(coordinator, "g", 1, subscription, (wrapper,), 1, 1).perform_group_join()
    return wrapper.subscription
