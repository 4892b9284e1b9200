"""Comparison of hand-written target assignments of consumer groups (KIP-848) with the broker's assignors."""

from __future__ import annotations

from tests.replay.logs import CONSUMER, Event, classic, classic_gone, event, member, metadata, outcomes, replayed

TOPIC = metadata({0: {"t": 4}})

ALONE = [
    CONSUMER.joins("a", subscribedTopicNames=["t"]),
    CONSUMER.epoch(2),
    CONSUMER.target_of("a", {"t": [0, 1, 2, 3]}),
    CONSUMER.target_epoch(2),
]
"""A group whose only member has all partitions of t."""

SECOND = [
    CONSUMER.joins("b", subscribedTopicNames=["t"]),
    CONSUMER.epoch(3),
    CONSUMER.target_of("a", {"t": [0, 1]}),
    CONSUMER.target_of("b", {"t": [2, 3]}),
    CONSUMER.target_epoch(3),
]
"""A second member joins the group."""


def compared(*events: Event) -> list[tuple[str | None, str | None]]:
    return outcomes(replayed(*events, topics=TOPIC))


def resolved(pattern: str, *topics: str) -> Event:
    """Return the record of the topics that a broker found for a pattern."""
    return event(16, {"groupId": "g", "regularExpression": pattern}, {"topics": list(topics)})


def test_uniform_starts_from_the_target_of_the_previous_epoch() -> None:
    assert compared(*ALONE, *SECOND) == [("uniform", "equal")] * 2
    unlike = [*SECOND[:2], CONSUMER.target_of("a", {"t": [0, 2]}), CONSUMER.target_of("b", {"t": [1, 3]}), SECOND[-1]]
    assert compared(*ALONE, *unlike) == [("uniform", "equal"), ("uniform", "different")]


def test_without_the_previous_target_only_range_is_compared() -> None:
    later = [CONSUMER.epoch(7), *SECOND[2:4], CONSUMER.target_epoch(7)]
    assert compared(ALONE[0], SECOND[0], *later) == [(None, None)]
    joins = [CONSUMER.joins(id, subscribedTopicNames=["t"], serverAssignor="range") for id in "ab"]
    assert compared(*joins, *later) == [("range", "equal")]


def test_an_epoch_without_a_target_is_not_compared() -> None:
    assert compared(*ALONE, CONSUMER.epoch(3), SECOND[0], CONSUMER.epoch(4), *SECOND[2:4]) == [
        ("uniform", "equal"),
        (None, None),
        (None, None),
    ]


def test_a_target_without_changes_is_compared() -> None:
    assert compared(*ALONE, CONSUMER.epoch(3), CONSUMER.target_epoch(3)) == [("uniform", "equal")] * 2
    left_out = [*ALONE, SECOND[0], CONSUMER.epoch(3), CONSUMER.target_epoch(3)]
    assert compared(*left_out) == [("uniform", "equal"), ("uniform", "different")]


def test_partitions_of_a_member_that_left_have_no_owner() -> None:
    leaves = [CONSUMER.target_of("b", None), *CONSUMER.leaves("b"), CONSUMER.epoch(4)]
    after = [CONSUMER.target_of("a", {"t": [0, 1, 2, 3]}), CONSUMER.target_epoch(4)]
    assert compared(*ALONE, *SECOND, *leaves, *after) == [("uniform", "equal")] * 3


def test_a_static_member_starts_from_the_target_of_the_member_it_replaces() -> None:
    def joins(member_id: str) -> Event:
        return CONSUMER.joins(member_id, subscribedTopicNames=["t"], instanceId="x")

    leaves = [CONSUMER.leaves("b")[0], CONSUMER.target_of("b", None), CONSUMER.leaves("b")[1]]
    copy = [joins("c"), CONSUMER.target_of("c", {"t": [2, 3]}), CONSUMER.has("c", 3, 0, {"t": [2, 3]})]
    epoch = [CONSUMER.epoch(4), CONSUMER.target_epoch(4)]
    assert compared(*ALONE, joins("b"), *SECOND[1:], *leaves, *copy, *epoch) == [("uniform", "equal")] * 3


def test_in_a_tie_of_votes_either_assignor_may_explain_the_target() -> None:
    topics = metadata({0: {"t": 4, "u": 2}})
    asks = [
        CONSUMER.joins("a", subscribedTopicNames=["t", "u"], serverAssignor="uniform"),
        CONSUMER.joins("b", subscribedTopicNames=["t", "u"], serverAssignor="range"),
    ]

    def target(of_a: dict[str, list[int]], of_b: dict[str, list[int]]) -> list[tuple[str | None, str | None]]:
        events = [CONSUMER.epoch(2), CONSUMER.target_of("a", of_a), CONSUMER.target_of("b", of_b)]
        return outcomes(replayed(*asks, *events, CONSUMER.target_epoch(2), topics=topics))

    assert target({"t": [0, 1], "u": [0]}, {"t": [2, 3], "u": [1]}) == [("range", "equal")]
    assert target({"t": [0, 1, 2]}, {"t": [3], "u": [0, 1]}) == [("uniform", "equal")]
    assert target({"t": [0]}, {"t": [1, 2, 3], "u": [0, 1]}) == [("range", "different")]


def test_an_assignor_that_is_not_kafkas_is_not_compared() -> None:
    asks = CONSUMER.joins("a", subscribedTopicNames=["t"], serverAssignor="custom")
    assert compared(asks, *ALONE[1:]) == [(None, None)]


def test_topics_found_for_a_pattern_count() -> None:
    asks = CONSUMER.joins("a", subscribedTopicNames=[], subscribedTopicRegex="t.*")
    assert compared(asks, resolved("t.*", "t"), *ALONE[1:]) == [("uniform", "equal")]
    assert compared(asks, *ALONE[1:]) == [("uniform", "different")]


def test_patterns_that_match_the_same_topics_are_different_subscriptions() -> None:
    patterns = [CONSUMER.joins(id, subscribedTopicRegex=pattern) for id, pattern in (("a", "t.*"), ("b", "t|u"))]
    found = [resolved("t.*", "t"), resolved("t|u", "t")]
    by_turns = [CONSUMER.target_of("a", {"t": [0, 2]}), CONSUMER.target_of("b", {"t": [1, 3]})]
    target = [CONSUMER.epoch(2), *by_turns, CONSUMER.target_epoch(2)]
    assert compared(*patterns, *found, *target) == [("uniform", "equal")]
    same = [CONSUMER.joins(id, subscribedTopicRegex="t.*") for id in "ab"]
    assert compared(*same, found[0], *target) == [("uniform", "different")]


def test_the_copied_assignment_of_a_classic_group_is_not_compared() -> None:
    before = classic(5, member("a", ["t"], {"t": [3]}), protocol="roundrobin")
    copy = [ALONE[0], CONSUMER.epoch(5), CONSUMER.target_of("a", {"t": [3]}), CONSUMER.target_epoch(5)]
    computed = [CONSUMER.epoch(6), CONSUMER.target_of("a", {"t": [0, 1, 2, 3]}), CONSUMER.target_epoch(6)]
    found = compared(before, classic_gone(), *copy, *computed)
    assert found == [("roundrobin", "different"), (None, None), ("uniform", "equal")]
    empty = compared(classic(5), classic_gone(), *ALONE)
    assert empty == [(None, None), ("uniform", "equal")]


def test_a_recreated_topic_is_another_topic() -> None:
    before = [{**row, "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"} for row in metadata({0: {"t": 4}})]
    after = metadata({50: {"t": 4}})
    again = [*SECOND[:2], CONSUMER.target_of("a", {"t": [0, 1]}), *SECOND[3:]]
    events = [each.at(10 if place < 4 else 60) for place, each in enumerate([*ALONE, *again])]
    history = replayed(*events, topics=[*before, *after])
    assert outcomes(history) == [("uniform", "equal"), ("uniform", "equal")]
