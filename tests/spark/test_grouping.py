"""Groups in packed rows: batches may end at any row or blob, and groups with equal hashes may alternate."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import _core
from assignor.errors import IllegalStateError
from assignor.spark.grouping import NO_TEXTS, NULL_TEXT, SEPARATOR, answer_rows, grouped, rows_of
from assignor.spark.packing import BUCKET, complete_runs, packed, packed_schema
from assignor.spark.unreadable import with_reasons
from tests.fleet.columns import CURRENT, clusters, groups
from tests.fleet.columns import cluster as a_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = dict[str, Any]

ROWS = pa.schema(
    [
        *((name, pa.string()) for name in ("cluster", "group_id", "member_id")),
        ("topics", pa.binary()),
        ("topic", pa.string()),
        ("start", pa.int32()),
        ("count", pa.int32()),
        ("run", pa.int64()),
    ]
)
"""Columns as Spark gives them, except `topics`: `batches` makes a text of its bytes, which are not always UTF-8."""

MEMBERS = ["cluster", "group_id", "member_id", "topics", "run"]
OWNED = ["cluster", "group_id", "member_id", "topic", "start", "count", "run"]

LISTS = st.none() | st.lists(st.sampled_from(["t", "u", "", "é", None]), max_size=3)
NEXT = 1 << 54
"""Difference of two hashes that are not in the same bucket."""

RUNS = {
    ("c", "g"): 1,
    ("c", "h"): 1,
    (None, "g"): 1,
    ("d", "g"): -2,
    ("d", None): -2,
    ("", "g"): 3,
    ("", "h"): 5 * NEXT,
}
"""Hash of each key. Some groups have equal hashes, and some have different hashes in one bucket."""


def text(topics: Sequence[str | None] | None) -> bytes | None:
    if topics is None:
        return None
    if not topics:
        return NO_TEXTS
    return SEPARATOR.join(NULL_TEXT if topic is None else topic.encode() for topic in topics)


def batches(rows: Sequence[Row], sizes: Sequence[int], columns: Sequence[str] = MEMBERS) -> list[pa.RecordBatch]:
    """Return rows in batches of the given sizes; the last batch has the rest."""
    ends = [0, *itertools.accumulate(sizes)]
    parts = [rows[start:end] for start, end in itertools.pairwise(ends)] + [rows[ends[-1] :]]
    found = []
    for part in parts:
        encoded = [{**row, "topics": text(row.get("topics"))} for row in part]
        batch = pa.RecordBatch.from_pylist(encoded, ROWS)
        validity, offsets, data = batch["topics"].buffers()
        texts = pa.StringArray.from_buffers(len(batch), offsets, data, validity)
        batch = batch.set_column(batch.schema.get_field_index("topics"), "topics", texts)
        found.append(batch.select(list(columns)))
    return found


def blobs(*given: Sequence[pa.RecordBatch], sizes: Sequence[int] = (), limit: int = 1 << 24) -> list[pa.RecordBatch]:
    """Return packed rows of members and of owned partitions as they come from Spark, in batches of the given sizes."""
    found = []
    for rows in given:
        names = packed_schema(rows[0].schema.names).fieldNames()
        schema = pa.schema([(name, pa.int32() if name == BUCKET else pa.binary()) for name in names])
        found += [pa.Table.from_batches(each, schema) for _, each in [(0, []), *packed(iter(rows), limit)]]
    # As in Spark, a column that only one of the two kinds of blobs has is null in the other kind.
    table = pa.concat_tables(found, promote_options="default").sort_by(BUCKET).combine_chunks()
    ends = [0, *itertools.accumulate(sizes), len(table)]
    parts = [table.slice(start, end - start) for start, end in itertools.pairwise(ends) if end >= start]
    return [batch for part in parts for batch in part.to_batches()]


def expected(rows: Sequence[Row]) -> dict[tuple[Any, Any], tuple[list[str], list[str]]]:
    """Return the members and the owned partitions of each group."""
    found: dict[tuple[Any, Any], tuple[list[str], list[str]]] = {}
    for row in rows:
        members, current = found.setdefault((row["cluster"], row["group_id"]), ([], []))
        if row["is_owned"]:
            current.append(repr({name: row.get(name) for name in CURRENT.names}))
        else:
            members.append(repr({name: row.get(name) for name in ("member_id", "topics")}))
    return {key: (sorted(members), sorted(current)) for key, (members, current) in found.items()}


@st.composite
def some_rows(draw: Any) -> list[Row]:
    """Draw rows in any order."""
    rows = []
    for _ in range(draw(st.integers(0, 12))):
        key = draw(st.sampled_from(sorted(RUNS, key=repr)))
        row: Row = {"cluster": key[0], "group_id": key[1], "run": RUNS[key], "is_owned": draw(st.booleans())}
        row["member_id"] = draw(st.sampled_from(["a", "b", None]))
        if row["is_owned"]:
            row |= {"topic": draw(st.sampled_from(["t", None])), "start": draw(st.integers(0, 3)), "count": 1}
        else:
            row["topics"] = draw(LISTS)
        rows.append(row)
    return rows


SIZES = st.lists(st.integers(0, 4), max_size=6)


@given(some_rows(), SIZES, SIZES, SIZES, st.integers(1, 2000))
def test_batches_that_end_anywhere_give_the_same_groups(
    rows: list[Row], sizes: list[int], owned_sizes: list[int], blob_sizes: list[int], limit: int
) -> None:
    found: dict[tuple[Any, Any], tuple[list[str], list[str]]] = {}
    counted = 0
    members = batches([row for row in rows if not row["is_owned"]], sizes)
    owned = batches([row for row in rows if row["is_owned"]], owned_sizes, OWNED)
    assert len(rows) == sum(count for part in (members, owned) for count, _ in packed(iter(part), limit))
    sent = blobs(members, owned, sizes=blob_sizes, limit=limit)
    for count, rows_of_blobs in rows_of(iter(sent), 1 + limit % 4):
        counted += count
        for group in grouped(rows_of_blobs).to_pylist():
            key = (group["cluster"], group["group_id"])
            assert key not in found
            found[key] = (sorted(map(repr, group["members"])), sorted(map(repr, group["current"])))

    assert sum(batch.num_rows for batch in sent) == counted
    assert expected(rows) == found


def test_a_column_of_groups_ends_with_the_bucket_that_reaches_the_limit() -> None:
    rows = [
        {"cluster": "c", "group_id": f"g{number // 3}", "run": number // 3 * NEXT, "topics": ["t"]}
        for number in range(30)
    ]

    def sizes(limit: int) -> list[int]:
        columns = [grouped(found) for _, found in rows_of(iter(blobs(batches(rows, []))), limit)]
        return [sum(len(group["members"]) for group in column.to_pylist()) for column in columns]

    assert [3] * 10 == sizes(1)
    assert 30 == sum(sizes(10))
    assert 10 <= max(sizes(10)) <= 10 + 2
    # The last bucket waits for blobs that may follow.
    assert [27, 3] == sizes(100)


@pytest.mark.parametrize("sizes", [[], [2]])
def test_blobs_that_are_not_sorted_are_an_error(sizes: list[int]) -> None:
    rows: list[Row] = [
        {"cluster": "c", "group_id": f"g{run}", "run": run * NEXT, "member_id": "a"} for run in (1, 2, 3)
    ]
    whole = pa.Table.from_batches(blobs(batches(rows, []))).take([0, 2, 1]).combine_chunks()
    sent = [batch for start in [0, *sizes] for batch in whole.slice(start, sizes[0] if sizes else 3).to_batches()]

    with pytest.raises(IllegalStateError, match=r"^Spark did not sort the rows"):
        list(rows_of(iter(sent)))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 12])
def test_batches_are_cut_between_runs(size: int) -> None:
    rows = pa.table({"cluster": [*"aaaabbbbbb", None, None], "group_id": [*"112233333344"], "row": range(12)})

    found = [batch.to_pydict() for batch in complete_runs(rows.to_batches(max_chunksize=size), ("cluster", "group_id"))]

    assert [*range(12)] == [row for batch in found for row in batch["row"]]
    ends = {batch["row"][-1] for batch in found}
    assert {1, 3, 9, 11} >= ends
    assert size > 2 or ends == {1, 3, 9, 11}


def test_the_blobs_of_a_bucket_store_each_distinct_text_once() -> None:
    rows: list[Row] = [
        {"cluster": "c", "group_id": "g", "run": 1, "member_id": f"m{number}", "topics": ["t" * 1000]}
        for number in range(100)
    ]

    [blob] = blobs(batches(rows, [30]))

    assert 1 == blob.num_rows
    assert 1000 == len(blob["topics"][0].as_py())


def test_columns_that_are_missing_stay_missing() -> None:
    rows: list[Row] = [{"cluster": "c", "group_id": "g", "run": 1, "member_id": "a"}]

    [(_, found)] = rows_of(iter(blobs(batches(rows, [], ["cluster", "group_id", "member_id", "run"]))))

    assert [{"cluster": "c", "group_id": "g", "members": [{"member_id": "a"}]}] == grouped(found).to_pylist()


def test_names_that_are_not_utf8_reach_the_engine() -> None:
    batch = pa.RecordBatch.from_pylist([{"cluster": "c", "group_id": "g", "run": 1, "member_id": "a"}], ROWS)
    texts = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\3\0\0\0"), pa.py_buffer(b"t\xff\xfd"))
    batch = batch.set_column(3, "topics", texts).select(MEMBERS)

    [(_, found)] = rows_of(iter(blobs([batch])))

    known = _core.Clusters(clusters(a_cluster({"t": 1})))
    with pytest.raises(ValueError, match=r"^topics: text that is not UTF-8: 't"):
        known.assign(grouped(found))
    readable = with_reasons(found)
    with pytest.raises(
        ValueError, match=r"^group 'g' of cluster 'c': member 'a': topics: text that is not UTF-8: 't\\xff"
    ):
        known.assign(grouped(readable))
    assert pa.nulls(1, pa.string()) == with_reasons(readable)["unreadable"]


@pytest.mark.parametrize("column_bytes", [1, 1 << 27])
def test_answers_have_the_keys_of_their_groups(column_bytes: int) -> None:
    known = _core.Clusters(clusters(a_cluster({"t": 2})))
    asked = groups(
        {"cluster": "c", "group_id": "one", "members": [{"member_id": "a", "topics": ["t"]}]},
        {"cluster": "c", "group_id": "none", "members": []},
        {"cluster": "c", "group_id": "two", "members": [{"member_id": id, "topics": ["t"]} for id in "ab"]},
    )

    def rows(verb: str) -> list[Row]:
        columns = getattr(known, verb)(asked, column_bytes=column_bytes)
        return [row for batch in answer_rows(asked, columns) for row in batch.to_pylist()]

    assert [("one", "a", 2), ("two", "a", 1), ("two", "b", 1)] == [
        (row["group_id"], row["member_id"], row["count"]) for row in rows("assign")
    ]
    assert [("one", 1), ("none", 0), ("two", 2)] == [(row["group_id"], row["members"]) for row in rows("balance")]
    assert [] == rows("problems")
