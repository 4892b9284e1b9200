"""Topic metadata that explains a recorded assignment.

The metadata that the leader or the broker used is not recorded. It may be the last snapshot at or before the time of
the generation, the first snapshot after it, or a mixture of both. A leader may also lack topics, or have metadata that
is older than the last snapshot. For the classic range assignor, neither a mixture nor older metadata is tried.
If all snapshots are later than the assignment, a topic may have had only the assigned partitions at that time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignor.model import PartitionInfo
from assignor.reference.history.assignment import KnownTopic

if TYPE_CHECKING:
    from assignor.reference.history.assignment import RecordedAssignment

__all__ = ["Explanation", "explain"]


class Explanation(NamedTuple):
    """Explanation of a recorded assignment.

    `is_equal` is True if the assignor gives the recorded assignment for the metadata around its time. Otherwise
    `remark` describes other metadata for which the assignor gives it. If there is no such metadata, `is_unexplained` is
    True and `remark` describes the difference.
    """

    is_equal: bool
    is_unexplained: bool
    remark: str


EQUAL = Explanation(is_equal=True, is_unexplained=False, remark="")


def explain(recorded: RecordedAssignment, time: int) -> Explanation | None:
    """Explain an assignment by the metadata around its time; None if there is no topic metadata."""
    around = recorded.metadata.around(time)
    if not around:
        return None
    before, after = recorded.known_topics(around[0]), recorded.known_topics(around[-1])
    expected = recorded.answer(before)
    trials = Trials(recorded, [before])
    has_more = (recorded.group_protocol, recorded.assignor) != ("classic", "range")
    mixed = [mixture(recorded, before, after)] if has_more else []
    if expected == recorded.recorded() or any(trials.explains(known) for known in (after, *mixed)):
        return EQUAL
    assigned = {key for owned in recorded.recorded() for key in owned}
    for known in (before, after):
        missing = [topic for topic, (_, id) in known.items() if recorded.key(topic, id) not in assigned]
        if trials.explains({topic: known[topic] for topic in known if topic not in missing}):
            return Explanation(False, False, f"the assignor did not have the metadata of {', '.join(missing)} yet")
    older = [snapshot for snapshot in recorded.metadata.snapshots if snapshot.time < around[0].time]
    for snapshot in reversed(older if has_more else []):
        if trials.explains(recorded.known_topics(snapshot)):
            age = around[0].time - snapshot.time
            text = f"the assignor used topic metadata that was {age} ms older than the latest"
            return Explanation(False, False, text)
    if around[0].time > time and (counts := describe_counts(recorded, before)):
        text = (
            f"the recorded assignment equals the answer of Kafka's assignor if {counts} at that time; all topic "
            "metadata is later than the assignment"
        )
        return Explanation(False, False, text)
    return Explanation(False, True, recorded.difference(expected))


def describe_counts(recorded: RecordedAssignment, first: dict[str, KnownTopic]) -> str:
    """Return the numbers of partitions with which the assignor gives the recorded assignment, as text.

    Each topic has the partitions up to the highest assigned one. Return "" if the assignor gives another assignment for
    these numbers, or if they are those of `first`, the topics of the first snapshot.
    """
    assigned: dict[str, set[int]] = {}
    for owned in recorded.recorded():
        for key, ids in owned.items():
            assigned.setdefault(key, set()).update(ids)
    counted, named = {}, []
    for topic in sorted({topic for member in recorded.members for topic in member.topics}):
        known, id = first.get(topic, (None, ""))
        found = assigned.get(recorded.key(topic, id))
        if not found:
            continue
        count = max(found) + 1
        is_counted = known is not None and [each.partition for each in known] == list(range(len(known)))
        if known is not None and is_counted and len(known) >= count:
            counted[topic] = KnownTopic(known[:count], id)
        elif found == set(range(len(found))):
            counted[topic] = KnownTopic([PartitionInfo(partition) for partition in range(count)], id)
        else:
            return ""
        if known is None or len(known) != count:
            named.append(f"topic {topic} had {count} partition{'' if count == 1 else 's'}")
    return " and ".join(named) if recorded.answer(counted) == recorded.recorded() else ""


class Trials(NamedTuple):
    """Topic metadata that was already compared with a recorded assignment, so that each is compared only once."""

    recorded: RecordedAssignment
    tried: list[dict[str, KnownTopic]]

    def explains(self, known: dict[str, KnownTopic]) -> bool:
        """Return True if the assignor gives the recorded assignment for topics that were not tried before."""
        if known in self.tried:
            return False
        self.tried.append(known)
        return self.recorded.answer(known) == self.recorded.recorded()


def mixture(
    recorded: RecordedAssignment, before: dict[str, KnownTopic], after: dict[str, KnownTopic]
) -> dict[str, KnownTopic]:
    """Choose the metadata of each topic from one of two snapshots.

    The first snapshot is used if it has all assigned partitions of the topic. If the topic's ids in the two snapshots
    differ, and none of its partitions is assigned under the first id, the second snapshot is used. A topic that is in
    one snapshot only is included if some of its partitions are assigned.
    """
    assigned: dict[str, set[int]] = {}
    for owned in recorded.recorded():
        for key, ids in owned.items():
            assigned.setdefault(key, set()).update(ids)
    chosen = {}
    for topic in sorted(before.keys() | after.keys()):
        first, last = before.get(topic), after.get(topic)
        if first and last:
            found = assigned.get(recorded.key(topic, first.id), set())
            has_all = found <= {partition.partition for partition in first.partitions}
            chosen[topic] = first if has_all and (found or first.id == last.id) else last
        elif (known := first or last) and recorded.key(topic, known.id) in assigned:
            chosen[topic] = known
    return chosen
