"""The page that a watch serves: 2,000 groups in a real browser, newer states, and a watch that no longer answers."""

from __future__ import annotations

import gzip
import http.client
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from assignor.page.live_page import FRESH_SECONDS, LivePage
from assignor.page.watch_page import WatchPage
from assignor.replay.metrics import WatchMetrics
from assignor.replay.watch_server import serve
from assignor.replay.watcher import Watcher
from tests.live.test_watcher import batch, generation, started
from tests.page.browser import Browser, axis_rows, needs_chromium, settled, table_rows
from tests.page.made_events import rebalance

if TYPE_CHECKING:
    from collections.abc import Iterator

GROUPS = [f"team-{number:04}" for number in range(2_000)]

REFRESH_SECONDS = 0.2

Answer = tuple[int, dict[str, str], bytes]


class Live:
    """Page that is served on a port.

    Attributes:
        url: Address of the page.
        page: The page.
        watcher: What it shows.
        now: Time in seconds by which the page is old.
        notes: Why the page is not complete.
    """

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.now = 0.0
        self.notes: list[str] = []
        lock = threading.Lock()
        self.page = WatchPage("kafka:9092", watcher, lock)
        live = LivePage(
            self.page, lambda: next(iter(self.notes), None), refresh_seconds=REFRESH_SECONDS, clock=lambda: self.now
        )
        self._server = serve(WatchMetrics(watcher, lock), 0, "127.0.0.1", page=live.current)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}/"

    def get(self, path: str, **headers: str) -> Answer:
        """Return status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path, headers=headers)
        found = connection.getresponse()
        body = found.read()
        connection.close()
        return found.status, dict(found.getheaders()), body

    def stop(self) -> None:
        """End the server; the port no longer answers."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def served(watcher: Watcher) -> Iterator[Live]:
    live = Live(watcher)
    try:
        yield live
    finally:
        live.stop()


def of_many_groups() -> Watcher:
    watcher = started()
    rows = [generation(number, 1_000 + number, 1, group=group) for number, group in enumerate(GROUPS)]
    watcher.push(batch(*rows), {3: len(rows)})
    return watcher


@pytest.mark.usefixtures("quick_bundle")
def test_the_page_and_its_version_are_beside_the_metrics() -> None:
    with served(of_many_groups()) as live:
        status, headers, body = live.get("/")
        assert (200, "text/html; charset=utf-8", "no-store") == (
            *(status, headers["Content-Type"], headers["Cache-Control"]),
        )
        text = body.decode()
        assert GROUPS[-1] in text
        assert "connect-src 'self'" in text
        assert "not complete" not in text

        _, headers, compressed = live.get("/", **{"Accept-Encoding": "gzip"})
        assert "gzip" == headers["Content-Encoding"]
        assert len(compressed) < len(body) / 3
        assert GROUPS[-1] in gzip.decompress(compressed).decode()

        assert b"assignor_group_members" in live.get("/metrics")[2]
        assert b"ok\n" == live.get("/health")[2]


@pytest.mark.usefixtures("quick_bundle")
def test_a_page_is_made_again_when_it_is_old() -> None:
    with served(started()) as live:
        first = live.get("/version")[2]
        assert f'data-version="{first.decode()}"'.encode() in live.get("/")[2]
        assert first == live.get("/version")[2]
        live.watcher.push(batch(generation(0, 1_000, 1, group="new")), {3: 1})
        live.now = FRESH_SECONDS - 0.1
        assert b'"new"' not in live.get("/")[2]

        live.now = FRESH_SECONDS
        assert int(first) < int(live.get("/version")[2])
        assert b'"new"' in live.get("/")[2]


@pytest.mark.usefixtures("quick_bundle")
def test_requests_at_the_same_time_make_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    html = WatchPage.html

    def counted(self: WatchPage, *given: Any) -> str:
        made.append(1)
        time.sleep(0.2)
        return html(self, *given)

    monkeypatch.setattr(WatchPage, "html", counted)
    with served(started()) as live:
        found: list[bytes] = []
        threads = [threading.Thread(target=lambda: found.append(live.get("/")[2])) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert ([1], 5, 1) == (made, len(found), len(set(found)))


@pytest.mark.usefixtures("quick_bundle")
def test_a_page_says_why_it_is_not_complete() -> None:
    with served(started()) as live:
        live.notes.append("12,345 offsets of the log are not read yet")

        assert "This page is not complete: 12,345 offsets of the log are not read yet." in live.get("/")[2].decode()


@pytest.mark.usefixtures("quick_bundle")
def test_a_page_can_be_made_while_events_are_added() -> None:
    with served(of_many_groups()) as live:
        is_over = threading.Event()

        def add() -> None:
            number = 0
            while not is_over.is_set():
                number += 1
                live.page.add([rebalance(f"late-{number}", 1_000 * number)])

        adding = threading.Thread(target=add)
        adding.start()
        try:
            found = []
            for _ in range(5):
                found.append(live.get("/")[0])
                live.now += FRESH_SECONDS
        finally:
            is_over.set()
            adding.join()

    assert [200] * 5 == found


@needs_chromium
def test_a_browser_searches_2_000_groups_and_keeps_what_was_chosen(browser: Browser) -> None:
    watcher = of_many_groups()
    with served(watcher) as live:
        live.page.add([rebalance(group, 60_000 + number) for number, group in enumerate(GROUPS)])
        live.page.add([rebalance(GROUPS[175], 80_000, 2)])
        with browser.open_url(live.url, others={f"{live.url}version"}) as page:
            assert "Shown: 2,001 rebalances of 2,000 groups" in (page.locator("#status").text_content() or "")
            assert "State at 20" in (page.locator("#live-state").text_content() or "")
            page.locator("#search").fill("TEAM-017")
            page.wait_for_function("() => document.documentElement.dataset.applied?.includes('TEAM-017')")
            matching = GROUPS[170:180]
            assert matching == sorted(row["group"] for row in table_rows(page, "groups"))
            assert matching == sorted(axis_rows(page, "timeline"))
            page.select_option("#group", label=GROUPS[175])
            settled(page)
            page.locator("#rebalances details summary").first.click()
            rows = page.locator("table[data-name=rebalances] tbody tr:not([hidden]) details")
            assert 2 == rows.count()
            rows.first.locator("summary").click()
            page.locator("#search").focus()

            before = page.locator("#live").get_attribute("data-version")
            live.page.add([rebalance(GROUPS[175], 99_000, 3)])
            live.now = FRESH_SECONDS
            page.wait_for_function("before => document.getElementById('live')?.dataset.version > before", arg=before)
            page.wait_for_selector("html[data-drawn=light]", state="attached")
            settled(page)
            assert ("TEAM-017", GROUPS[175]) == (
                page.locator("#search").input_value(),
                page.locator("#group option:checked").text_content(),
            )
            assert [GROUPS[175]] == [row["group"] for row in table_rows(page, "groups")]
            assert "Shown: 3 rebalances of 1 group" in (page.locator("#status").text_content() or "")
            assert page.locator("#rebalances details").first.get_attribute("open") is not None
            opened = [each.get_attribute("open") is not None for each in rows.all()]
            assert ([True, False, False], "search") == (opened, page.evaluate("document.activeElement.id"))


@needs_chromium
def test_a_browser_stays_at_a_state_and_says_that_the_watch_does_not_answer(browser: Browser) -> None:
    with served(started()) as live:
        live.page.add([rebalance("a", 60_000)])
        with browser.open_url(live.url, others={f"{live.url}version"}, expects_failures=True) as page:
            page.locator("#refresh").uncheck()
            before = page.locator("#live").get_attribute("data-version")
            live.now = FRESH_SECONDS
            for _ in range(2):  # the second request follows what the page does with the first answer
                with page.expect_response("**/version"):
                    pass
            assert before == page.locator("#live").get_attribute("data-version")

            live.stop()
            page.wait_for_selector("#live.lost")
            assert "The watch does not answer." in (page.locator("#live-state").text_content() or "")
            assert "a" in [row["group"] for row in table_rows(page, "rebalances")]
