"""What happened to groups: replay of `__consumer_offsets` as events, their text, and the watch of a live cluster."""

from assignor.replay.machine import Replay

__all__ = ["Replay"]
