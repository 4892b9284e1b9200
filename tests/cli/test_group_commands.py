"""The commands `assign`, `plan`, `check` and `what-if`: their answers are those of the Python API."""

from __future__ import annotations

import base64
import json
from typing import Any

import pyarrow as pa
import pytest

from assignor import PartitionInfo, Plan, Subscription, TopicPartition, assign, plan
from tests.cli.commands import GROUP, Commands

TOPICS: dict[str, Any] = {"orders": 6, "payments": [0, PartitionInfo(1, ("r1", None))]}
MEMBERS: dict[str, Any] = {
    "a": ["orders", "payments"],
    "b": Subscription(
        ("orders",), owned_partitions=(TopicPartition("orders", 0), TopicPartition("orders", 1)), generation=7
    ),
}
PROBLEMS = {
    "unowned": [["t", 1]],
    "doubly_owned": [["t", 0]],
    "not_subscribed": [["b", ["u", 0]]],
    "unknown": [["a", ["t", 9]]],
}
WRONG: dict[str, Any] = {
    "partitions_per_topic": {"t": 2, "u": 1},
    "subscriptions": {"a": ["t", "u"], "b": ["t"]},
    "assignment": {"a": [["t", 0], ["t", 9]], "b": [["t", 0], ["u", 0]]},
}
"""A group and an assignment with each problem."""


def lists(assignment: dict[str, list[TopicPartition]]) -> dict[str, list[list[object]]]:
    return {member: [list(each) for each in partitions] for member, partitions in assignment.items()}


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ([], {"assignor": "sticky"}),
        (["--assignor", "roundrobin"], {"assignor": "roundrobin"}),
        (
            ["--group-protocol", "consumer", "--assignor", "uniform"],
            {"assignor": "uniform", "group_protocol": "consumer"},
        ),
    ],
)
def test_assign_and_plan_answer_as_the_functions_do(
    commands: Commands, options: list[str], settings: dict[str, Any]
) -> None:
    given = commands.file(GROUP)

    assert lists(assign(TOPICS, MEMBERS, **settings)) == commands.json("assign", given, *options)
    assert plan(TOPICS, MEMBERS, **settings) == Plan.from_json(commands.output("plan", given, *options))
    assert plan(TOPICS, MEMBERS, **settings).to_json() + "\n" == commands.output("plan", given, *options)


def test_standard_input_is_read_like_a_file(commands: Commands) -> None:
    from_file = commands.json("assign", commands.file(GROUP))
    commands.stdin(json.dumps(GROUP).encode())

    assert from_file == commands.json("assign", "-")


def test_all_fields_of_a_subscription_are_read(commands: Commands) -> None:
    member = {"topics": ["t"], "group_instance_id": "i", "rack": "r1", "user_data": base64.b64encode(b"x").decode()}
    given = {
        "partitions_per_topic": {"t": [{"partition": 0, "racks": ["r0"]}, {"partition": 1, "racks": ["r1"]}], "ue": 1},
        "subscriptions": {
            "a": {"topics": ["t"], "rack": "r0"},
            "b": member,
            "c": {"pattern": "u.*", "dialect": "python"},
        },
    }

    expected = {"a": [["t", 0]], "b": [["t", 1]], "c": [["ue", 0]]}
    assert expected == commands.json("assign", commands.file(given))
    written = json.loads(commands.output("plan", commands.file(given)))["members"]
    assert {"group_instance_id": "i", "user_data": 1, "rack": 2} == {
        name: written[1][name] for name in ("group_instance_id", "user_data", "rack")
    }


def test_the_assignor_of_the_broker_uses_the_topic_ids(commands: Commands) -> None:
    topics = {"t": 3, "u": 2, "v": 1}
    ids = {topic: f"AAAAAAAAAAAAAAAAAAAA{letter}w" for topic, letter in zip(topics, "CBA", strict=True)}
    given: dict[str, Any] = {
        "partitions_per_topic": topics,
        "subscriptions": {"a": list(topics), "b": list(topics)},
        "topic_ids": ids,
    }

    expected = assign(topics, given["subscriptions"], group_protocol="consumer", topic_ids=ids)
    assert lists(expected) == commands.json("assign", commands.file(given), "--group-protocol", "consumer")


def test_share_groups_are_assigned_planned_and_checked(commands: Commands) -> None:
    given: dict[str, Any] = {"partitions_per_topic": {"t": 2}, "subscriptions": {member: ["t"] for member in "abc"}}
    share = "--group-protocol", "share"
    expected = plan(given["partitions_per_topic"], given["subscriptions"], group_protocol="share")

    assert lists(dict(expected)) == commands.json("assign", commands.file(given), *share)
    planned = commands.output("plan", commands.file(given), *share)
    assert expected == Plan.from_json(planned)
    assigned = {**given, "assignment": lists(dict(expected))}
    none: dict[str, list[object]] = {name: [] for name in PROBLEMS}
    assert none == commands.json("check", commands.file(assigned), *share)
    assert none == commands.json("check", commands.file({**assigned, "group_protocol": "share"}))
    assert [["t", 0], ["t", 1]] == commands.json("check", commands.file(assigned), code=1)["doubly_owned"]
    commands.stdin(planned.encode())
    assert none == commands.json("check", "-", commands.file(given))


def test_what_if_of_a_share_group_has_its_assignor(commands: Commands) -> None:
    given = {"partitions_per_topic": {"t": 2}, "subscriptions": {member: ["t"] for member in "abc"}}

    step = "--group-protocol", "share", "--step", "add_members=1"
    _, outcome = commands.json("what-if", commands.file(given), *step)
    names = "group_protocol", "computed_as", "members", "partitions", "unowned", "moved"
    assert ("share", "simple", 4, 2, 0, 1) == tuple(outcome[name] for name in names)


def test_the_text_of_a_plan_escapes_names(commands: Commands) -> None:
    idle = {"partitions_per_topic": {"t": 1}, "subscriptions": {"a": ["t"], "b\n": ["t"]}}

    assert "without partitions: b\\n\n" in commands.output("plan", commands.file(idle), "--text")


def test_check_finds_each_problem(commands: Commands) -> None:
    assert PROBLEMS == commands.json("check", commands.file(WRONG), code=1)
    assert [
        "t[1] without an owner",
        "t[0] assigned more than once",
        "u[0] assigned to a member that does not subscribe to the topic (b)",
        "t[9] assigned, but does not exist (a)",
    ] == commands.output("check", commands.file(WRONG), "--text", code=1).splitlines()


@pytest.mark.parametrize("command", ["assign", "plan"])
def test_check_reads_the_output_of_other_commands(commands: Commands, command: str) -> None:
    given = commands.file(GROUP)

    commands.stdin(commands.output(command, given).encode())
    assert {problem: [] for problem in PROBLEMS} == commands.json("check", "-", given)
    commands.stdin(commands.output(command, given).encode())
    assert "no problem found\n" == commands.output("check", "-", given, "--text")


def test_what_if_answers_as_a_fleet_does(commands: Commands) -> None:
    given = {**GROUP, "scenarios": {"growth": ["grow_partitions=orders:12", "add-members=1"]}}

    now, growth, moved = commands.json("what-if", commands.file(given), "--step", "use=consumer/range")

    assert ("no change", 0, 0, 2, 8) == tuple(
        now[name] for name in ("scenario", "rebalances", "moved", "members", "partitions")
    )
    assert ("growth", 2, 3, 14, "sticky") == tuple(
        growth[name] for name in ("scenario", "rebalances", "members", "partitions", "computed_as")
    )
    assert ("use=consumer/range", "consumer", "range") == tuple(
        moved[name] for name in ("scenario", "group_protocol", "computed_as")
    )


def test_a_scenario_moves_the_partitions_in_which_two_plans_differ(commands: Commands) -> None:
    names = [f"m{number}" for number in range(4)]
    given: dict[str, Any] = {
        "partitions_per_topic": {"t": 23, "u": 7},
        "subscriptions": {name: ["t", "u"] for name in names},
    }

    now, outcome = commands.json("what-if", commands.file(given), "--step", "remove_members=1")

    before, after = (
        plan(given["partitions_per_topic"], {name: ["t", "u"] for name in members}) for members in (names, names[:3])
    )
    assert before.diff(after).moved == outcome["moved"] > len(before["m3"])
    changed = before.diff(after)
    assert {
        name: (len(before[name]), len(after.get(name, [])), changed.added.get(name, []), changed.revoked.get(name, []))
        for name in names
    } == {
        each["member"]: (each["before"], each["after"], *([tuple(p) for p in each[k]] for k in ("added", "revoked")))
        for each in outcome["changes"]
    }
    assert [] == now["changes"]
    assert (after.balance().min, after.balance().max) == (outcome["least_loaded"], outcome["most_loaded"])


@pytest.mark.parametrize(
    "step",
    [
        *("add_members=2", "remove_members=1", "multiply_partitions=2", "add_topic=refunds:6", "set_racks=r1,r2"),
        *("make_static", "rolling_restart", "rolling_restart=static", "rolling_restart=dynamic", "use=range"),
    ],
)
def test_what_if_accepts_each_step(commands: Commands, step: str) -> None:
    outcomes = commands.json("what-if", commands.file(GROUP), "--step", step)

    assert ["no change", step] == [each["scenario"] for each in outcomes]
    assert outcomes[1]["computed_as"] == ("range" if step == "use=range" else "sticky")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subscriptions": None}, "FILE: subscriptions must be an object, not None"),
        ({"topics": {}}, "FILE: unknown key 'topics'; allowed are partitions_per_topic, subscriptions, assignor, "),
        ({"partitions_per_topic": {"t": -1}}, "topic 't': a partition count cannot be negative: -1"),
        (
            {"partitions_per_topic": {"t": [{"id": 1}]}},
            "FILE: topic 't': {'id': 1} must have the form {\"partition\": ",
        ),
        ({"subscriptions": {"a": "t"}}, "FILE: member 'a' must be a list of topics or an object, not 't'"),
        ({"subscriptions": {"a": {"topic": ["t"]}}}, "FILE: member 'a': unknown key 'topic'; allowed are topics, "),
        ({"subscriptions": {"a": {"topics": "t"}}}, "FILE: member 'a': topics must be an iterable of topic names"),
        (
            {"subscriptions": {"a": {"owned_partitions": ["t"]}}},
            "FILE: member 'a': owned_partitions: 't' must be a pair",
        ),
        ({"subscriptions": {"a": {"user_data": "?"}}}, "FILE: member 'a': user_data must be a base64 string or null"),
        ({"assignor": "rang"}, "assignor must be one of 'range', 'roundrobin', 'sticky', 'cooperative-sticky'"),
    ],
)
def test_an_invalid_group_is_reported_in_one_line_with_its_place(
    commands: Commands, change: dict[str, Any], message: str
) -> None:
    given = commands.file({**GROUP, **change})

    for command in (["assign", given], ["plan", given], ["what-if", given, "--step", "add_members=1"]):
        assert commands.error(*command).startswith(message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "FILE is not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        (b"[" * 100_000, "FILE is not JSON of a group: it has too many nested values"),
        (b"\xff", "FILE is not UTF-8: invalid byte at position 0"),
        (b"[]", "FILE: the input must be an object with partitions_per_topic and subscriptions"),
        (b'{"partitions_per_topic": {}}', "FILE has no subscriptions; the input needs"),
    ],
)
def test_an_invalid_file_is_reported_in_one_line_with_its_place(commands: Commands, data: bytes, message: str) -> None:
    given = commands.file(data)

    for command in ("assign", "plan", "check", "what-if"):
        assert commands.error(command, given).startswith(message)


def test_a_missing_file_is_reported_in_one_line(commands: Commands) -> None:
    assert "nowhere.json cannot be read: No such file or directory" == commands.error("assign", "nowhere.json")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("add_members", "--step: cannot read step 'add_members'; write it as add_members=2"),
        ("add_members=-1", "--step: add_members: count must be from 0 to 100000, not -1"),
        ("grow_partitions=t", "--step: cannot read step 'grow_partitions=t'; write it as grow_partitions=orders:12"),
        ("rolling_restart=now", "--step: cannot read step 'rolling_restart=now'; write it as rolling_restart"),
        ("use=consumer/sticky", "--step: assignor must be one of 'uniform', 'range' for group_protocol 'consumer'"),
        ("leave=a", "--step: unknown step 'leave=a'; the steps are add_members, "),
    ],
)
def test_an_invalid_step_is_reported_in_one_line(commands: Commands, step: str, message: str) -> None:
    assert commands.error("what-if", commands.file(GROUP), "--step", step).startswith(message)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            ["grow_partitions=nosuch:3"],
            "grow_partitions=nosuch:3: topic 'nosuch' is not in partitions_per_topic; add it with add_topic",
        ),
        (
            ["grow_partitions=orders:6"],
            "grow_partitions=orders:6: topic 'orders' has 6 partitions before this step; the new count must be higher",
        ),
        (
            ["multiply_partitions=2", "grow_partitions=orders:9"],
            "grow_partitions=orders:9: topic 'orders' has 12 partitions before this step; the new count must be higher",
        ),
        (
            ["add_topic=new:1", "grow_partitions=new:2", "grow_partitions=new:2"],
            "grow_partitions=new:2: topic 'new' has 2 partitions before this step; the new count must be higher",
        ),
        (["remove_members=2"], "remove_members=2: the group has 2 members before this step; at least one must remain"),
        (
            ["remove_members=1", "add_members=2", "remove_members=5"],
            "remove_members=5: the group has 3 members before this step; at least one must remain",
        ),
    ],
)
def test_a_step_that_cannot_happen_is_reported_in_one_line(commands: Commands, steps: list[str], message: str) -> None:
    options = [word for step in steps for word in ("--step", step)]
    assert f"--step: {message}" == commands.error("what-if", commands.file(GROUP), *options)

    given = commands.file({**GROUP, "scenarios": {"x": steps}})
    assert f"FILE: scenario 'x': {message}" == commands.error("what-if", given)


def test_the_text_of_what_if_names_the_members_that_change(commands: Commands) -> None:
    members = {f"m{number:02}": ["t"] for number in range(30)}
    given = {"partitions_per_topic": {"t": 60}, "subscriptions": members, "scenarios": {"none": []}}

    text = commands.output("what-if", commands.file(given), "--text", "--step", "remove_members=29")

    _, nothing, changes = text.split("\n\n")
    assert "none: no partition changes its owner" == nothing
    title, first, second, *_, last = changes.splitlines()
    assert "remove_members=29: partitions of 30 members change" == title
    assert "  m00: 2 to 60 partitions, added t[2–59]" == first
    assert "  m01: 2 to 0 partitions, revoked t[2–3]" == second
    assert "  and 10 more members" == last


def test_what_if_names_missing_and_unsupported_input(commands: Commands) -> None:
    assert "FILE has no scenarios: give --step, or the key scenarios" == commands.error("what-if", commands.file(GROUP))
    for change, message in (
        ({"scenarios": ["add_members=1"]}, "FILE: scenarios must be an object of names and steps"),
        ({"scenarios": {"x": "add_members=1"}}, "FILE: scenario 'x' must be a list of steps"),
        (
            {"partitions_per_topic": {"orders": [1, 2]}},
            "FILE: topic 'orders': the partition ids must be 0 to n - 1",
        ),
        (
            {"subscriptions": {"a": {"topics": ["orders"], "user_data": ""}}},
            "FILE: member 'a': user_data is not read",
        ),
        (
            {"subscriptions": {"a": {"topics": ["orders"], "generation": 2**31}}},
            "FILE: member 'a': generation cannot be over 2147483647: 2147483648",
        ),
        ({"prefer_rack_aware": True}, "FILE: what-if does not support prefer_rack_aware; remove it"),
    ):
        given = commands.file({**GROUP, "scenarios": {"x": ["add_members=1"]}, **change})
        assert commands.error("what-if", given).startswith(message)


def test_check_names_missing_and_invalid_input(commands: Commands) -> None:
    assert commands.error("check", "-", "-").startswith("ASSIGNMENT and INPUT cannot both be standard input")
    assert commands.error("check", commands.file(GROUP)).startswith("FILE has no assignment; add the key assignment")
    wrong = commands.file({**WRONG, "assignment": {"a": [["t"]]}})
    assert commands.error("check", wrong).startswith("FILE: member 'a': ['t'] must be a pair of topic and partition")
    assert commands.error("check", commands.file({**WRONG, "assignment": []})).startswith(
        "FILE: the assignment must be"
    )


def test_what_if_without_pyarrow_names_it(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)

    assert pa
    found = commands.error("what-if", commands.file(GROUP), "--step", "add_members=1")
    assert "pyarrow is not installed: pip install 'pyarrow>=18' 'numpy>=2'" == found
    assert commands.json("assign", commands.file(GROUP))
