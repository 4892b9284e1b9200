"""Causes of rebalances in rare histories: topics that are created again, conversions, and returns of static members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.replay.event_logs import replayed
from tests.replay.logs import CONSUMER, STREAMS, classic, classic_gone, commit, event, log, member, metadata, topic_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.replay.logs import Event as Step

Row = dict[str, Any]

BEGIN = classic(0, protocol_type="").at(0)
"""First record of a new group."""

OLD_ID, NEW_ID = topic_id("old"), topic_id("new")


def events_of(steps: Sequence[Step], name: str, rows: Sequence[Row] = ()) -> list[Row]:
    found, _ = replayed({"g": log(steps)}, rows)
    return [each for each in found if each["event"] == name]


def causes(steps: Sequence[Step], rows: Sequence[Row] = ()) -> list[list[str]]:
    """Return the causes of each rebalance."""
    return [each["causes"] for each in events_of(steps, "rebalance", rows)]


def with_id(id: str, rows: list[Row]) -> list[Row]:
    return [{**row, "topic_id": id} if row["topic"] == "t" else row for row in rows]


def owners(generation: int, at: int, count: int) -> Step:
    """Return a generation in which two members share the partitions of topic t."""
    halves = range(count // 2), range(count // 2, count)
    members = [member(id, ["t"], {"t": half} if count else {}) for id, half in zip("ab", halves, strict=True)]
    return classic(generation, *members).at(at)


def test_deletion_creation_and_growth_of_the_only_topic_are_causes_of_three_rebalances() -> None:
    rows = [
        *with_id(OLD_ID, metadata({0: {"t": 12}})),
        *metadata({50: {"x": 1}}),
        *with_id(NEW_ID, metadata({65: {"t": 4}, 130: {"t": 8}})),
    ]
    steps = [BEGIN, owners(1, 1, 12), owners(2, 60, 0), owners(3, 70, 4), owners(4, 140, 8)]

    assert [
        ["consumer_subscribed"],
        ["topic_deleted", "leader_rejoined"],
        ["topic_created", "leader_rejoined"],
        ["partitions_increased", "leader_rejoined"],
    ] == causes(steps, rows)


def test_a_topic_that_is_created_again_between_two_rebalances_was_deleted_and_created() -> None:
    rows = [*with_id(OLD_ID, metadata({0: {"t": 12}})), *with_id(NEW_ID, metadata({50: {"t": 4}}))]
    steps = [BEGIN, owners(1, 1, 12), owners(2, 60, 4), owners(3, 70, 4)]

    assert [
        ["consumer_subscribed"],
        ["topic_deleted", "topic_created", "leader_rejoined"],
        ["leader_rejoined"],
    ] == causes(steps, rows)


def test_members_without_partitions_do_not_show_that_a_topic_was_deleted() -> None:
    steps = [BEGIN, owners(1, 1, 12), owners(2, 60, 0)]

    assert [["consumer_subscribed"], ["leader_rejoined"]] == causes(steps)
    assert [["consumer_subscribed"], ["leader_rejoined"]] == causes(steps, metadata({0: {"t": 12}}))


def epochs(*hashes: int) -> list[Step]:
    """Return epochs of a member without other changes, one each 10 ms, with these hashes of the topic metadata."""
    steps = [CONSUMER.joins("a", subscribedTopicNames=["t"]).at(0)]
    for place, number in enumerate(hashes):
        epoch = CONSUMER.epoch(place + 1, metadataHash=number), CONSUMER.target_epoch(place + 1)
        steps += [each.at(10 * place) for each in epoch]
    return steps


def test_a_topic_with_a_new_id_explains_the_hash_of_the_metadata() -> None:
    rows = [*with_id(OLD_ID, metadata({0: {"t": 4}})), *with_id(NEW_ID, metadata({9: {"t": 4}}))]

    assert ["topic_deleted", "topic_created"] == causes(epochs(7, 8), rows)[-1]


def test_other_racks_explain_the_hash_of_the_metadata() -> None:
    first, same, other = [["r0", "r1"], ["r1"]], [["r1", "r0"], ["r1"]], [["r0", "r1"], ["r2"]]

    moved = events_of(epochs(7, 8), "rebalance", metadata({0: {"t": first}, 9: {"t": other}}))[-1]
    assert (["unknown"], "The racks of the replicas of t changed.") == (moved["causes"], moved["evidence"])
    rows = metadata({0: {"t": first}, 9: {"t": same}})
    assert ["partitions_increased", "topic_created", "topic_deleted"] == causes(epochs(7, 8), rows)[-1]


def test_rows_of_the_topic_metadata_may_have_any_order_and_racks_may_be_null() -> None:
    racks = {0: {"t": [["r0"], ["r1", None]]}, 9: {"t": [["r0"], ["r1"]]}}
    rows = list(reversed(metadata(racks)))  # type: ignore[arg-type]  # a rack may be null

    assert ["partitions_increased", "topic_created", "topic_deleted"] == causes(epochs(7, 8), rows)[-1]


def test_a_topic_in_only_one_snapshot_does_not_count_as_a_change_of_racks() -> None:
    steps = [
        event(16, {"groupId": "g", "regularExpression": "t.*"}, {"topics": ["t"]}).at(0),
        CONSUMER.joins("a", subscribedTopicNames=[], subscribedTopicRegex="t.*").at(0),
        *(each.at(0) for each in (CONSUMER.epoch(1, metadataHash=7), CONSUMER.target_epoch(1))),
        *(each.at(10) for each in (CONSUMER.epoch(2, metadataHash=8), CONSUMER.target_epoch(2))),
    ]
    rows = metadata({0: {"x": 1}, 9: {"x": 1, "t": [["r0"], ["r1"]]}})
    last = events_of(steps, "rebalance", rows)[-1]

    assert "The hash of the topic metadata changed." == last["evidence"]


def test_a_conversion_names_both_protocols() -> None:
    gone = [*STREAMS.leaves("m"), STREAMS.epoch(None)]
    steps = [
        *(each.at(0) for each in streams(1)),
        *(each.at(60) for each in (*gone, classic(2, member("a", ["t"], {"t": [0]})))),
    ]
    last = events_of(steps, "rebalance")[-1]

    assert ["protocol_downgraded"] == last["causes"][:1]
    assert "The group changed from the streams protocol to the classic protocol." in last["evidence"]


def test_partitions_that_are_assigned_again_after_a_downgrade_are_not_an_increase() -> None:
    targets = {"a": [0, 4], "b": [1, 3], "n": [2, 5]}
    consumers = [
        *(CONSUMER.joins(id, subscribedTopicNames=["t"]) for id in targets),
        CONSUMER.epoch(1),
        *(CONSUMER.target_of(id, {"t": ids}) for id, ids in targets.items()),
        CONSUMER.target_epoch(1),
    ]
    gone = [*(each for id in targets for each in CONSUMER.leaves(id)), CONSUMER.epoch(None)]
    kept = [member(id, ["t"], {"t": targets[id]}) for id in "ab"]
    all_of_t = [member("a", ["t"], {"t": [0, 1, 2]}), member("b", ["t"], {"t": [3, 4, 5]})]
    steps = [
        *(each.at(0) for each in consumers),
        *(each.at(60) for each in (*gone, classic(1, *kept))),
        classic(2, *all_of_t).at(63),
    ]

    assert ["protocol_downgraded"] == causes(steps, metadata({-1: {"t": 6}}))[-1]


def test_a_later_epoch_was_not_caused_by_the_upgrade() -> None:
    first = [classic_gone(), CONSUMER.joins("n", subscribedTopicNames=["t"]), CONSUMER.epoch(3)]
    later = [CONSUMER.joins("o", subscribedTopicNames=["t"]), CONSUMER.epoch(4)]
    steps = [
        *(BEGIN, owners(1, 0, 4), classic(2).at(50)),
        *(each.at(60) for each in (*first, CONSUMER.target_epoch(3))),
        *(each.at(660) for each in (*later, CONSUMER.target_epoch(4))),
    ]

    assert [["protocol_upgraded", "consumer_subscribed"], ["consumer_subscribed"]] == causes(steps)[-2:]


def static(member_id: str, *topics: str) -> Step:
    return CONSUMER.joins(member_id, subscribedTopicNames=topics or ["t"], instanceId=f"instance-{member_id[0]}")


def test_a_static_member_that_returned_did_not_cause_a_later_epoch() -> None:
    steps = [
        *(each.at(0) for each in (static("a"), static("b"), CONSUMER.epoch(1), CONSUMER.target_epoch(1))),
        *(each.at(5) for each in (*CONSUMER.leaves("b"), static("b2"))),
        *(each.at(9) for each in (static("c"), CONSUMER.epoch(2), CONSUMER.target_epoch(2))),
        *(each.at(20) for each in (*CONSUMER.leaves("b2"), CONSUMER.epoch(3), CONSUMER.target_epoch(3))),
    ]
    _, second, third = events_of(steps, "rebalance")

    assert (["consumer_subscribed"], []) == (second["causes"], second["replaced"])
    assert ["b2"] == third["left"]


def test_a_static_member_that_returns_with_another_subscription_causes_the_epoch_of_its_batch() -> None:
    returned = (*CONSUMER.leaves("b"), static("b2", "t", "u"), CONSUMER.epoch(2), CONSUMER.target_epoch(2))
    steps = [
        *(each.at(0) for each in (static("a"), static("b"), CONSUMER.epoch(1), CONSUMER.target_epoch(1))),
        *(each.at(5) for each in returned),
    ]
    _, last = events_of(steps, "rebalance")

    assert (["static_member_returned", "subscription_changed"], ["b2"]) == (last["causes"], last["replaced"])


def test_events_of_the_first_members_have_the_kind_classic() -> None:
    assert ["classic"] * 2 == [each["kind"] for each in events_of([owners(7, 0, 4)], "member")]


def test_times_that_run_backwards_do_not_show_that_a_member_was_active() -> None:
    session = {"sessionTimeout": 6_000}
    both = [member("a", ["t"], {"t": [0]}) | session, member("b", ["t"], {"t": [1]}) | session]
    steps = [BEGIN.at(5_000), classic(1, *both).at(5_000), classic(2, both[0]).at(4_000)]

    # Rebalances are in the order of their times.
    assert ["consumer_closed", "consumer_dead", "application_crashed"] == causes(steps)[0]


def streams(epoch: int) -> list[Step]:
    return [
        STREAMS.joins("m", processId="p"),
        STREAMS.streams_topology(0, {"0": ["t"]}),
        STREAMS.epoch(epoch, validatedTopologyEpoch=0),
        STREAMS.target_epoch(epoch),
        STREAMS.has("m", epoch, 1, {"0": [0, 1]}),
    ]


def test_commits_of_a_streams_group_that_replaces_a_classic_group_have_an_owner() -> None:
    steps = [BEGIN, owners(1, 0, 4), classic(2).at(50), *(each.at(60) for each in (classic_gone(), *streams(3)))]

    assert [] == events_of([*steps, commit("t", 0).at(70), commit("t", 1).at(70)], "offsets")


def test_an_empty_streams_group_reports_no_unowned_partitions() -> None:
    left = (*STREAMS.leaves("m"), STREAMS.epoch(2, validatedTopologyEpoch=0))
    steps = [*(each.at(0) for each in streams(1)), *(each.at(10) for each in left)]

    assert [] == events_of(steps, "rebalance", metadata({-1: {"t": 2}}))[-1]["unowned"]
