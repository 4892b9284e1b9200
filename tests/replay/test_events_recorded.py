"""Events of the recorded fleet, compared with the brokers' own log and with the Admin client's descriptions."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from assignor.coordinator.causes import RebalanceCause
from assignor.replay import Replay
from assignor.replay.events import event_dicts
from tests.replay.event_logs import STORM, broker_reasons, place, replayed
from tests.support.recorded_fleet import logs, snapshots, topics

Event = dict[str, Any]

EXPIRED = {"consumer_dead", "application_crashed"}


def causes_of(reason: str) -> set[str]:
    """Return the causes that correspond to a reason in a broker's log."""
    starts = {
        "Adding new member": {"consumer_subscribed"},
        "removing member": EXPIRED,
        "Removing member": {"consumer_closed"},  # of Kafka 3
        # An empty member id: an administrator removed the member by its instance id.
        "explicit `LeaveGroup` request for () ": {"member_removed"},
        "explicit `LeaveGroup` request for (": {"consumer_closed"},
        "Leader ": {"leader_rejoined"},
        "Updating metadata for static member": {"static_member_returned"},
        "Updating metadata for member": {"subscription_changed", "owned_partitions_changed"},
    }
    return next(causes for start, causes in starts.items() if reason.startswith(start))


@functools.cache
def fleet() -> tuple[list[Event], Replay]:
    """Return the events of the fleet and their replay; without comparisons, which other tests cover."""
    records = pa.Table.from_pylist([record._asdict() for group in logs().values() for record in group])
    replay = Replay(topics(), is_compared=False)
    events = [event for batch in records.to_batches() for event in event_dicts(replay._core.push(batch))]
    events += replay.advance(pc.max(records["timestamp"]).as_py()) + replay.finish()
    return sorted(events, key=place), replay


def rebalances(kinds: tuple[str, ...]) -> list[Event]:
    """Return the rebalances of groups of some kinds."""
    return [event for event in fleet()[0] if event["event"] == "rebalance" and event["kind"] in kinds]


def broker_causes() -> dict[tuple[str, int], set[str]]:
    """Return the causes that the brokers logged, by group and generation."""
    return {
        (line["group"], line["generation"]): causes_of(line["reason"])
        for line in broker_reasons()
        if line["what"] == "rebalance"
    }


def test_the_causes_of_classic_rebalances_include_the_reason_of_the_broker() -> None:
    expected = broker_causes()
    found = {(event["group"], event["generation"]): event["causes"] for event in rebalances(("classic",))}

    assert [key for key, causes in found.items() if not expected[key] & set(causes)] == []
    # The assignment of generation 1 was never written: another member joined before it was complete.
    assert expected.keys() - found.keys() == {("order-processor", 1)}
    assert len(found) > 12_500


def test_lists_of_causes_are_short() -> None:
    expected = broker_causes()
    settled = [event for event in rebalances(("classic",)) if event["group"] != STORM]
    lengths = [len(event["causes"]) for event in settled]
    first = [event for event in settled if event["causes"][0] in expected[event["group"], event["generation"]]]

    assert (len(settled), max(lengths), sum(lengths)) == (68, 5, 104)
    assert len(first) == 59
    names = {cause.name.lower() for cause in RebalanceCause}
    found = (event for event in fleet()[0] if event["event"] in {"rebalance", "member"})
    assert {name for event in found for name in event["causes"]} <= names


def test_epochs_and_members_are_those_that_the_brokers_logged() -> None:
    kinds = ("consumer", "share", "streams")
    lines = broker_reasons()
    epochs = {(line["group"], line["generation"]) for line in lines if line["what"] == "epoch"}
    missing = {("profile-joiner", 4), ("profile-joiner", 5), ("email-workers", 7), ("email-workers", 8)}
    missing |= {("email-workers", 9)}  # the brokers do not log epochs after share and streams members left

    assert {(event["group"], event["generation"]) for event in rebalances(kinds)} == epochs | missing
    actions = {"joined": "joined", "left": "left", "expired": "left"}
    logged = Counter(
        (actions[line["what"]], line["group"], line["member"]) for line in lines if line["what"] in actions
    )
    events = Counter(
        (event["action"], event["group"], event["member"])
        for event in fleet()[0]
        if event["event"] == "member" and event["kind"] in kinds and event["action"] != "subscription_changed"
    )
    assert events == logged
    causes = {
        (event["group"], name) for event in rebalances(kinds) for name in event["causes"] if len(event["causes"]) == 1
    }
    assert {("orders-next", "partitions_increased"), ("payments-audit", "topic_created")} <= causes


def test_the_storm_names_the_partitions_without_an_owner() -> None:
    events, replay = fleet()
    *_, begin, last = (event for event in events if event["event"] == "storm")
    (state,) = (state for state in replay.states() if state["group"] == STORM)
    (described,) = (each for each in snapshots()["final"] if each["group"] == STORM)
    names = ("inventory.delta", "inventory.snapshot")
    owned = {
        (topic, id) for member in described["members"] for topic, ids in member["assignment"].items() for id in ids
    }
    free = [[topic, id] for topic in names for id in range(50) if (topic, id) not in owned]

    assert (described["state"], state["state"], state["generation"], len(free)) == ("Stable", "Stable", 12_474, 14)
    assert last["unowned"] == free
    assert (begin["until"], last["until"]) == (None, None)
    assert begin["since"] == last["since"]
    assert [pair for pair in free if pair not in last["topic_partitions"]] == []
    final = [event for event in events if event["event"] == "rebalance" and event["group"] == STORM][-2:]
    assert final[-1]["unowned"] == free
    # Two sets of 14 partitions alternate.
    assert len({tuple(pair) for event in final for pair in event["unowned"]}) == 28


def test_the_storm_fills_the_last_106_seconds() -> None:
    records = [record for record in logs()[STORM] if record.key is not None and record.key[1] == 2]
    end = records[-1].timestamp
    assert sum(record.timestamp > end - 106_000 for record in records) == 12_460
    begin = next(event for event in fleet()[0] if event["event"] == "storm")
    assert 105_000 < end - begin["since"] < 106_000


@pytest.mark.parametrize("label", ["s1", "s2", "s3", "s4", "final"])
def test_the_state_at_a_snapshot_is_what_the_admin_client_describes(label: str) -> None:
    described = {each["group"]: each for each in snapshots()[label]}
    ends = next(iter(described.values()))["log_end_before"]
    # The last group record of the storm has its complete state, so the ones before are not needed.
    found = {group: records[-20:] if group == STORM else records for group, records in logs(ends).items()}
    _, replay = replayed(found, topics(), is_compared=False)
    states = {state["group"]: state for state in replay.states()}
    positions: dict[str, list[dict[str, Any]]] = {}
    for row in replay.positions():
        if row["committed"] is not None:
            positions.setdefault(row["group_id"], []).append(row)

    assert described.keys() == {group for group, state in states.items() if state["state"] != "gone"}
    for group, snapshot in described.items():
        state = states[group]
        assert state["kind"] == ("offsets" if snapshot["simple"] else snapshot["type"].lower())
        if (label, group) != ("s3", STORM):  # a rebalance in progress is not written to the log
            assert state["state"] == snapshot["state"]
        members = {member["member_id"]: member for member in state["members"]}
        assert {
            member["member_id"]: (member["client_id"], member.get("instance_id")) for member in snapshot["members"]
        } == {id: (member["client_id"], member["group_instance_id"]) for id, member in members.items()}
        if state["kind"] not in ("classic", "offsets"):
            assert state["generation"] == snapshot["group_epoch"]
        if state["kind"] in ("classic", "consumer") and all(member["topics"] for member in members.values()):
            owned: dict[str, dict[str, list[int]]] = {id: {} for id in members}
            for span in state["assignment"]:
                ids = owned[span["member_id"]].setdefault(span["topic"], [])
                ids += range(span["start"], span["start"] + span["count"])
            assert owned == {member["member_id"]: member["assignment"] for member in snapshot["members"]}
        if state["kind"] != "share" and group != STORM:  # offsets of share groups are in another topic
            assert state["committed_offsets"] == len(snapshot["offsets"])
            held = positions.get(group, [])
            committed = [(row["topic"], row["partition"], row["committed"]) for row in held]
            assert committed == sorted(tuple(offset[:3]) for offset in snapshot["offsets"])
