"""All groups of a coordinator, by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.coordinator.group import ClassicGroup
from assignor.coordinator.timers import Timer

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.coordinator.outbox import Outbox
    from assignor.coordinator.timers import Timers

    Fire = Callable[[Timer], None]

__all__ = ["Groups"]


class Groups(dict[str, ClassicGroup]):
    """Groups by id, and what their timers call."""

    def __init__(self, timers: Timers, outbox: Outbox) -> None:
        super().__init__()
        self._timers = timers
        self._out = outbox
        self._on_join: Fire = _unset
        self._on_sync: Fire = _unset
        self._on_session: Fire = _unset

    def call(self, on_join: Fire, on_sync: Fire, on_session: Fire) -> None:
        """Say what is called when a phase or a session ends."""
        self._on_join, self._on_sync, self._on_session = on_join, on_sync, on_session

    def create(self, group_id: str) -> ClassicGroup:
        """A new group, Empty."""
        group = self[group_id] = self.make(group_id)
        return group

    def make(self, group_id: str) -> ClassicGroup:
        """A new group that is not among the others yet."""
        join_timer, sync_timer = Timer(self._on_join, group_id), Timer(self._on_sync, group_id)
        return ClassicGroup(group_id, self._out.now, join_timer=join_timer, sync_timer=sync_timer)

    def session_timer(self, group: ClassicGroup, member_id: str) -> Timer:
        """A timer for a member's session."""
        return Timer(self._on_session, group.group_id, member_id)

    def discard(self, group: ClassicGroup) -> None:
        """Forget a group and its timers; nothing happens if another has its id by now."""
        if self.get(group.group_id) is group:
            del self[group.group_id]
            self.silence(group)

    def silence(self, group: ClassicGroup) -> None:
        """Have none of a group's timers fire."""
        self._timers.cancel(group.join_timer)
        self._timers.cancel(group.sync_timer)
        for timer in group.pending_joins.values():
            self._timers.cancel(timer)
        for member in group.members.in_any_order():
            self._timers.cancel(member.timer)


def _unset(timer: Timer) -> None:
    raise AssertionError(f"nobody said what the timer of group {timer.group_id!r} calls")
