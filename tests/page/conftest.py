"""Page without its scripts, a browser, and a hook that runs a test of the page again if Chromium hung."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest

from assignor.page import html
from tests.page.browser import CHROMIUM, Browser, BrowserHungError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def quick_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the scripts of Vega, which take seconds to load; test_browser.py has them."""
    monkeypatch.setattr(html, "bundle", lambda: "/* scripts */")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start one browser for the tests of a module."""
    assert CHROMIUM is not None
    with Browser(tmp_path_factory.mktemp("browser"), CHROMIUM) as started:
        yield started


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Call a test that uses a browser; if the browser hung, note it and call the test again with a new one."""
    if "browser" not in pyfuncitem.funcargs:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    try:
        pyfuncitem.obj(**arguments)
    except BrowserHungError as error:
        pyfuncitem.user_properties.append(("Chromium hung", str(error)))
        pyfuncitem.obj(**arguments)
    return True
