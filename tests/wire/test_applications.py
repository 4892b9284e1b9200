"""Decoding of the messages of Kafka Streams and Kafka Connect, in both engines, against Kafka's own classes."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, Any

import pytest

from assignor import errors
from assignor.wire import (
    StreamsTask,
    decode_connect_assignment,
    decode_connect_subscription,
    decode_streams_assignment,
    decode_streams_subscription,
)
from tests.support.kafka_program import OracleMissingError
from tests.support.mutation import mutated
from tests.wire.applications import KINDS, ApplicationOracle, drawn, read_frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.names import Engine

PROCESS = bytes(range(16))


@pytest.fixture(scope="module")
def oracle() -> Iterator[ApplicationOracle]:
    try:
        started = ApplicationOracle()
    except OracleMissingError as error:
        pytest.skip(str(error))
    with started:
        yield started


def test_messages_of_each_version_have_the_fields_that_kafka_decodes(engine: Engine) -> None:
    seen = set()
    for name, data, fields in read_frozen():
        kind = KINDS[name]
        assert kind.fields(kind.decode(data, engine=engine)) == fields
        assert kind.decode(data + b"rest" if name.startswith("streams") else data, engine=engine)
        seen.add((name, fields["version"]))
    assert seen == {(name, version) for name, kind in KINDS.items() for version in kind.versions}


@pytest.mark.broker
def test_random_messages_have_the_fields_that_kafka_decodes(oracle: ApplicationOracle) -> None:
    for name, fields in drawn(random.Random(), 20):
        kind = KINDS[name]
        data = oracle.encode(name, fields)
        assert kind.fields(kind.decode(data)) == oracle.decode(name, data), (name, data.hex())


@pytest.mark.broker
def test_bytes_that_are_read_are_those_that_kafka_reads(oracle: ApplicationOracle) -> None:
    rng = random.Random()
    read = 0
    for name, data, _ in read_frozen():
        changed = mutated(rng, data)
        read += compare(oracle, name, changed)
    assert read >= 10


def compare(oracle: ApplicationOracle, name: str, data: bytes) -> bool:
    """Compare what both engines and Kafka make of bytes; return true if they can be read."""
    kind, expected = KINDS[name], oracle.decode(name, data)
    if expected is not None and (expected.get("future") or has_null_topic(expected)):
        expected = None
    for engine in ("rust", "reference"):
        try:
            found = kind.fields(kind.decode(data, engine=engine))
        except errors.WireError:
            found = None
        assert found == expected, (name, engine, data.hex())
    return expected is not None


def has_null_topic(fields: dict[str, Any]) -> bool:
    """Return true if a partition has a number that stands for no topic."""
    hosts = [*fields.get("hosts", ()), *fields.get("standby_hosts", ())]
    return any(topic is None for _, partitions in hosts for topic, _ in partitions)


@pytest.mark.parametrize("decode", [decode_streams_subscription, decode_streams_assignment])
@pytest.mark.parametrize("version", [0, 12, 99, -1, 2**31 - 1])
def test_an_unknown_version_of_user_data_has_a_reason(engine: Engine, decode: Any, version: int) -> None:
    with pytest.raises(errors.WireError) as caught:
        decode(struct.pack(">i", version) + bytes(100), engine=engine)
    assert (caught.value.field, caught.value.offset) == ("version", 0)
    assert caught.value.reason == f"user data version {version} is not known"


def test_tasks_have_the_names_that_kafka_prints() -> None:
    assert str(StreamsTask(1, 4)) == "1_4"
    assert str(StreamsTask(1, 4, "payments")) == "payments__1_4"


def test_a_newer_version_of_connect_is_read_as_2(engine: Engine) -> None:
    data = b"\0\7\0\1u" + struct.pack(">q", 5)
    found = decode_connect_subscription(data, engine=engine)
    assert (found.version, found.url, found.config_offset, found.owned) == (7, "u", 5, None)
    with pytest.raises(errors.WireError, match="version -1 is negative at offset 0 while reading version"):
        decode_connect_subscription(b"\xff\xff", engine=engine)


def test_the_last_fields_of_an_incremental_assignment_may_be_missing(engine: Engine) -> None:
    head = b"\0\0\0\1w\0\1u" + bytes(8)
    assert decode_connect_assignment(b"\0\1" + head, engine=engine).tasks == ()
    with pytest.raises(errors.WireError, match="while reading assigned"):
        decode_connect_assignment(b"\0\0" + head, engine=engine)
    null = b"\xff\xff\xff\xff"
    assert decode_connect_assignment(b"\0\2" + head + null + null, engine=engine).delay_ms == 0


def test_an_error_in_an_owned_assignment_has_its_place_in_the_message(engine: Engine) -> None:
    data = b"\0\2\0\1u" + bytes(8) + b"\0\0\0\3\0\2\0"
    with pytest.raises(errors.WireError) as caught:
        decode_connect_subscription(data, engine=engine)
    assert (caught.value.field, caught.value.offset) == ("owned.error", 19)


@pytest.mark.parametrize("decode", [kind.decode for kind in KINDS.values()])
def test_values_that_are_not_bytes_are_rejected(engine: Engine, decode: Any) -> None:
    with pytest.raises(errors.WrongTypeError, match="data must be bytes, not str: 'text'"):
        decode("text", engine=engine)
    with pytest.raises(errors.NullArgumentError, match="data must be bytes, not None"):
        decode(None, engine=engine)


def test_both_engines_reject_bytes_with_the_same_error() -> None:
    rng = random.Random(7)
    for name, data, _ in read_frozen():
        changed, found = mutated(rng, data), []
        for engine in ("rust", "reference"):
            try:
                found.append(KINDS[name].decode(changed, engine=engine))
            except errors.WireError as error:
                found.append((error.reason, error.offset, error.field))
        assert found[0] == found[1], (name, changed.hex())


@pytest.mark.broker
@pytest.mark.long
def test_many_changed_bytes_are_read_as_kafka_reads_them(oracle: ApplicationOracle) -> None:
    rng = random.Random()
    frozen = list(read_frozen())
    is_readable = [compare(oracle, name, mutated(rng, data)) for _ in range(20) for name, data, _ in frozen]
    assert {True, False} == set(is_readable)
