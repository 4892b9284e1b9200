"""Times at which records of a live cluster were written: the offsets that the brokers have for some times of the past.

A description is of one point in time, so the ages of records are not known from it. ListOffsets with a timestamp
returns the first record that is not older, with its own timestamp.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from assignor.cluster.topics import MARGIN_SECONDS, offset_spec
from assignor.dependencies import dependency
from assignor.lag import TIMED_END_OFFSETS

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from assignor.cluster.connection import ClientSettings
    from assignor.cluster.topics import Place

AGES_SECONDS = (5, 15, 60, 300, 900, 3_600, 14_400, 86_400, 604_800)
"""Ages for which the brokers are asked. Between two of them, the age of a record is interpolated."""

_PARTITIONS_PER_CALL = 5_000


def written_times(settings: ClientSettings, admin: Any, partitions: Collection[Place], now: int) -> pa.Table:
    """Return the offsets of records with the times at which they were written.

    A record with this offset was the next one to be written at this time, so a row says what a measurement of the end
    offset at this time would have said.

    Args:
        settings: Settings of the clients.
        admin: AdminClient of the cluster.
        partitions: Topic and partition id of each.
        now: Time in milliseconds at which the end offsets were read.

    Returns:
        The columns of `assignor.lag.TIMED_END_OFFSETS`, where `start_offset` is null. A partition has a row for each of
        `AGES_SECONDS` with a record of its own. Timestamps that do not rise with the offsets, or are not in the past,
        are left out: producers can set any. Partitions whose leader does not answer have no rows.
    """
    with dependency("confluent_kafka"):
        from confluent_kafka import TopicPartition

    places = list(partitions)
    found: dict[Place, set[tuple[int, int]]] = {}
    spec = offset_spec()
    for first in range(0, len(places), _PARTITIONS_PER_CALL):
        part = [TopicPartition(*place) for place in places[first : first + _PARTITIONS_PER_CALL]]
        calls = [
            admin.list_offsets(
                dict.fromkeys(part, spec.for_timestamp(now - 1_000 * age)), request_timeout=settings.timeout
            )
            for age in AGES_SECONDS
        ]
        settings.are_done(admin, [one for call in calls for one in call.values()], settings.timeout + MARGIN_SECONDS)
        for call in calls:
            for place, future in call.items():
                if not future.done() or future.exception() is not None:
                    continue
                answer = future.result()
                if answer.offset >= 0 and 0 < answer.timestamp < now:
                    found.setdefault((place.topic, place.partition), set()).add((answer.offset, answer.timestamp))
    rows = [(at, *place, None, offset) for place, pairs in found.items() for offset, at in rising(pairs)]
    columns = list(zip(*rows, strict=True)) or [()] * len(TIMED_END_OFFSETS)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, TIMED_END_OFFSETS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=TIMED_END_OFFSETS)


def rising(pairs: Collection[tuple[int, int]], limits: Mapping[int, int] | None = None) -> list[tuple[int, int]]:
    """Return the pairs of offset and time, sorted, without those whose time is before that of a lower offset.

    Args:
        pairs: Offsets and times in milliseconds.
        limits: End offsets by the time at which they were read; a record that was written before has a lower offset.

    Example:
        >>> rising([(5, 2_000), (9, 1_000), (12, 3_000)])
        [(5, 2000), (12, 3000)]
    """
    found: list[tuple[int, int]] = []
    for offset, at in sorted(pairs):
        is_rising = not found or at >= found[-1][1]
        if is_rising and all(offset <= end for read, end in (limits or {}).items() if at <= read):
            found.append((offset, at))
    return found


def local_ms() -> int:
    """Return the local time in milliseconds."""
    return time.time_ns() // 1_000_000
