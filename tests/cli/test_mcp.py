"""Server of `assignor mcp`, asked by the client of the official SDK over standard input and output."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assignor.cli import main
from assignor.cli.bounded import MOST_CHARACTERS, MOST_TEXT, bounded
from tests.support.assistant import Call, ask, text
from tests.support.recorded_fleet import RECORDING

LAGGING = RECORDING.parent / "lagging_groups"
TOOLS = {"explain_group", "what_if", "scale", "can_migrate", "match_pattern"}

CALLS: dict[str, Call] = {
    "group": ("explain_group", {"group": "invoices"}),
    "unknown": ("explain_group", {"group": "invoice"}),
    "steps": ("what_if", {"group": "billing", "steps": ["add_members=3"]}),
    "wrong step": ("what_if", {"group": "billing", "steps": ["add=3"]}),
    "no members": ("what_if", {"group": "nightly-audit", "steps": ["add_members=1"]}),
    "scale": ("scale", {"group": "billing", "max_members": 5}),
    "migrate": ("can_migrate", {"group": "billing"}),
    "pattern": ("match_pattern", {"pattern": "sea.*"}),
    "wrong pattern": ("match_pattern", {"pattern": "sea("}),
}


@pytest.fixture(scope="module")
def answers() -> tuple[list[Any], dict[str, Any]]:
    """Return the tools of a server, and its answers to `CALLS`."""
    tools, found = ask([str(LAGGING)], CALLS.values())
    return tools, dict(zip(CALLS, found, strict=True))


def test_the_tools_only_read(answers: tuple[list[Any], dict[str, Any]]) -> None:
    tools, _ = answers

    assert TOOLS == {tool.name for tool in tools}
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert not tool.annotations.destructive_hint
        assert tool.description


def test_answers_are_those_of_the_commands(
    answers: tuple[list[Any], dict[str, Any]], capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    _, found = answers
    assert 0 == main(["report", str(LAGGING), "--json", "--out", str(tmp_path / "out")])
    report = json.loads(capsys.readouterr().out)
    assert 0 == main(["match", "sea.*", "orders", "searches"])
    matched = capsys.readouterr().out.splitlines()

    group = json.loads(text(found["group"]))
    (reported,) = (each for each in report["groups"] if each["group"] == "invoices")
    assert reported == group["group"]
    assert [each for each in report["findings"] if each["group"] == "invoices"] == group["findings"]
    assert 0 < len(group["last_rebalances"]) <= 10
    assert group["last_rebalances"][0]["generation"] == reported["generation"]
    steps = json.loads(text(found["steps"]))
    assert [(2, 2), (5, 0)] == [(each["members"], each["least_loaded"]) for each in steps["outcomes"]]
    scaled = json.loads(text(found["scale"]))
    assert [1, 2, 3, 4, 5] == [each["members"] for each in scaled["counts"]]
    assert [1, 2, 3, 4] == scaled["good"]
    assert 0 == main(["migrate", str(LAGGING), "--group", "billing", "--json"])
    (migration,) = json.loads(capsys.readouterr().out)["groups"]
    migrated = json.loads(text(found["migrate"]))
    assert migration == {name: migrated[name] for name in migration}
    assert matched == json.loads(text(found["pattern"]))["matches"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("unknown", "has no group 'invoice'; its 6 groups: 'invoices'"),
        ("wrong step", "unknown step 'add=3'; the steps are add_members, "),
        ("no members", "group 'nightly-audit' has no members at the end of "),
        ("wrong pattern", "'sea('"),
    ],
)
def test_errors_say_what_is_wrong(answers: tuple[list[Any], dict[str, Any]], call: str, message: str) -> None:
    _, found = answers

    assert found[call].is_error
    assert message in text(found[call])
    assert "\n" not in text(found[call])


# ---- the size of answers


def test_long_answers_are_cut_and_say_so() -> None:
    members = [{"member": f"m{number}", "spans": list(range(50))} for number in range(400)]
    answer = {"group": "g" * 5_000, "members": members, "notes": ["one", "two"]}

    found = bounded(answer)

    assert len(json.dumps(found, ensure_ascii=False)) <= MOST_CHARACTERS
    assert ["one", "two"] == found["notes"]
    assert 400 == len(found["members"]) + found["truncated"]["members"]
    assert MOST_TEXT == len(found["group"])
    assert 400 == len(answer["members"])  # the answer itself is not changed


def test_short_answers_are_whole() -> None:
    assert {"group": "g", "truncated": None} == bounded({"group": "g"})


def test_an_answer_that_cannot_be_cut_says_so() -> None:
    names = {f"name {number}": number for number in range(100)}

    assert "ask for less" in bounded(names, most=100)["error"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "mcp needs either the PATH of a recording, or --bootstrap-server"),
        ([str(LAGGING), "--timeout", "500"], "--timeout 500 needs --bootstrap-server"),
        (["missing"], "missing"),
    ],
)
def test_wrong_options_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["mcp", *arguments])

    output = capsys.readouterr()
    assert "" == output.out
    assert message in output.err
    assert 1 == output.err.count("\n")
