"""Topics whose ids share a bucket of the coordinator's hash tables, or do not.

The uniform assignor takes topics in the order of a `java.util.HashMap` of their ids. Ids in different buckets have a
fixed order; the order of ids in one bucket depends on earlier assignments. Of three topics with random ids, two share a
bucket in 18 % of all cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.ordering import DEFAULT_CAPACITY, uuid_hash
from tests.member.simulation.hash_tables import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.broker.scenario import Scenario

__all__ = ["create_topics"]


def create_topics(scenario: Scenario, counts: Mapping[str, int], *, share_bucket: bool) -> None:
    """Create topics, and replace some until two ids share a bucket or, without `share_bucket`, until no two ids do."""
    scenario.create_topics(**counts)
    while ((second := _second_in_bucket(scenario, counts)) is not None) != share_bucket:
        again = second or next(iter(counts))
        scenario.delete_topic(again)
        scenario.create_topics(**{again: counts[again]})


def _second_in_bucket(scenario: Scenario, names: Iterable[str]) -> str | None:
    """Return a topic whose id is in the same bucket as the id of an earlier topic, or None."""
    taken: set[int] = set()
    for name in names:
        bucket = folded(uuid_hash(scenario.ids[scenario.topic(name)].int)) % DEFAULT_CAPACITY
        if bucket in taken:
            return name
        taken.add(bucket)
    return None
