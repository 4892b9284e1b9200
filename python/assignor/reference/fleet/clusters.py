"""`Clusters` with the interface of the Rust core: methods take a column of groups and return a column of answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assignor.errors import IllegalArgumentError
from assignor.ordering import java_order
from assignor.reference.fleet import columns
from assignor.reference.fleet.balance import balance
from assignor.reference.fleet.current import current_plan
from assignor.reference.fleet.moves import moves
from assignor.reference.fleet.owned import spans
from assignor.reference.fleet.reading import read_clusters, read_current, read_group
from assignor.reference.fleet.roster import Plan, kafka_order
from assignor.reference.fleet.scenario import SimulatedGroup, check_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.columns import ArrowArray
    from assignor.reference.fleet.reading import Group, Row
    from assignor.reference.fleet.scenario import Step

    Scenario = tuple[str, list[str] | None, list[Step]]

COLUMN_BYTES = 1 << 27


class Clusters:
    """Topics of all clusters of a fleet; `assignor.spark.schemas` describes the columns of groups and answers.

    All answers are returned in one column, regardless of `column_bytes`.
    """

    def __init__(self, clusters: ArrowArray) -> None:
        lists = columns.rows(clusters, columns.CLUSTERS, "clusters")
        self._clusters = read_clusters(columns.all_rows(lists))

    def resolve(self, groups: ArrowArray, *, column_bytes: int = COLUMN_BYTES) -> list[Any]:  # noqa: ARG002  # the core's method has it
        """Return the topics of each member, in Java's order; members are in Kafka's order."""
        return self._each(groups, columns.RESOLVED, lambda _row, group: resolved(group))

    def assign(self, groups: ArrowArray, *, column_bytes: int = COLUMN_BYTES) -> list[Any]:  # noqa: ARG002  # as above
        """Return the assignments: members in Kafka's order, partitions by topic and id."""
        return self._each(groups, columns.ASSIGNMENT, lambda _row, group: assignment(plan_of(group)))

    def balance(self, groups: ArrowArray, *, column_bytes: int = COLUMN_BYTES) -> list[Any]:  # noqa: ARG002  # as above
        """Return the balance of the plans."""
        return self._each(groups, columns.BALANCE, lambda _row, group: balance(plan_of(group), group, group.assignor))

    def current_balance(self, groups: ArrowArray, *, column_bytes: int = COLUMN_BYTES) -> list[Any]:  # noqa: ARG002  # as above
        """Return the balance of the current assignments."""

        def answer(row: Row, group: Group) -> Row:
            return balance(current_plan(group, read_current(row, group.name)), group, None)

        return self._each(groups, columns.BALANCE, answer)

    def problems(self, groups: ArrowArray, *, column_bytes: int = COLUMN_BYTES) -> list[Any]:  # noqa: ARG002  # as above
        """Return the reasons why groups cannot be computed."""
        reasons = columns.PROBLEMS
        return self._each(groups, reasons, lambda _row, group: [group.not_computed] if group.not_computed else [])

    def moves(self, groups: ArrowArray, *, column_bytes: int = COLUMN_BYTES) -> list[Any]:  # noqa: ARG002  # as above
        """Return the moves from the current assignments to the plans."""

        def answer(row: Row, group: Group) -> list[Row]:
            current, plan = read_current(row, group.name), plan_of(group)
            return [move._asdict() for move in moves(current, plan)] if plan is not None else []

        return self._each(groups, columns.MOVES, answer)

    def what_if(
        self,
        groups: ArrowArray,
        scenarios: list[Scenario],
        *,
        column_bytes: int = COLUMN_BYTES,  # noqa: ARG002  # as above
    ) -> list[Any]:
        """Return the outcomes of the scenarios of each group: those that name the group, and those for all groups."""
        check_steps(scenarios)

        def answer(row: Row, group: Group) -> list[Row]:
            concerned = [(name, steps) for name, ids, steps in scenarios if concerns(ids, row)]
            return [outcome(name, steps, group) for name, steps in concerned]

        return self._each(groups, columns.OUTCOMES, answer)

    def assign_after(
        self,
        groups: ArrowArray,
        scenarios: list[Scenario],
        *,
        column_bytes: int = COLUMN_BYTES,  # noqa: ARG002  # as above
    ) -> list[Any]:
        """Return the assignments after a scenario; no rows for groups that it does not name."""
        check_steps(scenarios)
        if len(scenarios) != 1:
            raise IllegalArgumentError(f"assign_after needs one scenario, not {len(scenarios)}")
        [(name, ids, steps)] = scenarios

        def answer(row: Row, group: Group) -> list[Row]:
            if not concerns(ids, row):
                return []
            simulated = play(name, steps, group)
            return assignment(simulated.plan if simulated.is_computed else None)

        return self._each(groups, columns.ASSIGNMENT, answer)

    def _each(self, groups: ArrowArray, kind: Any, answer: Callable[[Row, Group], Any]) -> list[Any]:
        rows = [row or {} for row in columns.rows(groups, columns.GROUPS, "groups")]
        return columns.column([answer(row, read_group(row, self._clusters)) for row in rows], kind)


def check_steps(scenarios: list[Scenario]) -> None:
    """Raise the error of the first invalid step of the scenarios."""
    for _, _, steps in scenarios:
        for step in steps:
            check_step(step)


def concerns(ids: list[str] | None, row: Row) -> bool:
    """Return True if a scenario changes the group of a row; `ids` are the groups of the scenario, None for all."""
    return ids is None or row.get("group_id") in ids  # a group without an id is not the group ""


def plan_of(group: Group) -> Plan | None:
    """Return the plan of a group's next rebalance; None if the group cannot be computed."""
    if not group.roster:
        return Plan.from_owned([], group.cluster, [])
    return group.assignor and Plan.of(group.roster, group.cluster, group.assignor, group.owned)


def resolved(group: Group) -> list[Row]:
    """Return a row per member."""
    return [
        {
            "member_id": member.id,
            "group_instance_id": member.instance_id,
            "rack": member.rack,
            "topics": sorted(member.topics & group.cluster.topics.keys(), key=java_order),
            "assignor": member.assignor,
            "group_protocol": member.group_protocol,
            "generation": member.generation,
            "unknown_topics": sorted(member.topics - group.cluster.topics.keys(), key=java_order),
        }
        for member in kafka_order(group.roster)
    ]


def assignment(plan: Plan | None) -> list[Row]:
    """Return a row per span of partitions; no rows for a group that cannot be computed."""
    if plan is None:
        return []
    return [
        {"member_id": member.id, **span._asdict()}
        for member in kafka_order(plan.roster)
        for span in spans(plan.assignment[member.id])
    ]


def play(name: str, steps: list[Step], group: Group) -> SimulatedGroup:
    """Return a group after a scenario."""
    simulated = SimulatedGroup(group)
    for step in steps:
        try:
            simulated.apply(step)
        except IllegalArgumentError as error:
            raise IllegalArgumentError(f"{group.name}: scenario '{name}': {error}") from None
    return simulated


def outcome(name: str, steps: list[Step], group: Group) -> Row:
    """Return the outcome of a scenario for a group."""
    simulated = play(name, steps, group)
    plan = simulated.plan if simulated.is_computed or not group.roster else None
    end = balance(plan, replace(group, roster=simulated.roster, cluster=simulated.cluster), simulated.assignor)
    if plan is None:
        return {"scenario": name, "rebalances": None, "moved": None, **end}
    return {"scenario": name, "rebalances": simulated.rebalances, "moved": simulated.moved, **end}
