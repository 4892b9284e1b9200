"""Rebalance loops: groups that go on rebalancing, and groups that rebalance often for a good reason."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from assignor.replay.group_loops import LEAST_REBALANCES, longest_pause
from assignor.replay.loops import Loops, find_loops
from tests.replay import looping_groups as groups
from tests.replay.looping_groups import DAY, HOUR, MINUTE, SECOND, START, Group

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.replay.loop import Change, Loop

SEEDS = range(8)


def drawn(seed: int, **given: Any) -> tuple[Group, random.Random]:
    """Return an empty group and the random numbers for the rest of a variant."""
    chosen = random.Random(f"variant {seed}")
    settings = {
        "cooperative": chosen.choice([0, 0, 1]),
        "hosts": chosen.random() < 0.5,
        "jitter": chosen.choice([0.0, 0.1, 0.3]),
    }
    return Group(seed, **{**settings, **given}), chosen


def only(found: list[Loop]) -> Loop:
    (loop,) = found
    return loop


def is_near(number: float, wanted: float, part: float = 0.35) -> bool:
    return abs(number - wanted) <= part * wanted + 2


# ---- loops


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_members_that_join_again_are_a_loop_at_any_pace(seed: int) -> None:
    group, chosen = drawn(seed, cooperative=0)
    interval = chosen.choice([5 * SECOND, 8.5 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE])
    members, count = chosen.randint(1, 12), chosen.randint(30, 500)

    loop = only(groups.leader_joins_again(group, members, count, interval).loops())

    assert ("same_members", START, None) == (loop.repeats, loop.since, loop.until)
    assert (count, "leader_rejoined") == (loop.rebalances, loop.cause)
    assert (1, count) == (loop.first, loop.last)
    assert is_near(loop.interval, interval)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_new_member_id_in_each_generation_is_a_loop(seed: int) -> None:
    group, chosen = drawn(seed)
    build = chosen.choice([groups.new_id_each_time, groups.one_client_without_id])
    members, count = chosen.randint(1, 6), chosen.randint(60, 400)
    interval = chosen.choice([10, 200, SECOND, 5 * SECOND, 20 * SECOND, MINUTE])
    group.cooperative = 0 if interval < 5 * SECOND else group.cooperative  # the rebalances that follow are a storm
    build(group, members, count, interval)

    loop = only(group.loops(end=group.at + HOUR))

    assert ("new_member_ids", group.records[-1].timestamp) == (loop.repeats, loop.until)
    assert abs(loop.rebalances - count * (1 + group.cooperative)) <= 4
    assert loop.restarts >= count - 10
    assert set(loop.clients) <= {"app on 10.0.0.1", *(f"app on 10.0.0.{number}" for number in range(6))}
    assert is_near(loop.restart_interval or 0, interval + SECOND * group.cooperative)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_consumer_that_is_opened_and_closed_for_ever_is_a_loop(seed: int) -> None:
    group, chosen = drawn(seed, cooperative=0)
    interval, count = chosen.uniform(0.05, 38) * SECOND, chosen.randint(25, 300)
    groups.opened_and_closed(group, count, interval, share=chosen.uniform(0.1, 0.9))

    loop = only(group.loops(end=group.at + HOUR))

    assert ("members_join_and_leave", group.records[-1].timestamp) == (loop.repeats, loop.until)
    assert (2 * count, count - 1) == (loop.rebalances, loop.restarts)
    assert group.records[0].timestamp == loop.since
    assert is_near(loop.restart_interval or 0, interval)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_of_several_members_that_joins_and_leaves_is_a_loop(seed: int) -> None:
    group, chosen = drawn(seed)
    interval, count = chosen.uniform(10, 120) * SECOND, chosen.randint(25, 200)

    loop = only(groups.one_joins_and_leaves(group, chosen.randint(2, 50), count, interval).loops())

    assert ("members_join_and_leave", None) == (loop.repeats, loop.until)
    assert loop.restarts >= count - 3


def test_a_restarted_member_is_found_in_a_deployment() -> None:
    group = groups.deployment(groups.birth(Group(), 20), 10 * SECOND)
    since = group.at
    for _ in range(60):
        group.wait(20 * SECOND).restart(group.members[-1], 20 * SECOND)

    loop = only(groups.deployment(group, 10 * SECOND).loops(end=group.at + DAY))

    assert ("members_join_and_leave", True) == (loop.repeats, loop.since >= since - 30 * SECOND)


def test_a_loop_ends_after_a_long_pause_and_can_begin_again() -> None:
    group = groups.leader_joins_again(Group(), 2, 50, 8.5 * SECOND)
    until = group.at
    group.wait(2 * HOUR)
    since = group.at + 9 * SECOND
    for _ in range(40):
        group.wait(9 * SECOND).again()

    first, second = group.loops()

    assert (START, until, 50) == (first.since, first.until, first.rebalances)
    assert (since, None, 40) == (second.since, second.until, second.rebalances)


def test_a_loop_lasts_until_its_next_rebalance_is_overdue() -> None:
    group = groups.leader_joins_again(Group(), 2, 50, 8 * SECOND)

    assert 80 * SECOND == longest_pause([8 * SECOND])
    assert only(group.loops(end=group.at + 80 * SECOND)).until is None
    assert only(group.loops(end=group.at + 80 * SECOND + 1)).until == group.at
    assert [60_000, 600_000, 900_000, 3_600_000] == [longest_pause([each]) for each in (0, 60_000, 300_000, 3_000_000)]


def test_changes_of_the_membership_do_not_end_a_loop_of_the_same_members() -> None:
    group = groups.leader_joins_again(Group(), 3, 40, 8.5 * SECOND)
    group.wait(4 * SECOND).change(joins=2)
    for _ in range(40):
        group.wait(8.5 * SECOND).again()

    loop = only(group.loops())

    assert ("same_members", 81, False) == (loop.repeats, loop.rebalances, loop.covers(group.at, ["app"]))
    assert loop.covers(group.at)


def test_a_poll_interval_that_is_exceeded_again_and_again_is_a_loop_at_a_slow_pace() -> None:
    def events(cause: str) -> list[dict[str, Any]]:
        group = groups.one_joins_and_leaves(Group(), 3, 40, 14 * MINUTE)
        return [
            {**each, "causes": [cause] if each.get("left") else each["causes"]} if "causes" in each else each
            for each in group.events()
        ]

    assert [] == find_loops(events("consumer_closed"), None)
    assert "members_join_and_leave" == only(find_loops(events("poll_interval_exceeded"), None)).repeats


# ---- no loops


def births(group: Group, chosen: random.Random) -> None:
    groups.birth(group, chosen.randint(2, 80), chosen.choice([50, SECOND, 3 * SECOND, 20 * SECOND]))


def deployments(group: Group, chosen: random.Random) -> None:
    """Restart each member once or twice, on each of some days."""
    groups.birth(group, chosen.choice([1, 2, 5, 20, 50]))
    surge, at_once, rounds = chosen.random() < 0.3, chosen.random() < 0.3, chosen.randint(1, 2)
    for _ in range(chosen.choice([1, 1, 7])):
        pause = chosen.choice([200, 3 * SECOND, 10 * SECOND, MINUTE])
        groups.deployment(group.wait(DAY), pause, rounds, surge=surge, at_once=at_once)


def jobs(group: Group, chosen: random.Random) -> None:
    """Run a job with some consumers each minute, or less often."""
    every = chosen.choice([MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, DAY])
    for number in range(chosen.randint(30, 120)):
        group.at = START + number * every + chosen.randint(0, 3 * SECOND)
        for _ in range(chosen.randint(1, 3)):
            group.wait(300).change(joins=1)
        group.wait(chosen.uniform(0.05, 0.6) * MINUTE)
        for member in list(group.members):
            group.wait(300).change(leaves=[member])


def starts_by_hand(group: Group, chosen: random.Random) -> None:
    """Start a consumer a few times a day, as a developer does."""
    for _ in range(5):
        for _ in range(chosen.randint(1, 9)):
            group.wait(chosen.uniform(5, 300) * SECOND).change(joins=1)
            group.wait(chosen.uniform(5, 900) * SECOND).change(leaves=list(group.members))
        group.wait(DAY)


def scaling(group: Group, chosen: random.Random) -> None:
    """Add and remove members, a few times a day or as often as an autoscaler does."""
    low, high = chosen.randint(1, 4), chosen.randint(5, 20)
    pause = chosen.choice([6 * MINUTE, 30 * MINUTE, 4 * HOUR])
    groups.birth(group, low)
    for _ in range(chosen.randint(5, 40)):
        while len(group.members) < high:
            group.wait(chosen.choice([SECOND, 15 * SECOND])).change(joins=1)
        group.wait(pause)
        while len(group.members) > low:
            group.wait(chosen.choice([SECOND, 15 * SECOND])).change(leaves=[group.members[-1]])
        group.wait(pause)


def rare_rejoins(group: Group, chosen: random.Random) -> None:
    """Rebalance now and then with the same members."""
    groups.birth(group, chosen.randint(1, 6))
    for _ in range(60):
        group.wait(chosen.uniform(2, 20) * HOUR).again()


def crashes(group: Group, chosen: random.Random) -> None:
    """Lose a member of a large group now and then, each time another one."""
    groups.birth(group, 40)
    for member in chosen.sample(group.members, 30):
        group.wait(chosen.uniform(1, 20) * MINUTE).restart(member, chosen.uniform(5, 60) * SECOND)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("build", [births, deployments, jobs, starts_by_hand, scaling, rare_rejoins, crashes])
def test_rebalances_with_a_good_reason_are_no_loop(build: Callable[[Group, random.Random], None], seed: int) -> None:
    group, chosen = drawn(seed)
    group.cooperative = chosen.choice([0, 1, 2])

    build(group, chosen)

    assert [] == group.loops()


def test_a_new_topic_explains_a_rebalance_with_unchanged_membership() -> None:
    def events(cause: str) -> list[dict[str, Any]]:
        found = groups.leader_joins_again(Group(), 3, 60, MINUTE).events()
        return [{**each, "causes": [cause]} if each["event"] == "rebalance" else each for each in found]

    assert [] == find_loops(events("topic_created"), None)
    assert 1 == len(find_loops(events("leader_rejoined"), None))


def test_probing_rebalances_of_kafka_streams_are_no_loop() -> None:
    def group(interval: int) -> Group:
        threads = Group(client="orders-b2f1-StreamThread-1-consumer")
        return groups.leader_joins_again(threads, 4, 60, interval)

    assert [] == group(10 * MINUTE).loops()
    assert 1 == len(group(10 * SECOND).loops())


def test_fewer_rebalances_than_the_limit_are_no_loop() -> None:
    least = LEAST_REBALANCES

    for build in (groups.leader_joins_again, groups.new_id_each_time):
        assert [0, 1] == [len(build(Group(), 1, count, 5 * SECOND).loops()) for count in (least - 1, least + 1)]


# ---- storms


def test_a_storm_is_no_loop() -> None:
    group = groups.leader_joins_again(Group(), 4, 500, 700)

    assert any(each["event"] == "storm" for each in group.events())
    assert [] == group.loops()


def test_a_loop_is_found_before_and_after_a_storm() -> None:
    group = groups.leader_joins_again(Group(), 4, 100, 10 * SECOND)
    for _ in range(300):
        group.wait(100).again()
    for _ in range(100):
        group.wait(10 * SECOND).again()

    before, after = group.loops()
    storm = [each for each in group.events() if each["event"] == "storm"][-1]

    assert START == before.since
    assert before.until is not None
    assert before.until < storm["since"] <= storm["until"] < after.since
    assert after.until is None
    assert is_near(before.rebalances, 100, 0.05)
    assert is_near(after.rebalances, 100, 0.1)


def test_changes_of_the_membership_in_a_storm_can_be_a_loop() -> None:
    group = groups.birth(Group(), 3)
    for _ in range(60):
        group.wait(5 * SECOND).restart(group.members[-1], 0, at_once=True)
        for _ in range(20):
            group.wait(100).again()

    loop = only(group.loops())

    assert ("new_member_ids", 60) == (loop.repeats, loop.restarts)


# ---- the fold


def changes(group: Group, cuts: int, restores: bool) -> tuple[list[Change], list[Loop]]:
    """Apply the events in parts, with the state as JSON between them."""
    fold, found = Loops(), []
    events = group.events()
    for start in range(0, len(events), cuts):
        found += fold.apply(events[start : start + cuts])
        if restores:
            fold = Loops.from_json(json.loads(json.dumps(fold.to_json())))
    return found + fold.advance(group.at + DAY), fold.current()


@pytest.mark.parametrize("seed", range(6))
def test_the_loops_do_not_depend_on_batches_and_restarts(seed: int) -> None:
    group, chosen = drawn(seed, cooperative=0)
    groups.leader_joins_again(group, 3, 60, 9 * SECOND)
    groups.one_joins_and_leaves(group.wait(40 * MINUTE), 3, 30, 20 * SECOND)
    groups.new_id_each_time(group.wait(40 * MINUTE), 2, 60, 100)

    whole = changes(group, 10_000, restores=False)

    assert 6 == len(whole[0])
    assert whole == changes(group, chosen.randint(1, 9), restores=False)
    assert whole == changes(group, chosen.randint(1, 9), restores=True)


def test_the_state_does_not_grow_with_the_number_of_rebalances() -> None:
    def size(count: int) -> int:
        fold = Loops()
        fold.apply(groups.new_id_each_time(Group(), 5, count, SECOND).events())
        fold.apply(groups.one_joins_and_leaves(Group(), 5, count, 10 * SECOND).events())
        return len(json.dumps(fold.to_json()))

    assert size(1_500) < 1.2 * size(300)


def test_a_group_without_repeated_rebalances_has_no_state() -> None:
    fold = Loops()
    group = groups.deployment(groups.birth(Group(), 10), 10 * SECOND)
    fold.apply(group.events())
    fold.advance(group.at + DAY)

    assert [] == fold.to_json()


def test_the_end_of_a_loop_is_found_by_the_clock_of_its_cluster() -> None:
    fold = Loops()
    group = groups.leader_joins_again(Group(), 2, 50, 8 * SECOND)
    (begun,) = fold.apply({**each, "cluster": "7"} for each in group.events())

    assert (None, LEAST_REBALANCES) == (begun.loop.until, begun.loop.rebalances)
    assert [] == fold.advance(group.at + DAY, "8") == fold.advance(group.at, "7")
    assert 50 == only(fold.current()).rebalances
    (ended,) = fold.advance(group.at + DAY, "7")
    assert (group.at, 50, None) == (ended.loop.until, ended.loop.rebalances, ended.offset)
    assert [] == fold.current()


def test_a_deleted_group_is_forgotten_after_a_while() -> None:
    fold = Loops()
    group = groups.leader_joins_again(Group(), 2, 50, 8 * SECOND)
    fold.apply([*group.events(), {"event": "group_deleted", "cluster": "", "group": "g", "at": group.at, "offset": 99}])
    fold.advance(group.at + DAY)

    assert {} == fold._groups
