"""`explain_pattern`: what it says of the mistakes that people make."""

from __future__ import annotations

import pytest

from assignor import errors, explain_pattern
from tests.support.engines import Engine

TOPICS = ["logs-app", "logs-db", "logs-", "orders.v1", "ordersxv1", "Orders", "orders", "__consumer_offsets"]


def hints(pattern: str, dialect: str = "java", topics: list[str] | None = None) -> list[str]:
    return list(explain_pattern(pattern, dialect, TOPICS if topics is None else topics).hints)


def test_it_says_what_matches_and_how_names_are_compared(engine: Engine) -> None:
    found = explain_pattern("orders.*", "re2j", TOPICS, engine=engine)

    assert ("orders.v1", "ordersxv1", "orders") == found.matches
    assert "the whole name has to match, as RE2/J reads the pattern on the broker" == found.how
    assert str(found).startswith("'orders.*' (re2j): the whole name has to match")
    assert "It matches 3 topics: orders.v1, ordersxv1, orders." in str(found)


def test_without_topics_it_says_nothing_of_matches() -> None:
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
            "'-*' at position 4 is any number of '-', not any characters; for those write '-.*' (2",
        ),
        (
            "orders.v1",
            "java",
            "the dot at position 6 stands for any character (1 topic: ordersxv1 only because",
        ),
        ("^logs", "java", "whole names have to match: with '.*' at the end it would match 3 topics"),
        ("orders", "python", "a beginning is enough: with '$' at the end it would not match 2 topics"),
        ("logs/.*", "java", "no topic has '/' (position 4); names are of [a-zA-Z0-9._-]."),
        ("ORDERS", "java", "it matches nothing; in upper or lower case alike ('(?i)') it would match 2 topics"),
        ("__.*", "java", "the topics that it matches are internal ones"),
        (
            "logs-.*",
            "librdkafka",
            "librdkafka takes it for the name of one topic; a pattern begins with '^' (3",
        ),
        ("^logs", "java", "dialect librdkafka also matches 3 topics: logs-app, logs-db, logs-."),
        ("(?!logs).*", "java", "dialect re2j refuses it: "),
        ("[a-z&&[lo]].*", "java", "dialect python does not match"),
    ],
)
def test_a_likely_mistake_is_named(pattern: str, dialect: str, expected: str) -> None:
    assert any(expected in hint for hint in hints(pattern, dialect)), hints(pattern, dialect)


def test_a_mistake_that_is_all_that_matches_is_named_too() -> None:
    assert any("a beginning is enough" in hint for hint in hints("orders", "python", ["orders-1"]))
    assert any("only because of that" in hint for hint in hints("a.b", "java", ["acb"]))


def test_what_is_no_list_of_topics_is_refused() -> None:
    with pytest.raises(errors.WrongTypeError, match="topics must be an iterable of topic names, not str"):
        explain_pattern("a", topics="abc")
    with pytest.raises(errors.WrongTypeError, match="topics must be an iterable of topic names, not int"):
        explain_pattern("a", topics=5)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize(
    "pattern", [r"\Qa.b\E", r"\Qlogs-*\E", "[a[b.]-*]", r"\N{FULL STOP}", "(?sx)a b", r"\p{Alpha}+"]
)
def test_quotes_classes_names_and_blanks_between_are_no_mistakes(pattern: str) -> None:
    found = explain_pattern(pattern, "java", ["x"]).hints

    assert [] == [hint for hint in found if not hint.startswith("dialect")]


@pytest.mark.parametrize("pattern", [r"orders\.v1", "orders|logs-", "[.]+x", r"(?i)orders\.v1", r"logs-(?:app|db)"])
def test_a_pattern_that_says_what_it_means_has_no_hint_about_dots_and_globs(pattern: str) -> None:
    assert [] == [hint for hint in hints(pattern) if "stands for" in hint or "any number of" in hint]


def test_a_pattern_that_cannot_be_used_is_refused_as_ever() -> None:
    with pytest.raises(errors.InvalidPatternError, match=r"java pattern '\[a', position"):
        explain_pattern("[a")
    with pytest.raises(errors.IllegalArgumentError, match="dialect must be one of"):
        explain_pattern("a", "perl")


def test_many_topics_are_counted_and_the_first_are_named() -> None:
    found = explain_pattern("t.*", topics=[f"t{number}" for number in range(9)])

    assert "It matches 9 topics: t0, t1, t2, t3, t4, …." in str(found)
