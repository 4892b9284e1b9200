"""Drawn fleets: the answers equal those for each group alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import event, given, reject

from tests.fleet import group_balance, simulated_group, single_group
from tests.fleet.cases import FLEETS
from tests.fleet.columns import Outcome, Row, clusters, groups, outcome_of, with_shared_topics
from tests.fleet.columns import cluster as a_cluster
from tests.fleet.columns import group as a_group
from tests.fleet.columns import member as a_member
from tests.fleet.simulated_group import TooManyPartitionsError
from tests.fleet.strategies import Fleet, fleets

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fleet.single_group import Group

VERBS: dict[str, Callable[[Group], Any]] = {
    "resolve": single_group.resolved,
    "assign": single_group.assignment,
    "balance": group_balance.balance,
    "current_balance": group_balance.current_balance,
    "moves": single_group.moves,
}
"""The answer of each method for a group alone."""


def ask(fleet: Fleet, verb: str, *arguments: Any) -> Outcome:
    """Return the outcome for a fleet."""
    return outcome_of(verb, clusters(*fleet.clusters), groups(*fleet.groups), *arguments)


def differences(fleet: Fleet) -> list[tuple[str, Any, Any]]:
    """Return the methods whose answer for a group differs from the one for this group alone."""
    alone = [single_group.read_group(row, fleet.clusters) for row in fleet.groups]
    found: list[tuple[str, Any, Any]] = []
    for verb, expected in VERBS.items():
        if verb != "moves" or all((run["count"] or 0) < MOST for row in fleet.groups for run in row["current"]):
            found.append((verb, ask(fleet, verb).answer, [expected(group) for group in alone]))
    reasons = ask(fleet, "problems").answer
    found.append(("problems", list(map(bool, reasons)), list(map(single_group.has_problem, alone))))
    scenarios = [
        [(name, steps) for name, ids, steps in fleet.scenarios if ids is None or row["group_id"] in ids]
        for row in fleet.groups
    ]
    try:
        played = [
            [simulated_group.outcome(group, *scenario) for scenario in asked]
            for group, asked in zip(alone, scenarios, strict=True)
        ]
    except TooManyPartitionsError:
        outcome = ask(fleet, "what_if", fleet.scenarios)
        found.append(("what_if", (outcome.type, "the limit is" in outcome.answer), ("IllegalArgumentError", True)))
    else:
        found.append(("what_if", comparable(ask(fleet, "what_if", fleet.scenarios).answer), comparable(played)))
        for scenario in fleet.scenarios:
            after = [
                simulated_group.assignment(group, scenario[2]) if scenario[::2] in asked else []
                for group, asked in zip(alone, scenarios, strict=True)
            ]
            found.append(("assign_after", ask(fleet, "assign_after", [scenario]).answer, after))
    return [(verb, answer, expected) for verb, answer, expected in found if answer != expected]


def comparable(outcomes: list[list[Row]]) -> list[list[Row]]:
    """Return outcomes with sorted changes of patterns; of a problem only its presence counts."""

    def changes(outcome: Row) -> list[Row]:
        found = [{**change, "problem": bool(change["problem"])} for change in outcome["pattern_changes"]]
        return sorted(found, key=lambda change: (change["members"], change["sent"] or "", change["gained"]))

    return [[{**outcome, "pattern_changes": changes(outcome)} for outcome in of_group] for of_group in outcomes]


MOST = 100
"""Limit of the number of partitions in a run whose moves are compared one by one."""

REJECTIONS = (
    "must have Kafka's form",
    "has the same topic_id",
    "given twice",
    "has no name",
    "partitions must be 0 or more",
    "a subscribed topic is null",
    "are not a range of partition ids",
    "dialect must be one of",
    " pattern '",
)
"""Messages with which a drawn fleet may be rejected; any other error is a failure."""


def is_rejected(found: Outcome) -> bool:
    """Return True if a fleet was rejected; raise AssertionError if the reason is not a known one."""
    if not found.type.endswith("Error"):
        return False
    assert any(reason in found.answer for reason in REJECTIONS), found
    return True


@given(fleets())
def test_each_group_has_the_answers_of_a_fleet_with_this_group_alone(fleet: Fleet) -> None:
    if is_rejected(ask(fleet, "current_balance")):
        event("rejected")
        reject()

    assert [] == differences(fleet)


@pytest.mark.parametrize("name", FLEETS)
def test_groups_with_rare_features_have_the_answers_of_each_group_alone(name: str) -> None:
    assert [] == differences(FLEETS[name])


@given(fleets())
def test_topics_in_a_dictionary_give_the_same_answers(fleet: Fleet) -> None:
    known, asked = clusters(*fleet.clusters), groups(*fleet.groups)
    arguments = {"what_if": (fleet.scenarios,), "assign_after": (fleet.scenarios[:1],)}

    for verb in (*VERBS, "problems", *arguments):
        expected = outcome_of(verb, known, asked, *arguments.get(verb, ()))
        assert expected == outcome_of(verb, known, with_shared_topics(asked), *arguments.get(verb, ()))


def test_an_unexpected_error_is_a_failure() -> None:
    twice = a_group(a_member("a", "t"), a_member("a", "t"))

    assert is_rejected(ask(Fleet([a_cluster({"t": 4})], [twice]), "assign"))
    with pytest.raises(AssertionError):
        is_rejected(Outcome("IllegalArgumentError", "another reason"))


RICH = Fleet(
    [a_cluster({"t": [["r0"], ["r1"], ["r0"], ["r1"]], "u": 4, "é": 4, "～": 1, "😀": 2})],
    [
        a_group(
            a_member("d", "t", "u", "～", group_instance_id="x", rack="r1", assignor=assignor),
            a_member("c", "t", "😀", "y", "z", "w", group_instance_id="x", rack="elsewhere"),
            a_member("b", "t", "u", "～", "😀", rack="r0"),
            a_member("a", pattern=".*"),
            current=[("a", "t", 0, 4), ("b", "t", 0, 2), ("b", "～", 0, 1), ("d", "😀", 0, 1), ("d", "beyond", 7, 90)],
            id=assignor,
        )
        for assignor in ("range", "cooperative-sticky")
    ],
    [
        ("grow", None, [("grow_partitions", "t", 9), ("grow_partitions", "t", 1), ("grow_partitions", "none", 1)]),
        ("more", None, [("add_members", 1), ("remove_members", 2), ("rolling_restart", False)]),
    ],
)
"""A fleet for which each of the `MUTANTS` gives another answer."""

MUTANTS: dict[str, tuple[object, str, Any]] = {
    "no breaks": (group_balance, "co_partition_breaks", lambda *_: 0),
    "no misses": (group_balance, "rack_misses", lambda *_: 0),
    "no owned partitions": (group_balance, "claimed", lambda *_: {}),
    "records without assignments": (group_balance, "encode_assignment", lambda _: b""),
    "code points": (single_group, "java_order", lambda name: name),
    "members as given": (single_group, "kafka_order", lambda members: list(members)),
    "members by id": (simulated_group, "kafka_order", lambda members: sorted(members, key=lambda member: member.id)),
    "other ids": (simulated_group, "another_id", lambda _, id: f"{id}2"),
    "no second rebalance": (simulated_group, "revokes", lambda *_: False),
    "a lower limit of partitions": (simulated_group, "MAX_PARTITIONS", 8),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_answer_is_detected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agreed = differences(RICH)

    monkeypatch.setattr(*MUTANTS[name])

    assert [] == agreed
    assert [] != differences(RICH)
