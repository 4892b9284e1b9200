"""Fuzzing of all decoders and encoders, and of the other readers of bytes from outside.

Any bytes decode to a value or raise `WireError`, quickly and with little memory. Any record encodes to bytes or raises
an error of the package. The calls run in a process that may allocate 64 MiB more than at its start (512 MiB for
patterns, snapshots, JSON and Arrow), and a call that takes more than 2 s of processor time ends the process. The short
profile has 250 inputs for each decoder and each encoded type. The long profile has 1,000,000 inputs for each, judges
the outcome of every tenth of them, and prints the counts, the time of the slowest call and the growth of the process.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assignor.errors import WireError
from assignor.offsets import Record, decode_record, encode_record
from tests.support import fuzz, fuzz_seeds
from tests.support.fuzz import Worker, decoders, encoders, readers
from tests.support.record_layouts import LAYOUTS

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"
INPUTS, SHARE, STEP = (1_000_000, 10, 1) if LONG else (250, 1, 7)

bounded = pytest.mark.skipif(sys.platform != "linux", reason="the limit of the address space is Linux-specific")


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """Start a worker process for the tests of this module."""
    with fuzz.worker() as found:
        yield found


@pytest.fixture
def fuzzed(worker: Worker, record_property: Callable[[str, object], None]) -> Callable[[str], dict[str, Any]]:
    """Return a function that fuzzes a decoder or reader; the summary of a long run has the counts of its report."""

    def report_on(name: str) -> dict[str, Any]:
        report = worker.ask(do="fuzz", decoder=name, inputs=INPUTS, share=SHARE, seed=f"{name} {INPUTS}")
        if LONG:
            for count in ("inputs", "rejected", "judged"):
                record_property(count, f"{report[count]:,}")
            record_property("slowest call", f"{report['slowest']:.1f} ms of {fuzz.SECONDS * 1_000:,.0f}")
            record_property("growth of the process", f"{report['grown']:.1f} MiB")
        return report

    return report_on


def test_all_types_and_versions_of_records_are_fuzzed() -> None:
    for number, layout in LAYOUTS.items():
        samples = decoders()[f"record {number} {layout.name}"].samples
        versions = {int.from_bytes(value[:2], "big") for _, value in samples if value}

        assert set(range(layout.newest + 1)) == versions, number
        assert {number} == {int.from_bytes(key[:2], "big") for key, _ in samples}


@bounded
@pytest.mark.timeout(3600 if LONG else 120)
@pytest.mark.parametrize("name", decoders())
def test_any_bytes_decode_or_raise_an_error(name: str, fuzzed: Callable[[str], dict[str, Any]]) -> None:
    report = fuzzed(name)

    assert [] == report["wrong"]
    assert (INPUTS, -(-INPUTS // SHARE)) == (report["inputs"], report["judged"])
    assert 0.1 < report["rejected"] / INPUTS < 0.95  # some can be decoded, and some cannot


@bounded
@pytest.mark.timeout(7200 if LONG else 120)
@pytest.mark.parametrize("name", readers())
def test_any_bytes_are_read_or_raise_an_error(name: str, fuzzed: Callable[[str], dict[str, Any]]) -> None:
    report = fuzzed(name)

    assert INPUTS == report["inputs"]
    assert 0.1 < report["rejected"] / INPUTS  # most changes of JSON are errors


@pytest.mark.parametrize("name", readers())
def test_a_reader_accepts_its_seeds(name: str) -> None:
    reader = readers()[name]

    assert reader.samples
    assert [] == [seed for seed in reader.samples if reader.call(*seed) is not True]


@pytest.mark.parametrize("target", fuzz_seeds.made())
def test_seeds_are_those_that_the_program_makes(target: str) -> None:
    """If this fails, run `python -m tests.support.fuzz_seeds`."""
    made = {fuzz_seeds.name_of(data): data for data in fuzz_seeds.made()[target]}
    found = {path.name: path.read_bytes() for path in (fuzz_seeds.FOLDER / target).iterdir()}

    assert made == found
    assert max(map(len, made.values())) <= fuzz_seeds.LARGEST


@bounded
@pytest.mark.timeout(3600 if LONG else 120)
@pytest.mark.parametrize("name", encoders())
def test_any_record_encodes_or_raises_an_error(name: str, worker: Worker) -> None:
    report = worker.ask(do="write", encoder=name, inputs=INPUTS, share=SHARE, seed=f"{name} {INPUTS}")

    assert [] == report["wrong"]
    assert (INPUTS, -(-INPUTS // SHARE)) == (report["inputs"], report["judged"])
    assert 0.1 < report["rejected"] / INPUTS < 0.95  # some can be encoded, and some cannot


@bounded
@pytest.mark.parametrize("name", decoders())
def test_a_short_input_cannot_allocate_much_memory(name: str, worker: Worker) -> None:
    report = worker.ask(do="hostile", decoder=name, step=STEP, share=10)

    assert [] == report["wrong"]
    assert report["rejected"] > 0


@bounded
def test_the_memory_limit_is_enforced() -> None:
    with fuzz.worker() as worker:
        assert 2**20 == worker.ask(do="allocate", bytes=2**20)["inputs"]
        with pytest.raises(RuntimeError, match=r"the worker ended with 1: (?s:.*)MemoryError"):
            worker.ask(do="allocate", bytes=2 * fuzz.SPARE)


@bounded
def test_the_time_limit_is_enforced() -> None:
    ended = f"the worker ended with -{signal.SIGPROF:d}: .*was {b'input'.hex()}"
    with fuzz.worker() as worker, pytest.raises(RuntimeError, match=ended):
        worker.ask(do="wait")


@pytest.mark.parametrize("wrong", ["value", "offset", "field", "reason"])
@pytest.mark.parametrize("name", ["subscription", "subscription, tolerant", "assignment"])
def test_a_wrong_decoder_is_detected(name: str, wrong: str) -> None:
    decoder = decoders()[name]

    def read(first: bytes, second: bytes | None) -> object:
        try:
            value: Any = decoder.call(first, second)
        except WireError as error:
            parts: dict[str, Any] = {"reason": error.reason, "offset": error.offset, "field": error.field}
            if wrong in parts:
                parts[wrong] *= 2
            raise WireError(**parts) from None
        return dataclasses.replace(value, user_data="wrong") if wrong == "value" else value

    messages = list(itertools.islice(fuzz.inputs(random.Random(7), decoder.samples), 100))

    assert [] == fuzz.run(decoder, messages, 1).wrong
    assert [] != fuzz.run(decoder._replace(call=read), messages, 1).wrong


@pytest.mark.parametrize("name", encoders())
def test_a_wrong_decoder_or_encoder_of_records_is_detected(name: str) -> None:
    decoder, encoder = decoders()[name], encoders()[name]
    messages = list(itertools.islice(fuzz.inputs(random.Random(7), decoder.samples), 100))
    given = list(itertools.islice(fuzz.records(random.Random(7), encoder.samples), 100))

    def read(key: bytes, value: bytes | None) -> object:
        return dataclasses.replace(decode_record(key, value), version=99)

    def misplaced(key: bytes, value: bytes | None) -> object:
        try:
            return decode_record(key, value)
        except WireError as error:
            raise WireError(error.reason, 10_000, error.field) from None

    def written(record: Record) -> object:
        key, _ = encode_record(record)
        return key, encode_record(encoder.samples[0])[1]

    for call in (decode_record, read, misplaced):
        assert (call is decode_record) == (fuzz.run(decoder._replace(call=call), messages, 1).wrong == [])
    assert [] == fuzz.run(encoder, given, 1).wrong
    right = [message for message in given if not isinstance(fuzz.outcome(encode_record, message), fuzz.Rejected)]
    assert [] != fuzz.run(encoder._replace(call=written), right, 1).wrong
