"""Groups of a cluster with their lag, as `assignor describe` shows them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from assignor.cluster.descriptions import MemberSubscription
from assignor.ordering import java_order

if TYPE_CHECKING:
    from assignor.cluster.descriptions import GroupDescription, MemberDescription
    from assignor.cluster.topic_retention import TopicRetention
    from assignor.cluster.topics import Place


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """Groups of a cluster with their lag.

    Attributes:
        cluster: Id of the cluster.
        groups: The groups, sorted by id.
        lag: Row of `lag.GROUP_LAG` and `lag_time_sums.SUMMED_TIME` by group; groups with neither owned partitions nor
            committed offsets have none.
        member_lag: Row of `lag_time_sums.sum_lag_in_time` by group and member id; members without partitions have none,
            and members of share groups, which read the same partitions.
        partitions: Rows of `lag_time.TIME_LAG` by group. A partition of a share group has one row, with its first
            owner, and the start offset of the group as committed offset.
        problems: Group id, or "" for the cluster, and what could not be read, in the order of the calls.
        counts: Number of partitions of each topic that this client can describe.
        is_complete: True if every broker listed its groups. If not, a group that is missing may exist.
        unanswered: Partitions whose leader did not return the end offset.
        brokers: Ids of the brokers that ran when the groups were listed.
        topic_lag: Rows of `lag_time_sums.sum_lag_in_time` for the topics of each group.
        read_at: Time in milliseconds at which the offsets of each group were read.
        retention: Settings of topics with unread records that say when these are deleted.
        notes: Sentences on what could not be read and is estimated otherwise.
    """

    cluster: str
    groups: tuple[GroupDescription, ...]
    lag: dict[str, dict[str, Any]]
    member_lag: dict[tuple[str, str], dict[str, Any]]
    partitions: dict[str, list[dict[str, Any]]]
    problems: tuple[tuple[str, str], ...]
    counts: dict[str, int]
    is_complete: bool = True
    unanswered: frozenset[Place] = frozenset()
    brokers: frozenset[int] = frozenset()
    topic_lag: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    read_at: dict[str, int] = field(default_factory=dict)
    retention: dict[str, TopicRetention] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the object that `assignor describe --json` prints."""
        return {
            "cluster": self.cluster,
            "groups": [self._group(group) for group in self.groups],
            "problems": [{"group": group or None, "problem": problem} for group, problem in self.problems],
            "retention": {topic: each._asdict() for topic, each in sorted(self.retention.items())},
            "notes": list(self.notes),
        }

    def _group(self, group: GroupDescription) -> dict[str, object]:
        node = group.coordinator
        lag = self.lag.get(group.group_id)
        owners = group.owners()
        return {
            "group": group.group_id,
            "kind": group.kind,
            "state": group.state,
            "protocol": group.protocol or None,
            "coordinator": None if node is None else dict(zip(("id", "host", "port"), node, strict=True)),
            "problem": group.problem,
            "topics": {topic: self.counts.get(topic) for topic in self._topics(group)},
            "read_at": self.read_at.get(group.group_id),
            "lag": None if lag is None else without(lag, "group_id"),
            "topic_lag": [without(row, "group_id") for row in self.topic_lag.get(group.group_id, ())],
            "members": [
                {
                    "member": member.member_id,
                    "instance_id": member.group_instance_id,
                    "client_id": member.client_id,
                    "client_host": member.client_host,
                    "subscription": _subscription(member),
                    "lag": without(found, "group_id", "member_id")
                    if (found := self.member_lag.get((group.group_id, member.member_id)))
                    else None,
                    "tasks": None if member.tasks is None else asdict(member.tasks),
                }
                for member in group.members
            ],
            "partitions": [
                {
                    "topic": row["topic"],
                    "partition": row["partition"],
                    "member": row["member_id"],
                    "members": owners.get((row["topic"], row["partition"]), []),
                }
                | without(row, "group_id", "topic", "partition", "member_id")
                for row in self.partitions.get(group.group_id, ())
            ],
        }

    def _topics(self, group: GroupDescription) -> list[str]:
        """Return the topics that members subscribe to or own, and those with committed offsets."""
        topics = {row["topic"] for row in self.partitions.get(group.group_id, ())}
        for member in group.members:
            if isinstance(member.subscription, MemberSubscription):
                topics.update(member.subscription.topics)
        return sorted(topics, key=java_order)


def _subscription(member: MemberDescription) -> dict[str, object] | None:
    """Return the subscription of a member; None if it is not known."""
    if not isinstance(member.subscription, MemberSubscription):
        return None
    return {"topics": sorted(member.subscription.topics, key=java_order), "rack": member.subscription.rack}


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return a row without some of its columns."""
    return {name: value for name, value in row.items() if name not in names}
