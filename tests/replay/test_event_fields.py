"""The fields of events are the same in the core, in the schema for Spark and in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

from assignor import _core
from assignor.cluster.metadata import topic_batch
from assignor.replay.events import COMMON, FIELDS
from assignor.report.tables import EVENT_COLUMNS, KINDS
from assignor.spark.events_schema import EVENTS

DOCS = Path(__file__).parents[2] / "docs"


def columns() -> list[str]:
    """Return the columns that the core returns."""
    (batch,) = _core.Replay(topic_batch([])).finish()
    return list(pa.record_batch(batch).schema.names)


def test_the_columns_are_the_fields_of_all_kinds() -> None:
    found = columns()

    assert list(COMMON) == found[: len(COMMON)]
    assert len(found) == len(set(found))
    assert {*COMMON, *(name for fields in FIELDS.values() for name in fields)} == set(found)
    assert set(EVENTS.fieldNames()) == set(found)


def test_the_report_keeps_all_fields_of_its_kinds() -> None:
    assert {*KINDS} < FIELDS.keys()
    assert {*COMMON, *(name for kind in KINDS for name in FIELDS[kind])} == set(EVENT_COLUMNS) < set(columns())


def test_the_page_about_replay_lists_the_fields() -> None:
    page = (DOCS / "replay.md").read_text(encoding="utf-8")

    for kind, fields in FIELDS.items():
        (row,) = re.findall(rf"^\| `{kind}` \| (.*) \|$", page, flags=re.MULTILINE)
        assert list(fields) == re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", row)), kind


def test_the_page_about_events_lists_the_fields() -> None:
    page = (DOCS / "replay-events.md").read_text(encoding="utf-8")

    for kind, fields in {"Fields of all events": COMMON, **FIELDS}.items():
        section = re.split(rf"^## {kind}$", page, flags=re.MULTILINE)[1].partition("\n## ")[0]
        assert set(fields) <= set(re.findall(r"`(\w+)`", section)), kind
