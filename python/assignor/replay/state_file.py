"""State file of a watch: when it is written, and whether a watch can continue from it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from assignor.cluster.log import TOPIC
from assignor.errors import SnapshotError
from assignor.replay import watch_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from assignor.replay.watch_state import WatchState
    from assignor.replay.watcher import Watcher

CHANGED_SECONDS = 1.0
"""Shortest time between two writes after events; a killed process loses the state of this time."""

UNCHANGED_SECONDS = 10.0
"""Time between two writes without events."""


class StateFile:
    """State file of a watch, or no file.

    Args:
        path: The file; None for no file.
        groups: Group ids that are watched; empty for all.
        notice: Function that gets a sentence if the file cannot be written while the watch goes on.
        clock: Function that returns seconds.

    Attributes:
        state: State from which the watch continues; None if there is no file yet.

    Raises:
        SnapshotError: The file is damaged, of another version, or of other groups.
    """

    def __init__(
        self,
        path: Path | None,
        groups: Sequence[str],
        notice: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.state: WatchState | None = watch_state.load(path) if path else None
        self._path = path
        self._notice = notice
        self._clock = clock
        self._written = clock()
        self._is_changed = False
        self._is_writable = True
        if self.state is not None and set(self.state.groups) != set(groups):
            given = ", ".join(self.state.groups) or "all groups"
            raise SnapshotError(
                f"cannot continue from {path}: it is the state of {given}; give the same --group options"
            )

    def starts(self, bounds: Mapping[int, tuple[int, int]], cluster_id: str, address: str) -> dict[int, int]:
        """Return the offset of each partition of the log from which to read.

        Args:
            bounds: First offset of each partition, and the offset after its last record.
            cluster_id: Id of the cluster.
            address: Address of the cluster, for errors.

        Raises:
            SnapshotError: The state is of another cluster or log.
        """
        state = self.state
        if state is None:
            return {id: start for id, (start, _) in bounds.items()}
        if state.cluster_id != cluster_id:
            raise SnapshotError(
                f"cannot continue from {self._path}: it is the state of cluster {state.cluster_id}, "
                f"and {address} is cluster {cluster_id}; use one file per cluster"
            )
        known = state.positions
        for id, (start, end) in bounds.items():
            if known.get(id, start) > end:
                raise SnapshotError(
                    f"cannot continue from {self._path}: it continues partition {id} of {TOPIC} at "
                    f"offset {known[id]}, but the log ends at {end}; delete the file to start with the present state"
                )
            if known.get(id, start) < start:
                lost = f"{start - known[id]:,} offsets of partition {id} of {TOPIC}"
                self._notice(f"{lost} were deleted since the state was saved; their events are missing")
        return {id: max(start, known.get(id, start)) for id, (start, _) in bounds.items()}

    def write_if_due(self, watcher: Watcher, cluster_id: str, *, is_changed: bool) -> None:
        """Write the state if it is due. A full disk does not end the watch.

        Args:
            watcher: The watcher.
            cluster_id: Id of the cluster.
            is_changed: True if events were reported since the last call.
        """
        self._is_changed |= is_changed
        if self._clock() - self._written < (CHANGED_SECONDS if self._is_changed else UNCHANGED_SECONDS):
            return
        try:
            self.write(watcher, cluster_id)
            self._is_writable = True
        except OSError as error:
            if self._is_writable:
                self._notice(f"{error}; the watch continues without saving")
            self._is_writable = False
        self._written, self._is_changed = self._clock(), False

    def write(self, watcher: Watcher, cluster_id: str) -> None:
        """Write the state, if there is a file and the state is complete.

        Raises:
            OSError: The file cannot be written.
        """
        if self._path is None or watcher.is_silent:
            return
        try:
            watch_state.save(self._path, watcher.state(cluster_id))
        except OSError as error:
            raise OSError(f"cannot write {self._path}: {error.strerror or error}") from error
