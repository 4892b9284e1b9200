"""The partition of `__consumer_offsets` that holds a group."""

from __future__ import annotations

import functools
import gzip
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import errors
from assignor.offsets import coordinator_partition

RECORDED = Path(__file__).parents[1] / "data" / "fleet_webshop" / "decoded.jsonl.gz"


def test_recorded_groups_are_in_their_coordinator_partition() -> None:
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        answers = [json.loads(line) for line in lines]
    located = {(answer["key"].get("group", answer["key"].get("groupId")), answer["partition"]) for answer in answers}
    assert len(located) == 24
    for group, partition in located:
        assert coordinator_partition(group, 4) == partition


@pytest.mark.parametrize(
    ("group", "partitions", "partition"),
    [("", 50, 0), ("a", 50, 47), ("polygenelubricants", 50, 0), ("équipe-données", 1, 0), ("😀", 2**31 - 1, 1_772_899)],
)
def test_the_partition_follows_javas_hash_code(group: str, partitions: int, partition: int) -> None:
    assert coordinator_partition(group, partitions) == partition


@pytest.mark.parametrize("partitions", [0, -1, 2**31])
def test_a_topic_must_have_at_least_one_partition(partitions: int) -> None:
    with pytest.raises(errors.IllegalArgumentError, match=str(partitions)):
        coordinator_partition("g", partitions)


@pytest.mark.parametrize(
    ("group", "partitions"), [(b"g", 50), ("g", "50"), ("g", 1.0), ("g", True), ("g", np.array(5))]
)
def test_arguments_of_wrong_types_are_rejected(group: Any, partitions: Any) -> None:
    with pytest.raises(errors.WrongTypeError) as caught:
        coordinator_partition(group, partitions)
    assert type(caught.value) is errors.WrongTypeError


@pytest.mark.parametrize(("group", "partitions", "what"), [(None, 50, "group"), ("g", None, "partitions")])
def test_none_is_rejected_as_null(group: Any, partitions: Any, what: str) -> None:
    with pytest.raises(errors.NullArgumentError, match=f"{what} must be an? (str|int), not None"):
        coordinator_partition(group, partitions)


def test_a_count_may_be_a_numpy_integer() -> None:
    assert coordinator_partition("a", np.int32(50)) == 47  # type: ignore[arg-type]  # as in columns


@given(st.text(), st.integers(1, 2**31 - 1))
def test_the_partition_of_any_group_follows_javas_hash_code(group: str, partitions: int) -> None:
    units = struct.iter_unpack(">H", group.encode("utf-16-be"))
    code = functools.reduce(lambda code, unit: (31 * code + unit[0]) % 2**32, units, 0)
    absolute = min(code, 2**32 - code) % 2**31  # as in Kafka, that of the smallest int32 is 0

    assert absolute % partitions == coordinator_partition(group, partitions)
