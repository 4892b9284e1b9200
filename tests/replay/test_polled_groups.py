"""Events of groups that are polled: what two polls show, what they do not show, and what is no change."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from assignor.cluster.description import UNREAD
from assignor.page.page_file import PageFile
from assignor.page.watch_page import WatchPage
from assignor.replay.event_lines import EventLines
from assignor.replay.events import FIELDS, to_json
from assignor.replay.long_rebalances import DEFAULT_TIMEOUT_MS
from assignor.replay.metrics import WatchMetrics
from assignor.replay.polled_groups import POLLS_WITHOUT, Poll
from tests.replay.polls import STEP, TOOK, Polls, changes, described, group, member

if TYPE_CHECKING:
    from pathlib import Path

Event = dict[str, Any]

BOTH = (member("a", 0), member("b", 1))


def test_the_first_poll_has_no_events() -> None:
    polls = Polls()

    assert [] == polls.see(group(*BOTH))
    assert [("Stable", "range", None, 2)] == [
        (row["state"], row["protocol"], row["generation"], len(row["members"])) for row in polls.watcher.groups()
    ]


def test_polls_without_a_change_have_no_events() -> None:
    polls = Polls()
    polls.see(group(*BOTH), committed={"billing": {0: 5, 1: 5}})

    for _ in range(30):
        assert [] == polls.see(group(*reversed(BOTH)), committed={"billing": {0: 5, 1: 5}})


def test_a_member_that_joins_takes_partitions_from_another() -> None:
    polls = Polls()
    polls.see(group(member("a", 0, 1)))

    events = polls.see(group(*BOTH))

    assert [("joined", "b"), ("rebalance", ["b"], [], [], [1], [])] == changes(events)
    assert ["consumer_subscribed"] == events[1]["causes"]


def test_a_change_has_the_times_of_the_two_polls_in_its_evidence_and_no_place_in_a_log() -> None:
    polls = Polls()
    polls.see(group(member("a", 0, 1)))

    joined, rebalance = polls.see(group(*BOTH))

    assert 2 * STEP + TOOK == rebalance["at"]
    assert (
        "Member b joined. Two polls show this, at 1970-01-01 00:00:10.000 and 1970-01-01 00:00:20.200: what else "
        "happened in between, and why, is not visible."
    ) == rebalance["evidence"]
    for event in (joined, rebalance):
        assert (None, -1) == (event["generation"], event["offset"])
        assert set(FIELDS[event["event"]]) <= event.keys()
        assert to_json(event)


@pytest.mark.parametrize(("instance", "cause"), [(None, "poll_interval_exceeded"), ("static-1", "member_removed")])
def test_a_member_that_leaves_can_have_left_for_any_reason(instance: str | None, cause: str) -> None:
    polls = Polls()
    polls.see(group(member("a", 0), member("b", 1, instance=instance)))

    left, rebalance = polls.see(group(member("a", 0, 1)))

    assert [("left", "b"), ("rebalance", [], ["b"], [], [1], [])] == changes([left, rebalance])
    assert {"consumer_closed", "consumer_dead", "application_crashed", cause} <= set(left["causes"])
    assert set(left["causes"]) <= set(rebalance["causes"])


def test_a_member_that_restarts_between_two_polls_leaves_and_joins() -> None:
    polls = Polls()
    polls.see(group(*BOTH))

    events = polls.see(group(member("a", 0), member("c", 1)))

    assert [("left", "b"), ("joined", "c"), ("rebalance", ["c"], ["b"], [], [1], [])] == changes(events)
    assert {"consumer_subscribed", "consumer_closed", "consumer_dead"} <= set(events[-1]["causes"])


def test_a_static_member_that_returns_with_its_partitions_is_replaced_without_a_rebalance() -> None:
    polls = Polls()
    polls.see(group(member("a", 0), member("b", 1, instance="static-1")))

    events = polls.see(group(member("a", 0), member("c", 1, instance="static-1")))

    assert [("replaced", "c")] == changes(events)
    assert "b" == events[0]["previous"]


def test_a_static_member_that_returns_to_other_partitions_is_in_a_rebalance() -> None:
    polls = Polls()
    polls.see(group(member("a", 0), member("b", 1, instance="static-1")))

    events = polls.see(group(member("c", 0, instance="static-1")))

    assert [("left", "a"), ("replaced", "c"), ("rebalance", [], ["a"], ["c"], [0], [1])] == changes(events)


def test_partitions_that_move_among_the_same_members_have_an_unknown_cause() -> None:
    polls = Polls()
    polls.see(group(*BOTH))

    (event,) = polls.see(group(member("a", 1), member("b", 0)))

    assert ("rebalance", [], [], [], [0, 1], []) == changes([event])[0]
    assert ["unknown"] == event["causes"]
    assert event["evidence"].startswith("The members are the same, and some partitions have other owners. Two polls ")


def test_more_partitions_are_the_cause_if_members_get_them() -> None:
    polls = Polls()
    polls.see(group(*BOTH))
    polls.partitions = 3
    assert [] == polls.see(group(*BOTH)), "the members do not know the new partition yet"

    (event,) = polls.see(group(member("a", 0, 2), member("b", 1)))

    assert ["partitions_increased"] == event["causes"]
    assert ("rebalance", [], [], [], [], []) == changes([event])[0]


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
def test_a_group_in_a_rebalance_keeps_its_members_and_owners_until_it_ends(state: str) -> None:
    polls = Polls()
    polls.see(group(*BOTH))

    for _ in range(3):
        assert [] == polls.see(group(member("b"), member("c"), state=state))
        assert ["billing"] == polls.watcher.polled.rebalancing()
    events = polls.see(group(member("b", 0), member("c", 1)))

    assert [("left", "a"), ("joined", "c"), ("rebalance", ["c"], ["a"], [], [0, 1], [])] == changes(events)
    assert "at 1970-01-01 00:00:10.000 and 1970-01-01 00:00:50.200" in events[-1]["evidence"]
    assert [] == polls.watcher.polled.rebalancing()


def test_a_group_without_members_is_not_gone() -> None:
    polls = Polls()
    polls.see(group(*BOTH), committed={"billing": {0: 5}})

    events = polls.see(group(), committed={"billing": {0: 5}})

    assert [("left", "a"), ("left", "b"), ("rebalance", [], ["a", "b"], [], [], [])] == changes(events)
    assert ["Empty"] == [row["state"] for row in polls.watcher.groups()]
    for _ in range(5):
        assert [] == polls.see(group(), committed={"billing": {0: 5}})


def test_a_group_that_two_complete_polls_do_not_list_is_gone() -> None:
    polls = Polls()
    polls.see(group(), committed={"billing": {0: 5}})
    assert 2 == POLLS_WITHOUT

    assert [] == polls.see()
    events = polls.see()

    assert {"group_deleted", "offsets_deleted"} == {event["event"] for event in events}
    assert all({"deleted", "expired"} <= set(event["causes"]) for event in events)
    assert all("at 1970-01-01 00:00:10.000 and 1970-01-01 00:00:30.200" in event["evidence"] for event in events)
    assert ["gone"] == [row["state"] for row in polls.watcher.groups()]
    assert [] == polls.see()


def test_a_broker_that_does_not_answer_is_no_departure() -> None:
    polls = Polls()
    committed = {"billing": {0: 5, 1: 5}, "other": {0: 5}}
    other = group(member("c", 0), name="other")
    polls.see(group(*BOTH), other, committed=committed)

    for _ in range(2 * POLLS_WITHOUT):
        assert [] == polls.see(other, committed=committed, is_complete=False)
        assert [] == polls.see(other, committed=committed, unread=["billing"])
    assert [] == polls.see(other, committed=committed)
    assert [] == polls.see(group(*BOTH), other, committed=committed)

    events = polls.see(group(member("a", 0, 1)), other, committed=committed)
    assert [("left", "b"), ("rebalance", [], ["b"], [], [1], [])] == changes(events)


def test_a_group_whose_coordinator_does_not_run_is_not_gone() -> None:
    polls = Polls()
    billing, other = group(member("a", 0, 1)), group(name="other")
    billing.coordinator, other.coordinator = (3, "host", 9092), (2, "host", 9092)
    polls.see(billing, other, brokers=(2, 3))

    for _ in range(2 * POLLS_WITHOUT):
        assert [] == polls.see(other, brokers=(2,)), "no broker lists it, and none of those that run returns an error"
        assert ["billing"] == polls.watcher.polled.lost
    assert [] == polls.see(billing, other, brokers=(2, 3))
    assert [] == polls.watcher.polled.lost
    assert [] == polls.see(other, brokers=(2, 3))
    assert ["left", "group_deleted"] == [
        event.get("action", event["event"]) for event in polls.see(other, brokers=(2, 3))
    ]


def test_a_share_or_streams_group_is_not_known_to_be_gone() -> None:
    polls = Polls()
    polls.see(group(problem=UNREAD, kind=""))

    for _ in range(2 * POLLS_WITHOUT):
        assert [] == polls.see()


def test_the_members_of_a_group_that_could_not_be_described_before_have_not_joined_now() -> None:
    polls = Polls()
    polls.see(unread=["billing"])

    assert [] == polls.see(group(member("a", 0)))
    assert 1 == polls.watcher.conditions.groups["billing"].unowned, "a lasting condition needs no event"
    assert [("left", "a"), ("rebalance", [], ["a"], [], [], [])] == changes(polls.see(group()))


@pytest.mark.parametrize("is_complete", [True, False])
def test_a_new_group_is_new_only_if_an_earlier_poll_was_complete(is_complete: bool) -> None:
    polls = Polls()
    polls.see(is_complete=is_complete)

    events = polls.see(group(member("a", 0, 1)))

    joined = [("joined", "a"), ("rebalance", ["a"], [], [], [], [])]
    assert (joined if is_complete else []) == changes(events)


def test_groups_have_their_kind_although_polls_of_all_kinds_are_read_alike() -> None:
    polls = Polls()
    polls.see(group(member("a", 0, 1, topics=None), kind="consumer"))

    events = polls.see(group(member("a", topics=None), member("b", 0, 1, topics=None), kind="consumer"))

    assert {"consumer"} == {event["kind"] for event in events}
    assert ["consumer"] == [row["kind"] for row in polls.watcher.groups()]
    assert ["consumer"] == [found.kind for found in polls.watcher.summaries()]


def test_a_partition_on_its_way_to_its_next_owner_is_not_unowned() -> None:
    polls = Polls()
    polls.see(group(member("a", 0, 1, topics=None, target=(0, 1)), kind="consumer"))

    moving = group(member("a", 0, topics=None, target=(0,)), member("b", topics=None, target=(1,)), kind="consumer")
    events = polls.see(moving)

    assert [("joined", "b"), ("rebalance", ["b"], [], [], [1], [])] == changes(events)
    done = group(member("a", 0, topics=None, target=(0,)), member("b", 1, topics=None, target=(1,)), kind="consumer")
    assert [] == polls.see(done)


def test_a_guessed_subscription_does_not_change() -> None:
    polls = Polls()
    polls.see(group(member("a", topics=None), kind="consumer"))

    (event,) = polls.see(group(member("a", 0, topics=None), kind="consumer"))

    assert ["unknown"] == event["causes"]
    assert "subscription" not in event["evidence"]
    assert [["orders", 1]] == event["unowned"], "a topic with assigned partitions is subscribed"


def test_partitions_without_an_owner_are_not_known_without_subscriptions_and_owners() -> None:
    polls = Polls()
    polls.see()

    *_, event = polls.see(group(member("a", topics=None), kind="consumer"))

    assert event["unowned"] is None


def test_a_subscription_that_could_not_be_read_once_does_not_change() -> None:
    polls = Polls()
    known = group(member("a", 0, 1, topics=("orders", "returns")))
    polls.see(known)

    assert [] == polls.see(group(member("a", 0, 1, topics=None)))
    assert [] == polls.see(known)
    assert [] == polls.see(known)


def test_a_known_subscription_can_change() -> None:
    polls = Polls()
    polls.see(group(member("a", 0, 1)))

    member_event, rebalance = polls.see(group(member("a", 0, 1, topics=("orders", "returns"))))

    assert [("subscription_changed", "a")] == changes([member_event])
    assert "subscription_changed" in rebalance["causes"]


def test_a_committed_offset_that_goes_back_is_an_event_and_one_that_is_unread_is_not() -> None:
    polls = Polls()
    polls.see(group(*BOTH), committed={"billing": {0: 5, 1: 5}})
    assert [] == polls.see(group(*BOTH), has_offsets=False)

    (event,) = polls.see(group(*BOTH), committed={"billing": {0: 3, 1: 6}})

    assert ("offsets", "went_back", [["orders", 0]]) == (event["event"], event["problem"], event["topic_partitions"])
    assert "Two polls show this" in event["evidence"]


def test_a_commit_before_the_last_member_leaves_is_one_of_the_owner() -> None:
    polls = Polls()
    polls.see(group(member("a", 0, 1)), committed={"billing": {0: 5, 1: 5}})

    events = polls.see(group(), committed={"billing": {0: 9, 1: 9}})

    assert [("left", "a"), ("rebalance", [], ["a"], [], [], [])] == changes(events)


def test_a_commit_of_the_first_member_is_one_of_the_owner() -> None:
    polls = Polls()
    polls.see()

    events = polls.see(group(member("a", 0, 1)), committed={"billing": {0: 9}})

    assert [("joined", "a"), ("rebalance", ["a"], [], [], [], [])] == changes(events)


def test_partitions_without_a_committed_offset_are_reported_only_if_the_offsets_can_be_read() -> None:
    polls, failing = Polls(), Polls()
    hidden = Polls(partitions=0)  # this client may not describe the topic, so that it gets no offsets either

    found = [event for _ in range(8) for event in polls.see(group(*BOTH))]

    (event,) = found
    assert "never_committed" == event["problem"]
    assert "Polls do not show which." in event["evidence"]
    assert [] == [event for _ in range(8) for event in hidden.see(group(*BOTH))]
    assert [] == [event for _ in range(8) for event in failing.see(group(*BOTH), has_offsets=False)]


def test_a_member_that_stops_committing_is_silent_but_not_while_brokers_do_not_answer() -> None:
    polls = Polls(partitions=1)
    for offset in range(10):
        polls.see(group(member("a", 0)), committed={"billing": {0: offset}})
    assert [] == list(polls.watcher.conditions.silent())

    for _ in range(12):
        polls.see(group(member("a", 0)), committed={"billing": {0: 9}})

    ((name, event),) = polls.watcher.conditions.silent()
    assert ("billing", "a", STEP) == (name, event["member"], event["usual_interval_ms"])


def test_a_description_becomes_a_poll() -> None:
    row = {"topic": "orders", "partition": 0}
    description = described(
        group(*BOTH),
        group(name="broken", problem="no answer"),
        group(name="shared", problem=UNREAD, kind=""),
        group(name="offsets-unread"),
        group(name="streams-unread", problem=UNREAD, kind=""),
        partitions={"billing": [{**row, "committed": 5}, {**row, "partition": 1, "committed": None}]},
        problems=(
            *(
                ("broken", "no answer"),
                ("shared", UNREAD),
                ("offsets-unread", "no answer"),
                ("named", "does not exist"),
            ),
            *(("streams-unread", UNREAD), ("streams-unread", "no answer")),
        ),
        is_complete=False,
    )

    poll = Poll.of(description, 1, 2)

    assert {"billing", "shared", "offsets-unread", "streams-unread"} == poll.groups.keys()
    assert {"billing": {("orders", 0): 5}, "shared": {}} == poll.committed
    assert (frozenset({"broken"}), False) == (poll.unread, poll.is_complete)


def test_the_rebalance_timeout_of_a_group_is_not_known() -> None:
    polls = Polls()
    polls.see(group(*BOTH))

    assert DEFAULT_TIMEOUT_MS == polls.watcher.rebalance_timeout("billing")


def test_no_record_of_a_log_is_counted() -> None:
    polls = Polls()
    polls.see(group(*BOTH), committed={"billing": {0: 5}})

    assert 0 == polls.watcher.records
    assert [0] == [row["records"] for row in polls.watcher.groups()]


@pytest.mark.parametrize("wanted", ["other", "oth*", "?ther"])
def test_only_wanted_groups_have_events(wanted: str) -> None:
    polls = Polls(groups=[wanted])
    polls.see(group(member("a", 0, 1)), group(member("c", 0), name="other"))

    events = polls.see(group(*BOTH), group(name="other"))

    assert {"other"} == {event["group"] for event in events}


def test_the_text_of_a_rebalance_says_that_its_generation_is_not_known() -> None:
    polls = Polls()
    polls.see(group(member("a", 0, 1)))
    events = polls.see(group(*BOTH))

    joined, rebalance = EventLines(polls.watcher.groups()).lines(events, [], loops=(), storms=())

    assert joined.endswith("  billing  member joined: b b on 127.0.0.1")
    assert "  billing  rebalance, generation not known: consumer_subscribed; evidence: Member b joined." in rebalance
    assert rebalance.endswith("; joined: b b on 127.0.0.1; moved: orders[1]")


def test_a_member_that_restarts_again_and_again_is_a_loop() -> None:
    polls = Polls()
    changes_of_loops = []
    for number in range(30):
        polls.see(group(member("a", 0), member(f"b-{number}", 1)))
        changes_of_loops += polls.watcher.loop_changes
        polls.watcher.loop_changes.clear()

    (loop,) = polls.watcher.loops.current()
    assert ("new_member_ids", ("b on 127.0.0.1",)) == (loop.repeats, loop.clients)
    assert {None, -1} >= {change.offset for change in changes_of_loops}


def test_a_page_shows_the_groups_and_events_of_polls(tmp_path: Path) -> None:
    polls = Polls()
    notices: list[str] = []
    page = WatchPage("main", polls.watcher, threading.Lock())
    file = PageFile(str(tmp_path / "page.html"), page, notices.append)
    for members in ((member("a", 0, 1),), BOTH, (member("b", 0),), ()):
        page.add(polls.see(group(*members)))
        file.write_if_due()
    file.finish()

    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Two polls show this" in text
    assert "generation not known" in text
    assert "<dt>records</dt>" not in text, "no record was read"
    assert [] == notices


def test_metrics_count_what_polls_show() -> None:
    polls = Polls()
    metrics = WatchMetrics(polls.watcher, threading.Lock())
    polls.see(group(member("a", 0, 1), kind="consumer"))
    metrics.observe(polls.see(group(member("a", 0), member("b", 1), kind="consumer")))
    metrics.observe(polls.see(group(member("a", 0), kind="consumer")))

    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for metric in metrics.collect()
        for sample in metric.samples
    }

    label = ("group", "billing")
    assert 1 == found["assignor_group_members", label, ("kind", "consumer")]
    assert 2 == found["assignor_group_rebalances_total", label]
    assert 1 == found["assignor_unowned_partitions", label]
    assert 1 == found["assignor_rebalances_total", ("cause", "consumer_subscribed"), label, ("kind", "consumer")]
    assert 0 == found["assignor_records_total",]
