"""DescribeGroups and DeleteGroups, the requests of administrators, as kio's entities of any version."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from assignor.coordinator import ErrorCode, GroupDescription, GroupState
from tests.coordinator.kio_messages import (
    NO_TIME,
    fitting,
    kio_error,
    nested_entity,
    request_class,
    response_class,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

FIRST_WITHOUT_DEAD = 6
"""First version of DescribeGroups that answers with an error for a missing group."""


def describe_request(group_ids: Iterable[str], version: int) -> Any:
    """Return a DescribeGroups request."""
    fields = {"groups": tuple(group_ids), "include_authorized_operations": False}
    return fitting(request_class("describe_groups", version), fields)


def describe_response(descriptions: Iterable[GroupDescription], version: int) -> Any:
    """Return a DescribeGroups response; newer versions describe a missing group by an error."""
    nested = functools.partial(nested_entity, response_class, "describe_groups", version)
    groups = []
    for described in descriptions:
        missing = described.state is GroupState.DEAD and version >= FIRST_WITHOUT_DEAD
        if described.error_code:
            failed = {"error_code": kio_error(described.error_code), "error_message": None, "members": ()}
            shown = {"group_id": described.group_id, "group_state": "", "protocol_type": "", "protocol_data": ""}
            groups.append(nested("DescribedGroup", **failed, **shown))
            continue
        members = (
            nested(
                "DescribedGroupMember",
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata,
                member_assignment=member.assignment,
            )
            for member in described.members
        )
        groups.append(
            nested(
                "DescribedGroup",
                error_code=kio_error(ErrorCode.GROUP_ID_NOT_FOUND if missing else ErrorCode.NONE),
                error_message=f"Group {described.group_id} not found." if missing else None,
                group_id=described.group_id,
                group_state=described.state.value,
                protocol_type=described.protocol_type,
                protocol_data=described.protocol,
                members=tuple(members),
            )
        )
    return fitting(response_class("describe_groups", version), {"throttle_time": NO_TIME, "groups": tuple(groups)})


def delete_request(group_ids: Iterable[str], version: int) -> Any:
    """Return a DeleteGroups request."""
    return request_class("delete_groups", version)(groups_names=tuple(group_ids))


def delete_response(results: Iterable[tuple[str, ErrorCode]], version: int) -> Any:
    """Return a DeleteGroups response with the result for each group."""
    nested = functools.partial(nested_entity, response_class, "delete_groups", version, "DeletableGroupResult")
    given = tuple(nested(group_id=group_id, error_code=kio_error(code)) for group_id, code in results)
    return fitting(response_class("delete_groups", version), {"throttle_time": NO_TIME, "results": given})
