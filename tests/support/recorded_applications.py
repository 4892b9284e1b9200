"""Recorded applications in `data/`, and what their clients said they own while nothing changed.

`python -m tests.broker.applications` made both.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from assignor.offsets import decode_record
from tests.support.record_bytes import LogRecord
from tests.support.recorded_fleet import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from assignor.offsets import Record

Row = dict[str, Any]

RECORDINGS = ("streams_connect_share", "streams_share_4_4")
"""Names of the recordings: on brokers of Kafka 4.3.1, and on brokers of Kafka 4.4.0."""


def folder(name: str) -> Path:
    """Return the folder of a recording."""
    return ROOT / "data" / name


@functools.cache
def expected(name: str) -> Row:
    """Return the `actions` of the driver, and what the clients said they own (`settled`), each with its time `t`."""
    path = ROOT / "tests" / "data" / name / "expected.json"
    content: Row = json.loads(path.read_text(encoding="utf-8"))
    return content


def settled(kind: str) -> list[tuple[str, str, str]]:
    """Return recording, label and group of each state in which clients of a kind own other things than in the last."""
    found = []
    for name in RECORDINGS:
        before: Row = {}
        for state in expected(name)["settled"]:
            groups = {group: said for group, said in state["groups"].items() if said["kind"] == kind}
            found += [(name, state["label"], group) for group, said in groups.items() if said != before.get(group)]
            before = groups
    return found


def said(name: str, label: str, group: str) -> tuple[int, Row]:
    """Return the time at which the clients of a group said what they own, and what each said, by client id."""
    (state,) = (state for state in expected(name)["settled"] if state["label"] == label)
    return state["t"], state["groups"][group]["clients"]


@functools.cache
def _records(name: str) -> list[tuple[str | None, Record, LogRecord]]:
    """Return group, decoded record and record of each record, in the order of the log."""
    found = []
    for row in pq.read_table(folder(name) / "records.parquet").drop_columns("partition").to_pylist():
        decoded = decode_record(row["key"], row["value"])
        key = decoded.key or {}
        found.append((key.get("groupId", key.get("group")), decoded, LogRecord(**row)))
    return found


def log(name: str, group: str, until: int | None = None) -> list[tuple[Record, LogRecord]]:
    """Return the records of a group up to a time, decoded and as they are."""
    return [
        (decoded, record)
        for found, decoded, record in _records(name)
        if found == group and (until is None or record.timestamp <= until)
    ]


@functools.cache
def topics(name: str) -> list[Row]:
    """Return the topic metadata of all times."""
    columns = ["t", "topic", "topic_id", "partition", "racks"]
    rows: list[Row] = pq.read_table(folder(name) / "topics.parquet", columns=columns).to_pylist()
    return rows
