"""Extent of the comparisons of drawn programs: the sums of their counters, with checks that hold for every program."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.member.programs import LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.member.comparison import Comparison


def add_up(comparisons: Iterable[Comparison], record_property: Callable[[str, object], None]) -> Counter[str]:
    """Check that programs were compared completely; record and return the sums of their counters.

    `Comparison` checks the reason of each restart.
    """
    totals: Counter[str] = Counter()
    for comparison in comparisons:
        deliberate = comparison.deliberate.total()
        assert comparison.is_complete
        assert comparison.was_fatal or comparison.drawn >= LENGTH
        assert comparison.drawn == comparison.compared + deliberate
        assert deliberate == comparison.resynchronised + comparison.restarted
        totals["programs"] += 1
        totals["events drawn"] += comparison.drawn
        totals["events compared"] += comparison.compared
        totals["resynchronisations"] += comparison.resynchronised
        totals["restarts"] += comparison.restarted
        totals["heartbeats with other partitions"] += comparison.reported
        totals += comparison.deliberate
    for name, count in totals.items():
        record_property(name, count)
    # Both shares are far from their limits: about 0.99 and 0.007.
    assert totals["events compared"] > 0.97 * totals["events drawn"], totals
    assert 0 < totals["heartbeats with other partitions"] < 0.05 * totals["events compared"], totals
    return totals
