"""Configuration of the documentation site, which Sphinx builds from the pages of docs: `make site`.

The pages come from `python -m docs.generate --site`. A warning ends the build: a link to a page or heading that does
not exist, or a page that docs/README.md does not list. `make links` also opens the links to other sites.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REPOSITORY = os.environ.get("REPOSITORY", "https://example.org/assignor/assignor")

project = "assignor"
author = "The assignor contributors"
release = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["package"]["version"]

extensions = ["myst_parser", "sphinxcontrib.mermaid"]
source_suffix = {".md": "markdown"}
root_doc = "README"
html_theme = "furo"
html_title = f"assignor {release}"
html_extra_path = [str(path) for path in sorted(DOCS.glob("page-*.png"))]  # elements `<img>` of a page name them
html_copy_source = False
html_show_copyright = False
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
linkcheck_ignore = [re.escape(REPOSITORY)]  # files of the repository, which the build checks
linkcheck_anchors_ignore_for_url = [r"https://github\.com/.*"]  # a program in the page makes them

_OUTSIDE = re.compile(r"(?<=\]\()(?P<name>\.\./[^)#]*)(?P<fragment>#[^)]*)?(?=\))")


def outside_links(text: str, folder: Path) -> str:
    """Return a page with the address in the repository in each link to a file outside docs.

    Raises:
        ValueError: The repository has no such file.
    """

    def replaced(link: re.Match[str]) -> str:
        target = (folder / link["name"]).resolve()
        if target.is_relative_to(DOCS):
            return link[0]
        if not target.exists():
            raise ValueError(f"the link {link[0]!r} of a page in {folder} leads to no file of the repository")
        return f"{REPOSITORY}/blob/main/{target.relative_to(ROOT).as_posix()}{link['fragment'] or ''}"

    return _OUTSIDE.sub(replaced, text)


def navigation(text: str) -> str:
    """Return the rows of the table in docs/README.md as the sections of the site's navigation, each page once."""
    parts, seen = [], set()
    for row in re.findall(r"^\| (?!to do this|-)(.*)\|$", text.replace("|---|---|", ""), flags=re.MULTILINE):
        task, pages = row.split("|", 1)
        names = [name for name in re.findall(r"\]\(([\w/-]+\.md)", pages) if name not in seen]
        seen |= {*names}
        names = list(dict.fromkeys(names))
        if names:
            parts.append("\n".join(["```{toctree}", ":hidden:", f":caption: {task.strip()}", "", *names, "```"]))
    return "\n\n".join(parts)


def setup(app: Any) -> None:
    """Change the links of each page, and add the navigation to the first one, before Sphinx reads it."""

    def changed(_app: Any, name: str, content: list[str]) -> None:
        page = outside_links(content[0], (DOCS / name).parent)
        content[0] = f"{page}\n{navigation(page)}\n" if name == root_doc else page

    app.connect("source-read", changed)
