"""Fuzzer that feeds malformed bytes to the decoders and invalid records to the encoder, and judges the outcomes.

An outcome of a ConsumerProtocol message must equal that of the reference. A decoded record must be the same after it is
encoded and decoded again, and an encoded record must decode to what was given.

The other readers of bytes from outside, such as those of patterns and snapshots, are in `border`.

As a program, this module is a worker that answers requests, one JSON object per line. It limits its address space to
slightly more than its size at the start, and the processor time of each call. A huge allocation for a malformed length
or count, and a call that takes too long, end the worker.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from assignor.errors import AssignorError, WireError
from assignor.offsets import DECODED, Record, decode_record, encode_record
from assignor.wire import decode_assignment, decode_subscription
from tests.conformance import wire_vectors
from tests.offsets.distorted_records import distorted
from tests.support import vector_files
from tests.support.mutation import mutated
from tests.support.record_layouts import LAYOUTS
from tests.wire import applications

SPARE = 64 * 2**20
"""Memory in bytes that the worker may allocate after its start; no input of a codec is longer than 1 KiB."""

READER_SPARE = 512 * 2**20
"""The same for the readers of `border`, which load Arrow's libraries and compile patterns."""

SECONDS = 2.0
"""Processor time that a call may take."""

ROOT = Path(__file__).parents[2]

LONGEST_SAMPLE = 800

EVERY_VERSION = ROOT / "tests" / "data" / "records_every_version.jsonl.gz"
COUNTS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\x80\x80\x80\x80\x08", b"\x7f\xff", b"\0\xff\xff\xff")

Message: TypeAlias = tuple[bytes, bytes | None]
"""Input of a decoder: a ConsumerProtocol message and None, or key and value of a record."""


class Codec(NamedTuple):
    """A decoder or encoder.

    Attributes:
        call: The function.
        samples: Valid inputs.
        is_right: Function that judges the outcome of an input.
    """

    call: Callable[..., object]
    samples: list[Any]
    is_right: Callable[[tuple[Any, ...], object], bool]


@cache
def decoders() -> dict[str, Codec]:
    """Return all decoders by name: of ConsumerProtocol (strict and tolerant), of applications, and of records."""
    cases = [case for path in wire_vectors.files(vector_files.OWN_FOLDER) for case in wire_vectors.read(path)]
    messages: dict[str, list[Message]] = {"subscription": [], "assignment": []}
    for case in cases:
        if case.data and case.decoded and len(case.data) <= LONGEST_SAMPLE:
            messages[case.kind].append((case.data, None))
    found = {
        "subscription": _of_protocol(decode_subscription, messages["subscription"]),
        "subscription, tolerant": _of_protocol(partial(decode_subscription, tolerant=True), messages["subscription"]),
        "assignment": _of_protocol(decode_assignment, messages["assignment"]),
    }
    for name, kind in applications.KINDS.items():
        data = [data for each, data, _ in applications.read_frozen() if each == name and len(data) <= LONGEST_SAMPLE]
        found[name] = _of_protocol(kind.decode, [(each, None) for each in data])
    records: dict[int, list[Message]] = {number: [] for number in LAYOUTS}
    with gzip.open(EVERY_VERSION, "rt", encoding="utf-8") as lines:
        for answer in map(json.loads, lines):
            if "error" not in answer:
                value = answer["valueHex"]
                key = bytes.fromhex(answer["keyHex"])
                records[answer["type"]].append((key, None if value is None else bytes.fromhex(value)))
    for number, samples in records.items():
        name = f"record {number} {LAYOUTS[number].name}"
        found[name] = Codec(decode_record, samples, is_decoded)
    return found


def _of_protocol(decode: Callable[..., object], samples: list[Message]) -> Codec:
    """Return a decoder of ConsumerProtocol messages, which the reference judges."""
    by_reference = partial(decode, engine="reference")

    def is_right(message: tuple[Any, ...], found: object) -> bool:
        return found == outcome(lambda data, _: by_reference(data), message)

    return Codec(lambda data, _: decode(data), samples, is_right)


def is_decoded(message: tuple[Any, ...], found: object) -> bool:
    """Return True if a decoded record is the same after it is encoded and decoded again."""
    if not isinstance(found, Record):
        return isinstance(found, Rejected) and _is_placed(message, found)
    if found.status != DECODED:
        return True
    again = outcome(encode_record, (found,))
    return is_encoded((found,), again) and not isinstance(again, Rejected)


def _is_placed(message: Message, found: Rejected) -> bool:
    """Return True if an error of decoding names a part of the record and an offset in this part."""
    key, value = message
    part = {"key": key, "value": value}.get(found.field.partition(".")[0])
    return part is not None and found.offset is not None and 0 <= found.offset <= len(part)


def is_encoded(message: tuple[Record], found: object) -> bool:
    """Return True if an encoded record decodes to what was given."""
    (given,) = message
    if not isinstance(found, tuple) or isinstance(found, Rejected):
        return isinstance(found, Rejected) and found.offset is None
    decoded = outcome(decode_record, found)
    return (
        isinstance(decoded, Record)
        and decoded.type == given.type
        and is_same(decoded.key, given.key)
        and (decoded.version == given.version or given.value is None)
        and is_same(decoded.value, given.value)
    )


def is_same(decoded: Any, given: Any) -> bool:
    """Return True if a decoded value is the given one, apart from fields that are not encoded."""
    if decoded is None or given is None:
        return decoded is given
    if isinstance(decoded, dict):
        fields = {str.__str__(name): content for name, content in given.items()}
        return decoded.keys() <= fields.keys() and all(is_same(decoded[name], fields[name]) for name in decoded)
    if isinstance(decoded, list):
        return len(decoded) == len(given) and all(map(is_same, decoded, given))
    if isinstance(decoded, str):
        return decoded == str.__str__(given)
    return bool(decoded == (bytes(given) if isinstance(decoded, bytes) else given))


@cache
def encoders() -> dict[str, Codec]:
    """Return an encoder for each record type, by name."""
    found = {}
    for name, decoder in decoders().items():
        if name.startswith("record "):
            records = [decode_record(key, value) for key, value in decoder.samples]
            found[name] = Codec(encode_record, records, is_encoded)
    return found


@cache
def readers() -> dict[str, Codec]:
    """Return the other readers of bytes from outside by name, with their seeds as samples."""
    from tests.support import border, fuzz_seeds  # they use the decoders above

    def codec(target: Callable[[bytes], bool], name: str) -> Codec:
        def call(data: bytes, _: None) -> object:
            return target(data) or Rejected("", None, "")

        return Codec(call, [(data, None) for data in fuzz_seeds.read(name)], lambda *_: True)

    return {name: codec(target, name) for name, target in border.TARGETS.items()}


def records(rng: random.Random, samples: list[Record]) -> Iterator[tuple[Record]]:
    """Yield mutated samples without end."""
    while True:
        yield (distorted(rng, rng.choice(samples)),)


def inputs(rng: random.Random, samples: list[Message]) -> Iterator[Message]:
    """Yield bytes without end: 3 of 4 are mutated samples, the rest are random, most of them after a valid header."""
    while True:
        first, second = rng.choice(samples)
        if second is None or rng.random() < 0.15:
            yield changed(rng, first), second
        else:
            yield first, changed(rng, second)


def changed(rng: random.Random, data: bytes) -> bytes:
    """Return a mutation of bytes that begin with a type or a version."""
    kind = rng.random()
    if kind < 0.75:
        return mutated(rng, data)
    noise = rng.randbytes(int(60 * rng.random()))
    if kind < 0.8:  # small bytes, like the lengths and counts of real messages
        noise = bytes(byte % 4 for byte in noise)
    return data[:2] + noise if kind < 0.9 else noise


def hostile(samples: list[Message]) -> Iterator[Message]:
    """Yield every sample with a large length or count at every position."""
    for (first, second), count in itertools.product(samples, COUNTS):
        for at in range(len(first)):
            yield overwritten(first, at, count), second
        for at in range(len(second or b"")):
            yield first, overwritten(second or b"", at, count)


def overwritten(data: bytes, at: int, count: bytes) -> bytes:
    """Return the data with the bytes at one position replaced by those of `count`."""
    return data[:at] + count + data[at + len(count) :]


def outcome(call: Callable[..., object], message: tuple[Any, ...]) -> object:
    """Return the value, or all parts of the error. A decoder must only raise `WireError`."""
    try:
        return call(*message)
    except WireError as error:
        return Rejected(error.reason, error.offset, error.field)
    except AssignorError as error:
        if call is not encode_record:
            raise
        return Rejected(str(error), None, type(error).__name__)


class Rejected(NamedTuple):
    """Parts of an error."""

    reason: str
    offset: int | None
    field: str


class Report(NamedTuple):
    """Result of a run."""

    inputs: int
    rejected: int
    judged: int
    wrong: list[tuple[str, ...]]
    """The first inputs with a wrong outcome, with bytes as hex."""
    slowest: float = 0
    """Processor time of the slowest call, in milliseconds."""
    grown: float = 0
    """Memory that the process needed at most, in MiB above that at the start."""


def run(
    codec: Codec, messages: Iterable[tuple[Any, ...]], share: int, before: Callable[[Any], object] = lambda _: None
) -> Report:
    """Call the codec with every message, and judge the outcome of each `share`-th message.

    Args:
        codec: The codec.
        messages: The messages.
        share: Every `share`-th message is judged.
        before: Function that gets each message before the call.
    """
    read = rejected = judged = 0
    slowest = 0.0
    wrong: list[tuple[str, ...]] = []
    for message in messages:
        before(message)
        start = time.process_time()
        found = outcome(codec.call, message)
        slowest = max(slowest, time.process_time() - start)
        rejected += isinstance(found, Rejected)
        if read % share == 0:
            judged += 1
            if not codec.is_right(message, found) and len(wrong) < 5:
                wrong.append(tuple(data.hex() if isinstance(data, bytes) else repr(data) for data in message))
        read += 1
    return Report(read, rejected, judged, wrong, slowest * 1_000)


class Worker:
    """Connection to the worker process, and the file with the input of its present call."""

    def __init__(self, process: subprocess.Popen[str], present: int) -> None:
        self.process = process
        self._present = present

    def ask(self, **request: Any) -> dict[str, Any]:
        """Return the answer to a request; raise with the end of the worker's stderr if the worker has exited."""
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            code, text = self.process.wait(60), self.process.stderr.read()[-500:]
            given = os.pread(self._present, 2**20, 0).partition(b"\n")[0].decode()
            raise RuntimeError(f"the worker ended with {code}: {text}; the last input was {given or 'no bytes'}")
        response: dict[str, Any] = json.loads(answer)
        return response


@contextmanager
def worker() -> Iterator[Worker]:
    """Start a worker, and kill it at the end of the block."""
    pipe = subprocess.PIPE
    # A backtrace needs more memory than the limit, and a panic would hang.
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "RUST_BACKTRACE": "0"}
    command = [sys.executable, "-m", "tests.support.fuzz"]
    with tempfile.TemporaryFile() as file:
        present = file.fileno()
        command = [*command, str(present)]
        with subprocess.Popen(
            command, env=environment, text=True, stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=[present]
        ) as process:
            try:
                yield Worker(process, present)
            finally:
                process.kill()


def main() -> None:
    """Answer requests under limits of memory and time."""
    import resource

    known = decoders()
    writers = encoders()
    others = readers()
    present = int(sys.argv[1])
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)

    def before(message: tuple[Any, ...]) -> None:
        if isinstance(message[0], bytes):
            os.pwrite(present, b" ".join((part or b"").hex().encode() for part in message) + b"\n", 0)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # SIGPROF ends the process

    for line in sys.stdin:
        request = json.loads(line)
        spare = READER_SPARE if request.get("decoder") in others else SPARE
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + spare, hard))
        size = _peak()
        match request["do"]:
            case "fuzz":
                decoder = (known | others)[request["decoder"]]
                messages = inputs(random.Random(request["seed"]), decoder.samples)
                report = run(decoder, itertools.islice(messages, request["inputs"]), request["share"], before)
            case "hostile":
                decoder = known[request["decoder"]]
                messages = itertools.islice(hostile(decoder.samples), 0, None, request["step"])
                report = run(decoder, messages, request["share"], before)
            case "write":
                encoder = writers[request["encoder"]]
                given = records(random.Random(request["seed"]), encoder.samples)
                report = run(encoder, itertools.islice(given, request["inputs"]), request["share"], before)
            case "allocate":
                report = Report(len(bytearray(request["bytes"])), 0, 0, [])
            case "wait":
                busy = Codec(lambda *_: any(iter(lambda: False, True)), [], lambda *_: True)
                report = run(busy, [(b"input", None)], 1, before)
            case other:
                raise ValueError(other)
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.write(json.dumps(report._replace(grown=(_peak() - size) / 1024)._asdict()) + "\n")
        sys.stdout.flush()


def _peak() -> int:
    """Return the largest size of this process so far, in KiB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
