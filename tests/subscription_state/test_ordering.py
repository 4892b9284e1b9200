"""The order of Java's hash tables, compared with orders recorded from Java."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assignor import SubscriptionState, TopicPartition
from assignor.ordering import (
    DEFAULT_CAPACITY,
    computed_order,
    expected_capacity,
    hash_order,
    java_order,
    partition_hash,
    presized_capacity,
    string_hash,
    table_order,
    uuid_hash,
)
from assignor.reference.assign.table_order import signed_halves
from tests.conformance.subscription_state_vectors import read_tp, tp_name

# From OpenJDK 17 and kafka-clients 4.4.0: partitions put into a HashMap, their order in it, and prettyString.
with gzip.open(Path(__file__).parents[1] / "data" / "java_hash_orders.jsonl.gz", "rt", encoding="utf-8") as file:
    RECORDED = [json.loads(line) for line in file]

# From OpenJDK 17: keys put into a HashMap or, if presized, into `new HashSet<>(list)`, and their order in the table.
with gzip.open(Path(__file__).parents[1] / "data" / "java_table_orders.jsonl.gz", "rt", encoding="utf-8") as file:
    TABLES = [json.loads(line) for line in file]

# From OpenJDK 17: keys of calls of `computeIfAbsent` on a HashMap, and the order of the distinct keys in the table. The
# table is presized for `expected` keys, or has the default capacity if the number is negative.
with gzip.open(Path(__file__).parents[1] / "data" / "java_computed_orders.jsonl.gz", "rt", encoding="utf-8") as file:
    COMPUTED = [json.loads(line) for line in file]

HASH_CODES: dict[str, Callable[[Any], int]] = {
    "string": string_hash,
    "integer": lambda number: number,
    "uuid": lambda digits: uuid_hash(int(digits, 16)),
    "partition": lambda pair: partition_hash(string_hash(pair[0]), pair[1]),
}


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{len(case['put'])} partitions")
def test_partitions_have_the_order_recorded_from_java(case: dict[str, Any]) -> None:
    put = [read_tp(name) for name in case["put"]]

    assert case["listed"] == [tp_name(tp) for tp in hash_order(put)]


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{len(case['put'])} partitions")
def test_a_user_assignment_has_the_recorded_order_grouped_by_topic(case: dict[str, Any]) -> None:
    state = SubscriptionState("none")
    state.assign_from_user(map(read_tp, case["put"]))

    by_topic: dict[str, list[TopicPartition]] = {}
    for tp in map(read_tp, case["listed"]):
        by_topic.setdefault(tp.topic, []).append(tp)
    assert [tp for each in by_topic.values() for tp in each] == state.assigned_partitions_list()
    if case["put"]:
        assert case["pretty"] == state.pretty_string()


NATURAL_ORDER: dict[str, Callable[[Any], object]] = {
    "string": java_order,
    "uuid": lambda digits: signed_halves(int(digits, 16)),
}


@pytest.mark.parametrize("case", TABLES, ids=lambda case: f"{len(case['put'])} of {case['keys']}")
def test_keys_of_each_type_have_the_order_recorded_from_java(case: dict[str, Any]) -> None:
    codes = [HASH_CODES[case["keys"]](key) for key in case["put"]]
    capacity = presized_capacity(len(codes)) if case["presized"] else DEFAULT_CAPACITY
    natural = [NATURAL_ORDER.get(case["keys"], lambda _: 0)(key) for key in case["put"]]

    assert case["listed"] == table_order(range(len(codes)), codes, capacity, natural)


@pytest.mark.parametrize("case", COMPUTED, ids=lambda case: f"{len(case['calls'])} of {case['keys']}")
def test_keys_that_compute_if_absent_adds_have_the_order_recorded_from_java(case: dict[str, Any]) -> None:
    capacity = DEFAULT_CAPACITY if case["expected"] < 0 else expected_capacity(case["expected"])
    natural = NATURAL_ORDER.get(case["keys"], lambda number: number)
    distinct = list(dict.fromkeys(case["calls"]))

    order = computed_order(case["calls"], HASH_CODES[case["keys"]], capacity, natural)

    assert [distinct[index] for index in case["listed"]] == order


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("a", 97),
        ("Aa", 2112),
        ("BB", 2112),
        ("orders", 3286196965),
        ("日本", 835047),
        ("😀", 1772899),  # two code units
        ("polygenelubricants", 0x80000000),
    ],
)
def test_the_hash_code_of_a_text_is_that_of_its_utf_16_code_units(text: str, code: int) -> None:
    assert code == string_hash(text)


def test_a_ninth_key_in_a_bucket_doubles_a_small_table() -> None:
    put = [TopicPartition("b", 16 * number) for number in range(9)]  # one bucket of 16, two of 32

    assert put[:8] == hash_order(put[:8])
    assert [0, 32, 64, 96, 128, 16, 48, 80, 112] == [partition for _, partition in hash_order(put)]


def test_partitions_with_equal_hash_codes_stay_in_order_of_insertion() -> None:
    equal = [TopicPartition(topic, 0) for topic in ("BB", "Aa")]  # "Aa" and "BB" have the same hash code
    turned = equal[::-1]

    assert equal == hash_order(equal)
    assert turned == hash_order(turned)
    assert {1} == set(Counter(hash_order(equal)).values())
