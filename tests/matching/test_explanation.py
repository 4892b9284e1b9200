"""Tests of `explain_pattern`."""

from __future__ import annotations

import time

import pytest

from assignor import errors, explain_pattern, match_topics
from assignor.matching import explanation
from assignor.names import Dialect
from tests.support.engines import Engine

TOPICS = ["logs-app", "logs-db", "logs-", "orders.v1", "ordersxv1", "Orders", "orders", "__consumer_offsets"]


def hints(pattern: str, dialect: Dialect = "java", topics: list[str] | None = None) -> list[str]:
    return list(explain_pattern(pattern, dialect, TOPICS if topics is None else topics).hints)


def test_explanation_has_the_matches_and_the_way_of_matching(engine: Engine) -> None:
    found = explain_pattern("orders.*", "re2j", TOPICS, engine=engine)

    assert ("orders.v1", "ordersxv1", "orders") == found.matches
    assert "must match the whole name, by RE2/J on the broker" == found.how
    assert str(found).startswith("'orders.*' (re2j): must match the whole name, by RE2/J on the broker.")
    assert "It matches 3 topics: orders.v1, ordersxv1, orders." in str(found)


def test_explanation_without_topics_has_no_matches() -> None:
    found = explain_pattern("orders.*")

    assert found.matches is None
    assert () == found.hints
    assert "matches" not in str(found).splitlines()[0]


@pytest.mark.parametrize(
    ("pattern", "dialect", "expected"),
    [
        (
            "logs-*",
            "java",
            "'-*' at position 4 matches any number of '-'. For any characters write '-.*' (2 more topics: ",
        ),
        (
            "orders.v1",
            "java",
            "'.' at position 6 matches any character. To match a dot write '\\.'; "
            "the pattern then no longer matches 1 topic: ",
        ),
        ("^logs", "java", "The pattern must match the whole name. With '.*' at the end it matches 3 more topics: "),
        ("orders", "python", "match only a prefix of the name. With '$' at the end it rejects 2 topics"),
        ("logs/.*", "java", "No topic name contains '/' (position 4). Names consist of [a-zA-Z0-9._-]."),
        ("ORDERS", "java", "It matches no topic. With '(?i)', which ignores case, it matches 2 topics"),
        ("__.*", "java", "It matches only internal topics"),
        (
            "logs-.*",
            "librdkafka",
            "librdkafka reads it as the name of one topic. A pattern must begin with '^' (3 more topics: ",
        ),
        ("^logs", "java", "Dialect librdkafka also matches 3 topics: logs-app, logs-db, logs-."),
        (
            "(?!logs).*",
            "java",
            "Dialect re2j rejects it: look-around '(?!' is not supported by dialect re2j (position 0).",
        ),
        ("[a-z&&[lo]].*", "java", "Dialect python does not match"),
    ],
)
def test_hint_names_probable_mistake(pattern: str, dialect: Dialect, expected: str) -> None:
    assert any(expected in hint for hint in hints(pattern, dialect)), hints(pattern, dialect)


def test_hint_is_given_even_if_it_excludes_all_matches() -> None:
    assert any("match only a prefix of the name" in hint for hint in hints("orders", "python", ["orders-1"]))
    assert any("the pattern then no longer matches 1 topic: acb" in hint for hint in hints("a.b", "java", ["acb"]))


def test_invalid_topics_raise() -> None:
    with pytest.raises(errors.WrongTypeError, match="topics must be an iterable of topic names, not str"):
        explain_pattern("a", topics="abc")
    with pytest.raises(errors.WrongTypeError, match="topics must be an iterable of topic names, not int"):
        explain_pattern("a", topics=5)  # type: ignore[arg-type]  # deliberately wrong type


@pytest.mark.parametrize(
    "pattern", [r"\Qa.b\E", r"\Qlogs-*\E", "[a[b.]-*]", r"\N{FULL STOP}", "(?sx)a b", r"\p{Alpha}+", "a.{2,3}"]
)
def test_quotes_classes_names_and_comments_mode_give_no_hint(pattern: str) -> None:
    found = explain_pattern(pattern, "java", ["x"]).hints

    assert [] == [hint for hint in found if not hint.startswith("Dialect")]


@pytest.mark.parametrize("pattern", [r"orders\.v1", "orders|logs-", "[.]+x", r"(?i)orders\.v1", r"logs-(?:app|db)"])
def test_correct_pattern_has_no_hint_about_dots_and_globs(pattern: str) -> None:
    assert [] == [hint for hint in hints(pattern) if "any character" in hint or "any number of" in hint]


def test_invalid_pattern_or_dialect_raises() -> None:
    with pytest.raises(errors.InvalidPatternError, match=r"java pattern '\[a', position"):
        explain_pattern("[a")
    with pytest.raises(errors.IllegalArgumentError, match="dialect must be one of"):
        explain_pattern("a", "perl")  # type: ignore[arg-type]  # deliberately unknown


def test_long_list_of_topics_is_shortened() -> None:
    found = explain_pattern("t.*", topics=[f"t{number}" for number in range(9)])

    assert "It matches 9 topics: t0, t1, t2, t3, t4, …." in str(found)


@pytest.mark.parametrize(
    ("pattern", "dialect"),
    [
        ("a*b." * 2_000, "java"),
        ("a*b." * 2_000, "re2j"),
        ("a*b." * 2_000, "python"),
        ("(?i)(?x)#" + "%" * 200_000, "java"),
        ("[a]" * 4_000 + "é" * 6_000, "java"),
        ("(?x)#" + "(?#" * 50_000, "java"),
        (r"\Qa\E" * 5_000, "java"),
        ("^" + "[%]" * 5_000 + "%" * 1_000, "librdkafka"),
        ("%*" * 9_000, "librdkafka"),
        ("|".join(f"{chr(97 + n % 26)}.*{n}*" for n in range(2_000)), "java"),
        (r"(.{0,9})(.{0,9})(.{0,9})\2.{200}.*" + "x?" * 1_000, "java"),
        ("\U000e0001" * 9_000, "java"),
    ],
)
def test_an_explanation_is_short_and_comes_soon(pattern: str, dialect: Dialect) -> None:
    topics = ["a" * 249, "ab" * 120, *(f"{letter * 200}-{number}" for letter in "ab" for number in range(40))]
    start = time.process_time()
    match_topics(pattern, topics[2:], dialect=dialect)  # takes as long as the machine needs for 80 names
    matched = time.process_time()

    found = str(explain_pattern(pattern, dialect, topics[2:]))

    assert time.process_time() - matched < 1.5 * (matched - start) + 1
    assert 64 * 1024 > len(found.encode())
    assert "…" in found or "Only the first 2000" in found or len(pattern) < 2_000


def test_an_explanation_says_what_it_leaves_out() -> None:
    long = hints("logs-*" * 400, topics=[])
    many = hints("a*b*c*d*e*f*g*h*i*j*", topics=[])

    assert "Only the first 2000 of 2400 characters were examined for mistakes." == long[-2]
    assert "Further hints were left out: there are at most 8 of a kind." == long[-1] == many[-1]
    assert 8 == len([hint for hint in many if "matches any number of" in hint])
    assert not any("left out" in hint for hint in hints("a*b*c*d*e*f*g*h*", topics=[]))
    assert ", 49, …" in hints("." * 51, topics=[])[0]
    assert ", …" not in hints("." * 50, topics=[])[0]


def test_an_explanation_says_that_it_compared_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    late = "Other patterns and dialects were not compared completely, because it takes too long."

    assert late not in hints("logs-*")
    monkeypatch.setattr(explanation, "_SECONDS", -1)
    assert ["'-*' at position 4 matches any number of '-'. For any characters write '-.*'.", late] == hints("logs-*")
