"""Command `assignor what-if`: how changes to a group move partitions and load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from assignor.cli.inputs import GroupInput, add_group_input, read_group
from assignor.cli.output import add_format
from assignor.dependencies import dependency
from assignor.errors import AssignorError, IllegalArgumentError
from assignor.lines import escape, format_count, format_spans, spans_of
from assignor.names import AssignorName, GroupProtocol
from assignor.terminal import print_json, print_line
from assignor.validation import shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping

    from assignor.spark.scenario import Scenario

_NOW = "no change"
"""Name of the first outcome, that of a scenario without steps."""

_COLUMNS = ("rebalances", "moved", "members", "partitions", "unowned", "idle_members", "least_loaded", "most_loaded")
"""Columns of the text."""

BY_WEIGHT = (
    *("unweighted", "least_weight", "most_weight", "mean_weight", "most_weight_member", "weight_bound"),
    "packed_weight",
)
"""Columns of an outcome that only weights give."""

_MEMBERS_SHOWN = 20
"""Highest number of members whose changes the text of a scenario lists; the JSON form lists all."""

_NAMES_SHOWN = 10
"""Highest number of members or topics in a line about patterns; the JSON form has all."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Predict the outcome of scenarios: how often the group rebalances, how many partitions move, the balance "
        "afterwards, and the members whose partitions change. A scenario is a list of steps; each is followed by the "
        "rebalances that it causes. The first outcome is the group without a change. If a switch of the group protocol "
        "changes what the patterns of members mean, the answer says which topics they gain and lose."
    )
    add_group_input(command)
    command.add_argument(
        "--step",
        action="append",
        default=[],
        metavar="STEP",
        help="step of one scenario, in the order given: add_members=2, remove_members=1, grow_partitions=TOPIC:12, "
        "multiply_partitions=2, add_topic=TOPIC:6, set_racks=r1,r2, make_static, rolling_restart, use=sticky, "
        'use=consumer/uniform. The input may have more scenarios: "scenarios": {"two more": ["add_members=2"]}',
    )
    add_format(command, default="json")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    group = read_group(options)
    scenarios = scenarios_of(group, _named(group))
    if options.step:
        scenarios.append(_scenario(", ".join(options.step), options.step, group, "--step"))
    if len(scenarios) == 1:
        raise IllegalArgumentError(f"{group.place} has no scenarios: give --step, or the key scenarios")
    found = outcomes(group, scenarios)
    if options.format == "json":
        print_json(found)
    else:
        _print_text(found)
    return 0


def _named(group: GroupInput) -> dict[str, list[str]]:
    """Return the steps of the scenarios in the input, by name."""
    named = group.others.get("scenarios", {})
    if not isinstance(named, dict):
        raise IllegalArgumentError(f"{group.place}: scenarios must be an object of names and steps, not {shown(named)}")
    for name, steps in named.items():
        if not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
            raise IllegalArgumentError(
                f"{group.place}: scenario {name!r} must be a list of steps, such as "
                f'["add_members=2"], not {shown(steps)}'
            )
    return named


def scenarios_of(group: GroupInput, named: Mapping[str, Iterable[str]]) -> list[Scenario]:
    """Return the scenario without steps, and one for each list of steps such as `add_members=2`.

    Raises:
        IllegalArgumentError: A step is unknown, cannot be read, or does not fit the group.
    """
    from assignor.spark.scenario import Scenario

    rest = [_scenario(name, steps, group, f"{group.place}: scenario {name!r}") for name, steps in named.items()]
    return [Scenario(_NOW), *rest]


def _scenario(name: str, steps: Iterable[str], group: GroupInput, place: str) -> Scenario:
    from assignor.spark.scenario import Scenario

    found = Scenario(name)
    for text in steps:
        method, _, value = text.partition("=")
        step = _STEPS.get(method.replace("-", "_"))
        if step is None:
            raise IllegalArgumentError(f"{place}: unknown step {shown(text)}; the steps are {', '.join(_STEPS)}")
        try:
            found = step.add(found, value)
        except AssignorError as error:
            raise IllegalArgumentError(f"{place}: {error}") from error
        except (ValueError, KeyError) as error:
            raise IllegalArgumentError(
                f"{place}: cannot read step {shown(text)}; write it as {step.example}"
            ) from error
    _check_steps(found, group, place)
    return found


def _check_steps(scenario: Scenario, group: GroupInput, place: str) -> None:
    """Raise an error if `grow_partitions` has an unknown topic or no higher count, or if a step removes all members."""
    members = len(group.subscriptions)
    counts = {
        topic: given if isinstance(given, int) else len(given)
        for topic, given in group.partitions_per_topic.items()
        if isinstance(given, (int, list))  # other values are reported with the group
    }
    for step in scenario.steps:
        match step:
            case "add_members", count:
                members += count
            case "remove_members", count:
                if count >= members:
                    has = format_count(members, "member")
                    raise IllegalArgumentError(
                        f"{place}: remove_members={count}: the group has {has} before this step; "
                        "at least one must remain"
                    )
                members -= count
            case "multiply_partitions", factor:
                counts = {topic: count * factor for topic, count in counts.items()}
            case "add_topic", topic, count:
                counts.setdefault(topic, count)
            case "grow_partitions", topic, count:
                at = f"{place}: grow_partitions={topic}:{count}: topic {shown(topic)}"
                if topic not in counts:
                    raise IllegalArgumentError(f"{at} is not in partitions_per_topic; add it with add_topic")
                if count <= counts[topic]:
                    has = format_count(counts[topic], "partition")
                    raise IllegalArgumentError(f"{at} has {has} before this step; the new count must be higher")
                counts[topic] = count


def _topic_count(value: str) -> tuple[str, int]:
    topic, _, count = value.partition(":")
    return topic, int(count)


def _restart(scenario: Scenario, value: str) -> Scenario:
    return scenario.rolling_restart(instance_ids={"": None, "static": True, "dynamic": False}[value])


def _use(scenario: Scenario, value: str) -> Scenario:
    protocol, slash, assignor = value.rpartition("/")
    return scenario.use(cast(AssignorName, assignor), cast(GroupProtocol, protocol if slash else "classic"))


class _Step(NamedTuple):
    """Step of a scenario: an example of its text, and the function that adds the step, given the text after `=`."""

    example: str
    add: Callable[[Scenario, str], Scenario]


_STEPS = {
    "add_members": _Step("add_members=2", lambda scenario, value: scenario.add_members(int(value))),
    "remove_members": _Step("remove_members=1", lambda scenario, value: scenario.remove_members(int(value))),
    "grow_partitions": _Step(
        "grow_partitions=orders:12", lambda scenario, value: scenario.grow_partitions(dict([_topic_count(value)]))
    ),
    "multiply_partitions": _Step(
        "multiply_partitions=2", lambda scenario, value: scenario.multiply_partitions(int(value))
    ),
    "add_topic": _Step("add_topic=refunds:6", lambda scenario, value: scenario.add_topic(*_topic_count(value))),
    "set_racks": _Step("set_racks=r1,r2", lambda scenario, value: scenario.set_racks(value.split(","))),
    "make_static": _Step("make_static", lambda scenario, _: scenario.make_static()),
    "rolling_restart": _Step("rolling_restart, or rolling_restart=static", _restart),
    "use": _Step("use=sticky, or use=consumer/uniform", _use),
}
"""Steps by name; they are the methods of `assignor.spark.Scenario`."""


def outcomes(group: GroupInput, scenarios: list[Scenario]) -> list[dict[str, Any]]:
    """Return the outcome of each scenario: the columns that `Fleet.what_if` returns for a group, and `changes`."""
    with dependency("pyarrow"):
        import pyarrow as pa
    from assignor import _core, plan
    from assignor.single_group import cluster_column, group_column
    from assignor.spark.scenario import as_data

    if group.settings.get("prefer_rack_aware"):
        raise IllegalArgumentError(f"{group.place}: what-if does not support prefer_rack_aware; remove it")
    plan(group.partitions_per_topic, group.subscriptions, **group.settings)  # reports invalid input
    names: dict[str, Any] = {name: group.settings.get(name) for name in ("assignor", "group_protocol")}
    weights = group.others.get("weights")
    clusters = cluster_column(
        group.partitions_per_topic, topic_ids=group.settings.get("topic_ids"), weights=weights, place=group.place
    )
    groups = group_column(group.subscriptions, **names, place=group.place)
    engine = _core.Clusters(clusters)
    (column,) = engine.what_if(groups, as_data(scenarios))
    owned = []
    for scenario in scenarios:
        (spans,) = engine.assign_after(groups, as_data(scenario))
        owned.append(_owned(pa.array(spans).to_pylist()[0]))
    found = pa.array(column).to_pylist()[0]
    if weights is None:
        found = [{name: each[name] for name in each if name not in BY_WEIGHT} for each in found]
    return [{**outcome, "changes": _changes(owned[0], after)} for outcome, after in zip(found, owned, strict=True)]


def _owned(spans: list[dict[str, Any]]) -> dict[str, set[tuple[str, int]]]:
    """Return the partitions of each member that has some."""
    found: dict[str, set[tuple[str, int]]] = {}
    for span in spans:
        ids = range(span["start"], span["start"] + span["count"])
        found.setdefault(span["member_id"], set()).update((span["topic"], id) for id in ids)
    return found


def _changes(before: dict[str, set[tuple[str, int]]], after: dict[str, set[tuple[str, int]]]) -> list[dict[str, Any]]:
    """Return the members whose partitions change, with the numbers of partitions and the partitions that change."""
    found = []
    for member in dict.fromkeys([*before, *after]):
        old, new = before.get(member, set()), after.get(member, set())
        if old != new:
            changed = {"added": sorted(new - old), "revoked": sorted(old - new)}
            found.append({"member": member, "before": len(old), "after": len(new), **changed})
    return found


def _print_text(outcomes: list[dict[str, Any]]) -> None:
    weighted = ("most_weight", "mean_weight", "weight_bound", "packed_weight") if "most_weight" in outcomes[0] else ()
    rows = [["scenario", *(name.replace("_", " ") for name in (*_COLUMNS, *weighted))]]
    rows += [
        [
            escape(each["scenario"]),
            *("" if each[name] is None else f"{each[name]:,}" for name in _COLUMNS),
            *("?" if each[name] is None else f"{each[name]:,.1f}" for name in weighted),
        ]
        for each in outcomes
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for first, *numbers in rows:
        cells = [number.rjust(size) for number, size in zip(numbers, widths[1:], strict=True)]
        print_line("  ".join([first.ljust(widths[0]), *cells]))
    for outcome in outcomes[1:]:
        for problem in outcome["problems"]:
            print_line()
            print_line(f"{outcome['scenario']}: {problem}")
        _print_pattern_changes(outcome)
        _print_changes(outcome)


def _print_pattern_changes(outcome: dict[str, Any]) -> None:
    """Print the members whose patterns mean other topics after a switch of the group protocol, or cannot be used."""
    changes = outcome["pattern_changes"]
    if not changes:
        return
    members = len({member for change in changes for member in change["members"]})
    whose = f"the patterns of {format_count(members, 'member')}"
    print_line()
    print_line(f"{outcome['scenario']}: the other group protocol matches {whose} differently, or not at all")
    for change in changes:
        is_one = len(change["members"]) == 1
        verbs = {"gains" if is_one else "gain": "gained", "loses" if is_one else "lose": "lost"}
        parts = [f"{verb} {_some(change[key], 'topic')}" for verb, key in verbs.items() if change[key]]
        if change["problem"]:
            parts.append(change["problem"])
        elif change["sent"] is not None:
            parts.append(f"the broker matches '{change['sent']}' against whole names, by RE2/J")
        else:
            parts.append("the client matches the patterns again")
        print_line(f"  {_some(change['members'], 'member')}: {'; '.join(parts)}")


def _some(names: list[str], what: str) -> str:
    """Return the first names, and the number of the others."""
    more = len(names) - _NAMES_SHOWN
    return ", ".join([*names[:_NAMES_SHOWN], *([f"{format_count(more, f'more {what}')}"] if more > 0 else [])])


def _print_changes(outcome: dict[str, Any]) -> None:
    """Print the members whose partitions change."""
    changes = outcome["changes"]
    title = (
        f"partitions of {format_count(len(changes), 'member')} change" if changes else "no partition changes its owner"
    )
    print_line()
    print_line(f"{outcome['scenario']}: {title}")
    for change in changes[:_MEMBERS_SHOWN]:
        texts = [f"{change['before']:,} to {change['after']:,} partitions"]
        texts += [f"{what} {format_spans(spans_of(change[what]))}" for what in ("added", "revoked") if change[what]]
        print_line(f"  {change['member']}: {', '.join(texts)}")
    if len(changes) > _MEMBERS_SHOWN:
        print_line(f"  and {format_count(len(changes) - _MEMBERS_SHOWN, 'more member')}")
