"""The classic groups of the recorded fleet, loaded from their records, equal the cluster's own descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor.coordinator import (
    Coordinator,
    DescribedMember,
)
from assignor.offsets import decode_record
from assignor.wire import decode_assignment
from tests.support.recorded_fleet import logs, snapshots

if TYPE_CHECKING:
    from assignor.offsets import Record

OFFSET_COMMIT, GROUP_METADATA = 1, 2
GROUP_TYPES = {GROUP_METADATA, 3, 11, 17}
"""Types of records that determine the kind of a group: classic, consumer, share, streams."""

STORM = "inventory-sync"
"""A group in a rebalance storm; one snapshot was taken during a rebalance."""

CLASSIC, OTHERS = 14, 6
"""Number of classic and of other groups at the end of the log."""


def last_values(found: list[Record]) -> dict[tuple[int, str, int], Record]:
    """Return the last record of each offset and of the group, without tombstones."""
    last = {
        (record.type, record.key.get("topic", ""), record.key.get("partition", 0)): record
        for record in found
        if record.type in GROUP_TYPES | {OFFSET_COMMIT}
    }
    return {key: record for key, record in last.items() if record.value is not None}


def kind(found: list[Record]) -> int | None:
    """Return the type of the current group record; None without one."""
    standing = None
    for record in found:
        if record.type in GROUP_TYPES and (record.value is not None or record.type == standing):
            standing = None if record.value is None else record.type
    return standing


def loaded(ends: dict[str, int] | None = None) -> Coordinator:
    """Return a coordinator that has loaded the recording up to the given offsets, or all of it."""
    coordinator = Coordinator()
    effects = coordinator.load(
        [(record.key, record.value) for log in logs(ends).values() for record in log if record.key is not None], 0
    )
    assert ((), ()) == (effects.answers, effects.writes)
    return coordinator


def test_classic_groups_and_groups_with_only_offsets_are_loaded() -> None:
    classic, others = set(), set()
    for group, log in logs().items():
        found = [decode_record(record.key, record.value) for record in log]
        only_offsets = not any(record.type in GROUP_TYPES for record in found)
        if kind(found) == GROUP_METADATA or only_offsets or (kind(found) is None and last_values(found)):
            classic.add(group)
        elif kind(found) is not None:
            others.add(group)

    assert classic == set(loaded().groups())
    assert (CLASSIC, OTHERS) == (len(classic), len(others))


# ---- the cluster's descriptions


def differences(snapshot: dict[str, Any], coordinator: Coordinator) -> list[str]:
    """Return the names of fields that differ from the description of the Java Admin client."""
    description = coordinator.describe(snapshot["group"])
    expected = {
        "state": snapshot["state"],
        "protocol_type": snapshot["protocol_type"],
        "assignor": snapshot["assignor"],
        "members": {
            (member["member_id"], member["instance_id"], member["client_id"], member["host"]): member.get("assignment")
            for member in snapshot["members"]
        },
        "offsets": sorted(map(tuple, snapshot["offsets"])),
    }
    ours = {
        "state": description.state.value,
        "protocol_type": description.protocol_type,
        "assignor": description.protocol,
        "members": {
            (member.member_id, member.group_instance_id, member.client_id, member.client_host): partitions_of(
                member, description.protocol_type
            )
            for member in description.members
        },
        "offsets": sorted(
            (*partition, stored.offset, stored.leader_epoch, stored.metadata)
            for partition, stored in coordinator.committed(snapshot["group"]).items()
        ),
    }
    return [name for name in expected if expected[name] != ours[name]]


def partitions_of(member: DescribedMember, protocol_type: str) -> dict[str, list[int]] | None:
    """Return a member's partitions in order; None for groups of other protocol types."""
    if protocol_type != "consumer":
        return None
    found: dict[str, list[int]] = {}
    for topic, partition in decode_assignment(member.assignment).partitions if member.assignment else ():
        found.setdefault(topic, []).append(partition)
    return {topic: sorted(ids) for topic, ids in found.items()}


@pytest.mark.parametrize("label", ["s1", "s2", "s3", "s4", "final"])
def test_the_log_up_to_a_snapshot_equals_the_snapshot(label: str) -> None:
    classic = [snapshot for snapshot in snapshots()[label] if snapshot["type"] == "Classic"]
    coordinator = loaded(classic[0]["log_end_before"])

    found = {(snapshot["group"], name) for snapshot in classic for name in differences(snapshot, coordinator)}

    assert len(classic) > 8
    # A rebalance in progress is not in the log, and the Admin client shows no assignor during it.
    assert found == ({(STORM, "state"), (STORM, "assignor")} if label == "s3" else set())


def test_the_comparison_with_a_snapshot_detects_every_difference() -> None:
    snapshot = next(each for each in snapshots()["s1"] if each["group"] == "warehouse-static")
    coordinator = loaded(snapshot["log_end_before"])
    member, *others = snapshot["members"]

    assert [] == differences(snapshot, coordinator)
    for name in ("state", "protocol_type", "assignor"):
        assert [name] == differences(snapshot | {name: "other"}, coordinator)
    assert ["offsets"] == differences(snapshot | {"offsets": []}, coordinator)
    for name in ("member_id", "instance_id", "client_id", "host", "assignment"):
        assert ["members"] == differences(snapshot | {"members": [member | {name: "other"}, *others]}, coordinator)
