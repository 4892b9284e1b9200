"""Tests of the reports, with made-up figures, and of the checks before timing."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from assignor import PartitionInfo, plan
from benches import matching, patterns, report_sections, subscription_states
from benches.implementations import IMPLEMENTATIONS, WrongAnswerError
from benches.java_process import JavaMissingError, checksum
from benches.memory import Use
from benches.report_output import Output, add_options
from benches.selections import SELECTIONS
from benches.tables import ReportSection, Table, shown
from benches.targets import OVER_JAVA, OVER_PEERS, TargetResult
from benches.timing import Pace, interleave, ratio
from benches.workloads import jmh


def test_a_section_shows_each_target_with_its_measured_value() -> None:
    text = list(made_up_section().text())

    assert text[-2:] == ["Java / plan     12.3x  >= 10x     met", "beyond it       30.0%  <= 20%  MISSED"]


def test_a_section_is_written_with_its_command_and_commit(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_options(parser, ["speed", "memory"])
    options = parser.parse_args(["--figures", str(tmp_path / "figures.json"), "--json", str(tmp_path / "times.json")])

    output = Output(options, "benches.spark", ["speed", "memory"], {"CPU": "fast"}, ["--quick"])
    output.add("memory", made_up_section(), {"3x1x6": [0.001, 0.002]})
    output.finish()

    written = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["memory"]
    assert {key: written[key] for key in ("command", "machine")} == {
        "command": "python -m benches.spark --quick --only memory",
        "machine": {"CPU": "fast"},
    }
    assert written.keys() >= {"commit", "uncommitted_changes"}
    assert written["tables"] == [
        {"head": ["group", "plan"], "rows": [["3x1x6", "1.00 / 2.00"]]},
        {
            "head": ["target", "measured", "wanted", ""],
            "rows": [["Java / plan", "12.3x", ">= 10x", "met"], ["beyond it", "30.0%", "<= 20%", "MISSED"]],
        },
    ]
    times = json.loads((tmp_path / "times.json").read_text(encoding="utf-8"))
    assert times["measured"] == {"memory": {"3x1x6": [0.001, 0.002]}}


def made_up_section() -> ReportSection:
    target_results = [TargetResult("Java / plan", 12.34, 10), TargetResult("beyond it", 30, 20, "%", "<=")]
    return ReportSection("Speed", "Made up.", Table(["group", "plan"], [["3x1x6", "1.00 / 2.00"]]), target_results)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.00123, "0.00123"), (0.0123, "0.0123"), (0.5, "0.500"), (9.99, "9.99"), (12345.6, "12,346")],
)
def test_figures_have_three_significant_digits(value: float, text: str) -> None:
    assert text == shown(value)


def test_implementations_take_turns_and_ratios_are_taken_within_a_round() -> None:
    turns: list[str] = []
    seconds = {"slow": [3.0, 4.0, 9.0, 10.0], "fast": [1.0, 2.0, 1.0, 2.0]}

    def sample(implementation: str) -> float:
        turns.append(implementation)
        return seconds[implementation][turns.count(implementation) - 1]

    times = interleave(
        {"slow": lambda _: sample("slow"), "fast": lambda _: sample("fast")}, Pace(seconds=0, fewest=3, most=9)
    )

    assert turns == ["slow", "fast"] * 4  # the first call is a warm-up
    assert times == {"slow": [4.0, 9.0, 10.0], "fast": [2.0, 1.0, 2.0]}
    assert ratio(times, "slow", "fast") == 5


def test_short_calls_are_repeated() -> None:
    asked: list[int] = []

    def sample(calls: int) -> float:
        asked.append(calls)
        return 2**-20

    interleave({"short": sample}, Pace(seconds=0, fewest=2, most=9))

    assert asked == [1, 2098, 2098]  # 2098 calls of 2**-20 s take two milliseconds


@pytest.mark.parametrize("selection", SELECTIONS)
def test_every_target_of_a_selection_can_be_measured(selection: str) -> None:
    chosen = SELECTIONS[selection]
    measured = [target for target in OVER_PEERS if (target.workload, target.shape) in chosen.peers]

    assert measured if selection == "quick" else measured == OVER_PEERS
    for target in OVER_PEERS:
        for name in (target.ours, target.peer):
            assert IMPLEMENTATIONS[name].takes(target.workload, target.shape)
    assert {target.ours for target in OVER_JAVA} <= set(IMPLEMENTATIONS)
    assert len(set(chosen.java)) == len(chosen.java)


def test_java_is_timed_on_the_grid_without_its_largest_points() -> None:
    points = Counter((point.racks, point.sizes, point.subscription) for point in SELECTIONS["default"].java)

    assert points == {
        ("none", "equal", "HOMOGENEOUS"): 8,
        ("none", "equal", "HETEROGENEOUS"): 8,
        ("two", "equal", "HOMOGENEOUS"): 5,
        ("two", "equal", "HETEROGENEOUS"): 5,
        ("two", "differ", "HOMOGENEOUS"): 5,
        ("two", "differ", "HETEROGENEOUS"): 5,
    }


def test_the_checksum_depends_on_owners_but_not_on_their_order() -> None:
    topics, members = {"t0": 3, "t1": 2}, {"a": ["t0", "t1"], "b": ["t0"]}
    turned = plan(dict(reversed(topics.items())), dict(reversed(members.items())))

    partitions, expected = checksum(plan(topics, members))
    assert partitions == 5
    assert (partitions, expected) == checksum(turned)
    assert (partitions, expected) != checksum(plan(topics, {"a": ["t0", "t1"], "c": ["t0"]}))
    assert (partitions, expected) != checksum(plan(topics, {"a": ["t0"], "b": ["t0", "t1"]}))


def test_without_java_the_section_has_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: int) -> None:
        raise JavaMissingError("mvn was not found")

    monkeypatch.setattr(report_sections, "JavaRangeAssignor", missing)

    section = report_sections.java(SELECTIONS["quick"], lambda _: None, {})

    assert list(section.text())[-1] == "Not timed: mvn was not found."


def test_memory_beyond_the_result_is_a_share_of_the_result() -> None:
    assert Use(before=100, alive=300, peak=330, collect=[]).beyond == pytest.approx(0.15)
    assert Use(before=None, alive=None, peak=None, collect=[]).beyond is None


@pytest.mark.parametrize("implementation", subscription_states.installed())
@pytest.mark.parametrize("operation", [*subscription_states.OPERATIONS, *subscription_states.ASSIGNMENTS])
def test_a_subscription_state_is_timed_only_if_it_is_right(
    implementation: str, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not subscription_states.offers(implementation, operation):
        return
    subscription_states.prepare(implementation, operation, 3)()

    wrong = {"is_assigned": [True], "is_fetchable": [True], "fetchable_partitions": [], "all_consumed": {}}
    method = operation if operation in wrong else "position"
    if operation in subscription_states.ASSIGNMENTS:
        method, wrong = "assigned", {"assigned": set()}
    monkeypatch.setattr(subscription_states.HOLDERS[implementation], method, lambda *_: wrong.get(method))
    with pytest.raises(WrongAnswerError, match=f"{implementation} is wrong about {operation}"):
        subscription_states.prepare(implementation, operation, 3)


def test_columns_have_the_racks_of_the_partitions() -> None:
    workload = jmh(4, 2, 2, racks="two", sizes="differ")
    columns = workload.topic_columns()

    assert columns.rack_set is not None
    rack_sets = list(columns.rack_sets)
    racks = [rack_sets[index] for index in np.asarray(columns.rack_set)]
    infos = [info for partitions in workload.partitions_per_topic().values() for info in _listed(partitions)]
    assert racks == [info.racks for info in infos]


def _listed(partitions: object) -> list[PartitionInfo]:
    assert isinstance(partitions, list)
    return partitions


def test_random_patterns_and_names_are_distinct_and_reproducible() -> None:
    names = patterns.names(500)
    texts = patterns.patterns(200, names)

    assert (500, 200) == (len(set(names)), len(set(texts)))
    assert (names, texts) == (patterns.names(500), patterns.patterns(200, names))


def test_all_implementations_match_the_same_topics() -> None:
    names = patterns.names(300)
    texts = patterns.patterns(40, names)
    right = matching.with_re(texts, names)()

    assert {"resolve", "TopicMatcher", "re"} <= matching.available().keys()
    assert sum(map(len, right)) > 40
    for name, implementation in matching.available().items():
        assert right == implementation(texts, names)(), name


def test_an_implementation_that_matches_other_topics_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(texts: list[str], topics: list[str]) -> object:
        return lambda: [[*topics] for _ in texts]

    monkeypatch.setattr(matching, "available", lambda: {"resolve": wrong})
    monkeypatch.setattr(matching, "JavaPatterns", _missing)

    with pytest.raises(WrongAnswerError, match="resolve does not match what re matches"):
        matching.matching(SELECTIONS["quick"], lambda _: None, {})


def _missing() -> None:
    raise JavaMissingError("mvn was not found")
