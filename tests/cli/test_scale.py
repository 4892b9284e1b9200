"""The command `scale`: its answers are those of `assignor.scaling.scale`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assignor.cli import main
from assignor.scaling import scale
from tests.cli.commands import Commands
from tests.support.recorded_fleet import RECORDING

GROUP: dict[str, Any] = {
    "partitions_per_topic": {"orders": 6, "refunds": 6},
    "subscriptions": {"a": ["orders", "refunds"], "b": ["orders", "refunds"]},
}
WEIGHTS = {"orders": [9, 1, 1, 1, 1, 1], "refunds": [1] * 6}


def test_json_has_what_the_function_returns(commands: Commands) -> None:
    path = commands.file(GROUP)
    members = GROUP["subscriptions"]

    assert scale(GROUP["partitions_per_topic"], members).to_json() == commands.json("scale", path, "--json")
    found = commands.json("scale", path, "--json", "--max", "6", "--assignor", "sticky")
    assert scale(GROUP["partitions_per_topic"], members, max_members=6, assignor="sticky").to_json() == found
    assert [1, 2, 3, 4, 5, 6] == found["good"]


def test_text_marks_good_counts_and_today(commands: Commands) -> None:
    lines = commands.output("scale", commands.file(GROUP), "--max", "4").splitlines()

    assert "group: 2 members, range (classic protocol)" == lines[0]
    names = ("members", "good", "idle members", "least loaded", "most loaded", "mean load", "moved")
    assert "  ".join(names).split() == lines[1].split()
    assert ["1", "yes", "0", "12", "12", "12.0", "6"] == lines[2].split()
    assert ["today", "2", "yes", "0", "6", "6", "6.0", "0"] == lines[3].split()
    assert ["4", "-", "0", "2", "4", "3.0"] == lines[5].split()[:6]
    assert "good numbers of members: 1, 2, 3" == lines[6]


def test_weights_decide_on_their_own(commands: Commands) -> None:
    given = {**GROUP, "weights": WEIGHTS}

    found = commands.json("scale", commands.file(given), "--json", "--max", "3")
    assert (
        scale(GROUP["partitions_per_topic"], GROUP["subscriptions"], max_members=3, weights=WEIGHTS).to_json() == found
    )
    assert ([1, 2, 3], [1, 2, 3]) == (found["good"], found["good_by_weight"])
    assert (14.0, 6.0, 10.0, 10.0) == tuple(
        found["counts"][1][name] for name in ("most_weight", "least_weight", "weight_bound", "packed_weight")
    )
    text = commands.output("scale", commands.file(given), "--max", "3")
    assert text.splitlines()[-1] == "good by weight: 1, 2, 3"
    missing = {**GROUP, "weights": {"orders": WEIGHTS["orders"]}}
    assert commands.output("scale", commands.file(missing)).splitlines()[-1] == (
        "by weight: unknown, 6 partitions without a known weight"
    )


def test_keda_has_the_limits_and_the_counts(commands: Commands) -> None:
    lines = commands.output("scale", commands.file(GROUP), "--max", "12", "--keda").splitlines()

    assert [
        "apiVersion: keda.sh/v1alpha1",
        "kind: ScaledObject",
        "metadata:",
        "  annotations:",
        '    assignor/good-replica-counts: "1,2,3,6"',
        "spec:",
        "  minReplicaCount: 1",
        "  maxReplicaCount: 6",
    ] == lines


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, ["--max", "0"], "--max must be a number from 1 to 100000, got '0'"),
        ({}, ["--max", "x"], "--max must be a number from 1 to 100000, got 'x'"),
        (
            {"weights": {"orders": [-1] * 6}},
            [],
            "FILE: weights['orders']: a weight must be a finite number >= 0, got -1.0 at index 0",
        ),
        (
            {"weights": {"other": [1]}},
            [],
            "FILE: weights has a weight for ('other', 0), but the group has no topic 'other'",
        ),
        ({"subscriptions": {}}, ["--keda"], "--keda has no counts: the group has no members, so its subscriptions are"),
        ({"prefer_rack_aware": True}, [], "FILE: scale does not support prefer_rack_aware; remove it"),
    ],
)
def test_wrong_input_is_named(commands: Commands, change: dict[str, Any], options: list[str], message: str) -> None:
    assert commands.error("scale", commands.file({**GROUP, **change}), *options).startswith(message)


def test_a_group_of_a_recording_has_its_traffic_as_weights(
    commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["scale", str(RECORDING), "--group", "order-processor", "--json"])
    found = json.loads(capsys.readouterr().out)

    assert 0 == code
    assert "order-processor" == found["group"]
    assert found["members"] == len(found["counts"])
    assert found["counts"][-1]["is_today"]
    assert found["counts"][-1]["most_weight"] > 0
    assert "several groups with members; choose one with --group: " in commands.error("scale", str(RECORDING))
