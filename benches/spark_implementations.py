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

from assignor.spark.group_rows import clusters_row
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
    """Call the engine for each group by `applyInArrow`; each task reads the topics once."""
    assigned = _per_group(_clusters(written))

    def of_group(table: pa.Table) -> pa.Table:
        return assigned(table)

    return written.members.groupBy(*KEYS).applyInArrow(of_group, ASSIGNMENTS)


def in_pandas(written: Written) -> DataFrame:
    """Call the engine for each group by `applyInPandas`."""
    assigned = _per_group(_clusters(written))

    def of_group(frame: Any) -> Any:
        import pyarrow

        return assigned(pyarrow.Table.from_pandas(frame, preserve_index=False)).to_pandas()

    return written.members.groupBy(*KEYS).applyInPandas(of_group, ASSIGNMENTS)


def _clusters(written: Written) -> pa.Array:
    found = clusters_row(written.topics, written.topics.columns).toArrow()
    return found.column("clusters").combine_chunks()


def _per_group(clusters: pa.Array) -> Callable[[pa.Table], pa.Table]:
    known: list[Any] = []

    def assigned(table: pa.Table) -> pa.Table:
        import pyarrow

        from assignor._core import Clusters

        if not known:
            known.append(Clusters(clusters))
        columns = {name: table.column(name).combine_chunks() for name in table.column_names}
        names = ("member_id", "group_instance_id", "topics")
        texts = pyarrow.string()
        members = pyarrow.StructArray.from_arrays(
            # In pandas, a column without values has no type.
            [columns[name] if name == "topics" else columns[name].cast(texts) for name in names],
            list(names),
        )
        lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, len(members)], pyarrow.int32()), members)
        keys = [columns[name].slice(0, 1) for name in ("cluster", "group_id")]
        groups = pyarrow.StructArray.from_arrays([*keys, lists], ["cluster", "group_id", "members"])
        (found,) = known[0].assign(groups)
        spans = pyarrow.array(found).flatten()
        repeated = [pyarrow.repeat(key[0], len(spans)) for key in keys]
        named = [spans.field(name) for name in ("member_id", "topic", "start", "count")]
        return pyarrow.table([*repeated, *named], ["cluster", "group_id", "member_id", "topic", "start", "count"])

    return assigned
