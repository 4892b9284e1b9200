"""Comparison of both engines with Kafka's ConsumerProtocol class: all messages must be equal.

`pytest tests -m conformance -k wire` runs these tests on `tests/vectors` or on the folder `ASSIGNOR_VECTORS`. Encoded
bytes and decoded values are compared. If Kafka's class fails, the engine must raise `WireError`.
"""

from __future__ import annotations

import copy
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
from tests.support.vector_files import OWN_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.names import Engine

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
    return list(vector_files.read(path))


def first(do: str, kind: str, *, fails: bool) -> Line:
    """Return a copy of the first line of this kind."""
    found = (line for line in own_lines() if (line["do"], line["kind"], "fails" in line) == (do, kind, fails))
    return copy.deepcopy(next(found))


@pytest.mark.parametrize("do", ["encode", "decode"])
@pytest.mark.parametrize("kind", ["subscription", "assignment"])
@pytest.mark.parametrize("fails", [False, True])
def test_wire_a_success_changed_into_a_failure_or_back_is_noticed(
    do: str, kind: str, fails: bool, engine: Engine, tmp_path: Path
) -> None:
    line, other = first(do, kind, fails=fails), first("encode", kind, fails=not fails)
    outcome = {"decoded", "left_over", "fails", *(["hex"] if do == "encode" else [])}
    changed = {name: value for name, value in line.items() if name not in outcome}
    changed |= {name: other[name] for name in outcome & other.keys()}
    with gzip.open(tmp_path / "wire_copy.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps(changed))

    with pytest.raises(AssertionError, match=line["name"]):
        compare_all(tmp_path, engine)
