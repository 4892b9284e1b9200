"""Counts of a group's history: loads, partitions without an owner, and rebalances."""

from __future__ import annotations

from tests.replay.logs import CONSUMER, Event, classic, classic_gone, member, metadata, replayed

TWO = (member("a", ["t"], {"t": [0, 1]}), member("b", ["t"], {"t": [2]}))
TOPIC = metadata({0: {"t": 3}})


def test_partitions_without_an_owner_are_counted(engine: str) -> None:
    topics = metadata({0: {"t": 9}, 5: {"t": 3, "u": 2, "other": 7}})
    some = (member("a", ["t", "missing"], {"t": [0]}), member("b", ["u"], {"u": [1]}))
    assert replayed(engine, classic(1, *some), topics=topics)["unowned"] == 3
    assert replayed(engine, classic(1, *some))["unowned"] is None
    assert replayed(engine, classic(1, *some), classic(2), topics=topics)["unowned"] is None


def test_owned_partitions_of_other_topics_do_not_reduce_the_count(engine: str) -> None:
    stale = member("a", ["t"], {"t": [0], "dropped": [0, 1], "t2": [7]})
    assert replayed(engine, classic(1, stale), topics=TOPIC)["unowned"] == 2
    shrunk = member("a", ["t"], {"t": [0, 7, 8]})
    assert replayed(engine, classic(1, shrunk), topics=TOPIC)["unowned"] == 2


def test_partitions_without_an_owner_are_unknown_if_a_member_cannot_be_parsed(engine: str) -> None:
    for unreadable in (member("b", b"", {}), member("b", ["t"], b"\0")):
        assert replayed(engine, classic(1, TWO[0], unreadable), topics=TOPIC)["unowned"] is None


def test_an_empty_assignment_blob_has_no_partitions(engine: str) -> None:
    left_out = member("b", ["t"], b"")
    history = replayed(engine, classic(1, TWO[0], left_out), topics=TOPIC)
    assert [member["partitions"] for member in history["members"]] == [2, 0]
    assert (history["idle_members"], history["least_loaded"], history["unowned"]) == (1, 0, 1)


def test_partitions_without_an_owner_are_counted_in_a_consumer_group(engine: str) -> None:
    topics = metadata({0: {"t": 3, "u": 1}})
    by_name = CONSUMER.joins("a", subscribedTopicNames=["t", "u"])
    has = CONSUMER.has("a", 2, 0, {"t": [0, 1]})
    assert replayed(engine, by_name, CONSUMER.epoch(2), has, topics=topics)["unowned"] == 2
    empty = CONSUMER.joins("a", subscribedTopicNames=["t"], subscribedTopicRegex="")
    assert replayed(engine, empty, CONSUMER.epoch(2), has, topics=topics)["unowned"] == 1
    by_pattern = CONSUMER.joins("a", subscribedTopicNames=["t"], subscribedTopicRegex="u.*")
    assert replayed(engine, by_pattern, CONSUMER.epoch(2), has, topics=topics)["unowned"] is None


def test_idle_members_and_the_spread_of_load(engine: str) -> None:
    members = [member("a", ["t"], {"t": [0, 1, 2]}), member("b", ["t"], {}), member("c", ["t"], b"\0")]
    history = replayed(engine, classic(1, *members))
    assert (history["idle_members"], history["least_loaded"], history["most_loaded"]) == (1, 0, 3)
    assert [member["partitions"] for member in history["members"]] == [3, 0, None]


def test_the_busiest_minute_counts_rebalances_with_unchanged_membership(engine: str) -> None:
    def busiest(*times: int) -> object:
        again = [classic(2 + place, *TWO).at(time) for place, time in enumerate(times)]
        return replayed(engine, classic(1, *TWO).at(0), *again)["busiest_minute"]

    assert busiest() == 0
    assert busiest(1) == 1
    assert busiest(1, 30_000, 60_000) == 3
    assert busiest(1, 30_000, 60_001) == 2
    assert busiest(1, 2, 90_000, 90_001, 90_002, 150_002) == 3
    assert busiest(100_000, 1) == 1
    assert busiest(-(2**63), 2**63 - 1) == 1


def test_rebalances_with_changed_membership_are_not_a_storm(engine: str) -> None:
    events = [classic(1, *TWO), classic(2, TWO[0]), classic(3, *TWO), classic(4), classic(5), classic(6, *TWO)]
    history = replayed(engine, *events, classic(7, *reversed(TWO)))
    assert [generation["same_members"] for generation in history["generations"]] == [False] * 6 + [True]
    assert history["busiest_minute"] == 1


def test_epochs_of_other_kinds_of_group_are_not_a_storm(engine: str) -> None:
    history = replayed(engine, CONSUMER.joins("a"), *[CONSUMER.epoch(epoch) for epoch in range(2, 9)])
    assert (history["rebalances"], history["busiest_minute"]) == (7, 0)


def test_neither_a_new_group_nor_a_static_restart_is_a_rebalance(engine: str) -> None:
    def rebalances(*events: Event) -> object:
        return replayed(engine, *events)["rebalances"]

    assert rebalances() == 0
    assert rebalances(classic(0, protocol_type="")) == 0
    assert rebalances(classic(0), classic(1, *TWO), classic(1, *TWO), classic(2, *TWO), classic(3)) == 3
    assert rebalances(classic(5, *TWO), classic(6), classic_gone(), classic(0), classic(6, *TWO)) == 3
    assert rebalances(classic(6, *TWO), classic_gone(), CONSUMER.epoch(6), CONSUMER.epoch(7)) == 3
