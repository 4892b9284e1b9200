"""Metrics of a watch: which groups have labels, counters before their first event, and the alert rules of the docs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assignor.lag import GROUP_LAG
from assignor.replay.event_text import PROBLEMS
from assignor.replay.metric_labels import OTHERS, GroupLabels, Weight
from assignor.replay.metrics import WatchMetrics
from tests.live.alert_rules import Samples, firing, label_names, names, rules, scrape
from tests.live.all_metrics import all_metrics, label_names_of
from tests.live.stuck import COMMITTED, LAST, Measuring, silent
from tests.live.test_watcher import LATER, batch, commit, generation, in_a_storm, record, started
from tests.support.record_bytes import write_record

if TYPE_CHECKING:
    from assignor.replay.watcher import Watcher


def metrics_of(watcher: Watcher, most_groups: int = 10) -> WatchMetrics:
    found = WatchMetrics(watcher, threading.Lock(), most_groups)
    found.checked = 100.0
    return found


def scraped(watcher: Watcher) -> Samples:
    return scrape(list(metrics_of(watcher).collect()))


def labelled(metrics: WatchMetrics) -> set[str]:
    found = scrape(list(metrics.collect()))["assignor_group_members"]
    return {dict(labels)["group"] for labels in found}


# ---- labels


def weights(**given: tuple[bool, int, int]) -> list[Weight]:
    return [Weight(group, *weight) for group, weight in given.items()]


IDLE = (False, 0, 0)


def test_labels_go_to_problems_then_members_then_lag() -> None:
    found = weights(a=IDLE, b=(False, 0, 5), c=(False, 0, 9), d=(False, 1, 0), e=(True, 0, 0), f=IDLE)
    order: list[set[str]] = []
    for most in range(1, 7):
        labels = GroupLabels(most)
        labels.choose(found)
        order.append(labels.groups - set().union(*order))

    assert [{"e"}, {"d"}, {"c"}, {"b"}, {"a"}, {"f"}] == order


def test_a_group_keeps_its_label_among_equals() -> None:
    labels = GroupLabels(2)
    labels.choose(weights(a=(False, 3, 9), b=(False, 1, 0), c=(False, 2, 1)))
    assert {"a", "c"} == labels.groups

    for lag in (5, 50, 500):
        assert set() == labels.choose(weights(a=(False, 3, 0), b=(False, 9, lag), c=(False, 2, 0)))
    assert {"c"} == labels.choose(weights(a=(False, 3, 0), b=(False, 9, 0), c=IDLE))
    assert {"a", "b"} == labels.groups


def test_a_group_with_a_problem_displaces_one_without() -> None:
    labels = GroupLabels(1)
    labels.choose(weights(a=(False, 3, 9)))

    assert {"a"} == labels.choose(weights(a=(False, 3, 9), b=(True, 0, 0)))
    assert ("b", OTHERS) == (labels.of("b"), labels.of("a"))


def test_empty_groups_have_no_series_while_live_groups_lack_them() -> None:
    watcher = started()
    watcher.push(batch(*(commit(number, 1_000, group=f"idle-{number}") for number in range(9))), {3: 9})
    metrics = metrics_of(watcher, most_groups=3)
    assert 4 == len(labelled(metrics))
    rows = [generation(9 + number, 2_000, 1, group=f"live-{number}") for number in range(3)]
    metrics.observe(watcher.push(batch(*rows), {3: 12}))

    assert {"live-0", "live-1", "live-2", OTHERS} == labelled(metrics)
    metrics.lag = pa.Table.from_pylist(
        [{**dict.fromkeys(GROUP_LAG.names, 0), "group_id": "idle-4", "lag": 90}], GROUP_LAG
    )
    assert {"live-0", "live-1", "live-2", OTHERS} == labelled(metrics)
    sums = scrape(list(metrics.collect()))["assignor_group_lag_offsets"]
    assert {frozenset({("group", OTHERS)}): 90} == sums


# ---- counters


def test_counters_exist_at_0_before_the_first_event() -> None:
    watcher = started()
    watcher.push(batch(generation(0, 1_000, 1)), {3: 1})
    metrics = metrics_of(watcher)
    before = scrape(list(metrics.collect()))
    metrics.observe(
        watcher.push(batch(*(generation(n, 1_000 + n, n) for n in range(1, 25)), commit(25, 2_000)), {3: 26})
    )
    metrics.observe(watcher.push(batch(commit(26, 2_001, 3)), {3: 27}))
    after = scrape(list(metrics.collect()))

    for name in ("assignor_group_rebalances_total", "assignor_storms_total", "assignor_offset_problems_total"):
        assert set(after[name]) == set(before[name]), name
        assert {0.0} == set(before[name].values())
    assert {"billing"} == {dict(labels)["group"] for labels in before["assignor_rebalances_total"]}
    assert [23] == list(after["assignor_group_rebalances_total"].values())
    assert [1] == list(after["assignor_storms_total"].values())
    problems = {dict(labels)["problem"]: value for labels, value in after["assignor_offset_problems_total"].items()}
    assert dict.fromkeys(PROBLEMS, 0) | {"went_back": 1} == problems


def test_counters_of_a_group_end_with_its_label_and_begin_at_0() -> None:
    watcher = started()
    metrics = metrics_of(watcher, most_groups=1)
    metrics.observe(watcher.push(batch(generation(0, 1_000, 1, group="a")), {3: 1}))
    list(metrics.collect())
    watcher.conditions.of("b").growing_since = 5
    metrics.observe(watcher.push(batch(generation(1, 1_000, 1, group="b")), {3: 2}))
    found = scrape(list(metrics.collect()))["assignor_group_rebalances_total"]

    assert {"b": 0, OTHERS: 1} == {dict(labels)["group"]: value for labels, value in found.items()}


# ---- alert rules


def test_the_rules_use_existing_metrics_and_labels() -> None:
    known = all_metrics()

    assert 7 <= len(rules())
    for alert, rule in rules().items():
        assert {"alert", "expr", "for", "labels", "annotations"} <= rule.keys(), alert
        used = names(rule["expr"])
        assert used, alert
        assert set() == used - known.keys(), alert
        assert label_names(rule) <= label_names_of(known, used), alert


def test_no_rule_fires_for_a_healthy_group() -> None:
    watcher = started()
    watcher.push(batch(generation(0, 1_000, 1), commit(1, 1_000)), {3: 2})
    metrics = metrics_of(watcher)
    found = scrape(list(metrics.collect()))

    assert {} == {alert: fired for alert, rule in rules().items() if (fired := firing(rule["expr"], found, found, 110))}


def fires(alert: str, now: Samples, before: Samples | None = None, seconds: float = 110) -> list[str | None]:
    """Return the groups for which a rule fires."""
    found = firing(rules()[alert]["expr"], now if before is None else before, now, seconds)
    return [labels.get("group") for labels in found]


def test_the_rule_of_stuck_members_needs_waiting_records() -> None:
    watcher = silent()
    lag = Measuring(watcher)
    for at in range(LAST, LATER, 50_000):
        lag.measure(at, COMMITTED)
    assert {} != watcher.conditions.groups["billing"].silent
    assert [] == fires("StuckMember", scraped(watcher))

    lag.measure(LATER, COMMITTED + 1)
    assert [] == fires("StuckMember", scraped(watcher))
    lag.measure(LATER + 50_000, COMMITTED + 1)
    assert ["billing"] == fires("StuckMember", scraped(watcher))

    watcher.push(batch(commit(50, 3 * LATER, COMMITTED + 1)), {3: 51}, received=3 * LATER)
    assert [] == fires("StuckMember", scraped(watcher))


def test_the_rules_of_conditions_fire_for_their_group() -> None:
    assert ["billing"] == fires("RebalanceStorm", scraped(in_a_storm()))
    watcher = started()
    watcher.push(batch(generation(0, 1_000, 1), generation(1, 1_000, 1, group="other")), {3: 2})
    condition = watcher.conditions.of("billing")
    condition.unowned = 3
    condition.rebalancing_since = condition.growing_since = 5

    found = scraped(watcher)

    for alert in ("PartitionsWithoutOwner", "LongRebalance", "LagGrows"):
        assert ["billing"] == fires(alert, found), alert


def test_the_rule_of_frequent_rebalances_counts_from_the_first_rebalance() -> None:
    watcher = started()
    watcher.push(batch(generation(0, 1_000, 1), generation(1, 1_000, 1, group="other")), {3: 2})
    metrics = metrics_of(watcher)
    before = scrape(list(metrics.collect()))
    rows = [generation(number, 70_000 * number, number) for number in range(2, 13)]
    metrics.observe(watcher.push(batch(*rows[:-1]), {3: 12}))
    assert [] == fires("FrequentRebalances", scrape(list(metrics.collect())), before)

    metrics.observe(watcher.push(batch(rows[-1]), {3: 13}))
    assert ["billing"] == fires("FrequentRebalances", scrape(list(metrics.collect())), before)


@pytest.mark.parametrize(("checked", "seconds", "expected"), [(100.0, 160, 0), (100.0, 161, 1), (None, 110, 1)])
def test_the_rule_of_the_watch_itself(checked: float | None, seconds: float, expected: int) -> None:
    metrics = metrics_of(started())
    metrics.checked = checked

    assert expected == len(fires("GroupsNotWatched", scrape(list(metrics.collect())), seconds=seconds))


def test_a_deleted_group_has_no_series() -> None:
    watcher = started()
    rows: list[dict[str, Any]] = [generation(0, 1_000, 1), record(1, 2_000, 3, write_record(2, {"group": "billing"}))]
    metrics = metrics_of(watcher)
    metrics.observe(watcher.push(batch(*rows), {3: 2}))

    found = scrape(list(metrics.collect()))

    assert not [name for name, series in found.items() for labels in series if ("group", "billing") in labels]
