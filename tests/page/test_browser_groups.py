"""The page in a real browser: many groups and their search, and what a reader opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.page import PageData, write_page
from assignor.replay.silences import Silence, silence_events
from tests.page.browser import Browser, axis_rows, chart_rows, needs_chromium, settled, table_rows
from tests.page.made_events import finding, rebalance, reported

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_chromium


def test_a_page_of_10_000_groups_is_small_and_can_be_searched(browser: Browser, tmp_path: Path) -> None:
    names = [f"a-group-with-a-long-name-{number:05}" for number in range(10_000)]
    events = (rebalance(name, at * 600_000 + number, at + 1) for number, name in enumerate(names) for at in range(10))
    groups = [reported(name) for name in names]
    findings = [finding(name, "warning", since=10**12) for name in names]
    write_page(tmp_path / "page.html", PageData("big", events, groups=groups, findings=findings))

    assert (tmp_path / "page.html").stat().st_size < 3_000_000
    with browser.open(tmp_path / "page.html") as page:
        assert "Shown: 100,000 rebalances of 10,000 groups" in (page.locator("#status").text_content() or "")
        assert 40 == len(axis_rows(page, "timeline"))
        assert "first 40 of 10,000 groups" in (page.locator("#cut-timeline").text_content() or "")
        assert 300 == len(table_rows(page, "groups")) == len(table_rows(page, "findings"))
        page.locator("#more-groups button").click()
        assert names[:600] == [row["group"] for row in table_rows(page, "groups")]

        page.locator("#search").fill("NAME-0432")
        page.wait_for_function("() => document.documentElement.dataset.applied?.includes('NAME-0432')")
        assert names[4320:4330] == axis_rows(page, "timeline")
        for table in ("groups", "findings", "rebalances"):
            assert names[4320:4330] == [row["group"] for row in table_rows(page, table)]
        assert {"10"} == {row["rebalances"] for row in table_rows(page, "rebalances")}
        drawn = chart_rows(page, "overview", "data_0")
        assert 100 == sum(row["count"] for row in drawn)
        assert 11 == page.locator("#group option").count()

        page.select_option("#group", label=names[4325])
        settled(page)
        assert [names[4325]] == [row["group"] for row in table_rows(page, "groups")]
        assert ["leader_rejoined"] == axis_rows(page, "timeline")


def test_each_finding_is_visible_at_first_view(browser: Browser, tmp_path: Path) -> None:
    times = [(None, None), (1, 2), (1, None), (None, 2), (10**12, None), (10**12, 2 * 10**12), (60_000, 61_000)]
    findings = [finding("a", "warning", since=since, until=until) for since, until in times] * 40
    write_page(tmp_path / "page.html", PageData("x", [rebalance("a", 60_000)], findings=findings))

    with browser.open(tmp_path / "page.html") as page:
        assert len(findings) == len(table_rows(page, "findings"))
        details = page.locator("table[data-name=findings] td details").first
        assert not details.locator(".lines").is_visible()
        details.locator("summary").focus()
        page.keyboard.press("Enter")
        assert "evidence of a" == details.locator(".lines").inner_text()


def test_causes_evidence_and_silences_are_shown(browser: Browser, tmp_path: Path) -> None:
    events = [
        *(
            rebalance("a", at, causes=["consumer_closed", "consumer_dead"], evidence=f"At {at}.")
            for at in (1_000, 1_100)
        ),
        rebalance("a", 999_000, 2),
        *silence_events([Silence(2_000, 900_000, (0,), True)]),
    ]
    write_page(tmp_path / "page.html", PageData("x", events, notes=["Nothing <b>else</b> is known."]))

    with browser.open(tmp_path / "page.html") as page:
        first, second = table_rows(page, "rebalances")
        assert ("consumer_closed", "leader_rejoined") == (first["most likely cause"], second["most likely cause"])
        assert 2 == first["most likely cause: details"].count("consumer_closed, consumer_dead. At ")
        notes = page.locator(".notes li").all_text_contents()
        assert "Silence: the whole log had no records for 14 min 58 s, since 1970-01-01 00:00:02.000." == notes[0]
        assert "Nothing <b>else</b> is known." == notes[1]
        assert 1 == page.locator("#chart-timeline .mark-rect path").count()


def test_rows_that_the_script_adds_show_names_with_markup_as_text(browser: Browser, tmp_path: Path) -> None:
    hostile = (
        "</script><b>bold</b>",
        '"><img src=x onerror=alert(1)>',
        "<!--<script>",
        "a\n",
        "",
        "__proto__",
        "constructor",
    )
    names = [*(f"a{number:03}" for number in range(400)), *hostile]
    findings = [finding(name, "info", text=name, evidence=f"{name}<i>") for name in names]
    events = [rebalance(name, 1_000, causes=[f"{name}<i>"], evidence=f"{name}<i>") for name in names]
    groups = [reported(name, protocol=name) for name in names]
    write_page(tmp_path / "page.html", PageData("x", events, groups=groups, findings=findings))

    with browser.open(tmp_path / "page.html") as page:
        for button in page.locator(".note button").all():
            if button.is_hidden():  # in a table that is not open
                button.evaluate("button => button.closest('details').open = true")
            button.click()
        shown = {"a\\n" if name == "a\n" else name or '""' for name in names}
        for table in ("findings", "rebalances", "groups"):
            rows = table_rows(page, table)
            assert shown == {row["group"] for row in rows}, table
            assert len(names) == len(rows)
        assert {name.replace("\n", r"\n") for name in names} == {row["protocol"] for row in table_rows(page, "groups")}
        assert 0 == page.locator("b, img, i").count()
