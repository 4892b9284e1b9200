"""Pictures of the page of the recorded cluster, for the README and docs/page.md: `python -m docs.page_pictures`.

The program writes the page of data/fleet_webshop as `assignor report --page` does, opens it in Chromium, and saves what
the browser shows. Run it after a change of the page. It needs Chromium, and the packages of requirements-dev.txt.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assignor.cli import main as run

if TYPE_CHECKING:
    from typing import Literal

    from playwright.sync_api import Browser

DOCS = Path(__file__).resolve().parent
RECORDING = DOCS.parent / "data" / "fleet_webshop"


class Picture(NamedTuple):
    """Size of a window, colours of the system, and the element that the window begins with."""

    width: int
    height: int
    scheme: Literal["dark", "light"]
    top: str


PICTURES = {
    "page-light.png": Picture(1280, 960, "light", ".filters"),
    "page-dark.png": Picture(1280, 960, "dark", ".filters"),
    "page-phone.png": Picture(360, 780, "light", ".filters"),
}
"""Pictures by the names of their files in docs."""


def save(browser: Browser, page: Path, picture: Picture, file: Path) -> None:
    """Open a page and save a picture of it."""
    size = {"width": picture.width, "height": picture.height}
    with browser.new_context(viewport=size, color_scheme=picture.scheme) as context:  # type: ignore[arg-type]  # a dict is no ViewportSize for mypy
        window = context.new_page()
        window.goto(page.as_uri())
        window.wait_for_selector(f"html[data-drawn={picture.scheme}]", state="attached")
        window.evaluate("top => document.querySelector(top).scrollIntoView({block: 'start'})", picture.top)
        window.wait_for_timeout(500)  # charts are drawn again when they come into view
        window.screenshot(path=file)


def main() -> int:
    """Write the pictures."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        sys.exit("assignor: chromium was not found; install Chromium, which draws the charts of the page")
    from playwright.sync_api import sync_playwright  # the tests read PICTURES where it is not installed

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        code = run(["report", str(RECORDING), "--engine", "local", "--out", f"{folder}/out", "--page", str(page)])
        if code:
            return code
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
            for name, picture in PICTURES.items():
                save(browser, page, picture, DOCS / name)
                sys.stderr.write(f"{name} written\n")
            browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
