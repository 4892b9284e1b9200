"""Polls of groups for tests: who is in a group, what the members own, and what was committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assignor.cluster.cluster_description import ClusterDescription
from assignor.cluster.descriptions import GroupDescription, MemberDescription, MemberSubscription
from assignor.cluster.metadata import topic_schema
from assignor.replay.poll_watcher import PollWatcher
from assignor.replay.polled_groups import Poll

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Event = dict[str, Any]

STEP = 10_000
"""Milliseconds between two polls."""

TOOK = 200
"""Milliseconds from the beginning of a poll to its end."""


def member(
    id: str,
    *owned: int,
    instance: str | None = None,
    topics: Iterable[str] | None = ("orders",),
    target: Iterable[int] = (),
) -> MemberDescription:
    """Return a member that owns partitions of the topic orders; without `topics` its subscription is not known."""
    subscription = "not returned" if topics is None else MemberSubscription(tuple(topics), None)
    assigned, wanted = ([("orders", each) for each in ids] for ids in (owned, target))
    return MemberDescription(id, instance, subscription, assigned, wanted, id.partition("-")[0], "/127.0.0.1")


def group(
    *members: MemberDescription,
    name: str = "billing",
    state: str = "",
    kind: str = "classic",
    problem: str | None = None,
) -> GroupDescription:
    """Return a group, which by default is stable or empty."""
    state = state or ("Stable" if members else "Empty")
    return GroupDescription(name, kind, state, "range", list(members), problem)


class Polls:
    """Watcher of polls that are 10 s apart, of a topic orders with some partitions."""

    def __init__(self, partitions: int = 2, **options: Any) -> None:
        self.watcher = PollWatcher(**options)
        self.partitions = partitions
        self.asked = 0

    def see(
        self,
        *groups: GroupDescription,
        committed: Mapping[str, Mapping[int, int]] | None = None,
        unread: Iterable[str] = (),
        is_complete: bool = True,
        has_offsets: bool = True,
        brokers: Iterable[int] = (),
    ) -> list[Event]:
        """Return the events of the next poll."""
        self.asked += STEP
        offsets = {
            name: {("orders", partition): offset for partition, offset in found.items()}
            for name, found in (committed or {}).items()
        }
        poll = Poll(
            self.asked,
            self.asked + TOOK,
            {each.group_id: each for each in groups},
            {each.group_id: offsets.get(each.group_id, {}) for each in groups if has_offsets},
            frozenset(unread),
            is_complete,
            frozenset(brokers),
        )
        rows = [
            {"t": self.asked - 1, "topic": "orders", "topic_id": "", "partition": id, "racks": []}
            for id in range(self.partitions)
        ]
        return self.watcher.poll(poll, pa.RecordBatch.from_pylist(rows, topic_schema()))


def changes(events: Iterable[Event]) -> list[tuple[Any, ...]]:
    """Return what each event says of members and owners, in a short form."""
    found: list[tuple[Any, ...]] = []
    for event in events:
        if event["event"] == "member":
            found.append((event["action"], event["member"]))
        elif event["event"] == "rebalance":
            moved, unowned = ([id for _, id in event[name] or ()] for name in ("moved", "unowned"))
            found.append(("rebalance", event["joined"], event["left"], event["replaced"], moved, unowned))
        else:
            found.append((event["event"],))
    return found


def described(*groups: GroupDescription, **given: Any) -> ClusterDescription:
    """Return the description of a cluster with these groups; `given` replaces fields."""
    fields: dict[str, Any] = {
        "cluster": "c",
        "lag": {},
        "member_lag": {},
        "partitions": {},
        "problems": (),
        "counts": {},
    }
    return ClusterDescription(groups=groups, **{**fields, **given})


def topic_table(partitions: int, topic: str = "orders") -> pa.RecordBatch:
    """Return topic metadata of one topic."""
    rows = [{"t": 1, "topic": topic, "topic_id": "", "partition": id, "racks": []} for id in range(partitions)]
    return pa.RecordBatch.from_pylist(rows, topic_schema())
