"""Text of an event: a title, and details with their labels. A history prints a detail per line, a watch all on one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.lines import escape, format_count, format_duration, format_partitions, format_time, member_name
from assignor.replay.coordinators import moved_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assignor.replay.events import Event

    Text = tuple[str, list[tuple[str, str]]]

_NAMES_SHOWN = 8
_RED, _RESET = "\x1b[1;31m", "\x1b[0m"
PROBLEMS = {
    "never_committed": "no committed offset",
    "not_owned": "offset committed for a partition without an owner",
    "went_back": "committed offset went back",
}
"""Text of each problem of an event `offsets`."""


_DELETIONS = {"expired": "expired", "deleted": "was deleted", "topic_deleted": "was deleted with its topic"}


class MemberNames:
    """Names of the members of events, by member id."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def add(self, event: Event) -> str:
        """Remember and return the name of the member of a `member` event."""
        found = self._names[event["member"]] = member_name(event)
        return found

    def forget(self, members: Iterable[str]) -> None:
        """Forget members that left."""
        for member in members:
            self._names.pop(member, None)

    def of(self, member: str) -> str:
        """Return the name of a member, escaped; the id of an unknown member."""
        return escape(self._names.get(member, member))

    def of_all(self, members: Sequence[str]) -> str:
        """Return the names of members; a long list is cut."""
        shown = ", ".join(map(self.of, members[:_NAMES_SHOWN]))
        return shown if len(members) <= _NAMES_SHOWN else f"{shown} and {len(members) - _NAMES_SHOWN} more"


def storm_title(colour: bool) -> str:
    """Return the word for a storm."""
    return f"{_RED}REBALANCE STORM{_RESET}" if colour else "REBALANCE STORM"


def generation_number(event: Event) -> str:
    """Return the number of a generation or an epoch."""
    return f"{'generation' if event['kind'] == 'classic' else 'epoch'} {event['generation']}"


def rebalance_details(event: Event, names: MemberNames) -> Iterator[tuple[str, str]]:
    """Yield what a rebalance changed, and the evidence for its causes."""
    if event["evidence"]:
        yield "evidence", escape(event["evidence"])
    for name in ("joined", "left", "replaced"):
        if event[name]:
            yield name, names.of_all(event[name])
    if event["moved"]:
        yield "moved", format_partitions(event["moved"])
    if event["unowned"]:
        yield "no owner", format_partitions(event["unowned"])


def other(event: Event, names: MemberNames, *, lasting: str, colour: bool) -> Text:
    """Return the text of an event other than generations, rebalances and members.

    Args:
        event: The event.
        names: Names of the members.
        lasting: What is said of a storm that has not ended.
        colour: Highlight a storm.
    """
    match event["event"]:
        case "storm":
            return _storm(event, lasting, colour)
        case "stuck":
            return _stuck(event, names)
        case "offsets":
            return _offsets(event)
        case "offsets_deleted" | "group_deleted":
            return _deleted(event)
        case "silence":
            return _silence(event), []
        case "coordinator":
            return moved_text(event), [("partitions of __consumer_offsets", ", ".join(event["log_partitions"]))]
        case _:
            return _bad_record(event)


def _storm(event: Event, lasting: str, colour: bool) -> Text:
    verb = lasting if event["until"] is None else f"ended at {format_time(event['until'])}"
    count = f"{event['rebalances']:,} rebalances with unchanged membership since {format_time(event['since'])}"
    labels = {
        "topic_partitions": "partitions that changed owners or had no owner",
        "unowned": "no owner in the last generation",
    }
    details = [(label, format_partitions(event[name])) for name, label in labels.items() if event[name]]
    return f"{storm_title(colour)} {verb}: {count}", details


def _stuck(event: Event, names: MemberNames) -> Text:
    name, partitions = names.of(event["member"]), format_partitions(event["topic_partitions"])
    if event["until"] is None:
        since, usual = format_time(event["since"]), format_duration(event["usual_interval_ms"])
        title = f"stuck: {name} has not committed offsets since {since}; usually it commits every {usual}"
    else:
        title = f"no longer stuck: {name}, after {format_duration(event['until'] - event['since'])} without commits"
    return title, [("partitions", partitions)]


def _offsets(event: Event) -> Text:
    title = f"{PROBLEMS[event['problem']]}: {format_partitions(event['topic_partitions'])}"
    return title, [("evidence", escape(event["evidence"]))] if event["evidence"] else []


def _deleted(event: Event) -> Text:
    cause = _DELETIONS[event["causes"][0]]
    if event["event"] == "group_deleted":
        title = f"the group {cause}"
    else:
        title = f"committed offset {cause}: {format_partitions(event['topic_partitions'])}"
    return title, [("evidence", escape(event["evidence"]))]


def _silence(event: Event) -> str:
    lasted = format_duration(event["until"] - event["since"])
    which = "the whole log" if event["log_partitions"] is None else _log_partitions(event["log_partitions"])
    return f"silence: {which} had no records for {lasted}, since {format_time(event['since'])}"


def _log_partitions(partitions: Sequence[str]) -> str:
    shown = ", ".join(partitions[:_NAMES_SHOWN])
    more = f" and {len(partitions) - _NAMES_SHOWN} more" if len(partitions) > _NAMES_SHOWN else ""
    return f"partition{'' if len(partitions) == 1 else 's'} {shown}{more} of __consumer_offsets"


def _bad_record(event: Event) -> Text:
    kind = "" if event["record_type"] is None else f" of type {event['record_type']}"
    return f"record{kind} at offset {event['offset']} cannot be used: {escape(event['error'])}", []
