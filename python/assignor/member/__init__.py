"""The member of a consumer group under KIP-848: its states, and a sans-io machine to build a client on.

`state.py` has the ten states and Kafka's tables of them, `transitions.py` the one table of this machine, `events.py`
and `effects.py` what goes in and what comes out, `member.py` the machine itself.
"""

from assignor.member import effects, events
from assignor.member.member import Member
from assignor.member.messages import HeartbeatRequest, HeartbeatResponse
from assignor.member.state import MemberState

__all__ = ["HeartbeatRequest", "HeartbeatResponse", "Member", "MemberState", "effects", "events"]
