"""Fuzzing of all decoders and encoders.

Any bytes decode to a value or raise `WireError`, quickly and with little memory, and both engines agree. Any record
encodes to bytes or raises an error of the package. The Rust engine runs in a process that may allocate 64 MiB more than
at its start. The short profile has 250 inputs for each decoder and each encoded type (11,750 in all), for both engines.
The long profile has 1,000,000 inputs for each; the slow reference gets every tenth of them.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from assignor.errors import WireError
from assignor.offsets import Record
from assignor.reference.offsets.schema import TYPES
from tests.support import fuzz
from tests.support.engines import Engine
from tests.support.fuzz import Decoder, Encoder, Worker, decoders, encoders

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"
INPUTS, SHARE, STEP = (1_000_000, 10, 1) if LONG else (250, 1, 7)

bounded = pytest.mark.skipif(sys.platform != "linux", reason="the limit of the address space is Linux-specific")


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """Start a worker process for the tests of this module."""
    with fuzz.worker() as found:
        yield found


def test_all_types_and_versions_of_records_are_fuzzed() -> None:
    for number, record_type in TYPES.items():
        if layout := record_type.layout:
            samples = decoders()[f"record {number} {record_type.name}"].samples
            versions = {int.from_bytes(value[:2], "big") for _, value in samples if value}

            assert set(range(layout.newest + 1)) == versions, number
            assert {number} == {int.from_bytes(key[:2], "big") for key, _ in samples}


@bounded
@pytest.mark.timeout(3600 if LONG else 120)
@pytest.mark.parametrize("name", decoders())
def test_any_bytes_decode_or_raise_the_same_error_in_both_engines(name: str, worker: Worker) -> None:
    report = worker.ask(do="fuzz", decoder=name, inputs=INPUTS, share=SHARE, seed=f"{name} {INPUTS}")

    assert [] == report["apart"]
    assert (INPUTS, -(-INPUTS // SHARE)) == (report["inputs"], report["compared"])
    assert 0.1 < report["rejected"] / INPUTS < 0.95  # some can be decoded, and some cannot


@bounded
@pytest.mark.timeout(3600 if LONG else 120)
@pytest.mark.parametrize("name", encoders())
def test_any_record_encodes_or_raises_the_same_error_in_both_engines(name: str, worker: Worker) -> None:
    report = worker.ask(do="write", encoder=name, inputs=INPUTS, share=SHARE, seed=f"{name} {INPUTS}")

    assert [] == report["apart"]
    assert (INPUTS, -(-INPUTS // SHARE)) == (report["inputs"], report["compared"])
    assert 0.1 < report["rejected"] / INPUTS < 0.95  # some can be encoded, and some cannot


@bounded
@pytest.mark.parametrize("name", decoders())
def test_a_short_input_cannot_allocate_much_memory(name: str, worker: Worker) -> None:
    report = worker.ask(do="hostile", decoder=name, step=STEP, share=10)

    assert [] == report["apart"]
    assert report["rejected"] > 0


@bounded
def test_the_memory_limit_is_enforced() -> None:
    with fuzz.worker() as worker:
        assert 2**20 == worker.ask(do="allocate", bytes=2**20)["inputs"]
        with pytest.raises(RuntimeError, match=r"the worker ended with 1: (?s:.*)MemoryError"):
            worker.ask(do="allocate", bytes=2 * fuzz.SPARE)


@pytest.mark.parametrize("wrong", ["value", "offset", "field", "reason"])
@pytest.mark.parametrize("name", decoders())
def test_a_wrong_decoder_is_detected(name: str, wrong: str) -> None:
    decoder = decoders()[name]

    field = "key" if name.startswith("record") else "user_data"

    def read(first: bytes, second: bytes | None, engine: Engine) -> object:
        try:
            value: Any = decoder.read(first, second, engine)
        except WireError as error:
            parts: dict[str, Any] = {"reason": error.reason, "offset": error.offset, "field": error.field}
            if wrong in parts:
                parts[wrong] *= 2
            raise WireError(**parts) from None
        return dataclasses.replace(value, **{field: "wrong"}) if wrong == "value" else value

    messages = list(itertools.islice(fuzz.inputs(random.Random(7), decoder.samples), 100))

    assert [] == fuzz.run(decoder, messages, 1).apart
    assert [] != fuzz.run(decoder, messages, 1, Decoder(read, decoder.samples)).apart


@pytest.mark.parametrize("wrong", ["value", "field", "reason"])
@pytest.mark.parametrize("name", encoders())
def test_a_wrong_encoder_is_detected(name: str, wrong: str) -> None:
    encoder = encoders()[name]

    def write(record: Record, engine: Engine) -> object:
        try:
            written = encoder.read(record, engine)
        except WireError as error:
            parts: dict[str, Any] = {"reason": error.reason, "offset": None, "field": error.field}
            if wrong in parts:
                parts[wrong] *= 2
            raise WireError(**parts) from None
        return (b"wrong", None) if wrong == "value" else written

    given = list(itertools.islice(fuzz.records(random.Random(7), encoder.samples), 100))

    assert [] == fuzz.run(encoder, given, 1).apart
    assert [] != fuzz.run(encoder, given, 1, Encoder(write, encoder.samples)).apart
