"""Tests of ARCHITECTURE.md: its paths exist, and it has the expected sections."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PATH = re.compile(r"`((?:src|python|tests|benches|docs|release)/[\w./]*)`")


def test_every_path_on_the_page_exists() -> None:
    paths = set(PATH.findall(PAGE))

    assert len(paths) > 30
    assert [] == sorted(path for path in paths if not (ROOT / path).exists())


def test_the_page_has_its_sections() -> None:
    headings = re.findall(r"^##+ (.*)$", PAGE, flags=re.MULTILINE)

    assert headings == [
        *("Rooms", "Three paths", "`assign(partitions_per_topic, subscriptions)`", "A JoinGroup request"),
        *("A record of `__consumer_offsets`", "Where a decision is made"),
        *("How to add an assignor", "How to add a pattern dialect", "How to add a record type"),
    ]


def test_the_table_of_rooms_names_every_module_of_the_engine() -> None:
    modules = {path.stem for path in (ROOT / "src").iterdir()} - {"lib", "python"}
    row = next(line for line in PAGE.splitlines() if line.startswith("| `src/` |"))

    assert modules == set(re.findall(r"`(\w+)`", row))
