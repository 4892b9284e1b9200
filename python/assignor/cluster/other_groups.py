"""Share and streams groups of a live cluster: state, members, tasks, and the start offsets of share groups.

confluent-kafka has none of these requests, so they are sent by kafka-python.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.cluster.descriptions import GroupDescription, MemberDescription, MemberSubscription, MemberTasks, batches
from assignor.errors import AssignorError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assignor.cluster.connection import ClientSettings
    from assignor.cluster.request_client import RequestClient

    Place = tuple[str, int]

KINDS = ("share", "streams")

GROUPS_PER_REQUEST = 500
"""Number of groups that one request names."""

NO_TOPOLOGY = "the group has no topology yet, or a source topic is missing"


class ShareOffset(NamedTuple):
    """State of a partition of a share group.

    Attributes:
        start: Offset of the first record that is not acknowledged yet; None if no member has read the partition yet.
        lag: The lag that the broker computed, without the records after `start` that are already acknowledged; None
            if the broker does not return it.
    """

    start: int | None
    lag: int | None


class OtherGroups:
    """Reader of share and streams groups. It connects when it is first used. Use it as a context manager.

    Args:
        settings: Settings of the clients.

    Attributes:
        problems: Group id, or "" for the cluster, and what could not be read.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._client: RequestClient | None = None
        self._nodes: dict[str, int] = {}
        self.problems: list[tuple[str, str]] = []

    def __enter__(self) -> OtherGroups:
        return self

    def __exit__(self, *error: object) -> None:
        if self._client is not None:
            self._client.__exit__(*error)

    def describe(self, names: Iterable[str], counts: Mapping[str, int]) -> dict[str, GroupDescription]:
        """Return the descriptions of the share and streams groups among some groups.

        A group that is missing could not be read; `problems` has the reason, unless it was deleted.

        Args:
            names: Ids of the groups.
            counts: Number of partitions of each topic.
        """
        wanted = set(names)
        if not wanted:
            return {}
        try:
            client = self._connect()
            listed, failed = client.list_groups()
        except AssignorError as error:  # also if kafka-python is missing, or cannot use a setting
            self.problems.append(("", f"share and streams groups could not be described: {error}"))
            return {}
        self.problems += [("", f"share and streams groups of broker {id}: {text}") for id, text in failed.items()]
        found: dict[str, GroupDescription] = {}
        for kind in KINDS:
            chosen = {name: state for name, (other, state) in listed.items() if other == kind and name in wanted}
            for group in self._describe(client, kind, chosen, counts):
                found[group.group_id] = group
        return found

    def offsets(self, groups: Iterable[str]) -> dict[tuple[str, str, int], ShareOffset]:
        """Return the start offsets of the partitions of share groups, by group id, topic and partition.

        Args:
            groups: Ids of share groups that `describe` returned.
        """
        by_node: dict[int, list[str]] = defaultdict(list)
        for name in groups:
            if name in self._nodes:
                by_node[self._nodes[name]].append(name)
        found: dict[tuple[str, str, int], ShareOffset] = {}
        for node, names in by_node.items():
            for part in batches(names, GROUPS_PER_REQUEST):
                found.update(self._offsets(node, part))
        return found

    def _connect(self) -> RequestClient:
        if self._client is None:
            from assignor.cluster.request_client import RequestClient

            self._client = RequestClient(self._settings)
        return self._client

    def _describe(
        self, client: RequestClient, kind: str, states: Mapping[str, str], counts: Mapping[str, int]
    ) -> Iterator[GroupDescription]:
        from assignor.cluster.messages import ShareGroupDescribeRequest, StreamsGroupDescribeRequest
        from assignor.cluster.request_client import error_name

        request, oldest = (ShareGroupDescribeRequest, 1) if kind == "share" else (StreamsGroupDescribeRequest, 0)
        for names in batches(sorted(states), GROUPS_PER_REQUEST):
            found = {name: GroupDescription(name, kind, states[name]) for name in names}
            for node, part in self._by_coordinator(client, found).items():
                try:
                    answer = client.ask(f"describe {kind} groups", request(group_ids=part, min_version=oldest), node)
                except AssignorError as error:
                    for name in part:
                        found[name].problem = str(error)
                    continue
                for each in answer.groups:
                    group = found[each.group_id]
                    group.state = each.group_state or group.state
                    if each.error_code:
                        group.problem = f"cannot describe it: {each.error_message or error_name(each.error_code)}"
                    elif kind == "share":
                        _read_share(group, each)
                    else:
                        _read_streams(group, each, counts)
            yield from found.values()

    def _by_coordinator(self, client: RequestClient, found: Mapping[str, GroupDescription]) -> dict[int, list[str]]:
        """Return the ids of groups by the id of their coordinator; a group without one gets a problem."""
        by_node: dict[int, list[str]] = defaultdict(list)
        try:
            coordinators = client.coordinators(found)
        except AssignorError as error:
            coordinators = dict.fromkeys(found, str(error))
        for name, group in found.items():
            node = coordinators.get(name, "the broker did not name its coordinator")
            if isinstance(node, str):
                group.problem = node
            else:
                group.coordinator = node
                self._nodes[name] = node[0]
                by_node[node[0]].append(name)
        return by_node

    def _offsets(self, node: int, names: Sequence[str]) -> Iterator[tuple[tuple[str, str, int], ShareOffset]]:
        from assignor.cluster.messages import DescribeShareGroupOffsetsRequest
        from assignor.cluster.request_client import error_name

        named = [
            DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None)
            for name in names
        ]
        try:
            answer = self._connect().ask(
                "read the offsets of share groups", DescribeShareGroupOffsetsRequest(groups=named), node
            )
        except AssignorError as error:
            self.problems += [(name, str(error)) for name in names]
            return
        for group in answer.groups:
            if group.error_code:
                text = group.error_message or error_name(group.error_code)
                self.problems.append((group.group_id, f"cannot read its start offsets: {text}"))
            for topic in group.topics:
                for each in topic.partitions:
                    if each.error_code:
                        text = each.error_message or error_name(each.error_code)
                        place = f"{topic.topic_name}-{each.partition_index}"
                        self.problems.append((group.group_id, f"cannot read the start offset of {place}: {text}"))
                        continue
                    key = (group.group_id, topic.topic_name, each.partition_index)
                    yield key, ShareOffset(_known(each.start_offset), _known(each.lag))


def _known(value: int) -> int | None:
    return None if value < 0 else value


def _read_share(group: GroupDescription, answer: Any) -> None:
    """Fill in a share group. Its members have no instance ids and no target of their own."""
    group.protocol = answer.assignor_name
    for member in answer.members:
        assigned = [
            (topic.topic_name, partition)
            for topic in member.assignment.topic_partitions
            for partition in topic.partitions
        ]
        subscription = MemberSubscription(tuple(member.subscribed_topic_names), member.rack_id)
        group.members.append(
            MemberDescription(
                member.member_id,
                None,
                subscription,
                assigned,
                client_id=member.client_id,
                client_host=member.client_host,
            )
        )


def _read_streams(group: GroupDescription, answer: Any, counts: Mapping[str, int]) -> None:
    """Fill in a streams group.

    A member owns the partitions that its active tasks read: partition n of each source topic of the subtopology for
    task n, if the topic has that partition.
    """
    topology = answer.topology
    sources: dict[str, list[str]] = {}
    for part in (topology and topology.subtopologies) or ():
        internal = [topic.name for topic in part.repartition_source_topics]
        sources[part.subtopology_id] = [*part.source_topics, *internal]
    topics = tuple(sorted({name for names in sources.values() for name in names}))
    for member in answer.members:
        active, standby, warmup = (
            [(task.subtopology_id, partition) for task in tasks for partition in task.partitions]
            for tasks in (
                member.assignment.active_tasks,
                member.assignment.standby_tasks,
                member.assignment.warmup_tasks,
            )
        )
        assigned = {
            (topic, partition)
            for subtopology, partition in active
            for topic in sources.get(subtopology, ())
            if partition < counts.get(topic, partition + 1)
        }
        group.members.append(
            MemberDescription(
                member.member_id,
                member.instance_id,
                MemberSubscription(topics, member.rack_id) if sources else NO_TOPOLOGY,
                sorted(assigned),
                client_id=member.client_id,
                client_host=member.client_host,
                tasks=MemberTasks(member.process_id, _names(active), _names(standby), _names(warmup)),
            )
        )


def _names(tasks: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    """Return the names of tasks as Kafka writes them, in the order of their subtopologies and partitions."""
    return tuple(f"{subtopology}_{partition}" for subtopology, partition in sorted(tasks))
