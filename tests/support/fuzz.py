"""Feeds the decoders bytes and the encoder records that nobody meant, under a limit of memory; compares the engines.

Run as a program it is a worker: it limits its own address space to what it has and a little more, and then answers
requests, one JSON object a line. An allocation that some length or count talked it into would end it.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from assignor.errors import AssignorError, WireError
from assignor.offsets import Record, decode_record, encode_record
from assignor.reference.offsets.schema import TYPES
from assignor.wire import decode_assignment, decode_subscription
from tests.conformance import wire_vectors
from tests.offsets.distorted_records import distorted
from tests.support import vector_files
from tests.support.engines import Engine
from tests.support.mutation import mutated

SPARE = 64 * 2**20
"""How much more memory the worker may ask for than it has when it starts; no input is longer than a KiB."""

ROOT = Path(__file__).parents[2]

LONGEST_SAMPLE = 800

EVERY_VERSION = ROOT / "tests" / "data" / "records_every_version.jsonl.gz"
COUNTS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\x80\x80\x80\x80\x08", b"\x7f\xff", b"\0\xff\xff\xff")

Message: TypeAlias = tuple[bytes, bytes | None]
"""What a decoder reads: a ConsumerProtocol message and None, or key and value of a record."""


class Decoder(NamedTuple):
    """Something that reads bytes, and bytes that it can read."""

    read: Callable[[bytes, bytes | None, Engine], object]
    samples: list[Message]


@cache
def decoders() -> dict[str, Decoder]:
    """All there are: both of ConsumerProtocol, one of them in two ways, and one for each type of record."""
    cases = [case for path in wire_vectors.files(vector_files.OWN_FOLDER) for case in wire_vectors.read(path)]
    messages: dict[str, list[Message]] = {"subscription": [], "assignment": []}
    for case in cases:
        if case.data and case.decoded and len(case.data) <= LONGEST_SAMPLE:
            messages[case.kind].append((case.data, None))
    found = {
        "subscription": Decoder(lambda data, _, engine: decode_subscription(data, engine=engine), []),
        "subscription, tolerant": Decoder(
            lambda data, _, engine: decode_subscription(data, tolerant=True, engine=engine), []
        ),
        "assignment": Decoder(lambda data, _, engine: decode_assignment(data, engine=engine), []),
    }
    for name, decoder in found.items():
        decoder.samples.extend(messages[name.partition(",")[0]])
    records: dict[int, list[Message]] = {number: [] for number, record_type in TYPES.items() if record_type.layout}
    with gzip.open(EVERY_VERSION, "rt", encoding="utf-8") as lines:
        for answer in map(json.loads, lines):
            if "error" not in answer:
                value = answer["valueHex"]
                key = bytes.fromhex(answer["keyHex"])
                records[answer["type"]].append((key, None if value is None else bytes.fromhex(value)))
    for number, samples in records.items():
        name = f"record {number} {TYPES[number].name}"
        found[name] = Decoder(lambda key, value, engine: decode_record(key, value, engine=engine), samples)
    return found


class Encoder(NamedTuple):
    """Something that writes records, and records that it can write."""

    read: Callable[[Record, Engine], object]
    samples: list[Record]


@cache
def encoders() -> dict[str, Encoder]:
    """One for each type of record."""
    found = {}
    for name, decoder in decoders().items():
        if name.startswith("record "):
            records = [decode_record(key, value) for key, value in decoder.samples]
            found[name] = Encoder(lambda record, engine: encode_record(record, engine=engine), records)
    return found


def records(rng: random.Random, samples: list[Record]) -> Iterator[tuple[Record]]:
    """Changed samples without end."""
    while True:
        yield (distorted(rng, rng.choice(samples)),)


def inputs(rng: random.Random, samples: list[Message]) -> Iterator[Message]:
    """Bytes without end: three in four a changed sample, the rest random, every second of these behind a good head."""
    while True:
        first, second = rng.choice(samples)
        if second is None or rng.random() < 0.15:
            yield changed(rng, first), second
        else:
            yield first, changed(rng, second)


def changed(rng: random.Random, data: bytes) -> bytes:
    """Other bytes in place of these, which begin with a type or a version."""
    kind = rng.random()
    if kind < 0.75:
        return mutated(rng, data)
    noise = rng.randbytes(int(60 * rng.random()))
    if kind < 0.8:  # bytes as small as the lengths and counts of real messages
        noise = bytes(byte % 4 for byte in noise)
    return data[:2] + noise if kind < 0.9 else noise


def hostile(samples: list[Message]) -> Iterator[Message]:
    """Every sample with a large length or count in every place."""
    for (first, second), count in itertools.product(samples, COUNTS):
        for at in range(len(first)):
            yield overwritten(first, at, count), second
        for at in range(len(second or b"")):
            yield first, overwritten(second or b"", at, count)


def overwritten(data: bytes, at: int, count: bytes) -> bytes:
    """The bytes with others in one place."""
    return data[:at] + count + data[at + len(count) :]


def outcome(codec: Decoder | Encoder, message: tuple[Any, ...], engine: Engine) -> object:
    """The value, or all parts of the error; bytes are refused as such, records for their types too."""
    try:
        return codec.read(*message, engine)  # type: ignore[call-arg]  # a message is what its codec reads
    except WireError as error:
        return Refused(error.reason, error.offset, error.field)
    except AssignorError as error:
        if isinstance(codec, Decoder):
            raise
        return Refused(str(error), None, type(error).__name__)


class Refused(NamedTuple):
    """What an error says."""

    reason: str
    offset: int | None
    field: str


class Report(NamedTuple):
    """How a run went."""

    inputs: int
    refused: int
    compared: int
    apart: list[tuple[str, ...]]
    """Inputs on which the engines differ, bytes as hex; the first few."""


def run(
    codec: Decoder | Encoder,
    messages: Iterable[tuple[Any, ...]],
    share: int,
    twin: Decoder | Encoder | None = None,
) -> Report:
    """Takes every message in Rust and each `share`th by the twin too, which is the reference unless told otherwise."""
    read = refused = compared = 0
    apart: list[tuple[str, ...]] = []
    for message in messages:
        rust = outcome(codec, message, "rust")
        refused += isinstance(rust, Refused)
        if read % share == 0:
            compared += 1
            if rust != outcome(twin or codec, message, "reference") and len(apart) < 5:
                apart.append(tuple(data.hex() if isinstance(data, bytes) else repr(data) for data in message))
        read += 1
    return Report(read, refused, compared, apart)


class Worker:
    """The program at the other end of two pipes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answer to a request; a worker that ended has none, and its last words are the error."""
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the worker ended with {self.process.wait()}: {self.process.stderr.read()[-500:]}")
        told: dict[str, Any] = json.loads(answer)
        return told


@contextmanager
def worker() -> Iterator[Worker]:
    """A worker, until the end of the block."""
    pipe = subprocess.PIPE
    # A backtrace takes more memory than there is, and a panic would wait for it.
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "RUST_BACKTRACE": "0"}
    command = [sys.executable, "-m", "tests.support.fuzz"]
    with subprocess.Popen(command, env=environment, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield Worker(process)
        finally:
            process.kill()


def main() -> None:
    """Answers requests under a limit of memory."""
    import resource

    known = decoders()
    writers = encoders()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + SPARE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for line in sys.stdin:
        request = json.loads(line)
        match request["do"]:
            case "fuzz":
                decoder = known[request["decoder"]]
                messages = inputs(random.Random(request["seed"]), decoder.samples)
                report = run(decoder, itertools.islice(messages, request["inputs"]), request["share"])
            case "hostile":
                decoder = known[request["decoder"]]
                messages = itertools.islice(hostile(decoder.samples), 0, None, request["step"])
                report = run(decoder, messages, request["share"])
            case "write":
                encoder = writers[request["encoder"]]
                given = records(random.Random(request["seed"]), encoder.samples)
                report = run(encoder, itertools.islice(given, request["inputs"]), request["share"])
            case "allocate":
                report = Report(len(bytearray(request["bytes"])), 0, 0, [])
            case other:
                raise ValueError(other)
        sys.stdout.write(json.dumps(report._asdict()) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
