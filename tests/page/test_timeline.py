"""Rebalances over time: exact counts in bounded memory."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor.page import timeline
from assignor.page.timeline import STEPS_MS, Timeline
from tests.page.made_events import Event, rebalance, storm

DAY = 86_400_000


def test_each_length_of_a_time_bin_is_a_multiple_of_the_one_before() -> None:
    assert [] == [(short, long) for short, long in itertools.pairwise(STEPS_MS) if long % short]


def test_a_storm_is_replaced_by_its_later_state() -> None:
    found = Timeline()
    found.add([storm("a", 100, None, 20), storm("a", 100, 900, 70), storm("b", 5, None, 30)])

    assert [(each["group"], each["until"], each["rebalances"]) for each in found.storms({"a", "b"})] == [
        ("a", 900, 70),
        ("b", None, 30),
    ]
    assert found.storms({"a"})[0]["which"] == "orders[0–1]"
    assert found.storms(set()) == []


def test_groups_of_two_clusters_with_one_name_are_two_groups() -> None:
    found = Timeline()
    found.add([{**rebalance("a", 0), "cluster": "eu"}, {**rebalance("a", 0), "cluster": "us"}])

    assert found.rebalances == {"eu/a": 1, "us/a": 1}


EVENTS = st.lists(
    st.builds(
        rebalance,
        st.sampled_from(["a", "b", "c"]),
        st.integers(0, 30 * DAY),
        st.integers(1, 9),
        causes=st.sampled_from([["leader_rejoined"], ["consumer_dead", "application_crashed"], []]),
        joined=st.sampled_from([[], ["m"], ["m", "n"]]),
        left=st.sampled_from([[], ["m"], ["m", "n"]]),
        moved=st.sampled_from([None, [], [["t", 0]], [["t", 0], ["t", 1]]]),
        unowned=st.sampled_from([None, [], [["t", 0]], [{"topic": "t", "partition": 4}]]),
    ),
    max_size=60,
)


@given(EVENTS, st.integers(1, 60), st.integers(1, 30))
def test_counts_are_exact_for_all_limits(events: list[Event], cells: int, rows: int) -> None:
    events.sort(key=lambda event: (event["at"], event["generation"]))
    found = Timeline()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline, "MOST_CELLS", cells)
        patch.setattr(timeline, "MOST_ROWS", rows)
        found.add(events)
        step, table = found.rows({"a", "b"}, 0, 30 * DAY)

    chosen = [event for event in events if event["group"] != "c"]
    assert step in STEPS_MS
    assert len(table) <= max(rows, 2 * 3) or step == STEPS_MS[-1]
    assert len({row["start"] for row in table}) <= timeline.MOST_BINS
    key = [(each["group"], each["at"] // step * step, (each["causes"] or ["unknown"])[0]) for each in chosen]
    assert {(row["group"], row["start"], row["cause"]): row["rebalances"] for row in table} == Counter(key)
    for row in table:
        own = [
            each for each, name in zip(chosen, key, strict=True) if name == (row["group"], row["start"], row["cause"])
        ]
        known = [len(each["unowned"]) for each in own if each["unowned"] is not None]
        assert (
            row
            | {
                "end": row["start"] + step,
                "first": own[0]["at"],
                "last": own[-1]["at"],
                "joined": sum(len(each["joined"]) for each in own),
                "left": sum(len(each["left"]) for each in own),
                "moved": sum(len(each["moved"] or ()) for each in own),
                "not_known": sum(each["moved"] is None for each in own),
                "unowned_most": max(known, default=None),
                "unowned_last": None if own[-1]["unowned"] is None else len(own[-1]["unowned"]),
                "generations": "–".join(dict.fromkeys(str(each["generation"]) for each in (own[0], own[-1]))),
            }
            == row
        )


def test_an_event_without_a_valid_time_has_the_latest_time_before_it() -> None:
    found = Timeline()
    found.add([rebalance("a", 5_000, 1), rebalance("a", -1, 2), rebalance("a", 10**17, 3)])

    (row,) = found.rows({"a"}, 5_000, 5_000)[1]

    assert (found.since, found.until, row["rebalances"], row["first"], row["last"]) == (5_000, 5_000, 3, 5_000, 5_000)
    assert row["generations"] == "1–3"


def test_time_bins_grow_until_the_rows_are_few() -> None:
    found = Timeline()
    names = [f"g{number}" for number in range(40)]
    found.add(rebalance(name, 1_000 * at, at) for at in range(1, 101) for name in names)

    step, table = found.rows(set(names), 1_000, 100_000)

    assert step == 10_000  # 1 s and 2 s would be 4,000 and 2,040 rows
    assert len(table) == 440 <= timeline.MOST_ROWS
    assert {sum(row["rebalances"] for row in table if row["group"] == name) for name in names} == {100}


def test_of_many_rebalances_in_a_row_the_evidence_of_the_first_is_shown_and_all_causes_are_counted() -> None:
    found = Timeline()
    causes = (["consumer_closed", "consumer_dead"], ["consumer_closed"])
    found.add(rebalance("a", 1_000 + at, at, causes=causes[at % 2], evidence=f"At {at}.") for at in range(9))

    (row,) = found.rows({"a"}, 1_000, 1_999)[1]

    lines = row["details"].text(row["rebalances"]).split("\n")
    assert [line.rpartition(" At ")[2] for line in lines[:-1]] == ["0.", "1.", "2.", "3."]
    assert lines[-1] == "All causes: consumer_closed 9, consumer_dead 5."


def test_evidence_of_earlier_rebalances_is_dropped_and_their_causes_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST_DETAILS", 8)
    found = Timeline()
    found.add(rebalance("a", at * 1_000, at, evidence=f"At {at}.") for at in range(1, 11))

    rows = found.rows({"a"}, 1_000, 10_000)[1]

    texts = [row["details"].text(1) for row in rows]
    assert texts[:4] == ["All causes: leader_rejoined 1."] * 4
    assert texts[-1].endswith("leader_rejoined. At 10.")
    assert sum("At" in text for text in texts) <= 8


def test_other_groups_have_time_bins_that_are_multiples_of_those_of_the_first_ones() -> None:
    found = Timeline()
    found.add(rebalance(name, at * 1_000, at) for name in ("a", "b") for at in range(1, 61))

    assert [found.rows({"b"}, 1_000, 60_000, most, 2_000)[0] for most in (100, 20, 2)] == [2_000, 10_000, 60_000]
    assert [row["rebalances"] for row in found.totals(30_000)] == [58, 60, 2]
