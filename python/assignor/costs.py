"""Cost of rebalances: partitions revoked and assigned, and time without commits, per group, member, cause and hour.

The numbers are sums over the events of a replay. `docs/rebalance-cost.md` explains them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.validation import read_entries, wrong_type

with dependency("pyarrow"):
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EVENT_COLUMNS", "GROUP_COST", "HOUR_MS", "Costs", "rebalance_costs"]

HOUR_MS = 3_600_000
"""Length of an hour in milliseconds. Hours begin at full hours of UTC."""

_MEMBER = pa.struct(
    [
        ("member", pa.string()),
        *((name, pa.int64()) for name in ("revoked", "assigned", "paused", "partition_ms", "compared_ms", "lost_ms")),
        ("epoch_ms", pa.int64()),
    ]
)

EVENT_COLUMNS = pa.schema(
    [
        ("event", pa.string()),
        ("cluster", pa.string()),
        ("group", pa.string()),
        ("at", pa.int64()),
        ("causes", pa.list_(pa.string())),
        ("rebalance_at", pa.int64()),
        ("revoked", pa.int64()),
        ("assigned", pa.int64()),
        ("target_ms", pa.int64()),
        ("paused", pa.int64()),
        ("pause_since", pa.int64()),
        ("pause_until", pa.int64()),
        ("partition_ms", pa.int64()),
        ("compared_ms", pa.int64()),
        ("lost_ms", pa.int64()),
        ("unknown_pauses", pa.int64()),
        ("open_pauses", pa.int64()),
        ("member_costs", pa.list_(_MEMBER)),
    ]
)
"""Columns of events that are read. Other columns, and events other than `rebalance` and `cost`, are ignored."""

_SUMS = ("revoked", "assigned", "paused", "partition_ms", "compared_ms", "lost_ms")
_COUNTS = ("unknown_pauses", "open_pauses")
_LONGEST = ("target_ms", "epoch_ms")

GROUP_COST = pa.schema(
    [
        ("cluster", pa.string()),
        ("group", pa.string()),
        ("rebalances", pa.int64()),
        *((name, pa.int64()) for name in ("revoked", "assigned", "paused", "pause_ms")),
        *((name, pa.int64()) for name in ("partition_ms", "compared_ms", "lost_ms", *_COUNTS, *_LONGEST)),
    ]
)
"""Cost of the rebalances of a group. Sums are null if no rebalance has a known value.

rebalances      number of rebalances
revoked         number of partitions that were taken from members
assigned        number of partitions that members got
paused          number of pauses of partitions whose duration is known
pause_ms        time in which at least one of these partitions had no commits; overlaps count once
partition_ms    sum of the pauses, in partition-milliseconds
compared_ms     part of it of partitions whose usual interval between commits is known
lost_ms         compared_ms without the usual intervals
unknown_pauses  number of partitions whose pause is not known
open_pauses     number of pauses that have not ended
target_ms       longest time from a group epoch to its target assignment
epoch_ms        longest time from a group epoch until a member reached it
"""


class Costs(NamedTuple):
    """Costs of rebalances as tables, the dearest rows first: those with the most time beyond the usual intervals.

    Attributes:
        groups: A row per group, see `GROUP_COST`.
        members: A row per member of a group, with `member` after `group`, and without `rebalances`, `pause_ms`,
            `unknown_pauses`, `open_pauses` and `target_ms`.
        causes: A row per group and most likely cause, with `cause` after `group`.
        hours: A row per group and hour, with `hour` after `group`: its first millisecond since 1970.
    """

    groups: pa.Table
    members: pa.Table
    causes: pa.Table
    hours: pa.Table


def rebalance_costs(events: pa.Table | Iterable[Mapping[str, Any]]) -> Costs:
    """Return the costs of rebalances by group, member, cause and hour.

    A pause counts once: for the first rebalance in it, the cause and the hour of that rebalance, and the member that
    committed the partition at its end.

    Args:
        events: Events of a replay in any order, as a table with the columns of `EVENT_COLUMNS` or as dicts: those of
            `assignor replay --json`, or those of `Replay.push` and `Replay.finish`.

    Raises:
        IllegalArgumentError: A column is missing, or of another type.
        WrongTypeError: The events are neither a table nor dicts.

    >>> rebalance = {"event": "rebalance", "group": "billing", "at": 7_200_000, "causes": ["consumer_dead"],
    ...              "revoked": 2, "assigned": 2, "paused": 2, "pause_since": 7_190_000, "pause_until": 7_203_000,
    ...              "partition_ms": 25_000, "compared_ms": 25_000, "lost_ms": 23_000, "unknown_pauses": 0}
    >>> found = rebalance_costs([rebalance])
    >>> [row] = found.groups.to_pylist()
    >>> row["rebalances"], row["pause_ms"], row["partition_ms"], row["lost_ms"]
    (1, 13000, 25000, 23000)
    >>> found.causes["cause"].to_pylist(), found.hours["hour"].to_pylist()
    (['consumer_dead'], [7200000])
    """
    rows = _read(events)
    causes = pc.list_element(_not_empty(rows["causes"]), 0)
    times = pc.coalesce(rows["rebalance_at"], rows["at"])
    hours = pc.multiply(pc.floor(pc.divide(pc.cast(times, pa.float64()), HOUR_MS)).cast(pa.int64()), HOUR_MS)
    rows = rows.append_column("cause", causes).append_column("hour", hours)
    members = _members(rows)
    slowest = members.group_by(["cluster", "group", "place"]).aggregate([("epoch_ms", "max")])
    epochs = np.full(rows.num_rows, -1)
    epochs[slowest["place"].to_numpy()] = pc.fill_null(slowest["epoch_ms_max"], -1).to_numpy()
    rows = rows.append_column("epoch_ms", pa.array(epochs, pa.int64(), mask=epochs < 0))
    keys = ["cluster", "group"]
    return Costs(
        _totals(rows, keys),
        _dearest(_of_members(members), [*keys, "member"]),
        _totals(rows, [*keys, "cause"]),
        _totals(rows, [*keys, "hour"]),
    )


def _read(events: pa.Table | Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return the rows of rebalances and costs, with the columns of `EVENT_COLUMNS`."""
    if not isinstance(events, pa.Table):
        events = _table(read_entries(events, "events", "a pyarrow.Table or an iterable of dicts"))
    missing = [name for name in EVENT_COLUMNS.names if name not in events.schema.names]
    if missing:
        raise IllegalArgumentError(f"events: the column {missing[0]!r} is missing; `EVENT_COLUMNS` lists the columns")
    try:
        found = events.select(EVENT_COLUMNS.names).cast(EVENT_COLUMNS)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise IllegalArgumentError(f"events: {error}") from None
    return found.filter(pc.is_in(found["event"], pa.array(["rebalance", "cost"]))).combine_chunks()


def _table(events: Iterable[object]) -> pa.Table:
    rows = []
    for place, event in enumerate(events):
        if not isinstance(event, Mapping):
            raise wrong_type(f"events[{place}]", "a dict", event)
        row = {name: event.get(name) for name in EVENT_COLUMNS.names}
        if row["event"] in ("rebalance", "cost"):
            rows.append({**row, "cluster": row["cluster"] or ""})
    try:
        return pa.Table.from_pylist(rows, EVENT_COLUMNS)
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError) as error:
        raise IllegalArgumentError(f"events: {error}") from None
    except (pa.ArrowTypeError, TypeError, AttributeError) as error:
        raise WrongTypeError(f"events: {error}") from None


def _not_empty(causes: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return lists of causes; one without causes is `unknown`."""
    is_empty = pc.fill_null(pc.equal(pc.list_value_length(causes), 0), True)
    return pc.if_else(is_empty, pa.scalar(["unknown"], causes.type), causes)


def _members(rows: pa.Table) -> pa.Table:
    """Return a row per share of a member in a cost; `place` is the row of the cost."""
    chunks = rows["member_costs"].chunks
    lists = chunks[0] if chunks else pa.array([], EVENT_COLUMNS.field("member_costs").type)
    places = pc.list_parent_indices(lists)
    found = pc.list_flatten(lists)
    columns = {name: pc.struct_field(found, name) for name in (field.name for field in _MEMBER)}
    return pa.table(
        {"cluster": rows["cluster"].take(places), "group": rows["group"].take(places), "place": places, **columns}
    )


def _of_members(members: pa.Table) -> pa.Table:
    keys = ["cluster", "group", "member"]
    wanted = [*((name, "sum", _ANY) for name in _SUMS), ("epoch_ms", "max", _ANY)]
    return _named(members.group_by(keys).aggregate(wanted), keys, [*_SUMS, "epoch_ms"])


_ANY = pc.ScalarAggregateOptions(min_count=1)
"""Sums of only nulls are null."""


def _totals(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    rows = rows.append_column("rebalances", pc.cast(pc.equal(rows["event"], "rebalance"), pa.int64()))
    names = ["rebalances", *_SUMS, *_COUNTS]
    wanted = [*((name, "sum", _ANY) for name in names), *((name, "max", _ANY) for name in _LONGEST)]
    found = _named(rows.group_by(list(keys)).aggregate(wanted), keys, [*names, *_LONGEST])
    lasted = _durations(rows, keys)
    pauses = pa.array([lasted.get(key) for key in _keys(found, keys)], pa.int64())
    found = found.append_column("pause_ms", pauses)
    columns = [*keys, *(name for name in GROUP_COST.names if name not in keys)]
    return _dearest(found.select(columns), keys)


def _named(found: pa.Table, keys: Sequence[str], names: Sequence[str]) -> pa.Table:
    """Return an aggregated table with the names of its columns before it was aggregated."""
    suffixed = [f"{name}_{'max' if name in _LONGEST else 'sum'}" for name in names]
    return found.select([*keys, *suffixed]).rename_columns([*keys, *names])


def _keys(table: pa.Table, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].to_pylist() for name in keys), strict=True))


def _durations(rows: pa.Table, keys: Sequence[str]) -> dict[tuple[Any, ...], int]:
    """Return the length of the union of the pauses of each key."""
    known = rows.filter(pc.is_valid(rows["pause_since"]))
    if not known.num_rows:
        return {}
    known = known.sort_by([*((name, "ascending") for name in keys), ("pause_since", "ascending")])
    names = _keys(known, keys)
    since, until = known["pause_since"].to_numpy(), known["pause_until"].to_numpy()
    firsts = [place for place, name in enumerate(names) if not place or names[place - 1] != name]
    found = {}
    for first, end in zip(firsts, [*firsts[1:], len(names)], strict=True):
        latest = np.maximum.accumulate(until[first:end])
        begins = np.maximum(since[first + 1 : end], latest[:-1])
        added = np.maximum(until[first + 1 : end] - begins, 0).sum()
        found[names[first]] = int(until[first] - since[first] + added)
    return found


def _dearest(found: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Return rows in descending order of their pauses, without the usual intervals where these are known."""
    usual = pc.subtract(pc.coalesce(found["compared_ms"], 0), pc.coalesce(found["lost_ms"], 0))
    cost = pc.coalesce(pc.subtract(found["partition_ms"], usual), -1)
    moved = pc.coalesce(found["revoked"], -1)
    order = [("cost", "descending"), ("moved", "descending"), *((name, "ascending") for name in keys)]
    found = found.append_column("cost", cost).append_column("moved", moved).sort_by(order)
    return found.drop_columns(["cost", "moved"])
