"""The broker side of the classic group protocol: its states, and a sans-io coordinator of many groups.

`state.py` has the five states in two tables, `requests.py` and `responses.py` what members ask and are answered,
`effects.py` what a call leads to, `cause.py` why groups rebalance, `coordinator.py` the coordinator itself.
"""

from assignor.coordinator.cause import Rebalance, RebalanceCause
from assignor.coordinator.config import CoordinatorConfig
from assignor.coordinator.coordinator import Coordinator
from assignor.coordinator.effects import Answer, Effects, LogRecord, Write
from assignor.coordinator.error_codes import ErrorCode
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
from assignor.coordinator.state import GroupState

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
