"""The member of a consumer group under KIP-848: its states, and a sans-io state machine for clients.

`state.py` has the ten states, and the transitions that Kafka allows. `member.py` is the entry point: it checks events
(`events.py`) and returns effects (`effects.py`). Only `state_machine.py` changes the state. `reconciler.py` reconciles
assignments, `heartbeat_manager.py` sends heartbeats; both report to the state machine.
"""

from assignor.member import effects, events
from assignor.member.member import Member
from assignor.member.messages import HeartbeatRequest, HeartbeatResponse
from assignor.member.state import MemberState

__all__ = ["HeartbeatRequest", "HeartbeatResponse", "Member", "MemberState", "effects", "events"]
