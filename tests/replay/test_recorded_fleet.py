"""Replay of the recorded fleet, compared with the cluster's descriptions of its groups."""

from __future__ import annotations

import copy
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.replay.logs import assigned, comparisons, replay_all
from tests.support.recorded_fleet import logs, snapshots, topics

if TYPE_CHECKING:
    pass

Row = dict[str, Any]

STORM = "inventory-sync"
"""Group with 12,474 generations."""

SUBTOPOLOGY_READS = {"0": "user-profile"}
"""Source topic of the only subtopology of the only streams group."""


REMARKS = [
    ("shipping.eta", 1, "different", "the assignor did not have the metadata of shipment_events, shipments yet"),
    (
        "legacy-bridge",
        2,
        "different",
        "Kafka cannot parse the subscription of sarama-838a8505-1f7f-43fd-99a7-38ebf915b943:"
        " 4 bytes are needed and 0 remain at offset 25 while reading owned_partitions",
    ),
    (
        "legacy-bridge",
        2,
        "different",
        "2 of 2 members own other partitions than Kafka's range assignor gives them;"
        " in total the same partitions are assigned",
    ),
]
"""All remarks about range generations."""

# ---- descriptions of the cluster


def described_members(snapshot: Row) -> dict[str, tuple[str, str | None, object]]:
    """Return client, instance and partitions of each member from the Admin client; partitions are None if unknown."""
    found = {}
    for member in snapshot["members"]:
        partitions = member.get("assignment")
        if snapshot["type"] == "Streams":
            tasks = member["assignment"]["active"]
            partitions = {SUBTOPOLOGY_READS[name]: ids for name, ids in tasks.items() if ids}
        found[member["member_id"]] = (member["client_id"], member.get("instance_id"), partitions)
    return found


def replayed_members(history: Row) -> dict[str, tuple[str, str | None, object]]:
    partitions = assigned(history)
    return {
        member["member_id"]: (member["client_id"], member["group_instance_id"], partitions.get(member["member_id"]))
        for member in history["members"]
    }


def compare(snapshot: Row, history: Row) -> list[str]:
    """Return the names of the values that differ."""
    kind = history["kind"]
    described: Row = {
        "kind": "offsets" if snapshot["simple"] else snapshot["type"].lower(),
        "state": snapshot["state"],
        "members": described_members(snapshot),
    }
    ours: Row = {"kind": kind, "state": history["state"], "members": replayed_members(history)}
    if kind in ("classic", "consumer", "offsets"):
        described["assignor"], ours["assignor"] = snapshot["assignor"] or None, history["protocol"]
    if kind in ("consumer", "share", "streams"):
        described["epoch"], ours["epoch"] = snapshot["group_epoch"], history["generation"]
    if kind != "share":  # offsets of share groups are not in this topic
        described["offsets"], ours["offsets"] = len(snapshot["offsets"]), history["committed_offsets"]
    return [name for name in described if described[name] != ours[name]]


@pytest.mark.parametrize("label", ["s1", "s2", "s3", "s4", "final"])
def test_the_log_up_to_a_snapshot_gives_the_snapshot(label: str) -> None:
    described = {snapshot["group"]: snapshot for snapshot in snapshots()[label]}
    ends = next(iter(described.values()))["log_end_before"]
    found = logs(ends)
    histories = dict(zip(found, replay_all(list(found.values()), topics()), strict=True))

    differ = {(group, name) for group in described for name in compare(described[group], histories[group])}

    # A rebalance in progress is not written to the log, and the Admin client returns no assignor during a rebalance.
    assert differ == ({(STORM, "state"), (STORM, "assignor")} if label == "s3" else set())
    assert {group for group in histories if histories[group]["state"] == "gone"} == histories.keys() - described.keys()


def test_only_one_description_shows_a_rebalance_in_progress() -> None:
    states = {(each["label"], each["group"]): each["state"] for described in snapshots().values() for each in described}
    assert [where for where, state in states.items() if state == "PreparingRebalance"] == [("s3", STORM)]
    assert Counter(states.values()) == {"Stable": 85, "Empty": 22, "PreparingRebalance": 1}


def test_the_comparison_with_a_snapshot_detects_all_changes() -> None:
    snapshot = next(each for each in snapshots()["s1"] if each["group"] == "payments-audit")
    (history,) = replay_all([logs(snapshot["log_end_before"])["payments-audit"]], topics())
    assert compare(snapshot, history) == []
    for name, change in {
        "state": "Empty",
        "assignor": "range",
        "group_epoch": 1,
        "offsets": [],
        "type": "Share",
    }.items():
        assert compare({**snapshot, name: change}, history), name
    for name, change in {"member_id": "x", "client_id": "x", "instance_id": "x", "assignment": {}}.items():
        changed = copy.deepcopy(snapshot)
        changed["members"][0][name] = change
        assert compare(changed, history) == ["members"], name


def test_rebalances_of_the_fleet_are_counted() -> None:
    groups = [STORM, "billing", "warehouse-static"]
    histories = replay_all([logs()[group] for group in groups])
    assert [history["rebalances"] for history in histories] == [12_474, 7, 4]


def test_thirty_of_thirty_two_range_generations_equal_kafkas() -> None:
    found = logs()
    outcomes = Counter[str | None]()
    remarks = []
    for group, history in zip(found, replay_all(list(found.values()), topics()), strict=True):
        for place, (outcome, said) in enumerate(comparisons(history)):
            outcomes[outcome] += 1
            remarks += [(group, history["generations"][place]["generation"], outcome, remark) for remark in said]
    del outcomes[None]
    assert outcomes == {"equal": 30, "different": 2}
    assert remarks == REMARKS
