"""Report that is made of one description of a cluster: what it knows, what is null, and its findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor.cluster.description import UNREAD
from assignor.page.described_data import described_page
from assignor.report.described import report_of
from assignor.report.report import ADMIN, NO_LOG
from assignor.report.text import render
from tests.replay.polls import described, group, member, topic_table
from tests.replay.test_report import group as recorded_group
from tests.replay.test_report import report as recorded_report

if TYPE_CHECKING:
    from assignor.cluster.descriptions import GroupDescription
    from assignor.report.report import Report

AT = 1_000_000
BOTH = (member("a", 0), member("b", 1))


def report(*groups: GroupDescription, count: int = 2, **given: Any) -> Report:
    """Return the report on groups, whose topic has a number of partitions."""
    return report_of(described(*groups, **given), topic_table(count), AT)


def as_json(found: Report) -> dict[str, Any]:
    return found.to_json()


def kinds(found: Report) -> list[str]:
    return [finding.kind for finding in found.findings()]


def test_a_group_without_problems_has_no_findings() -> None:
    found = report(group(*BOTH))

    assert [] == kinds(found)
    (row,) = as_json(found)["groups"]
    known = {"state": "Stable", "kind": "classic", "protocol": "range", "members": 2, "partitions": 2, "unowned": 0}
    assert known == {name: row[name] for name in known}
    assert [[("orders", 0, 1)], [("orders", 1, 1)]] == [list(each.spans) for each in found.members]


def test_the_json_has_all_keys_of_a_report_and_null_where_only_a_log_has_the_answer() -> None:
    found, of_log = as_json(report(group(*BOTH))), as_json(recorded_report(recorded_group()))

    assert found.keys() - of_log.keys() == {"problems"}
    assert (ADMIN, "log") == (found["mode"], of_log["mode"])
    nulls = {"records", "records_by_type", "bad_records", "invalid_timestamps", "duplicates", "silences"}
    nulls |= {"since", "broker_log", "brokers", "share_lag_unknown"}
    assert nulls == {name for name, value in found.items() if value is None}
    (row,), (other,) = found["groups"], of_log["groups"]
    assert row.keys() == other.keys()
    nulls = {"generation", "range_generations", "rebalances", "busiest_minute", "bad_records", "invalid_timestamps"}
    assert nulls | {"assignments", "remarks", "lag", "cost", "tasks", "traffic"} == {
        name for name, value in row.items() if value is None
    }


def test_members_of_a_share_group_read_the_same_partition_without_a_finding() -> None:
    members = (member("a", 0, 1), member("b", 1))

    assert ["two_owners"] == kinds(report(group(*members)))
    assert [] == kinds(report(group(*members, kind="share")))
    assert ["unowned"] == kinds(report(group(*members, kind="share"), count=3))


def test_partitions_without_an_owner_are_a_finding() -> None:
    found = report(group(*BOTH), count=4)

    (finding,) = found.findings()
    assert ("unowned", "no owner for 2 partitions of subscribed topics") == (finding.kind, finding.text)
    assert "Without an owner: orders[2–3]." == finding.evidence


@pytest.mark.parametrize(
    ("members", "partitions", "kind"),
    [
        ((member("a", 0, 1), member("b", 1)), 2, "two_owners"),
        ((member("a", 0, 1), member("b", 2, topics=("returns",))), 3, "not_subscribed"),
        ((member("a", 0), member("b", 1)), 1, "unknown_partition"),
    ],
)
def test_wrong_owners_are_findings_without_a_time(members: Any, partitions: int, kind: str) -> None:
    (finding,) = report(group(*members), count=partitions).findings()

    assert (kind, None, None) == (finding.kind, finding.since, finding.until)
    assert "since when it has had it is not known" in finding.evidence


def test_a_topic_that_may_not_be_described_is_not_unknown() -> None:
    found = report_of(described(group(*BOTH)), topic_table(1, "other"), AT)

    assert [] == kinds(found)
    assert found.groups[0].unowned is None


def test_a_guessed_subscription_is_no_problem() -> None:
    members = (member("a", 0, topics=None), member("b", topics=None))

    assert ["unowned", "idle"] == kinds(report(group(*members, kind="consumer")))


@pytest.mark.parametrize(
    "hidden",
    [group(member("a"), state="PreparingRebalance"), group(problem="no answer"), group(problem=UNREAD, kind="")],
)
def test_owners_that_are_not_known_have_no_findings_and_are_null(hidden: GroupDescription) -> None:
    found = report(hidden, problems=(("billing", "no answer"),))

    assert [] == kinds(found)
    (row,) = as_json(found)["groups"]
    assert {None} == {row[name] for name in ("members", "partitions", "idle_members", "unowned", "assigned")}
    text = render(found)
    assert "Not described\n  billing: no answer" in text
    assert "?" in text.splitlines()[2]


def test_lag_and_offsets_that_are_not_in_the_log_are_known() -> None:
    sums: dict[str, int | None] = {
        "partitions": 2,
        "lag": 5,
        "unknown": 1,
        "never_committed": 0,
        "unknown_end": 0,
        "beyond_end": 1,
    }
    sums |= {"before_start": 0, "unowned": 0, "unowned_lag": None}
    rows = [
        {"topic": "orders", "partition": 0, "problem": None, "deleted": 0},
        {"topic": "orders", "partition": 1, "problem": "beyond_end", "deleted": None},
    ]

    found = report(group(*BOTH), lag={"billing": {"group_id": "billing", **sums}}, partitions={"billing": rows})

    assert ["out_of_range"] == kinds(found)
    assert {"at": AT, **sums, "topics": [], "members": []} == as_json(found)["groups"][0]["lag"]


def test_the_text_says_that_there_is_no_log() -> None:
    lines = render(report(group(*BOTH))).splitlines()

    assert ["1 group: 1 Stable", "2 members own 2 partitions; 0 members are idle", NO_LOG] == lines[-3:]
    assert "partitions" in lines[0]
    assert not any(name in lines[0] for name in ("generation", "range = Kafka"))
    assert render(report(group(*BOTH)), width=40)


# ---- traffic


def measured(at: int, ends: list[int], committed: int | None = 7) -> dict[str, Any]:
    """Return the offsets of the partitions of the group at a time."""
    rows = [
        {"topic": "orders", "partition": id, "committed": committed, "end_offset": end} for id, end in enumerate(ends)
    ]
    return {"partitions": {"billing": rows}, "read_at": {"billing": at}}


def test_two_descriptions_show_the_traffic_of_groups_and_members() -> None:
    members = (*BOTH, member("c"))
    first, second = (
        described(group(*members), **measured(*given)) for given in ((AT, [10, 20]), (AT + 10_000, [40, 30]))
    )

    found = report_of(second, topic_table(2), AT + 10_000, earlier=first)

    (row,) = as_json(found)["groups"]
    assert {"a": 3.0, "b": 1.0, "c": 0.0} == row["traffic"]["members"]
    assert (10.0, 40, 4.0, 0, None) == tuple(
        row["traffic"][name] for name in ("seconds", "records", "rate", "unknown", "uneven")
    )
    assert "billing: 4.0 records/s in the last 10.0 s; a member has 0.0 records/s to 3.0 records/s" in render(found)
    page = described_page("c", found, second, topic_table(2))
    assert row["traffic"] == page.groups[0]["traffic"]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (group(*BOTH), group()),
        (group(*BOTH), group(*BOTH, state="PreparingRebalance")),
        (group(*BOTH), group(problem="no answer")),
    ],
)
def test_a_group_without_known_owners_has_no_traffic(earlier: GroupDescription, later: GroupDescription) -> None:
    first = described(earlier, **measured(AT, [10, 20]))

    found = report_of(described(later, **measured(AT + 10_000, [40, 30])), topic_table(2), AT, earlier=first)

    assert found.groups[0].traffic is None
    assert as_json(found)["groups"][0]["traffic"] is None


def test_traffic_needs_commits_and_two_measurements_of_the_group() -> None:
    one = described(group(*BOTH), **measured(AT, [10, 20]))
    later = described(group(*BOTH), **measured(AT + 10_000, [40, 30], committed=None))
    other = described(group(*BOTH), partitions={}, read_at={})

    for first, second in ((one, later), (other, one)):
        assert report_of(second, topic_table(2), AT, earlier=first).groups[0].traffic is None
    assert report_of(one, topic_table(2), AT).groups[0].traffic is None
