"""Implementations of fleet assignment on Spark: `Fleet`, a floor that only moves rows, and a call for each group.

Spark's workers cannot import this module, so they get nested functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import ArrayType

from assignor.spark.schemas import ASSIGNMENTS, KEYS, SPAN
from benches.spark_fleets import Written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fleet(written: Written, assignor: str = "range") -> DataFrame:
    """Return the answer of `Fleet`."""
    return written.fleet(assignor).assign()


def floor(written: Written, rows: int, owned: DataFrame | None = None) -> DataFrame:
    """Collect the members of each group, send them to Python, and return `rows` rows without an assignment.

    With owned partitions, collect and send these as well.
    """
    member = F.struct("member_id", "group_instance_id", "topics").alias("member")
    collected = [F.collect_list("member").alias("members")]
    listed = written.members.select(*KEYS, member)
    if owned is not None:
        span = F.struct("member_id", "topic", "start", "count").alias("span")
        listed = listed.unionByName(owned.select(*KEYS, span), allowMissingColumns=True)
        collected.append(F.collect_list("span").alias("spans"))
    lists = listed.groupBy(*KEYS).agg(*collected)
    # Spark would evaluate a deterministic function twice: for `inline`, and for a filter that it adds.
    answer = arrow_udf(_reshaped(rows, written.size.groups), ArrayType(SPAN)).asNondeterministic()  # type: ignore[call-overload]  # read from the hints
    return lists.select(*KEYS, answer(F.struct(*lists.columns[2:])).alias("answer")).select(*KEYS, F.inline("answer"))


def _reshaped(rows: int, groups: int) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    def reshaped(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        import numpy as np

        for batch in batches:
            lists = batch.field("members")
            members = lists.values
            topics = members.field("topics")
            first_pairs = np.asarray(topics.offsets).astype(np.int64)
            of_groups = first_pairs[np.asarray(lists.offsets)]
            dealt = np.diff(np.arange(len(lists) + 1) * rows // groups)
            wanted = np.minimum(dealt, np.diff(of_groups))
            ends = np.concatenate([[0], np.cumsum(wanted)])
            pairs = np.repeat(of_groups[:-1] - ends[:-1], wanted) + np.arange(ends[-1])
            owners = np.searchsorted(first_pairs, pairs, side="right") - 1
            nothing = pa.array(np.zeros(len(pairs), np.int32))
            columns = [members.field("member_id").take(pa.array(owners)), topics.values.take(pa.array(pairs))]
            spans = pa.StructArray.from_arrays([*columns, nothing, nothing], ["member_id", "topic", "start", "count"])
            yield pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), spans)

    return reshaped


def in_arrow(written: Written) -> DataFrame:
    """Call `plan` for each group by `applyInArrow`."""
    planned = _per_group(written)

    def of_group(table: pa.Table) -> pa.Table:
        return planned(table)

    return written.members.groupBy(*KEYS).applyInArrow(of_group, ASSIGNMENTS)


def in_pandas(written: Written) -> DataFrame:
    """Call `plan` for each group by `applyInPandas`."""
    planned = _per_group(written)

    def of_group(frame: Any) -> Any:
        import pyarrow

        return planned(pyarrow.Table.from_pandas(frame, preserve_index=False)).to_pandas()

    return written.members.groupBy(*KEYS).applyInPandas(of_group, ASSIGNMENTS)


def _per_group(written: Written) -> Callable[[pa.Table], pa.Table]:
    partitions = {row["topic"]: row["partitions"] for row in written.topics.collect()}

    def planned(table: pa.Table) -> pa.Table:
        import pyarrow

        from assignor import Subscription, plan

        rows = table.select(["member_id", "group_instance_id", "topics"]).to_pylist()
        found = plan(
            partitions,
            {row["member_id"]: Subscription(row["topics"], group_instance_id=row["group_instance_id"]) for row in rows},
        )
        spans = found.spans()
        keys = {name: pyarrow.repeat(table.column(name)[0], len(spans.member)) for name in ("cluster", "group_id")}
        members, topics = (pyarrow.array(names) for names in (found.members, found.topics))
        named = {
            "member_id": members.take(pyarrow.array(spans.member)),
            "topic": topics.take(pyarrow.array(spans.topic)),
        }
        return pyarrow.table({**keys, **named, "start": spans.start, "count": spans.count})

    return planned
