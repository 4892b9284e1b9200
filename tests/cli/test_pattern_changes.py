"""`what-if` after a switch of the group protocol: the topics that patterns no longer match, or match only then."""

from __future__ import annotations

import random
from typing import Any

import pytest

from assignor import match_topics
from tests.cli.commands import Commands

TO_CONSUMER = ("--step", "use=consumer/uniform")
TOPICS = {"topic-1": 4, "topic-2": 4, "other": 2}


def group(members: dict[str, Any], topics: dict[str, int] | None = None, **settings: Any) -> dict[str, Any]:
    return {"partitions_per_topic": topics or TOPICS, "subscriptions": members, **settings}


def librdkafka(*topics: str) -> dict[str, Any]:
    return {"topics": list(topics), "dialect": "librdkafka"}


@pytest.mark.parametrize("seed", range(8))
def test_a_member_loses_the_topics_that_the_broker_does_not_match(commands: Commands, seed: int) -> None:
    rng = random.Random(seed)
    stem = rng.choice(["topic", "orders", "app.events", "_t"])
    topics = {f"{stem}-{number}": rng.randint(3, 6) for number in range(rng.randint(1, 5))} | {"other": 2}
    names = ["prefix", "whole", "names"]
    rng.shuffle(names)
    of_kind = {
        "prefix": rng.choice([librdkafka(f"^{stem}"), {"pattern": f"^{stem}-", "dialect": "librdkafka"}]),
        "whole": rng.choice([librdkafka(f"^{stem}.*"), librdkafka("other", f"^{stem}-[0-9]+$")]),
        "names": list(topics),
    }
    given = group({name: of_kind[name] for name in names}, topics, assignor="range")
    lost = sorted(topic for topic in topics if topic != "other")

    now, moved = commands.json("what-if", commands.file(given), *TO_CONSUMER)

    assert [] == now["pattern_changes"]
    (change,) = moved["pattern_changes"]
    assert (["prefix"], [], lost) == (change["members"], change["gained"], change["lost"])
    assert (change["patterns"], None) == ([change["sent"]], change["problem"])
    after = {each["member"]: each["after"] for each in moved["changes"]}
    assert 0 == after.get("prefix", 0)
    assert moved["idle_members"] >= 1
    text = commands.output("what-if", commands.file(given), *TO_CONSUMER, "--text")
    about_patterns, about_partitions = text.split("\n\n")[1:]
    assert about_patterns.startswith("use=consumer/uniform: the other group protocol matches the patterns of 1 member ")
    assert f"  prefix: loses {', '.join(lost)}; the broker matches '{change['sent']}' against whole" in about_patterns
    assert about_partitions.startswith("use=consumer/uniform: partitions of ")


def test_the_patterns_of_a_list_are_sent_together(commands: Commands) -> None:
    topics = {"topic1": 1, "topic2": 1, "_t": 1, "p": 1, "my_p": 1, "__consumer_offsets": 3, "q_t": 1}
    given = group({"a": librdkafka("topic1", "topic2", "^_t.*", "^p.*", "^.*_p$|^__.*")}, topics)

    _, moved = commands.json("what-if", commands.file(given), *TO_CONSUMER)

    (change,) = moved["pattern_changes"]
    assert ("^_t.*|^p.*|^.*_p$|^__.*", ["__consumer_offsets"], []) == tuple(
        change[key] for key in ("sent", "gained", "lost")
    )
    assert 8 == moved["partitions"]


SAME: dict[str, Any] = {
    "names": ["topic-1", "other"],
    "names in a list of librdkafka": librdkafka("topic-1", "other", "gone"),
    "the whole name": librdkafka("^topic-.*"),
    "the end of the name": librdkafka("other", "^topic-[0-9]$"),
    "a pattern that is a name": {"pattern": "topic-1", "dialect": "librdkafka"},
    "matched by the Java client": {"pattern": "topic-.*|(?=oth)other"},
    "several patterns of the Java client": {"topics": ["other"], "pattern": ["topic-1", "topic-2"]},
    "matched by the broker": {"pattern": "topic-.*", "dialect": "re2j"},
    "no topic in either": librdkafka("^nothing"),
}


@pytest.mark.parametrize("name", SAME)
def test_patterns_that_mean_the_same_have_no_change(commands: Commands, name: str) -> None:
    given = commands.file(group({name: SAME[name]}, {**TOPICS, "__consumer_offsets": 5}))

    for options in (TO_CONSUMER, ("--step", "use=consumer/range", "--step", "add_members=1"), ("--step", "use=sticky")):
        assert [[], []] == [each["pattern_changes"] for each in commands.json("what-if", given, *options)]
    assert "patterns" not in commands.output("what-if", given, *TO_CONSUMER, "--text")


@pytest.mark.parametrize("start", ["use=consumer/uniform", "add_members=1", "multiply_partitions=2"])
def test_a_switch_of_the_assignor_alone_changes_no_pattern(commands: Commands, start: str) -> None:
    given = group({"a": librdkafka("^topic"), "b": ["other"]}, group_protocol="consumer", assignor="range")

    outcomes = commands.json("what-if", commands.file(given), "--step", start, "--step", "use=consumer/range")

    assert [[], []] == [each["pattern_changes"] for each in outcomes]


REJECTED = {
    r"^(t)opic-\1?": "unknown escape (position 9)",
    "^topic{1,2000}": "a repetition count that is too high, or lower than the minimum (position 6)",
    "^[[:alpha:]]*|^a**": "nested quantifiers (position 17)",
}


@pytest.mark.parametrize("pattern", REJECTED)
def test_a_pattern_that_the_broker_rejects_is_reported_for_its_member(commands: Commands, pattern: str) -> None:
    given = commands.file(group({"a": librdkafka("other", pattern), "b": librdkafka("^topic.*", "other")}))

    now, moved = commands.json("what-if", given, *TO_CONSUMER)

    (change,) = moved["pattern_changes"]
    lost = sorted({"other", *match_topics(pattern, TOPICS, dialect="librdkafka")})
    assert (["a"], [], lost) == (change["members"], change["gained"], change["lost"])
    expected = (
        f"the broker rejects the pattern '{pattern}' with INVALID_REGULAR_EXPRESSION, and a member with it cannot "
    )
    assert f"{expected}join: {REJECTED[pattern]}" == change["problem"]
    assert now["idle_members"] + 1 == moved["idle_members"]
    assert change["problem"] in commands.output("what-if", given, *TO_CONSUMER, "--text")


def test_a_pattern_that_is_not_computed_keeps_its_topics(commands: Commands) -> None:
    given = group({"a": librdkafka("^O[0-9]+|^[oO]rders", "^topic")})

    _, moved = commands.json("what-if", commands.file(given), *TO_CONSUMER)

    (change,) = moved["pattern_changes"]
    assert ([], []) == (change["gained"], change["lost"])
    assert "are not computed, and are assumed to stay the same: neighbouring alternatives" in change["problem"]
    assert [] == moved["changes"]


@pytest.mark.parametrize(
    ("pattern", "end"),
    [
        ("topic-.*", "stay the same"),
        (
            "topic",
            "the broker, which matches whole names by RE2/J, would not match topic-1, topic-2 with the pattern 'topic'",
        ),
        (
            "(?=t)topic",
            "; the broker does not accept the pattern '(?=t)topic', or this package cannot match it as the ",
        ),
    ],
)
def test_kafka_python_needs_another_client(commands: Commands, pattern: str, end: str) -> None:
    given = group({"a": {"pattern": pattern, "dialect": "python"}, "b": ["other"]})

    _, moved = commands.json("what-if", commands.file(given), *TO_CONSUMER)

    (change,) = moved["pattern_changes"]
    assert (["a"], None, [], []) == tuple(change[key] for key in ("members", "sent", "gained", "lost"))
    assert change["problem"].startswith("kafka-python and aiokafka do not support the protocol of KIP-848, so another ")
    assert end in change["problem"]


def test_a_pattern_of_the_broker_has_no_client_in_the_classic_protocol(commands: Commands) -> None:
    given = group({"a": {"pattern": "topic.*", "dialect": "re2j"}, "b": ["other"]}, group_protocol="consumer")

    _, moved = commands.json("what-if", commands.file(given), "--step", "use=range")

    (change,) = moved["pattern_changes"]
    assert (["a"], [], []) == tuple(change[key] for key in ("members", "gained", "lost"))
    assert change["problem"].startswith(
        "in the classic protocol the broker matches no patterns, so a pattern is needed "
    )


def test_a_switch_back_restores_the_topics(commands: Commands) -> None:
    given = group({"a": librdkafka("^topic"), "b": librdkafka("^(o)ther", r"^(t)\1?")})

    back = ("--step", "use=consumer/uniform", "--step", "add_topic=topics:3", "--step", "use=range")
    *_, moved = commands.json("what-if", commands.file(given), *back)

    first, second, third, fourth = moved["pattern_changes"]
    assert (["a"], ["topic-1", "topic-2"], []) == (first["members"], first["lost"], first["gained"])
    assert (["b"], ["other", "topic-1", "topic-2"]) == (second["members"], second["lost"])
    assert (["a"], ["topic-1", "topic-2", "topics"], []) == (third["members"], third["gained"], third["lost"])
    assert (["b"], ["other", "topic-1", "topic-2", "topics"]) == (fourth["members"], fourth["gained"])
    assert 13 == moved["partitions"]
    text = commands.output("what-if", commands.file(given), "--text", *back)
    assert "matches the patterns of 2 members differently" in text
    assert "  a: gains topic-1, topic-2, topics; the client matches the patterns again\n" in text


def test_an_added_topic_is_matched_as_the_broker_does(commands: Commands) -> None:
    given = commands.file(group({"a": librdkafka("^topic", "^more.*"), "b": ["other"]}))

    for topic, idle in (("topic-3", 1), ("more-3", 0)):
        _, moved = commands.json("what-if", given, *TO_CONSUMER, "--step", f"add_topic={topic}:3")
        assert (0, idle) == (moved["unowned"], moved["idle_members"])


def test_the_text_shows_the_first_members_and_topics(commands: Commands) -> None:
    topics = {f"t{number:02}": 1 for number in range(30)}
    given = group({f"m{number:02}": librdkafka("^t") for number in range(25)}, topics)

    text = commands.output("what-if", commands.file(given), *TO_CONSUMER, "--text")

    line = next(line for line in text.splitlines() if line.startswith("  m00, "))
    assert "m09, 15 more members: lose t00, " in line
    assert "t09, 20 more topics; the broker matches '^t' against whole names, by RE2/J" in line
    _, moved = commands.json("what-if", commands.file(given), *TO_CONSUMER)
    assert (25, 30) == tuple(len(moved["pattern_changes"][0][key]) for key in ("members", "lost"))


def test_input_may_have_names_with_one_or_several_patterns(commands: Commands) -> None:
    topics = {"mail": 1, "orders": 1, "orders-eu": 1, "_t": 1}
    by_name = {"a": ["mail", "orders", "orders-eu"], "b": ["mail", "orders"], "c": ["mail", "_t", "orders"]}
    members = {
        "a": {"topics": ["mail"], "pattern": ["orders", "orders-.*"]},
        "b": {"topics": ["mail"], "pattern": "orders"},
        "c": librdkafka("mail", "^_", "^orders$"),
    }

    for command in ("assign", "plan"):
        expected = commands.output(command, commands.file(group(by_name, topics)))
        assert expected == commands.output(command, commands.file(group(members, topics)))
    given = commands.file(group(members, topics, assignment={"a": [["mail", 0]], "b": [["_t", 0]]}))
    assert [["b", ["_t", 0]]] == commands.json("check", given, code=1)["not_subscribed"]
    for pattern, message in (
        (7, "pattern must be a str or an iterable of str, not int: 7"),
        ([None], "pattern: a pattern"),
    ):
        wrong = commands.file(group({"a": {"pattern": pattern}}))
        assert commands.error("assign", wrong).startswith(f"FILE: member 'a': {message}")
