"""Every answer that Apache Kafka's own RangeAssignor gave, asked of both engines: 100 % have to be equal.

`pytest tests -m conformance -k range` runs this, on `tests/vectors` or on the folder that `ASSIGNOR_VECTORS` names.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from assignor import TopicPartition, assign, check, errors, plan
from tests.conformance import range_vectors
from tests.conformance.range_vectors import Case
from tests.support import vector_files
from tests.support.engines import Engine
from tests.support.vector_files import OWN_FOLDER

pytestmark = pytest.mark.conformance

Answer = Mapping[str, Iterable[tuple[str, int]]]

# Per file of our own folder: cases, and those among them that do not apply to our contract, since Kafka was given a
# list that is not sorted and kept its order (an id given twice occurs in range_upstream.json only).
COUNTS = {
    "range_visible.jsonl.gz": (3000, 95),
    "range_hash_tree_order.jsonl.gz": (28, 1),
    "range_upstream.json": (128, 2),
    "range_upstream_bug.jsonl.gz": (131, 7),
}

# The corner cases beside Kafka's unit test in which the contract differs, each with the reason.
EXTRAS_APART = {
    "unsortedDirect": "partitions are handed over unsorted and Kafka keeps that order; here ids are always sorted",
    "dupPartitionInfo": "an id is given twice; here that is an error",
    "dupInstance hash m2,m1": "equal instance ids in the order of a Java HashMap; here the order given decides",
    "copartNoncontigRackless": "the bug: Kafka hands out partitions that do not exist; here real ones, each once",
}

# How many of the cases of Kafka's bug are answered otherwise here: all in which Kafka loses partitions (true), and some
# of those in which it does not.
DIFFER = {"range_upstream_bug.jsonl.gz": Counter({True: 42, False: 59})}


def per_topic(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Topic to ids in their order: what is left when the order across topics does not count."""
    ids = defaultdict(list)
    for topic, id in partitions:
        ids[topic].append(id)
    return dict(ids)


def compare(case: Case, answer: Answer) -> None:
    """Fails unless the answer is Kafka's: in rack mode list for list, else whatever the order across topics."""
    assert set(case.expected) == set(answer), f"{case.name}: the members"
    for member, expected in case.expected.items():
        if case.rack_mode:
            assert expected == list(answer[member]), f"{case.name}: {member!r}, exact list"
        assert per_topic(expected) == per_topic(answer[member]), f"{case.name}: {member!r}"


def compare_sets(name: str, expected: Answer, answer: Answer) -> None:
    """Fails unless every member has the same partitions, none of them twice."""
    assert set(expected) == set(answer), f"{name}: the members"
    for member, partitions in expected.items():
        assert sorted(partitions) == sorted(answer[member]), f"{name}: {member!r}"


def answers(case: Case, engine: Engine) -> list[Answer]:
    """All the ways to read an answer: the lists of `assign`, those of a plan, and a plan's spans."""
    arguments = case.partitions_per_topic, case.subscriptions
    assigned = assign(*arguments, prefer_rack_aware=case.prefer_rack_aware, engine=engine)
    planned = plan(*arguments, prefer_rack_aware=case.prefer_rack_aware, engine=engine)
    assert list(case.subscriptions) == list(assigned), f"{case.name}: the order of members"
    assert list(case.subscriptions) == list(planned), f"{case.name}: the order of members in the plan"
    spelled: dict[str, list[tuple[str, int]]] = {member: [] for member in planned.members}
    for member, topic, start, count in zip(*(column.tolist() for column in planned.spans()), strict=True):
        spelled[planned.members[member]] += [(planned.topics[topic], start + offset) for offset in range(count)]
    return [assigned, planned, spelled]


def pinned(path: Path) -> bool:
    """Whether the file is one of ours, whose numbers are known."""
    return path.parent == OWN_FOLDER


def cases_of(path: Path) -> tuple[list[Case], list[Case]]:
    """The cases of a file that apply to our contract, and those that do not; of ours, their numbers are asserted."""
    cases = range_vectors.read(path)
    applying, apart = [case for case in cases if case.applies], [case for case in cases if not case.applies]
    assert cases, f"{path.name} is empty"
    assert len(cases) == len(applying) + len(apart)
    if pinned(path):
        assert COUNTS[path.name] == (len(cases), len(apart))
    return applying, apart


def rack_mismatches(case: Case, answer: Answer) -> int:
    """How many partitions went to a member that is on none of their racks; a member without rack is anywhere."""
    racks = {
        (topic, partition.partition): partition.racks
        for topic, partitions in case.partitions_per_topic.items()
        if not isinstance(partitions, int)
        for partition in partitions
    }
    homes = {member: subscription.rack for member, subscription in case.subscriptions.items()}
    return sum(
        homes[member] is not None and homes[member] not in racks[partition]
        for member, partitions in answer.items()
        for partition in partitions
    )


def compare_plain(path: Path, engine: Engine) -> int:
    """Compare the cases of a file that apply to our contract with Kafka's answers; return how many they are."""
    applying, _ = cases_of(path)
    for case in applying:
        for answer in answers(case, engine):
            compare(case, answer)
    return len(applying)


def compare_upstream(path: Path, engine: Engine) -> int:
    """Compare the cases of Kafka's own unit test; return how many were compared."""
    checked, apart = 0, []
    for case in range_vectors.read(path):
        if case.name in EXTRAS_APART:
            apart.append(case.name)
            continue
        for answer in answers(case, engine):
            compare_sets(case.name, case.expected, answer)
            if case.expected_upstream is not None:
                compare_sets(case.name, case.expected_upstream, answer)
            if case.rack_mismatches is not None:
                assert case.rack_mismatches == rack_mismatches(case, answer), f"{case.name}: rack mismatches"
        checked += 1
    assert len(range_vectors.read(path)) == checked + len(apart)
    if pinned(path):
        assert (124, sorted(EXTRAS_APART)) == (checked, sorted(apart))
    return checked


def check_bug(path: Path, engine: Engine) -> int:
    """Check our answers to the cases of Kafka's bug, which need not be Kafka's; return how many there are."""
    cases_of(path)
    differ: Counter[bool] = Counter()
    for case in range_vectors.read(path):
        for answer in answers(case, engine):
            assert not check(answer, case.partitions_per_topic, case.subscriptions), case.name
        differ[case.phantom] += any(
            sorted(case.expected[member]) != sorted(partitions) for member, partitions in answer.items()
        )
    if pinned(path):
        assert DIFFER[path.name] == differ
    return len(range_vectors.read(path))


def compare_all(folder: Path, engine: Engine) -> int:
    """Compare every file of a folder; return how many cases were compared or checked."""
    compared = 0
    for path in range_vectors.files(folder):
        if range_vectors.is_upstream(path):
            compared += compare_upstream(path, engine)
        elif range_vectors.is_bug(path):
            compared += check_bug(path, engine)
        else:
            compared += compare_plain(path, engine)
    return compared


def test_range_vectors_are_answered_as_kafka_answered_them(engine: Engine) -> None:
    assert compare_all(vector_files.folder(), engine) > 0


def test_range_cases_of_kafkas_own_unit_test_are_answered_as_kafka_answers_them(engine: Engine) -> None:
    assert compare_upstream(OWN_FOLDER / "range_upstream.json", engine) > 0


def test_range_cases_of_kafkas_bug_are_answered_without_any_finding(engine: Engine) -> None:
    assert check_bug(OWN_FOLDER / "range_upstream_bug.jsonl.gz", engine) > 0


def test_range_vectors_of_our_own_folder_are_all_there() -> None:
    assert sorted(COUNTS) == [path.name for path in range_vectors.files(OWN_FOLDER)]


def own_case(name: str, file: str = "range_upstream.json") -> Case:
    """A case of one of our files by its name."""
    return next(case for case in range_vectors.read(OWN_FOLDER / file) if case.name == name)


def ours(case: Case, engine: Engine) -> dict[str, list[TopicPartition]]:
    """What `assign` answers."""
    return assign(
        case.partitions_per_topic, case.subscriptions, prefer_rack_aware=case.prefer_rack_aware, engine=engine
    )


def test_range_the_corner_cases_apart_are_apart_for_a_reason(engine: Engine) -> None:
    unsorted, twice, hashed, bug = (own_case(name) for name in EXTRAS_APART)

    assert {"a": [("t", 2), ("t", 0)], "b": [("t", 1)]} == unsorted.expected
    assert {"a": [("t", 0), ("t", 1)], "b": [("t", 2)]} == ours(unsorted, engine)
    with pytest.raises(errors.IllegalArgumentError, match="topic 't': partition 0 is given twice"):
        ours(twice, engine)
    assert {"m1": [("t", 0), ("t", 1)], "m2": [("t", 2)]} == hashed.expected
    assert {"m2": [("t", 0), ("t", 1)], "m1": [("t", 2)]} == ours(hashed, engine)
    assert {"a": [("t", 0), ("u", 0)], "b": [("t", 1), ("u", 1)]} == bug.expected
    assert {"a": [("t", 1), ("u", 1)], "b": [("t", 2), ("u", 2)]} == ours(bug, engine)


def test_range_where_kafkas_bug_loses_partitions_ours_hands_out_all(engine: Engine) -> None:
    case = own_case("range-v-3101-00523", "range_upstream_bug.jsonl.gz")

    assert case.phantom
    assert {
        "consumer0": [("mail.v1", 1), ("orders-003", 1), ("users-dlq", 1)],  # users-dlq has the partitions 3 and 7
        "consumer1": [("mail.v1", 0), ("orders-003", 0), ("users-dlq", 0)],  # mail.v1 has 1 and 2
        "consumer2": [],
        "consumer3": [],
    } == case.expected
    assert {
        "consumer0": [],
        "consumer1": [("mail.v1", 1), ("orders-003", 0), ("users-dlq", 3)],
        "consumer2": [],
        "consumer3": [("mail.v1", 2), ("orders-003", 1), ("users-dlq", 7)],
    } == ours(case, engine)


def test_range_where_kafkas_bug_misses_racks_ours_finds_them(engine: Engine) -> None:
    case = own_case("range-v-3101-00204", "range_upstream_bug.jsonl.gz")

    assert not case.phantom
    assert {
        "2a-b": [("clicks.1", 11), ("clicks.1", 12), ("mail.v1", 4), ("mail.v1", 12)],
        "2AA-b1": [("clicks.1", 9), ("clicks.1", 10), ("mail.v1", 1), ("mail.v1", 2)],
    } == case.expected
    assert {
        "2a-b": [("clicks.1", 9), ("clicks.1", 11), ("mail.v1", 1), ("mail.v1", 4)],  # all on its rack r0
        "2AA-b1": [("clicks.1", 10), ("clicks.1", 12), ("mail.v1", 2), ("mail.v1", 12)],
    } == ours(case, engine)
    assert (4, 0) == (rack_mismatches(case, case.expected), rack_mismatches(case, ours(case, engine)))


@pytest.mark.parametrize("damage", ["swap", "lose", "reorder"])
def test_range_a_wrong_expectation_is_noticed(damage: str, engine: Engine) -> None:
    case = next(
        case
        for case in range_vectors.read(OWN_FOLDER / "range_visible.jsonl.gz")
        if case.applies and case.rack_mode and sum(len(found) > 1 for found in case.expected.values()) > 1
    )
    first, second = [member for member, found in case.expected.items() if len(found) > 1][:2]
    expected = dict(case.expected)
    if damage == "swap":
        expected[first], expected[second] = expected[second], expected[first]
    elif damage == "lose":
        expected[first] = expected[first][1:]
    else:
        expected[first] = expected[first][::-1]
    wrong = dataclasses.replace(case, expected=expected)
    answer = answers(case, engine)[0]

    compare(case, answer)
    with pytest.raises(AssertionError, match=case.name):
        compare(wrong, answer)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"via": "telepathy"}, "odd: unknown way in: 'telepathy'"),
        ({"order_matters": True}, r"odd: fields unknown or missing: \['order_matters'\]"),
        ({"phantom": True}, r"odd: fields unknown or missing: \['phantom'\]"),
        ({"members": [{"member_id": "a", "weight": 3}]}, "odd: fields unknown or missing: .*'weight'"),
        ({"via": "counts", "topics": {"t": [[1, []]]}}, "odd: t cannot be told as a count"),
    ],
)
def test_range_what_the_reader_does_not_know_is_an_error(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    case = {"name": "odd", "tags": [], "prefer_rack_aware": False, "via": "cluster", "linked_subscriptions": False}
    case |= {"topics": {"t": [[0, ["r"]]]}, "members": [], "rack_mode": False, "expected": {}}
    with (
        gzip.open(tmp_path / "range_plain.jsonl.gz", "wt") as plain,
        gzip.open(tmp_path / "range_odd.jsonl.gz", "wt") as odd,
    ):
        plain.write(json.dumps(case))
        odd.write(json.dumps(case | change))

    assert ["odd"] == [read.name for read in range_vectors.read(tmp_path / "range_plain.jsonl.gz")]
    with pytest.raises(ValueError, match=message):
        range_vectors.read(tmp_path / "range_odd.jsonl.gz")


def test_range_a_file_of_an_unknown_form_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"range_new\.parquet: not a name that vectors of the kind range have"):
        range_vectors.read(tmp_path / "range_new.parquet")


def test_range_a_folder_without_the_kind_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "wire_visible.jsonl.gz").touch()

    with pytest.raises(FileNotFoundError, match="no vectors of the kind range"):
        range_vectors.files(tmp_path)
