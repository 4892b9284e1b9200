"""Replay of hand-written logs: kind, state, members and generations of a group."""

from __future__ import annotations

import pyarrow as pa
import pytest

from assignor import _core, errors
from assignor.replay import Replay
from tests.replay.logs import (
    CONSUMER,
    SHARE,
    STREAMS,
    TOPICS,
    Event,
    Row,
    assigned,
    classic,
    classic_gone,
    commit,
    event,
    histories,
    log,
    member,
    metadata,
    replayed,
)
from tests.support.record_bytes import assignment, subscription

TWO = (member("a", ["t"], {"t": [0, 1]}), member("b", ["t"], {"t": [2]}))
TOPIC = metadata({0: {"t": 3}})


def shown(history: Row) -> tuple[object, ...]:
    """Return the values of a group that reports show first."""
    return tuple(history[name] for name in ("kind", "state", "protocol", "generation"))


def generations(history: Row) -> list[tuple[str, int]]:
    return [(generation["kind"], generation["generation"]) for generation in history["generations"]]


# ---- kinds and states


def test_a_classic_group_with_members_is_stable() -> None:
    history = replayed(classic(0, protocol_type=""), classic(1, *TWO))
    assert shown(history) == ("classic", "Stable", "range", 1)
    assert assigned(history) == {"a": {"t": [0, 1]}, "b": {"t": [2]}}
    assert (history["topics"], history["partitions"]) == (1, 3)
    first, second = history["generations"]
    assert (first["protocol_type"], first["protocol"], first["leader"], first["members"]) == ("", None, None, 0)
    assert (second["protocol_type"], second["protocol"], second["leader"]) == ("consumer", "range", "a")
    assert (second["offset"], second["timestamp"], second["members"], second["partitions"]) == (101, 1_000, 2, 3)


def test_a_classic_group_without_members_is_empty() -> None:
    history = replayed(classic(1, *TWO), commit("t", 0), classic(2))
    assert shown(history) == ("classic", "Empty", None, 2)
    assert (history["members"], history["committed_offsets"]) == ([], 1)


@pytest.mark.parametrize(
    ("state", "events"),
    [
        ("Empty", [CONSUMER.epoch(2)]),
        ("Assigning", [CONSUMER.joins("a"), CONSUMER.epoch(2)]),
        ("Assigning", [CONSUMER.joins("a"), CONSUMER.epoch(3), CONSUMER.target_epoch(2)]),
        ("Reconciling", [CONSUMER.joins("a"), CONSUMER.epoch(2), CONSUMER.target_epoch(2)]),
        (
            "Reconciling",
            [CONSUMER.joins("a"), CONSUMER.epoch(2), CONSUMER.target_epoch(2), CONSUMER.has("a", 2, 1, {})],
        ),
        (
            "Reconciling",
            [CONSUMER.joins("a"), CONSUMER.epoch(2), CONSUMER.target_epoch(2), CONSUMER.has("a", 2, 2, {})],
        ),
        (
            "Reconciling",
            [CONSUMER.joins("a"), CONSUMER.epoch(2), CONSUMER.target_epoch(2), CONSUMER.has("a", 1, 0, {})],
        ),
        (  # a static member that is absent for a while
            "Reconciling",
            [CONSUMER.joins("a"), CONSUMER.epoch(2), CONSUMER.target_epoch(2), CONSUMER.has("a", -2, 0, {})],
        ),
        ("Stable", [CONSUMER.joins("a"), CONSUMER.epoch(2), CONSUMER.target_epoch(2), CONSUMER.has("a", 2, 0, {})]),
    ],
)
def test_records_determine_the_state_of_a_consumer_group(state: str, events: list[Event]) -> None:
    history = replayed(*events)
    assert shown(history) == ("consumer", state, "uniform", history["generations"][-1]["generation"])


def test_a_consumer_group_is_reconciling_until_all_members_are_settled() -> None:
    before = [CONSUMER.joins("a"), CONSUMER.joins("b"), CONSUMER.epoch(3), CONSUMER.target_epoch(3)]
    assert replayed(*before, CONSUMER.has("a", 3, 0, {}))["state"] == "Reconciling"
    assert replayed(*before, CONSUMER.has("a", 3, 0, {}), *CONSUMER.leaves("b"))["state"] == "Stable"


def test_a_share_group_is_stable_with_members_and_empty_without_them() -> None:
    joined = [SHARE.joins("a", subscribedTopicNames=["t"]), SHARE.epoch(2), SHARE.has("a", 2, 0, {"t": [0, 2]})]
    history = replayed(*joined, topics=TOPIC)
    assert shown(history) == ("share", "Stable", None, 2)
    assert assigned(history) == {"a": {"t": [0, 2]}}
    assert history["unowned"] is None
    assert shown(replayed(*joined, *SHARE.leaves("a"), SHARE.epoch(3))) == ("share", "Empty", None, 3)


READY = [STREAMS.joins("a"), STREAMS.streams_topology(1, {"0": ["t"]}), STREAMS.epoch(2, validatedTopologyEpoch=1)]


@pytest.mark.parametrize(
    ("state", "events"),
    [
        ("Empty", [STREAMS.epoch(2)]),
        ("NotReady", [STREAMS.joins("a"), STREAMS.epoch(2)]),
        ("NotReady", [STREAMS.joins("a"), STREAMS.streams_topology(0, {"0": ["t"]}), STREAMS.epoch(2)]),
        ("NotReady", [STREAMS.joins("a"), STREAMS.streams_topology(1, {"0": ["t"]}), STREAMS.epoch(2)]),
        ("NotReady", [*READY, STREAMS.streams_topology(2, {"0": ["t"]})]),
        ("Assigning", READY),
        ("Reconciling", [*READY, STREAMS.target_epoch(2)]),
        ("Reconciling", [*READY, STREAMS.target_epoch(2), STREAMS.has("a", 2, 2, {})]),
        ("Reconciling", [*READY, STREAMS.target_epoch(2), STREAMS.has("a", 2, 3, {})]),
        ("Reconciling", [*READY, STREAMS.target_epoch(2), STREAMS.has("a", 1, 1, {})]),
        ("Stable", [*READY, STREAMS.target_epoch(2), STREAMS.has("a", 2, 1, {})]),
    ],
)
def test_records_determine_the_state_of_a_streams_group(state: str, events: list[Event]) -> None:
    assert shown(replayed(*events)) == ("streams", state, None, 2)


def test_offsets_without_a_group_record_are_an_empty_group_of_kind_offsets() -> None:
    history = replayed(commit("t", 0), commit("t", 1), commit("t", 1), commit("u", 0))
    assert shown(history) == ("offsets", "Empty", None, None)
    assert history["committed_offsets"] == 3


def test_legacy_offset_commits_count_too() -> None:
    key = {"group": "g", "topic": "t", "partition": 0}
    assert replayed(event(0, key, {}, version=0))["committed_offsets"] == 1
    for tombstone in (event(0, key, None), commit("t", 0, offset=None)):
        assert replayed(event(0, key, {}, version=0), tombstone)["committed_offsets"] == 0


# ---- deleted and converted groups


def test_a_deleted_group_is_gone_and_keeps_its_last_kind() -> None:
    history = replayed(classic(1, *TWO), commit("t", 0), classic(2), commit("t", 0, offset=None), classic_gone())
    assert shown(history) == ("classic", "gone", None, 2)
    assert (history["members"], history["rebalances"], history["topics"]) == ([], 2, 0)
    for protocol, kind in ((CONSUMER, "consumer"), (SHARE, "share"), (STREAMS, "streams")):
        history = replayed(protocol.epoch(2), protocol.epoch(3), protocol.epoch(None))
        assert shown(history) == (kind, "gone", None, 3)


def test_a_tombstone_without_a_group_record_means_gone() -> None:
    history = replayed(commit("t", 0), commit("t", 0, offset=None), classic_gone())
    assert shown(history) == ("offsets", "gone", None, None)


def test_a_deleted_group_with_offsets_is_of_kind_offsets() -> None:
    history = replayed(classic(1, *TWO), commit("t", 0), classic(2), classic_gone())
    assert shown(history) == ("offsets", "Empty", None, None)
    assert (history["committed_offsets"], history["rebalances"]) == (1, 2)


def test_a_deleted_topic_can_leave_a_group_without_offsets() -> None:
    history = replayed(commit("t", 0), commit("t", 1), commit("t", 0, offset=None), commit("t", 1, offset=None))
    assert shown(history) == ("offsets", "Empty", None, None)
    assert history["committed_offsets"] == 0


def test_an_upgrade_turns_a_classic_group_into_a_consumer_group() -> None:
    history = replayed(
        classic(6, *TWO),
        classic_gone(),
        CONSUMER.epoch(7),
        CONSUMER.joins("a", subscribedTopicNames=["t"], classicMemberMetadata={"sessionTimeoutMs": 1}),
        CONSUMER.target_epoch(7),
        CONSUMER.has("a", 7, 0, {"t": [0, 1, 2]}),
        topics=TOPIC,
    )
    assert shown(history) == ("consumer", "Stable", "uniform", 7)
    assert generations(history) == [("classic", 6), ("consumer", 7)]
    assert assigned(history) == {"a": {"t": [0, 1, 2]}}
    epoch = history["generations"][1]
    assert (epoch["protocol_type"], epoch["protocol"], epoch["leader"], epoch["range"]) == (None, None, None, None)


def test_a_downgrade_turns_a_consumer_group_into_a_classic_group() -> None:
    up = [CONSUMER.joins("a"), CONSUMER.epoch(8), CONSUMER.target_epoch(8), CONSUMER.has("a", 8, 0, {"t": [0]})]
    down = [*CONSUMER.leaves("a"), CONSUMER.target_epoch(None), CONSUMER.epoch(None), classic(9, *TWO)]
    history = replayed(*up, *down)
    assert shown(history) == ("classic", "Stable", "range", 9)
    assert generations(history) == [("consumer", 8), ("classic", 9)]
    assert [member["member_id"] for member in history["members"]] == ["a", "b"]
    assert shown(replayed(*up, *down, classic_gone())) == ("classic", "gone", None, 9)


def test_a_recreated_group_starts_without_history_of_members() -> None:
    history = replayed(classic(5, *TWO), classic(6), classic_gone(), classic(0), classic(1, *TWO))
    assert shown(history) == ("classic", "Stable", "range", 1)
    assert generations(history) == [("classic", number) for number in (5, 6, 0, 1)]


def test_the_last_of_two_current_group_records_counts() -> None:
    assert shown(replayed(CONSUMER.epoch(9), classic(1, *TWO))) == ("classic", "Stable", "range", 1)
    assert shown(replayed(classic(1, *TWO), CONSUMER.epoch(9))) == ("consumer", "Empty", "uniform", 9)


# ---- members


def test_a_static_restart_repeats_the_generation() -> None:
    restarted = (member("a2", ["t"], {"t": [0, 1]}, instance="one"), TWO[1])
    history = replayed(
        classic(3, member("a1", ["t"], {"t": [0, 1]}, instance="one"), TWO[1]),
        classic(3, *restarted),
        topics=TOPIC,
    )
    assert generations(history) == [("classic", 3), ("classic", 3)]
    assert (history["rebalances"], history["range_equal"]) == (1, 2)
    assert [(member["member_id"], member["group_instance_id"]) for member in history["members"]] == [
        ("a2", "one"),
        ("b", None),
    ]
    assert [generation["same_members"] for generation in history["generations"]] == [False, False]


def test_members_have_their_clients_and_the_order_of_the_record() -> None:
    history = replayed(classic(1, TWO[1], TWO[0]))
    assert [(member["client_id"], member["client_host"]) for member in history["members"]] == [
        ("client-b", "/10.0.0.1"),
        ("client-a", "/10.0.0.1"),
    ]


def test_entries_of_a_topic_listed_twice_are_merged() -> None:
    gets = assignment(("u", [4]), ("t", [3, 1]), ("empty", []), ("t", [2, 3]))
    history = replayed(classic(1, member("a", ["t", "u"], gets), protocol="cooperative-sticky"))
    assert assigned(history) == {"a": {"t": [1, 2, 3], "u": [4]}}
    assert history["assignment"] == [
        {"member_id": "a", "topic": "t", "start": 1, "count": 3},
        {"member_id": "a", "topic": "u", "start": 4, "count": 1},
    ]
    assert (history["topics"], history["partitions"], history["most_loaded"]) == (2, 4, 4)


def test_blobs_of_connect_workers_are_not_parsed() -> None:
    worker = member("w", subscription("t"), assignment(("t", [0])))
    history = replayed(classic(1, worker, protocol="sessioned", protocol_type="connect"), topics=TOPIC)
    assert shown(history) == ("classic", "Stable", "sessioned", 1)
    assert history["members"][0]["partitions"] is None
    assert (history["topics"], history["partitions"], history["idle_members"], history["unowned"]) == (0, 0, 0, None)


def test_partitions_pending_revocation_still_belong_to_a_member() -> None:
    history = replayed(
        CONSUMER.epoch(2),
        CONSUMER.joins("b", instanceId="i"),
        CONSUMER.joins("a"),
        CONSUMER.has("b", 2, 1, {"t": [0]}, t=[2, 1], u=[5]),
        topics=TOPIC,
    )
    assert assigned(history) == {"a": {}, "b": {"t": [0, 1, 2], "dQAAAAAAAAAAAAAAAAAAAA": [5]}}
    assert [member["group_instance_id"] for member in history["members"]] == [None, "i"]


def test_streams_tasks_are_partitions_of_their_source_topics() -> None:
    has = STREAMS.has("a", 2, 1, {"0": [0, 1], "1": [1]})
    topology = STREAMS.streams_topology(1, {"0": ["t", "u"], "1": ["=r", "t"]})
    assert assigned(replayed(STREAMS.joins("a"), STREAMS.epoch(2), has)) == {"a": {"0": [0, 1], "1": [1]}}
    history = replayed(STREAMS.joins("a"), topology, STREAMS.epoch(2), has)
    assert assigned(history) == {"a": {"r": [1], "t": [0, 1], "u": [0, 1]}}
    giving_up = STREAMS.has("a", 2, 2, {"0": [0]}, **{"1": [3]})
    history = replayed(STREAMS.joins("a"), topology, STREAMS.epoch(2), has, giving_up)
    assert assigned(history) == {"a": {"r": [3], "t": [0, 3], "u": [0]}}


@pytest.mark.parametrize(
    ("votes", "assignor"),
    [
        ([None, None], "uniform"),
        ([None, "range", None], "range"),
        (["range", "uniform", "range"], "range"),
        (["range", "uniform"], "uniform"),
        (["range", "custom"], "custom"),
        (["range", "custom", "custom", "uniform", "uniform"], "uniform"),
    ],
)
def test_members_of_a_consumer_group_vote_for_its_assignor(votes: list[str | None], assignor: str) -> None:
    joins = [CONSUMER.joins(f"m{place}", serverAssignor=vote) for place, vote in enumerate(votes)]
    assert replayed(*joins, CONSUMER.epoch(2))["protocol"] == assignor


# ---- records without effect

STORY = [classic(0, protocol_type=""), classic(1, *TWO), commit("t", 0), classic(2, TWO[0])]


def test_bad_records_are_counted_and_ignored() -> None:
    no_group = [Event(None, b""), Event(b"", None), Event(b"\0\2\0\5g", None)]
    damaged = Event(commit("t", 0).key, b"\0\x63")
    history = replayed(*STORY, *no_group, damaged)
    assert history.pop("bad_records") == 1
    expected = replayed(*STORY)
    assert expected.pop("bad_records") == 0
    assert history == expected


def test_unrelated_records_are_ignored() -> None:
    key = {"groupId": "g"}
    others = [
        Event(b"\0\x19\0\1g", b"?"),
        Event(b"\0\x12\0\1g", None),
        event(4, key, None),
        event(7, {**key, "memberId": "x"}, {}),
        event(13, {**key, "memberId": "x"}, {}),
        event(15, key, {}),
        event(16, {**key, "regularExpression": "t.*"}, {"topics": ["t"]}),
        event(21, {**key, "memberId": "x"}, {}),
    ]
    assert replayed(*STORY, *others) == replayed(*STORY)


def test_topic_metadata_without_a_column_is_rejected() -> None:
    nothing = pa.RecordBatch.from_pylist([], schema=TOPICS)
    with pytest.raises(errors.WrongTypeError, match="column racks of the topic metadata must be a list of Utf8"):
        _core.Replay(nothing.drop_columns(["racks"]))


def test_text_that_exceeds_the_limit_of_a_column_is_rejected() -> None:
    gets = {"t": range(0, 60, 2), "": range(0, 60, 2)}
    records = log([classic(1, TWO[0]), classic(2, member("member", ["t"], gets))])
    nothing = pa.RecordBatch.from_pylist([], schema=TOPICS)

    def message_of(limit: int) -> str:
        with pytest.raises(errors.IllegalArgumentError) as caught:
            histories(_core.Replay(nothing), records, limit=limit)
        return str(caught.value)

    where = "at group g: pass fewer records per call"
    assert message_of(6) == f"the text column kind exceeds 6 bytes {where}"
    assert message_of(359) == f"the text column assignment.member_id exceeds 359 bytes {where}"
    assert message_of(40) == f"the text column assignment.member_id exceeds 40 bytes {where}"
    anonymous = log([classic(1, member("", ["t"], {"": gets["t"]}))])
    with pytest.raises(errors.IllegalArgumentError, match="the list column assignment exceeds 29 rows at group g"):
        histories(_core.Replay(nothing), anonymous, limit=29)
    assert len(histories(_core.Replay(nothing), records, limit=1_000)) == 1


def test_a_forgotten_group_begins_anew() -> None:
    replay = Replay()
    for record in log([classic(1, TWO[0]), classic(2, TWO[1])]):
        replay.push(record)

    assert [True, False] == [replay.forget("g"), replay.forget("g")]
    assert [] == replay.states()
    assert ["member", "generation", "rebalance"] == [
        event["event"] for record in log([classic(1, TWO[0])]) for event in replay.push(record)
    ]
