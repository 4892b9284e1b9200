"""Answers to a consumer's requests outside the group protocol, for one broker whose topics have no records.

Each topic has a given number of partitions, all on this broker. Nothing is ever produced: a fetch returns no records.
"""

from __future__ import annotations

import datetime
import functools
import uuid
from typing import TYPE_CHECKING, Any

from kio.schema.errors import ErrorCode

from assignor import TopicPartition
from tests.coordinator.kio_messages import nested_entity, response_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Committed = Callable[[str], Mapping[TopicPartition, Any]]

__all__ = ["GROUP_APIS", "OLD_VERSIONS", "VERSIONS", "Answers", "topic_id"]

NODE = 1

GROUP_APIS = {8: "offset_commit", 11: "join_group", 12: "heartbeat", 13: "leave_group", 14: "sync_group"}
"""Methods of the coordinator by API number."""

_OTHER_APIS = {
    1: "fetch",
    2: "list_offsets",
    3: "metadata",
    9: "offset_fetch",
    10: "find_coordinator",
    18: "api_versions",
}

VERSIONS: Mapping[int, range] = {
    1: range(4, 13),
    2: range(1, 8),
    3: range(13),
    8: range(2, 11),
    9: range(1, 10),
    10: range(5),
    11: range(10),
    12: range(5),
    13: range(6),
    14: range(6),
    18: range(5),
}
"""Supported versions: for the group protocol those of a 4.3.1 broker; Fetch and OffsetFetch only without topic ids."""

OLD_VERSIONS: Mapping[int, range] = {
    1: range(4, 7),
    2: range(1, 3),
    3: range(6),
    8: range(2, 4),
    9: range(1, 4),
    10: range(2),
    11: range(3),
    12: range(2),
    13: range(2),
    14: range(2),
    18: range(2),
}
"""Versions of a broker 1.0: no flexible fields, no static members, and a new member gets its id with its join."""


def topic_id(name: str) -> uuid.UUID:
    """Return the id of a topic, which is the same in every server."""
    return uuid.uuid5(uuid.NAMESPACE_DNS, name)


class Answers:
    """Answers of one broker.

    Args:
        port: Port of the broker on 127.0.0.1.
        topics: Partition count by topic; read for each request.
        committed: Returns a group's committed offsets.
        versions: Supported versions by API number.
    """

    def __init__(
        self, port: int, topics: Mapping[str, int], committed: Committed, versions: Mapping[int, range]
    ) -> None:
        self._port = port
        self._topics = topics
        self._committed = committed
        self._versions = versions

    def answer(self, api: int, request: Any) -> Any:
        """Answer a request, in its own version."""
        make = functools.partial(nested_entity, response_class, _OTHER_APIS[api], request.__version__)
        fields = getattr(self, f"_{_OTHER_APIS[api]}")(request, make)
        return make("", **{"throttle_time": datetime.timedelta(0), "error_code": ErrorCode.none} | fields)

    def unknown_version(self) -> Any:
        """Return the answer to ApiVersions in an unknown version: the oldest answer, with an error."""
        make = functools.partial(nested_entity, response_class, "api_versions", 0)
        return make("", error_code=ErrorCode.unsupported_version, **self._api_versions(None, make))

    def _api_versions(self, request: Any, make: Any) -> dict[str, Any]:
        del request
        keys = (
            make("ApiVersion", api_key=api, min_version=versions[0], max_version=versions[-1])
            for api, versions in self._versions.items()
        )
        return {"api_keys": tuple(keys)}

    def _metadata(self, request: Any, make: Any) -> dict[str, Any]:
        everything = request.topics is None or (request.__version__ == 0 and not request.topics)
        asked = (
            list(self._topics) if everything else [self._name_of(topic.name, topic) for topic in request.topics or ()]
        )
        return {
            "brokers": (make("MetadataResponseBroker", node_id=NODE, host="127.0.0.1", port=self._port),),
            "cluster_id": "loopback",
            "controller_id": NODE,
            "topics": tuple(self._topic(name, make) for name in asked),
        }

    def _name_of(self, name: str | None, topic: Any) -> str:
        if name is not None:
            return name
        return next((known for known in self._topics if topic_id(known) == topic.topic_id), "")

    def _topic(self, name: str, make: Any) -> Any:
        known = name in self._topics
        partitions = (
            make(
                "MetadataResponsePartition",
                error_code=ErrorCode.none,
                partition_index=index,
                leader_id=NODE,
                leader_epoch=0,
                replica_nodes=(NODE,),
                isr_nodes=(NODE,),
            )
            for index in range(self._topics.get(name, 0))
        )
        return make(
            "MetadataResponseTopic",
            error_code=ErrorCode.none if known else ErrorCode.unknown_topic_or_partition,
            name=name,
            topic_id=topic_id(name) if known else None,
            partitions=tuple(partitions),
        )

    def _find_coordinator(self, request: Any, make: Any) -> dict[str, Any]:
        here = {"node_id": NODE, "host": "127.0.0.1", "port": self._port, "error_message": None}
        keys = getattr(request, "coordinator_keys", ())
        found = (make("Coordinator", key=key, error_code=ErrorCode.none, **here) for key in keys)
        return here | {"coordinators": tuple(found)}

    def _list_offsets(self, request: Any, make: Any) -> dict[str, Any]:
        def one(asked: Any, known: bool) -> Any:
            return make(
                "ListOffsetsPartitionResponse",
                partition_index=asked.partition_index,
                error_code=ErrorCode.none if known else ErrorCode.unknown_topic_or_partition,
                timestamp=-1,
                offset=0,
                leader_epoch=0,
            )

        topics = (
            make("ListOffsetsTopicResponse", name=topic.name, partitions=self._each(topic.name, topic.partitions, one))
            for topic in request.topics
        )
        return {"topics": tuple(topics)}

    def _fetch(self, request: Any, make: Any) -> dict[str, Any]:
        def one(asked: Any, known: bool) -> Any:
            return make(
                "PartitionData",
                partition_index=asked.partition,
                error_code=ErrorCode.none if known else ErrorCode.unknown_topic_or_partition,
                high_watermark=asked.fetch_offset,
                last_stable_offset=asked.fetch_offset,
                log_start_offset=0,
                aborted_transactions=(),
                records=b"",
            )

        topics = (
            make("FetchableTopicResponse", topic=topic.topic, partitions=self._each(topic.topic, topic.partitions, one))
            for topic in request.topics
        )
        return {"responses": tuple(topics)}

    def _offset_fetch(self, request: Any, make: Any) -> dict[str, Any]:
        if not hasattr(request, "groups"):
            return {"topics": self._offsets(request.group_id, request.topics, make, "")}
        groups = (
            make(
                "OffsetFetchResponseGroup",
                group_id=group.group_id,
                topics=self._offsets(group.group_id, group.topics, make, "s"),
                error_code=ErrorCode.none,
            )
            for group in request.groups
        )
        return {"groups": tuple(groups)}

    def _offsets(self, group_id: str, topics: Any, make: Any, plural: str) -> tuple[Any, ...]:
        committed = self._committed(group_id)
        asked = {str(topic.name): tuple(topic.partition_indexes) for topic in topics or ()}
        if topics is None:
            for name, index in sorted(committed):
                asked[name] = (*asked.get(name, ()), index)
        wanted = [TopicPartition(name, index) for name, indexes in asked.items() for index in indexes]
        found: dict[tuple[str, int], Any] = {at: committed.get(at) for at in wanted}
        return tuple(
            make(
                f"OffsetFetchResponseTopic{plural}",
                name=name,
                partitions=tuple(
                    make(
                        f"OffsetFetchResponsePartition{plural}",
                        partition_index=index,
                        committed_offset=-1 if (stored := found[name, index]) is None else stored.offset,
                        committed_leader_epoch=-1 if stored is None else stored.leader_epoch,
                        metadata="" if stored is None else stored.metadata,
                        error_code=ErrorCode.none,
                    )
                    for index in indexes
                ),
            )
            for name, indexes in asked.items()
        )

    def _each(self, name: str, partitions: Iterable[Any], one: Callable[[Any, bool], Any]) -> tuple[Any, ...]:
        count = self._topics.get(name, 0)
        return tuple(
            one(asked, 0 <= getattr(asked, "partition_index", getattr(asked, "partition", -1)) < count)
            for asked in partitions
        )
