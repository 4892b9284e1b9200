"""Events as text, each on one line: time, group, what happened, causes and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.lines import (
    escape,
    format_count,
    format_duration,
    format_partitions,
    format_time,
    member_name,
)
from assignor.replay.history import OFFSET_PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Event = dict[str, Any]

_NAMES_SHOWN = 8
_RED, _RESET = "\x1b[1;31m", "\x1b[0m"


class EventLines:
    """Text of events. It remembers the names of members by their ids.

    Args:
        groups: Rows of `Watcher.groups`, which name members that have had no event yet.
        colour: Highlight storms.
    """

    def __init__(self, groups: Iterable[Mapping[str, Any]] = (), *, colour: bool = False) -> None:
        self._storm = f"{_RED}REBALANCE STORM{_RESET}" if colour else "REBALANCE STORM"
        self._names: dict[str, str] = {}

        for group in groups:
            for member in group["members"]:
                named = {**member, "member": member["member_id"], "instance_id": member["group_instance_id"]}
                self._names[member["member_id"]] = member_name(named)

    def line(self, event: Event) -> str:
        """Return the line of an event, without a line break."""
        group = "(unknown group)" if event["group"] is None else escape(event["group"])
        if event["event"] == "member":
            self._names[event["member"]] = member_name(event)
        text = f"{format_time(event['at'])}  {group}  {_TEXTS[event['event']](self, event)}"
        if event["event"] == "rebalance":
            for member in event["left"]:
                self._names.pop(member, None)
        return text

    def _generation(self, event: Event) -> str:
        if not event["members"]:
            return f"{_number(event)}: the group has no members"
        facts = [escape(event["protocol"])] if event["protocol"] else []
        facts.append(format_count(event["members"], "member"))
        facts.append(format_count(event["partitions"], "partition"))
        if event["duration_ms"] is not None:
            facts.append(f"{format_duration(event['duration_ms'])} after the previous one")
        text = f"{_number(event)}: {', '.join(facts)}"
        comparison = event["comparison"]
        if comparison and comparison["outcome"] == "different":
            remarks = escape("; ".join(comparison["remarks"]))
            text += f"; assignment differs from Kafka's {comparison['assignor']}: {remarks}"
        return text

    def _rebalance(self, event: Event) -> str:
        parts = [f"rebalance, {_number(event)}: {', '.join(event['causes'])}"]
        if event["evidence"]:
            parts.append(f"evidence: {_evidence(event)}")
        parts += [f"{name}: {self._names_of(event[name])}" for name in ("joined", "left", "replaced") if event[name]]
        if event["moved"]:
            parts.append(f"moved: {format_partitions(event['moved'])}")
        if event["unowned"]:
            parts.append(f"no owner: {format_partitions(event['unowned'])}")
        return "; ".join(parts)

    def _member(self, event: Event) -> str:
        name = escape(member_name(event))
        if event["action"] == "subscription_changed":
            return f"member changed its subscription: {name}"
        text = f"member {event['action']}: {name}"
        if event["previous"]:
            text += f", previously {escape(event['previous'])}"
        if event["causes"]:
            text += f"; causes: {', '.join(event['causes'])}"
        return text

    def _storm_text(self, event: Event) -> str:
        count = f"{event['rebalances']:,} rebalances with unchanged membership since {format_time(event['since'])}"
        verb = "begins" if event["until"] is None else f"ended at {format_time(event['until'])}"
        parts = [f"{self._storm} {verb}: {count}"]
        if event["topic_partitions"]:
            partitions = format_partitions(event["topic_partitions"])
            parts.append(f"partitions that changed owners or had no owner: {partitions}")
        if event["unowned"]:
            parts.append(f"no owner in the last generation: {format_partitions(event['unowned'])}")
        return "; ".join(parts)

    def _stuck(self, event: Event) -> str:
        name, partitions = self._name_of(event["member"]), format_partitions(event["topic_partitions"])
        label = "partition: " if len(event["topic_partitions"]) == 1 else ""  # else the text begins with the number
        if event["until"] is None:
            since, usual = format_time(event["since"]), format_duration(event["usual_interval_ms"])
            text = f"stuck: {name} has not committed offsets since {since}; usually it commits every {usual}"
        else:
            text = f"no longer stuck: {name}, after {format_duration(event['until'] - event['since'])} without commits"
        return f"{text}; {label}{partitions}"

    def _offsets(self, event: Event) -> str:
        text = f"{OFFSET_PROBLEMS[event['problem']]}: {format_partitions(event['topic_partitions'])}"
        return f"{text}; evidence: {_evidence(event)}" if event["evidence"] else text

    def _bad_record(self, event: Event) -> str:
        kind = "" if event["record_type"] is None else f" of type {event['record_type']}"
        return f"record{kind} at offset {event['offset']} cannot be used: {escape(event['error'])}"

    def _names_of(self, members: Sequence[str]) -> str:
        shown = ", ".join(self._name_of(each) for each in members[:_NAMES_SHOWN])
        return shown if len(members) <= _NAMES_SHOWN else f"{shown} and {len(members) - _NAMES_SHOWN} more"

    def _name_of(self, member: str) -> str:
        return escape(self._names.get(member, member))


def _evidence(event: Event) -> str:
    """Return the evidence without its last full stop: more text follows on the line."""
    return escape(event["evidence"].removesuffix("."))


def _number(event: Event) -> str:
    return f"{'generation' if event['kind'] == 'classic' else 'epoch'} {event['generation']}"


_TEXTS = {
    "generation": EventLines._generation,
    "rebalance": EventLines._rebalance,
    "member": EventLines._member,
    "storm": EventLines._storm_text,
    "stuck": EventLines._stuck,
    "offsets": EventLines._offsets,
    "bad_record": EventLines._bad_record,
}
