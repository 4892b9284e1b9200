"""Conversion of the classic group protocol's messages between kio's entities and the coordinator's dataclasses.

kio generates its classes from Kafka's message definitions, one class per message and version. A field that a version
does not carry is omitted in the entity, and gets its default in the dataclass.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import functools
import itertools
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kio.index import load_entity_module
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.static.constants import EntityType

from assignor.coordinator import (
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetToCommit,
    SyncGroupRequest,
    SyncGroupResponse,
)
from tests.coordinator.driver import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.coordinator.requests import Request
    from assignor.coordinator.responses import Response

NO_TOPICS: Mapping[Any, Any] = {}
FIRST_WITH_TOPIC_IDS = 10
"""First version of OffsetCommit that identifies topics by their ids."""

NO_TIME = datetime.timedelta(0)


@functools.cache
def request_class(message: str, version: int, name: str = "") -> Any:
    """Return kio's class of a request such as "join_group", or of an entity nested in it."""
    return _find(message, version, EntityType.request, name or f"{_camel(message)}Request")


@functools.cache
def response_class(message: str, version: int, name: str = "") -> Any:
    """Return kio's class of a response, or of an entity nested in it."""
    return _find(message, version, EntityType.response, name or f"{_camel(message)}Response")


def request_to_kio(request: Request, topic_ids: Mapping[str, UUID] = NO_TOPICS) -> Any:
    """Return a request as kio's entity of its version.

    Args:
        request: The request.
        topic_ids: Topic ids by name, for offsets without a topic id.
    """
    message, version = METHODS[type(request)], request.version
    nested = functools.partial(nested_entity, request_class, message, version)
    fields = {field.name: getattr(request, field.name) for field in dataclasses.fields(request)}
    match request:
        case JoinGroupRequest():
            assert request.rebalance_timeout_ms is not None
            fields["session_timeout"] = _duration(request.session_timeout_ms)
            fields["rebalance_timeout"] = _duration(request.rebalance_timeout_ms)
            fields["protocols"] = tuple(
                nested("JoinGroupRequestProtocol", name=name, metadata=metadata) for name, metadata in request.protocols
            )
        case SyncGroupRequest():
            fields["assignments"] = tuple(
                nested("SyncGroupRequestAssignment", member_id=member_id, assignment=assignment)
                for member_id, assignment in request.assignments
            )
        case LeaveGroupRequest():
            members = tuple(request.members)
            fields["members"] = tuple(nested("MemberIdentity", **member._asdict()) for member in members if version > 2)
            fields["member_id"] = members[0].member_id if version < 3 else ""
        case OffsetCommitRequest():
            fields["generation_id_or_member_epoch"] = request.generation_id
            fields["retention_time"] = _duration(request.retention_time_ms)
            fields["topics"] = tuple(
                nested("OffsetCommitRequestTopic", name=topic, topic_id=topic_id, partitions=tuple(partitions))
                for topic, topic_id, partitions in _offsets_by_topic(request, topic_ids, nested)
            )
    return fitting(request_class(message, version), fields)


def request_from_kio(
    entity: Any, client_id: str = "", client_host: str = "", topic_names: Mapping[UUID, str] = NO_TOPICS
) -> Request:
    """Return kio's entity of a request as a dataclass.

    Args:
        entity: Request of any version.
        client_id: Client id in the request's header.
        client_host: Host of the client.
        topic_names: Topic names by id, for versions with topic ids; an unknown topic gets the name "".
    """
    kind = next(kind for kind in METHODS if kind.__name__ == type(entity).__name__)
    it, version = with_defaults(entity), entity.__version__
    known = vars(it) | {"client_id": client_id, "client_host": client_host, "version": version}
    if kind is JoinGroupRequest:
        known["protocols"] = tuple((protocol.name, protocol.metadata) for protocol in it.protocols)
        known["session_timeout_ms"] = _milliseconds(it.session_timeout)
        timeout = it.rebalance_timeout
        known["rebalance_timeout_ms"] = None if timeout is None else _milliseconds(timeout)
    elif kind is SyncGroupRequest:
        known["assignments"] = tuple((given.member_id, given.assignment) for given in it.assignments)
    elif kind is LeaveGroupRequest:
        leaving = [with_defaults(member) for member in it.members or ()] if version > 2 else [it]
        known["members"] = [LeavingMember(each.member_id, each.group_instance_id, each.reason) for each in leaving]
    elif kind is OffsetCommitRequest:
        known["offsets"] = tuple(_offsets_from_kio(it.topics, topic_names))
        known["generation_id"] = it.generation_id_or_member_epoch
        known["retention_time_ms"] = -1 if it.retention_time is None else _milliseconds(it.retention_time)
    return kind(**{field.name: known[field.name] for field in dataclasses.fields(kind)})


def response_to_kio(response: Response, version: int, topic_ids: Mapping[str, UUID] = NO_TOPICS) -> Any:
    """Return a response as kio's entity of a version.

    Args:
        response: The response.
        version: Version of the request.
        topic_ids: Topic ids by name, for versions with topic ids.
    """
    message = METHODS[_REQUESTS[type(response)]]
    nested = functools.partial(nested_entity, response_class, message, version)
    fields: dict[str, Any] = {"throttle_time": NO_TIME}
    match response:
        case JoinGroupResponse():
            fields |= response._asdict()
            fields["members"] = tuple(
                nested("JoinGroupResponseMember", **member._asdict()) for member in response.members
            )
        case SyncGroupResponse():
            fields |= response._asdict()
        case LeaveGroupResponse():
            fields["members"] = tuple(
                nested("MemberResponse", **member._asdict()) for member in response.members if version > 2
            )
        case OffsetCommitResponse():
            fields["topics"] = tuple(
                nested(
                    "OffsetCommitResponseTopic",
                    name=topic,
                    topic_id=topic_ids.get(topic),
                    partitions=tuple(
                        nested(
                            "OffsetCommitResponsePartition",
                            partition_index=entry.partition,
                            error_code=kio_error(entry.error_code),
                        )
                        for entry in entries
                    ),
                )
                for topic, entries in itertools.groupby(response.partitions, lambda entry: entry.topic)
            )
    if not isinstance(response, OffsetCommitResponse):
        fields["error_code"] = kio_error(response.error_code)
    return fitting(response_class(message, version), fields)


def uuid_text(topic_id: UUID) -> str:
    """Return a uuid in Kafka's URL-safe base64."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def uuid_of(text: str) -> UUID:
    """Parse a uuid in Kafka's URL-safe base64."""
    return UUID(bytes=base64.urlsafe_b64decode(text + "=="))


_REQUESTS: dict[type[Response], type[Request]] = {
    JoinGroupResponse: JoinGroupRequest,
    SyncGroupResponse: SyncGroupRequest,
    HeartbeatResponse: HeartbeatRequest,
    LeaveGroupResponse: LeaveGroupRequest,
    OffsetCommitResponse: OffsetCommitRequest,
}

_ABSENT = dict.fromkeys(
    (
        "group_instance_id",
        "members",
        "name",
        "protocol_name",
        "protocol_type",
        "reason",
        "rebalance_timeout",
        "retention_time",
        "skip_assignment",
        "topic_id",
    )
)
"""Fields that some versions do not have."""


def _camel(message: str) -> str:
    return "".join(word.capitalize() for word in message.split("_"))


def _find(message: str, version: int, kind: Any, name: str) -> Any:
    return getattr(load_entity_module(message, version, kind), name)


def nested_entity(find: Any, message: str, version: int, entity: str, /, **fields: Any) -> Any:
    """Return an entity that is nested in a request or response."""
    return fitting(find(message, version, entity), fields)


@functools.cache
def _field_names(entity: Any) -> frozenset[str]:
    return frozenset(field.name for field in dataclasses.fields(entity))


def fitting(entity: Any, fields: dict[str, Any]) -> Any:
    """Return an entity with the fields that its version has."""
    return entity(**{name: value for name, value in fields.items() if name in _field_names(entity)})


def with_defaults(entity: Any) -> Any:
    """Return an entity's fields, with None for fields of other versions only."""
    return SimpleNamespace(**(_ABSENT | {name: getattr(entity, name) for name in _field_names(entity.__class__)}))


def _offsets_by_topic(request: OffsetCommitRequest, topic_ids: Mapping[str, UUID], nested: Any) -> Iterable[Any]:
    for (topic, topic_id), entries in itertools.groupby(request.offsets, lambda entry: (entry.topic, entry.topic_id)):
        yield (
            topic,
            uuid_of(topic_id) if topic_id else topic_ids.get(topic),
            [
                nested(
                    "OffsetCommitRequestPartition",
                    partition_index=entry.partition,
                    committed_offset=entry.offset,
                    committed_leader_epoch=entry.leader_epoch,
                    committed_metadata=entry.metadata,
                )
                for entry in entries
            ],
        )


def _offsets_from_kio(topics: Iterable[Any], topic_names: Mapping[UUID, str]) -> Iterable[OffsetToCommit]:
    for topic in topics:
        topic_id = getattr(topic, "topic_id", None)
        for entry in topic.partitions:
            yield OffsetToCommit(
                _topic_name(topic, topic_names),
                entry.partition_index,
                entry.committed_offset,
                entry.committed_metadata,
                getattr(entry, "committed_leader_epoch", -1),
                None if topic_id is None else uuid_text(topic_id),
            )


def _topic_name(topic: Any, topic_names: Mapping[UUID, str]) -> str:
    if hasattr(topic, "name"):
        return str(topic.name)
    return topic_names.get(topic.topic_id, "")


def kio_error(code: ErrorCode) -> KioErrorCode:
    """Return an error code as kio's."""
    return KioErrorCode(int(code))


def _duration(milliseconds: int) -> datetime.timedelta:
    return datetime.timedelta(milliseconds=milliseconds)


def _milliseconds(duration: datetime.timedelta) -> int:
    return duration // datetime.timedelta(milliseconds=1)
