"""Why a member is missing: the first cause, with counterexamples in which another one comes first.

The logs are those of two members, or of one, on topic t. `leaving` writes their generation, commits of the member that
leaves, and the generation without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor.replay import Replay
from assignor.replay.silences import Silence
from tests.replay.event_logs import replayed
from tests.replay.logs import CONSUMER, classic, commit, event, log, member, metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.replay.logs import Event as Step

Row = dict[str, Any]

SECOND = 1_000
START = 1_000_000
BEGIN = classic(0, protocol_type="").at(START)
DEAD = ["consumer_dead", "application_crashed", "consumer_closed"]


def rebalance(steps: Iterable[Step], *, silences: Sequence[tuple[int, int]] = (), **settings: Any) -> Row:
    """Return the last rebalance of a log."""
    replay = Replay(metadata({0: {"t": 4}}), **settings)
    replay.observe_silences(Silence(since, until, (0,), True) for since, until in silences)
    events = [found for record in log(steps) for found in replay.push(record)] + replay.finish()
    found: Row = [each for each in events if each["event"] == "rebalance"][-1]
    return found


def commits(times: Iterable[int], partition: int = 1, *, step: int = 1) -> list[Step]:
    """Return commits of a partition; with a step of 0 the offset does not change."""
    return [commit("t", partition, offset=100 + place * step).at(time) for place, time in enumerate(times)]


def leaving(
    silence: int,
    *,
    every: int = 5 * SECOND,
    count: int = 20,
    session: int = 45 * SECOND,
    poll: int = 300 * SECOND,
    step: int = 1,
    times: Sequence[int] | None = None,
    remains: bool = True,
) -> list[Step]:
    """Return a log in which member b commits, is silent, and is missing from the next generation."""
    timeouts = {"sessionTimeout": session, "rebalanceTimeout": poll}
    a, b = member("a", ["t"], {"t": [0]}) | timeouts, member("b", ["t"], {"t": [1]}) | timeouts
    times = [START + every * place for place in range(1, count + 1)] if times is None else times
    both = [a, b] if remains else [b]
    after = [member("a", ["t"], {"t": [0, 1]}) | timeouts] if remains else []
    first = classic(1, *both).at(START)
    end = times[-1] + silence
    # The other member commits until shortly before the next generation.
    others = commits(range(START + every, end, every), 0) if remains else []
    rows = sorted([*commits(times, step=step), *others], key=lambda each: each.time or 0)
    return [BEGIN, first, *rows, classic(2, *after).at(end)]


@pytest.mark.parametrize("remains", [True, False])
@pytest.mark.parametrize(
    ("every", "session", "poll"), [(5, 45, 300), (1, 10, 300), (5, 10, 60), (2, 30, 120), (10, 60, 600), (30, 10, 300)]
)
def test_a_regular_member_that_is_silent_for_its_session_is_dead(
    every: int, session: int, poll: int, remains: bool
) -> None:
    silence = (session + every + 1) * SECOND
    steps = leaving(silence, remains=remains, every=every * SECOND, session=session * SECOND, poll=poll * SECOND)
    found = rebalance(steps)

    assert found["causes"][:3] == DEAD
    assert f"It committed every {every} s, then nothing for {silence // SECOND} s" in found["evidence"]
    assert f"its session timeout is {session} s" in found["evidence"]


@pytest.mark.parametrize("remains", [True, False])
@pytest.mark.parametrize(
    ("every", "session", "poll"), [(5, 45, 300), (1, 10, 60), (5, 10, 300), (2, 30, 120), (9, 45, 900)]
)
def test_a_member_that_is_silent_for_its_poll_interval_has_exceeded_it(
    every: int, session: int, poll: int, remains: bool
) -> None:
    silence = (poll + 2) * SECOND
    steps = leaving(silence, remains=remains, every=every * SECOND, session=session * SECOND, poll=poll * SECOND)
    found = rebalance(steps)

    assert found["causes"] == ["poll_interval_exceeded", "consumer_closed", "consumer_dead", "application_crashed"]
    assert "max.poll.interval.ms" in found["evidence"]
    assert f"its session of {session} s would have expired earlier" in found["evidence"]


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (leaving(20 * SECOND), "its session cannot have expired"),
        (leaving(120 * SECOND), "a session of 45 s would have expired earlier, and a poll interval of 300 s later"),
        (leaving(400 * SECOND), "a poll interval of 300 s would have ended earlier"),
        (leaving(50 * SECOND, count=4), "four intervals between commits are too few"),
        (leaving(60 * SECOND, times=[START + SECOND * each for each in (1, 2, 3, 4, 5, 6, 7, 90)]), "irregular"),
        (leaving(338 * SECOND, times=[START + SECOND, START + 72 * SECOND]), "two commits are no regular ones"),
        (leaving(12 * SECOND, every=20 * SECOND, session=10 * SECOND), "a pause that is not longer than usual"),
        (leaving(340 * SECOND, every=120, remains=False), "a burst, and then nothing to read"),
    ],
)
def test_a_member_without_evidence_of_another_cause_was_closed(steps: list[Step], why: str) -> None:
    assert rebalance(steps)["causes"][0] == "consumer_closed", why


def test_a_member_that_also_commits_when_it_reads_nothing_does_not_become_idle() -> None:
    assert rebalance(leaving(120 * SECOND, step=0))["causes"][:3] == DEAD
    assert rebalance(leaving(120 * SECOND, step=1))["causes"][0] == "consumer_closed"


@pytest.mark.parametrize("session", [6_000, 10_000, 45_000])
def test_a_session_that_ends_one_session_after_the_generation_had_no_heartbeat(session: int) -> None:
    timeouts = {"sessionTimeout": session, "rebalanceTimeout": 300 * SECOND}
    first = classic(1, member("b", ["t"], {"t": [1]}) | timeouts).at(START)

    def first_cause(elapsed: int, *between: Step) -> str:
        found: str = rebalance([BEGIN, first, *between, classic(2).at(START + elapsed)])["causes"][0]
        return found

    assert first_cause(session + 100) == "consumer_dead"
    assert first_cause(session + 300) == "consumer_closed"
    assert first_cause(session + 100, *commits([START + 900])) == "consumer_closed"


def test_a_static_member_does_not_leave_when_it_exceeds_its_poll_interval() -> None:
    timeouts = {"sessionTimeout": 45_000, "rebalanceTimeout": 300_000}
    b = member("b", ["t"], {"t": [1]}, instance="i") | timeouts
    steps = [BEGIN, classic(1, b).at(START), *commits(range(START + 5_000, START + 100_000, 5_000))]
    found = rebalance([*steps, classic(2).at(START + 95_000 + 302_000)])

    assert found["causes"] == ["consumer_dead", "application_crashed", "member_removed", "consumer_closed"]


# ---- another change in the same generation


def test_a_member_that_replaces_the_only_one_joined_while_it_was_in_the_group() -> None:
    steps = [*leaving(47 * SECOND, remains=False)[:-1]]
    end = (steps[-1].time or 0) + 47 * SECOND
    found = rebalance([*steps, classic(2, member("c", ["t"], {"t": [1]})).at(end)])

    assert found["causes"][:3] == ["consumer_subscribed", "consumer_dead", "application_crashed"]


def test_a_generation_that_the_log_lacks_can_have_been_empty() -> None:
    steps = leaving(20 * SECOND, remains=False)[:-1]
    end = (steps[-1].time or 0) + 20 * SECOND
    found = rebalance([*steps, classic(3, member("c", ["t"], {"t": [1]})).at(end)])

    assert found["causes"][0] == "consumer_closed"


def rejoining(waited: int, *, joins: bool = True) -> list[Step]:
    """Return a log in which a member joins, and a join phase of some length ends without member b."""
    timeouts = {"sessionTimeout": 45_000, "rebalanceTimeout": 300_000}
    a, b, c = (member(id, ["t"], {"t": [place]}) | timeouts for id, place in (("a", 0), ("b", 1), ("c", 1)))
    times = range(START + 5_000, START + 105_000, 5_000)
    rows = sorted([*commits(times, 0), *commits(times, 1)], key=lambda each: each.time or 0)
    after = [a, c] if joins else [a]
    return [BEGIN, classic(1, a, b).at(START), *rows, classic(2, *after).at(START + 100_000 + waited)]


def test_a_member_that_does_not_join_again_is_not_the_first_cause() -> None:
    found = rebalance(rejoining(301 * SECOND))
    assert found["causes"][:2] == ["consumer_subscribed", "rejoin_timed_out"]
    assert "Member b did not join again within the rebalance timeout" in found["evidence"]
    assert rebalance(rejoining(301 * SECOND, joins=False))["causes"][0] == "rejoin_timed_out"


@pytest.mark.parametrize("waited", [100, 200, 400])
def test_a_join_phase_of_another_length_shows_no_timeout(waited: int) -> None:
    assert "rejoin_timed_out" not in rebalance(rejoining(waited * SECOND))["causes"]


def test_a_join_phase_is_not_long_if_another_member_still_commits() -> None:
    steps = rejoining(301 * SECOND)
    late = commit("t", 0, offset=900).at(START + 390 * SECOND)
    assert "rejoin_timed_out" not in rebalance([*steps[:-1], late, steps[-1]])["causes"]


def sync(*, leader: str = "a", has_commits: bool = True, waited: int = 12 * SECOND) -> Row:
    """Return the rebalance after a generation in which member b has not committed."""
    timeouts = {"sessionTimeout": 6_000, "rebalanceTimeout": 10_000}
    members = [member(id, ["t"], {"t": [place]}) | timeouts for place, id in enumerate("ab")]
    if leader == "b":
        members.reverse()
    between = commits(range(START + 2_000, START + 10_000, 2_000), 0) if has_commits else []
    return rebalance([BEGIN, classic(1, *members).at(START), *between, classic(2, members[0]).at(START + waited)])


def test_a_missing_sync_needs_evidence_of_its_own() -> None:
    assert "sync_timed_out" in sync()["causes"]
    assert "sync_timed_out" not in sync(has_commits=False)["causes"]
    assert "sync_timed_out" not in sync(waited=5 * SECOND)["causes"]

    # A member that is the leader has sent SyncGroup.
    timeouts = {"sessionTimeout": 6_000, "rebalanceTimeout": 10_000}
    leader = member("a", ["t"], {"t": [0]}) | timeouts
    found = rebalance([BEGIN, classic(1, leader).at(START), classic(2).at(START + 12_000)])
    assert "sync_timed_out" not in found["causes"]


def static(member_id: str) -> Row:
    return member(member_id, ["t"], {"t": [1]}, instance="i") | {"sessionTimeout": 6_000, "rebalanceTimeout": 10_000}


def test_a_static_member_can_have_missed_the_sync_before_it_returned() -> None:
    a = member("a", ["t"], {"t": [0]}) | {"sessionTimeout": 6_000, "rebalanceTimeout": 10_000}
    first = [BEGIN, classic(1, a, static("b")).at(START), commit("t", 0).at(START + 2_000)]

    assert "sync_timed_out" in rebalance([*first, classic(2, a, static("b-2")).at(START + 10_000)])["causes"]
    assert "sync_timed_out" in rebalance([*first, classic(2, a).at(START + 20_000)])["causes"]
    committed = commit("t", 1).at(START + 3_000)
    assert "sync_timed_out" not in rebalance([*first, committed, classic(2, a).at(START + 20_000)])["causes"]
    events, _ = replayed({"g": log([*first, classic(2, a).at(START + 10_000)])})
    assert "sync_timed_out" in [each for each in events if each["event"] == "member"][-1]["causes"]


def test_a_static_member_can_have_left_and_joined_in_a_generation_that_the_log_lacks() -> None:
    a = member("a", ["t"], {"t": [0]})
    found = rebalance([BEGIN, classic(1, a, static("b")).at(START), classic(3, a, static("b-2")).at(START + 20_000)])

    assert "consumer_subscribed" in found["causes"]


# ---- silences of the log


def test_a_session_that_expires_after_a_silence_of_the_log_blames_the_coordinator() -> None:
    steps = leaving(1_144 * SECOND, session=10 * SECOND, remains=False)
    end = steps[-1].time or 0
    silence = end - 1_144 * SECOND, end - 300
    found = rebalance(steps, silences=[silence])

    assert found["causes"][:3] == ["coordinator_moved", "consumer_dead", "application_crashed"]
    assert "the log had no records for 19 min, until 300 ms before" in found["evidence"]
    assert rebalance(steps)["causes"][0] != "coordinator_moved"


def test_a_member_that_leaves_long_after_a_silence_or_commits_after_it_is_not_explained_by_it() -> None:
    steps = leaving(600 * SECOND, session=10 * SECOND, remains=False)
    end = steps[-1].time or 0
    assert rebalance(steps, silences=[(end - 600 * SECOND, end - 60 * SECOND)])["causes"][0] == "consumer_closed"
    late = commit("t", 1, offset=900).at(end - 12 * SECOND)
    found = rebalance([*steps[:-1], late, steps[-1]], silences=[(end - 600 * SECOND, end - 13 * SECOND)])
    assert found["causes"][0] != "coordinator_moved"


# ---- KIP-848


def epochs(silence: int, *, count: int = 20, **settings: Any) -> tuple[Row, list[Row]]:
    """Return the rebalance after a member of a consumer group has left, and the events of members."""
    rows = [
        CONSUMER.joins("b", subscribedTopicNames=["t"], rebalanceTimeoutMs=300_000).at(START),
        *(
            each.at(START)
            for each in (CONSUMER.epoch(2), CONSUMER.target_of("b", {"t": [1]}), CONSUMER.target_epoch(2))
        ),
        CONSUMER.has("b", 2, 0, {"t": [1]}).at(START),
        *commits(range(START + 5_000, START + 5_000 * (count + 1), 5_000)),
    ]
    end = START + 5_000 * count + silence
    rows += [each.at(end) for each in (*CONSUMER.leaves("b"), CONSUMER.epoch(3))]
    events, _ = replayed({"g": log(rows)}, metadata({0: {"t": 4}}), **settings)
    found = [each for each in events if each["event"] == "rebalance"][-1]
    return found, [each for each in events if each["event"] == "member"]


@pytest.mark.parametrize(
    ("silence", "session", "action", "cause"),
    [
        (47, 45, "expired", "consumer_dead"),
        (12, 10, "expired", "consumer_dead"),
        (3, 45, "left", "consumer_closed"),
        (20, 45, "left", "consumer_closed"),
        (120, 45, "left", "consumer_closed"),
        (302, 45, "left", "poll_interval_exceeded"),
    ],
)
def test_silence_and_the_session_timeout_of_the_broker_decide_for_kip_848(
    silence: int, session: int, action: str, cause: str
) -> None:
    found, members = epochs(silence * SECOND, session_timeout_ms=session * SECOND)

    assert found["causes"][0] == cause
    assert [(each["action"], each["causes"][:1]) for each in members][-1] == (action, [cause])


def test_a_member_without_regular_commits_leaves_a_consumer_group() -> None:
    found, members = epochs(47 * SECOND, count=3)

    assert (found["causes"][0], members[-1]["action"]) == ("consumer_closed", "left")


def test_a_member_that_returns_with_its_id_did_not_close() -> None:
    joins = CONSUMER.joins("b", subscribedTopicNames=["t"])
    gone = [each.at(START + 60_000) for each in (*CONSUMER.leaves("b"), CONSUMER.epoch(2))]
    again = [each.at(START + 90_000) for each in (joins, CONSUMER.epoch(3))]
    found = rebalance([joins.at(START), CONSUMER.epoch(1).at(START), *gone, *again])
    assert "Member b returned with its member id after 30 s, so it had not closed" in found["evidence"]

    other = [each.at(START + 90_000) for each in (CONSUMER.joins("c", subscribedTopicNames=["t"]), CONSUMER.epoch(3))]
    assert "returned" not in rebalance([joins.at(START), CONSUMER.epoch(1).at(START), *gone, *other])["evidence"]


def test_the_group_says_that_it_was_deleted_before() -> None:
    first = [BEGIN, classic(1, member("a", ["t"], {"t": [0]})).at(START), classic(2).at(START + 1_000)]
    deleted = event(2, {"group": "g"}, None).at(START + 61_000)
    again = classic(1, member("a", ["t"], {"t": [0]})).at(START + 121_000)

    assert "The group was deleted 60 s before, and begins again." in rebalance([*first, deleted, again])["evidence"]
    assert "deleted" not in rebalance([*first, again])["evidence"]
