"""Headless Chromium for tests of the page, which fails a test for each console message, error and request."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
"""Path of Chromium; None if it is not installed."""

_ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-quic"),
)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def opened(browser: Browser, path: Path, *, width: int = 1280, scheme: Any = "light") -> Iterator[Page]:
    """Open a page, wait for its charts, and check afterwards that it had no message, error or request."""
    problems: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("request", lambda request: requested.append(request.url))
    requested: list[str] = []
    try:
        page.goto(path.as_uri())
        page.wait_for_selector(f"html[data-drawn={scheme}]", state="attached")
        yield page
        assert [] == problems
        assert [path.as_uri()] == [url for url in requested if not url.startswith("data:")]
    finally:
        context.close()
