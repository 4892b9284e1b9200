"""Findings that come from the events of a group: storms, stuck members and unusual offsets.

They have the times of the events that `assignor replay` prints. Each storm is a finding. The members of a group that
are stuck at the end of the log are one finding, and those that were stuck before are another. The unusual offsets and
the wrong owners of a group are one finding of each kind. `group_events` leaves out the events of members that had
nothing to consume.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.lines import format_count, format_duration, format_partitions, format_time
from assignor.report.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from assignor.waiting import Waiting

STUCK_MS = 60_000
"""Shortest time without commits, in milliseconds, that is a finding although the member commits again."""

_MEMBERS_SHOWN = 4
_GROUPS_SHOWN = 3

Event = dict[str, Any]
"""Event with the fields that `docs/replay-events.md` lists."""


def findings_of_events(group: str, events: Sequence[Event]) -> Iterator[Finding]:
    """Yield the findings that come from events.

    Args:
        group: Group id.
        events: The events `storm`, `stuck` and `offsets` of the group, in the order of `assignor.replay`; those that
            `stuck_evidence.with_evidence` returns have the field `waiting`.
    """
    for storm in episodes((each for each in events if each["event"] == "storm"), lambda _: None):
        yield _of_storm(group, storm)
    stuck = episodes((each for each in events if each["event"] == "stuck"), lambda event: event["member"])
    lasting = [each for each in stuck if each["until"] is None]
    ended = [each for each in stuck if each["until"] is not None and each["until"] - each["since"] >= STUCK_MS]
    if lasting:
        yield _of_lasting(group, lasting)
    if ended:
        yield _of_ended(group, ended)
    for problem, describe_owners in _OWNERS.items():
        found = [each for each in events if each["event"] == "offsets" and each["problem"] == problem]
        if found:
            yield _of_owners(group, found, describe_owners)
    for problem, describe in _PROBLEMS.items():
        found = [each for each in events if each["event"] == "offsets" and each["problem"] == problem]
        if found:
            yield _of_offsets(group, found, describe)


def episodes(events: Iterable[Event], key: Callable[[Event], Any]) -> list[Event]:
    """Return the last event of each episode: the one with `until`, or the latest one if the episode has no end.

    An episode is a storm, or a period in which a member is stuck.

    Args:
        events: Beginnings and ends of episodes, in the order of `assignor.replay`. Episodes with the same key do not
            overlap.
        key: Function that returns the member of an episode, or None for a storm.
    """
    found: list[Event] = []
    lasting: dict[Any, int] = {}
    for event in events:
        place = lasting.setdefault(key(event), len(found))
        found[place : place + 1] = [event]
        if event["until"] is not None:
            del lasting[key(event)]
    return found


def _of_storm(group: str, storm: Event) -> Finding:
    since, until = format_time(storm["since"]), storm["until"]
    lasted = f"since {since}" if until is None else f"within {format_duration(until - storm['since'])} from {since}"
    text = f"rebalance storm: {storm['rebalances']:,} rebalances with unchanged membership {lasted}"
    evidence = "The membership is unchanged in each of these rebalances."
    if storm["topic_partitions"]:
        evidence += f" Partitions that changed owners or had no owner: {format_partitions(storm['topic_partitions'])}."
    return Finding("storm", storm["since"], storm["until"], group, text, evidence)


def _of_lasting(group: str, stuck: list[Event]) -> Finding:
    since = min(each["since"] for each in stuck)
    if len(stuck) == 1:
        text = f"1 member has not committed offsets as usual since {format_time(since)}"
    else:
        text = f"{len(stuck):,} members have not committed offsets as usual, the first since {format_time(since)}"
    return Finding("stuck", since, None, group, text, _silences(stuck))


def _of_ended(group: str, stuck: list[Event]) -> Finding:
    longest = max(stuck, key=lambda each: int(each["until"] - each["since"]))
    count = format_count(len({each["member"] for each in stuck}), "member")
    length = format_duration(longest["until"] - longest["since"])
    text = f"{count} committed no offsets for up to {length}, from {format_time(longest['since'])}"
    since, until = min(each["since"] for each in stuck), max(each["until"] for each in stuck)
    return Finding("stuck", since, until, group, text, _silences(stuck))


def _silences(stuck: list[Event]) -> str:
    """Return the evidence for stuck members: their ids, how often each usually commits, and their partitions."""
    shown = [
        f"{each['member']} (usually commits every {format_duration(each['usual_interval_ms'])}): "
        f"{format_partitions(each['topic_partitions'])}{_waiting(each.get('waiting') or {})}"
        for each in stuck[:_MEMBERS_SHOWN]
    ]
    more = [f"{len(stuck) - _MEMBERS_SHOWN:,} more"] if len(stuck) > _MEMBERS_SHOWN else []
    return f"{'; '.join(shown + more)}."


def _waiting(waiting: Mapping[Any, Waiting]) -> str:
    """Return why records are known to have waited: the lag, or the group that read further."""
    if not waiting:
        return ""
    lag = sum(each.lag for each in waiting.values())
    groups = sorted({each.group for each in waiting.values() if each.group is not None})
    records, since = format_count(lag, "record"), format_time(min(each.since for each in waiting.values()))
    if not groups:
        return f", lag up to {lag:,} since {since}"
    named = ", ".join(group or '""' for group in groups[:_GROUPS_SHOWN])
    more = f" and {format_count(len(groups) - _GROUPS_SHOWN, 'more group')}" if len(groups) > _GROUPS_SHOWN else ""
    noun = "group" if len(groups) == 1 else "groups"
    return f", while {noun} {named}{more} read up to {records} further since {since}"


def _of_offsets(group: str, events: list[Event], describe: Callable[[int, int], str]) -> Finding:
    partitions = sorted({(each["topic"], each["partition"]) for event in events for each in event["topic_partitions"]})
    first, last = events[0], events[-1]
    evidence = f"{format_partitions(partitions)}. {first['evidence']}"
    times = [event["at"] for event in events]
    until = None if first["problem"] == "never_committed" else max(times)
    text = describe(len(events), len(partitions))
    return Finding(last["problem"], min(times), until, group, text, evidence)


def _of_owners(group: str, events: list[Event], describe: Callable[[str], str]) -> Finding:
    """Return the finding about all times in which a problem with the owners of partitions lasted."""
    found = episodes(events, lambda _: None)
    partitions = sorted({(each["topic"], each["partition"]) for event in events for each in event["topic_partitions"]})
    since, last = min(each["since"] for each in found), found[-1]
    times = "" if len(found) == 1 else f"; {len(found):,} times"
    text = f"{describe(format_partitions(partitions))}{times}"
    return Finding(last["problem"], since, last["until"], group, text, str(last["evidence"]))


def _never_committed(_events: int, partitions: int) -> str:
    return f"no committed offset for {format_count(partitions, 'owned partition')}"


def _went_back(events: int, partitions: int) -> str:
    return f"a committed offset went back {format_count(events, 'time')}, in {format_count(partitions, 'partition')}"


def _not_owned(_events: int, partitions: int) -> str:
    return f"offsets were committed for {format_count(partitions, 'partition')} without an owner"


def _two_owners(partitions: str) -> str:
    return f"more than one member owns {partitions}, so records are consumed more than once"


def _not_subscribed(partitions: str) -> str:
    return f"members own {partitions} without a subscription to the topic"


def _unknown_partition(partitions: str) -> str:
    return f"members own {partitions}, which the topic metadata does not have"


_OWNERS = {
    "two_owners": _two_owners,
    "not_subscribed": _not_subscribed,
    "unknown_partition": _unknown_partition,
}
"""Text of the findings about wrong owners, from their partitions, by `problem`."""

_PROBLEMS = {"went_back": _went_back, "not_owned": _not_owned, "never_committed": _never_committed}
"""Text of the findings about unusual offsets, from their numbers of events and partitions, by `problem`."""
