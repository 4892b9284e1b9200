"""Requests and responses that are converted to kio's entities and bytes and back keep the fields of their version."""

from __future__ import annotations

import dataclasses
import io
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from kio.serial import entity_reader, entity_writer

from assignor.coordinator import (
    DescribedMember,
    ErrorCode,
    GroupDescription,
    GroupState,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    LeavingMemberResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetToCommit,
    PartitionResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from assignor.coordinator.requests import VERSIONS
from tests.coordinator import kio_descriptions, kio_messages

if TYPE_CHECKING:
    from assignor.coordinator.requests import Request
    from assignor.coordinator.responses import Response

ORDERS = UUID(int=1)
NAMES = {ORDERS: "orders"}
IDS = {"orders": ORDERS}

REQUESTS: list[Request] = [
    JoinGroupRequest("g", "m", "consumer", (("range", b"\1"),), 500, 700, "i", "why", "client", "host"),
    SyncGroupRequest("g", 3, "m", "i", "consumer", "range", (("m", b"\2"),)),
    HeartbeatRequest("g", -1, "m", "i"),
    LeaveGroupRequest("g", (LeavingMember("m", "i", "why"),)),
    OffsetCommitRequest(
        "g", (OffsetToCommit("orders", 1, 17, "note", 4), OffsetToCommit("orders", 2, 18)), 3, "m", "i"
    ),
]
RESPONSES: list[tuple[type[Request], Response]] = [
    (
        JoinGroupRequest,
        JoinGroupResponse(ErrorCode.NONE, "m", 3, "consumer", "range", "m", (JoinGroupMember("m", "i", b"\1"),), True),
    ),
    (JoinGroupRequest, JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, "m", protocol_name="")),
    (SyncGroupRequest, SyncGroupResponse(ErrorCode.NONE, "consumer", "range", b"\2")),
    (HeartbeatRequest, HeartbeatResponse(ErrorCode.UNKNOWN_SERVER_ERROR)),
    (
        LeaveGroupRequest,
        LeaveGroupResponse(ErrorCode.NONE, (LeavingMemberResponse("m", "i", ErrorCode.FENCED_INSTANCE_ID),)),
    ),
    (OffsetCommitRequest, OffsetCommitResponse((PartitionResponse("orders", 1, ErrorCode.NONE),))),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
def test_a_request_keeps_the_fields_of_its_version(request_: Request) -> None:
    for version in VERSIONS[type(request_)]:
        sent = dataclasses.replace(request_, version=version)
        back = kio_messages.request_from_kio(
            over_the_wire(kio_messages.request_to_kio(sent, IDS)), "client", "host", NAMES
        )
        assert version == back.version
        again = kio_messages.request_from_kio(kio_messages.request_to_kio(back, IDS), "client", "host", NAMES)
        assert back == again
        lost = {name for name in fields(sent) if getattr(sent, name) != getattr(back, name)}
        if version == max(VERSIONS[type(request_)]):
            assert lost <= {"offsets"}, "only the topic's id was added"
        else:
            assert "group_id" not in lost


@pytest.mark.parametrize(("kind", "response"), RESPONSES)
def test_a_response_keeps_the_fields_of_its_version(kind: type[Request], response: Response) -> None:
    for version in VERSIONS[kind]:
        entity = kio_messages.response_to_kio(response, version, IDS)
        back = kio_messages.response_from_kio(over_the_wire(entity), NAMES)
        assert entity == kio_messages.response_to_kio(back, version, IDS)
        if version == max(VERSIONS[kind]):
            assert response == back


@pytest.mark.parametrize("version", range(7))
def test_a_description_keeps_the_fields_of_its_version(version: int) -> None:
    member = DescribedMember("m", "i" if version >= 4 else None, "client", "host", b"\1", b"\2")
    described = GroupDescription("g", GroupState.STABLE, "consumer", "range", (member,))
    missing = GroupDescription("h", GroupState.DEAD)
    answer = kio_descriptions.describe_response([described, missing], version)
    assert (described, missing) == kio_descriptions.descriptions_from_kio(over_the_wire(answer))
    assert (69 if version == 6 else 0) == int(answer.groups[1].error_code)


def fields(request: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(request)]


def over_the_wire(entity: Any) -> Any:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    back, size = entity_reader(type(entity))(buffer.getvalue(), 0)
    assert size == len(buffer.getvalue())
    return back
