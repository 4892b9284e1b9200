"""The commands `check`, `assign`, `plan` and `what-if` with the description of a group as input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from assignor.cli import main
from tests.support.shell_examples import differences, examples, run

if TYPE_CHECKING:
    from tests.cli.commands import Commands

TEXTS = Path(__file__).parents[1] / "data/group_text"
HEADER = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"
STATE = "GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\ng h:9092  (1) sticky {} 2\n"
ROWS = "g t 0 5 5 0 a h c\ng t 1 5 5 0 b h c\ng t 2 5 5 0 b h c\n"
HEALTHY = f"$ kafka-consumer-groups.sh --describe --group g\n\n{HEADER}\n{ROWS}\n"


def test_check_finds_the_problems_of_a_description_and_none_of_a_healthy_group(
    commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    for text, code, found in (
        (HEALTHY, 0, "no problem found\n"),
        (HEALTHY.replace("g t 1 5 5 0 b", "g t 1 5 5 0 -"), 1, "t[1] without an owner\n"),
        (HEALTHY.replace("g t 1 ", "g t 0 "), 1, "t[1] without an owner\nt[0] assigned more than once\n"),
    ):
        commands.stdin(text.encode())
        assert code == main(["check", "-", "--text"])
        printed = capsys.readouterr()
        assert found == printed.out
        (line,) = printed.err.splitlines()
        assert line.startswith("assignor: standard input describes group 'g': ")
        assert "guessed subscription of each member: t" in line
        assert "racks" in line


def test_partitions_without_an_owner_are_not_reported_during_a_rebalance(
    commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HEALTHY.replace("g t 1 5 5 0 b", "g t 1 5 5 0 -")
    doubly = f"{text.rstrip()}\ng t 0 5 5 0 b h c\n\n"

    assert 0 == main(["check", commands.file(f"{text}{STATE.format('Reconciling')}".encode())])
    printed = capsys.readouterr()
    assert {"unowned": [], "doubly_owned": [], "not_subscribed": [], "unknown": []} == json.loads(printed.out)
    assert "1 partition without an owner not reported" in printed.err.splitlines()[-1]
    assert 1 == main(["check", commands.file(f"{doubly}{STATE.format('Reconciling')}".encode()), "--text"])
    assert "t[0] assigned more than once\n" == capsys.readouterr().out
    assert 1 == main(["check", commands.file(f"{text}{STATE.format('Stable')}".encode()), "--text"])


def test_a_description_is_checked_against_the_file_of_a_group(
    commands: Commands, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    group = tmp_path / "group.json"
    group.write_text(json.dumps({"partitions_per_topic": {"t": 4}, "subscriptions": {"a": ["t"], "b": ["t"]}}))
    described = commands.file(HEALTHY.encode())

    assert 1 == main(["check", described, str(group), "--text"])
    assert "t[3] without an owner\n" == capsys.readouterr().out, "the file has all partitions"
    assignment = tmp_path / "assignment.json"
    assignment.write_text('{"a": [["t", 0], ["t", 1]], "b": [["t", 1], ["t", 2]]}')
    assert 1 == main(["check", str(assignment), described, "--group", "g", "--text"])
    assert "t[1] assigned more than once\n" == capsys.readouterr().out


def test_assign_plan_and_what_if_read_a_description(commands: Commands, capsys: pytest.CaptureFixture[str]) -> None:
    path = commands.file(f"{HEALTHY}{STATE.format('Stable')}".encode())

    def output(*words: str) -> Any:
        assert 0 == main(list(words))
        return json.loads(capsys.readouterr().out)

    assert {"a": [["t", 0]], "b": [["t", 1], ["t", 2]]} == output("assign", path), "sticky keeps what members own"
    assert {"a": [["t", 0], ["t", 1]], "b": [["t", 2]]} == output("assign", path, "--assignor", "range")
    assert "sticky" == output("plan", path)["assignor"]
    now, after = output("what-if", path, "--step", "add_members=1")
    assert [0, 3] == [now["moved"], after["members"]]


def test_a_partition_of_a_described_share_group_has_several_owners(
    commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    def path(kind: str) -> str:
        rows = [{"topic": "t", "partition": 0, "member": "a", "members": ["a", "b"]}]
        members = [
            {"member": id, "instance_id": None, "subscription": {"topics": ["t"], "rack": None}} for id in ("a", "b")
        ]
        group = {"group": "g", "kind": kind, "state": "Stable", "protocol": None, "problem": None, "topics": {"t": 1}}
        described = {"cluster": "", "problems": [], "groups": [{**group, "members": members, "partitions": rows}]}
        return commands.file(json.dumps(described).encode())

    assert 0 == main(["check", path("share")])
    assert 1 == main(["check", path("consumer")])
    capsys.readouterr()
    assert 0 == main(["plan", path("share")])
    printed = json.loads(capsys.readouterr().out)
    assert ("simple", "share") == (printed["assignor"], printed["group_protocol"])


@pytest.mark.parametrize("command", ["assign", "plan", "check", "what-if", "scale"])
def test_one_of_several_groups_is_chosen(commands: Commands, capsys: pytest.CaptureFixture[str], command: str) -> None:
    path = str(TEXTS / "kafka-4.3.1-members.txt")
    step = ("--step", "make_static") if command == "what-if" else ()

    assert f"{path} describes several groups; choose one with --group: 'apart', 'garbage', " in commands.error(
        command, path, *step
    )
    assert "describes no group 'none'; it describes 'apart', " in commands.error(
        command, path, "--group", "none", *step
    )
    assert 0 == main([command, path, "--group", "next-gen*", *step])
    (line,) = capsys.readouterr().err.splitlines()
    assert f"assignor: {path} describes group 'next-generation': " in line


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\nError: Consumer group 'g' does not exist.\n", "FILE describes no group: group 'g' does not exist"),
        ("Consumer group 'g' has no active members.", "FILE: group 'g' has no members, so there is nothing to assign"),
        (STATE.format("Stable"), "FILE: group 'g' has 2 members, which this text does not list; describe it with "),
        (f"{HEADER}\ng t 0 5 5 0 - - -\n", "FILE: group 'g' has no members, so there is nothing to assign"),
        ('{"cluster": "", "groups": [], "problems": []}', "FILE describes no group"),
        ('{"cluster": "", "groups": [1], "problems": []}', "FILE is not the output of `assignor describe --json`: "),
        ("any text", "FILE is not JSON: "),
    ],
)
def test_an_unusable_description_is_an_error_in_one_line(commands: Commands, text: str, reason: str) -> None:
    for command in ("assign", "check"):
        assert commands.error(command, commands.file(text.encode())).startswith(reason)


def test_a_group_without_a_name_cannot_be_chosen(commands: Commands) -> None:
    path = commands.file({"partitions_per_topic": {"t": 1}, "subscriptions": {"a": ["t"]}, "assignment": {}})

    assert "FILE is one group without a name; remove --group" == commands.error("assign", path, "--group", "g")
    assert "FILE is no description of groups; remove --group" == commands.error("check", path, "--group", "g")


def test_the_page_shows_what_the_commands_print(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/start-from-what-you-have.md").read_text()
    section = page.partition("## A description of a group\n")[2].partition("\n## ")[0]
    described = re.findall(r"^```text\n(GROUP .*?)^```$", section, re.MULTILINE | re.DOTALL)
    (tmp_path / "described.txt").write_text(*described)

    found = [each for each in examples(section) if "--bootstrap-server" not in each.command]

    assert 3 == len(found)
    for example in found:
        assert [] == differences(example.output, run(example.command, tmp_path).splitlines()), example.command
