"""Comparison of both engines with Kafka's RangeAssignor class: all answers must be equal.

`pytest tests -m conformance -k range` runs these tests on `tests/vectors` or on the folder `ASSIGNOR_VECTORS`.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from assignor import TopicPartition, assign, check, errors, plan
from tests.conformance import range_vectors
from tests.conformance.deviations import DEVIATIONS, assert_deviates
from tests.conformance.range_vectors import Case
from tests.support import vector_files
from tests.support.engines import Engine
from tests.support.vector_files import OWN_FOLDER

pytestmark = pytest.mark.conformance

Answer = Mapping[str, Iterable[tuple[str, int]]]

# Per file of our own folder: the number of cases, and of those that do not apply to our contract, because Kafka was
# given an unsorted list and kept its order, or (in range_upstream.json only) because an id is given twice.
COUNTS = {
    "range_visible.jsonl.gz": (3000, 95),
    "range_hash_tree_order.jsonl.gz": (28, 1),
    "range_upstream.json": (128, 2),
    "range_upstream_bug.jsonl.gz": (131, 7),
}

EXTRAS_WITH_OTHER_CONTRACT = {each.data["name"]: each for each in DEVIATIONS if each.example == "vector"}
"""The additional corner cases in which our contract differs, by name."""

# The number of cases of Kafka's rack bug with another answer here: all cases in which Kafka loses partitions (True),
# and some of those in which it does not (False).
DIFFER = {"range_upstream_bug.jsonl.gz": Counter({True: 42, False: 59})}


def per_topic(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Return the ids of each topic in their order; the order across topics is dropped."""
    ids = defaultdict(list)
    for topic, id in partitions:
        ids[topic].append(id)
    return dict(ids)


def assert_equals_kafkas(case: Case, answer: Answer) -> None:
    """Raise AssertionError unless the answer equals Kafka's; without racks the order across topics may differ."""
    assert set(case.expected) == set(answer), f"{case.name}: the members"
    for member, expected in case.expected.items():
        if case.rack_mode:
            assert expected == list(answer[member]), f"{case.name}: {member!r}, exact list"
        assert per_topic(expected) == per_topic(answer[member]), f"{case.name}: {member!r}"


def assert_equal_sets(name: str, expected: Answer, answer: Answer) -> None:
    """Raise AssertionError unless every member has the same partitions, each once."""
    assert set(expected) == set(answer), f"{name}: the members"
    for member, partitions in expected.items():
        assert sorted(partitions) == sorted(answer[member]), f"{name}: {member!r}"


def answers(case: Case, engine: Engine) -> list[Answer]:
    """Return the answer as the lists of `assign`, the lists of a plan, and the spans of a plan."""
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
    """Return True if the file is in our own folder, whose counts are known."""
    return path.parent == OWN_FOLDER


def cases_of(path: Path) -> tuple[list[Case], list[Case]]:
    """Return the cases that apply to our contract, and those that do not; assert the counts of our own files."""
    cases = range_vectors.read(path)
    applying, apart = [case for case in cases if case.applies], [case for case in cases if not case.applies]
    assert cases, f"{path.name} is empty"
    assert len(cases) == len(applying) + len(apart)
    if pinned(path):
        assert COUNTS[path.name] == (len(cases), len(apart))
    return applying, apart


def rack_mismatches(case: Case, answer: Answer) -> int:
    """Return the number of partitions without a replica on the rack of their member."""
    racks = {
        (topic, partition.partition): partition.racks
        for topic, partitions in case.partitions_per_topic.items()
        if not isinstance(partitions, int)
        for partition in partitions
    }
    racks_of_members = {member: subscription.rack for member, subscription in case.subscriptions.items()}
    return sum(
        racks_of_members[member] is not None and racks_of_members[member] not in racks[partition]
        for member, partitions in answer.items()
        for partition in partitions
    )


def compare_plain(path: Path, engine: Engine) -> int:
    """Compare the cases of a file that apply to our contract with Kafka's answers; return their number."""
    applying, _ = cases_of(path)
    for case in applying:
        for answer in answers(case, engine):
            assert_equals_kafkas(case, answer)
    return len(applying)


def compare_upstream(path: Path, engine: Engine) -> int:
    """Compare the cases of Kafka's own unit test; return the number of compared cases."""
    checked, apart = 0, []
    for case in range_vectors.read(path):
        if case.name in EXTRAS_WITH_OTHER_CONTRACT:
            apart.append(case.name)
            continue
        for answer in answers(case, engine):
            assert_equal_sets(case.name, case.expected, answer)
            if case.expected_upstream is not None:
                assert_equal_sets(case.name, case.expected_upstream, answer)
            if case.rack_mismatches is not None:
                assert case.rack_mismatches == rack_mismatches(case, answer), f"{case.name}: rack mismatches"
        checked += 1
    assert len(range_vectors.read(path)) == checked + len(apart)
    if pinned(path):
        assert (124, sorted(EXTRAS_WITH_OTHER_CONTRACT)) == (checked, sorted(apart))
    return checked


def check_bug(path: Path, engine: Engine) -> int:
    """Check that our answers to the cases of Kafka's rack bug are valid; return their number."""
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
    """Compare every file of a folder; return the number of compared or checked cases."""
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


def test_range_vectors_of_our_own_folder_are_complete() -> None:
    assert sorted(COUNTS) == [path.name for path in range_vectors.files(OWN_FOLDER)]


def own_case(name: str, file: str = "range_upstream.json") -> Case:
    """Return the case with this name from one of our files."""
    return next(case for case in range_vectors.read(OWN_FOLDER / file) if case.name == name)


def ours(case: Case, engine: Engine) -> dict[str, list[TopicPartition]]:
    """Return the answer of `assign`."""
    return assign(
        case.partitions_per_topic, case.subscriptions, prefer_rack_aware=case.prefer_rack_aware, engine=engine
    )


def test_range_corner_cases_with_another_contract_differ_as_described(engine: Engine) -> None:
    names = ("unsortedDirect", "dupPartitionInfo", "dupInstance hash m2,m1", "copartNoncontigRackless")
    unsorted, twice, hashed, bug = map(own_case, names)

    assert {"a": [("t", 2), ("t", 0)], "b": [("t", 1)]} == unsorted.expected
    assert {"a": [("t", 0), ("t", 1)], "b": [("t", 2)]} == ours(unsorted, engine)
    with pytest.raises(errors.IllegalArgumentError, match="topic 't': partition 0 is given twice"):
        ours(twice, engine)
    assert {"m1": [("t", 0), ("t", 1)], "m2": [("t", 2)]} == hashed.expected
    assert {"m2": [("t", 0), ("t", 1)], "m1": [("t", 2)]} == ours(hashed, engine)
    assert {"a": [("t", 0), ("u", 0)], "b": [("t", 1), ("u", 1)]} == bug.expected
    assert {"a": [("t", 1), ("u", 1)], "b": [("t", 2), ("u", 2)]} == ours(bug, engine)


@pytest.mark.parametrize("name", EXTRAS_WITH_OTHER_CONTRACT)
def test_range_listed_deviations_deviate(name: str, engine: Engine) -> None:
    deviation = EXTRAS_WITH_OTHER_CONTRACT[name]
    case = own_case(name, deviation.data["file"])

    answer: object
    try:
        answer = {member: list(partitions) for member, partitions in ours(case, engine).items()}
    except errors.IllegalArgumentError as error:
        answer = error

    assert_deviates(deviation, {member: list(partitions) for member, partitions in case.expected.items()}, answer)


def test_range_all_partitions_are_assigned_where_kafkas_bug_loses_some(engine: Engine) -> None:
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


def test_range_members_get_partitions_on_their_rack_where_kafkas_bug_gives_partitions_on_other_racks(
    engine: Engine,
) -> None:
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


def test_range_partitions_that_are_not_a_count_are_an_error(tmp_path: Path) -> None:
    case = {"name": "odd", "prefer_rack_aware": False, "via": "counts", "linked_subscriptions": False}
    case |= {"topics": {"t": [[1, []]]}, "members": [], "expected": {}}
    with gzip.open(tmp_path / "range_odd.jsonl.gz", "wt") as odd:
        odd.write(json.dumps(case))

    with pytest.raises(ValueError, match="odd: the partitions of t cannot be given as a count"):
        range_vectors.read(tmp_path / "range_odd.jsonl.gz")


def test_range_a_file_of_an_unknown_form_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"range_new\.parquet: not a file name of the kind range"):
        range_vectors.read(tmp_path / "range_new.parquet")
