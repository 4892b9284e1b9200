"""The broker's side of the classic group protocol: group states and a sans-io coordinator of many groups.

`coordinator.py` receives each call and its time, and passes a request to its handler in `joining.py`, `membership.py`
or `committing.py`. The handler looks the answer up in the tables of `state.py`, changes the group (`group.py`,
`members.py`), and may start or end a phase of a rebalance in `rebalancing.py`. `causes.py` explains rebalances.
`context.py` holds the state that all handlers share, and collects the effects.
"""

from assignor.coordinator.causes import Rebalance, RebalanceCause
from assignor.coordinator.context import Answer, CoordinatorConfig, Effects, LogRecord, Write
from assignor.coordinator.coordinator import Coordinator
from assignor.coordinator.requests import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetToCommit,
    SyncGroupRequest,
)
from assignor.coordinator.responses import (
    DeleteGroupResponse,
    DescribedMember,
    GroupDescription,
    HeartbeatResponse,
    JoinGroupMember,
    JoinGroupResponse,
    LeaveGroupResponse,
    LeavingMemberResponse,
    OffsetCommitResponse,
    PartitionResponse,
    SyncGroupResponse,
)
from assignor.coordinator.state import ErrorCode, GroupState

__all__ = [
    "Answer",
    "Coordinator",
    "CoordinatorConfig",
    "DeleteGroupResponse",
    "DescribedMember",
    "Effects",
    "ErrorCode",
    "GroupDescription",
    "GroupState",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "JoinGroupMember",
    "JoinGroupRequest",
    "JoinGroupResponse",
    "LeaveGroupRequest",
    "LeaveGroupResponse",
    "LeavingMember",
    "LeavingMemberResponse",
    "LogRecord",
    "OffsetCommitRequest",
    "OffsetCommitResponse",
    "OffsetToCommit",
    "PartitionResponse",
    "Rebalance",
    "RebalanceCause",
    "SyncGroupRequest",
    "SyncGroupResponse",
    "Write",
]
