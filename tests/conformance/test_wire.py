"""Comparison of both engines with Kafka's ConsumerProtocol class: all messages must be equal.

`pytest tests -m conformance -k wire` runs these tests on `tests/vectors` or on the folder `ASSIGNOR_VECTORS`. Encoded
bytes and decoded values are compared. If Kafka's class fails, the engine must raise `WireError`.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from assignor import Subscription, TopicPartition
from assignor.errors import WireError
from assignor.wire import (
    DecodedAssignment,
    DecodedSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from tests.conformance import wire_vectors
from tests.conformance.wire_vectors import Case
from tests.support import vector_files
from tests.support.vector_fields import METADATA
from tests.support.vector_files import OWN_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor._engine import Engine

pytestmark = pytest.mark.conformance

Line = dict[str, Any]


def to_hex(data: bytes | None) -> str | None:
    """Return user data in the format of the vectors."""
    return None if data is None else data.hex()


def decoded(case: Case, data: bytes, engine: Engine) -> dict[str, Any] | None:
    """Return the decoded message with the field names of the vectors; None if decoding fails."""
    try:
        if case.kind == "assignment":
            assignment = decode_assignment(data, engine=engine)
            partitions = [list(partition) for partition in assignment.partitions]
            return {"partitions": partitions, "user_data": to_hex(assignment.user_data)}
        read = decode_subscription(data, engine=engine)
    except WireError:
        return None
    return {
        "topics": list(read.topics),
        "user_data": to_hex(read.user_data),
        "owned": [list(partition) for partition in read.owned_partitions],
        "generation": read.generation,
        "rack": read.rack,
    }


def encoded(case: Case, engine: Engine) -> list[bytes | None]:
    """Return the bytes for each type of input; None if encoding fails."""
    assert case.message is not None
    message = case.message
    user_data = None if message["user_data"] is None else bytes.fromhex(message["user_data"])
    version = () if case.version is None else (case.version,)
    encoders: list[Callable[[], bytes]] = []
    if case.kind == "assignment":
        partitions = tuple(TopicPartition(*partition) for partition in message["partitions"])
        encoders.append(lambda: encode_assignment(partitions, *version, user_data=user_data, engine=engine))
        encoders.append(lambda: encode_assignment(DecodedAssignment(0, partitions, user_data), *version, engine=engine))
    else:
        owned = tuple(TopicPartition(*partition) for partition in message["owned"])
        rest = {"owned_partitions": owned, "generation": message["generation"], "user_data": user_data}
        rest |= {"topics": tuple(message["topics"]), "rack": message["rack"]}
        encoders.append(lambda: encode_subscription(DecodedSubscription(version=0, **rest), *version, engine=engine))
        if all(partition.partition >= 0 for partition in owned):  # partitions of a Subscription are not negative
            encoders.append(lambda: encode_subscription(Subscription(**rest), *version, engine=engine))
    found: list[bytes | None] = []
    for encoder in encoders:
        try:
            found.append(encoder())
        except WireError:
            found.append(None)
    return found


def assert_equals_kafkas(case: Case, engine: Engine) -> None:
    """Raise AssertionError unless the answer equals Kafka's."""
    if case.writes:
        for answer in encoded(case, engine):
            assert case.data == answer, f"{case.name}: the bytes"
    if case.data is None:
        return
    assert case.decoded == decoded(case, case.data, engine), case.name
    if case.decoded is not None:
        # Exactly the bytes that are left over can be removed without changing the result.
        used = len(case.data) - case.left_over
        assert case.decoded == decoded(case, case.data[:used], engine), f"{case.name}: left_over"
        assert decoded(case, case.data[: used - 1], engine) is None, f"{case.name}: left_over"


def compare_all(folder: Path, engine: Engine) -> int:
    """Compare all cases of a folder; return their number."""
    cases = [case for path in wire_vectors.files(folder) for case in wire_vectors.read(path)]
    for case in cases:
        assert_equals_kafkas(case, engine)
    return len(cases)


def test_wire_vectors_are_answered_as_kafka_answered_them(engine: Engine) -> None:
    assert compare_all(vector_files.folder(), engine) > 0


def test_wire_vectors_of_our_own_folder_are_complete() -> None:
    (path,) = wire_vectors.files(OWN_FOLDER)
    cases = wire_vectors.read(path)

    counts = Counter((case.writes, case.kind, case.decoded is None) for case in cases)
    assert {
        (True, "subscription", False): 195,
        (True, "subscription", True): 9,
        (True, "assignment", False): 110,
        (True, "assignment", True): 6,
        (False, "subscription", False): 85,
        (False, "subscription", True): 149,
        (False, "assignment", False): 61,
        (False, "assignment", True): 105,
    } == counts


# ---- the comparison notices changes


@functools.cache
def own_lines() -> list[Line]:
    """Return the lines of our own file."""
    (path,) = wire_vectors.files(OWN_FOLDER)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def first(do: str, kind: str, *, fails: bool = False) -> int:
    """Return the index of the first line of this kind; a successful one has partitions and no bytes left over."""
    field = "partitions" if kind == "assignment" else "owned"
    for place, line in enumerate(own_lines()):
        if (line["do"], line["kind"], "fails" in line) == (do, kind, fails) and (
            fails or (line["decoded"][field] and not line["left_over"])
        ):
            return place
    raise LookupError((do, kind, fails))


def changed(path: str, value: Any) -> Callable[[Line], None]:
    """Return a function that sets the field at a dotted path."""

    def change(line: Line) -> None:
        *outer, last = path.split(".")
        inner: Any = line
        for step in outer:
            inner = inner[int(step)] if isinstance(inner, list) else inner[step]
        inner[int(last) if isinstance(inner, list) else last] = value

    return change


def byte_changed(at: int) -> Callable[[Line], None]:
    """Return a function that changes one byte of the message; a negative index counts from its end."""

    def change(line: Line) -> None:
        data = bytearray.fromhex(line["hex"])
        data[at] ^= 1
        line["hex"] = data.hex()

    return change


def fails(line: Line) -> None:
    """Change a success of Kafka into a failure."""
    del line["decoded"], line["left_over"]
    if line["do"] == "encode":
        del line["hex"]
    line["fails"] = {"exception": "SchemaException", "message": None}


def succeeds(line: Line) -> None:
    """Change a failure of Kafka into a success."""
    del line["fails"]
    line |= {name: own_lines()[first("encode", line["kind"])][name] for name in ("decoded", "left_over")}
    line.setdefault("hex", own_lines()[first("encode", line["kind"])]["hex"])


MUTATIONS = [
    pytest.param(("encode", "subscription", False), byte_changed(-1), id="the last byte of an encoded subscription"),
    pytest.param(("encode", "assignment", False), byte_changed(1), id="the version of an encoded assignment"),
    pytest.param(("decode", "subscription", False), byte_changed(5), id="the number of topics in a subscription"),
    pytest.param(("decode", "assignment", False), byte_changed(8), id="a byte of a topic in an assignment"),
    pytest.param(("decode", "subscription", False), changed("decoded.topics", ["other"]), id="a topic"),
    pytest.param(("decode", "subscription", False), changed("decoded.owned", []), id="owned partitions"),
    pytest.param(("decode", "subscription", False), changed("decoded.generation", 77), id="the generation"),
    pytest.param(("decode", "subscription", False), changed("decoded.rack", "other"), id="the rack"),
    pytest.param(("decode", "subscription", False), changed("decoded.user_data", "77"), id="user data"),
    pytest.param(("decode", "assignment", False), changed("decoded.partitions.0.1", 77), id="a partition id"),
    pytest.param(
        ("encode", "assignment", False), changed("decoded.partitions", []), id="the message that is decoded again"
    ),
    pytest.param(("decode", "assignment", False), changed("decoded.surprise", 1), id="an unknown decoded field"),
    pytest.param(("encode", "subscription", False), changed("object.topics.0", "other"), id="a topic to write"),
    pytest.param(("encode", "subscription", False), changed("object.rack", "other"), id="a rack to write"),
    pytest.param(("encode", "subscription", False), changed("version", 0), id="the version to write"),
    pytest.param(("decode", "subscription", False), changed("left_over", 1), id="the number of bytes left over"),
    pytest.param(("decode", "subscription", False), fails, id="a success of decoding changed into a failure"),
    pytest.param(("encode", "assignment", False), fails, id="a success of encoding changed into a failure"),
    pytest.param(("decode", "assignment", True), succeeds, id="a failure of decoding changed into a success"),
    pytest.param(("encode", "subscription", True), succeeds, id="a failure of encoding changed into a success"),
    pytest.param(("encode", "subscription", False), changed("do", "guess"), id="an unknown operation"),
    pytest.param(("decode", "subscription", False), changed("kind", "commit"), id="an unknown kind"),
    pytest.param(("decode", "subscription", False), changed("surprise", 1), id="an unknown field"),
    pytest.param(("encode", "subscription", False), changed("object.surprise", 1), id="an unknown field to write"),
    pytest.param(("decode", "assignment", False), lambda line: line.pop("decoded"), id="a missing field"),
]


def stored(folder: Path, lines: list[Line]) -> Path:
    """Write vectors to a folder."""
    with gzip.open(folder / "wire_copy.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return folder


@pytest.mark.parametrize(("sort", "mutate"), MUTATIONS)
def test_wire_a_mutated_copy_of_the_vectors_is_noticed(
    sort: tuple[str, str, bool], mutate: Callable[[Line], object], engine: Engine, tmp_path: Path
) -> None:
    do, kind, fails = sort
    place = first(do, kind, fails=fails)
    lines = copy.deepcopy(own_lines()[: place + 1])
    mutate(lines[place])

    with pytest.raises((AssertionError, ValueError), match=lines[place]["name"]):
        compare_all(stored(tmp_path, lines), engine)


def test_wire_an_unchanged_copy_of_the_vectors_passes(engine: Engine, tmp_path: Path) -> None:
    assert len(own_lines()) == compare_all(stored(tmp_path, own_lines()), engine)


@pytest.mark.parametrize("kind", ["subscription", "assignment"])
def test_wire_a_change_of_any_encoded_byte_is_noticed(kind: str, engine: Engine) -> None:
    (path,) = wire_vectors.files(OWN_FOLDER)
    case = wire_vectors.read(path)[first("encode", kind)]
    assert case.data

    for at in range(len(case.data)):
        data = bytearray(case.data)
        data[at] ^= 0x40
        with pytest.raises(AssertionError, match=f"{case.name}: the bytes"):
            assert_equals_kafkas(dataclasses.replace(case, data=bytes(data)), engine)


def test_wire_metadata_is_not_compared(engine: Engine, tmp_path: Path) -> None:
    line = own_lines()[0] | dict.fromkeys(METADATA, "anything")

    assert 1 == compare_all(stored(tmp_path, [line]), engine)


def test_wire_an_empty_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"wire_copy\.jsonl\.gz is empty"):
        wire_vectors.read(wire_vectors.files(stored(tmp_path, []))[0])


def test_wire_a_folder_without_the_kind_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "other_visible.jsonl.gz").touch()

    with pytest.raises(FileNotFoundError, match="no vectors of the kind wire"):
        wire_vectors.files(tmp_path)
