"""What a group's log tells of its members' subscriptions: racks, names and patterns; on both engines."""

from __future__ import annotations

from tests.replay.logs import (
    CONSUMER,
    SHARE,
    STREAMS,
    Event,
    Row,
    classic,
    event,
    member,
    metadata,
    replayed,
)


def found(pattern: str, topics: list[str] | None) -> Event:
    """What a broker found for a pattern; without topics, the tombstone."""
    value = None if topics is None else {"topics": topics}
    return event(16, {"groupId": "g", "regularExpression": pattern}, value)


def subscriptions(history: Row) -> list[tuple[object, ...]]:
    """Rack, topics and pattern of each member."""
    return [tuple(member[name] for name in ("rack", "topics", "pattern")) for member in history["members"]]


def test_members_of_a_classic_group_carry_the_rack_and_the_topics_they_sent(engine: str) -> None:
    members = [
        member("a", ["u", "t"], rack="r1"),
        member("b", ["t"], rack=""),
        member("c", ["t"]),
        member("d", []),
        member("e", b"\0"),
    ]
    expected = [
        ("r1", ["u", "t"], None),
        (None, ["t"], None),
        (None, ["t"], None),
        (None, [], None),
        (None, None, None),
    ]
    assert expected == subscriptions(replayed(engine, classic(1, *members, protocol="sticky")))
    worker = classic(1, members[0], protocol="sessioned", protocol_type="connect")
    assert [(None, None, None)] == subscriptions(replayed(engine, worker))


def test_members_of_a_consumer_group_carry_their_names_or_their_pattern(engine: str) -> None:
    history = replayed(
        engine,
        CONSUMER.epoch(1),
        CONSUMER.joins("a", rackId="r1", subscribedTopicNames=["u", "t"], subscribedTopicRegex=""),
        CONSUMER.joins("b", rackId="", subscribedTopicRegex="t.*"),
        CONSUMER.joins("c"),
        found("t.*", ["t"]),
    )
    assert [("r1", ["u", "t"], None), (None, None, "t.*"), (None, [], None)] == subscriptions(history)


def test_what_a_broker_found_for_a_pattern_joins_the_names_beside_it(engine: str) -> None:
    def both(*events: Event) -> tuple[object, ...]:
        joins = CONSUMER.joins("a", subscribedTopicNames=["u", "t"], subscribedTopicRegex="[st]")
        (subscription,) = subscriptions(replayed(engine, CONSUMER.epoch(1), joins, *events))
        return subscription

    unresolved = (None, ["u", "t"], "[st]")
    assert unresolved == both() == both(found("other", ["o"])) == both(found("[st]", ["s"]), found("[st]", None))
    assert (None, ["u", "t", "s"], None) == both(found("[st]", ["t", "s"]))
    assert (None, ["u", "t"], None) == both(found("[st]", ["s"]), found("[st]", []))


def test_partitions_that_nobody_has_count_what_a_pattern_was_found_to_match(engine: str) -> None:
    joins = CONSUMER.joins("a", subscribedTopicNames=["t"], subscribedTopicRegex="u")
    log = [CONSUMER.epoch(1), joins, CONSUMER.has("a", 1, 0, {"t": [0]})]
    topics = metadata({0: {"t": 3, "u": 4}})
    assert 6 == replayed(engine, *log, found("u", ["u"]), topics=topics)["unowned"]
    assert replayed(engine, *log, topics=topics)["unowned"] is None


def test_members_of_share_and_streams_groups_carry_their_rack(engine: str) -> None:
    share = replayed(engine, SHARE.epoch(1), SHARE.joins("a", rackId="r1", subscribedTopicNames=["t"]))
    streams = replayed(engine, STREAMS.epoch(1), STREAMS.joins("a", rackId="r1"))
    assert [("r1", ["t"], None)] == subscriptions(share)
    assert [("r1", None, None)] == subscriptions(streams)
