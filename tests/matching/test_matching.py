"""Tests of results and errors of `match_topics`, `resolve` and `validate_topic`, on both engines."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys

import pytest

from assignor import Subscription, errors, match_topics, resolve, validate_topic
from assignor.matching import TopicPattern
from assignor.names import Dialect
from tests.support.engines import ENGINES, Engine

TOPICS = ["orders", "orders-eu", "us-orders", "Orders", "mail", "__consumer_offsets", "__transaction_state"]

DIALECTS = ["java", "re2j", "librdkafka", "python"]


def test_matches_keep_order_and_duplicates(engine: Engine) -> None:
    assert ["b", "a", "b"] == match_topics("[ab]", ["b", "c", "a", "b"], engine=engine)


def test_mapping_keys_are_topic_names(engine: Engine) -> None:
    assert ["a"] == match_topics("a", {"a": 3, "b": 1}, engine=engine)


@pytest.mark.parametrize(
    ("dialect", "hidden"), [("java", True), ("python", True), ("librdkafka", True), ("re2j", False)]
)
def test_clients_exclude_internal_topics_and_the_broker_does_not(
    dialect: Dialect, hidden: bool, engine: Engine
) -> None:
    topics = ["__consumer_offsets", "__share_group_state", "__transaction_state", "__other"]

    found = match_topics("^__.*", topics, dialect=dialect, engine=engine)

    assert (["__other"] if hidden else topics) == found
    assert topics == match_topics("^__.*", topics, dialect=dialect, include_internal=True, engine=engine)


def test_plain_name_of_librdkafka_matches_internal_topic(engine: Engine) -> None:
    found = match_topics("__consumer_offsets", TOPICS, dialect="librdkafka", engine=engine)

    assert ["__consumer_offsets"] == found


@pytest.mark.parametrize("dialect", ["java", "re2j", "python"])
def test_error_has_position_and_reason(dialect: Dialect, engine: Engine) -> None:
    with pytest.raises(errors.InvalidPatternError) as caught:
        match_topics("ab(c", TOPICS, dialect=dialect, engine=engine)

    error = caught.value
    assert ("ab(c", dialect, None) == (error.pattern, error.dialect, error.owner)
    assert 0 <= error.position <= 4
    assert f"{dialect} pattern 'ab(c', position {error.position}: {error.reason}" == str(error)
    assert str(error) == str(pickle.loads(pickle.dumps(error)))


LOOK_AROUND = ["(?=", "(?!", "(?<=", "(?<!"]


@pytest.mark.parametrize("dialect", ["re2j", "librdkafka"])
@pytest.mark.parametrize("start", LOOK_AROUND)
def test_the_error_of_look_around_names_it_in_dialects_without_it(dialect: Dialect, start: str, engine: Engine) -> None:
    with pytest.raises(errors.InvalidPatternError) as caught:
        match_topics(f"^t({start}a)b)", TOPICS, dialect=dialect, engine=engine)

    assert f"look-around '{start}' is not supported by dialect {dialect}" == caught.value.reason
    assert 3 == caught.value.position


@pytest.mark.parametrize("dialect", ["re2j", "librdkafka"])
@pytest.mark.parametrize("start", LOOK_AROUND)
def test_text_that_looks_like_look_around_is_valid(dialect: Dialect, start: str, engine: Engine) -> None:
    for pattern in (f"^[{start}]", f"^\\{start}b"):
        assert [] == match_topics(pattern, ["t"], dialect=dialect, engine=engine)
    with pytest.raises(errors.InvalidPatternError) as caught:
        match_topics("^(?", ["t"], dialect=dialect, engine=engine)
    assert "look-around" not in caught.value.reason


@pytest.mark.parametrize("dialect", ["java", "python"])
def test_dialects_with_look_around_match_it(dialect: Dialect, engine: Engine) -> None:
    for pattern, found in (("^(?=t)..", ["tu"]), ("^(?!t)..", ["uu"]), (".u(?<=tu)", ["tu"]), (".u(?<!tu)", ["uu"])):
        assert found == match_topics(pattern, ["tu", "uu"], dialect=dialect, engine=engine)


@pytest.mark.parametrize(
    ("dialect", "engine"),
    # The reference of the dialect python is `re`, which does not have this limit; see the next test.
    [(dialect, engine) for dialect in DIALECTS for engine in ENGINES if (dialect, engine) != ("python", "reference")],
)
def test_pattern_with_too_many_parts_raises(dialect: Dialect, engine: Engine) -> None:
    pattern = "^" + "(" * 6 + "a" + "|b){2,9}" * 6

    with pytest.raises(
        errors.UnsupportedPatternError, match="repetitions with more than 20000 parts in total"
    ) as caught:
        match_topics(pattern, TOPICS, dialect=dialect, engine=engine)

    assert caught.value.construct == caught.value.reason


def test_the_reference_of_python_has_the_limits_of_re() -> None:
    pattern = "a?" * 20_001 + "$"

    with pytest.raises(errors.UnsupportedPatternError, match="repetitions with more than 20000 parts in total"):
        match_topics(pattern, ["a", "b"], dialect="python")
    assert ["a"] == match_topics(pattern, ["a", "b"], dialect="python", engine="reference")


def test_warnings_of_re_are_suppressed(engine: Engine) -> None:
    re.purge()
    with pytest.warns(FutureWarning):
        re.compile("[[a]")
    re.purge()
    assert ["a"] == match_topics("[[a]", ["a", "b"], dialect="python", engine=engine)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nesting_depth_is_limited(dialect: Dialect, engine: Engine) -> None:
    def nested(depth: int) -> str:
        return "^" + "(" * depth + "mail" + ")" * depth

    assert ["mail"] == match_topics(nested(100), TOPICS, dialect=dialect, engine=engine)
    with pytest.raises(errors.UnsupportedPatternError, match="more than 100 nested groups"):
        match_topics(nested(100_000), TOPICS, dialect=dialect, engine=engine)


SMALL_STACK = """
import sys, threading
from assignor import match_topics
begin, end, dialect = sys.argv[1:]
def search():
    print(match_topics("^" + begin * 100 + "a" + end * 100, ["a" * 249, "b"], dialect=dialect))
threading.stack_size(256 * 1024)
thread = threading.Thread(target=search)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("begin", "end"), [("(", ")"), ("(a|", ")*"), ("(?=", ")"), ("(?:a|", ")*+"), ("[a", "]")])
def test_deep_patterns_need_a_small_stack(begin: str, end: str, dialect: Dialect) -> None:
    done = subprocess.run([sys.executable, "-c", SMALL_STACK, begin, end, dialect], capture_output=True, check=False)

    assert 0 == done.returncode


def test_nested_loops_take_no_exponential_time(engine: Engine) -> None:
    name = "b" * 200

    assert [] == match_topics("(b+)+c", [name], engine=engine)
    assert [name] == match_topics("(?=(b|bb)*$)(b*)*", [name], engine=engine)


def test_slow_backreferences_raise_with_the_topic() -> None:
    pattern = "(a*)" * 7 + "".join(rf"\{group}" for group in range(1, 8)) + "c"
    name = "a" * 200

    with pytest.raises(
        errors.UnsupportedPatternError, match=r"matching the topic 'aaa.* takes more than 1000000 steps"
    ):
        match_topics(pattern, [name])


@pytest.mark.parametrize("topic", ["größe", "a\n", "x" * 250, "a\0"])
def test_impossible_topic_name_raises(topic: str, engine: Engine) -> None:
    with pytest.raises(errors.IllegalArgumentError) as caught:
        match_topics(".*", ["fine", topic], engine=engine)

    shown = repr(topic) if len(repr(topic)) <= 80 else repr(topic)[:79] + "…"
    kafka = "a topic name has 1 to 249 characters of [a-zA-Z0-9._-]"
    assert f"cannot match a pattern against topic {shown}: {kafka}" == str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "topics", "options", "kind", "message"),
    [
        (None, [], {}, errors.NullArgumentError, "a pattern must be a str, not None"),
        (b"a", [], {}, errors.WrongTypeError, "a pattern must be a str, not bytes"),
        ("\ud800", [], {}, errors.IllegalArgumentError, "a pattern has a lone surrogate"),
        ("a", "abc", {}, errors.WrongTypeError, "topics must be an iterable of topic names, not str"),
        ("a", 7, {}, errors.WrongTypeError, "topics must be an iterable of topic names, not int"),
        ("a", [7], {}, errors.WrongTypeError, "a topic must be a str, not int: 7"),
        ("a", [], {"include_internal": "no"}, errors.WrongTypeError, "include_internal must be a bool, not str: 'no'"),
        ("a", [], {"dialect": "perl"}, errors.IllegalArgumentError, "dialect must be one of 'java', 're2j', .* 'perl'"),
        ("a", [], {"dialect": None}, errors.IllegalArgumentError, "dialect must be one of .*, not None"),
    ],
)
def test_invalid_arguments_raise(
    pattern: object, topics: object, options: dict[str, object], kind: type[Exception], message: str, engine: Engine
) -> None:
    with pytest.raises(kind, match=message):
        match_topics(pattern, topics, engine=engine, **options)  # type: ignore[arg-type]  # deliberately wrong type


def test_unknown_engine_raises() -> None:
    with pytest.raises(errors.IllegalArgumentError, match="engine must be 'rust' or 'reference', not 'java'"):
        match_topics("a", [], engine="java")  # type: ignore[arg-type]  # deliberately wrong type


def test_group_resolves_to_existing_topics(engine: Engine) -> None:
    group: dict[str, Subscription | list[str]] = {
        "a": Subscription(pattern="orders.*"),
        "b": ["mail", "gone", "mail", "orders"],
        "c": Subscription(("mail",)),
        "d": Subscription(pattern="orders", dialect="python"),
        "e": Subscription(pattern="orders.*"),
        "f": Subscription(pattern="nothing"),
    }

    found = resolve(group, TOPICS, engine=engine)

    expected = {
        "a": ["orders", "orders-eu"],
        "b": ["mail", "orders"],
        "c": ["mail"],
        "d": ["orders", "orders-eu"],
        "e": ["orders", "orders-eu"],
        "f": [],
    }
    assert expected == found
    assert list(group) == list(found)
    assert found["a"] is found["e"]


def test_duplicate_topic_resolves_once(engine: Engine) -> None:
    assert {"a": ["t", "u"]} == resolve({"a": Subscription(pattern="[tu]")}, ["t", "u", "t"], engine=engine)


def test_internal_topics_resolve_if_included(engine: Engine) -> None:
    group: dict[str, Subscription | list[str]] = {"a": Subscription(pattern="__c.*"), "b": ["__consumer_offsets"]}

    assert {"a": [], "b": ["__consumer_offsets"]} == resolve(group, TOPICS, engine=engine)
    asked = resolve(group, TOPICS, include_internal=True, engine=engine)
    assert {"a": ["__consumer_offsets"], "b": ["__consumer_offsets"]} == asked


def test_invalid_pattern_error_names_the_member(engine: Engine) -> None:
    group: dict[str, Subscription | list[str]] = {"a": ["t"], "b": Subscription(pattern="t(")}

    with pytest.raises(errors.InvalidPatternError, match=r"^member 'b': java pattern 't\(', position \d: ") as caught:
        resolve(group, TOPICS, engine=engine)

    assert "member 'b'" == caught.value.owner


def test_resolve_rejects_invalid_groups(engine: Engine) -> None:
    with pytest.raises(errors.WrongTypeError, match="subscriptions must be a mapping"):
        resolve(["a"], TOPICS, engine=engine)  # type: ignore[arg-type]  # deliberately wrong type
    with pytest.raises(errors.WrongTypeError, match=r"member 'a': a subscription must be a Subscription, .* not dict"):
        resolve({"a": {"topics": ["t"]}}, ["t"])
    with pytest.raises(errors.WrongTypeError, match="member 'a': topics must be an iterable of topic names, not str"):
        resolve({"a": "t"}, TOPICS, engine=engine)


@pytest.mark.parametrize("name", ["a", "orders.v1", "_-.", "...", "x" * 249, "0"])
def test_valid_topic_names(name: str) -> None:
    assert validate_topic(name) is None  # type: ignore[func-returns-value]  # the None is tested


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "must not be empty"),
        (".", "topic name '.' is not allowed"),
        ("..", "topic name '..' is not allowed"),
        ("x" * 250, "has 250 characters; the limit is 249"),
        ("orders/v1", "has '/' at position 6"),
        ("größe", "has 'ö' at position 2"),
        ("a ", "has ' ' at position 1"),
        ("a\n", r"has '\\n' at position 1"),
    ],
)
def test_invalid_topic_names_raise_with_reason(name: str, message: str) -> None:
    with pytest.raises(errors.IllegalArgumentError, match=message):
        validate_topic(name)


def test_topic_name_of_wrong_type_raises() -> None:
    with pytest.raises(errors.NullArgumentError, match="a topic name must be a str, not None"):
        validate_topic(None)  # type: ignore[arg-type]  # deliberately wrong type
    with pytest.raises(errors.WrongTypeError, match="a topic name must be a str, not bytes"):
        validate_topic(b"a")  # type: ignore[arg-type]  # deliberately wrong type


def test_topic_pattern_matches_single_names() -> None:
    pattern = TopicPattern("orders-.*")

    assert (True, False) == (pattern.matches("orders-eu"), pattern.matches("orders"))
    assert ("orders-.*", "java") == (pattern.pattern, pattern.dialect)
    assert "TopicPattern('orders-.*', 'java')" == repr(pattern)
    assert pattern == pickle.loads(pickle.dumps(pattern))
    assert pattern != TopicPattern("orders-.*", "re2j")
    assert {pattern} == {TopicPattern("orders-.*")}
    assert TopicPattern("__.*").matches("__consumer_offsets")
    with pytest.raises(errors.IllegalArgumentError, match="cannot match a pattern against topic 'größe'"):
        pattern.matches("größe")


@pytest.mark.parametrize(
    "pattern",
    ["O[0-9]+|[oO]rders", "(?i)o.*|(?-i)O[0-9]", "x|y(O1|(?i:o)2)", "aO1|a[oO]2", "O{2}|[oO]{2}x", "(?:p1|O)|(?i)o"],
)
def test_alternatives_that_re2j_may_factor_incorrectly_are_rejected(pattern: str, engine: Engine) -> None:
    with pytest.raises(
        errors.UnsupportedPatternError,
        match="neighbouring alternatives that begin with the same letter, one only in upper case",
    ):
        match_topics(pattern, ["orders"], dialect="re2j", engine=engine)


@pytest.mark.parametrize(
    "pattern", ["o[0-9]+|[oO]rders", "O1|x|[oO]rders", "P1|[oO]rders", "(?i:O1|orders)", "O|Orders"]
)
def test_other_alternatives_of_re2j_are_matched(pattern: str, engine: Engine) -> None:
    found = match_topics(pattern, ["orders", "Orders"], dialect="re2j", engine=engine)
    assert ("Orders" in found, "orders" in found) == (True, pattern != "O|Orders")
