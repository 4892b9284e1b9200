"""Rules of consumer lag in plain Python, with which the tests compare `assignor.lag`."""

from __future__ import annotations

from typing import Any

from assignor.lag import PROBLEMS

Row = dict[str, Any]


def partition_rows(positions: list[Row], ends: list[Row]) -> list[Row]:
    """Return the rows of `partition_lag`."""
    of_partition = {(row["topic"], row["partition"]): row for row in ends}
    found = []
    for position in positions:
        committed = position["committed"] if position["committed"] is None or position["committed"] >= 0 else None
        if committed is None and position["member_id"] is None:
            continue
        log = of_partition.get((position["topic"], position["partition"]), {})
        start, end = log.get("start_offset"), log.get("end_offset")
        lag = deleted = problem = None
        if committed is None:
            problem = "never_committed"
        elif end is None:
            problem = "unknown_end"
        elif committed > end:
            problem = "beyond_end"
        else:
            lag = end - committed
            if start is not None:
                deleted = max(start - committed, 0)
                problem = "before_start" if deleted else None
        measured = {"start_offset": start, "end_offset": end, "lag": lag, "deleted": deleted, "problem": problem}
        found.append({**position, "committed": committed, **measured})
    # Of the rows of a partition, the one without an owner is last.
    return sorted(found, key=lambda row: (*_key(row), row["member_id"] is None, row["member_id"] or ""))


def member_rows(rows: list[Row]) -> list[Row]:
    """Return the rows of `member_lag` for those of `partition_lag`."""
    owned = [row for row in rows if row["member_id"] is not None]
    members = sorted({(row["group_id"], row["member_id"]) for row in owned})
    return [
        {"group_id": group, "member_id": member, **sums([row for row in owned if _member(row) == (group, member)])}
        for group, member in members
    ]


def group_rows(rows: list[Row]) -> list[Row]:
    """Return the rows of `group_lag` for those of `partition_lag`."""
    once: dict[Any, Row] = {}
    for row in rows:
        once.setdefault(_key(row), row)
    found = []
    for group in sorted({row["group_id"] for row in rows}):
        its = [row for row in once.values() if row["group_id"] == group]
        unowned = sums([row for row in its if row["member_id"] is None])
        more = {"unowned": unowned["partitions"], "unowned_lag": unowned["lag"]}
        found.append({"group_id": group, **sums(its), **more})
    return found


def sums(rows: list[Row]) -> Row:
    """Return the sums of rows of `partition_lag`."""
    known = [row["lag"] for row in rows if row["lag"] is not None]
    counts = {name: sum(row["problem"] == name for row in rows) for name in PROBLEMS}
    total = sum(known) if known else None
    return {"partitions": len(rows), "lag": total, "unknown": len(rows) - len(known), **counts}


def _key(row: Row) -> tuple[Any, ...]:
    return row["group_id"], row["topic"], row["partition"]


def _member(row: Row) -> tuple[Any, ...]:
    return row["group_id"], row["member_id"]
