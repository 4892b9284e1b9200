"""Silences of a log: which pauses are one, and that members do not count as stuck because of them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from assignor import _core
from assignor.replay import Replay
from assignor.replay.silences import Silence, silence_events
from tests.replay.logs import classic, commit, log, member

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Place = tuple[int, str, int]
"""Partition of the log, group and time of a record."""

SECOND = 1_000


def found_in(places: Iterable[Place], *, batches: int = 1) -> list[Silence]:
    """Return the silences of records, which are added in some batches of successive times."""
    finder = _core.SilenceFinder()
    ordered = sorted(places, key=lambda each: each[2])
    size = -(-len(ordered) // batches)
    found = []
    for start in range(0, len(ordered), size):
        part = ordered[start : start + size]
        random.Random(0).shuffle(part)
        columns = [
            pa.array([partition for partition, _, _ in part], pa.int32()),
            pa.array([group for _, group, _ in part], pa.string()),
            pa.array([at for _, _, at in part], pa.int64()),
        ]
        finder.add(pa.RecordBatch.from_arrays(columns, ["partition", "group_id", "timestamp"]))
        found += finder.take()
    return [Silence(since, until, tuple(partitions), is_whole) for since, until, partitions, is_whole in found]


def regular(partition: int, group: str, since: int, until: int, every: int) -> Iterator[Place]:
    yield from ((partition, group, at * SECOND) for at in range(since, until, every))


def paused(partition: int, group: str, every: int = 5, since: int = 100, until: int = 1_300) -> list[Place]:
    """Return the records of a group that pauses."""
    before = regular(partition, group, partition % every, since, every)
    return [*before, *regular(partition, group, until + partition % every, until + 200, every)]


def test_groups_that_stop_and_continue_together_show_a_silence_of_the_whole_log() -> None:
    places = [*paused(3, "a"), *paused(7, "b")]

    assert found_in(places) == [Silence(98_000, 1_302_000, (3, 7), True)]
    assert found_in(places, batches=20) == found_in(places)


def test_the_end_is_the_first_record_of_any_group() -> None:
    places = [*paused(3, "a"), *paused(7, "b"), (9, "c", 900 * SECOND)]

    assert [(each.since, each.until) for each in found_in(places)] == [(98_000, 900_000)]


@pytest.mark.parametrize(
    ("places", "why"),
    [
        (paused(3, "a"), "one group may have nothing to read"),
        ([*paused(3, "a"), (7, "b", 0), (7, "b", 99_000), (7, "b", 1_400_000)], "the other group was not regular"),
        ([*paused(3, "a"), *paused(7, "b", since=50)], "the other group had stopped before"),
        ([*paused(3, "a"), *paused(7, "b"), *regular(9, "c", 0, 1_500, 30)], "another group went on"),
        ([*paused(3, "a", until=140), *paused(7, "b", until=140)], "shorter than ten intervals"),
        ([*paused(3, "a", 1, until=108), *paused(7, "b", 1, until=108)], "shorter than 10 s"),
        ([*paused(3, "a", until=10**6)[:20], *paused(7, "b", until=10**6)[:20]], "the log ends with it"),
    ],
)
def test_other_pauses_are_no_silences(places: list[Place], why: str) -> None:
    assert found_in(places) == [], why


def test_a_partition_can_be_silent_alone() -> None:
    places = [*paused(3, "a"), *paused(3, "b"), *regular(9, "c", 0, 1_500, 5)]

    assert found_in(places) == [Silence(98_000, 1_303_000, (3,), False)]
    assert found_in([*paused(3, "a"), *paused(4, "b"), *regular(9, "c", 0, 1_500, 5)]) == []


def test_a_second_silence_is_found_after_the_groups_are_regular_again() -> None:
    def twice(partition: int, group: str) -> list[Place]:
        again = regular(partition, group, 3_000 + partition, 3_100, 5)
        return [*paused(partition, group), *again]

    found = found_in([*twice(3, "a"), *twice(7, "b")])
    assert [(each.since, each.until) for each in found] == [(98_000, 1_302_000), (1_498_000, 3_003_000)]


def test_a_silence_is_an_event_of_its_own() -> None:
    whole, part = silence_events([Silence(1, 2, (3, 7), True), Silence(5, 9, (3,), False)])

    assert (whole["at"], whole["since"], whole["until"], whole["log_partitions"]) == (2, 1, 2, None)
    assert (part["at"], part["log_partitions"], part["group"]) == (9, ["3"], None)


def stuck_events(silences: list[Silence]) -> list[int]:
    """Return the times at which a member becomes stuck that commits every second and then pauses for 1,000 s."""
    replay = Replay()
    replay.observe_silences(silences)
    first = [classic(0, protocol_type="").at(0), classic(1, member("a", ["t"], {"t": [0]})).at(0)]
    commits = [commit("t", 0, offset=at).at(at * SECOND) for at in (*range(1, 21), *range(1_020, 1_040))]
    events = [event for record in log([*first, *commits]) for event in replay.push(record)]
    events += replay.advance(1_300 * SECOND)
    return [event["at"] // SECOND for event in events if event["event"] == "stuck" and event["until"] is None]


def test_the_time_of_a_silence_does_not_count() -> None:
    assert stuck_events([]) == [30, 1_049]
    assert stuck_events([Silence(20 * SECOND, 1_020 * SECOND, (0,), True)]) == [1_049]
    assert stuck_events([Silence(25 * SECOND, 500 * SECOND, (0,), True)]) == [505, 1_049]
    # The partition of the group is not known, so only silences of the whole log apply.
    assert stuck_events([Silence(20 * SECOND, 1_020 * SECOND, (0,), False)]) == [30, 1_049]
