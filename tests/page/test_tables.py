"""Tables of a page: which groups, members, findings and lag are shown, and how many are only counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor.page import PageData
from assignor.page import tables as limits
from assignor.page.data import MemberRow
from assignor.page.rebalance_details import LONGEST
from assignor.page.tables import (
    FIRST_GROUPS,
    MOST_FINDINGS,
    MOST_LAG_POINTS,
    MOST_LAG_ROWS,
    MOST_MEMBERS,
    MOST_REBALANCE_ROWS,
    tables,
)
from assignor.replay.silences import Silence, silence_events
from tests.page.made_events import finding, rebalance, reported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def test_groups_are_ranked_by_findings_then_by_rebalances() -> None:
    events = [rebalance(name, at) for name, count in (("busy", 3), ("calm", 1), ("bad", 1)) for at in range(count)]
    groups = [reported(name) for name in ("bad", "busy", "calm", "odd", "quiet")]
    findings = [finding("odd", "info"), finding("bad", "error")]

    found = tables(PageData("x", events, groups=groups, findings=findings))

    assert found.shown == ["bad", "odd", "busy", "calm", "quiet"]
    assert [row["severity"] for row in found.findings] == ["error", "info"]
    assert found.severities == {"error": 1, "warning": 0, "info": 1}


def test_all_groups_are_shown_and_the_first_ones_have_short_time_bins() -> None:
    events = [rebalance(f"g{number:05}", at * 1_000) for number in range(10_000) for at in (1, 30)]

    found = tables(PageData("x", events, records=7))

    assert len(found.shown) == 10_000
    assert found.total == {"records": 7, "groups": 10_000, "rebalances": 20_000, "storms": 0, "findings": 0}
    assert (found.step, found.other_step) == (1_000, 60_000)
    assert found.left_out["rebalances"] == 0
    assert [row["group"] for row in found.rebalances[:4]] == ["g00000", "g00001", "g00002", "g00003"]
    assert sum(row["rebalances"] for row in found.rebalances) == 20_000
    assert [(row["start"], row["rebalances"]) for row in found.totals] == [(1_000, 10_000), (30_000, 10_000)]


def test_rebalances_of_very_many_groups_are_only_counted() -> None:
    count = FIRST_GROUPS + MOST_REBALANCE_ROWS + 5

    found = tables(PageData("x", [rebalance(f"g{number:05}", 1_000) for number in range(count)]))

    assert (len(found.groups), len(found.rebalances), found.left_out["rebalances"]) == (count, count - 5, 5)
    assert "g00000" == found.rebalances[0]["group"]


def test_a_group_with_a_finding_and_nothing_else_is_shown() -> None:
    assert tables(PageData("x", [], findings=[finding("a", "error")])).shown == ["a"]


def test_members_and_partitions_are_read_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_MEMBERS_READ", 2 * (FIRST_GROUPS + 3))
    monkeypatch.setattr(limits, "MOST_PARTITIONS_READ", 5 * (FIRST_GROUPS + 2))
    groups = [reported(f"g{number:03}") for number in range(100)]
    asked: dict[str, int] = {}

    def rows(name: str) -> Callable[[Sequence[str]], list[Any]]:
        def read(groups: Sequence[str]) -> list[Any]:
            asked[name] = len(groups)
            return []

        return read

    found = tables(
        PageData("x", [], groups=groups, members=rows("members"), lag=rows("lag"), lag_over_time=rows("over time"))
    )

    assert asked == {"members": FIRST_GROUPS + 3, "lag": FIRST_GROUPS + 2, "over time": FIRST_GROUPS}
    assert found.left_out["members"] == 2 * (100 - FIRST_GROUPS - 3)
    assert found.left_out["lag_not_read"] == 100 - FIRST_GROUPS - 2


def test_each_rebalance_has_all_its_causes_with_the_evidence() -> None:
    events = [
        rebalance("a", 1_000, 1, causes=["consumer_closed", "consumer_dead"], evidence="Member m left."),
        rebalance("a", 1_500, 2, causes=["consumer_closed"], evidence="Member n left."),
    ]

    (row,) = tables(PageData("x", events)).rebalances

    assert row["details"].split("\n") == [
        "generation 1 at 1970-01-01 00:00:01.000: consumer_closed, consumer_dead. Member m left.",
        "generation 2 at 1970-01-01 00:00:01.500: consumer_closed. Member n left.",
    ]


def test_texts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_FINDING_CHARACTERS", 500)
    monkeypatch.setattr(limits, "MOST_DETAIL_CHARACTERS", 500)
    evidence = " ".join(f"Member m{number} left." for number in range(200)) + "x" * 2_000
    findings = [finding("a", "error", evidence=evidence) for _ in range(3)]
    events = [rebalance("a", at * 1_000, evidence=evidence) for at in (1, 9, 18)]

    found = tables(PageData("x", events, findings=findings))

    assert [len(row["evidence"]) for row in found.findings] == [LONGEST, LONGEST, 0]
    assert "The same is true of 196 more." in found.findings[0]["evidence"]
    assert [row["details"][:10] for row in found.rebalances] == ["generation", "generation", "All causes"]


def test_silences_of_the_log_and_notes_are_shown() -> None:
    silences = silence_events([Silence(1_000, 700_000, (0, 1), True), Silence(900_000, 960_000, (1,), False)])

    found = tables(PageData("x", [rebalance("a", 500), *silences], notes=("Nothing is known.",)))

    assert [(row["since"], row["until"]) for row in found.silences] == [(1_000, 700_000), (900_000, 960_000)]
    assert found.silences[0]["text"].startswith("the whole log had no records for ")
    assert found.silences[1]["text"].startswith("partition 1 of __consumer_offsets had no records for ")
    assert found.notes == ("Nothing is known.",)


def test_the_page_asks_for_the_members_of_shown_groups_only() -> None:
    asked = []

    def members(groups: Sequence[str]) -> Iterable[MemberRow]:
        asked.append(list(groups))
        return [MemberRow("a", "client-1-abcdefgh-ij", client_id="client-1", spans=(("t", 0, 3), ("u", 1, 1)))]

    found = tables(PageData("x", [rebalance("a", 0)], members=members))

    assert asked == [["a"]]
    assert found.members == [
        {
            "group": "a",
            "member": "client-1 abcdefgh",
            "member_id": "client-1-abcdefgh-ij",
            "host": "",
            "topics": 2,
            "partitions": 4,
            "rate": None,
        }
    ]


def test_of_many_members_the_most_and_the_least_loaded_are_listed() -> None:
    loads = range(1, 2 * MOST_MEMBERS + 1)
    members = [MemberRow("a", f"m{load}", spans=(("t", 0, load),)) for load in loads]

    found = tables(PageData("x", [rebalance("a", 0)], members=lambda _: members))

    listed = [row["partitions"] for row in found.members]
    assert listed == [*list(loads)[::-1][: MOST_MEMBERS // 2], *list(loads)[::-1][-MOST_MEMBERS // 2 :]]
    assert found.left_out["members"] == MOST_MEMBERS


def test_long_lists_of_findings_and_lag_are_cut_and_counted() -> None:
    findings = [finding("a", "info") for _ in range(MOST_FINDINGS)] + [finding("b", "error")]
    lag = [
        {
            "group": "a",
            "topic": "t",
            "partition": number,
            "member_id": None,
            "committed": 0,
            "end_offset": number,
            "lag": number,
            "problem": None,
        }
        for number in range(MOST_LAG_ROWS + 5)
    ]
    lag[3]["lag"] = None

    found = tables(PageData("x", [], findings=findings, lag=lambda _: lag))

    assert (found.findings[0]["severity"], len(found.findings), found.left_out["findings"]) == (
        "error",
        MOST_FINDINGS,
        1,
    )
    assert found.lag is not None
    assert (found.lag[0]["lag"], len(found.lag), found.left_out["lag"]) == (MOST_LAG_ROWS + 4, MOST_LAG_ROWS, 5)


def test_an_empty_recording_has_empty_tables() -> None:
    found = tables(PageData("x", []))

    assert (found.since, found.until, found.shown, found.rebalances, found.lag) == (0, 0, [], [], None)


def test_lag_is_summed_by_topic_and_a_partition_with_two_owners_counts_once() -> None:
    fields = {"group": "a", "topic": "t", "committed": 1, "end_offset": 8, "problem": None}
    rows = [
        {**fields, "partition": 0, "member_id": "m1", "lag": 7},
        {**fields, "partition": 0, "member_id": "m2", "lag": 7},
        {**fields, "partition": 1, "member_id": "m1", "lag": 2},
        {**fields, "partition": 2, "member_id": None, "committed": None, "lag": None, "problem": "never_committed"},
    ]
    members = [MemberRow("a", "m1", instance_id="node-1")]

    found = tables(PageData("x", [rebalance("a", 0)], members=lambda _: members, lag=lambda _: rows))

    counts = {"lag": 9, "partitions": 3, "not_known": 1}
    (of_topic,) = found.lag_of_topics
    assert {"group": "a", "topic": "t", **counts, "behind": "-"}.items() <= of_topic.items()
    assert counts.items() <= found.lag_of_groups[0].items()
    assert [("m1", 9), ("m2", 7)] == [(row["member_id"], row["lag"]) for row in found.lag_of_members]
    assert found.lag is not None
    assert [(row["partition"], row["lag"], row["member"]) for row in found.lag] == [
        (0, 7, "node-1"),
        (0, 7, "m2"),
        (1, 2, "node-1"),
        (2, None, None),
    ]


def test_lag_over_time_extends_the_time_of_the_page() -> None:
    lags = [
        {"group": "a", "at": at, "lag": lag} for at, lag in ((900, 1), (1_200, 5), (5_000, None), (9_000, 2), (-1, 7))
    ]

    found = tables(PageData("x", [rebalance("a", 2_000)], lag_over_time=lambda _: lags))

    assert (found.since, found.until) == (900, 9_000)
    assert found.lag_over_time == [
        {"group": "a", "start": 900, "end": 901, "lag": 1},
        {"group": "a", "start": 1_200, "end": 1_201, "lag": 5},
        {"group": "a", "start": 9_000, "end": 9_001, "lag": 2},
    ]


def test_of_many_measurements_the_highest_lag_in_each_time_bin_is_shown() -> None:
    lags = {1_000_000_000 + second * 1_000: second % 977 for second in range(20_000)}
    measurements = [{"group": "a", "at": at, "lag": lag} for at, lag in lags.items()]

    found = tables(PageData("x", [rebalance("a", 1_000_000_000)], lag_over_time=lambda _: measurements))

    step = found.lag_step
    assert 0 < len(found.lag_over_time) <= MOST_LAG_POINTS
    for row in found.lag_over_time:
        assert row["lag"] == max(lag for at, lag in lags.items() if at // step == row["start"] // step)
    assert {row["start"] // step for row in found.lag_over_time} == {at // step for at in lags}
