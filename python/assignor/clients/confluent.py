"""confluent-kafka: its metadata as `partitions_per_topic`, and a look at a live cluster by its AdminClient.

Importing this imports no client; `pip install 'assignor[kafka]'` brings confluent-kafka in a release that fits.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

from assignor.clients.descriptions import (
    GroupDescription,
    MemberDescription,
    batches,
    build_snapshot,
    decode_member_subscription,
    read_group_ids,
)
from assignor.clients.metadata import ClusterTopics
from assignor.clients.snapshot import Problem
from assignor.errors import MissingDependencyError, WrongTypeError
from assignor.validation import shown, wrong_type

if TYPE_CHECKING:
    from assignor.clients.snapshot import ClusterSnapshot
    from assignor.model import PartitionInfo

__all__ = ["partitions_per_topic", "read_cluster"]

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
"""Kafka's names of the states by confluent-kafka's; it has none for the further ones of KIP-848."""

UNKNOWN_SUBSCRIPTION = "confluent-kafka tells neither subscription nor rack of a member of a KIP-848 group"


def partitions_per_topic(
    metadata: Any, topics: Iterable[str] | None = None, *, cluster: Any = None
) -> dict[str, int | list[PartitionInfo]]:
    """Return the partitions of topics, with the racks of their replicas.

    Args:
        metadata: The `ClusterMetadata` that `AdminClient.list_topics()` (or a consumer's or a producer's) gave; or
            `TopicDescription`s, in any iterable or as the values of a mapping, which know the racks themselves.
        topics: Which topics; by default all, internal ones too: members get none that they did not subscribe to.
        cluster: Beside a `ClusterMetadata`, the `DescribeClusterResult` of `AdminClient.describe_cluster().result()`,
            which knows the racks: without it partitions have none.

    Returns:
        By topic a count n, which stands for the ids 0 to n-1, where no broker has a rack and no id is missing; else a
        list of `PartitionInfo` in ascending order of id, with the rack of each replica in the replicas' order. The rack
        of a broker that is not known is None. Partitions with an error of their own, such as one without a leader, are
        there like any other.

        Order: `topics` as given, by default Java's `String` order. By default topics without a known partition, and
        those for which the broker answered an error, are left out, as Kafka's own consumers do.

    Raises:
        IllegalArgumentError: One of `topics` is not in the metadata, has an error, or no partition of it is known.
        WrongTypeError: Something else is given, such as a future whose result is meant.

    Example:
        >>> from types import SimpleNamespace as Some  # what the client's own classes look like
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
        raise _no_metadata(metadata)
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
            raise _no_metadata(description)
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


def _no_metadata(given: object) -> WrongTypeError:
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
    """Look at a live cluster: its topics, its groups' members, and who has what.

    Nothing is changed: these are `list_topics`, `describe_topics`, `describe_cluster`, `list_groups`,
    `list_consumer_groups` and `describe_consumer_groups`. Groups that may not be described (ACL `Describe` on the
    group) are among the problems.

    What members subscribe to: those of classic groups say it exactly, in bytes that `list_groups` passes on. That call
    is deprecated in confluent-kafka, and nothing else there has the bytes. Of a KIP-848 group confluent-kafka tells no
    subscription and no rack, so each member is taken to subscribe to all topics of which its group has, or is to have,
    any partition, and is named in `guessed`; a member without partitions keeps a subscription that way, while a topic
    that nobody has a partition of is missing, and members that subscribe to different topics are taken for alike. The
    same is done where the bytes cannot be read, or cannot be had.

    A classic group in the middle of a rebalance tells neither subscriptions nor assignments: it is among the
    problems, and can be asked for again by `groups`.

    Args:
        admin: A `confluent_kafka.admin.AdminClient`, or its configuration as a mapping.
        cluster: The name that the rows carry; by default the cluster's own id.
        groups: Which groups; by default all.
        timeout: Seconds that each call may take.
        batch: How many groups are described in one call.

    Returns:
        The snapshot.

    Raises:
        MissingDependencyError: A configuration is given, and there is no confluent-kafka.
        WrongTypeError: `groups` is no iterable of names, or something else is given as admin.
        confluent_kafka.KafkaException: The cluster does not answer. A group's error is a problem of the snapshot.
    """
    wanted = read_group_ids(groups)
    if isinstance(admin, Mapping):
        admin = _admin(admin)
    if not hasattr(admin, "describe_consumer_groups"):
        raise wrong_type("admin", "confluent-kafka's AdminClient or its configuration", admin)
    metadata = admin.list_topics(timeout=timeout)
    brokers = admin.describe_cluster(request_timeout=timeout).result(timeout + TIMEOUT_MARGIN)
    name = metadata.cluster_id or "" if cluster is None else cluster
    problems: list[Problem] = []
    listed_members, list_error = _list_members(admin, wanted, timeout)
    if list_error:
        problems.append(Problem(name, "cluster", "list_groups", f"{list_error}; subscriptions are guessed"))
    listing = admin.list_consumer_groups(request_timeout=timeout).result(timeout + TIMEOUT_MARGIN)
    problems += [Problem(name, "cluster", "list_consumer_groups", _text(error)) for error in listing.errors or ()]
    listed = {group.group_id: group for group in listing.valid or ()}
    if wanted is not None:
        problems += [
            Problem(name, "group", group, "there is no such group")
            for group in wanted
            if group not in listed and group not in listed_members
        ]
        listed = {group: listed[group] for group in wanted if group in listed}
    descriptions = [_describe_unlisted(group) for group in listed_members.values() if group.id not in listed]
    for group_ids in batches(list(listed), batch):
        futures = admin.describe_consumer_groups(group_ids, request_timeout=timeout)
        wait(futures.values(), timeout + TIMEOUT_MARGIN)
        for group_id, future in futures.items():
            descriptions.append(_describe(listed[group_id], future, listed_members.get(group_id), list_error))
    topics = _read(metadata, brokers)
    for names in batches(list(topics.partitions), batch):
        topics.topic_ids.update(_topic_ids(admin, names, timeout))
    return build_snapshot(name, topics, descriptions, problems)


def _admin(configuration: Mapping[str, Any]) -> Any:
    try:
        from confluent_kafka.admin import AdminClient
    except ImportError:
        raise MissingDependencyError("confluent-kafka is not installed: pip install 'assignor[kafka]'") from None
    return AdminClient(dict(configuration))


def _topic_ids(admin: Any, names: list[str], timeout: float) -> dict[str, str]:
    """Return the ids of those topics that the broker describes."""
    from confluent_kafka import TopicCollection

    futures = admin.describe_topics(TopicCollection(names), request_timeout=timeout)
    wait(futures.values(), timeout + TIMEOUT_MARGIN)
    described = {name: future for name, future in futures.items() if future.done() and future.exception() is None}
    return {name: _url_safe(str(future.result().topic_id)) for name, future in described.items()}


def _url_safe(topic_id: str) -> str:
    """Return a topic id as Kafka prints it: librdkafka writes `+` and `/` where Kafka writes `-` and `_`."""
    return topic_id.replace("+", "-").replace("/", "_")


def _list_members(admin: Any, wanted: list[str] | None, timeout: float) -> tuple[dict[str, Any], str]:
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


def _describe_unlisted(group: Any) -> GroupDescription:
    """Return the description of a group that `list_consumer_groups` does not list."""
    kind = group.protocol_type or ""
    if group.error is not None:
        problem = _text(group.error)
    elif kind == "consumer":
        problem = "it was gone before it could be described"
    elif kind:
        problem = f"its members are no consumers: its protocol type is {kind!r}"
    else:
        problem = "its members are no consumers: it is a group of another protocol, such as share or streams, or gone"
    # For a group that is not classic, `list_groups` returns the state "Dead", which is not the group's.
    return GroupDescription(group.id, kind, group.state or "" if kind else "", problem=problem)


def _describe(listed: Any, future: Any, with_members: Any, list_error: str) -> GroupDescription:
    kind = _kind(listed)
    state = _state(listed)
    try:
        description = future.result(0)
    except Exception as error:  # the client's own class
        return GroupDescription(listed.group_id, kind, state, problem=_text(error))
    kind, state = _kind(description) or kind, _state(description)
    protocol = description.partition_assignor or ""
    if state == "Dead":
        return GroupDescription(
            listed.group_id, kind, state, protocol, problem="it was gone before it could be described"
        )
    metadata = {member.id: member.metadata for member in with_members.members} if with_members else {}
    members = []
    for member in description.members:
        if kind == "consumer":
            subscription: Any = UNKNOWN_SUBSCRIPTION
        elif list_error:
            subscription = f"the subscription could not be asked for: {list_error}"
        else:
            subscription = decode_member_subscription(metadata.get(member.member_id) or b"")
        members.append(
            MemberDescription(
                member.member_id,
                member.group_instance_id,
                subscription,
                _pairs(member.assignment),
                _pairs(getattr(member, "target_assignment", None)),
            )
        )
    return GroupDescription(listed.group_id, kind, state, protocol, members)


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
