"""When the state of a watch is written, and what is forgotten of groups that are gone."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assignor.cluster.log import LogEnd
from assignor.errors import SnapshotError
from assignor.lag import GROUP_LAG
from assignor.replay import watch_state
from assignor.replay.lag_history import LagHistory
from assignor.replay.state_file import CHANGED_SECONDS, UNCHANGED_SECONDS, StateFile
from assignor.replay.watch_state import WatchState
from assignor.replay.watcher import FORGOTTEN_MS, MARGIN_MS, Watcher
from tests.live.test_watcher import batch, commit, generation, record, started
from tests.support.record_bytes import write_record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Writing:
    """State file with a clock that the test sets, and the number of writes."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 100.0
        self.writes = 0
        self.notices: list[str] = []
        self.watcher = started()
        self.file = StateFile(path, (), self.notices.append, lambda: self.seconds)
        self._save = watch_state.save
        monkeypatch.setattr(watch_state, "save", self._count)

    def _count(self, path: Path, state: WatchState) -> None:
        self.writes += 1
        self._save(path, state)

    def after(self, seconds: float, *, is_changed: bool) -> int:
        """Return the number of writes so far, some seconds later."""
        self.seconds += seconds
        self.file.write_if_due(self.watcher, "cluster", is_changed=is_changed)
        return self.writes


def test_the_state_is_written_at_most_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writing = Writing(tmp_path / "state", monkeypatch)

    counts = [writing.after(0.1, is_changed=True) for _ in range(35)]

    assert 3 == counts[-1]
    assert 0 == counts[8]


def test_an_event_is_saved_a_second_later_without_further_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = Writing(tmp_path / "state", monkeypatch)

    assert [0, 0] == [writing.after(0.1, is_changed=is_changed) for is_changed in (True, False)]
    assert 1 == writing.after(CHANGED_SECONDS, is_changed=False)
    assert 1 == writing.after(UNCHANGED_SECONDS - 0.1, is_changed=False)
    assert 2 == writing.after(0.1, is_changed=False)


def test_a_full_disk_is_a_notice_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writing = Writing(tmp_path / "state", monkeypatch)

    def full(*_: Any) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(watch_state, "save", full)
    for _ in range(3):
        writing.after(2, is_changed=True)

    assert [
        f"cannot write {tmp_path / 'state'}: No space left on device; the watch continues without saving"
    ] == writing.notices


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "not JSON": lambda _: "[",
    "no object": lambda _: [],
    "a missing key": lambda head: {name: value for name, value in head.items() if name != "clocks"},
    "a partition that is no number": lambda head: head | {"positions": {"x": 1}},
    "an offset that is text": lambda head: head | {"positions": {"0": "1"}},
    "an offset beyond int64": lambda head: head | {"positions": {"0": 2**63}},
    "a clock of three numbers": lambda head: head | {"clocks": {"0": [1, 2, 3]}},
    "conditions of another form": lambda head: head | {"conditions": {"g": {}}},
    "loops of another form": lambda head: head | {"loops": [{"group": 7}]},
    "too few bytes of topics": lambda head: head | {"topics_bytes": 10},
    "a negative size": lambda head: head | {"topics_bytes": -5},
}
"""Changes of the line of JSON in a state file."""


@pytest.mark.parametrize("change", CHANGES)
def test_invalid_content_with_a_right_checksum_is_damage(change: str) -> None:
    _, _, rest = started().state("cluster").to_bytes().partition(b"\n")
    head, _, binary = rest.partition(b"\n")

    def restored(line: str | bytes) -> Watcher:
        content = (line.encode() if isinstance(line, str) else line) + b"\n" + binary
        first = f"assignor watch state, version {watch_state.VERSION}, sha256 {hashlib.sha256(content).hexdigest()}\n"
        return Watcher(state=WatchState.from_bytes(first.encode() + content))

    changed = CHANGES[change](json.loads(head))
    assert restored(head).positions == started().positions
    with pytest.raises(SnapshotError, match=r"^(it|the snapshot) is damaged: its content is invalid$|not a snapshot"):
        restored(changed if isinstance(changed, str) else json.dumps(changed))


def test_without_a_file_nothing_is_written(tmp_path: Path) -> None:
    file = StateFile(None, (), pytest.fail)

    file.write(started(), "cluster")

    assert file.state is None
    assert [] == list(tmp_path.iterdir())


# ---- groups that are gone


def deleted(at: int, **given: Any) -> Watcher:
    """Return a watcher of a group that is deleted at a time, and of another one."""
    watcher = started(**given)
    rows = [
        generation(0, 1_000, 1),
        commit(1, 1_500),
        commit(2, 1_500, group="stays"),
        record(3, at, 3, write_record(1, {"group": "billing", "topic": "orders", "partition": 0})),
        record(4, at, 3, write_record(2, {"group": "billing"})),
    ]
    watcher.push(batch(*rows), {3: 5}, received=at)
    return watcher


def groups(watcher: Watcher) -> list[str]:
    return [found.group for found in watcher.summaries()]


def at(watcher: Watcher, now: int) -> Watcher:
    """Return the watcher with its clock at a time."""
    watcher.settle({3: LogEnd(5, 5)}, now + MARGIN_MS)
    return watcher


@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_group_is_forgotten_a_day_after_its_last_tombstone(is_restarted: bool) -> None:
    watcher = at(deleted(2_000), 2_000 + FORGOTTEN_MS - 1)
    assert [] == watcher.forget_gone()
    if is_restarted:
        watcher = Watcher(state=WatchState.from_bytes(watcher.state("c").to_bytes()))
    assert {"billing", "stays"} == set(groups(watcher))

    assert ["billing"] == at(watcher, 2_000 + FORGOTTEN_MS).forget_gone()

    assert ["stays"] == groups(watcher)
    assert "billing" not in watcher.conditions.groups
    assert b"billing" not in watcher.state("c").to_bytes()
    assert [] == watcher.forget_gone()


def test_a_group_that_lives_again_is_kept() -> None:
    watcher = deleted(2_000)
    watcher.push(batch(generation(5, 3_000, 1)), {3: 6}, received=3_000)

    assert [] == at(watcher, 9 * FORGOTTEN_MS).forget_gone()
    assert {"billing", "stays"} == set(groups(watcher))


def test_a_group_of_expired_offsets_is_forgotten() -> None:
    watcher = started()
    expired = record(1, 2_000, 3, write_record(1, {"group": "simple", "topic": "orders", "partition": 0}))
    watcher.push(batch(commit(0, 1_000, group="simple"), expired), {3: 5}, received=2_000)

    assert ["simple"] == at(watcher, 2_000 + FORGOTTEN_MS).forget_gone()


def test_a_new_life_of_a_forgotten_group_is_followed() -> None:
    watcher = at(deleted(2_000), 2_000 + FORGOTTEN_MS)
    watcher.forget_gone()

    found = watcher.push(batch(generation(5, 3 * FORGOTTEN_MS, 1)), {3: 6}, received=3 * FORGOTTEN_MS)

    assert ["member", "generation", "rebalance"] == [event["event"] for event in found]


def test_the_lag_of_a_forgotten_group_is_dropped() -> None:
    history = LagHistory()
    row = dict.fromkeys(GROUP_LAG.names[1:], 0)
    history.add(5, pa.Table.from_pylist([{"group_id": "a", **row}, {"group_id": "b", **row}], GROUP_LAG))

    history.forget(["a"])

    assert ["b"] == [each["group"] for each in history.rows(["a", "b"])]
