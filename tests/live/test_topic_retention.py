"""Settings of topics that say when records are deleted: what is read, remembered and asked again, without a cluster."""

from __future__ import annotations

import re
from concurrent.futures import Future
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from assignor.cluster import topic_retention
from assignor.cluster.connection import ClientSettings
from assignor.cluster.descriptions import GroupDescription
from assignor.cluster.topic_retention import REFRESH_MS, RetentionReader, TopicRetention, retention_arguments
from assignor.lag_time import TIME_LAG
from assignor.report.description_text import render
from tests.replay.polls import described

if TYPE_CHECKING:
    from collections.abc import Mapping

Settings = tuple[str, str, str]
DAY_MS = 86_400_000


class FakeAdmin:
    """AdminClient that returns settings of topics, or an error, or for None no answer.

    Attributes:
        asked: Names of the topics of each call.
    """

    def __init__(self, answers: Mapping[str, Settings | int | None]) -> None:
        self.answers = dict(answers)
        self.asked: list[list[str]] = []

    def poll(self, _seconds: float) -> None:
        """Do nothing."""

    def describe_configs(self, resources: list[Any], **_: Any) -> dict[Any, Future[Any]]:
        """Return a future for each topic."""
        self.asked.append([resource.name for resource in resources])
        found: dict[Any, Future[Any]] = {resource: Future() for resource in resources}
        for resource, future in found.items():
            answer = self.answers[resource.name]
            if isinstance(answer, int):
                future.set_exception(KafkaException(KafkaError(answer)))
            elif answer is not None:
                names = ("cleanup.policy", "retention.ms", "retention.bytes")
                future.set_result(
                    {name: SimpleNamespace(value=value) for name, value in zip(names, answer, strict=True)}
                )
        return found


def reader(**answers: Settings | int | None) -> tuple[RetentionReader, FakeAdmin]:
    admin = FakeAdmin(answers)
    return RetentionReader(ClientSettings.read("broker-1:9092", timeout=0.05), admin), admin


def test_settings_are_read_once_until_they_are_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_retention, "TOPICS_PER_CALL", 2)
    found, admin = reader(**{name: ("delete", str(DAY_MS), "-1") for name in "abc"})

    found.read(["c", "a", "b", "a"], 1_000)
    found.read(["a"], 1_000 + REFRESH_MS - 1)
    assert [["a", "b"], ["c"]] == admin.asked
    assert TopicRetention("delete", DAY_MS, -1) == found.found["c"]

    admin.answers["a"] = ("delete", "5", "-1")
    found.read(["a"], 1_000 + REFRESH_MS)
    assert ["a"] == admin.asked[-1]
    assert 5 == found.found["a"].retention_ms
    assert "" == found.note()


def test_topics_that_may_not_be_described_have_one_note() -> None:
    refused = KafkaError.TOPIC_AUTHORIZATION_FAILED
    found, admin = reader(a=("delete", "5", "-1"), secret=refused, hidden=refused)

    found.read(admin.answers, 0)

    assert ["a"] == list(found.found)
    assert (
        "the setting retention.ms of 2 topics, such as 'hidden', could not be read, so the time until unread records "
        "are deleted is estimated from the start of the log: this client has no permission to describe the settings of "
        "topics (topic) on broker-1:9092"
    ) == found.note()
    found.read(admin.answers, REFRESH_MS - 1)
    assert 1 == len(admin.asked)
    admin.answers |= {"secret": ("delete", "6", "-1"), "hidden": ("delete", "7", "-1")}
    found.read(admin.answers, REFRESH_MS)
    assert ("", 6) == (found.note(), found.found["secret"].retention_ms)


def test_a_setting_that_a_broker_does_not_return_is_named() -> None:
    read, _ = reader(orders=("delete", "", "-1"))
    read.read({"orders"}, 0)

    assert read.found == {}
    assert "the broker did not return the setting retention.ms" in read.note()


def test_a_cluster_that_does_not_answer_delays_a_call_once() -> None:
    found, admin = reader(**{f"t{number}": None for number in range(300)})

    found.read(admin.answers, 0)  # 300 times the time limit is 15 s

    assert {} == found.found
    assert "no answer from broker-1:9092" in found.note()


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [
        (("delete", 5, -1), ({"t": 5}, [], [])),
        (("delete", -1, -1), ({"t": -1}, [], [])),
        (("delete", 5, 0), ({"t": 5}, ["t"], [])),
        (("compact,delete", 5, 9), ({"t": 5}, ["t"], [])),
        (("compact, delete", 5, -1), ({"t": 5}, [], [])),
        (("compact", 5, 9), ({}, [], ["t"])),
        (("", 5, 9), ({"t": -1}, [], [])),
    ],
)
def test_the_cleanup_policy_decides_whether_age_and_size_delete_records(
    settings: tuple[str, int, int], arguments: tuple[Any, ...]
) -> None:
    assert arguments == tuple(retention_arguments({"t": TopicRetention(*settings)}).values())


def test_text_says_the_latest_time_if_the_size_is_limited() -> None:
    row = dict.fromkeys(TIME_LAG.names) | {"group_id": "g", "topic": "t", "partition": 0, "deleted_in_seconds": 90.0}
    cells = []
    for size in (-1, 1_000):
        found = described(
            GroupDescription("g", "classic"),
            partitions={"g": [row]},
            retention={"t": TopicRetention("delete", 5, size)},
            notes=("a\nnote",),
        )
        text = render(found)
        assert text.endswith("\n\nNotes\n  a\\nnote")
        assert {"t": {"cleanup_policy": "delete", "retention_ms": 5, "retention_bytes": size}} == found.to_json()[
            "retention"
        ]
        cells.append(re.search(r"(in|within) 90\.0 s", text))

    assert ["in 90.0 s", "within 90.0 s"] == [cell and cell.group() for cell in cells]
