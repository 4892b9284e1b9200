"""Adapter for confluent-kafka: its metadata as `partitions_per_topic`, and the groups of a live cluster.

Only `read_cluster` imports confluent-kafka, which the extra `kafka` installs.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

from assignor.cluster.client_topics import ClusterTopics
from assignor.cluster.descriptions import (
    GroupDescription,
    MemberDescription,
    batches,
    build_snapshot,
    decode_member_subscription,
    read_batch,
    read_group_ids,
)
from assignor.cluster.snapshot import Problem
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.validation import check_name, read_items, shown, wrong_type

if TYPE_CHECKING:
    from assignor.cluster.connection import ClientSettings
    from assignor.cluster.snapshot import ClusterSnapshot
    from assignor.model import PartitionInfo

__all__ = ["describe_group", "describe_unlisted", "list_members", "partitions_per_topic", "read_cluster"]

MAX_SINGLE_REQUESTS = 16
"""Largest number of groups whose subscriptions are requested one by one; more groups are requested together."""

TIMEOUT_MARGIN = 5.0
"""Seconds to wait for a call after its own time limit."""

STATES = {
    "STABLE": "Stable",
    "EMPTY": "Empty",
    "DEAD": "Dead",
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
}
"""confluent-kafka's names of group states to Kafka's; it has no names for the other states of KIP-848 groups."""

UNKNOWN_SUBSCRIPTION = "confluent-kafka does not return the subscriptions and racks of the members of KIP-848 groups"


def partitions_per_topic(
    metadata: Any, topics: Iterable[str] | None = None, *, cluster: Any = None
) -> dict[str, int | list[PartitionInfo]]:
    """Return the partitions of topics, with the racks of their replicas.

    Args:
        metadata: The `ClusterMetadata` from `list_topics()` of an AdminClient, consumer or producer; or
            `TopicDescription`s, which have the racks, in an iterable or as the values of a mapping.
        topics: Names of the topics to return; by default all, including internal ones, which are assigned only to
            members that subscribe to them.
        cluster: Only with a `ClusterMetadata`: the result of the future that `AdminClient.describe_cluster()` returns,
            which has the racks of the brokers. Without it partitions have no racks.

    Returns:
        For each topic the number of partitions n, if no broker has a rack and the partition ids are 0 to n-1.
        Otherwise a list of `PartitionInfo` in ascending order of id, with the rack of each replica in the order of the
        replicas, and None for the rack of an unknown broker. Partitions with an error, such as a missing leader, are
        included.

        The topics are in the order of `topics`, or by default in Java's `String` order. By default, topics without
        known partitions and topics with an error are omitted, as in Kafka's consumers.

    Raises:
        IllegalArgumentError: One of `topics` is not in the metadata, has an error, or has no known partitions.
        WrongTypeError: `metadata` has another type, such as a future instead of its result.

    Example:
        >>> from types import SimpleNamespace as Some  # has the attributes of the client's classes
        >>> parts = {0: Some(id=0, replicas=[1, 2]), 1: Some(id=1, replicas=[2])}
        >>> metadata = Some(topics={"orders": Some(error=None, partitions=parts)}, brokers={})
        >>> partitions_per_topic(metadata)
        {'orders': 2}
        >>> nodes = [Some(id=1, rack="r1"), Some(id=2, rack=None)]
        >>> partitions_per_topic(metadata, cluster=Some(nodes=nodes))["orders"][0]
        PartitionInfo(partition=0, racks=('r1', None))
    """
    if hasattr(metadata, "topics") and hasattr(metadata, "brokers"):
        return _read(metadata, cluster).partitions_per_topic(topics)
    described = metadata.values() if isinstance(metadata, Mapping) else metadata
    if not isinstance(described, Iterable) or isinstance(described, (str, bytes)):
        raise _not_metadata(metadata)
    return _read_described(list(described)).partitions_per_topic(topics)


def _read(metadata: Any, cluster: Any) -> ClusterTopics:
    if cluster is not None and not hasattr(cluster, "nodes"):
        raise WrongTypeError(
            "cluster must be a DescribeClusterResult, the result of AdminClient.describe_cluster(), "
            f"not {type(cluster).__name__}: {shown(cluster)}"
        )
    racks = {} if cluster is None else {node.id: node.rack for node in cluster.nodes}
    cluster_topics = ClusterTopics(any(rack is not None for rack in racks.values()))
    for name, topic in metadata.topics.items():
        if topic.error is not None:
            cluster_topics.errors[name] = f"the broker answered {_text(topic.error)}"
        else:
            cluster_topics.add(
                name,
                {
                    id: tuple(racks.get(broker) for broker in partition.replicas)
                    for id, partition in topic.partitions.items()
                },
            )
    return cluster_topics


def _read_described(descriptions: list[Any]) -> ClusterTopics:
    for description in descriptions:
        if not hasattr(description, "name") or not hasattr(description, "partitions"):
            raise _not_metadata(description)
    racks = {
        description.name: {
            partition.id: tuple(getattr(node, "rack", None) for node in partition.replicas)
            for partition in description.partitions
        }
        for description in descriptions
    }
    cluster_topics = ClusterTopics(
        any(rack is not None for of in racks.values() for each in of.values() for rack in each)
    )
    for name, of in racks.items():
        cluster_topics.add(name, of)
    return cluster_topics


def _not_metadata(given: object) -> WrongTypeError:
    return WrongTypeError(
        "metadata must be confluent-kafka's ClusterMetadata or TopicDescriptions, the results of "
        f"AdminClient.describe_topics(), not {type(given).__name__}: {shown(given)}"
    )


def read_cluster(
    admin: Any,
    cluster: str | None = None,
    groups: Iterable[str] | None = None,
    timeout: float = 30.0,
    *,
    batch: int = 500,
) -> ClusterSnapshot:
    """Read the topics, groups, members and assignments of a live cluster.

    This only reads: it calls `list_topics`, `describe_topics`, `describe_cluster`, `list_groups`,
    `list_consumer_groups` and `describe_consumer_groups`. Groups that the client may not describe (ACL `Describe`) are
    listed as problems.

    The subscriptions of classic members come from the bytes that `list_groups` returns. confluent-kafka deprecates this
    method, but no other method returns these bytes. confluent-kafka returns neither subscriptions nor racks of members
    of KIP-848 groups. This function guesses that each of these members subscribes to all topics with partitions in the
    group's current or target assignment, and lists the members in `guessed`. So topics without assigned partitions are
    missing, and members that subscribe to different topics get the same subscription. Subscriptions of classic members
    whose bytes are missing or cannot be decoded are guessed in the same way.

    Brokers return neither subscriptions nor assignments of a classic group during a rebalance. Such a group is listed
    as a problem; read it again with `groups`.

    Args:
        admin: A `confluent_kafka.admin.AdminClient`, or its configuration as a mapping.
        cluster: Name of the cluster in the rows; by default the cluster's id.
        groups: Ids of the groups to read; by default all groups.
        timeout: Time limit of each call, in seconds.
        batch: Number of groups that are described in one call.

    Returns:
        The snapshot.

    Raises:
        MissingDependencyError: `admin` is a configuration, and confluent-kafka is not installed.
        WrongTypeError: `groups` is not an iterable of ids, or `admin` is neither an AdminClient nor a configuration.
        confluent_kafka.KafkaException: The cluster does not answer. An error of one group is a problem of the snapshot.
    """
    wanted, size = read_group_ids(groups), read_batch(batch)
    if cluster is not None:
        check_name(cluster, "cluster")
    if isinstance(admin, Mapping):
        admin = _admin(admin)
    if not hasattr(admin, "describe_consumer_groups"):
        raise wrong_type("admin", "confluent-kafka's AdminClient or its configuration", admin)
    metadata = admin.list_topics(timeout=timeout)
    brokers = admin.describe_cluster(request_timeout=timeout).result(timeout + TIMEOUT_MARGIN)
    name = metadata.cluster_id or "" if cluster is None else cluster
    problems: list[Problem] = []
    listed_members, list_error = list_members(admin, wanted, timeout)
    if list_error:
        problems.append(Problem(name, "cluster", "list_groups", f"{list_error}; subscriptions are guessed"))
    listing = admin.list_consumer_groups(request_timeout=timeout).result(timeout + TIMEOUT_MARGIN)
    problems += [Problem(name, "cluster", "list_consumer_groups", _text(error)) for error in listing.errors or ()]
    listed = {group.group_id: group for group in listing.valid or ()}
    if wanted is not None:
        problems += [
            Problem(name, "group", group, "the group does not exist, or this client may not describe it")
            for group in wanted
            if group not in listed and group not in listed_members
        ]
        listed = {group: listed[group] for group in wanted if group in listed}
    descriptions = [describe_unlisted(group) for group in listed_members.values() if group.id not in listed]
    for group_ids in batches(list(listed), size):
        futures = admin.describe_consumer_groups(group_ids, request_timeout=timeout)
        wait(futures.values(), timeout + TIMEOUT_MARGIN)
        for group_id, future in futures.items():
            descriptions.append(describe_group(listed[group_id], future, listed_members.get(group_id), list_error))
    topics = _read(metadata, brokers)
    for names in batches(list(topics.partitions), size):
        topics.topic_ids.update(_topic_ids(admin, names, timeout))
    return build_snapshot(name, topics, descriptions, problems)


def _admin(configuration: Mapping[str, Any]) -> Any:
    with dependency("confluent_kafka"):
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient
    settings = {check_name(name, "admin: a setting"): value for name, value in read_items(configuration, "admin")}
    try:
        return AdminClient(settings)
    except (KafkaException, TypeError, ValueError) as error:
        kind = WrongTypeError if isinstance(error, TypeError) else IllegalArgumentError
        raise kind(f"admin: {error}") from error


def _topic_ids(admin: Any, names: list[str], timeout: float) -> dict[str, str]:
    """Return the ids of those topics that the broker describes."""
    with dependency("confluent_kafka"):
        from confluent_kafka import TopicCollection

    futures = admin.describe_topics(TopicCollection(names), request_timeout=timeout)
    wait(futures.values(), timeout + TIMEOUT_MARGIN)
    described = {name: future for name, future in futures.items() if future.done() and future.exception() is None}
    return {name: _url_safe(str(future.result().topic_id)) for name, future in described.items()}


def _url_safe(topic_id: str) -> str:
    """Return a topic id as Kafka prints it: librdkafka writes `+` and `/` where Kafka writes `-` and `_`."""
    return topic_id.replace("+", "-").replace("/", "_")


def list_members(admin: Any, wanted: list[str] | None, timeout: float) -> tuple[dict[str, Any], str]:
    """Return groups of every protocol with the metadata bytes of their members, and an error message or ""."""
    names = [None] if wanted is None or len(wanted) > MAX_SINGLE_REQUESTS else wanted
    found: dict[str, Any] = {}
    # The client raises its own error class, which is not imported here.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            for name in names:
                options = {} if name is None else {"group": name}
                found.update((group.id, group) for group in admin.list_groups(timeout=timeout, **options))
    except Exception as error:
        return {}, _text(error)
    if wanted is not None:
        found = {name: found[name] for name in wanted if name in found}
    return found, ""


def rebalancing_groups(settings: ClientSettings, admin: Any) -> list[str]:
    """Return the ids of the classic groups that are waiting for members to join: the state PreparingRebalance.

    Args:
        settings: Settings of the clients.
        admin: AdminClient of the cluster.

    Raises:
        ClusterError: A broker does not answer, or cannot list the groups of a state (before Kafka 2.6).
    """
    with dependency("confluent_kafka"):
        from confluent_kafka import ConsumerGroupState

    doing = "list the groups in a rebalance"
    wanted = {ConsumerGroupState.PREPARING_REBALANCING}
    call = admin.list_consumer_groups(states=wanted, request_timeout=settings.timeout)
    listing = settings.result(admin, call, doing)
    for error in listing.errors or ():
        raise settings.failed(doing, error)
    return [group.group_id for group in listing.valid or ()]


def describe_unlisted(group: Any) -> GroupDescription:
    """Return the description of a group that `list_consumer_groups` does not list."""
    kind = group.protocol_type or ""
    if group.error is not None:
        problem = _text(group.error)
    elif kind == "consumer":
        problem = "the group was created or deleted while the groups were listed"
    elif kind:
        problem = f"not a group of consumers: its protocol type is {kind!r}"
    else:
        problem = "not a group of consumers: it has another protocol, such as share or streams, or was deleted"
    # For groups that are not classic, `list_groups` always returns the state "Dead".
    return GroupDescription(group.id, kind, group.state or "" if kind else "", problem=problem)


def describe_group(listed: Any, future: Any, with_members: Any = None, list_error: str = "") -> GroupDescription:
    """Return the description of a group.

    Args:
        listed: The group in the result of `list_consumer_groups`.
        future: Future that `describe_consumer_groups` returned for the group. If it is not done, the description has a
            `problem`.
        with_members: The group in the result of `list_groups`, whose members have the bytes of their subscriptions.
        list_error: Error message if `list_groups` failed, else "".
    """
    kind = _kind(listed)
    state = _state(listed)
    try:
        description = future.result(0)
    except Exception as error:  # the client's own error class
        return GroupDescription(listed.group_id, kind, state, problem=_text(error))
    kind, state = _kind(description) or kind, _state(description)
    protocol = description.partition_assignor or ""
    if state == "Dead":
        return GroupDescription(
            listed.group_id, kind, state, protocol, problem="the group was deleted before it could be described"
        )
    listed_members = {member.id: member for member in with_members.members} if with_members else {}
    members = []
    for member in description.members:
        if kind == "consumer":
            subscription: Any = UNKNOWN_SUBSCRIPTION
        elif list_error:
            subscription = f"the subscription could not be read: {list_error}"
        else:
            subscription = decode_member_subscription(_bytes(listed_members.get(member.member_id), "metadata") or b"")
        members.append(
            MemberDescription(
                member.member_id,
                member.group_instance_id,
                subscription,
                _pairs(member.assignment),
                _pairs(getattr(member, "target_assignment", None)),
                member.client_id or "",
                member.host or "",
                metadata=_bytes(listed_members.get(member.member_id), "metadata") or b"",
                assignment=_bytes(listed_members.get(member.member_id), "assignment"),
            )
        )
    return GroupDescription(listed.group_id, kind, state, protocol, members, coordinator=_coordinator(description))


def _bytes(member: Any, name: str) -> bytes | None:
    """Return bytes of a member in the result of `list_groups`; None if the member is not there."""
    return None if member is None else getattr(member, name) or b""


def _coordinator(description: Any) -> tuple[int, str, int] | None:
    node = description.coordinator
    return None if node is None or node.id < 0 else (node.id, node.host, node.port)


def _kind(group: Any) -> str:
    name = getattr(getattr(group, "type", None), "name", "UNKNOWN")
    return "" if name == "UNKNOWN" else name.lower()


def _state(group: Any) -> str:
    return STATES.get(getattr(getattr(group, "state", None), "name", ""), "")


def _pairs(assignment: Any) -> list[tuple[str, int]]:
    if assignment is None:
        return []
    return [(partition.topic, partition.partition) for partition in assignment.topic_partitions]


def _text(error: Any) -> str:
    """Return the message of a KafkaError or of the exception that wraps it."""
    with contextlib.suppress(AttributeError, IndexError):
        error = error.args[0]
    return error.str() if hasattr(error, "str") else str(error) or type(error).__name__
