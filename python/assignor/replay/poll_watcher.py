"""Watcher of groups that are polled with an Admin client, instead of a log. It does no I/O.

The replay gets the records of `PolledGroups`. Where an event or a state would say more than two polls show, this file
says less: no generation, no offset of the log, all possible causes, and the times of the polls in the evidence.
"""

from __future__ import annotations

import dataclasses
import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from assignor.cluster.log import LogEnd
from assignor.dependencies import dependency
from assignor.lines import format_time
from assignor.replay.complete_costs import COST_FIELDS
from assignor.replay.long_rebalances import DEFAULT_TIMEOUT_MS
from assignor.replay.polled_groups import PolledGroups
from assignor.replay.watcher import MARGIN_MS, Watcher

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.replay.polled_groups import Poll
    from assignor.replay.watch_model import Summary

Event = dict[str, Any]

PARTITION = 0
"""The replay has one clock for each partition of a log. A poll has one time for all groups."""

CAUSES = (
    *("consumer_subscribed", "consumer_closed", "consumer_dead", "application_crashed", "member_removed"),
    *("static_member_returned", "subscription_changed"),
    *("topic_created", "topic_deleted", "partitions_increased"),
)
"""Causes that follow from the difference of two polls."""

_SENTENCE_END = re.compile(r"(?<=\.) (?=[A-Z])")
_SUBSCRIPTION = re.compile(r"changed the subscription\.$|(dis)?appeared (in|from) subscriptions\.$")
_DELETED = {
    "group_deleted": "The group is not listed any more: it was deleted or expired, or may not be described now.",
    "offsets_deleted": "The offset is not returned any more: it was deleted or expired, or its topic was deleted.",
}


class PollWatcher(Watcher):
    """Replay of the groups of a cluster that is polled.

    Its first poll is silent, as the log before the start of a watch is.
    """

    def __init__(self, *, groups: Iterable[str] = (), cluster: str = "") -> None:
        super().__init__(groups=groups, cluster=cluster)
        self.polled = PolledGroups()
        self._since: dict[str, int] = {}
        self._at = 0
        self._unknown_before: frozenset[str] = frozenset()
        self._kinds: dict[str, str] = {}
        self._read: frozenset[str] = frozenset()
        self._topic_names: frozenset[str] = frozenset()

    def poll(self, poll: Poll, topics: pa.RecordBatch | None = None) -> list[Event]:
        """Apply a poll, and return the events.

        Args:
            poll: The poll.
            topics: Topic metadata that was read before the poll; None if it could not be read.
        """
        if poll.at <= self._at + 1:  # the clock of this machine was set back
            poll = dataclasses.replace(poll, at=self._at + 2)
        events = []
        if topics is not None:
            self._topic_names = frozenset(topics["topic"].to_pylist())
            events = self.observe_topics(topics)
        changes = self.polled.observe(poll)
        self._read = frozenset(poll.committed)
        self._since.update(changes.since)
        self._at, self._unknown_before = poll.at, changes.unknown_before
        self._kinds.update((name, group.kind) for name, group in poll.groups.items() if group.kind)
        if poll.unread or self.polled.lost or not poll.is_complete:
            self.interrupt_all(poll.at)
        first = self.positions.get(PARTITION, 0)
        end = first + len(changes.records)
        keys, values = zip(*changes.records, strict=True) if changes.records else ((), ())
        columns = {
            "partition": pa.array([PARTITION] * len(keys), pa.int32()),
            "offset": pa.array(range(first, end), pa.int64()),
            "timestamp": pa.array([poll.at] * len(keys), pa.int64()),
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
        }
        events += self.push(pa.RecordBatch.from_pydict(columns), {PARTITION: end})
        self.records = 0  # no record of the log was read
        # Records of later polls have later times, so all deadlines up to now are due.
        events += self.settle({PARTITION: LogEnd(end, end)}, poll.at + MARGIN_MS + 1)
        if self.is_silent:
            self.start()
        self._unknown_before = frozenset()
        return sorted(events, key=itemgetter("at"))

    def groups(self) -> list[Event]:
        """Return a row for each group, as `Watcher.groups` does; no Admin client returns a generation."""
        rows = []
        for row in super().groups():
            found = self.polled.description(row["group"])
            facts = {} if found is None else {"state": found.state or row["state"], "protocol": found.protocol or None}
            kind = self._kinds.get(row["group"], row["kind"])
            rows.append({**row, "kind": kind, "generation": None, "records": 0, **facts})
        return rows

    def summaries(self) -> list[Summary]:
        """Return the summary of each group. The generation counts the changes that polls have shown."""
        found = []
        for summary in super().summaries():
            described = self.polled.description(summary.group)
            state = described.state if described is not None and described.state else summary.state
            found.append(summary._replace(kind=self._kinds.get(summary.group, summary.kind), state=state))
        return found

    def rebalance_timeout(self, group: str) -> int:  # noqa: ARG002  # equal for all groups
        """Return the default rebalance timeout in milliseconds: no Admin client returns that of a group."""
        return DEFAULT_TIMEOUT_MS

    def interrupt_all(self, now: int) -> None:
        """Note that a broker did not answer, so that members may not have been able to commit."""
        self.interrupt([PARTITION], now)

    def forget_gone(self) -> list[str]:
        """Forget the groups that have been gone for long, and return their ids."""
        forgotten = super().forget_gone()
        for group in forgotten:
            self._since.pop(group, None)
            self._kinds.pop(group, None)
        return forgotten

    def _reported(self, batches: Iterable[Any]) -> list[Event]:
        events = super()._reported(batches)
        for event in events:
            event["offset"] = -1
            if "generation" in event:
                event["generation"] = None
        self.loop_changes = [
            change._replace(offset=None if change.offset is None else -1) for change in self.loop_changes
        ]
        return events

    def _revised(self, events: list[Event]) -> list[Event]:
        """Return the events that polls show, without what only a log would show."""
        found = []
        for event in events:
            group = event["group"]
            if event["kind"] is not None:
                event["kind"] = self._kinds.get(group, event["kind"])
            match event["event"]:
                case "generation" | "cost":
                    continue  # a rebalance says what has changed, and polls are too rare for its cost
                case "rebalance":
                    self._revise_rebalance(event)
                case "member" if event["action"] == "subscription_changed" and self.polled.is_guessed(group):
                    continue
                case "member" if event["action"] == "left":
                    event["causes"] = _with_poll_interval(event["causes"], is_static=event["instance_id"] is not None)
                case "offsets" if event["problem"] == "never_committed" and not self._has_offsets(event):
                    continue
                case "offsets":
                    text = event["evidence"].replace("The log does not", "Polls do not")
                    event["evidence"] = f"{text} {self._seen(group)}".lstrip()
                case "group_deleted" | "offsets_deleted":
                    event["causes"] = sorted(event["causes"])
                    event["evidence"] = f"{_DELETED[event['event']]} {self._seen(group)}"
            if group in self._unknown_before:
                if event["event"] == "rebalance":
                    self.conditions.apply([event])
                continue
            found.append(event)
        return found

    def _revise_rebalance(self, event: Event) -> None:
        """Replace the causes that follow from a log, and add the times of the polls to the evidence.

        Polls do not show which partitions a member kept, so the cost is not known.
        """
        event.update(dict.fromkeys(COST_FIELDS))
        group = event["group"]
        is_guessed = self.polled.is_guessed(group)
        names = [name for name in event["causes"] if name in CAUSES]
        sentences = _SENTENCE_END.split(event["evidence"])
        if is_guessed:
            names = [name for name in names if name != "subscription_changed"]
            sentences = [text for text in sentences if not _SUBSCRIPTION.search(text)]
        if not names:
            names = ["unknown"]
            sentences = ["The members are the same, and some partitions have other owners." if event["moved"] else ""]
        event["causes"] = _with_poll_interval(names, is_static=False)
        event["evidence"] = " ".join(filter(None, [*sentences, self._seen(group)]))
        if is_guessed and not event["unowned"] and not self._has_owners(group):
            event["unowned"] = None

    def _has_offsets(self, event: Event) -> bool:
        """Return True if this client can read the committed offsets of the partitions of an event, if there are any."""
        topics = {topic for topic, _ in event["topic_partitions"]}
        return event["group"] in self._read and topics <= self._topic_names

    def _has_owners(self, group: str) -> bool:
        found = self.polled.description(group)
        return found is not None and any(tuple(member.assigned) for member in found.members)

    def _seen(self, group: str) -> str:
        """Return the sentence with the times of the polls between which something happened."""
        between = f"{format_time(self._since.get(group, self._at))} and {format_time(self._at)}"
        return f"Two polls show this, at {between}: what else happened in between, and why, is not visible."


def _with_poll_interval(causes: list[str], *, is_static: bool) -> list[str]:
    """Return the causes of a departure with the one that depends on timeouts, which no Admin client returns."""
    if is_static or "consumer_closed" not in causes or "poll_interval_exceeded" in causes:
        return causes
    last = max(
        causes.index(name) for name in causes if name in {"consumer_closed", "consumer_dead", "application_crashed"}
    )
    return [*causes[: last + 1], "poll_interval_exceeded", *causes[last + 1 :]]
