"""Metrics of lag in time: their values, and the limit of their series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.replay.lag_metrics import OTHER, LagMetrics
from assignor.replay.metric_labels import OTHERS

if TYPE_CHECKING:
    from collections.abc import Mapping

Row = dict[str, Any]


def group(name: str, **values: float | None) -> Row:
    fields = dict.fromkeys(("behind_seconds", "growth_per_second", "catch_up_seconds", "deleted_in_seconds"))
    return {"group_id": name, **fields, **values}


def member(name: str, id: str, lag: int | None, behind: float | None = None) -> Row:
    return {"group_id": name, "member_id": id, "lag": lag, "behind_seconds": behind}


def samples(metrics: LagMetrics, labels: Mapping[str, str]) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the values of each metric by the values of its labels."""
    return {
        family.name: {tuple(sample.labels.values()): sample.value for sample in family.samples}
        for family in metrics.collect(labels)
    }


def test_a_value_that_is_not_known_has_no_series() -> None:
    metrics = LagMetrics()
    metrics.sums = {"group": [group("a", behind_seconds=4.0, growth_per_second=-1.0), group("b", behind_seconds=0.0)]}

    found = samples(metrics, {"a": "a", "b": "b"})

    assert {("a",): 4.0, ("b",): 0.0} == found["assignor_group_lag_seconds"]
    assert {("a",): -1.0} == found["assignor_group_lag_growth_per_second"]
    assert {} == found["assignor_group_catch_up_seconds"] == found["assignor_group_deletion_seconds"]


def test_groups_without_a_label_of_their_own_are_summed_up_and_gone_ones_are_left_out() -> None:
    metrics = LagMetrics()
    groups = [group(name, behind_seconds=4.0 + number, growth_per_second=2.0) for number, name in enumerate("abcd")]
    topics = [{**member(name, "", 7, 3.0), "topic": "t"} for name in "abcd"]
    metrics.sums = {"group": groups, "topic": topics}

    found = samples(metrics, {"a": "a", "b": OTHERS, "c": OTHERS})

    assert {("a",): 4.0, (OTHERS,): 6.0} == found["assignor_group_lag_seconds"]
    assert {("a",): 2.0, (OTHERS,): 4.0} == found["assignor_group_lag_growth_per_second"]
    assert {("a", "t"): 7, (OTHERS, OTHER["topic"]): 14} == found["assignor_group_topic_lag_offsets"]
    assert {("topic",): 2, ("member",): 0} == found["assignor_lag_series_left_out"]


def test_the_members_with_the_highest_lag_have_series_and_the_others_one_of_their_group() -> None:
    metrics = LagMetrics(most=2)
    metrics.sums = {"member": [member("g", str(number), number, float(number)) for number in range(1, 6)]}

    found = samples(metrics, {"g": "g"})

    others = ("g", OTHER["member"])
    assert {("g", "5"): 5, ("g", "4"): 4, others: 6} == found["assignor_member_lag_offsets"]
    assert {("g", "5"): 5.0, ("g", "4"): 4.0, others: 3.0} == found["assignor_member_lag_seconds"]
    assert {("topic",): 0, ("member",): 3} == found["assignor_lag_series_left_out"]


def test_a_member_loses_its_series_only_to_one_with_twice_its_lag() -> None:
    metrics = LagMetrics(most=1)
    shown = []
    for lags in ((5, 4), (5, 9), (5, 12), (5, 12)):
        metrics.sums = {"member": [member("g", name, lag) for name, lag in zip("ab", lags, strict=True)]}
        offsets = samples(metrics, {"g": "g"})["assignor_member_lag_offsets"]
        shown += [name for _, name in offsets if name != OTHER["member"]]

    assert ["a", "a", "b", "b"] == shown
