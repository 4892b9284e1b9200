"""The configuration of the documentation site: links that leave docs, and a navigation with each page once."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def conf() -> dict[str, Any]:
    """Return the names of the configuration."""
    return runpy.run_path(str(DOCS / "site" / "conf.py"))


def test_links_out_of_the_pages_lead_to_the_repository(conf: dict[str, Any]) -> None:
    page = "[a](lag.md#x) [b](../CHANGELOG.md) [c](../ARCHITECTURE.md#rooms) [d](https://example.org/../x)"
    address = f"{conf['REPOSITORY']}/blob/main"

    assert (
        conf["outside_links"](page, DOCS)
        == f"[a](lag.md#x) [b]({address}/CHANGELOG.md) [c]({address}/ARCHITECTURE.md#rooms) [d](https://example.org/../x)"
    )
    assert "[lag](../lag.md)" == conf["outside_links"]("[lag](../lag.md)", DOCS / "assignors")
    with pytest.raises(ValueError, match=r"'\.\./none\.md'"):
        conf["outside_links"]("[a](../none.md)", DOCS)


def test_the_navigation_has_each_page_once(conf: dict[str, Any]) -> None:
    lines = conf["navigation"]((DOCS / "README.md").read_text(encoding="utf-8")).splitlines()
    pages = [line for line in lines if line.endswith(".md")]

    assert len(pages) == len({*pages})
    assert {*pages} == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"README.md"}
    assert ":caption: begin" in lines


def test_make_site_treats_warnings_as_errors() -> None:
    (command,) = re.findall(r"-m sphinx (.*)", (ROOT / "Makefile").read_text(encoding="utf-8"))

    assert {"-W", "--keep-going"} <= {*command.split()}
    (goals,) = re.findall(r"^make -j2 (.*)$", (ROOT / ".ci/run").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert "site" in goals.split()


def test_links_to_other_sites_are_opened_once_a_week() -> None:
    assert "run: make links " in (ROOT / ".github/workflows/long.yml").read_text(encoding="utf-8")
