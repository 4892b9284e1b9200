"""Headless Chromium for tests of the page, and what it shows.

A test fails if the page has a console message, an error or a request.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
"""Path of Chromium; None if it is not installed."""

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

LIMIT = 120
"""Seconds after which Chromium is killed. Playwright's own time limits need a Chromium that answers."""

_ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-quic"),
)


class BrowserHungError(Exception):
    """Error for a page that was open for too long, so that Chromium was killed."""


class Browser:
    """Chromium that opens pages. `with` starts it, and closes it at the end.

    Args:
        folder: Folder for the file with the process id.
        program: Path of Chromium.

    Attributes:
        limit: Seconds after which Chromium is killed if a page is still open.
    """

    def __init__(self, folder: Path, program: str) -> None:
        self.limit = LIMIT
        self._pid_file = folder / "chromium.pid"
        self._program = folder / "chromium"
        self._program.write_text(f'#!/bin/sh\necho $$ >"{self._pid_file}"\nexec "{program}" "$@"\n', encoding="utf-8")
        self._program.chmod(0o755)

    def __enter__(self) -> Browser:
        self._playwright = sync_playwright().start()
        self._launch()
        return self

    def __exit__(self, *error: object) -> None:
        with self._killed_if_hung():
            self._browser.close()
        self._playwright.stop()

    @contextlib.contextmanager
    def open(self, path: Path, *, width: int = 1280, scheme: Any = "light") -> Iterator[Page]:
        """Open a page, wait for its charts, and check afterwards that it had no message, error or request.

        Raises:
            BrowserHungError: Chromium had to be killed; the next page is opened in a new one.
        """
        with self.open_url(path.as_uri(), width=width, scheme=scheme) as page:
            yield page

    @contextlib.contextmanager
    def open_url(
        self,
        url: str,
        *,
        others: frozenset[str] | set[str] = frozenset(),
        expects_failures: bool = False,
        width: int = 1280,
        scheme: Any = "light",
    ) -> Iterator[Page]:
        """Open an address as `open` does.

        Args:
            url: The address.
            others: Further addresses that the page asks for.
            expects_failures: True if the browser may say that an address does not answer.
            width: Width of the window in pixels.
            scheme: `"light"` or `"dark"`.
        """
        problems: list[str] = []
        requested: list[str] = []
        with self._killed_if_hung():
            context = self._browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
            page.on("pageerror", lambda error: problems.append(f"error: {error}"))
            page.on("request", lambda request: requested.append(request.url))
            try:
                page.goto(url)
                page.wait_for_selector(f"html[data-drawn={scheme}]", state="attached")
                yield page
                assert [] == [each for each in problems if not (expects_failures and "net::ERR_" in each)]
                asked = {each for each in requested if not each.startswith("data:")}
                assert {url} == asked - others
                assert others or [url] == [each for each in requested if not each.startswith("data:")]
            finally:
                context.close()

    @property
    def process_id(self) -> int:
        """Process id of Chromium, which is also the id of its process group."""
        return int(self._pid_file.read_text(encoding="utf-8"))

    def _launch(self) -> None:
        self._browser = self._playwright.chromium.launch(executable_path=self._program, args=list(_ARGUMENTS))

    @contextlib.contextmanager
    def _killed_if_hung(self) -> Iterator[None]:
        """Kill Chromium if the block takes too long, which ends each call that waits for it."""
        is_killed = threading.Event()

        def kill() -> None:
            is_killed.set()
            os.killpg(self.process_id, signal.SIGKILL)

        timer = threading.Timer(self.limit, kill)
        timer.start()
        try:
            yield
        except Exception as error:
            if is_killed.is_set():
                raise BrowserHungError(f"a page was still open after {self.limit} s") from error
            raise
        finally:
            timer.cancel()
            if is_killed.is_set():
                self._launch()


def table_rows(page: Page, name: str) -> list[dict[str, str]]:
    """Return the visible rows of a table: values of its cells, and what they show when they are opened, by heading."""
    found: list[dict[str, str]] = page.evaluate(
        """name => {
            const table = document.querySelector(`table[data-name=${name}]`);
            const headings = [...table.tHead.rows[0].cells].map(cell => cell.textContent);
            const rows = [...table.tBodies].flatMap(body => [...body.rows]);
            const text = cell =>
                cell.querySelector("data")?.value ?? (cell.querySelector("summary") ?? cell).textContent;
            const details = cell => cell.querySelector(".lines")?.textContent ?? "";
            return rows.filter(row => !row.hidden).map(row => Object.fromEntries([...row.cells].flatMap(
                (cell, place) => [[headings[place], text(cell)], [headings[place] + ": details", details(cell)]])));
        }""",
        name,
    )
    return found


def chart_rows(page: Page, chart: str, data: str) -> list[dict[str, Any]]:
    """Return the rows of a data set that a chart has."""
    found: list[dict[str, Any]] = page.evaluate("([chart, data]) => assignorViews[chart].data(data)", [chart, data])
    return found


def marks(page: Page, chart: str) -> int:
    """Return the number of points that a chart draws."""
    return page.locator(f"#chart-{chart} path[aria-roledescription=point]").count()


def axis_labels(page: Page, chart: str) -> list[str]:
    """Return the visible labels of the axes of a chart."""
    return page.locator(f"#chart-{chart} .role-axis-label text").all_text_contents()


def settled(page: Page) -> dict[str, Any]:
    """Return the choice of group and time after the charts have applied it."""
    page.wait_for_function(
        """() => {
            const applied = JSON.parse(document.documentElement.dataset.applied || "{}");
            return Object.entries(applied).every(([name, value]) =>
                Object.values(assignorViews).every(view => {
                    const { signals } = view.getState({ signals: name_ => name_ === name, data: () => false });
                    return !(name in signals) || signals[name] === value;
                }));
        }"""
    )
    state: dict[str, Any] = page.evaluate("() => JSON.parse(document.documentElement.dataset.applied)")
    return state


def axis_rows(page: Page, chart: str) -> list[str]:
    """Return the labels of the rows of a chart."""
    found: list[str] = page.evaluate("chart => assignorViews[chart].scale('y').domain()", chart)
    return found
