"""ConsumerProtocol bytes, against what Kafka's own classes answered and engine against engine."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wire_vectors
from assignor import errors
from assignor.model import TopicPartition
from assignor.wire import AssignmentBytes, SubscriptionBytes, decode_assignment, decode_subscription
from mutation import mutated
from wire_vectors import OWN_FOLDER

if TYPE_CHECKING:
    from assignor._engine import Engine

NULL = b"\xff\xff\xff\xff"
MESSAGES = [case.data for path in wire_vectors.files(OWN_FOLDER) for case in wire_vectors.read(path) if case.data]


def test_a_subscription_keeps_wire_order(engine: Engine) -> None:
    data = (
        b"\0\3" b"\0\0\0\2" b"\0\3foo" b"\0\3bar" b"\0\0\0\1u"
        b"\0\0\0\2" b"\0\1b\0\0\0\2\0\0\0\7\0\0\0\1" b"\0\1a\0\0\0\1\0\0\0\7" b"\0\0\0\5" b"\0\2r1"
    )  # fmt: skip
    assert decode_subscription(data, engine=engine) == SubscriptionBytes(
        version=3,
        topics=("foo", "bar"),
        user_data=b"u",
        owned_partitions=(TopicPartition("b", 7), TopicPartition("b", 1), TopicPartition("a", 7)),
        generation=5,
        rack="r1",
    )


def test_a_topic_may_come_twice_in_an_assignment(engine: Engine) -> None:
    entry = b"\0\1t\0\0\0\1\0\0\0"
    read = decode_assignment(b"\0\0\0\0\0\2" + entry + b"\1" + entry + b"\1" + NULL, engine=engine)
    assert read == AssignmentBytes(0, (TopicPartition("t", 1), TopicPartition("t", 1)))


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
    data = header.to_bytes(2, "big") + b"\0\0\0\1\0\1t" + NULL + rest
    with pytest.raises(errors.WireError):
        decode_subscription(data, engine=engine)
    read = decode_subscription(data, tolerant=True, engine=engine)
    assert (read.version, read.tolerated, read.topics) == (header, tolerated, ("t",))
    assert read.generation == (5 if tolerated == 2 else None)
    with pytest.raises(errors.WireError):
        decode_subscription(data[:-1], tolerant=True, engine=engine)


def test_a_whole_body_has_nothing_to_tolerate(engine: Engine) -> None:
    for data in MESSAGES:
        with contextlib.suppress(errors.WireError):
            strict = decode_subscription(data, engine=engine)
            assert strict == decode_subscription(data, tolerant=True, engine=engine)
            assert strict.tolerated is None


def test_errors_say_what_where_and_in_which_field(engine: Engine) -> None:
    with pytest.raises(errors.WireError) as caught:
        decode_subscription(b"\0\1\0\0\0\0" + NULL + b"\0\0\0\1\0\1t\0\0\0\2\0\0\0\1", engine=engine)
    assert (caught.value.field, caught.value.offset) == ("owned_partitions[0].partitions", 17)
    assert caught.value.reason == "2 elements of at least 4 bytes do not fit in the 4 that remain"
    with pytest.raises(errors.WireError, match="version -1 is negative at offset 0 while reading version"):
        decode_assignment(b"\xff\xff", engine=engine)
    with pytest.raises(errors.WireError, match=r"null is not allowed at offset 6 while reading topics\[0\]"):
        decode_subscription(b"\0\0\0\0\0\1\xff\xff", engine=engine)


@pytest.mark.parametrize("decoder", [decode_subscription, decode_assignment])
def test_what_is_no_bytes_is_refused(engine: Engine, decoder: Any) -> None:
    with pytest.raises(errors.WrongTypeError, match="data must be bytes, not str: 'text'"):
        decoder("text", engine=engine)
    with pytest.raises(errors.NullArgumentError, match="data must be bytes, not None"):
        decoder(None, engine=engine)


def test_any_buffer_of_bytes_will_do(engine: Engine) -> None:
    data = b"\0\0\0\0\0\0" + NULL
    whole = decode_subscription(data, engine=engine)
    assert decode_subscription(bytearray(data), engine=engine) == whole
    assert decode_subscription(memoryview(data), engine=engine) == whole


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(errors.IllegalArgumentError, match="not 'java'"):
        decode_subscription(b"", engine="java")  # type: ignore[arg-type]  # beyond the types, on purpose


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
def test_invalid_utf8_is_replaced_by_javas_rule(engine: Engine, data: bytes, text: str) -> None:
    message = b"\0\0\0\0\0\1" + len(data).to_bytes(2, "big") + data + NULL
    assert decode_subscription(message, engine=engine).topics == (text,)


def outcome(kind: str, data: bytes, tolerant: bool, engine: Engine) -> object:
    """The answer, or all parts of the error."""
    try:
        if kind == "assignment":
            return decode_assignment(data, engine=engine)
        return decode_subscription(data, tolerant=tolerant, engine=engine)
    except errors.WireError as error:
        return error.reason, error.offset, error.field


def assert_engines_agree(data: bytes) -> None:
    for kind, tolerant in [("subscription", False), ("subscription", True), ("assignment", False)]:
        assert outcome(kind, data, tolerant, "rust") == outcome(kind, data, tolerant, "reference"), (kind, data.hex())


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(st.binary(max_size=60), st.builds(mutated, st.randoms(use_true_random=False), st.sampled_from(MESSAGES)))
)
def test_engines_agree_on_any_bytes(data: bytes) -> None:
    assert_engines_agree(data)
