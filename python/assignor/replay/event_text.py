"""Text of an event: a title, and details with their labels. A history prints a detail per line, a watch all on one."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from assignor.lines import escape, format_duration, format_partitions, format_time, member_name
from assignor.replay import cost_text
from assignor.replay.coordinators import moved_text
from assignor.replay.member_slots import client_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assignor.replay.events import Event

    Text = tuple[str, list[tuple[str, str]]]

_NAMES_SHOWN = 8
_SENTENCES_SHOWN = 3
_LONGEST = 1_200
_SENTENCE_END = re.compile(r"(?<=\.) (?=[A-Z])")
_SUBJECT = re.compile(r"^(\w+ )?(Member|member) \S+|\d+")
_RED, _RESET = "\x1b[1;31m", "\x1b[0m"
PROBLEMS = {
    "never_committed": "no committed offset",
    "not_owned": "offset committed for a partition without an owner",
    "went_back": "committed offset went back",
    "two_owners": "more than one member owns",
    "not_subscribed": "owned without a subscription to the topic",
    "unknown_partition": "owned, but not in the topic metadata",
}
"""Text of each problem of an event `offsets`."""


_DELETIONS = {"expired": "expired", "deleted": "deleted", "topic_deleted": "deleted with the topic"}


class MemberNames:
    """Names of the members of events and of their clients, by member id."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._clients: dict[str, str] = {}

    def add(self, event: Event) -> str:
        """Remember and return the name of the member of a `member` event."""
        found = self._names[event["member"]] = member_name(event)
        self._clients[event["member"]] = client_name(event)
        return found

    def forget(self, members: Iterable[str]) -> None:
        """Forget members that left."""
        for member in members:
            self._names.pop(member, None)
            self._clients.pop(member, None)

    def of(self, member: str) -> str:
        """Return the name of a member, escaped; the id of an unknown member."""
        return escape(self._names.get(member, member))

    def clients(self, members: Iterable[str]) -> list[str]:
        """Return the name of the client of each member; empty for an unknown one."""
        return [self._clients.get(member, "") for member in members]

    def of_all(self, members: Sequence[str]) -> str:
        """Return the names of members; a long list is cut."""
        shown = ", ".join(map(self.of, members[:_NAMES_SHOWN]))
        return shown if len(members) <= _NAMES_SHOWN else f"{shown} and {len(members) - _NAMES_SHOWN} more"


def group_title(group: str) -> str:
    """Return a group id, escaped; quotation marks show an empty one."""
    return escape(group) or '""'


def shortened(evidence: str) -> str:
    """Return evidence with at most three sentences of each form; the number of the others follows.

    A rebalance in which 200 members left has 200 sentences that differ only in the member id.
    """
    sentences = _SENTENCE_END.split(evidence)
    counts = Counter[str]()
    shown: list[str] = []
    places: dict[str, int] = {}
    for sentence in sentences:
        form = _SUBJECT.sub("", sentence)
        counts[form] += 1
        if counts[form] <= _SENTENCES_SHOWN:
            places[form] = len(shown)
            shown.append(sentence)
    for form, place in places.items():
        more = counts[form] - _SENTENCES_SHOWN
        if more > 0:
            shown[place] += f" The same is true of {more:,} more."
    text = " ".join(shown)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def storm_title(colour: bool) -> str:
    """Return the word for a storm."""
    return f"{_RED}REBALANCE STORM{_RESET}" if colour else "REBALANCE STORM"


def generation_number(event: Mapping[str, Any]) -> str:
    """Return the number of a generation or an epoch; a watch by polls, or a line of a broker, may not know it."""
    number = "not known" if event["generation"] is None else event["generation"]
    return f"{'generation' if event['kind'] == 'classic' else 'epoch'} {number}"


def causes_text(event: Mapping[str, Any]) -> str:
    """Return the causes of a rebalance; the first one is certain if a broker logged it."""
    first, *others = event["causes"]
    return ", ".join([f"{first} (certain)" if event.get("logged_reason") is not None else first, *others])


def rebalance_details(event: Event, names: MemberNames) -> Iterator[tuple[str, str]]:
    """Yield what a rebalance changed, and the evidence for its causes."""
    if event["evidence"]:
        yield "evidence", shortened(escape(event["evidence"]))
    for name in ("joined", "left", "replaced"):
        if event[name]:
            yield name, names.of_all(event[name])
    if event["moved"]:
        yield "moved", format_partitions(event["moved"])
    if event["unowned"]:
        yield "no owner", format_partitions(event["unowned"])
    if cost := cost_text.details(event):
        yield "cost", cost


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
        case "cost":
            return f"cost of {generation_number(event)}: {cost_text.details(event) or 'not known'}", []
        case "silence":
            return f"silence: {silence_text(event)}", []
        case "coordinator":
            return moved_text(event), [("partitions of __consumer_offsets", ", ".join(event["log_partitions"]))]
        case "invalid_timestamp":
            return _invalid_timestamp(event), []
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
        title = f"no commits: {name} has committed nothing since {since}; usually it commits every {usual}"
    else:  # the event does not say which of the two happened
        after = format_duration(event["until"] - event["since"])
        title = f"commits again, or has lost its partitions: {name}, after {after} without commits"
    return title, [("partitions", partitions)]


def _offsets(event: Event) -> Text:
    problem, until = PROBLEMS[event["problem"]], event.get("until")
    lasted = "" if until is None else f"ended after {format_duration(until - event['since'])}: "
    title = f"{lasted}{problem}: {format_partitions(event['topic_partitions'])}"
    return title, [("evidence", shortened(escape(event["evidence"])))] if event["evidence"] else []


def _deleted(event: Event) -> Text:
    cause = _DELETIONS[event["causes"][0]]
    if event["event"] == "group_deleted":
        title = f"group {cause}"
    else:
        what = "committed offset" if len(event["topic_partitions"]) == 1 else "committed offsets"
        title = f"{what} {cause}: {format_partitions(event['topic_partitions'])}"
    return title, [("evidence", escape(event["evidence"]))]


def silence_text(event: Mapping[str, Any]) -> str:
    """Return what a silence of the log says, from its since, until and log_partitions."""
    lasted = format_duration(event["until"] - event["since"])
    which = "the whole log" if event["log_partitions"] is None else _log_partitions(event["log_partitions"])
    return f"{which} had no records for {lasted}, since {format_time(event['since'])}"


def _log_partitions(partitions: Sequence[str]) -> str:
    shown = ", ".join(partitions[:_NAMES_SHOWN])
    more = f" and {len(partitions) - _NAMES_SHOWN} more" if len(partitions) > _NAMES_SHOWN else ""
    return f"partition{'' if len(partitions) == 1 else 's'} {shown}{more} of __consumer_offsets"


def _invalid_timestamp(event: Event) -> str:
    what = f"record of type {event['record_type']} at offset {event['offset']}"
    return f"{what}: the timestamp {event['timestamp']} is not between 1970 and 9999, so its time is not known"


def _bad_record(event: Event) -> Text:
    kind = "" if event["record_type"] is None else f" of type {event['record_type']}"
    return f"record{kind} at offset {event['offset']} cannot be used: {escape(event['error'])}", []
