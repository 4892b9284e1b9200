"""Causes of a rebalance that are changes of topics: created, deleted, or with more partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.reference.history.metadata import Metadata
    from assignor.reference.replay.difference import Difference, GroupRecord
    from assignor.reference.replay.events import Partition

__all__ = ["classic_topic_causes", "ended_topics", "epoch_topic_causes", "unowned"]

Found = list[tuple[list[str], str]]
"""Pairs of causes and the sentence with their evidence."""

CREATED, DELETED, INCREASED = "topic_created", "topic_deleted", "partitions_increased"


def classic_topic_causes(
    before: GroupRecord, after: GroupRecord, changes: Difference, highest: dict[str, int], metadata: Metadata
) -> Found:
    """Return the changes of topics that a classic generation shows; the leader joins again after each of them."""
    found = subscribed_topics(before, changes, metadata)
    had, has = before.assigned(), after.assigned()
    if had is None or has is None or not (has or metadata.snapshots):
        return found
    common = (before.topics() or set()) & (after.topics() or set())
    owned = {topic for member in after.members.values() for topic, _ in member.owned}
    for topic in sorted(common):
        ids = [id for name, id in has if name == topic]
        existed = exists(metadata, topic, before.at)
        if ids and max(ids) != highest.get(topic, max(ids)) and is_renewed(metadata, topic, before.at, after.at):
            text = f"Topic '{topic}' was deleted and created again."
            found.append(([DELETED, CREATED, "leader_rejoined"], text))
        elif ids and topic in highest and max(ids) > highest[topic]:
            text = f"Topic '{topic}' has partition {max(ids)}; the highest one before was {highest[topic]}."
            found.append(([INCREASED, "leader_rejoined"], text))
        elif ids and topic not in highest and not existed and (had or existed is False):
            text = f"Topic '{topic}' has partitions for the first time."
            found.append(([CREATED, "leader_rejoined"], text))
        elif not ids and any(name == topic for name, _ in had) and is_gone(metadata, topic, after.at, topic in owned):
            text = f"Topic '{topic}' has no partitions any more."
            found.append(([DELETED, "leader_rejoined"], text))
    return found


def ended_topics(topics: Iterable[str], before: GroupRecord, after: GroupRecord, metadata: Metadata) -> set[str]:
    """Return those topics that were deleted between two group records, whether or not they were created again."""
    has = after.assigned()
    if has is None:
        return set()
    kept = {topic for topic, _ in has}
    return {
        topic
        for topic in topics
        if is_renewed(metadata, topic, before.at, after.at)
        or (topic not in kept and is_gone(metadata, topic, after.at, is_owned=True))
    }


def is_renewed(metadata: Metadata, topic: str, before: int, after: int) -> bool:
    """Return True if the id of a topic differs between two times. An unknown id does not count."""
    old, new = metadata.around(before)[:1], metadata.around(after)[-1:]
    ids = {snapshot.topic_ids.get(topic) for snapshot in old + new}
    return len(ids) == 2 and all(ids)


def subscribed_topics(before: GroupRecord, changes: Difference, metadata: Metadata) -> Found:
    """Return the created or deleted topics that appear in, or disappear from, subscriptions.

    Topic metadata shows whether a topic existed. Without it, a topic counts only if the subscriptions of all members
    changed in the same way and there are several members: a single member may have changed its subscription itself.
    """
    both = changes.remaining + changes.replaced
    if not both or any(old.topics is None or new.topics is None for old, new in both):
        return []
    added = [set(new.topics or []) - set(old.topics or []) for old, new in both]
    removed = [set(old.topics or []) - set(new.topics or []) for old, new in both]
    leader = ["leader_rejoined"] if any(old.id == before.leader for old, _ in changes.changed) else []
    found: Found = []
    for topics, name, expected in ((added, CREATED, False), (removed, DELETED, True)):
        for topic in sorted(set[str]().union(*topics)):
            existed = exists(metadata, topic, before.at)
            is_general = all(topic in each for each in topics) and len(both) > 1
            if not (existed is expected or (existed is None and is_general)):
                continue
            if name == CREATED:
                found.append(([name, *leader], f"Topic '{topic}' appeared in subscriptions."))
            elif is_missing_later(metadata, topic, before.at):
                found.append(([name, *leader], f"Topic '{topic}' disappeared from subscriptions."))
    return found


def is_missing_later(metadata: Metadata, topic: str, time: int) -> bool:
    """Return True if a snapshot after a time lacks a topic, or if there is no later snapshot."""
    later = [snapshot for snapshot in metadata.snapshots if snapshot.time > time]
    return not later or any(topic not in snapshot.topics for snapshot in later)


def exists(metadata: Metadata, topic: str, time: int) -> bool | None:
    """Return True if the last snapshot at or before a time has a topic; None if there is no such snapshot."""
    earlier = [snapshot for snapshot in metadata.snapshots if snapshot.time <= time]
    return topic in earlier[-1].topics if earlier else None


def is_gone(metadata: Metadata, topic: str, time: int, is_owned: bool) -> bool:
    """Return True if a topic without assigned partitions was deleted, not withheld by a cooperative assignor."""
    around = metadata.around(time)
    if around:
        return any(topic not in snapshot.topics for snapshot in around)
    return not is_owned


def epoch_topic_causes(before: GroupRecord, after: GroupRecord, metadata: Metadata) -> Found:
    """Return the changes of topics that the records of a group with an epoch show."""
    found = resolved_topics(before, after)
    if before.initialized != after.initialized:
        found.append((["partitions_initialized"], "The set of partitions with initialized share state changed."))
    if before.sources is not None and after.sources is not None and before.sources != after.sources:
        found.append((["subscription_changed"], "The topology has other source topics."))
    if before.counts is not None and after.counts is not None:
        return found + counted_topics(before.counts, after.counts, before.topics(), after.topics())
    if before.metadata_hash == after.metadata_hash or None in (before.metadata_hash, after.metadata_hash):
        return found
    topics = after.topics()
    if found or topics is None or before.topics() != topics:
        return found
    first, last = metadata.around(before.at), metadata.around(after.at)
    if first and last:
        # A topic in `before.resolved` already existed then, so its creation explains an earlier epoch.
        resolved = {topic for each in before.resolved.values() for topic in each}
        old = {topic: len(ids) for topic, ids in first[0].topics.items() if topic in topics}
        new = {topic: len(ids) for topic, ids in last[-1].topics.items() if topic in topics}
        if changes := counted_topics(
            old, {topic: new[topic] for topic in new if topic in old or topic not in resolved}
        ):
            return changes
        if renewed := [topic for topic in sorted(topics) if is_renewed(metadata, topic, before.at, after.at)]:
            return [([DELETED, CREATED], f"Topic '{topic}' was deleted and created again.") for topic in renewed]
        both = sorted(topics & first[0].topics.keys() & last[-1].topics.keys())
        racks = [
            {topic: [frozenset(each.racks) for each in snapshot.topics[topic]] for topic in both}
            for snapshot in (first[0], last[-1])
        ]
        if moved := [topic for topic in both if racks[0][topic] != racks[1][topic]]:
            return [([], f"The racks of the replicas of {', '.join(moved)} changed.")]
    return [([INCREASED, CREATED, DELETED], "The hash of the topic metadata changed.")]


def resolved_topics(before: GroupRecord, after: GroupRecord) -> Found:
    """Return the changes of the topics that the broker found for patterns that members use."""
    found: Found = []
    for pattern in sorted({member.pattern for member in after.members.values() if member.pattern}):
        new = after.resolved.get(pattern)
        old = before.resolved.get(pattern)
        if new is None or new == old:
            continue
        if old is None:
            found.append((["subscription_changed"], f"The broker found {len(new)} topics for pattern '{pattern}'."))
            continue
        added, removed = set(new) - set(old), set(old) - set(new)
        for name, topics, verb in ((CREATED, added, "now matches"), (DELETED, removed, "no longer matches")):
            if topics:
                found.append(([name], f"Pattern '{pattern}' {verb} {', '.join(sorted(topics))}."))
    return found


def counted_topics(
    old: dict[str, int], new: dict[str, int], before: set[str] | None = None, now: set[str] | None = None
) -> Found:
    """Compare the numbers of partitions by topic at two times; return the causes that explain the differences.

    A new topic counts as created only if it is in `before`, the topics that members subscribed to before. A missing
    topic counts as deleted only if it is in `now`, the topics that members subscribe to now. If a set is None, all
    topics count.
    """
    found: Found = []
    for topic in sorted(old.keys() | new.keys()):
        if topic not in old and before is not None and topic not in before:
            continue
        if topic not in new and now is not None and topic not in now:
            continue
        if topic not in old:
            found.append(([CREATED], f"Topic '{topic}' was created with {new[topic]} partitions."))
        elif topic not in new:
            found.append(([DELETED], f"Topic '{topic}' was deleted."))
        elif new[topic] > old[topic]:
            found.append(([INCREASED], f"Topic '{topic}' has {new[topic]} partitions instead of {old[topic]}."))
        elif new[topic] < old[topic]:
            found.append(([CREATED], f"Topic '{topic}' was created again with {new[topic]} partitions."))
    return found


def unowned(
    owners: Iterable[Partition], topics: set[str] | None, time: int, metadata: Metadata
) -> list[Partition] | None:
    """Return the partitions of subscribed topics without an owner; None if the topics or the metadata are not known.

    A partition counts only if it exists in the last snapshot before the time and in the first one after it.
    """
    around = metadata.around(time)
    if topics is None or not around:
        return None
    exist = [
        {(topic, each.partition) for topic in topics for each in snapshot.topics.get(topic, [])} for snapshot in around
    ]
    return sorted(set.intersection(*exist) - set(owners))
