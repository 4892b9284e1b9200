"""Lines of brokers' log files: prefixes, time zones, and lines of other loggers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor.sources.log_lines import LogTime, read_message
from assignor.sources.logged_reasons import Event, read_event

START = 1_795_611_600_000
"""2026-11-25 13:00:00 UTC in milliseconds."""

MESSAGE = "[GroupCoordinator 0]: Stabilized group g generation 1 (__consumer_offsets-43) with 1 members"
AT = "2026-11-25 13:00:00,123"
OWN = f"[{AT}] INFO {MESSAGE} (kafka.coordinator.group.GroupCoordinator)"
HOUR = 3_600_000


@pytest.mark.parametrize(
    ("line", "offset"),
    [
        (OWN, None),
        (f"{AT} INFO {MESSAGE} (kafka.coordinator.group.GroupCoordinator) [data-plane-kafka-request-handler-3]", None),
        (f"2026-11-25T13:00:00.123 INFO GroupCoordinator:66 - {MESSAGE}", None),
        (f"[2026-11-25T13:00:00.123Z] INFO {MESSAGE} (x.Y)", 0),
        (f"[2026-11-25 13:00:00,123+0530] INFO {MESSAGE} (x.Y)", 5.5 * HOUR),
        (f"[2026-11-25 13:00:00,123 -03:30] INFO {MESSAGE} (x.Y)", -3.5 * HOUR),
        (f"kafka-1  | {OWN}", None),
        (f"Nov 25 14:00:00 host kafka-server-start.sh[812]: {OWN}", None),
        (f"2026-11-25T13:00:00+0100 host kafka[812]: {OWN}", HOUR),
        (f"2026-11-25T12:00:01.500000000Z stdout F {OWN}", HOUR),
        (json.dumps({"log": f"{OWN}\n", "stream": "stdout", "time": "2026-11-25T13:00:00.456Z"}), 0),
        (json.dumps({"log": f"{OWN}\n", "stream": "stdout", "time": "2026-11-25T18:30:00.456Z"}), -5.5 * HOUR),
        (json.dumps({"timestamp": "2026-11-25T13:00:00.123Z", "level": "INFO", "message": MESSAGE}), 0),
        (json.dumps({"__REALTIME_TIMESTAMP": str(START * 1_000 + 123_456), "MESSAGE": OWN}), 0),
        # The container's time is no whole number of quarters of an hour away, so that it says nothing.
        (f"2026-11-25T12:07:00.000Z stdout F {OWN}", None),
    ],
)
def test_a_prefix_of_a_line_may_show_its_time_zone(line: str, offset: float | None) -> None:
    found = read_message(line)

    assert found is not None
    assert "0" == found.broker
    assert "Stabilized group g generation 1 (__consumer_offsets-43) with 1 members" == found.text
    assert LogTime(START + 123, None if offset is None else int(offset)) == found.time


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-25 13:00:00,123] INFO [Consumer clientId=c, groupId=g] Request joining group due to: group is "
        "already rebalancing (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)",
        "[2026-11-25 13:00:00,123] INFO [Consumer clientId=c, groupId=g] Member c-1 sending LeaveGroup request to "
        "coordinator due to the consumer is being closed",
        "[2026-11-25 13:00:00,123] WARN seen: Preparing to rebalance group g with old generation 4 (com.example.App)",
        "[2026-11-25 13:00:00,123] INFO [GroupMetadataManager brokerId=0] Group g transitioned to Dead in generation 2",
        "{broken json",
        "",
    ],
)
def test_lines_of_other_loggers_say_nothing(line: str) -> None:
    assert read_message(line) is None


@given(st.text(), st.sampled_from(["", "[GroupCoordinator 0]: ", "[GroupId g] ", "Preparing to rebalance group ", "{"]))
def test_no_line_ends_the_reading(text: str, start: str) -> None:
    for line in (
        start + text,
        f"[2026-99-99 13:00:00,000] [GroupCoordinator 0]: {start}{text}",
        json.dumps({"log": text}),
    ):
        message = read_message(line)
        event = read_event(line if message is None else message.text)
        assert event is None or isinstance(event, Event)
