"""The page in a real browser: its numbers, its filters, and its form on three widths and two backgrounds."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from assignor.cluster import Recording
from assignor.page import PageData, write_page
from assignor.page.data import MemberRow
from assignor.page.report_data import page_data
from assignor.replay.recorded import replay
from assignor.report import local
from assignor.report.summary import summarize
from tests.page.browser import (
    LIMIT,
    Browser,
    BrowserHungError,
    axis_labels,
    chart_rows,
    marks,
    needs_chromium,
    settled,
    table_rows,
)
from tests.page.lagging import lagging
from tests.page.made_events import finding, rebalance, reported, storm
from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_chromium

SECOND = 1_000
"""Length in milliseconds of the time bins of the recorded cluster, which ran for four minutes."""


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    """Return the events of the recorded cluster."""
    return list(replay(Recording.open(RECORDING)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the report on the recorded cluster and its page, `page.html`."""
    folder = tmp_path_factory.mktemp("report")
    recording = lagging(tmp_path_factory.mktemp("recording") / RECORDING.name)
    local.write_tables(recording, folder)
    write_page(folder / "page.html", page_data(recording, summarize(recording, folder), folder))
    return folder


@pytest.fixture(scope="module")
def rebalances(events: list[dict[str, Any]]) -> pa.Table:
    """Return the rebalances of the recorded cluster, one row each."""
    rows = [
        {
            **{name: event[name] for name in ("group", "at", "generation")},
            "cause": event["causes"][0],
            "start": event["at"] // SECOND * SECOND,
            "moved": None if event["moved"] is None else len(event["moved"]),
            "unowned": None if event["unowned"] is None else len(event["unowned"]),
        }
        for event in events
        if event["event"] == "rebalance"
    ]
    return pa.Table.from_pylist(rows)


def binned(table: pa.Table) -> dict[tuple[str, int, str], tuple[int, int, int | None, int, int]]:
    """Return rebalances, moves, partitions without an owner, and first and last time by group, time bin and cause."""
    found = table.group_by(["group", "start", "cause"]).aggregate(
        [("at", "count"), ("moved", "sum"), ("unowned", "max"), ("at", "min"), ("at", "max")]
    )
    return {
        (row["group"], row["start"], row["cause"]): (
            row["at_count"],
            row["moved_sum"] or 0,
            row["unowned_max"],
            row["at_min"],
            row["at_max"],
        )
        for row in found.to_pylist()
    }


def test_the_numbers_of_tables_and_charts_are_those_of_the_events(
    browser: Browser, folder: Path, rebalances: pa.Table
) -> None:
    expected = binned(rebalances)
    with browser.open(folder / "page.html") as page:
        drawn = chart_rows(page, "timeline", "rebalances")
        assert expected == {
            (row["group"], row["start"], row["cause"]): (
                *(row["rebalances"], row["moved"], row["unowned_most"], row["first"], row["last"]),
            )
            for row in drawn
        }
        assert len(expected) == marks(page, "timeline")
        listed = table_rows(page, "rebalances")
        key = ("group", "most likely cause", "rebalances", "partitions moved", "without an owner, at most")
        assert sorted(tuple(row[name] for name in key) for row in listed) == sorted(
            (group, cause, str(count), str(moved), "not known" if unowned is None else str(unowned))
            for (group, _, cause), (count, moved, unowned, _, _) in expected.items()
        )

        owned = pq.read_table(folder / "assignments").group_by(["group_id", "member_id"]).aggregate([("count", "sum")])
        loads = {(row["group_id"], row["member_id"]): row["count_sum"] for row in owned.to_pylist()}
        assert loads == {
            (row["group"], row["member_id"]): row["partitions"] for row in chart_rows(page, "load", "members")
        }
        assert loads == {
            (row["group"], row["member id"]): int(row["partitions"]) for row in table_rows(page, "members")
        }
        now = {(row["group"], row["member_id"]): row["now"] for row in chart_rows(page, "what-if", "what_if_members")}
        assert {member: load for member, load in now.items() if load is not None}.items() <= loads.items()

        facts = {
            fact.get_attribute("data-column"): int(fact.get_attribute("value") or "")
            for fact in page.locator("dd data").all()
        }
        records = pq.read_metadata(RECORDING / "records.parquet").num_rows
        groups = pq.read_table(folder / "groups").num_rows
        found_by_report = json.loads((folder / "report.json").read_text(encoding="utf-8"))["findings"]
        assert facts == {
            "records": records,
            "groups": groups,
            "rebalances": len(rebalances),
            "storms": 1,
            "errors": sum(found["severity"] == "error" for found in found_by_report),
            "warnings": sum(found["severity"] == "warning" for found in found_by_report),
        }
        listed = table_rows(page, "findings")
        assert sorted((found["group"], found["text"] + found["evidence"]) for found in found_by_report) == sorted(
            (row["group"], row["finding"] + row["finding: details"]) for row in listed
        )


def test_filters_work_with_the_keyboard(browser: Browser, folder: Path, rebalances: pa.Table) -> None:
    with browser.open(folder / "page.html") as page:
        start = settled(page)["since"]
        page.keyboard.press("Tab")
        assert "Skip to the findings" == page.evaluate("() => document.activeElement.textContent")
        page.keyboard.press("Enter")
        assert "main" == page.evaluate("() => document.activeElement.id")
        for _ in range(20):
            if page.evaluate("() => document.activeElement.id") == "search":
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        assert "group" == page.evaluate("() => document.activeElement.id")
        page.keyboard.press("ArrowDown")
        chosen = settled(page)["group"]
        assert chosen == page.locator("#group option:checked").text_content()
        of_group = rebalances.filter(pc.equal(rebalances["group"], chosen))
        assert f"Shown: {len(of_group):,} rebalances of 1 group" in (page.locator("#status").text_content() or "")
        assert len(binned(of_group)) == marks(page, "timeline") == len(table_rows(page, "rebalances"))

        page.keyboard.press("Tab")
        for key in ("PageUp", "PageUp", "ArrowRight"):
            page.keyboard.press(key)
        page.keyboard.press("Tab")
        for key in ("PageDown", "ArrowLeft"):
            page.keyboard.press(key)
        state = settled(page)
        number = int(page.locator("#from").input_value())
        assert 0 < number == (state["since"] - start) // SECOND
        shown = of_group.filter(
            pc.and_(pc.greater_equal(of_group["at"], state["since"]), pc.less(of_group["at"], state["until"]))
        )
        assert 0 < len(shown) < len(of_group)
        assert f"Shown: {len(shown):,} rebalances of 1 group" in (page.locator("#status").text_content() or "")
        assert len(binned(shown)) == marks(page, "timeline") == len(table_rows(page, "rebalances"))
        causes = {
            item.get_attribute("data-cause"): int(item.locator("data").get_attribute("value") or "")
            for item in page.locator("li[data-cause]:not([hidden])").all()
        }
        counts = {
            cause: pc.sum(pc.equal(shown["cause"], cause)).as_py() for cause in pc.unique(shown["cause"]).to_pylist()
        }
        assert causes == counts

        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert settled(page)["chosen"] is False
        assert len(binned(rebalances)) == marks(page, "timeline")


def test_lag_over_time_is_that_of_the_report(browser: Browser, folder: Path) -> None:
    known = pq.read_table(folder / "lag_over_time").filter(pc.field("lag").is_valid()).to_pylist()
    lags = {(row["group_id"], row["at"]): row["lag"] for row in known}
    groups = {group for group, _ in lags}
    with browser.open(folder / "page.html") as page:
        drawn = {(row["group"], row["start"]): row["lag"] for row in chart_rows(page, "lag-over-time", "lag_over_time")}
        assert lags == drawn
        assert len(lags) == marks(page, "lag-over-time") == len(table_rows(page, "lag_over_time"))
        labels = {label for chart in ("lag", "lag-over-time") for label in axis_labels(page, chart)}
        assert {"1k", "10k"} <= labels
        assert "0M" not in labels
        assert len(groups) == page.locator("#chart-lag-over-time path[aria-roledescription='line mark']").count() > 1

        group = max(lags, key=lambda key: lags[key])[0]
        page.select_option("#group", label=group)
        settled(page)
        of_group = sorted((at, lag) for (each, at), lag in lags.items() if each == group)
        assert len(of_group) == marks(page, "lag-over-time")
        assert [lag for _, lag in of_group] == [int(row["lag"]) for row in table_rows(page, "lag_over_time")]

        page.locator("#from").fill(str((of_group[5][0] - settled(page)["since"]) // SECOND))
        start = settled(page)["since"]
        later = [lag for at, lag in of_group if at >= start]
        assert 0 < len(later) < len(of_group)
        assert len(later) == marks(page, "lag-over-time") == len(table_rows(page, "lag_over_time"))


def test_a_time_range_can_be_dragged(browser: Browser, folder: Path, rebalances: pa.Table) -> None:
    with browser.open(folder / "page.html") as page:
        page.locator("#chart-overview").scroll_into_view_if_needed()
        box = page.locator("#chart-overview .background").first.bounding_box()
        assert box is not None
        before = settled(page)
        page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 30)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 30, steps=3)
        page.mouse.up()
        state = settled(page)

        length = before["until"] - before["since"]
        assert abs(state["since"] - before["since"] - length * 0.25) <= SECOND
        assert abs(state["until"] - before["since"] - length * 0.5) <= SECOND
        shown = rebalances.filter(
            pc.and_(pc.greater_equal(rebalances["at"], state["since"]), pc.less(rebalances["at"], state["until"]))
        )
        assert 0 < len(shown) < len(rebalances)
        assert len(binned(shown)) == marks(page, "timeline") == len(table_rows(page, "rebalances"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen(browser: Browser, folder: Path, scheme: str) -> None:
    with browser.open(folder / "page.html", scheme=scheme) as page:
        for width in (360, 768, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_function(
                """width => [...document.querySelectorAll(".chart svg")].every(svg => {
                    const box = svg.getBoundingClientRect();
                    return box.left >= 0 && box.right <= width && box.width > width / 2;
                })""",
                arg=width,
            )
            for is_open in (False, True):
                page.evaluate(
                    "open => document.querySelectorAll('details').forEach(each => { each.open = open; })", is_open
                )
                assert width >= page.evaluate("() => document.documentElement.scrollWidth")


def test_charts_follow_a_change_of_the_background(browser: Browser, folder: Path) -> None:
    with browser.open(folder / "page.html") as page:
        label = "() => getComputedStyle(document.querySelector('#chart-load text')).fill"
        before = page.evaluate(label)
        page.emulate_media(color_scheme="dark")
        page.wait_for_selector("html[data-drawn=dark]", state="attached")
        assert before != page.evaluate(label)


NAMES = (
    "</script><b>bold</b>",
    '"><img src=x onerror=alert(1)>',
    "<!--<script>",
    "a\u2028\n",
    "",
    "__proto__",
    "constructor",
)


def test_names_with_markup_are_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    events = [
        event
        for name in NAMES
        for event in (
            rebalance(name, 1_000),
            rebalance(name, 3_000, 2, moved=[[name, 0]], unowned=[[name, 1]]),
            storm(name, 1_000, None, 21),
        )
    ]
    data = PageData(
        title=NAMES[0],
        events=events,
        groups=[reported(name) for name in NAMES],
        findings=[finding(name, "error", text=name, evidence=name) for name in NAMES],
        members=lambda groups: [
            MemberRow(name, name, topics=("orders",), spans=(("orders", 0, 2),), client_host=name) for name in groups
        ],
        topics={"orders": 2},
        lag=lambda _: [
            {
                "group": name,
                "topic": name,
                "partition": 0,
                "member_id": name,
                "committed": 1,
                "end_offset": 5,
                "lag": 4,
                "problem": None,
            }
            for name in NAMES
        ],
        lag_over_time=lambda _: [{"group": name, "at": at, "lag": at} for name in NAMES for at in (1_000, 3_000)],
    )
    write_page(tmp_path / "page.html", data)

    with browser.open(tmp_path / "page.html") as page:
        assert 0 == page.locator("b, img").count()
        shown = {name.replace("\n", r"\n").replace("\u2028", r"\u2028") or '""' for name in NAMES}
        for table in (
            "findings",
            "rebalances",
            "storms",
            "members",
            "what_if",
            "scales",
            "lag_of_topics",
            "lag",
            "lag_over_time",
            "groups",
        ):
            assert shown == {row["group"] for row in table_rows(page, table)}, table
        assert {"overview", "timeline", "moves", "unowned", "load", "what-if", "scale", "lag", "lag-over-time"} == set(
            page.evaluate("() => Object.keys(assignorViews)")
        )
        for number in range(len(NAMES)):
            page.select_option("#group", str(number))
            settled(page)
            assert 2 == marks(page, "timeline")
            assert 1 == len(table_rows(page, "groups"))


def test_a_page_without_rebalances_and_lag_says_so(browser: Browser, tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", PageData("empty", []))

    with browser.open(tmp_path / "page.html") as page:
        text = re.sub(r"\s+", " ", page.locator("body").inner_text())
        for sentence in ("There are no findings.", "There are no rebalances.", "Lag is not known"):
            assert sentence in text


def test_a_browser_that_hangs_is_killed_and_replaced(browser: Browser, folder: Path) -> None:
    def answer(*, stops: bool) -> Any:
        with browser.open(folder / "page.html") as page:
            if stops:
                os.killpg(browser.process_id, signal.SIGSTOP)
            return page.evaluate("() => 1")

    browser.limit = 4
    with pytest.raises(BrowserHungError):
        answer(stops=True)
    browser.limit = LIMIT
    assert 1 == answer(stops=False)
