"""Settings of topics that decide when records are deleted, as columns beside the rows of a table of lag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assignor.errors import IllegalArgumentError
from assignor.validation import check_name, read_entries, read_int, read_items, shown, wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt
    import pyarrow as pa

    Numbers = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]
    Floats = npt.NDArray[np.float64]

NO_LIMIT, NOT_KNOWN, COMPACTED = -1, -2, -3
"""Numbers in place of a retention: records are kept forever, the setting is not known, and the topic is compacted."""


@dataclass(frozen=True)
class RowRetention:
    """Retention of the topic of each row.

    Attributes:
        ms: Retention in milliseconds, or `NO_LIMIT`, `NOT_KNOWN` or `COMPACTED`.
        has_size: Whether the size of the partition is limited, too.
    """

    ms: Numbers
    has_size: Flags

    def deletion(self, by_start: Floats, behind: Floats) -> tuple[Floats, dict[str, Flags]]:
        """Return the time until the record at the committed offset is deleted, and rows by reason.

        Args:
            by_start: Seconds until the start of the log reaches the record; NaN if not known.
            behind: Age of the record in seconds; NaN if not known.

        Returns:
            Seconds, NaN if not known; and the rows whose reason is another than that of `by_start`: `kept_forever`,
            `compacted`, or `behind` for the reason of `behind`.
        """
        has_age = self.ms >= 0
        by_age = np.where(has_age, np.maximum(self.ms / 1_000 - behind, 0.0), np.nan)
        # A limit of the size deletes records before they are as old as the retention allows.
        uses_start = self.has_size | (self.ms == NOT_KNOWN)
        found = np.fmin(by_age, np.where(uses_start, by_start, np.nan))
        found[self.ms == COMPACTED] = np.nan
        reasons = {
            "behind": has_age,
            "kept_forever": (self.ms == NO_LIMIT) & ~self.has_size,
            "compacted": self.ms == COMPACTED,
        }
        return found, reasons


def row_retention(
    rows: pa.Table,
    retention_ms: Mapping[str, int] | None = None,
    size_limited: Iterable[str] = (),
    compacted: Iterable[str] = (),
) -> RowRetention | None:
    """Return the retention of the topic of each row, or None if nothing is known of any topic.

    Args:
        rows: A table with the column `topic`.
        retention_ms: Retention by topic in milliseconds, -1 for no limit.
        size_limited: Topics with a limit of the size of a partition.
        compacted: Topics that are compacted, and whose records are not deleted by age or size.

    Raises:
        WrongTypeError: An argument has another type.
        IllegalArgumentError: A retention is less than -1.
    """
    if retention_ms is not None and not isinstance(retention_ms, Mapping):
        raise wrong_type("retention_ms", "a mapping", retention_ms)
    known = {
        check_name(topic, "retention_ms: topic"): read_int(value, f"retention_ms[{shown(topic)}]", bits=64)
        for topic, value in read_items({} if retention_ms is None else retention_ms, "retention_ms")
    }
    for topic, value in known.items():
        if value < NO_LIMIT:
            raise IllegalArgumentError(f"retention_ms[{shown(topic)}] must be at least -1, got {value}")
    sized, kept = (
        {check_name(topic, f"{what}: topic") for topic in read_entries(given, what, "an iterable of topics")}
        for what, given in (("size_limited", size_limited), ("compacted", compacted))
    )
    if not (known or sized or kept):
        return None
    known.update(dict.fromkeys(kept, COMPACTED))
    topics = rows["topic"].to_pylist()
    return RowRetention(
        np.array([known.get(topic, NOT_KNOWN) for topic in topics], np.int64),
        np.array([topic in sized for topic in topics], np.bool_),
    )
