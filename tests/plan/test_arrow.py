"""A plan as Arrow columns, read by pyarrow, polars and DuckDB."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from assignor import Plan, errors, plan
from tests.support.engines import ENGINES, Engine
from tests.support.strategies import Group, groups

TEXT = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        pa.field("member_id", TEXT, nullable=False),
        pa.field("topic", TEXT, nullable=False),
        pa.field("start", pa.int32(), nullable=False),
        pa.field("count", pa.int32(), nullable=False),
    ]
)
ROWS = [("bé", "t", 2, 1), ("bé", "u😀", 5, 2), ("bé", "u😀", 9, 1), ("a", "t", 0, 2), ("a", "u😀", 0, 3)]


@pytest.fixture
def found(engine: Engine) -> Plan:
    """Return the plan of `ROWS`; one member has no partitions."""
    return plan({"u😀": [0, 1, 2, 5, 6, 9], "t": 3}, {"bé": ("t", "u😀"), "a": ("u😀", "t"), "idle": ()}, engine=engine)


def rows(table: pa.Table | pa.RecordBatch) -> list[tuple[Any, ...]]:
    """Return the rows of a table."""
    return [tuple(row.values()) for row in table.to_pylist()]


def test_pyarrow_gets_a_table_of_spans(found: Plan) -> None:
    table = found.to_arrow()

    assert isinstance(table, pa.Table)
    assert table.schema.equals(SCHEMA, check_metadata=True)
    assert ROWS == rows(table)
    table.validate(full=True)


def test_pyarrow_reads_the_plan_itself(found: Plan) -> None:
    assert found.to_arrow() == pa.table(found)
    assert ROWS == rows(pa.record_batch(found))
    assert ROWS == rows(pa.RecordBatchReader.from_stream(found).read_all())
    assert ROWS == [tuple(row.values()) for row in pa.array(found).to_pylist()]
    assert SCHEMA == pa.schema(found)


def test_the_dictionaries_have_all_members_and_topics(found: Plan) -> None:
    batch = pa.record_batch(found)

    assert list(found.members) == batch["member_id"].dictionary.to_pylist()
    assert list(found.topics) == batch["topic"].dictionary.to_pylist()


def test_the_requested_schema_is_returned(found: Plan) -> None:
    wanted = pa.schema(
        [("member_id", pa.string()), ("topic", pa.string()), ("start", pa.int64()), ("count", pa.int32())]
    )

    assert wanted == pa.table(found, schema=wanted).schema
    assert ROWS == rows(pa.table(found, schema=wanted))


def test_numbers_are_not_copied_and_outlive_the_plan(engine: Engine) -> None:
    gc.collect()
    before = sys.getrefcount(Plan)
    found = plan({"t": [0, 2, 4]}, {"a": ["t"]}, engine=engine)
    batch = pa.record_batch(found)
    for name in ("start", "count"):
        assert np.shares_memory(getattr(found.spans(), name), batch[name].to_numpy())
    for name, column in (("member_id", "member"), ("topic", "topic")):
        assert np.shares_memory(getattr(found.spans(), column), batch[name].indices.to_numpy())

    del found
    gc.collect()
    for _ in range(50):
        pa.record_batch(plan({"t": [7, 9]}, {"b": ["t"]}, engine=engine))

    assert [("a", "t", 0, 1), ("a", "t", 2, 1), ("a", "t", 4, 1)] == rows(batch)
    assert before == sys.getrefcount(Plan)


def test_polars_reads_the_plan_itself(found: Plan) -> None:
    polars = pytest.importorskip("polars", reason="polars is one of the libraries that read Arrow")

    frame = polars.from_dataframe(found)

    assert ["member_id", "topic", "start", "count"] == frame.columns
    assert [polars.Int32, polars.Int32] == frame.dtypes[2:]
    assert ROWS == frame.rows()
    assert ROWS == polars.from_arrow(found.to_arrow()).rows()
    assert {"bé": 4, "a": 5} == dict(frame.group_by("member_id").agg(polars.col("count").sum()).rows())


def test_duckdb_reads_the_plan_itself(found: Plan) -> None:  # noqa: ARG001 - DuckDB finds the variable by name
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is one of the libraries that read Arrow")

    assert ROWS == duckdb.sql("FROM found").fetchall()
    by_member = "SELECT member_id, sum(count) FROM found WHERE topic = 'u😀' GROUP BY 1 ORDER BY 1"
    assert [("a", 3), ("bé", 3)] == duckdb.sql(by_member).fetchall()


def test_a_plan_without_spans_is_a_table_without_rows(engine: Engine) -> None:
    polars = pytest.importorskip("polars", reason="polars is one of the libraries that read Arrow")
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is one of the libraries that read Arrow")
    for empty in (plan({}, {}, engine=engine), plan({"t": 0}, {"a": ["t"]}, engine=engine)):
        table = empty.to_arrow()

        table.validate(full=True)
        assert (0, SCHEMA) == (len(table), table.schema)
        assert (0, 4) == polars.from_dataframe(empty).shape
        assert [] == duckdb.sql("FROM empty").fetchall()


@given(group=groups(equal_instance_ids=True))
def test_the_table_of_a_plan_has_its_spans_with_names(group: Group) -> None:
    for engine in ENGINES:
        found = plan(group.topics, group.members, prefer_rack_aware=group.prefer_rack_aware, engine=engine)
        columns = zip(*(column.tolist() for column in found.spans()), strict=True)
        expected = [(found.members[member], found.topics[topic], *run) for member, topic, *run in columns]

        table = found.to_arrow()

        table.validate(full=True)
        assert expected == rows(table)
        assert found == {
            member: [
                (topic, id)
                for owner, topic, start, count in rows(table)
                if owner == member
                for id in range(start, start + count)
            ]
            for member in found.members
        }


def test_the_columns_can_be_read_without_pyarrow(found: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(errors.MissingDependencyError, match=r"^pyarrow is not installed: pip install "):
        found.to_arrow()
    stream, (schema, array) = found.__arrow_c_stream__(), found.__arrow_c_array__()
    assert all(type(capsule).__name__ == "PyCapsule" for capsule in (stream, schema, array, found.__arrow_c_schema__()))
