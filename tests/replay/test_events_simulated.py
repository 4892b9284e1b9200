"""Events of the logs of simulated groups, compared with what the coordinator and the clients know.

The coordinator of this package writes the same records as a broker, and knows the members, the owners, the offsets and
why each rebalance began. `ASSIGNOR_SEED` sets the first seed; by default, each long run draws new groups.
"""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from assignor.offsets import decode_record, encode_record
from assignor.replay import Replay
from tests.replay.event_logs import push_batch
from tests.replay.expected_events import differences, steps, wrong_owners
from tests.replay.simulated_groups import GROUP_METADATA, Simulation
from tests.replay.simulated_log import compacted, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.replay.simulated_log import Record

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"
RUNS = 1_000 if LONG else 8
SEED = int(os.environ.get("ASSIGNOR_SEED") or (random.randrange(10**6) if LONG else 0))


def compare(
    simulation: Simulation, log: list[Record], pushed: list[Record] | None = None, *, has_topics: bool = True
) -> list[str]:
    """Replay a log, or other records, and return the differences from what the simulation knows about the log."""
    events, replay = replay_of(log if pushed is None else pushed, simulation, has_topics=has_topics)
    return differences(simulation, log, events, replay, has_topics=has_topics)


def replay_of(
    log: list[Record], simulation: Simulation, *, has_topics: bool = True
) -> tuple[list[dict[str, Any]], Replay]:
    """Return the events of a log, and the replay at its end."""
    replay = Replay(rows(simulation.snapshots) if has_topics else ())
    return push_batch(replay, log) + replay.finish(), replay


@pytest.mark.parametrize("run", range(RUNS))
def test_events_agree_with_the_coordinator(run: int) -> None:
    rng = random.Random(SEED + run)
    simulation = Simulation(rng, groups=3).run(300)
    log = simulation.log

    assert [] == compare(simulation, log), SEED + run
    assert [] == compare(simulation, log, has_topics=False), SEED + run
    shorter = compacted(log, rng.randrange(len(log)), has_tombstones=rng.random() < 0.5)
    assert [] == compare(simulation, shorter), SEED + run


def test_simulated_groups_have_rebalances_of_all_kinds() -> None:
    causes, found = Counter[str](), Counter[str]()
    for seed in range(10):
        simulation = Simulation(random.Random(seed), groups=3).run(300)
        for step in steps(simulation, simulation.log):
            causes[step.written.cause[0]] += step.missing >= 0
            found["replaced"] += bool(step.changes.replaced)
            found["missing generation"] += step.missing > 0
            found["written again"] += not step.written.is_first
        found["reload"] += len(simulation.reloads)
        found["deleted"] += sum(written.members is None for written in simulation.written)

    expected = {"consumer_subscribed", "consumer_closed", "consumer_dead", "application_crashed", "member_removed"}
    expected |= {"topic_created", "topic_deleted", "partitions_increased", "subscription_changed", "sync_timed_out"}
    assert causes.keys() >= expected | {"leader_rejoined", "owned_partitions_changed", "static_member_returned"}
    assert min(found.values()) > 5, found


# ---- faults that the comparison must find


def edited(simulation: Simulation, edit: Callable[[list[dict[str, Any]]], bool]) -> list[Record]:
    """Return the log with one group record changed: the last one for which `edit` of its members returns True."""
    log = list(simulation.log)
    for place, (offset, at, key, value) in reversed(list(enumerate(log))):
        record = decode_record(key, value)
        if record.type == GROUP_METADATA and record.value is not None and edit(record.value["members"]):
            log[place] = offset, at, *encode_record(record)
            return log
    raise AssertionError("no record can be changed")


def swap_assignments(members: list[dict[str, Any]]) -> bool:
    for first, second in itertools.pairwise(members):
        if first["assignment"] != second["assignment"]:
            first["assignment"], second["assignment"] = second["assignment"], first["assignment"]
            return True
    return False


def lose_member(members: list[dict[str, Any]]) -> bool:
    return len(members) > 1 and members.pop() is not None


def keep_member(members: list[dict[str, Any]]) -> bool:
    members += [{**each, "memberId": "ghost", "groupInstanceId": None} for each in members[:1]]
    return bool(members)


def change_subscription(members: list[dict[str, Any]]) -> bool:
    others = [each["subscription"] for each in members if each["subscription"][:20] != members[0]["subscription"][:20]]
    if others:
        members[0]["subscription"] = others[0]
    return bool(others)


@pytest.mark.parametrize("edit", [swap_assignments, lose_member, keep_member, change_subscription])
def test_a_wrong_group_record_is_found(edit: Callable[[list[dict[str, Any]]], bool]) -> None:
    simulation = Simulation(random.Random(7), groups=3).run(300)

    assert [] != compare(simulation, simulation.log, edited(simulation, edit))


def test_wrong_owners_in_a_new_generation_are_found() -> None:
    simulation = Simulation(random.Random(7), groups=3).run(300)
    log = list(simulation.log)
    new = [step.written for step in steps(simulation, log) if step.written.is_first and len(step.owners) > 1]
    place = new[-1].offset
    record = decode_record(*log[place][2:])
    assert record.value is not None
    first, *others = record.value["members"]
    assert others, "the last generation with partitions must have several members"
    for each in others:
        each["assignment"] = first["assignment"]
    log[place] = *log[place][:2], *encode_record(record)

    right, _ = replay_of(simulation.log, simulation)
    wrong, _ = replay_of(log, simulation)

    assert [] == list(wrong_owners(simulation, simulation.log, right))
    assert any("two_owners" in each for each in wrong_owners(simulation, log, wrong))


@pytest.mark.parametrize(
    "fault", ["a lost batch", "a late record", "a lost commit", "another cause", "another departure"]
)
def test_a_wrong_log_or_expectation_is_found(fault: str) -> None:
    simulation = Simulation(random.Random(7), groups=3).run(300)
    log, written, departures = list(simulation.log), simulation.written, simulation.departures
    last = written[-1].offset
    if fault == "a lost batch":
        log[last - 10 : last + 10] = []
    elif fault == "a late record":
        log[last] = last, log[last][1] + 1, *log[last][2:]
    elif fault == "a lost commit":
        del log[max(offset for offset, _, key, value in log if key[:2] == b"\0\1" and value)]
    elif fault == "another cause":
        written[:] = [each._replace(cause=("owned_partitions_changed", each.cause[1])) for each in written]
    else:
        departures.update(dict.fromkeys(departures, frozenset({"protocol_changed"})))

    assert [] != compare(simulation, simulation.log, log)
