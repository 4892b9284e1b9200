"""Comparison of a client's own answer with that of Kafka's class, in one line of the log (shadow mode)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.clients.membership import log
from assignor.model import TopicPartition
from assignor.ordering import java_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor import Plan

SHOWN_MEMBERS = 3
"""Number of members that a comparison describes."""

SHOWN_PARTITIONS = 5
"""Number of partitions that a comparison lists for each of these members."""

SMALLEST_TOPIC = 6
"""Smallest size in bytes of a topic in the user data of `sticky`: the length of its name and the number of its ids."""


def log_comparison(
    assignor: str, client: str, theirs: Mapping[str, Iterable[tuple[str, Iterable[int]]]], plan: Plan
) -> None:
    """Log whether the answer of a client equals Kafka's: at level INFO if so, else at WARNING with the differences.

    Args:
        assignor: Name of the assignor.
        client: Name of the client.
        theirs: For each member its topics in the answer of the client, with the partition ids.
        plan: Kafka's answer.
    """
    differing = []
    moved = 0
    for member, entries in theirs.items():
        expected = set(plan.partitions(member))
        found = {TopicPartition(topic, id) for topic, ids in entries for id in ids}
        if found != expected:
            differing.append((member, found - expected, expected - found))
            moved += len(expected - found)
    if not differing:
        log.info("%s: %s's answer for %d members equals Kafka's", assignor, client, len(theirs))
        return
    details = "; ".join(
        f"for {member} adds {_names(missing)} and removes {_names(extra)}"
        for member, extra, missing in differing[:SHOWN_MEMBERS]
    )
    log.warning(
        "%s: %s's answer differs from Kafka's for %d of %d members and %d partitions. Kafka's answer %s%s",
        assignor,
        client,
        len(differing),
        len(theirs),
        moved,
        details,
        "; ..." if len(differing) > SHOWN_MEMBERS else "",
    )


def _names(partitions: set[TopicPartition]) -> str:
    if not partitions:
        return "nothing"
    ordered = sorted(partitions, key=lambda partition: (java_order(partition.topic), partition.partition))
    names = ", ".join(f"{partition.topic}-{partition.partition}" for partition in ordered[:SHOWN_PARTITIONS])
    return names + (f" and {len(ordered) - SHOWN_PARTITIONS} more" if len(ordered) > SHOWN_PARTITIONS else "")


def is_readable(user_data: bytes | None) -> bool:
    """Return True if Kafka's `sticky` can read the user data of a member.

    It begins with the number of topics as an int32. kafka-python 3 writes a version before it, as an int16, so Kafka
    reads a number of topics that does not fit into the data, and ignores all of it.
    """
    return not user_data or int.from_bytes(user_data[:4]) * SMALLEST_TOPIC <= len(user_data)
