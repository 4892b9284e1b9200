"""Drawn fleets: the answers equal those for single groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, reject

from assignor import Subscription, TopicPartition, assign, match_topics
from assignor.model import MemberInfo, PartitionInfo
from assignor.ordering import java_order
from assignor.reference.assign import ASSIGNORS, DEFAULTS
from tests.fleet.columns import Outcome, Row, clusters, groups, outcome_of, with_shared_topics
from tests.fleet.columns import cluster as a_cluster
from tests.fleet.columns import group as a_group
from tests.fleet.columns import member as a_member
from tests.fleet.strategies import Fleet, fleets

if TYPE_CHECKING:
    from collections.abc import Callable

VERBS = ("resolve", "assign", "balance", "current_balance", "moves", "problems", "what_if", "assign_after")

ARGUMENTS: dict[str, Callable[[Fleet], tuple[Any, ...]]] = {
    "what_if": lambda fleet: (fleet.scenarios,),
    "assign_after": lambda fleet: (fleet.scenarios[:1],),
}


@given(fleets())
def test_topics_in_a_dictionary_give_the_same_answers(fleet: Fleet) -> None:
    known, asked = clusters(*fleet.clusters), groups(*fleet.groups)

    for verb in VERBS:
        arguments = ARGUMENTS[verb](fleet) if verb in ARGUMENTS else ()
        expected = outcome_of(verb, known, asked, *arguments)
        assert expected == outcome_of(verb, known, with_shared_topics(asked), *arguments)


HALVES = [("d", "beyond", start, 2**30 - 1) for start in (0, 2**30 - 1)] + [("d", "beyond", 2**31 - 2, 2)]
"""Runs that together contain all partition ids. The number of ids, 2**31, exceeds int32."""

# ---- single groups


def subscriptions(row: Row, existing: dict[str, Any]) -> dict[str, Subscription]:
    """Return the input of `assign`: the members that have ids, sorted by id."""
    if row["cluster"] is None or row["group_id"] is None:
        return {}
    found = {}
    for member in sorted(filter(None, row["members"]), key=lambda member: java_order(member["member_id"] or "")):
        pattern, names = member.get("pattern"), member.get("topics") or ()
        if pattern is not None:
            plain = [topic for topic in existing if topic.isascii()]
            names = match_topics(pattern, plain, dialect=member.get("dialect") or "java")
        if member["member_id"] is not None:
            found[member["member_id"]] = Subscription(
                names,
                group_instance_id=member.get("group_instance_id"),
                rack=member.get("rack"),
                owned_partitions=owned(row, member["member_id"]),
                generation=member.get("generation"),
            )
    return found


def owned(row: Row, member_id: str) -> tuple[TopicPartition, ...]:
    """Return the current partitions of a member, without ids far beyond the end of all topics."""
    whole = [run for run in row["current"] if None not in run.values() and run["start"] >= 0]
    runs = [run for run in whole if run["member_id"] == member_id]
    ids = {(run["topic"], id) for run in runs for id in range(run["start"], min(run["start"] + run["count"], 100))}
    return tuple(TopicPartition(*partition) for partition in sorted(ids))


def assignor_of(row: Row) -> tuple[str, str] | None:
    """Return the protocol and the assignor that all members of a group name; None if Kafka has no such assignor."""
    named = [member for member in row["members"] if member and member["member_id"] is not None]
    protocols = {member.get("group_protocol") for member in named} - {None} or {"classic"}
    assignors = {member.get("assignor") for member in named} - {None} or {None}
    if len(protocols) > 1 or len(assignors) > 1:
        return None
    [protocol], [assignor] = protocols, assignors
    found = protocol, assignor or DEFAULTS.get(protocol, "")
    return found if found in ASSIGNORS else None


def topics(known: list[Row], name: str | None) -> dict[str, Any]:
    """Return the topics of a cluster as input of `assign`."""
    of_cluster: list[Row] = next((row["topics"] for row in known if row["cluster"] == name), [])
    return {
        row["topic"]: row["partitions"]
        if row["racks"] is None
        else [PartitionInfo(id, tuple(racks or ())) for id, racks in enumerate(row["racks"])]
        for row in of_cluster
    }


def topic_ids(known: list[Row], name: str | None) -> dict[str, str]:
    """Return the known topic ids of a cluster."""
    of_cluster: list[Row] = next((row["topics"] for row in known if row["cluster"] == name), [])
    return {row["topic"]: row["topic_id"] for row in of_cluster if row.get("topic_id")}


def assert_assignment(known: list[Row], row: Row, found: list[Row]) -> None:
    """Check that the assignment of a group equals that of `assign`, with members in Kafka's order."""
    existing = topics(known, row["cluster"])
    members = subscriptions(row, existing)
    assignor = assignor_of(row)
    if assignor is None or None in (row["cluster"], row["group_id"]):
        assert [] == found
        return
    expected = assign(
        existing,
        members,
        assignor=assignor[1],
        group_protocol=assignor[0],
        topic_ids=topic_ids(known, row["cluster"]),
    )
    order = sorted(members, key=lambda id: MemberInfo(id, members[id].group_instance_id))
    given = [(span["member_id"], *partition) for span in found for partition in partitions(span)]
    assert [(id, *partition) for id in order for partition in expected[id]] == given


def assert_moves(row: Row, found: list[Row], plan: list[Row]) -> None:
    """Check that the moves lead from the current assignment to the plan."""
    held: dict[tuple[str, int], set[str | None]] = {}
    for run in row["current"] if None not in (row["cluster"], row["group_id"]) else ():
        if None not in (run["member_id"], run["topic"]):
            for partition in partitions(run):
                held.setdefault(partition, set()).add(run["member_id"])
    for move in found:
        for partition in partitions(move):
            holders = held.setdefault(partition, set())
            if move["from_member"] is None:
                assert not holders
            else:
                holders.remove(move["from_member"])
    for move in found:
        assert move["from_member"] != move["to_member"]
        for partition in partitions(move):
            held[partition] |= {move["to_member"]} - {None}
    assert {p: {run["member_id"]} for run in plan for p in partitions(run)} == {
        p: who for p, who in held.items() if who
    }


def partitions(run: Row) -> list[tuple[str, int]]:
    return [(run["topic"], id) for id in range(run["start"], run["start"] + run["count"])]


REJECTIONS = (
    "must have Kafka's form",
    "has the same topic_id",
    "given twice",
    "has no name",
    "partitions must be 0 or more",
    "a subscribed topic is null",
    "are not a range of partition ids",
    "dialect must be one of",
    "give topics or a pattern, not both",
    " pattern '",
)
"""Messages with which a drawn fleet may be rejected; any other error is a failure."""


def ask(fleet: Fleet, verb: str, *arguments: Any) -> Outcome:
    """Return the outcome of the Rust core for a fleet."""
    return outcome_of(verb, clusters(*fleet.clusters), groups(*fleet.groups), *arguments)


def is_rejected(found: Outcome) -> bool:
    """Return True if the core rejected a fleet; raise AssertionError if the reason is not a known one."""
    if not found.type.endswith("Error"):
        return False
    assert any(reason in found.answer for reason in REJECTIONS), found
    return True


def answered(fleet: Fleet, verb: str, *arguments: Any) -> list[Any]:
    """Return the answer of the Rust core, a row per group; skip the example if it rejects the fleet."""
    found = ask(fleet, verb, *arguments)
    if is_rejected(found):
        reject()
    assert len(found.answer) == len(fleet.groups)
    answer: list[Any] = found.answer
    return answer


@given(fleets())
def test_assign_gives_each_group_the_same_answer_as_a_call_for_this_group_alone(fleet: Fleet) -> None:
    found = answered(fleet, "assign")

    for row, spans in zip(fleet.groups, found, strict=True):
        assert_assignment(fleet.clusters, row, spans)


@given(fleets())
def test_moves_lead_from_the_current_assignment_to_the_plan(fleet: Fleet) -> None:
    found, plans = answered(fleet, "moves"), answered(fleet, "assign")

    for row, runs, plan in zip(fleet.groups, found, plans, strict=True):
        if all((run["count"] or 0) < 100 for run in row["current"]):
            if plan or assignor_of(row):
                assert_moves(row, runs, plan)
            else:
                assert [] == runs


@given(fleets())
def test_all_member_rows_are_counted(fleet: Fleet) -> None:
    for row, found in zip(fleet.groups, answered(fleet, "balance"), strict=True):
        assert len(row["members"]) == found["members"] + found["unnamed_members"]


@given(fleets())
def test_a_scenario_without_steps_ends_with_its_initial_plan(fleet: Fleet) -> None:
    nothing: list[Any] = [("nothing", None, [])]
    outcomes = answered(fleet, "what_if", nothing)
    unchanged = {"scenario": "nothing", "rebalances": 0, "moved": 0}

    for row, found, [outcome] in zip(fleet.groups, answered(fleet, "balance"), outcomes, strict=True):
        if found["computed_as"] is None and found["members"]:
            assert {"scenario": "nothing", "rebalances": None, "moved": None} | found == outcome
        elif found["computed_as"] == "cooperative-sticky" and row["current"]:
            # A scenario starts after the follow-up rebalances, when withheld partitions have owners.
            assert unchanged.items() <= outcome.items()
            assert outcome["unowned"] <= found["unowned"]
        else:
            assert unchanged | found == outcome


def test_an_unexpected_error_is_a_failure() -> None:
    with pytest.raises(AssertionError):
        is_rejected(Outcome("IllegalArgumentError", "another reason"))
    assert is_rejected(
        ask(Fleet(KNOWN, [GROUP, GROUP | {"members": [a_member("a", "t"), a_member("a", "t")]}]), "assign")
    )


KNOWN = [a_cluster({"t": 4, "u": 1})]
GROUP = a_group(
    a_member("a", "t"), a_member("b", "t", "u"), current=[("b", "t", 0, 3), ("a", "t", 3, 1), ("x", "u", 0, 2)]
)


def spoiled(rows: list[Row], how: str) -> list[Row]:
    """Return an answer with a change in its first row."""
    first, *rest = rows
    match how:
        case "missing":
            return rest
        case "twice":
            return [first, *rows]
        case "late":
            return [*rest, first]
        case "elsewhere":
            return [{**first, "start": first["start"] + 1}, *rest]
        case "shorter":
            return [{**first, "count": first["count"] - 1}, *rest]
    return [{**first, "member_id": "c", "to_member": "c"}, *rest]


@pytest.mark.parametrize("how", ["missing", "twice", "late", "elsewhere", "shorter", "another member's"])
def test_a_wrong_assignment_is_detected(how: str) -> None:
    [found] = answered(Fleet(KNOWN, [GROUP]), "assign")
    assert_assignment(KNOWN, GROUP, found)

    with pytest.raises(AssertionError):
        assert_assignment(KNOWN, GROUP, spoiled(found, how))
    assert 3 == len(found)


@pytest.mark.parametrize("how", ["missing", "twice", "elsewhere", "shorter", "another member's"])
def test_wrong_moves_are_detected(how: str) -> None:
    [found], [plan] = answered(Fleet(KNOWN, [GROUP]), "moves"), answered(Fleet(KNOWN, [GROUP]), "assign")
    assert_moves(GROUP, found, plan)

    with pytest.raises((AssertionError, KeyError)):
        assert_moves(GROUP, spoiled(found, how), plan)
    assert 4 == len(found)
