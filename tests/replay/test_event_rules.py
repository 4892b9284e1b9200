"""Rules of events: causes of rebalances, members, stuck members and offsets, on short logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.replay.event_logs import replayed
from tests.replay.logs import CONSUMER, SHARE, STREAMS, classic, classic_gone, commit, event, log, member, metadata
from tests.support.record_bytes import subscription

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.replay.logs import Event as Step
    from tests.replay.logs import Protocol

Event = dict[str, Any]

BEGIN = classic(0, protocol_type="")
"""First record of a new group."""

A = member("a", ["t"], {"t": [0, 1]})
B = member("b", ["t"], {"t": [1]})
HALF = member("a", ["t"], {"t": [0]})
DEPARTED = ["consumer_closed", "consumer_dead", "application_crashed"]
SESSION = {"sessionTimeout": 6_000, "rebalanceTimeout": 10_000}


def events_of(steps: Sequence[Step], name: str, rows: Sequence[dict[str, Any]] = (), **settings: Any) -> list[Event]:
    found, _ = replayed({"g": log(steps)}, rows, **settings)
    return [each for each in found if each["event"] == name]


def causes(*steps: Step, rows: Sequence[dict[str, Any]] = ()) -> list[str]:
    """Return the causes of the last rebalance."""
    found: list[str] = events_of(steps, "rebalance", rows)[-1]["causes"]
    return found


def static(member_id: str) -> dict[str, Any]:
    return member(member_id, ["t"], {"t": [1]}, instance="i")


def cooperative(member_id: str, owned: Sequence[int], gets: Sequence[int]) -> dict[str, Any]:
    return member(member_id, subscription("t", owned={"t": owned}, generation=1), {"t": gets})


@pytest.mark.parametrize(
    ("expected", "steps"),
    [
        (["consumer_subscribed"], [BEGIN, classic(1, A)]),
        (["consumer_subscribed"], [BEGIN, classic(1, A), classic(2, HALF, B)]),
        (DEPARTED, [BEGIN, classic(1, HALF, B), classic(2, A)]),
        (DEPARTED, [BEGIN, classic(1, A), classic(2)]),
        (["consumer_subscribed", *DEPARTED], [BEGIN, classic(1, A), classic(2, member("c", ["t"], {"t": [0, 1]}))]),
        (["leader_rejoined"], [BEGIN, classic(1, HALF, B), classic(2, HALF, B)]),
        (["unknown"], [classic(7, A)]),
        (["consumer_subscribed"], [classic(7), classic_gone(), BEGIN, classic(2, A)]),
        (["consumer_subscribed"], [classic(7), classic(8, A)]),
        (
            ["static_member_returned", "consumer_dead", "application_crashed", "member_removed"],
            [BEGIN, classic(1, HALF, static("b")), classic(2, HALF, static("b-2"))],
        ),
        (
            ["consumer_dead", "application_crashed", "member_removed", "consumer_closed"],
            [BEGIN, classic(1, HALF, static("b")), classic(2, A)],
        ),
        (
            ["subscription_changed"],
            [BEGIN, classic(1, HALF, B), classic(2, HALF, member("b", ["t", "u"], {"t": [1]}))],
        ),
        (
            ["subscription_changed", "leader_rejoined"],
            [BEGIN, classic(1, HALF, B), classic(2, member("a", ["t", "u"], {"t": [0]}), B)],
        ),
        (
            ["partitions_increased", "leader_rejoined"],
            [BEGIN, classic(1, HALF, B), classic(2, HALF, member("b", ["t"], {"t": [1, 2]}))],
        ),
        (
            ["topic_created", "leader_rejoined"],
            [
                BEGIN,
                classic(1, member("a", ["t", "u"], {"t": [0]})),
                classic(2, member("a", ["t", "u"], {"t": [0], "u": [0]})),
            ],
        ),
        (
            ["topic_deleted", "leader_rejoined"],
            [
                BEGIN,
                classic(1, member("a", ["t", "u"], {"t": [0], "u": [0]})),
                classic(2, member("a", ["t", "u"], {"t": [0]})),
            ],
        ),
        (
            ["leader_rejoined"],
            [
                BEGIN,
                classic(1, cooperative("a", [0, 1], [0]), cooperative("b", [], [])),
                classic(2, cooperative("a", [0], [0]), cooperative("b", [], [1])),
            ],
        ),
        (
            ["owned_partitions_changed", "consumer_subscribed"],
            [
                BEGIN,
                classic(1, cooperative("a", [0], [0]), cooperative("b", [1, 2], [1])),
                classic(2, cooperative("a", [0], [0]), cooperative("b", [1], [1]), cooperative("c", [], [2])),
            ],
        ),
        (
            ["leader_rejoined", "owned_partitions_changed", "sync_timed_out"],
            [BEGIN, classic(1, HALF, B), classic(3, HALF, B).at(90_000)],
        ),
        (
            ["subscription_changed", "leader_rejoined"],
            [
                BEGIN,
                classic(1, member("a", b"1", b""), member("b", b"1", b""), protocol_type="connect"),
                classic(2, member("a", b"1", b""), member("b", b"2", b""), protocol_type="connect"),
            ],
        ),
    ],
)
def test_a_generation_has_the_expected_causes(expected: list[str], steps: list[Step]) -> None:
    assert causes(*steps) == expected


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (22_000, ["consumer_closed"]),  # less than half a session after the commit
        (25_000, DEPARTED),
        (27_000, DEPARTED),  # silent for a session, but one commit is no regular one
    ],
)
def test_the_last_commit_of_a_member_shows_whether_its_session_can_have_expired(time: int, expected: list[str]) -> None:
    before = classic(1, HALF | SESSION, B | SESSION).at(2_000)
    steps = [BEGIN.at(0), before, commit("t", 1).at(20_000), classic(2, A | SESSION).at(time)]
    assert causes(*steps) == expected
    (left,) = (each for each in events_of(steps, "member") if each["action"] == "left")
    assert (left["member"], left["causes"]) == ("b", expected)


def test_a_session_cannot_expire_shortly_after_the_generation_began() -> None:
    before = classic(1, HALF | SESSION, B | SESSION).at(2_000)
    assert causes(BEGIN.at(0), before, classic(2, A | SESSION).at(7_999)) == ["consumer_closed"]
    assert causes(BEGIN.at(0), before, classic(2, A | SESSION).at(10_300)) == DEPARTED


def test_a_static_member_can_miss_a_generation_and_expire_shortly_after_it() -> None:
    before = classic(1, HALF | SESSION, static("b") | SESSION).at(2_000)
    expected = ["consumer_dead", "application_crashed", "member_removed", "consumer_closed"]
    assert causes(BEGIN.at(0), before, classic(2, A | SESSION).at(3_000)) == expected
    committed = commit("t", 1).at(2_500)
    assert causes(BEGIN.at(0), before, committed, classic(2, A | SESSION).at(3_000)) == expected[2:]


def test_an_upgrade_and_a_downgrade_keep_the_members() -> None:
    joins = CONSUMER.joins("a", subscribedTopicNames=["t"])
    steps = [
        *(BEGIN.at(0), classic(1, A).at(1)),
        *(each.at(2) for each in (classic_gone(), joins, CONSUMER.epoch(1), CONSUMER.target_epoch(1))),
        *(each.at(3) for each in (*CONSUMER.leaves("a"), CONSUMER.epoch(None), classic(1, A))),
        classic(2, A).at(4),
    ]
    found = [(each["kind"], each["generation"], each["causes"]) for each in events_of(steps, "rebalance")]
    assert found == [
        ("classic", 1, ["consumer_subscribed"]),
        ("consumer", 1, ["protocol_upgraded"]),
        ("classic", 1, ["protocol_downgraded"]),
        ("classic", 2, ["protocol_downgraded"]),
    ]
    assert [each["action"] for each in events_of(steps, "member")] == ["joined"]


@pytest.mark.parametrize(("protocol", "name"), [(CONSUMER, "consumer"), (SHARE, "share"), (STREAMS, "streams")])
def test_an_upgrade_names_the_protocol_of_the_new_group(protocol: Protocol, name: str) -> None:
    empty = classic(2).at(1)
    upgraded = (each.at(2) for each in (classic_gone(), protocol.joins("a"), protocol.epoch(1)))
    last = events_of([BEGIN.at(0), classic(1, A).at(0), empty, *upgraded], "rebalance")[-1]

    assert (name, "protocol_upgraded") == (last["kind"], last["causes"][0])
    assert last["evidence"].startswith(f"The group changed from the classic protocol to the {name} protocol.")


def test_a_static_restart_replaces_a_member_without_a_rebalance() -> None:
    steps = [BEGIN, classic(1, static("b")), classic(1, static("b-2"))]
    (_, replaced) = events_of(steps, "member")
    assert (replaced["action"], replaced["member"], replaced["previous"]) == ("replaced", "b-2", "b")
    assert [each["generation"] for each in events_of(steps, "rebalance")] == [1]


def test_a_static_member_of_a_consumer_group_that_does_not_return_has_expired() -> None:
    joins = CONSUMER.joins("a", subscribedTopicNames=["t"], instanceId="i")
    paused = CONSUMER.has("a", -2, 0, {})
    steps = [joins, CONSUMER.epoch(1), paused, *(each.at(50_000) for each in CONSUMER.leaves("a"))]
    assert [each["action"] for each in events_of(steps, "member")] == ["joined", "expired"]
    returned = [joins, paused, *(each.at(9) for each in (*CONSUMER.leaves("a"), joins_as("b")))]
    assert [each["action"] for each in events_of(returned, "member")] == ["joined", "replaced"]


def joins_as(member_id: str) -> Step:
    return CONSUMER.joins(member_id, subscribedTopicNames=["t"], instanceId="i")


def test_a_rebalance_lists_moved_and_unowned_partitions() -> None:
    rows = metadata({0: {"t": 3}})
    steps = [
        BEGIN,
        classic(1, A),
        classic(2, member("a", ["t"], {"t": [0]}), member("b", ["t"], {})),
        classic(3, HALF, B),
    ]
    found = [(each["moved"], each["unowned"]) for each in events_of(steps, "rebalance", rows)]
    assert found == [([], [["t", 2]]), ([], [["t", 1], ["t", 2]]), ([["t", 1]], [["t", 2]])]


def test_an_epoch_has_the_owners_of_its_target_assignment() -> None:
    join, target = CONSUMER.joins, CONSUMER.target_of
    steps = [
        *(
            join("a", subscribedTopicNames=["t"]),
            CONSUMER.epoch(2),
            target("a", {"t": [0, 1]}),
            CONSUMER.target_epoch(2),
        ),
        *(join("b", subscribedTopicNames=["t"]), CONSUMER.epoch(3), target("a", {"t": [0]}), target("b", {"t": [1]})),
        CONSUMER.target_epoch(3),
    ]
    found = events_of(steps, "rebalance", metadata({0: {"t": 2}}))
    assert [(each["generation"], each["at"], each["moved"], each["unowned"]) for each in found] == [
        (2, 1_000, [], []),
        (3, 5_000, [["t", 1]], []),
    ]


@pytest.mark.parametrize(
    ("before", "after", "counts", "expected"),
    [
        (["t"], ["t", "u"], {"t": 1, "u": 2}, ["subscription_changed"]),
        (["t", "u"], ["t", "u"], {"t": 1, "u": 2}, ["topic_created"]),
        (["t"], [], {}, ["subscription_changed"]),
        (["t"], ["t"], {}, ["topic_deleted"]),
        (["t"], ["t"], {"t": 3}, ["partitions_increased"]),
    ],
)
def test_a_subscription_to_an_existing_topic_creates_no_topic(
    before: list[str], after: list[str], counts: dict[str, int], expected: list[str]
) -> None:
    steps = [
        *(CONSUMER.joins("a", subscribedTopicNames=before), counted({"t": 1}), CONSUMER.epoch(1)),
        *([] if after == before else [CONSUMER.joins("a", subscribedTopicNames=after)]),
        *(counted(counts), CONSUMER.epoch(2)),
    ]
    assert causes(*steps) == expected


def counted(counts: dict[str, int]) -> Step:
    """Return the record of the subscribed topics with their numbers of partitions, as brokers up to 4.0 write it."""
    topics = [{"topicName": topic, "numPartitions": count} for topic, count in counts.items()]
    return event(4, {"groupId": "g"}, {"topics": topics})


def test_a_storm_begins_and_ends() -> None:
    storm = [classic(number, HALF, B).at(10_000 + 100 * number) for number in range(2, 6)]
    steps = [BEGIN.at(0), classic(1, HALF, B).at(0), *storm, commit("t", 0).at(90_000)]
    begin, end = events_of(steps, "storm", storm_rebalances=3, storm_window_ms=1_000)
    assert (begin["at"], begin["since"], begin["until"], begin["rebalances"]) == (10_400, 10_200, None, 3)
    assert (end["at"], end["since"], end["until"], end["rebalances"]) == (11_400, 10_200, 10_500, 4)


@pytest.mark.parametrize("pause", [1_000, 3_050, 5_000])
def test_slower_regular_rebalances_after_a_burst_continue_its_storm(pause: int) -> None:
    burst = [classic(number, HALF, B).at(100 * number) for number in range(1, 22)]
    paced = [classic(number, HALF, B).at(2_100 + pause * (number - 21)) for number in range(22, 60)]
    storms = events_of([BEGIN.at(0), *burst, *paced], "storm")

    assert [(200, None)] * 2 == [(each["since"], each["until"]) for each in storms]
    assert [20, 58] == [each["rebalances"] for each in storms]


def test_a_storm_starts_after_a_pause() -> None:
    early = [classic(number, HALF, B).at(number) for number in range(1, 5)]
    burst = [classic(number, HALF, B).at(40_000 + 900 * number) for number in range(5, 30)]
    begin, _ = events_of([BEGIN.at(0), *early, *burst], "storm")

    assert (44_500, 17) == (begin["since"], begin["rebalances"])


def test_a_storm_includes_a_pause_in_the_later_half_of_its_first_rebalances() -> None:
    burst = [classic(number, HALF, B).at(number) for number in range(1, 13)]
    after_pause = [classic(number, HALF, B).at(30_000 + number) for number in range(13, 22)]
    begin, _ = events_of([BEGIN.at(0), *burst, *after_pause], "storm")

    assert (2, 20) == (begin["since"], begin["rebalances"])


def test_a_member_that_stops_committing_is_stuck() -> None:
    beats = [commit("t", 1, offset=place).at(5_000 * place) for place in range(1, 8)]
    steps = [BEGIN.at(0), classic(1, HALF, B).at(0), *beats, commit("t", 0).at(200_000), commit("t", 1).at(200_001)]
    begin, end = events_of(steps, "stuck")
    assert (begin["at"], begin["since"], begin["until"], begin["usual_interval_ms"]) == (85_000, 35_000, None, 5_000)
    assert (end["at"], end["until"], end["member"], end["topic_partitions"]) == (200_001, 200_001, "b", [["t", 1]])


@pytest.mark.parametrize("factor", [2, 3, 10])
def test_a_member_is_stuck_after_a_multiple_of_its_usual_interval(factor: int) -> None:
    beats = [commit("t", 0, offset=place).at(1_000 * place) for place in range(1, 9)]
    end = [commit("t", 1).at(40_000), classic(2, member("b", ["t"], {"t": [0, 1]})).at(41_000)]
    found = events_of([classic(1, A).at(0), *beats, *end], "stuck", stuck_factor=factor)
    assert [(each["at"], each["until"]) for each in found] == [(8_000 + 1_000 * factor, None), (40_000, 40_000)]


def test_commits_of_several_partitions_are_one_burst() -> None:
    both = [member("a", ["t"], {"t": [0, 1]})]
    bursts = [(0, 0), (3, 1), (5, 0), (9, 1)]
    beats = [commit("t", id).at(5_000 * place + after) for place in range(1, 8) for after, id in bursts]
    steps = [BEGIN.at(0), classic(1, *both).at(0), *beats, commit("t", 1).at(200_000)]

    begin, end = events_of(steps, "stuck")

    assert (begin["at"], begin["since"], begin["usual_interval_ms"]) == (85_009, 35_009, 5_000)
    assert (end["since"], end["until"]) == (35_009, 200_000)


def test_a_stuck_member_has_the_usual_interval_of_each_partition() -> None:
    every = [member("a", ["t"], {"t": [0, 1, 2]})]
    beats = [commit("t", 0).at(5_000 * place) for place in range(1, 60)]
    beats += [commit("t", 1).at(30_000 * place + 1) for place in range(1, 7)]
    beats += [commit("t", 2).at(30_000 * place + 2) for place in range(1, 6)]
    beats.sort(key=lambda step: step.time or 0)
    pause = [commit("t", 1).at(500_000), *(commit("t", 0).at(500_000 + 5_000 * place) for place in range(1, 9))]

    begin, end, again = events_of([classic(1, *every).at(0), *beats, *pause, commit("u", 0).at(900_000)], "stuck")

    assert [["t", 0], ["t", 1], ["t", 2]] == begin["topic_partitions"]
    assert [5_000, 30_000, None] == begin["partition_intervals_ms"]
    assert [5_000, 30_000, None] == end["partition_intervals_ms"]  # the silence itself is no interval
    assert [5_000, 30_000, None] == again["partition_intervals_ms"]


def test_a_partition_has_no_usual_interval_after_a_change_of_its_owner() -> None:
    beats = [commit("t", 0).at(5_000 * place) for place in range(1, 9)]
    moved = [classic(2, B, member("a", ["t"], {"t": [0]})).at(40_000)]
    kept = [classic(1, member("b", ["t"], {"t": [0, 1]})).at(0), *beats, *moved]
    later = [commit("t", id).at(45_000 + 5_000 * place) for place in range(8) for id in (0, 1)]

    (first, *_) = events_of([*kept, *later[:6], commit("t", 1).at(900_000)], "stuck", stuck_factor=2)

    assert [] == [each for each in first["partition_intervals_ms"] if each is not None]


def test_a_burst_of_commits_alone_is_not_regular() -> None:
    steps = [BEGIN.at(0), classic(1, HALF, B).at(0), *(commit("t", 1).at(5_000 + place) for place in range(20))]
    later = [commit("t", 1).at(35_000), commit("t", 0).at(300_000)]

    assert [] == events_of([*steps, *later], "stuck")


@pytest.mark.parametrize(("shortest", "usual"), [(1, 100), (100, 100), (250, 300), (1_000, 1_000)])
def test_the_usual_interval_has_a_lower_bound(shortest: int, usual: int) -> None:
    steps = [BEGIN.at(0), classic(1, HALF, B).at(0), *(commit("t", 1).at(100 * place) for place in range(1, 62))]

    (begin, _) = events_of([*steps, commit("t", 1).at(60_000)], "stuck", stuck_interval_ms=shortest)

    assert (begin["usual_interval_ms"], begin["at"]) == (usual, 6_100 + 10 * usual)


def test_each_problem_of_offsets_is_an_event() -> None:
    steps = [
        *(BEGIN.at(0), classic(1, HALF, B).at(0)),
        *(commit("t", 1, offset=9).at(1), commit("t", 1, offset=4).at(2), commit("t", 5).at(3), commit("t", 5).at(4)),
        event(2, {"group": "other"}, None).at(60_000),
        commit("t", 1, offset=5).at(60_000),
    ]
    found = [(each["problem"], each["topic_partitions"], each["at"]) for each in events_of(steps, "offsets")]
    assert found == [
        ("went_back", [["t", 1]], 2),
        ("not_owned", [["t", 5]], 3),
        ("never_committed", [["t", 0]], 60_000),
    ]


def test_evidence_names_a_leader_with_a_comma() -> None:
    alone = member("a,b", ["t"], {"t": [0, 1]})
    steps = [BEGIN, classic(1, alone), classic(2, alone)]

    rebalance = events_of(steps, "rebalance")[-1]

    assert rebalance["causes"] == ["leader_rejoined"]
    assert rebalance["evidence"] == "The members and their topics are unchanged: the leader a,b joined again."
