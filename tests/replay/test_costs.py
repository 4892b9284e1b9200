"""Costs of rebalances: which partitions pause, for how long, and where the log shows no duration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor.costs import rebalance_costs
from assignor.replay.complete_costs import with_costs
from tests.replay.event_logs import replayed
from tests.replay.logs import CONSUMER, classic, classic_gone, commit, log, member, metadata
from tests.support.record_bytes import subscription

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.replay.logs import Event as Record

Event = dict[str, Any]

A, B = member("a", ["t"], {"t": [0, 1]}), member("b", ["t"], {"t": [2, 3]})
ALL = member("a", ["t"], {"t": [0, 1, 2, 3]})
WANTS = {"subscribedTopicNames": ["t"]}
OWNS_BOTH = [
    CONSUMER.joins("a", **WANTS),
    CONSUMER.epoch(1),
    CONSUMER.target_of("a", {"t": [0, 1]}),
    CONSUMER.target_epoch(1),
    CONSUMER.has("a", 1, 0, {"t": [0, 1]}),
]
"""Records of a consumer group whose only member has both partitions."""
BEGIN = [classic(0, protocol_type=""), classic(1, A, B)]


def commits(
    begin: int, end: int, ids: Sequence[int] = (0, 1, 2, 3), step: int = 1_000, topic: str = "t"
) -> Iterator[Record]:
    """Yield commits of partitions from a time to another one."""
    for time in range(begin, end + 1, step):
        for id in ids:
            yield commit(topic, id, offset=time).at(time)


def rebalances(*records: Record, rows: Sequence[dict[str, Any]] = ()) -> list[Event]:
    """Return the rebalances of a log after the first one, with their whole costs."""
    first = [each.at(each.time if each.time is not None else 0) for each in records]
    events, _ = replayed({"g": log(first)}, rows)
    found = [event for event in with_costs(events) if event["event"] == "rebalance"]
    return sorted(found, key=lambda event: event["offset"])[1:]


def pauses(event: Event) -> tuple[Any, ...]:
    return tuple(event[name] for name in ("paused", "partition_ms", "lost_ms", "unknown_pauses", "open_pauses"))


def test_an_eager_rebalance_stops_all_partitions() -> None:
    [found] = rebalances(*BEGIN, *commits(1_000, 10_000), classic(2, ALL).at(12_000), *commits(15_000, 16_000))

    assert (4, 4) == (found["revoked"], found["assigned"])
    assert (4, 4 * 5_000, 4 * 4_000, 0, 0) == pauses(found)
    assert (10_000, 15_000, False) == (found["pause_since"], found["pause_until"], found["cost_open"])
    assert [("a", 2, 4, 4, 20_000), ("b", 2, 0, None, None)] == [
        tuple(each[name] for name in ("member", "revoked", "assigned", "paused", "partition_ms"))
        for each in found["member_costs"]
    ]


def cooperative(member_id: str, owned: Sequence[int], gets: Sequence[int]) -> dict[str, Any]:
    claims = {"t": list(owned)} if owned else {}
    return member(member_id, subscription("t", owned=claims), {"t": list(gets)} if gets else {})


def test_a_cooperative_rebalance_stops_the_partitions_that_move_and_its_second_one_costs_nothing() -> None:
    """The member commits the partition for the last time after the record of the rebalance that takes it."""
    first, second = rebalances(
        classic(0, protocol_type=""),
        classic(1, cooperative("a", [], [0, 1]), protocol="cooperative-sticky"),
        *commits(1_000, 10_000, [0, 1]),
        classic(2, cooperative("a", [0, 1], [0]), cooperative("b", [], []), protocol="cooperative-sticky").at(10_500),
        *commits(10_600, 10_600, [1]),
        classic(3, cooperative("a", [0], [0]), cooperative("b", [], [1]), protocol="cooperative-sticky").at(11_000),
        *commits(11_000, 11_000, [0]),
        *commits(13_600, 13_600, [1]),
    )

    assert (1, 0, 1, 3_000, 2_000) == tuple(
        first[name] for name in ("revoked", "assigned", "paused", "partition_ms", "lost_ms")
    )
    assert (0, 1, None, 0) == tuple(second[name] for name in ("revoked", "assigned", "paused", "unknown_pauses"))


def test_a_pause_over_several_rebalances_counts_once_for_the_first_one() -> None:
    found = rebalances(
        *BEGIN,
        *commits(1_000, 10_000),
        classic(2, ALL).at(11_000),
        classic(3, A, B).at(13_000),
        classic(4, ALL).at(14_000),
        *commits(16_000, 16_000),
    )

    assert [4, None, None] == [event["paused"] for event in found]
    assert [4 * 6_000, None, None] == [event["partition_ms"] for event in found]
    assert [(4, 4)] * 3 == [(event["revoked"], event["assigned"]) for event in found]
    [total] = rebalance_costs(found).groups.to_pylist()
    assert (3, 6_000, 24_000, 20_000) == tuple(
        total[name] for name in ("rebalances", "pause_ms", "partition_ms", "lost_ms")
    )


@pytest.mark.parametrize(
    ("what", "records", "expected"),
    [
        (
            "no commits for long before",
            [
                *commits(1_000, 10_000),
                *commits(11_000, 90_000, [0]),
                classic(2, ALL).at(90_500),
                *commits(92_000, 92_000),
            ],
            (1, 2_000, 1_000, 3, 0),
        ),
        (
            "nothing to commit after",
            [*commits(1_000, 10_000), classic(2, ALL).at(10_500), *commits(12_000, 60_000, [0, 1, 2])],
            (3, 6_000, 3_000, 0, 1),
        ),
        (
            "nothing to commit for a while after",
            [
                *commits(1_000, 10_000),
                classic(2, ALL).at(10_500),
                *commits(12_000, 60_000, [0, 1, 2]),
                *commits(61_000, 61_000),
            ],
            (3, 6_000, 3_000, 1, 0),
        ),
        (
            "commits once in a minute",
            [*commits(0, 600_000, step=60_000), classic(2, ALL).at(630_000), *commits(660_000, 660_000)],
            (4, 240_000, 0, 0, 0),
        ),
        (
            "a deleted partition",
            [
                *commits(1_000, 10_000),
                classic(2, ALL).at(10_500),
                commit("t", 3, offset=None).at(10_600),
                *commits(12_000, 12_000, [0, 1, 2]),
            ],
            (3, 6_000, 3_000, 1, 0),
        ),
        (
            "the log ends in the pause",
            [*commits(1_000, 10_000), classic(2, ALL).at(10_500)],
            (None, None, None, 0, 4),
        ),
        ("no commits", [classic(2, ALL).at(10_500)], (None, None, None, 4, 0)),
        (
            "few commits before",
            [*commits(9_000, 10_000), classic(2, ALL).at(10_500), *commits(12_000, 12_000)],
            (4, 8_000, None, 0, 0),
        ),
        (
            "the group was deleted",
            [*commits(1_000, 10_000), classic(2, ALL).at(10_500), classic_gone().at(11_000), *commits(90_000, 90_000)],
            (None, None, None, 4, 0),
        ),
        (
            "a member that commits nothing for longer than a join phase can take",
            [
                classic(2, {**A, "rebalanceTimeout": 60_000}, {**B, "rebalanceTimeout": 60_000}).at(500),
                *commits(1_000, 10_000),
                *commits(11_000, 119_000, [0, 1]),
                classic(3, {**A, "rebalanceTimeout": 60_000}, {**B, "rebalanceTimeout": 60_000}).at(119_500),
            ],
            (None, None, None, 2, 2),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_pause_is_known_only_if_the_log_shows_it(
    what: str, records: Sequence[Record], expected: tuple[Any, ...]
) -> None:
    found = next(event for event in rebalances(*BEGIN, *records) if event["at"] > 1_000)

    assert expected == pauses(found), what


def test_the_commits_of_a_dead_member_end_before_its_session_does() -> None:
    timeouts = {"sessionTimeout": 45_000, "rebalanceTimeout": 60_000}
    [_, found] = rebalances(
        *BEGIN,
        classic(2, {**A, **timeouts}, {**B, **timeouts}).at(1_000),
        *commits(1_100, 10_100),
        *commits(11_100, 55_100, [0, 1]),
        classic(3, {**ALL, **timeouts}).at(55_500),
        *commits(56_100, 56_100),
    )

    assert (4, 2 * 1_000 + 2 * 46_000, 2 * 45_000, 0, 0) == pauses(found)


def test_the_time_without_members_is_no_pause() -> None:
    empty, back = rebalances(
        *BEGIN,
        *commits(1_000, 10_000),
        classic(2).at(10_500),
        classic(3, A, B).at(3_610_500),
        *commits(3_611_000, 3_611_000),
    )

    assert (4, 0, 4, 4_000) == tuple(empty[name] for name in ("revoked", "assigned", "paused", "partition_ms"))
    assert (0, 4, None) == tuple(back[name] for name in ("revoked", "assigned", "paused"))


def test_a_topic_without_subscription_has_no_pause() -> None:
    both = member("a", ["t", "u"], {"t": [0], "u": [0]})
    [found, _] = rebalances(
        classic(0, protocol_type=""),
        classic(1, both),
        *commits(1_000, 10_000, [0]),
        *commits(10_001, 10_001, [0], topic="u"),
        classic(2, member("a", ["t"], {"t": [0]})).at(10_500),
        *commits(12_000, 12_000, [0]),
        classic(3, both).at(13_000),
        *commits(99_000, 99_000, [0], topic="u"),
    )

    assert (1, 2_000, 1_000, 1, 0) == pauses(found)


def test_a_consumer_group_has_the_times_of_its_epochs_and_pauses_of_what_moves() -> None:
    [found] = rebalances(
        *OWNS_BOTH,
        *commits(1_000, 10_000, [0, 1]),
        CONSUMER.joins("b", **WANTS).at(10_400),
        CONSUMER.epoch(2).at(10_400),
        CONSUMER.target_of("a", {"t": [0]}).at(10_450),
        CONSUMER.target_of("b", {"t": [1]}).at(10_450),
        CONSUMER.target_epoch(2).at(10_450),
        CONSUMER.has("b", 2, 2, {}).at(10_500),
        CONSUMER.has("a", 1, 1, {"t": [0]}, t=[1]).at(10_600),
        *commits(10_700, 10_700, [0, 1]),
        CONSUMER.has("a", 2, 0, {"t": [0]}).at(10_800),
        CONSUMER.has("b", 2, 0, {"t": [1]}).at(11_000),
        *commits(11_700, 11_700, [0]),
        *commits(13_700, 13_700, [1]),
        rows=metadata({0: {"t": 2}}),
    )

    assert (1, 1, 50) == (found["revoked"], found["assigned"], found["target_ms"])
    assert (1, 3_000, 2_000, 0, 0) == pauses(found)
    assert {"a": 400, "b": 100} == {each["member"]: each["epoch_ms"] for each in found["member_costs"]}
    [total] = rebalance_costs([found]).groups.to_pylist()
    assert (50, 400) == (total["target_ms"], total["epoch_ms"])


@pytest.mark.parametrize(
    ("what", "alone", "expected"),
    [
        ("it commits the partition that it keeps right after", 10_000, (1, 16_000, 15_000, 0, 0)),
        ("it had committed the other one alone for long before", 30_000, (None, None, None, 1, 0)),
    ],
)
def test_a_member_that_is_slow_to_give_up_partitions_was_not_idle(
    what: str, alone: int, expected: tuple[Any, ...]
) -> None:
    """The member commits nothing for 12 seconds, then what it keeps, and then says that it gave up the other one."""
    [found] = rebalances(
        *OWNS_BOTH,
        *commits(1_000, 10_000, [0, 1]),
        *commits(11_000, alone, [0]),
        CONSUMER.joins("b", **WANTS).at(alone + 400),
        CONSUMER.epoch(2).at(alone + 400),
        CONSUMER.target_of("a", {"t": [0]}).at(alone + 400),
        CONSUMER.target_of("b", {"t": [1]}).at(alone + 400),
        CONSUMER.target_epoch(2).at(alone + 400),
        CONSUMER.has("b", 2, 2, {}).at(alone + 500),
        CONSUMER.has("a", 1, 1, {"t": [0]}, t=[1]).at(alone + 600),
        *commits(alone + 12_000, alone + 13_000, [0]),
        CONSUMER.has("a", 2, 0, {"t": [0]}).at(alone + 13_100),
        CONSUMER.has("b", 2, 0, {"t": [1]}).at(alone + 13_200),
        *commits(alone + 16_000, alone + 16_000, [1]),
        rows=metadata({0: {"t": 2}}),
    )

    assert expected == pauses(found), what


def test_costs_are_sums_of_events_of_a_running_replay_too() -> None:
    records = log([*BEGIN, *commits(1_000, 10_000), classic(2, ALL).at(12_000), *commits(15_000, 16_000)])
    events, _ = replayed({"g": records})
    [cost] = [event for event in events if event["event"] == "cost"]

    assert (12_000, "cost", 15_000) == (cost["rebalance_at"], cost["event"], cost["at"])
    for name, table in rebalance_costs(events)._asdict().items():
        assert table.equals(getattr(rebalance_costs(with_costs(events)), name)), name
