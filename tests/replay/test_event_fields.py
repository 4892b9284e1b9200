"""The fields of events are the same in the core and for Spark. The documentation is generated from them."""

from __future__ import annotations

import pyarrow as pa

from assignor import _core
from assignor.cluster.metadata import topic_batch
from assignor.replay.events import COMMON, FIELDS, MEANINGS
from assignor.report.tables import EVENT_COLUMNS, KINDS
from assignor.spark.schemas import ENGINE_EVENTS, EVENT_NAMES, EVENT_TIMES, EVENTS


def columns() -> list[str]:
    """Return the columns that the core returns."""
    (batch,) = _core.Replay(topic_batch([])).finish()
    return list(pa.record_batch(batch).schema.names)


def test_the_columns_are_the_fields_of_all_kinds() -> None:
    found = columns()

    assert list(COMMON) == found[: len(COMMON)]
    assert len(found) == len(set(found))
    assert {*COMMON, *(name for fields in FIELDS.values() for name in fields)} == set(found)
    assert found == ENGINE_EVENTS.fieldNames()
    of_spark = {EVENT_NAMES.get(name, name) for name in found} | {f"{name}_time" for name in EVENT_TIMES}
    assert of_spark == set(EVENTS.fieldNames())


def test_each_time_in_milliseconds_has_a_timestamp_in_spark() -> None:
    meanings = {name: text for of_kind in MEANINGS.values() for name, text in of_kind.items()}

    named = {name for name in meanings if name in EVENT_TIMES or name.endswith(("_at", "since", "until"))}
    assert set(EVENT_TIMES) == named


def test_the_report_keeps_all_fields_of_its_kinds() -> None:
    assert {*KINDS} < FIELDS.keys()
    assert {*COMMON, *(name for kind in KINDS for name in FIELDS[kind])} == set(EVENT_COLUMNS) < set(columns())
