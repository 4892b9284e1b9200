"""Replay of subscriptions: racks, topics and patterns of members."""

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
    """Return the record of the topics that a broker found for a pattern; its tombstone if `topics` is None."""
    value = None if topics is None else {"topics": topics}
    return event(16, {"groupId": "g", "regularExpression": pattern}, value)


def subscriptions(history: Row) -> list[tuple[object, ...]]:
    """Return the rack, topics and pattern of each member."""
    return [tuple(member[name] for name in ("rack", "topics", "pattern")) for member in history["members"]]


def test_classic_members_have_the_rack_and_topics_of_their_subscription() -> None:
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
    assert expected == subscriptions(replayed(classic(1, *members, protocol="sticky")))
    worker = classic(1, members[0], protocol="sessioned", protocol_type="connect")
    assert [(None, None, None)] == subscriptions(replayed(worker))


def test_consumer_members_have_their_topics_or_their_pattern() -> None:
    history = replayed(
        CONSUMER.epoch(1),
        CONSUMER.joins("a", rackId="r1", subscribedTopicNames=["u", "t"], subscribedTopicRegex=""),
        CONSUMER.joins("b", rackId="", subscribedTopicRegex="t.*"),
        CONSUMER.joins("c"),
        found("t.*", ["t"]),
    )
    assert [("r1", ["u", "t"], None), (None, None, "t.*"), (None, [], None)] == subscriptions(history)


def test_topics_resolved_for_a_pattern_are_added_to_the_named_topics() -> None:
    def both(*events: Event) -> tuple[object, ...]:
        joins = CONSUMER.joins("a", subscribedTopicNames=["u", "t"], subscribedTopicRegex="[st]")
        (subscription,) = subscriptions(replayed(CONSUMER.epoch(1), joins, *events))
        return subscription

    unresolved = (None, ["u", "t"], "[st]")
    assert unresolved == both() == both(found("other", ["o"])) == both(found("[st]", ["s"]), found("[st]", None))
    assert (None, ["u", "t", "s"], None) == both(found("[st]", ["t", "s"]))
    assert (None, ["u", "t"], None) == both(found("[st]", ["s"]), found("[st]", []))


def test_partitions_without_an_owner_include_topics_resolved_for_a_pattern() -> None:
    joins = CONSUMER.joins("a", subscribedTopicNames=["t"], subscribedTopicRegex="u")
    log = [CONSUMER.epoch(1), joins, CONSUMER.has("a", 1, 0, {"t": [0]})]
    topics = metadata({0: {"t": 3, "u": 4}})
    assert 6 == replayed(*log, found("u", ["u"]), topics=topics)["unowned"]
    assert replayed(*log, topics=topics)["unowned"] is None


def test_members_of_share_and_streams_groups_have_their_rack() -> None:
    share = replayed(SHARE.epoch(1), SHARE.joins("a", rackId="r1", subscribedTopicNames=["t"]))
    streams = replayed(STREAMS.epoch(1), STREAMS.joins("a", rackId="r1"))
    assert [("r1", ["t"], None)] == subscriptions(share)
    assert [("r1", None, None)] == subscriptions(streams)
