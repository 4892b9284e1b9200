"""Events as text, each on one line: time, group, what happened, causes and evidence.

A storm and a rebalance loop have one line each at their beginning and their end, and their rebalances have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.lines import escape, format_count, format_duration, format_time, member_name
from assignor.replay import event_text, loop_text
from assignor.replay.event_text import MemberNames, causes_text, generation_number, group_title, rebalance_details
from assignor.replay.hidden_events import hidden_events
from assignor.replay.task_text import task_details

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assignor.replay.events import Event
    from assignor.replay.loop import Change, Loop


class EventLines:
    """Text of events. It remembers the names of members by their ids.

    Args:
        groups: Rows of `Watcher.groups`, which name members that have had no event yet.
        colour: Highlight storms.
    """

    def __init__(self, groups: Iterable[Mapping[str, Any]] = (), *, colour: bool = False) -> None:
        self._colour = colour
        self._names = MemberNames()
        for member in (member for group in groups for member in group["members"]):
            self._names.add({**member, "member": member["member_id"], "instance_id": member["group_instance_id"]})

    def line(self, event: Event) -> str:
        """Return the line of an event, without a line break."""
        title, details = self._text(event)
        texts = (_detail(label, text) for label, text in details)
        return "  ".join([format_time(event["at"]), *_group(event), "; ".join([title, *texts])])

    def lines(
        self, events: Sequence[Event], changes: Sequence[Change], *, loops: Iterable[Loop], storms: Iterable[str]
    ) -> Iterator[str]:
        """Yield the lines of events, without those of the rebalances of storms and loops.

        Args:
            events: Events, in the order of a replay.
            changes: Loops that began or ended with these events, or since the last call.
            loops: The loops that last after the events.
            storms: Ids of the groups that are in a storm after the events.
        """
        hidden = hidden_events(events, changes, loops=loops, storms=storms, names=self._names)
        waiting = list(changes)
        for place, event in enumerate(events):
            shown_by = [change for change in waiting if (change.loop.group, change.offset) == _key(event)]
            if event["event"] not in {"rebalance", "storm"}:
                shown_by = []
            waiting = [change for change in waiting if change not in shown_by] if shown_by else waiting
            yield from (self._loop(change) for change in shown_by if change.loop.until is not None)
            if place not in hidden:
                yield self.line(event)
            elif event["event"] == "rebalance":
                self._names.forget(event["left"])
            yield from (self._loop(change) for change in shown_by if change.loop.until is None)
        yield from map(self._loop, waiting)

    def _loop(self, change: Change) -> str:
        loop = change.loop
        verb = "begins" if loop.until is None else "ended"
        text = f"rebalance loop {verb}: {loop_text.summary(loop)}"
        if loop.clients:
            text += f"; {'clients' if len(loop.clients) > 1 else 'client'}: {loop_text.clients(loop)}"
        return f"{format_time(change.at)}  {group_title(loop.group)}  {text}"

    def _text(self, event: Event) -> event_text.Text:
        match event["event"]:
            case "generation":
                return _generation(event), list(task_details(event))
            case "rebalance":
                title = f"rebalance, {generation_number(event)}: {causes_text(event)}"
                details = list(rebalance_details(event, self._names))
                self._names.forget(event["left"])
                return title, details
            case "member":
                self._names.add(event)
                return _member(event), []
            case _:
                return event_text.other(event, self._names, lasting="begins", colour=self._colour)


def _group(event: Event) -> list[str]:
    """Return the group of an event; nothing for the move of a coordinator or a silence, which concern many groups."""
    if event["event"] in {"coordinator", "silence"}:
        return []
    return ["(unknown group)" if event["group"] is None else group_title(event["group"])]


def _key(event: Event) -> tuple[str | None, int]:
    return event["group"], event["offset"]


def _detail(label: str, text: str) -> str:
    """Return a detail. More text can follow, so evidence loses its last full stop."""
    if label == "partitions" and ": " in text:  # the text begins with the number of partitions
        return text
    singular = "partition" if label == "partitions" else label
    return f"{singular}: {text.removesuffix('.') if label == 'evidence' else text}"


def _generation(event: Event) -> str:
    if not event["members"]:
        return f"{generation_number(event)}: the group has no members"
    facts = [escape(event["protocol"])] if event["protocol"] else []
    facts.append(format_count(event["members"], "member"))
    facts.append(format_count(event["partitions"], "partition"))
    if event["duration_ms"] is not None:
        facts.append(f"{format_duration(event['duration_ms'])} after the previous one")
    text = f"{generation_number(event)}: {', '.join(facts)}"
    comparison = event["comparison"]
    if comparison and comparison["outcome"] == "different":
        remarks = escape("; ".join(comparison["remarks"]))
        text += f"; assignment differs from Kafka's {comparison['assignor']}: {remarks}"
    return text


def _member(event: Event) -> str:
    name = escape(member_name(event))
    if event["action"] == "subscription_changed":
        return f"member changed its subscription: {name}"
    text = f"member {event['action']}: {name}"
    if event["previous"]:
        text += f", previously {escape(event['previous'])}"
    if event["causes"]:
        text += f"; causes: {', '.join(event['causes'])}"
    return text
