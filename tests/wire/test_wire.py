"""Decoding and encoding of ConsumerProtocol messages, in both engines."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import TopicPartition, errors
from assignor.ordering import java_order
from assignor.wire import (
    DecodedAssignment,
    DecodedSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from tests.conformance import wire_vectors
from tests.support.invalid_input import LONE
from tests.support.strategies import names
from tests.support.vector_files import OWN_FOLDER

if TYPE_CHECKING:
    from assignor.names import Engine

ABSENT = b"\xff\xff\xff\xff"
MESSAGES = [case.data for path in wire_vectors.files(OWN_FOLDER) for case in wire_vectors.read(path) if case.data]


@pytest.mark.parametrize(
    ("header", "rest", "tolerated"),
    [
        (1, b"", 0),
        (2, b"", 0),
        (3, b"", 0),
        (99, b"", 0),
        (2, b"\0\0\0\0", 1),
        (3, b"\0\0\0\0\0\0\0\5", 2),
    ],
)
def test_an_older_body_is_tolerated_on_request(engine: Engine, header: int, rest: bytes, tolerated: int) -> None:
    data = header.to_bytes(2, "big") + b"\0\0\0\1\0\1t" + ABSENT + rest
    with pytest.raises(errors.WireError):
        decode_subscription(data, engine=engine)
    read = decode_subscription(data, tolerant=True, engine=engine)
    assert (read.version, read.tolerated, read.topics) == (header, tolerated, ("t",))
    assert read.generation == (5 if tolerated == 2 else None)
    with pytest.raises(errors.WireError):
        decode_subscription(data[:-1], tolerant=True, engine=engine)


def test_a_complete_body_needs_no_tolerance(engine: Engine) -> None:
    for data in MESSAGES:
        with contextlib.suppress(errors.WireError):
            strict = decode_subscription(data, engine=engine)
            assert strict == decode_subscription(data, tolerant=True, engine=engine)
            assert strict.tolerated is None


def test_errors_have_the_reason_the_offset_and_the_field(engine: Engine) -> None:
    with pytest.raises(errors.WireError) as caught:
        decode_subscription(b"\0\1\0\0\0\0" + ABSENT + b"\0\0\0\1\0\1t\0\0\0\2\0\0\0\1", engine=engine)
    assert (caught.value.field, caught.value.offset) == ("owned_partitions[0].partitions", 17)
    assert caught.value.reason == "2 elements of at least 4 bytes do not fit in the 4 that remain"
    with pytest.raises(errors.WireError, match="version -1 is negative at offset 0 while reading version"):
        decode_assignment(b"\xff\xff", engine=engine)
    with pytest.raises(errors.WireError, match=r"null is not allowed at offset 6 while reading topics\[0\]"):
        decode_subscription(b"\0\0\0\0\0\1\xff\xff", engine=engine)


@pytest.mark.parametrize("decoder", [decode_subscription, decode_assignment])
def test_values_that_are_not_bytes_are_rejected(engine: Engine, decoder: Any) -> None:
    with pytest.raises(errors.WrongTypeError, match="data must be bytes, not str: 'text'"):
        decoder("text", engine=engine)
    with pytest.raises(errors.NullArgumentError, match="data must be bytes, not None"):
        decoder(None, engine=engine)


def test_any_buffer_of_bytes_is_accepted(engine: Engine) -> None:
    data = b"\0\0\0\0\0\0" + ABSENT
    whole = decode_subscription(data, engine=engine)
    assert decode_subscription(bytearray(data), engine=engine) == whole
    assert decode_subscription(memoryview(data), engine=engine) == whole


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xed\xa0\x80\xed\xb0\x80", "\ufffd\ufffd"),
        (b"\xed\xa0\x80", "\ufffd"),
        (b"\xed\xa0z", "\ufffdz"),
        (b"\xed\x80", "\ufffd"),
        (b"\xf0\x9f\x98", "\ufffd"),
        (b"\xf0\x80\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),
        (b"\xf5\x80", "\ufffd\ufffd"),
        (b"a\xffb\xc3\xa9", "a\ufffdb\xe9"),
        ("😀".encode(), "😀"),
    ],
)
def test_invalid_utf8_is_replaced_as_in_java(engine: Engine, data: bytes, text: str) -> None:
    message = b"\0\0\0\0\0\1" + len(data).to_bytes(2, "big") + data + ABSENT
    assert decode_subscription(message, engine=engine).topics == (text,)


# ---- round trips

INT32 = st.one_of(st.integers(0, 9), st.integers(-(2**31), 2**31 - 1))
PAIRS = st.lists(st.builds(TopicPartition, names(), INT32), max_size=8).map(tuple)
DATA = st.none() | st.binary(max_size=4)
DRAWN = st.builds(
    DecodedSubscription,
    version=st.just(3),
    topics=st.lists(names(), max_size=5).map(tuple),
    user_data=DATA,
    owned_partitions=PAIRS,
    generation=st.none() | INT32,
    rack=st.none() | names(),
)
VERSIONS = st.one_of(st.integers(0, 3), st.integers(4, 2**15 - 1))


@given(DRAWN, VERSIONS)
def test_a_subscription_round_trips_sorted(engine: Engine, given: DecodedSubscription, version: int) -> None:
    data = encode_subscription(given, version, engine=engine)
    read = decode_subscription(data, engine=engine)

    assert read == DecodedSubscription(
        version=min(version, 3),
        topics=tuple(sorted(given.topics, key=java_order)),
        user_data=given.user_data,
        owned_partitions=tuple(sorted(given.owned_partitions, key=lambda owned: (java_order(owned[0]), owned[1])))
        if version >= 1
        else (),
        generation=given.generation if version >= 2 and (given.generation or 0) >= 0 else None,
        rack=given.rack or None if version >= 3 else None,
    )
    if given.rack != "":  # is encoded, and decoded as None
        assert data == encode_subscription(read, version, engine=engine)


@given(PAIRS, DATA, VERSIONS)
def test_an_assignment_round_trips_grouped_by_topic(
    engine: Engine, partitions: tuple[TopicPartition, ...], user_data: bytes | None, version: int
) -> None:
    data = encode_assignment(partitions, version, user_data=user_data, engine=engine)
    read = decode_assignment(data, engine=engine)

    order = list(dict.fromkeys(topic for topic, _ in partitions))
    grouped = tuple(sorted(partitions, key=lambda partition: order.index(partition.topic)))
    assert DecodedAssignment(min(version, 3), grouped, user_data) == read
    assert data == encode_assignment(read, version, engine=engine)


def written(encode: Callable[[], bytes]) -> object:
    """Return the bytes, or the class and all fields of the error."""
    try:
        return encode()
    except errors.AssignorError as error:
        return type(error), error.args, str(error)


TOO_LONG = "é" * 16_384
WRONG_PAIRS = st.sampled_from(
    [7, None, ["t", 0], ("t",), (b"t", 0), (None, 0), (LONE, 0), ("t", True), ("t", 2**31), ("t", None), (TOO_LONG, 0)]
)


@given(
    DRAWN,
    st.lists(WRONG_PAIRS, max_size=2),
    st.lists(st.sampled_from([7, None, LONE, TOO_LONG]), max_size=1),
    st.integers(-2, 5),
)
def test_engines_agree_on_encoded_messages(
    drawn: DecodedSubscription, wrong_pairs: list[Any], wrong_names: list[Any], version: int
) -> None:
    pairs: Any = [*drawn.owned_partitions, *wrong_pairs]
    names: Any = [*wrong_names, *drawn.topics]
    given = dataclasses.replace(drawn, topics=names, owned_partitions=pairs)

    assert written(lambda: encode_subscription(given, version, engine="rust")) == written(
        lambda: encode_subscription(given, version, engine="reference")
    )
    assert written(lambda: encode_assignment(pairs, version, engine="rust")) == written(
        lambda: encode_assignment(pairs, version, engine="reference")
    )
