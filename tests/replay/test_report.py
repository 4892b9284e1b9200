"""The report on hand-made groups, as JSON and as text."""

from __future__ import annotations

from typing import Any

from assignor.report.group_report import Compared, ComparedAssignments, GroupReport, MemberReport, OfClass, Remark
from assignor.report.group_tasks import GroupTasks, ProcessTasks
from assignor.report.report import MOST_GROUPS_WITH_MEMBERS, Report
from assignor.report.text import render
from tests.replay.test_event_findings import storm


def group(name: str = "orders", **given: object) -> GroupReport:
    """Return the report of a classic group of two members with nothing to report; `given` replaces fields."""
    usual: dict[str, object] = {
        "kind": "classic",
        "state": "Stable",
        "protocol": "range",
        "generation": 3,
        "members": 2,
        "topics": 1,
        "partitions": 4,
        "unowned": 0,
        "idle_members": 0,
        "least_loaded": 2,
        "most_loaded": 2,
        "range_generations": Compared(3, 3, 0),
        "rebalances": 3,
        "busiest_minute": 0,
        "bad_records": 0,
    }
    return GroupReport(group=name, **{**usual, **given})  # type: ignore[arg-type]  # the fields are given by name


def report(*groups: GroupReport, **given: object) -> Report:
    """Return a report of these groups."""
    usual: dict[str, object] = {
        "records": 10,
        "records_by_type": {2: (9, 1)},
        "bad_records": 0,
        "remarks": (),
        "members": (),
    }
    return Report(groups=groups, **{**usual, **given})  # type: ignore[arg-type]  # the fields are given by name


def test_json_has_the_promised_keys() -> None:
    found = report(group(), records_by_type={10: (1, 0), 2: (8, 1)}).to_json()

    counts = {"checked": 3, "equal": 3, "unknown": 0}
    expected = {
        "records": 10,
        "records_by_type": {"2": {"values": 8, "tombstones": 1}, "10": {"values": 1, "tombstones": 0}},
        "bad_records": 0,
        "invalid_timestamps": 0,
        "duplicates": 0,
        "share_lag_unknown": None,
        "silences": [],
        "since": None,
        "broker_log": None,
        "brokers": None,
        "groups": [
            {
                "group": "orders",
                "kind": "classic",
                "state": "Stable",
                "protocol": "range",
                "generation": 3,
                "members": 2,
                "topics": 1,
                "partitions": 4,
                "idle_members": 0,
                "range_generations": {**counts, "unexplained": 0, "explained": 0, "healed": 0},
                "rebalances": 3,
                "busiest_minute": 0,
                "unowned": 0,
                "least_loaded": 2,
                "most_loaded": 2,
                "bad_records": 0,
                "invalid_timestamps": 0,
                "assignments": [],
                "lag": None,
                "traffic": None,
                "tasks": None,
                "cost": None,
                "migration": None,
                "remarks": [],
                "assigned": [],
            }
        ],
        "findings": [],
        "mode": "log",
    }
    assert expected == found


def test_json_has_the_members_and_the_remarks_of_the_text() -> None:
    texts = ("odd bytes", "2 of 2 members own other partitions")
    given = report(
        group("empty"),
        group(),
        remarks=tuple(Remark("orders", 2, "different", text, 7) for text in texts),
        members=(
            MemberReport("orders", "app-1234567890", None, "app", (("t", 0, 1), ("t", 3, 2))),
            MemberReport("orders", "x", "static-1", "app", ()),
        ),
    )

    printed: Any = given.to_json()["groups"]
    empty, found = printed
    assert ([], []) == (empty["remarks"], empty["assigned"])
    assert [{"generation": 2, "at": 7, "range": "different", "class": None, "text": text} for text in texts] == found[
        "remarks"
    ]
    spans = [{"topic": "t", "start": 0, "count": 1}, {"topic": "t", "start": 3, "count": 2}]
    assert [
        {"member_id": "app-1234567890", "group_instance_id": None, "client_id": "app", "spans": spans},
        {"member_id": "x", "group_instance_id": "static-1", "client_id": "app", "spans": []},
    ] == found["assigned"]


def test_json_of_many_groups_does_not_list_members() -> None:
    most = [group(f"g{number}") for number in range(MOST_GROUPS_WITH_MEMBERS)]

    for groups, assigned in ((most, []), ([*most, group("one more")], None)):
        found: Any = report(*groups).to_json()["groups"]
        assert [assigned] * len(groups) == [each["assigned"] for each in found]


def test_columns_are_aligned_for_names_with_wide_characters() -> None:
    text = render(report(group("é" * 3), group("注文"), group("plain")))

    columns = [line.index("classic") for line in text.splitlines() if "classic" in line]
    assert [columns[0], columns[0] - 2, columns[0]] == columns, "a wide character takes two cells"


def test_a_group_without_problems_needs_no_attention() -> None:
    assert "Groups that need attention" not in render(report(group()))


def test_a_rebalance_storm_needs_attention() -> None:
    text = render(report(group("quiet"), group("wild", events=(storm(0, None, 9000),), unowned=14)))

    stormy = [line for line in text.splitlines() if "REBALANCE STORM" in line]
    assert ["wild"] == [line.split()[0] for line in stormy]
    assert "wild: rebalance storm: 9,000 rebalances with unchanged membership since 1970-01-01 00:00:00.000" in text
    assert "wild: no owner for 14 partitions of subscribed topics\n" in text


def test_errors_need_attention_before_warnings_and_notes() -> None:
    uneven = {"least_loaded": 3, "most_loaded": 13}
    text = render(report(group("a", idle_members=1, **uneven), group("b", unowned=2, **uneven), group("c", unowned=1)))

    found = [line.split(":")[0].strip() for line in text.partition("attention\n")[2].partition("\n\n")[0].splitlines()]
    assert ["b", "c", "a", "b", "a"] == found


def test_the_remark_is_a_column_only_if_a_group_has_one() -> None:
    quiet, stormy = render(report(group())), render(report(group(), group("wild", events=(storm(0),))))

    assert quiet.splitlines()[0].endswith("range = Kafka")
    assert stormy.splitlines()[0].endswith("range = Kafka  remark")
    assert len(quiet.splitlines()[0]) == len(quiet.splitlines()[1])


def test_totals_of_one_are_in_the_singular() -> None:
    one = group(members=1, partitions=1, idle_members=1, range_generations=Compared(1, 1))

    assert [
        "1 record of 1 type; 0 cannot be decoded",
        "1 group: 1 Stable",
        "1 member owns 1 partition; 1 member is idle",
        "1 range assignment compared with Kafka's: 1 equal, 0 different",
    ] == render(report(one, records=1)).splitlines()[-4:]


def test_only_the_last_storms_of_a_group_are_listed() -> None:
    storms = tuple(storm(1000 * number, 1000 * number + 1, 100 + number) for number in range(8))

    lines = render(report(group("wild", events=storms), group("other", idle_members=1))).splitlines()

    assert [f"{number} rebalances with unchanged membership" for number in range(103, 108)] == [
        line.split(": ")[2].partition(" within")[0] for line in lines if "wild: rebalance storm" in line
    ]
    assert "  wild: and 3 earlier findings of the kind storm, see --json" in lines


def test_idle_members_and_uneven_load_need_attention() -> None:
    text = render(
        report(
            group("idle", idle_members=1, least_loaded=0, most_loaded=4),
            group("uneven", least_loaded=3, most_loaded=13),
        )
    )

    assert "idle: 1 of 2 members have no partitions" in text
    assert "uneven: uneven load: one member owns 13 partitions, another 3" in text


def test_a_difference_of_one_partition_per_topic_is_not_uneven_load() -> None:
    text = render(report(group(topics=3, least_loaded=3, most_loaded=6)))

    assert "uneven" not in text


def test_partitions_without_owner_and_bad_records_need_attention() -> None:
    text = render(report(group("gap", unowned=2), group("broken", bad_records=7)))

    assert "gap: no owner for 2 partitions of subscribed topics\n" in text
    assert "broken: 7 records cannot be decoded\n" in text


def test_assignments_of_other_assignors_are_counted_and_the_first_difference_is_explained() -> None:
    reason = "generation 2: 1 of 2 members own other partitions than Kafka's sticky assignor gives them"
    compared = (
        ComparedAssignments("sticky", Compared(1_200, 1_198), {"unexplained": OfClass(reason)}),
        ComparedAssignments("uniform", Compared(3, 3)),
    )

    text = render(report(group("quiet"), group("mixed", assignments=compared)))

    section = (
        "Assignments that differ from Kafka's assignors, or are not compared\n"
        f"  mixed: 2 of 1,200 sticky assignments differ; the first is {reason}\n\n"
    )
    assert section in text
    assert "1,203 assignments of other assignors compared with Kafka's: 1,201 equal, 2 different" in text
    assert "assignors" not in render(report(group()))


def test_assignments_that_are_not_determined_have_one_reason() -> None:
    found = ComparedAssignments(
        None,
        Compared(0, 0, unknown=2, not_determined=2),
        {"not_determined": OfClass("generation 1: not compared: the log lacks the topology of the group")},
    )

    text = render(report(group("tasks", assignments=(found,))))

    assert (
        "  tasks: 2 assignments not compared; the first is generation 1: the log lacks the topology of the group\n"
        in text
    )


def test_members_with_tasks_and_without_partitions_are_not_listed_with_partitions() -> None:
    tasks = GroupTasks(3, 0, (ProcessTasks("worker:8083", ("w",), ("orders-0",), (), ()),), (), ())
    worker = MemberReport("connect", "w", None, "worker", ())
    workers = report(group("connect", partitions=0, tasks=tasks), members=(worker,))
    threads = report(group("connect", partitions=1, tasks=tasks), members=(worker,))

    assert "  worker:8083: 1 active: orders-0\n" in render(workers)
    assert "Assigned partitions" not in render(workers)
    assert "Assigned partitions" in render(threads)


def test_unreadable_generations_are_counted_separately() -> None:
    text = render(report(group(range_generations=Compared(3, 2, 1))))

    assert "2/3 (1 not compared)" in text
    total = "3 range assignments compared with Kafka's: 2 equal, 1 different; 1 not compared"
    assert f"{total}, because the bytes of a member cannot be decoded" in text


def test_classes_of_generations_that_are_not_equal_are_counted_separately() -> None:
    one = group("one", range_generations=Compared(9, 4, 3, 2, 1, 1))
    two = group("two", range_generations=Compared(2, 1, 0, 1))

    counts = {"checked": 9, "equal": 4, "unknown": 3, "unexplained": 2, "explained": 2, "healed": 1}
    assert counts == one.to_json()["range_generations"]
    assert (
        "11 range assignments compared with Kafka's: 5 equal, 2 different, 3 different because of other topic "
        "metadata, 1 different, but corrected within seconds; 2 not compared, because the bytes of a member cannot be "
        "decoded; "
        "1 not compared, because the topic metadata lacks topics"
    ) in render(report(one, two))


def test_remarks_and_members_are_printed() -> None:
    text = render(
        report(
            group(),
            remarks=(Remark("orders", 2, "different", "other partitions"),),
            members=(
                MemberReport("orders", "app-1234567890", None, "app", (("t", 0, 1), ("t", 3, 2), ("u", 7, 1))),
                MemberReport("orders", "x", "static-1", "app", ()),
            ),
        )
    )

    title = "Range assignments that differ from Kafka's, or have a remark"
    assert f"\n\n{title}\n  orders, generation 2: other partitions\n" in text
    assert "app 12345678  t[0 3–4] u[7]" in text
    assert "static-1      no partitions" in text


def test_long_lists_are_cut_and_the_rest_is_counted() -> None:
    members = tuple(MemberReport("orders", f"m{number:02}", f"m{number:02}", "app", ()) for number in range(15))
    remarks = tuple(Remark("orders", number, "different", f"odd {number}") for number in range(50))

    text = render(report(group(), members=members, remarks=remarks))

    assert "and 3 more members" in text
    assert "and 10 more remarks in the Parquet folder `generations`" in text
    assert "generation 39" in text
    assert "generation 40" not in text


def test_a_remark_that_repeats_is_printed_once() -> None:
    remarks = [Remark("orders", number, "equal", "odd bytes") for number in range(2, 9)]
    remarks += [Remark("orders", 9, "different", "other"), Remark("billing", 3, "equal", "odd bytes")]

    lines = render(report(group(), remarks=tuple(remarks))).splitlines()

    assert [line.strip() for line in lines if "odd bytes" in line or "other" in line] == [
        "orders, 7 generations from 2 to 8: odd bytes",
        "orders, generation 9: other",
        "billing, generation 3: odd bytes",
    ]


def test_control_characters_are_escaped() -> None:
    evil = group("evil\x1b[2J\rgroup\n", bad_records=1)

    text = render(report(evil, remarks=(Remark(evil.group, 1, "different", "\x07"),)))

    assert "\x1b" not in text
    assert "\r" not in text
    assert 3 == text.count(r"evil\u001b[2J\rgroup\n"), text
    assert r"generation 1: \u0007" in text


def test_a_narrow_terminal_gets_fewer_columns_and_shorter_lines() -> None:
    long = group("g" * 30, unowned=3)
    remark = Remark(long.group, 1, "different", "word " * 40)

    wide = render(report(long, remarks=(remark,))).splitlines()
    narrow = render(report(long, remarks=(remark,)), width=80).splitlines()

    assert max(map(len, wide)) > 200
    assert max(map(len, narrow)) <= 80
    assert "topics" in wide[0]
    assert "topics" not in narrow[0]
    for name in ("group", "state", "members", "per member", "range = Kafka"):
        assert name in narrow[0]


def test_text_is_coloured_on_request_only() -> None:
    stormy = report(group(events=(storm(0),)))

    assert "\x1b[" not in render(stormy)
    assert "\x1b[1;31m" in render(stormy, colour=True)
