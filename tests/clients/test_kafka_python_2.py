"""Tests of our assignors in the coordinators of kafka-python 2, without a server; each release has its own process."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from typing import Any, cast

import pytest

from assignor import Subscription, assign
from assignor.names import AssignorName
from assignor.wire import encode_assignment, encode_subscription
from tests.clients.kafka_python_2_program import NAMES, STATIC, TOPICS
from tests.support.client_releases import RELEASES, ClientRelease, ReleaseMissingError, environment, oldest

KAFKA_PYTHON_2 = [
    release for release in RELEASES if release.client == "kafka-python" and release.version < "3" and release.runs
]
QUICK = {oldest("kafka-python"), KAFKA_PYTHON_2[-1]}
"""The two interfaces of kafka-python 2: from 2.3 a leader gets instance ids."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(each, id=str(each), marks=() if each in QUICK else pytest.mark.long) for each in KAFKA_PYTHON_2
    ],
)
def found(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return what the program prints with a release."""
    release: ClientRelease = request.param
    try:
        variables = environment(release)
    except ReleaseMissingError as error:
        pytest.skip(f"{release} cannot be installed: {error}")
    command = [sys.executable, "-m", "tests.clients.kafka_python_2_program"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert 0 == done.returncode, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    assert release.version == printed["version"]
    return printed


def name_of(kind: str) -> AssignorName:
    return cast(AssignorName, kind.removesuffix("Assignor").lower())


def of_topic(answer: dict[str, Any]) -> dict[str, list[int]]:
    return {member: sorted(id for _, id in partitions) for member, partitions in answer.items()}


def claim(ids: list[int], generation: int) -> bytes:
    return struct.pack(f">ih1si{len(ids)}ii", 1, 1, b"t", len(ids), *ids, generation)


@pytest.mark.parametrize("given", ["classes", "instances"])
def test_members_join_as_kafkas_consumer_does(found: dict[str, Any], given: str) -> None:
    rack = "r2" if given == "instances" else None
    for kind in NAMES:
        first, second = map(bytes.fromhex, found[given][kind]["joins"])
        user_data, generation = (claim(list(range(5)), 7), 7) if kind == "StickyAssignor" else (None, -1)

        assert encode_subscription(Subscription(("t",), rack=rack)) == first
        assert encode_subscription(
            Subscription(("t",), rack=rack, user_data=user_data, generation=generation)
        ) == second, kind  # fmt: skip


@pytest.mark.parametrize("given", ["classes", "instances"])
def test_leaders_give_the_answer_of_kafkas_class(found: dict[str, Any], given: str) -> None:
    members = {"a": ["t"], "java": ["t"]}
    for kind in NAMES:
        answer = found[given][kind]
        expected = of_topic(assign(TOPICS, members, assignor=name_of(kind)))
        if kind == "StickyAssignor":  # `a` keeps three of the five partitions that it had alone
            expected = {"a": [0, 1, 2], "java": [3, 4]}

        assert {"a": list(range(5))} == answer["alone"]
        assert expected == answer["both"], kind
        assert encode_assignment([("t", id) for id in expected["java"]], 3).hex() == answer["bytes"]


def test_static_members_come_first_if_the_release_passes_their_instance_ids(found: dict[str, Any]) -> None:
    passes = found["version"] >= "2.3"
    members = STATIC if passes else {member: Subscription(("t",)) for member in STATIC}

    for kind in NAMES:
        assert of_topic(assign(TOPICS, members, assignor=name_of(kind))) == found["classes"][kind]["static"], kind


def test_consumers_that_share_an_instance_or_the_class_have_their_own_state(found: dict[str, Any]) -> None:
    expected = [
        encode_subscription(Subscription(("t",), user_data=claim([number], 3), generation=3)).hex() for number in (0, 1)
    ]

    assert [expected, expected] == found["shared"]


def test_an_assignor_of_another_interface_is_an_error_with_the_right_import(found: dict[str, Any]) -> None:
    used = ["assignor", "assignor", "assignor.server", "assignor.clients.aiokafka", "assignor.clients.aiokafka"]

    assert [
        f"WrongAssignorError: {module}.RangeAssignor is not for consumers of kafka-python: "
        "use `from assignor.clients.kafka_python import RangeAssignor`"
        for module in used
    ] == found["wrong"]


def test_what_kafka_python_2_lacks_is_an_error_with_the_needed_release(found: dict[str, Any]) -> None:
    assert found["cooperative"] == (
        "MissingDependencyError: CooperativeStickyAssignor needs kafka-python 3.0 or newer: consumers of kafka-python "
        f"{found['version']} rebalance eagerly; use StickyAssignor, or run: pip install 'kafka-python>=3.0'"
    )


def test_shadow_mode_answers_as_kafka_python_2_and_logs_the_comparison(found: dict[str, Any]) -> None:
    shadow = found["shadow"]
    for kind in NAMES:
        answered, own = shadow["answers"][kind]
        assert own == answered, kind
    differ = found["version"] >= "2.3"  # with instance ids, the client's own classes leave members without partitions

    assert [differ, differ, False] == [line.startswith("WARNING") for line in shadow["lines"]]
    assert [f"{name_of(kind)}: kafka-python's answer" for kind in NAMES] == [
        line.partition(" ")[2].partition(" differs")[0].partition(" for ")[0] for line in shadow["lines"]
    ]
