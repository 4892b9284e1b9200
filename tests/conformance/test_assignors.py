"""Comparison of both engines with Kafka's assignors: all answers must be equal.

`pytest tests -m conformance -k assignors` runs these tests on `tests/vectors` or on the folder `ASSIGNOR_VECTORS`. The
answers of a member are compared as sets. Cases of Kafka's own defects are counted, and each answer to them has to
be a valid assignment (tests/assign/test_kafka_defects.py shows both behaviours). `deviations.json` lists the defects
and the numbers of their cases.
"""

from __future__ import annotations

import dataclasses
import functools
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from assignor import Group, Subscription, TopicPartition, assign, errors, plan
from assignor.ordering import java_order, string_hash, table_order
from assignor.wire import DecodedSubscription, decode_subscription, encode_subscription
from tests.assign.edge_mutations import MUTATIONS
from tests.assign.test_streams_sticky_agreement import MUTATIONS as STREAMS_MUTATIONS
from tests.conformance import assignor_vectors, streams_vectors
from tests.conformance.assignor_vectors import Case
from tests.conformance.deviations import COUNTS
from tests.conformance.streams_vectors import StreamsCase
from tests.support import assignment_rules, vector_files
from tests.support.engines import Engine
from tests.support.vector_files import OWN_FOLDER

pytestmark = pytest.mark.conformance

Answer = Mapping[str, list[TopicPartition]]

CLAIMED_OTHERWISE = {"assignor_sticky_visible.jsonl.gz": 925, "assignor_sticky_edge.jsonl.gz": 90}
"""Per file of our own folder: the number of exact sticky cases in which owned partitions can replace user data."""

ON_THE_WIRE = {
    "assignor_share_simple_edge.jsonl.gz": 9,
    "assignor_share_simple_visible.jsonl.gz": 442,
    "assignor_cooperative_sticky_edge.jsonl.gz": 87,
    "assignor_range_edge.jsonl.gz": 56,
    "assignor_roundrobin_edge.jsonl.gz": 48,
    "assignor_server_range_edge.jsonl.gz": 8,
    "assignor_server_uniform_edge.jsonl.gz": 7,
    "assignor_sticky_edge.jsonl.gz": 95,
    "assignor_cooperative_sticky_visible.jsonl.gz": 969,
    "assignor_roundrobin_visible.jsonl.gz": 1000,
    "assignor_server_range_visible.jsonl.gz": 368,
    "assignor_server_uniform_visible.jsonl.gz": 365,
    "assignor_sticky_visible.jsonl.gz": 975,
}
"""Per file of our own folder: the number of exact cases that ConsumerProtocol can carry."""


def assert_equals_kafkas(case: Case, answer: Answer) -> None:
    """Fail unless every member has Kafka's partitions, or, in a case of a deviation, unless the assignment is valid."""
    assert list(case.subscriptions) == list(answer), f"{case.name}: the members"
    if not case.is_exact:
        assignment_rules.assert_is_valid(
            case.partitions_per_topic, case.subscriptions, answer, withholds=case.withholds
        )
        return
    assert case.expected is not None, f"{case.name}: no answer to compare with"
    assert set(case.expected) == set(answer), f"{case.name}: the members"
    for member, expected in case.expected.items():
        assert sorted(expected) == sorted(answer[member]), f"{case.name}: {member!r}"


def is_different(case: Case, answer: Answer) -> bool:
    """Return True if an answer differs from Kafka's, or Kafka's class raised an error."""
    return case.expected is None or any(sorted(case.expected[member]) != sorted(of) for member, of in answer.items())


def answers(case: Case, engine: Engine) -> Iterator[Answer]:
    """Yield the answer of each way to call an engine with the input of the case."""
    for call in (assign, plan):
        yield call(case.partitions_per_topic, case.subscriptions, engine=engine, **case.options)


def assert_raises(case: Case, engine: Engine) -> None:
    """Fail unless each way to call an engine raises the error of the case."""
    for call in (assign, plan):
        with pytest.raises(case.raises or ()):
            print(case.name, call(case.partitions_per_topic, case.subscriptions, engine=engine, **case.options))  # noqa: T201 - shown if nothing is raised


def wire_answer(case: Case) -> Answer | None:
    """Return the answer for members with encoded subscriptions; None if encoding changes a subscription.

    Encoding sorts topics and owned partitions, and the broker's assignors depend on their order where names or
    numbers share a bucket.
    """
    members = []
    for member, subscription in case.subscriptions.items():
        data = encode_subscription(subscription, 3)
        if not _says_the_same(subscription, decode_subscription(data), in_order=case.topic_ids is not None):
            return None
        members.append((member, subscription.group_instance_id, data))
    options = dict(case.options)
    ids = {"topic_ids": options.pop("topic_ids")} if "topic_ids" in options else {}
    return Group.from_wire(case.partitions_per_topic, members, **ids).assign(**options)


def _says_the_same(subscription: Subscription, decoded: DecodedSubscription, *, in_order: bool) -> bool:
    """Return True if the decoded subscription equals the original, in the same order if that matters."""
    order = tuple if in_order else sorted
    lists = ("topics", "owned_partitions")
    return all(order(getattr(subscription, field)) == order(getattr(decoded, field)) for field in lists) and all(
        (getattr(subscription, field) or None) == (getattr(decoded, field) or None)
        for field in ("user_data", "generation", "rack")
    )


def claimed_in_subscription(case: Case) -> Case | None:
    """Return the case with the claims of the user data as owned partitions; None if that changes its meaning.

    It changes if a subscription and its user data have different generations, which settle conflicts of claims.
    """
    if case.previous is None:
        return None
    subscriptions = {}
    for member, (partitions, generation) in case.previous.items():
        given = case.subscriptions[member]
        if assignor_vectors.generation(given.generation) != assignor_vectors.generation(generation):
            return None
        subscriptions[member] = dataclasses.replace(given, owned_partitions=tuple(partitions), user_data=None)
    return dataclasses.replace(case, subscriptions=subscriptions)


def compare_file(path: Path, engine: Engine) -> Counter[str]:
    """Compare the cases of a file; return the number of comparisons of each kind.

    Raises:
        AssertionError: An answer differs, or no answer of the file was compared with Kafka's.
    """
    counts: Counter[str] = Counter()
    for case in assignor_vectors.read(path):
        if isinstance(case, StreamsCase):
            streams_vectors.assert_equals_kafkas(case, streams_vectors.answer(case, engine))
            counts["exact"] += 1
            counts["orders"] += streams_vectors.assert_has_table_order(case)
            continue
        if case.raises is not None:
            assert_raises(case, engine)
            counts["different"] += 1
        else:
            for answer in answers(case, engine):
                assert_equals_kafkas(case, answer)
            counts["different"] += not case.is_exact and is_different(case, answer)
        counts["exact" if case.is_exact else "defects"] += 1
        if case.member_order is not None:
            members = list(case.subscriptions)
            codes, natural = map(string_hash, members), map(java_order, members)
            assert case.member_order == table_order(members, list(codes), natural=list(natural)), case.name
            counts["orders"] += 1
        if (otherwise := claimed_in_subscription(case)) is not None:
            assert_equals_kafkas(
                otherwise,
                assign(otherwise.partitions_per_topic, otherwise.subscriptions, engine=engine, **case.options),
            )
            counts["claimed otherwise"] += case.is_exact
        if case.raises is None and engine == "rust" and (answer_from_wire := wire_answer(case)) is not None:
            assert_equals_kafkas(case, answer_from_wire)
            counts["on the wire"] += case.is_exact
    assert counts["exact"] > 0, f"{path.name}: nothing was compared"
    if path.parent == OWN_FOLDER:
        assert COUNTS[path.name] == (counts["exact"] + counts["defects"], counts["defects"], counts["different"])
        assert counts["claimed otherwise"] == CLAIMED_OTHERWISE.get(path.name, 0)
        assert counts["on the wire"] == (ON_THE_WIRE.get(path.name, 0) if engine == "rust" else 0)
    return counts


def compare_all(folder: Path, engine: Engine) -> int:
    """Compare every file of a folder; return the number of answers compared with Kafka's."""
    return sum(compare_file(path, engine)["exact"] for path in assignor_vectors.files(folder))


def test_assignors_vectors_are_answered_as_kafka_answered_them(
    engine: Engine, record_property: Callable[[str, object], None]
) -> None:
    compared = compare_all(vector_files.folder(), engine)
    record_property("answers compared", compared)

    assert compared > 0


@pytest.mark.parametrize(
    ("kind", "rule"),
    # The name of a test must not have the word that selects the tests of `range`.
    [
        pytest.param(kind, rule, id=f"{kind.replace('range', 'Range')}-{rule}")
        for rule, mutation in MUTATIONS.items()
        for kind in mutation.kinds
    ],
)
def test_assignors_a_broken_rule_changes_answers_to_groups_at_the_edge(
    kind: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def differs(case: Case) -> bool:
        asked = MUTATIONS[rule].apply(monkeypatch, case)
        try:
            answer = assign(asked.partitions_per_topic, asked.subscriptions, engine="reference", **asked.options)
        except errors.AssignorError:
            return True
        finally:
            monkeypatch.undo()
        assert case.expected is not None
        return any(sorted(case.expected[member]) != sorted(answer[member]) for member in answer)

    cases = assignor_vectors.read(OWN_FOLDER / f"assignor_{kind}_edge.jsonl.gz")

    assert any(differs(case) for case in assignor_vectors.exact(cases))


@pytest.mark.parametrize("rule", STREAMS_MUTATIONS)
def test_assignors_a_broken_rule_changes_answers_to_streams_groups(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, replace = STREAMS_MUTATIONS[rule]
    cases = assignor_vectors.read(OWN_FOLDER / "assignor_streams_sticky_visible.jsonl.gz")

    monkeypatch.setattr(module, name, replace(getattr(module, name)))

    def differs(case: Case | StreamsCase) -> bool:
        assert isinstance(case, StreamsCase)
        return case.expected != streams_vectors.answer(case, "reference")

    assert any(map(differs, cases))


def test_assignors_vectors_of_our_own_folder_are_complete() -> None:
    assert sorted(COUNTS) == [path.name for path in assignor_vectors.files(OWN_FOLDER)]


@functools.cache
def own_case(kind: str) -> Case:
    """Return an exact case of our own folder in which at least two members have different numbers of partitions."""
    cases = assignor_vectors.read(OWN_FOLDER / f"assignor_{kind}_visible.jsonl.gz")
    return next(
        case
        for case in assignor_vectors.exact(cases)
        if case.expected and len({len(found) for found in case.expected.values()}) > 1
    )


def test_assignors_an_invalid_answer_to_a_case_of_a_defect_is_noticed(engine: Engine) -> None:
    case = dataclasses.replace(own_case("roundrobin"), is_exact=False)
    answer = assign(case.partitions_per_topic, case.subscriptions, engine=engine, **case.options)
    assert_equals_kafkas(case, answer)

    max(answer.values(), key=len).pop()

    with pytest.raises(AssertionError):
        assert_equals_kafkas(case, answer)


def test_assignors_a_withheld_partition_must_be_claimed() -> None:
    topic_1 = TopicPartition("t", 1)
    case = dataclasses.replace(
        own_case("cooperative_sticky"),
        partitions_per_topic={"t": 2},
        subscriptions={"a": Subscription(("t",)), "b": Subscription(("t",), owned_partitions=(topic_1,))},
        is_exact=False,
    )

    assert_equals_kafkas(case, {"a": [TopicPartition("t", 0)], "b": []})
    with pytest.raises(AssertionError):
        assert_equals_kafkas(case, {"a": [], "b": [topic_1]})


def stored(folder: Path, *lines: dict[str, Any]) -> Path:
    """Write lines to a file of vectors."""
    path = folder / "assignor_roundrobin_drawn.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


MEMBERS = [{"member_id": member, "topics": ["t"]} for member in "ba"]
PLAIN: dict[str, Any] = {
    "assignor": "roundrobin",
    "topics": {"t": 3},
    "members": MEMBERS,
    "expected": {"a": [["t", 0], ["t", 2]], "b": [["t", 1]]},
}


def test_assignors_a_file_with_cases_of_defects_only_is_an_error(engine: Engine, tmp_path: Path) -> None:
    defect = {**PLAIN, "tags": ["error"]}

    assert {"exact": 1, "defects": 1} == {
        name: count
        for name, count in compare_file(stored(tmp_path, PLAIN, defect), engine).items()
        if name in ("exact", "defects")
    }
    assignor_vectors.read.cache_clear()
    with pytest.raises(AssertionError, match=r"assignor_roundrobin_drawn\.jsonl\.gz: nothing was compared"):
        compare_file(stored(tmp_path, defect), engine)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"members": [{"member_id": "a", "topics": [], "owned": []}]}, r"fields unknown or missing: \['owned'\]"),
        ({"members": MEMBERS * 2}, "a member is given twice"),
        ({"replica_racks": {"u": []}}, r"unknown topics in replica_racks: \['u'\]"),
        (
            {"assignor": "server_uniform", "topics": [{"name": "t", "id": "0" * 32}] * 2, "members": []},
            "topic is given twice",
        ),
    ],
)
def test_assignors_an_invalid_value_is_an_error(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        assignor_vectors.read(stored(tmp_path, {**PLAIN, **change}))
