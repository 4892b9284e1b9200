"""Rows of the tables of lag: of partitions, topics, members and groups, those with the highest lag first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.lag_time import TIME_COLUMNS, TIME_LAG
from assignor.lag_time_sums import sum_lag_in_time
from assignor.report.lag_text import behind_text, catch_up_text, deletion_text

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from assignor.lag_time_sums import By
    from assignor.page.data import MemberRow, Row

_FIELDS = ("group", "topic", "partition", "lag", "committed", "end_offset", "member_id", "problem")
_TIMES = ("behind_seconds", "growth_per_second", "catch_up_seconds", "records_to_start", "deleted_in_seconds")


def partition_rows(
    rows: Iterable[Mapping[str, Any]], members: Mapping[str, Sequence[MemberRow]]
) -> tuple[list[Row], dict[By, list[Row]]]:
    """Return the rows of partitions, those whose lag is not known last, and the sums of topics, members and groups.

    Args:
        rows: Rows with the columns of `assignor.lag_time.TIME_LAG`, with `group` instead of `group_id`. Columns of
            `TIME_COLUMNS` can be missing; they are not known then.
        members: Members of each group.
    """
    names = {(group, member.member_id): member.name for group, found in members.items() for member in found}
    read = list(rows)
    table = pa.Table.from_pylist([{**row, "group_id": row["group"]} for row in read], TIME_LAG)
    kinds: tuple[By, ...] = ("topic", "member", "group")
    sums = {by: sorted(_sums(table, by, names), key=_order) for by in kinds}
    partitions = [
        {
            **{name: row[name] for name in _FIELDS},
            **_in_time({**_NOT_KNOWN, **row}),
            "member": names.get((row["group"], row["member_id"]), row["member_id"]),
        }
        for row in read
    ]
    partitions.sort(
        key=lambda row: (row["lag"] is None, -(row["lag"] or 0), row["group"], row["topic"], row["partition"])
    )
    return partitions, sums


_NOT_KNOWN = dict.fromkeys(TIME_COLUMNS.names)


def _sums(table: pa.Table, by: By, names: Mapping[tuple[str, str], str]) -> Iterator[Row]:
    """Yield the rows of topics, members or groups."""
    for row in sum_lag_in_time(table, by=by).to_pylist():
        keys = {"group": row["group_id"]}
        if by == "topic":
            keys["topic"] = row["topic"]
        if by == "member":
            keys["member_id"] = row["member_id"]
            keys["member"] = names.get((row["group_id"], row["member_id"]), row["member_id"])
        counts = {"lag": row["lag"] or 0, "partitions": row["partitions"], "not_known": row["unknown"]}
        yield {**keys, **counts, **_in_time(row)}


def _in_time(row: Mapping[str, Any]) -> Row:
    """Return the numbers of lag in time, and their texts."""
    texts = {"behind": behind_text(row), "catches_up": catch_up_text(row), "deleted": deletion_text(row)}
    return {**{name: row[name] for name in _TIMES}, **texts}


def _order(row: Row) -> tuple[Any, ...]:
    return -row["lag"], row["group"], row.get("topic", ""), row.get("member_id", "")
