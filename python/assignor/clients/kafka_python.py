"""Adapter for kafka-python: assignors for its consumer, its metadata as `partitions_per_topic`, and live groups.

`RangeAssignor`, `RoundRobinAssignor`, `StickyAssignor` and `CooperativeStickyAssignor` go into the consumer's
`partition_assignment_strategy`. They are in `assignor.clients.kafka_python_assignors` for kafka-python 3, and in
`assignor.clients.kafka_python_2_assignors` for kafka-python 2, which has no `CooperativeStickyAssignor`. They import
kafka-python when they are first used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from assignor.clients.kafka_python_topics import read_topics
from assignor.cluster.client_topics import ClusterTopics, read_described
from assignor.cluster.descriptions import (
    GroupDescription,
    MemberDescription,
    MemberSubscription,
    batches,
    build_snapshot,
    decode_member_subscription,
    read_batch,
    read_group_ids,
)
from assignor.cluster.snapshot import Problem
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError, MissingDependencyError, WrongTypeError
from assignor.validation import check_name, read_items, shown, wrong_type

if TYPE_CHECKING:
    from assignor.clients.kafka_python_assignors import (
        CooperativeStickyAssignor,
        RangeAssignor,
        RoundRobinAssignor,
        StickyAssignor,
    )
    from assignor.cluster.snapshot import ClusterSnapshot
    from assignor.model import PartitionInfo

__all__ = [
    "CooperativeStickyAssignor",
    "RangeAssignor",
    "RoundRobinAssignor",
    "StickyAssignor",
    "partitions_per_topic",
    "read_cluster",
]


def __getattr__(name: str) -> object:
    """Return an assignor. Its module imports the client."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with dependency("kafka"):
        import kafka
    if int(kafka.__version__.partition(".")[0]) > 2:
        from assignor.clients import kafka_python_assignors

        return getattr(kafka_python_assignors, name)
    from assignor.clients import kafka_python_2_assignors

    if name == "CooperativeStickyAssignor":
        raise MissingDependencyError(
            f"CooperativeStickyAssignor needs kafka-python 3.0 or newer: consumers of kafka-python {kafka.__version__} "
            "rebalance eagerly; use StickyAssignor, or run: pip install 'kafka-python>=3.0'"
        )
    return getattr(kafka_python_2_assignors, name)


def partitions_per_topic(
    metadata: Any, topics: Iterable[str] | None = None, *, cluster: Mapping[str, Any] | None = None
) -> dict[str, int | list[PartitionInfo]]:
    """Return the partitions of topics, with the racks of their replicas.

    Args:
        metadata: A `kafka.cluster.ClusterMetadata`, which assignors of kafka-python receive; or the result of
            `KafkaAdminClient.describe_topics()`.
        topics: Names of the topics to return; by default all, including internal ones, which are assigned only to
            members that subscribe to them.
        cluster: Only with the result of `describe_topics()`: the result of `KafkaAdminClient.describe_cluster()`, which
            has the racks of the brokers. Without it partitions have no racks.

    Returns:
        For each topic the number of partitions n, if no broker has a rack and the partition ids are 0 to n-1.
        Otherwise a list of `PartitionInfo` in ascending order of id, with the rack of each replica. With the result of
        `describe_topics()`, the racks are in the order of the replicas, and an unknown broker has the rack None. With a
        `ClusterMetadata`, the racks are in the order of the broker ids, and replicas on unknown brokers are missing,
        because it has neither the order of the replicas nor these replicas. Partitions with an error, such as a missing
        leader, are included.

        The topics are in the order of `topics`, or by default in Java's `String` order. By default, topics without
        known partitions and topics with an error are omitted, as in Kafka's consumers.

    Raises:
        IllegalArgumentError: One of `topics` is not in the metadata, has an error, or has no known partitions.
        WrongTypeError: `metadata` or `cluster` is not what the client returns.

    Example:
        >>> parts = [{"partition_index": 0, "replica_nodes": [1, 2]}, {"partition_index": 1, "replica_nodes": [2]}]
        >>> described = [{"error_code": 0, "name": "orders", "partitions": parts}]
        >>> partitions_per_topic(described)
        {'orders': 2}
        >>> brokers = [{"broker_id": 1, "rack": "r1"}, {"broker_id": 2, "rack": None}]
        >>> partitions_per_topic(described, cluster={"brokers": brokers})["orders"][0]
        PartitionInfo(partition=0, racks=('r1', None))
    """
    return _read(metadata, cluster).partitions_per_topic(topics)


def _read(metadata: Any, cluster: Mapping[str, Any] | None) -> ClusterTopics:
    if isinstance(metadata, list):
        return _read_described(metadata, cluster)
    if not hasattr(metadata, "is_replica_node") or not hasattr(metadata, "partitions_for_topic"):
        raise WrongTypeError(
            "metadata must be kafka-python's ClusterMetadata (3.0 or newer) or the list from its describe_topics(), "
            f"not {type(metadata).__name__}: {shown(metadata)}"
        )
    cluster_topics = read_topics(metadata, metadata.topics(exclude_internal_topics=False))
    for topic in metadata.unauthorized_topics:
        cluster_topics.add_error(topic, 29)
    return cluster_topics


def _read_described(topics: list[Any], cluster: Mapping[str, Any] | None) -> ClusterTopics:
    return read_described(
        topics,
        cluster,
        "KafkaAdminClient",
        broker="broker_id",
        topic="name",
        partition="partition_index",
        replicas="replica_nodes",
    )


def read_cluster(
    admin: Any, cluster: str | None = None, groups: Iterable[str] | None = None, *, batch: int = 500
) -> ClusterSnapshot:
    """Read the topics, groups, members and assignments of a live cluster.

    This only reads: it calls `describe_cluster`, `describe_topics`, `list_groups` and `describe_groups`. The time limit
    of each call is the admin's `request_timeout_ms`.

    The subscriptions of classic members are exact. If the bytes of one cannot be decoded, this function guesses that
    the member subscribes to all topics with partitions in its group's assignment, and lists it in `guessed`.
    kafka-python cannot describe KIP-848 groups; they are listed as problems. `assignor.cluster.confluent` reads them.

    Brokers return neither subscriptions nor assignments of a classic group during a rebalance. Such a group is listed
    as a problem; read it again with `groups`.

    Args:
        admin: A `kafka.KafkaAdminClient`, or the keyword arguments of its constructor as a mapping.
        cluster: Name of the cluster in the rows; by default the cluster's id.
        groups: Ids of the groups to read; by default all groups.
        batch: Number of groups that are described in one call.

    Returns:
        The snapshot.

    Raises:
        MissingDependencyError: `admin` is a configuration, and kafka-python is not installed.
        WrongTypeError: `groups` is not an iterable of ids, or `admin` is neither an admin client nor a configuration.
        IllegalArgumentError: `batch` is not positive, or the configuration has an unknown setting.
        kafka.errors.KafkaError: The cluster does not answer. An error of one group is a problem of the snapshot.
    """
    wanted, size = read_group_ids(groups), read_batch(batch)
    if cluster is not None:
        check_name(cluster, "cluster")
    if isinstance(admin, Mapping):
        own = _admin(admin)
        try:
            return read_cluster(own, cluster, wanted, batch=size)
        finally:
            own.close()
    if not hasattr(admin, "describe_groups"):
        raise wrong_type("admin", "kafka-python's KafkaAdminClient (3.0 or newer) or its configuration", admin)
    brokers = admin.describe_cluster()
    name = brokers.get("cluster_id") or "" if cluster is None else cluster
    topics = _read_described(admin.describe_topics(), brokers)
    listed = {group["group_id"]: group for group in admin.list_groups()}
    problems: list[Problem] = []
    if wanted is not None:
        problems += [
            Problem(name, "group", group, "the group does not exist, or this client may not describe it")
            for group in wanted
            if group not in listed
        ]
        listed = {group: listed[group] for group in wanted if group in listed}
    descriptions = []
    classic = []
    for group_id, group in listed.items():
        kind = _kind(group)
        if kind == "classic":
            classic.append(group_id)
            continue
        if kind == "consumer":
            problem = "kafka-python cannot describe KIP-848 groups; assignor.cluster.confluent reads them"
        else:
            problem = f"not a group of consumers: its type is {kind!r}"
        descriptions.append(GroupDescription(group_id, kind, group.get("group_state") or "", problem=problem))
    for group_ids in batches(classic, size):
        descriptions += _describe(admin, group_ids)
    return build_snapshot(name, topics, descriptions, problems)


def _admin(configuration: Mapping[str, Any]) -> Any:
    with dependency("kafka", at_least="3.0"):
        from kafka import KafkaAdminClient
        from kafka.errors import KafkaConfigurationError
    settings = {check_name(name, "admin: a setting"): value for name, value in read_items(configuration, "admin")}
    try:
        return KafkaAdminClient(**settings)
    except KafkaConfigurationError as error:
        raise IllegalArgumentError(f"admin: {error}") from error


def _kind(listed: Mapping[str, Any]) -> str:
    kind: str = (listed.get("group_type") or "classic").lower()
    protocol_type: str = listed["protocol_type"]
    return protocol_type if kind == "classic" and protocol_type not in ("", "consumer") else kind


def _describe(admin: Any, group_ids: list[str]) -> list[GroupDescription]:
    """Describe groups in one call. If it fails because one group cannot be decoded, bisect to find that group."""
    try:
        described = admin.describe_groups(group_ids)
    except Exception as error:  # undecodable bytes raise errors of many classes
        if _is_connection_error(error):
            raise
        if len(group_ids) == 1:
            reason = f"kafka-python cannot describe the group: {type(error).__name__}: {error}"
            return [GroupDescription(group_ids[0], "classic", problem=reason)]
        half = len(group_ids) // 2
        return [*_describe(admin, group_ids[:half]), *_describe(admin, group_ids[half:])]
    return [_group(group_id, described.get(group_id)) for group_id in group_ids]


def _is_connection_error(error: Exception) -> bool:
    """Return True if the connection failed, False if the request for a group failed."""
    with dependency("kafka"):
        from kafka.errors import BrokerResponseError, KafkaError

    return isinstance(error, OSError) or (isinstance(error, KafkaError) and not isinstance(error, BrokerResponseError))


def _group(group_id: str, described: Mapping[str, Any] | None) -> GroupDescription:
    if described is None:
        return GroupDescription(group_id, "classic", problem="the broker returned no description of the group")
    state, protocol = described["group_state"], described["protocol_data"]
    if described["error"] or state == "Dead":
        problem = described["error"] or "the group was deleted before it could be described"
        return GroupDescription(group_id, "classic", state, protocol, problem=problem)
    members = []
    for member in described["members"]:
        assignment = member["member_assignment"]
        if assignment and not isinstance(assignment, Mapping):
            problem = f"member {shown(member['member_id'])}: its assignment cannot be decoded"
            return GroupDescription(group_id, "classic", state, protocol, problem=problem)
        assigned = [
            (entry["topic"], id)
            for entry in (assignment["assigned_partitions"] if assignment else ())
            for id in entry["partitions"]
        ]
        subscription = _subscription(member["member_metadata"])
        members.append(MemberDescription(member["member_id"], member.get("group_instance_id"), subscription, assigned))
    return GroupDescription(group_id, "classic", state, protocol, members)


def _subscription(metadata: Any) -> MemberSubscription | str:
    if isinstance(metadata, Mapping):
        return MemberSubscription(tuple(metadata["topics"]), metadata.get("rack_id") or None)
    if isinstance(metadata, str):
        # The client returns undecodable bytes as text, with `\xff` for a byte that is not UTF-8.
        metadata = re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), metadata.encode())
    return decode_member_subscription(bytes(metadata or b""))
