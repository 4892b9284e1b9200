"""Encoding of ConsumerProtocol messages, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from assignor import Subscription, TopicPartition, errors
from assignor.wire import (
    DecodedAssignment,
    DecodedSubscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from tests.support.invalid_input import ARGUMENT, LONE, NULL, TYPE, error_of

if TYPE_CHECKING:
    from assignor.names import Engine

FULL = Subscription(
    ("foo", "bar"),
    owned_partitions=(TopicPartition("foo", 1), TopicPartition("bar", 0), TopicPartition("foo", 0)),
    generation=5,
    rack="r1",
)


LONGEST = "é" * 16_383 + "x"
TOO_LONG = LONGEST + "x"
MANY = "'" + "é" * 20 + "…' has 32768 bytes of UTF-8; the limit is 32767"


@pytest.mark.parametrize(
    ("subscription", "version", "message", "field"),
    [
        (FULL, -1, "version -1 is negative", "version"),
        (Subscription((TOO_LONG, "a")), 0, MANY, "topics[1]"),
        (
            Subscription(owned_partitions=(TopicPartition(TOO_LONG, 0), TopicPartition("t", 0))),
            1,
            MANY,
            "owned_partitions[1].topic",
        ),
        (Subscription(rack=TOO_LONG), 3, MANY, "rack"),
    ],
    ids=["version", "topic", "owned partition", "rack"],
)
def test_an_invalid_subscription_is_rejected_with_a_reason(
    subscription: Subscription, version: int, message: str, field: str, engine: Engine
) -> None:
    with pytest.raises(errors.WireError) as caught:
        encode_subscription(subscription, version, engine=engine)
    assert (message, None, field) == (caught.value.reason, caught.value.offset, caught.value.field)
    assert f"{message} while writing {field}" == str(caught.value)
    if version > 0:  # an older version leaves the field out
        assert encode_subscription(subscription, version - 1, engine=engine)


def test_an_invalid_assignment_is_rejected_with_a_reason(engine: Engine) -> None:
    with pytest.raises(errors.WireError, match=r"32768 bytes .* while writing partitions\[1\]\.topic"):
        encode_assignment([("t", 0), (TOO_LONG, 0)], engine=engine)
    with pytest.raises(errors.WireError, match="version -32768 is negative while writing version"):
        encode_assignment([], -(2**15), engine=engine)


WANTED = "must be an iterable of (topic, partition), not"
TUPLE = "must be a (topic, partition) tuple, not"
PARTITIONS = [
    (7, TYPE, f"{{}} {WANTED} int: 7"),
    ("ab", TYPE, f"{{}} {WANTED} str: 'ab'"),
    (b"ab", TYPE, f"{{}} {WANTED} bytes: b'ab'"),
    (None, NULL, f"{{}} {WANTED} None"),
    ([7], TYPE, f"a partition {TUPLE} int: 7"),
    ([["t", 0]], TYPE, f"a partition {TUPLE} list: ['t', 0]"),
    ([("t",)], TYPE, f"a partition {TUPLE} tuple: ('t',)"),
    ([None], NULL, f"a partition {TUPLE} None"),
    ([("t", 0), (b"t", 0)], TYPE, "a topic must be a str, not bytes: b't'"),
    ([(None, 0)], NULL, "a topic must be a str, not None"),
    ([(LONE, 0)], ARGUMENT, "a topic has a lone surrogate, which UTF-8 cannot encode: '\\ud800'"),
    ([("t", 0), ("t", True)], TYPE, "a partition id must be an int, not bool: True"),
    ([("t", 1.0)], TYPE, "a partition id must be an int, not float: 1.0"),
    ([("t", None)], NULL, "a partition id must be an int, not None"),
    ([("t", 2**31)], ARGUMENT, "a partition id cannot be over 2147483647: 2147483648"),
    ([("t", -(2**31) - 1)], ARGUMENT, "a partition id cannot be under -2147483648: -2147483649"),
    ([("t", np.int64(2**40))], ARGUMENT, "a partition id cannot be over 2147483647: np.int64(1099511627776)"),
]


@pytest.mark.parametrize(("partitions", "error", "message"), PARTITIONS, ids=lambda value: repr(value)[:30])
def test_invalid_partitions_are_rejected(partitions: Any, error: type[Exception], message: str, engine: Engine) -> None:
    owned = DecodedSubscription(3, (), owned_partitions=partitions)

    assert (error, "assignment: " + message.format("partitions")) == error_of(
        lambda: encode_assignment(partitions, engine=engine)
    )
    assert (error, "subscription: " + message.format("owned_partitions")) == error_of(
        lambda: encode_subscription(owned, engine=engine)
    )


def test_any_int32_is_a_valid_id_and_any_iterable_is_accepted(engine: Engine) -> None:
    ids: list[Any] = [-(2**31), -1, np.int16(7), 2**31 - 1]

    data = encode_assignment((("t", id) for id in ids), user_data=bytearray(b"u"), engine=engine)

    read = decode_assignment(data, engine=engine)
    assert ([("t", id) for id in ids], b"u") == (list(read.partitions), read.user_data)


Raw: Any = DecodedSubscription  # untyped, because the tests pass values of wrong types
SUBSCRIPTIONS = [
    (["t"], TYPE, "subscription must be a Subscription or DecodedSubscription, not list: ['t']"),
    (None, NULL, "subscription must be a Subscription or DecodedSubscription, not None"),
    (Raw(3, "t"), TYPE, "subscription: topics must be an iterable of topic names, not str: 't'"),
    (Raw(3, 7), TYPE, "subscription: topics must be an iterable of topic names, not int: 7"),
    (Raw(3, ["t", 7]), TYPE, "subscription: a topic must be a str, not int: 7"),
    (Raw(3, [LONE]), ARGUMENT, "subscription: a topic has a lone surrogate, which UTF-8 cannot encode: '\\ud800'"),
    (Raw(3, (), "u"), TYPE, "subscription: user_data must be bytes, not str: 'u'"),
    (Raw(3, (), rack=7), TYPE, "subscription: rack must be a str, not int: 7"),
    (Raw(3, (), rack=LONE), ARGUMENT, "subscription: rack has a lone surrogate, which UTF-8 cannot encode: '\\ud800'"),
    (Raw(3, (), generation="5"), TYPE, "subscription: generation must be an int, not str: '5'"),
    (Subscription(generation=2**31), ARGUMENT, "subscription: generation cannot be over 2147483647: 2147483648"),
]


@pytest.mark.parametrize(("subscription", "error", "message"), SUBSCRIPTIONS, ids=lambda value: repr(value)[:40])
def test_values_of_a_subscription_with_the_wrong_type_are_rejected(
    subscription: Any, error: type[Exception], message: str, engine: Engine
) -> None:
    assert (error, message) == error_of(lambda: encode_subscription(subscription, engine=engine))


@pytest.mark.parametrize(
    ("version", "error", "message"),
    [
        ("3", TYPE, "version must be an int, not str: '3'"),
        (True, TYPE, "version must be an int, not bool: True"),
        (None, NULL, "version must be an int, not None"),
        (2**15, ARGUMENT, "version cannot be over 32767: 32768"),
        (-(2**15) - 1, ARGUMENT, "version cannot be under -32768: -32769"),
    ],
)
def test_a_version_that_is_not_an_int16_is_rejected(
    version: Any, error: type[Exception], message: str, engine: Engine
) -> None:
    assert (error, message) == error_of(lambda: encode_subscription(FULL, version, engine=engine))
    assert (error, message) == error_of(lambda: encode_assignment([], version, engine=engine))


def test_user_data_of_an_assignment_cannot_be_given_twice(engine: Engine) -> None:
    read = DecodedAssignment(3, (TopicPartition("t", 0),), b"u")

    with pytest.raises(ARGUMENT, match="user_data: must be None for a DecodedAssignment"):
        encode_assignment(read, user_data=b"u", engine=engine)
    with pytest.raises(TYPE, match="assignment: user_data must be bytes, not str: 'u'"):
        encode_assignment([], user_data="u", engine=engine)  # type: ignore[arg-type]  # deliberately wrong type
    assert read == decode_assignment(encode_assignment(read, engine=engine), engine=engine)


def test_an_unknown_engine_is_rejected() -> None:
    with pytest.raises(ARGUMENT, match="not 'java'"):
        encode_subscription(FULL, engine="java")  # type: ignore[arg-type]  # deliberately wrong type
    with pytest.raises(ARGUMENT, match="not 'java'"):
        encode_assignment([], engine="java")  # type: ignore[arg-type]  # deliberately wrong type


def test_an_error_of_the_partitions_iterator_propagates(engine: Engine) -> None:
    def failing() -> Iterator[tuple[str, int]]:
        yield "t", 0
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        encode_assignment(failing(), engine=engine)
