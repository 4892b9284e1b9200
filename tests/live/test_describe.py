"""Groups, members and lag that `assignor describe` reads from a real broker, compared with Kafka's own tool."""

from __future__ import annotations

import dataclasses
import json
import re
import socket
import sys
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pyarrow.dataset as ds
import pytest

from assignor.cli import main
from assignor.cluster import description
from assignor.cluster.confluent import describe_group
from assignor.cluster.connection import ClientSettings
from assignor.cluster.description import UNREAD, describe
from assignor.cluster.descriptions import MemberSubscription
from assignor.cluster.request_client import client_configuration
from assignor.cluster.topic_retention import TopicRetention
from assignor.lag import PROBLEMS
from assignor.report.description_text import render
from assignor.sources.source import open_source
from tests.live.described_groups import COMMITTED, DELETED, GROUPS, RECORDS, LiveGroups, stable, tool
from tests.live.sharing import END, START, TOPIC
from tests.live.sharing import GROUP as SHARED
from tests.support.time_limit import within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.cluster.cluster_description import ClusterDescription
    from assignor.cluster.descriptions import GroupDescription
    from tests.broker.cluster import Cluster

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def groups(broker: Cluster) -> Iterator[LiveGroups]:
    running = LiveGroups(broker)
    try:
        running.start()
        yield running
    finally:
        running.end()


@pytest.fixture(scope="module")
def found(groups: LiveGroups) -> ClusterDescription:
    return describe(ClientSettings.read(groups.address), list(GROUPS))


def test_committed_offsets_ends_and_lag_are_those_of_kafkas_tool(found: ClusterDescription, groups: LiveGroups) -> None:
    columns = ("CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
    expected = {
        (row["GROUP"], row["TOPIC"], row["PARTITION"]): [row[column] for column in columns]
        for row in tool(groups.address, "--offsets")
    }
    rows = {
        (group, row["topic"], str(row["partition"])): row
        for group, rows in found.partitions.items()
        for row in rows
        if group != SHARED
    }

    assert expected.keys() == rows.keys()
    assert len(rows) == sum(map(len, COMMITTED.values())) + 2  # two partitions are owned and not committed
    clients = {member: client for members in groups.members.values() for member, client in members.items()}
    for key, (committed, end, lag, member, host, client) in expected.items():
        row = rows[key]
        assert committed == ("-" if row["committed"] is None else str(row["committed"]))
        assert end == str(row["end_offset"])
        assert member == (row["member_id"] or "-")
        assert (host, client) == (("/127.0.0.1", clients[member]) if row["member_id"] else ("-", "-"))
        if row["problem"] == "beyond_end":
            assert lag == str(20 - 33), "the tool prints a negative lag"
            assert row["lag"] is None
        else:
            assert lag == ("-" if row["lag"] is None else str(row["lag"]))


def test_each_partition_has_its_lag_deleted_records_and_problem(found: ClusterDescription) -> None:
    rows = {(row["topic"], row["partition"]): row for row in found.partitions["described-classic"]}

    assert {
        ("described.a", 0): (6, 0, None),
        ("described.a", 1): (None, None, "beyond_end"),
        ("described.a", 2): (6, DELETED - 2, "before_start"),
        ("described.a", 3): (None, None, "never_committed"),
    } == {place: (row["lag"], row["deleted"], row["problem"]) for place, row in rows.items()}
    sums = found.lag["described-classic"]
    assert (4, 12, 2) == (sums["partitions"], sums["lag"], sums["unknown"])
    assert [1, 0, 1, 1] == [sums[name] for name in PROBLEMS]
    offsets_only = found.lag["described-offsets"]
    assert (3, 2, 3) == (offsets_only["lag"], offsets_only["unowned"], offsets_only["unowned_lag"])


def test_members_and_states_are_those_of_kafkas_tool(found: ClusterDescription, groups: LiveGroups) -> None:
    expected = {
        (row["GROUP"], row["CONSUMER-ID"]): (
            row.get("GROUP-INSTANCE-ID", ""),
            row["HOST"],
            row["CLIENT-ID"],
            int(row["#PARTITIONS"]),
        )
        for row in tool(groups.address, "--members")
    }
    ours = {
        (group.group_id, member.member_id): (
            member.group_instance_id or "",
            member.client_host,
            member.client_id,
            len(list(member.assigned)),
        )
        for group in found.groups
        for member in group.members
        if group.kind != "share"
    }

    assert expected == ours
    assert len(ours) == 5
    described = {group.group_id: group for group in found.groups}
    assert GROUPS == {name: group.kind for name, group in described.items()}
    rows = tool(groups.address, "--state")
    assert len(rows) == 4
    for row in rows:
        group = described[row["GROUP"]]
        assert group.coordinator is not None
        id, host, port = group.coordinator
        assert f"{host}:{port}  ({id})" == row["COORDINATOR (ID)"]
        assert (group.protocol or "-", group.state) == (row["ASSIGNMENT-STRATEGY"], row["STATE"])
        assert str(len(group.members)) == row["#MEMBERS"]


def test_lag_of_members_adds_up_to_that_of_the_group(found: ClusterDescription) -> None:
    for group in ("described-classic", "described-consumer", "described-python"):
        members = [row for (name, _), row in found.member_lag.items() if name == group]
        known = [row["lag"] for row in members if row["lag"] is not None]
        assert found.lag[group]["lag"] == sum(known)
        assert found.lag[group]["partitions"] == sum(row["partitions"] for row in members)


def test_members_of_share_groups_are_those_of_kafkas_tool(found: ClusterDescription, groups: LiveGroups) -> None:
    expected = {
        row["CONSUMER-ID"]: (row["HOST"], row["CLIENT-ID"], row["ASSIGNMENT"])
        for row in tool(groups.address, "--members", "--verbose", kind="Share")
    }
    (group,) = (group for group in found.groups if group.group_id == SHARED)

    assert expected == {
        member.member_id: (
            member.client_host,
            member.client_id,
            f"{TOPIC}:{','.join(str(partition) for _, partition in sorted(member.assigned))}",
        )
        for member in group.members
    }
    assert ("Stable", "simple", 3) == (group.state, group.protocol, len(group.members))
    assert {MemberSubscription((TOPIC,), None)} == {member.subscription for member in group.members}
    assert 2 in map(len, group.owners().values())


def test_lag_of_share_groups_is_that_of_kafkas_tool(found: ClusterDescription, groups: LiveGroups) -> None:
    rows = {str(row["partition"]): row for row in found.partitions[SHARED]}
    shown = {
        id: tuple("-" if row[name] is None else str(row[name]) for name in ("committed", "lag"))
        for id, row in rows.items()
    }
    expected = {
        row["PARTITION"]: (row["START-OFFSET"], row["LAG"]) for row in tool(groups.address, "--offsets", kind="Share")
    }

    assert expected == shown
    # The records after the released one are acknowledged, so the lag is less than the distance to the end.
    assert {"0": (str(START), "1"), "1": ("-", "-")} == shown
    assert (END, "never_committed") == (rows["0"]["end_offset"], rows["1"]["problem"])
    assert (2, 1, 1) == tuple(found.lag[SHARED][name] for name in ("partitions", "lag", "unknown"))
    assert not [name for name, _ in found.member_lag if name == SHARED]


@pytest.mark.usefixtures("groups")
def test_the_data_directory_has_the_start_offsets_of_share_groups(broker: Cluster) -> None:
    with open_source([broker.data]) as recording:
        rows = ds.dataset(recording.share_offsets).to_table().to_pylist()
        ends = ds.dataset(recording.end_offsets).to_table().to_pylist()

    assert [{"group_id": SHARED, "topic": TOPIC, "partition": 0, "start_offset": START}] == rows
    assert [END] == [row["end_offset"] for row in ends if (row["topic"], row["partition"]) == (TOPIC, 0)]


def test_a_partition_of_a_share_group_lists_all_its_owners(found: ClusterDescription) -> None:
    (printed,) = (group for group in json.loads(json.dumps(found.to_json()))["groups"] if group["group"] == SHARED)
    owners = {row["partition"]: row["members"] for row in printed["partitions"]}
    (group,) = (group for group in found.groups if group.group_id == SHARED)

    assert owners == {partition: members for (_, partition), members in group.owners().items()}
    assert {id: row["member"] for id, row in enumerate(printed["partitions"])} == {
        id: members[0] for id, members in owners.items()
    }
    assert [None] * 3 == [member["lag"] for member in printed["members"]]
    text = render(found)
    assert re.search(rf"^{TOPIC} +\d  share-\d \S+, share-\d \S+ ", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("kafka", "kafka-python is not installed: pip install 'kafka-python>=3.0'"),
        ("sasl", "sasl.mechanisms=GSSAPI: the second client, kafka-python, is used with PLAIN, "),
    ],
)
def test_share_groups_that_cannot_be_described_have_a_reason(
    groups: LiveGroups, monkeypatch: pytest.MonkeyPatch, broken: str, reason: str
) -> None:
    if broken == "kafka":
        monkeypatch.setitem(sys.modules, "kafka", None)
        monkeypatch.delitem(sys.modules, "assignor.cluster.request_client", raising=False)
    else:
        settings = {"bootstrap.servers": groups.address, "security.protocol": "sasl_plaintext"}
        monkeypatch.setattr(
            "assignor.cluster.request_client.client_configuration", lambda _: client_configuration(settings)
        )

    found = describe(ClientSettings.read(groups.address), [SHARED])

    (cluster, unread) = sorted(found.problems)
    assert cluster[1].startswith("share and streams groups could not be described: ")
    assert reason in cluster[1]
    assert (SHARED, UNREAD) == unread
    assert [("", [])] == [(group.kind, group.members) for group in found.groups]


def test_the_age_of_records_is_that_of_their_timestamps(found: ClusterDescription, groups: LiveGroups) -> None:
    rows = {(row["topic"], row["partition"]): row for row in found.partitions["described-offsets"]}
    ages = {place: row["behind_seconds"] for place, row in rows.items()}
    consumer = confluent_kafka.Consumer({"bootstrap.servers": groups.address, "group.id": "reader"})
    try:
        consumer.assign([confluent_kafka.TopicPartition("described.a", 0, 9)])
        record = within("the next record", lambda: consumer.consume(1, 30))[0]
    finally:
        consumer.close()

    age = (found.read_at["described-offsets"] - record.timestamp()[1]) / 1_000
    row = rows["described.a", 0]
    # Without a record of each age that is asked for, the age has a lower bound only.
    assert ages["described.a", 0] is not None or row["behind_reason"] in ("before_first_measurement", "one_measurement")
    assert (ages["described.a", 0] or row["behind_at_least"] or 0) <= age + 10
    assert {"one_measurement"} == {row["growth_reason"] for row in rows.values()}


def test_two_measurements_show_the_growth(groups: LiveGroups) -> None:
    settings = ClientSettings.read(groups.address)
    earlier = describe(settings, ["described-offsets"], has_other_groups=False, has_times=False)
    later = describe(settings, ["described-offsets"], earlier=earlier)

    sums = later.lag["described-offsets"]
    assert (0.0, None) == (sums["growth_per_second"], sums["growth_reason"])
    assert sums["trend"] in ("steady", "keeping_up")


def test_the_setting_of_a_topic_says_when_unread_records_are_deleted(found: ClusterDescription) -> None:
    week = TopicRetention("delete", 604_800_000, -1)

    assert dict.fromkeys([*RECORDS, TOPIC], week) == found.retention
    assert () == found.notes
    rows = [row for row in found.partitions["described-offsets"] if row["lag"]]
    assert 2 == len(rows)
    for row in rows:
        wanted = None if row["behind_seconds"] is None else round(604_800 - row["behind_seconds"], 3)
        assert (wanted, row["behind_reason"]) == (row["deleted_in_seconds"], row["deletion_reason"])


def test_json_has_what_the_text_says(
    groups: LiveGroups, found: ClusterDescription, capfd: pytest.CaptureFixture[str]
) -> None:
    options = ["--bootstrap-server", groups.address]
    named = [option for group in GROUPS for option in ("--group", group)]

    assert 0 == main(["describe", *options, *named, "--json"])
    output = capfd.readouterr()
    assert "" == output.err
    printed = json.loads(output.out)
    assert stable(printed) == stable(json.loads(json.dumps(found.to_json())))
    assert 0 == main(["describe", *options, "--group", "described-classic"])
    output = capfd.readouterr()
    assert "" == output.err
    for cell in (
        "static-1",
        "billing",
        "127.0.0.1",
        "committed beyond the end",
        "never committed",
        "3 offsets deleted",
    ):
        assert cell in output.out
    (group,) = (group for group in printed["groups"] if group["group"] == "described-classic")
    for member in group["members"]:
        assert member["member"] in output.out
    assert f"{group['coordinator']['host']}:{group['coordinator']['port']}" in output.out


def test_all_groups_are_described_if_no_names_are_given(groups: LiveGroups) -> None:
    found = describe(ClientSettings.read(groups.address))

    assert GROUPS.keys() <= {group.group_id for group in found.groups}
    assert found.cluster


def test_small_batches_give_the_same_description(
    groups: LiveGroups, found: ClusterDescription, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assignor.cluster.description.GROUPS_PER_CALL", 1)
    monkeypatch.setattr("assignor.cluster.description.OFFSET_CALLS", 2)
    shown: list[str] = []

    again = describe(ClientSettings.read(groups.address), list(GROUPS), on_progress=shown.append)
    assert stable(found.to_json()) == stable(again.to_json())
    assert "describing group 2 of 4" in shown
    assert "reading the committed offsets of group 5 of 5" in shown


def test_end_offsets_are_read_right_after_the_committed_offsets(
    groups: LiveGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def noted(name: str) -> None:
        real = getattr(description, name)

        def call(*given: Any) -> Any:
            assert "pandas" in sys.modules  # its import takes seconds
            calls.append(name)
            return real(*given)

        monkeypatch.setattr(description, name, call)

    monkeypatch.setattr(description, "OFFSET_CALLS", 2)
    for name in ("join_owners", "offsets", "partition_lag"):
        noted(name)
    real = description._Reader._committed

    def committed(*given: Any) -> Any:
        found = real(*given)
        calls.append("committed")
        return found

    monkeypatch.setattr(description._Reader, "_committed", committed)

    describe(ClientSettings.read(groups.address), list(GROUPS))

    assert ["offsets", "join_owners", "partition_lag"] == calls[:3]
    assert ["committed", "offsets", "join_owners", "partition_lag"] * 3 == calls[3:]


def test_members_are_sorted_by_member_id(
    groups: LiveGroups, found: ClusterDescription, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reversed_members(*arguments: Any) -> GroupDescription:
        group = describe_group(*arguments)
        group.members.sort(key=lambda member: member.member_id, reverse=True)
        return group

    monkeypatch.setattr("assignor.cluster.description.describe_group", reversed_members)

    assert stable(found.to_json()) == stable(describe(ClientSettings.read(groups.address), list(GROUPS)).to_json())


def test_offsets_have_no_separators(found: ClusterDescription) -> None:
    row = found.partitions["described-offsets"][0] | {"committed": 1000, "end_offset": 3086, "lag": 2086}

    text = render(dataclasses.replace(found, partitions={"described-offsets": [row]}), is_detailed=True)

    assert re.search(r" 1000 +0 +3086 +2,086( |$)", text, re.MULTILINE)


def test_an_unknown_group_is_named(groups: LiveGroups, capfd: pytest.CaptureFixture[str]) -> None:
    assert 1 == main(["describe", "--bootstrap-server", groups.address, "--group", "no such group"])

    output = capfd.readouterr().out
    assert output.startswith("no groups, or this client has no permission to describe them\n")
    problem = "group 'no such group' does not exist, or this client has no permission to describe it"
    assert f"no such group: {problem}" in output


def test_an_unreachable_broker_is_reported_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    assert 3 == main(["describe", "--bootstrap-server", address, "--timeout", "1500"])

    output = capfd.readouterr()
    assert "" == output.out
    (line,) = output.err.splitlines()
    assert line.startswith("assignor: ")
    assert address in line


def test_many_groups_are_listed_without_members(found: ClusterDescription) -> None:
    text = render(found, is_detailed=False)

    assert "static-1" not in text
    assert "name groups with --group to list their members and partitions" in text
    assert "static-1" in render(found)
