"""Topics of a cluster in one form for all clients: partitions with the racks of their replicas, and errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from assignor.cluster.snapshot import Problem, TopicRow
from assignor.errors import IllegalArgumentError
from assignor.lines import format_topic_id
from assignor.model import PartitionInfo
from assignor.ordering import java_order
from assignor.validation import check_name, read_int, read_names, shown, wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["ClusterTopics", "read_described"]

ERRORS = {
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    5: "LEADER_NOT_AVAILABLE",
    17: "INVALID_TOPIC_EXCEPTION",
    29: "TOPIC_AUTHORIZATION_FAILED",
}
"""Error codes of a topic in a Metadata response; other codes are shown as numbers."""


@dataclass(slots=True)
class ClusterTopics:
    """The topics of a cluster.

    Attributes:
        has_racks: True if a broker has a rack.
        partitions: Topic to partition id to the racks of the replicas, in the order of the replicas.
        errors: Topic to the reason why its partitions are not known.
        topic_ids: Topic to its id in Kafka's text format; only topics with a known id.
    """

    has_racks: bool
    partitions: dict[str, dict[int, tuple[str | None, ...]]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)

    def add(self, topic: str, racks: dict[int, tuple[str | None, ...]]) -> None:
        """Add a topic with the racks of its partitions; a topic without partitions is recorded as an error."""
        if racks:
            self.partitions[topic] = racks
        else:
            self.errors[topic] = "it has no known partitions"

    def add_error(self, topic: str, code: int) -> None:
        """Add a topic for which the broker returned an error."""
        self.errors[topic] = f"the broker answered {ERRORS.get(code, f'error code {code}')}"

    def partitions_per_topic(self, topics: Iterable[str] | None) -> dict[str, int | list[PartitionInfo]]:
        """Return the topics in the form that `assign` accepts; see the clients' functions of this name.

        Raises:
            IllegalArgumentError: One of `topics` is not in the metadata, has an error, or has no known partitions.
            WrongTypeError: `topics` is not an iterable of names.
        """
        if topics is None:
            names = sorted(self.partitions, key=java_order)
        else:
            names = list(dict.fromkeys(read_names(topics, "partitions_per_topic")))
            for name in names:
                if name not in self.partitions:
                    reason = self.errors.get(name, "the metadata has no such topic")
                    raise IllegalArgumentError(f"topic {shown(name)}: {reason}; omit it, or refresh the metadata")
        return {name: self._partitions(self.partitions[name]) for name in names}

    def rows(self, cluster: str) -> tuple[list[TopicRow], list[Problem]]:
        """Return a row for each topic, or a problem if its partitions are not known or not 0 to n - 1."""
        rows = []
        problems = [Problem(cluster, "topic", topic, reason) for topic, reason in self.errors.items()]
        for topic, racks in self.partitions.items():
            if set(racks) != set(range(len(racks))):
                reason = f"the ids of its {len(racks)} known partitions are not 0 to {len(racks) - 1}"
                problems.append(Problem(cluster, "topic", topic, reason))
                continue
            ordered = tuple(racks[id] for id in range(len(racks)))
            topic_id = self.topic_ids.get(topic)
            rows.append(TopicRow(cluster, topic, len(racks), ordered if self.has_racks else None, topic_id))
        return rows, problems

    def _partitions(self, racks: dict[int, tuple[str | None, ...]]) -> int | list[PartitionInfo]:
        if not self.has_racks and set(racks) == set(range(len(racks))):
            return len(racks)
        return [PartitionInfo(id, racks[id]) for id in sorted(racks)]


def read_described(
    topics: list[Any],
    cluster: Mapping[str, Any] | None,
    admin: str,
    *,
    broker: str,
    topic: str,
    partition: str,
    replicas: str,
) -> ClusterTopics:
    """Return the topics that an admin client described as dicts, with the racks of their replicas.

    Args:
        topics: The result of the admin client's `describe_topics()`.
        cluster: The result of its `describe_cluster()`, which has the racks of the brokers; None for no racks.
        admin: Name of the admin client's class, for error messages.
        broker: Key of a broker's id.
        topic: Key of a topic's name.
        partition: Key of a partition's id.
        replicas: Key of the broker ids of a partition's replicas.

    Raises:
        WrongTypeError: `topics` or `cluster` is not what the admin client returns.
    """
    try:
        racks = {} if cluster is None else {each[broker]: each.get("rack") for each in cluster["brokers"]}
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise wrong_type("cluster", f"the result of {admin}.describe_cluster()", cluster) from error
    found = ClusterTopics(any(rack is not None for rack in racks.values()))
    for index, described in enumerate(topics):
        where = f"metadata[{index}]"
        try:
            name = check_name(described[topic], where)
            if described["error_code"]:
                found.add_error(name, described["error_code"])
                continue
            found.add(
                name,
                {
                    read_int(each[partition], where, bits=32): tuple(racks.get(id) for id in each[replicas])
                    for each in described["partitions"]
                },
            )
            # Brokers before 2.8 have no topic ids and return zero.
            topic_id = UUID(str(described.get("topic_id") or UUID(int=0)))
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise wrong_type(where, f"a topic from {admin}.describe_topics()", described) from error
        if topic_id.int:
            found.topic_ids[name] = format_topic_id(topic_id)
    return found
