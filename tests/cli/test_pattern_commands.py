"""The commands `match` and `explain`."""

from __future__ import annotations

import json

import pytest

from assignor import explain_pattern
from tests.cli.commands import Commands

TOPICS = ["orders", "orders-eu", "us-orders", "__consumer_offsets"]


def test_match_prints_the_topics_in_their_order(commands: Commands) -> None:
    assert "orders\norders-eu\n" == commands.output("match", "orders.*", *TOPICS)
    assert ["orders", "orders-eu"] == commands.json("match", "orders.*", *TOPICS, "--json")
    assert [] == commands.json("match", "mail", *TOPICS, "--json")
    assert "" == commands.output("match", "mail", *TOPICS)


def test_internal_topics_match_on_request(commands: Commands) -> None:
    assert [] == commands.json("match", "__.*", *TOPICS, "--json")
    assert TOPICS[3:] == commands.json("match", "__.*", *TOPICS, "--json", "--include-internal")


@pytest.mark.parametrize(
    "data", ["\n".join(TOPICS), "\r\n".join([*TOPICS, ""]), json.dumps(TOPICS), json.dumps(dict.fromkeys(TOPICS, 1))]
)
def test_topics_come_from_standard_input(commands: Commands, data: str) -> None:
    commands.stdin(data.encode())

    assert "orders\norders-eu\n" == commands.output("match", "orders.*", "-")


def test_explain_prints_the_explanation(commands: Commands) -> None:
    expected = explain_pattern("logs-*", "python", ["logs-a", "logs-"])

    words = ["explain", "logs-*", "logs-a", "logs-", "--dialect", "python"]
    assert f"{expected}\n" == commands.output(*words)
    found = commands.json(*words, "--json")
    assert ["logs-a", "logs-"] == found["matches"]
    assert list(expected.hints) == found["hints"]
    assert None is commands.json("explain", "logs-*", "--json")["matches"]


def test_an_invalid_pattern_or_topic_is_reported_in_one_line(commands: Commands) -> None:
    for command in ("match", "explain"):
        assert commands.error(command, "a[", "b").startswith("java pattern 'a[', position ")
        assert "notaname" in commands.error(command, "a", "b", "notaname\u00e9")
    commands.stdin(b'["a", ]')
    assert commands.error("match", "a", "-").startswith("standard input is not JSON: ")
    commands.stdin(b"[1]")
    assert "1" in commands.error("match", "a", "-")
