"""Defects of Kafka's assignors that the engine does not reproduce. Tests show both behaviours.

Both of our engines are tested; the tests of Kafka's answers need Java and Maven.
"""

from __future__ import annotations

from typing import Any

import pytest

from assignor import assign, errors
from assignor.partition_assignor import CooperativeStickyAssignor
from assignor.server import StreamsMember, StreamsStickyAssignor
from tests.assign.kafka_defects import DEFECTS, Shares, earlier_question, entries, question
from tests.conformance import assignor_vectors
from tests.conformance.assignor_vectors import NOT_DETERMINED
from tests.conformance.deviations import DEVIATIONS, Deviation, assert_deviates
from tests.support import assignment_rules
from tests.support.assignor_oracle import AssignorOracle
from tests.support.engines import Engine
from tests.support.streams_oracle import OracleMissingError, StreamsOracle

ENDLESS_MS = 2_000
"""Milliseconds until an assignor that does not end is stopped; an assignment that ends takes a few."""

CASES = [(name, kind) for name, defect in DEFECTS.items() for kind in defect.kinds]
EACH = pytest.mark.parametrize(("name", "kind"), CASES, ids=[f"{kind}: {name}" for name, kind in CASES])
STREAMS = [deviation for deviation in DEVIATIONS if deviation.example == "streams"]
OF_STREAMS = pytest.mark.parametrize("deviation", STREAMS, ids=[deviation.case for deviation in STREAMS])
LATER = DEFECTS["the highest generation of an earlier call of the same object makes later claims old"]

Answer = dict[str, set[tuple[str, int]]] | str
"""An answer as sets, or the name of an error."""


def as_sets(shares: Shares | str) -> Answer:
    """Return an answer in the table as sets."""
    if isinstance(shares, str):
        return shares
    return {member: {(topic, id) for topic, id in entries(of)} for member, of in shares.items()}


def kafkas(found: dict[str, Any]) -> Answer:
    """Return Kafka's answer as sets, or the class of its exception."""
    if "error" in found:
        return str(found["error"][0])
    return {member: {(topic, id) for topic, id in of} for member, of in found["expected"].items()}


def deviation_of(name: str) -> Deviation:
    """Return a deviation of the list."""
    return next(deviation for deviation in DEVIATIONS if deviation.case == name)


@EACH
def test_the_engines_do_not_have_the_defect(name: str, kind: str, engine: Engine) -> None:
    theirs, ours = DEFECTS[name].answers(kind)
    case = assignor_vectors.parse({**question(DEFECTS[name], kind), "expected": {}})

    found: Answer
    try:
        answer = assign(case.partitions_per_topic, case.subscriptions, engine=engine, **case.options)
    except errors.AssignorError as error:
        found = type(error).__name__
    else:
        found = {member: set(partitions) for member, partitions in answer.items()}
        assignment_rules.assert_is_valid(
            case.partitions_per_topic, case.subscriptions, answer, withholds=case.withholds
        )

    assert as_sets(ours) == found
    assert_deviates(deviation_of(name), as_sets(theirs), found)


@pytest.mark.broker
@EACH
def test_kafka_has_the_defect(name: str, kind: str, oracle: AssignorOracle) -> None:
    theirs, _ = DEFECTS[name].answers(kind)
    asked = question(DEFECTS[name], kind)
    if theirs == "endless":
        asked["limit_ms"] = ENDLESS_MS
    if (earlier := earlier_question(DEFECTS[name], kind)) is not None:
        asked["after"] = earlier

    found = kafkas(oracle.answer(asked))

    if theirs == NOT_DETERMINED:
        assert any(kafkas(oracle.answer(asked)) != found for _ in range(20))
    else:
        assert as_sets(theirs) == found


def test_the_engines_do_not_remember_earlier_calls(engine: Engine) -> None:
    answers = []
    assignor = CooperativeStickyAssignor(engine=engine)
    later = question(LATER, "cooperative_sticky")
    for line in (later, earlier_question(LATER, "cooperative_sticky") or {}, later):
        case = assignor_vectors.parse({**line, "expected": {}})
        answers.append(assignor.assign(case.partitions_per_topic, case.subscriptions))

    assert answers[0] == answers[2]
    assert as_sets(LATER.ours) == {member: set(partitions) for member, partitions in answers[2].items()}


@pytest.mark.broker
def test_kafka_answers_as_the_engines_without_an_earlier_call(oracle: AssignorOracle) -> None:
    assert as_sets(LATER.ours) == kafkas(oracle.answer(question(LATER, "cooperative_sticky")))


def tasks(shares: dict[str, list[str]] | str) -> dict[str, list[list[list[Any]]]] | str:
    """Return active and standby tasks of the members in the format of the vectors, or the name of an error."""
    if isinstance(shares, str):
        return shares
    return {member: [entries(active), entries(standby)] for member, (active, standby) in shares.items()}


@OF_STREAMS
def test_the_engines_have_the_listed_answer_to_a_streams_group(deviation: Deviation, engine: Engine) -> None:
    data = deviation.data
    topology = {subtopology: (count, has_state) for subtopology, (count, has_state) in data["topology"].items()}
    members = {
        member: StreamsMember(
            given["process_id"],
            active=[(subtopology, number) for subtopology, number in entries(given["active"])],
            standby=[(subtopology, number) for subtopology, number in entries(given["standby"])],
        )
        for member, given in data["members"].items()
    }
    assignor = StreamsStickyAssignor(engine=engine)

    found: object
    try:
        answer = assignor.assign(topology, members, standby_replicas=data["standby_replicas"])
    except errors.AssignorError as error:
        found = type(error).__name__
    else:
        found = {member: [list(map(list, of.active)), list(map(list, of.standby))] for member, of in answer.items()}

    assert tasks(data["ours"]) == found
    assert_deviates(deviation, tasks(data["kafka"]), found)


@pytest.mark.broker
def test_kafka_has_the_listed_answers_to_streams_groups() -> None:
    try:
        oracle = StreamsOracle()
    except OracleMissingError as error:
        pytest.skip(str(error))
    with oracle:
        for deviation in STREAMS:
            found = oracle.answer(streams_question(deviation))
            answer = found["error"][0] if "error" in found else found["expected"]
            if isinstance(answer, dict):
                answer = {member: [of["active"], of["standby"]] for member, of in answer.items()}

            # The listed answers of other versions differ from those of 4.3.1, which the engines follow.
            listed = "kafka" if deviation.data["version"] == "4.3.1" else "ours"
            assert tasks(deviation.data[listed]) == answer, deviation.case


def streams_question(deviation: Deviation) -> dict[str, Any]:
    """Return the streams group of a deviation, in the format of the vectors."""
    data = deviation.data
    members = [
        {
            "member_id": member,
            "process_id": given["process_id"],
            "active": entries(given["active"]),
            "standby": entries(given["standby"]),
            "warmup": [],
        }
        for member, given in data["members"].items()
    ]
    topology = [
        {"subtopology": subtopology, "tasks": count, "stateful": has_state}
        for subtopology, (count, has_state) in data["topology"].items()
    ]
    return {"topology": topology, "standby_replicas": data["standby_replicas"], "members": members}


def test_a_listed_deviation_that_no_longer_deviates_fails() -> None:
    deviation = deviation_of("a claimed partition that does not exist is kept")
    theirs, ours = DEFECTS[deviation.case].answers("sticky")

    assert_deviates(deviation, as_sets(theirs), as_sets(ours))
    with pytest.raises(AssertionError, match="no deviation any more: a claimed partition that does not exist is kept"):
        assert_deviates(deviation, as_sets(theirs), as_sets(theirs))
