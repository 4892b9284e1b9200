"""The examples of commands in documentation pages print what the pages show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assignor.cli import COMMANDS
from tests.support.shell_examples import differences, examples, run

ROOT = Path(__file__).parents[2]
SHOULD_MOVE = "should-this-group-move-to-kip-848.md"
PAGES = {
    "lag.md": 1,
    "command-line.md": 12,
    "rebalance-cost.md": 2,
    "replica-counts.md": 2,
    "replay.md": 3,
    "report.md": 1,
    SHOULD_MOVE: 1,
    "tasks.md": 1,
    "tutorial.md": 5,
}
"""Pages and the least number of their examples."""

FILES = {"group.json": "command-line.md", "patterns.json": SHOULD_MOVE}
"""Files that the examples read, and the pages that show them."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the bundled recording and the files of the pages."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    for name, page in FILES.items():
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        (group,) = re.findall(r"^```json\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
        (tmp_path / name).write_text(group, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_commands_print_what_the_page_shows(page: str, folder: Path) -> None:
    found = list(examples((ROOT / "docs" / page).read_text(encoding="utf-8")))

    assert len(found) >= PAGES[page]
    for example in found:
        printed = run(example.command, folder).splitlines()
        assert [] == differences(example.output, printed), example.command


def test_each_command_is_in_the_table_of_commands() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    rows = [line for line in page.partition("## The group")[0].splitlines() if line.startswith("|")]

    assert [] == [command for command in COMMANDS if not any(f"`{command}`" in row for row in rows)]


def test_differences_are_found() -> None:
    assert [] == differences(["a", "…", "d…f", "g"], ["a", "b", "c", "d e f", "g"])
    assert [] == differences(["a", "…"], ["a", "b"])
    assert ["c"] == differences(["a", "c"], ["a", "b", "c"])
    assert ["x"] == differences(["a", "…", "x"], ["a", "b"])
    assert ["unexpected line: b"] == differences(["a"], ["a", "b"])
