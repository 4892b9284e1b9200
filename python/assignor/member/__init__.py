"""The member of a consumer group under KIP-848: its states, and a sans-io machine to build a client on.

`state.py` has the ten states and Kafka's tables of them. `member.py` is the way in: it checks events (`events.py`) and
returns effects (`effects.py`). The state changes in `state_machine.py` only; `reconciler.py` and `heartbeat_manager.py`
do the work of one state or another and report to it.
"""

from assignor.member import effects, events
from assignor.member.member import Member
from assignor.member.messages import HeartbeatRequest, HeartbeatResponse
from assignor.member.state import MemberState

__all__ = ["HeartbeatRequest", "HeartbeatResponse", "Member", "MemberState", "effects", "events"]
