"""Any bytes are a value or a `WireError`, soon and in little memory, and both engines agree on which.

Likewise any record that is to be written is bytes or an error of ours. Every input is taken in Rust, in a process that
may ask for 64 MiB more than it has at its start. The short profile has 250 inputs for every decoder and every type that
is written, 11,750 in all, and both engines take them; the long one has 1,000,000 for each, and the reference, which is
slow, takes each tenth of them.
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

bounded = pytest.mark.skipif(sys.platform != "linux", reason="address space is limited and told in Linux's way")


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One worker for all tests here."""
    with fuzz.worker() as found:
        yield found


def test_every_type_and_version_of_records_is_fuzzed() -> None:
    for number, record_type in TYPES.items():
        if layout := record_type.layout:
            samples = decoders()[f"record {number} {record_type.name}"].samples
            versions = {int.from_bytes(value[:2], "big") for _, value in samples if value}

            assert set(range(layout.newest + 1)) == versions, number
            assert {number} == {int.from_bytes(key[:2], "big") for key, _ in samples}


@bounded
@pytest.mark.timeout(3600 if LONG else 120)
@pytest.mark.parametrize("name", decoders())
def test_any_bytes_are_a_value_or_an_error_in_both_engines(name: str, worker: Worker) -> None:
    report = worker.ask(do="fuzz", decoder=name, inputs=INPUTS, share=SHARE, seed=f"{name} {INPUTS}")

    assert [] == report["apart"]
    assert (INPUTS, -(-INPUTS // SHARE)) == (report["inputs"], report["compared"])
    assert 0.1 < report["refused"] / INPUTS < 0.95  # some are read, and some are not


@bounded
@pytest.mark.timeout(3600 if LONG else 120)
@pytest.mark.parametrize("name", encoders())
def test_any_record_is_written_or_refused_by_both_engines(name: str, worker: Worker) -> None:
    report = worker.ask(do="write", encoder=name, inputs=INPUTS, share=SHARE, seed=f"{name} {INPUTS}")

    assert [] == report["apart"]
    assert (INPUTS, -(-INPUTS // SHARE)) == (report["inputs"], report["compared"])
    assert 0.1 < report["refused"] / INPUTS < 0.95  # some are written, and some are not


@bounded
@pytest.mark.parametrize("name", decoders())
def test_a_short_input_cannot_ask_for_much_memory(name: str, worker: Worker) -> None:
    report = worker.ask(do="hostile", decoder=name, step=STEP, share=10)

    assert [] == report["apart"]
    assert report["refused"] > 0


@bounded
def test_the_limit_of_memory_bites() -> None:
    with fuzz.worker() as worker:
        assert 2**20 == worker.ask(do="allocate", bytes=2**20)["inputs"]
        with pytest.raises(RuntimeError, match=r"the worker ended with 1: (?s:.*)MemoryError"):
            worker.ask(do="allocate", bytes=2 * fuzz.SPARE)


@pytest.mark.parametrize("wrong", ["value", "offset", "field", "reason"])
@pytest.mark.parametrize("name", decoders())
def test_a_twin_that_is_wrong_is_noticed(name: str, wrong: str) -> None:
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
def test_a_twin_that_writes_something_else_is_noticed(name: str, wrong: str) -> None:
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
