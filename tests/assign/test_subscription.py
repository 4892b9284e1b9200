"""Values that a `Subscription` accepts and rejects."""

from __future__ import annotations

from typing import Any

import pytest

from assignor import Subscription
from tests.support.invalid_input import ARGUMENT, LONE, NULL, TYPE, Interfering, error_of


@pytest.mark.parametrize("field", ["group_instance_id", "rack"])
@pytest.mark.parametrize(
    ("value", "error", "reason"),
    [
        (7, TYPE, "must be a str, not int: 7"),
        (b"r", TYPE, "must be a str, not bytes: b'r'"),
        (("r",), TYPE, "must be a str, not tuple: ('r',)"),
        (LONE, ARGUMENT, "has a lone surrogate, which UTF-8 cannot encode: '\\ud800'"),
    ],
)
def test_a_subscription_rejects_invalid_names(field: str, value: Any, error: type[Exception], reason: str) -> None:
    found = error_of(lambda: Subscription(("t",), **{field: value}))

    assert (error, f"Subscription: {field} {reason}") == found


@pytest.mark.parametrize(
    ("topics", "error", "message"),
    [
        ("t", TYPE, "Subscription: topics must be an iterable of topic names, not str: 't'"),
        (None, NULL, "Subscription: topics must be an iterable of topic names, not None"),
        (["t", 7], TYPE, "Subscription: a topic must be a str, not int: 7"),
        ([None], NULL, "Subscription: a topic must be a str, not None"),
        ([LONE], ARGUMENT, "Subscription: a topic has a lone surrogate, which UTF-8 cannot encode: '\\ud800'"),
    ],
)
def test_a_subscription_rejects_invalid_topics(topics: Any, error: type[Exception], message: str) -> None:
    assert (error, message) == error_of(lambda: Subscription(topics))


@pytest.mark.parametrize(
    ("field", "value", "error", "message"),
    [
        ("owned_partitions", 7, TYPE, "owned_partitions must be an iterable of (topic, partition), not int: 7"),
        ("owned_partitions", "ab", TYPE, "owned_partitions must be an iterable of (topic, partition), not str: 'ab'"),
        ("owned_partitions", None, NULL, "owned_partitions must be an iterable of (topic, partition), not None"),
        ("owned_partitions", [7], TYPE, "owned_partitions: a partition must be a (topic, partition) tuple, not int: 7"),
        (
            "owned_partitions",
            ["ab"],
            TYPE,
            "owned_partitions: a partition must be a (topic, partition) tuple, not str: 'ab'",
        ),
        ("owned_partitions", [(1, 2)], TYPE, "owned_partitions: a topic must be a str, not int: 1"),
        ("owned_partitions", [("t", "x")], TYPE, "owned_partitions: a partition id must be an int, not str: 'x'"),
        ("owned_partitions", [("t", True)], TYPE, "owned_partitions: a partition id must be an int, not bool: True"),
        ("owned_partitions", [("t", -1)], ARGUMENT, "owned_partitions: a partition id cannot be negative: -1"),
        ("generation", "q", TYPE, "generation must be an int, not str: 'q'"),
        ("generation", True, TYPE, "generation must be an int, not bool: True"),
        ("user_data", "s", TYPE, "user_data must be bytes, not str: 's'"),
        ("dialect", 7, TYPE, "dialect must be a str, not int: 7"),
    ],
)
def test_a_subscription_rejects_values_of_the_wrong_type(
    field: str, value: Any, error: type[Exception], message: str
) -> None:
    given: dict[str, Any] = {field: value}

    assert (error, f"Subscription: {message}") == error_of(lambda: Subscription(("t",), **given))


@pytest.mark.parametrize("error", [KeyError("mine"), TypeError("mine"), ValueError("mine")])
def test_errors_raised_by_an_iterator_propagate(error: Exception) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as by_topics:
        Subscription(Interfering([], fail))
    with pytest.raises(type(error)) as by_owned:
        Subscription(owned_partitions=Interfering([], fail))

    assert error is by_topics.value
    assert error is by_owned.value
