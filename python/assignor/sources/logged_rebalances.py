"""Rebalances that brokers logged, from what the lines of their logs say about groups.

The line with which a rebalance of a classic group begins has its reason. Lines before it have details, such as the
reason that a client gave for its leave; lines after it say what happened until the join phase was complete. Lines about
a group with an epoch belong to the epoch that was logged at the same time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

from assignor.lines import format_duration, format_time
from assignor.sources.logged_reasons import EXPIRED, Event, Fact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Row = tuple[str, int | None, int, str | None, list[tuple[list[str], list[str], str]]]

__all__ = ["LoggedRebalance", "TimedEvent", "rebalances_of"]

_SAME_REQUEST_MS = 1_000
"""Lines of one request follow each other within this time."""

_SAME_WRITE_MS = 20
_RESOLVED_MS = 60_000
_LOADED_MS = 300_000
"""A session that expires within this time after the coordinator loaded the group may have expired because of that."""

_DEPARTED = {"consumer_closed", "consumer_dead", "rejoin_timed_out", "member_removed", "poll_interval_exceeded"}


class TimedEvent(NamedTuple):
    """What a line says about a group, and its time in milliseconds since 1970."""

    at: int
    event: Event


class TimedFact(NamedTuple):
    """What a line says about members, and its time in milliseconds since 1970."""

    at: int
    fact: Fact


class LoggedRebalance(NamedTuple):
    """Rebalance whose beginning a broker logged.

    Attributes:
        group: The group.
        kind: `classic`, `consumer`, `share` or `streams`.
        generation: The generation or epoch that it leads to; None if the lines do not show it.
        at: Time in milliseconds since 1970.
        facts: What the lines say: first why it began, then what happened until its join phase was complete.
    """

    group: str
    kind: str
    generation: int | None
    at: int
    facts: tuple[TimedFact, ...]

    @property
    def reason(self) -> str | None:
        """The reason as the broker logged it; None without one that is known."""
        return self.facts[0].fact.text if self.facts and self.facts[0].fact.causes else None

    @property
    def sentences(self) -> list[str]:
        """A sentence for each fact, with its time and text."""
        starts = ("The broker logged at", "It also logged at")
        return [
            f"{starts[place > 0]} {format_time(at)}: {fact.text.rstrip('.')}."
            for place, (at, fact) in enumerate(self.facts)
        ]

    def row(self) -> Row:
        """Return the tuple that `_core.Replay.observe_broker_log` takes."""
        facts = [
            (list(fact.causes), list(fact.members), sentence)
            for (_, fact), sentence in zip(self.facts, self.sentences, strict=True)
        ]
        return self.group, self.generation, self.at, self.reason, facts


def rebalances_of(events: Iterable[TimedEvent]) -> list[LoggedRebalance]:
    """Return the rebalances that lines show, by time.

    Args:
        events: What the lines of all files say, by time.
    """
    groups: dict[str, list[TimedEvent]] = {}
    for each in events:
        groups.setdefault(each.event.group, []).append(each)
    found = [
        rebalance
        for group, of_group in groups.items()
        for rebalance in (*_classic(group, of_group), *_with_epochs(group, of_group))
    ]
    return sorted(found, key=lambda rebalance: (rebalance.at, rebalance.group))


def _classic(group: str, events: Sequence[TimedEvent]) -> Iterator[LoggedRebalance]:
    """Yield the rebalances of a classic group."""
    before: list[TimedFact] = []
    facts: list[TimedFact] = []
    opened: tuple[int, int] | None = None
    loaded: int | None = None
    for at, event in events:
        fact = None if event.fact is None else _after_load(TimedFact(at, event.fact), loaded)
        is_repeated = opened is not None and event.what == "prepare" and opened[1] == event.generation
        if event.what in {"prepare", "end", "load"} and opened is not None and not is_repeated:
            yield LoggedRebalance(group, "classic", opened[1] + 1, opened[0], tuple(facts))
            opened, facts = None, []
        if event.what in {"load", "end"}:
            loaded = at if event.what == "load" else None
        elif event.what == "prepare" and event.generation is not None and not is_repeated:
            facts = _first_facts(fact, [each for each in before if at - each.at <= _SAME_REQUEST_MS])
            opened, before = (at, event.generation), []
        elif fact is not None and event.what in {"prepare", "fact", "leave"}:
            if opened is None:
                before.append(fact)
            elif event.what == "leave" and _is_leave(facts, at):
                facts = _first_facts(facts[0], [fact])
            else:
                _extend(facts, [fact])
    if opened is not None:
        yield LoggedRebalance(group, "classic", opened[1] + 1, opened[0], tuple(facts))


def _extend(facts: list[TimedFact], new: Iterable[TimedFact]) -> None:
    """Add facts about members that no earlier fact names."""
    for each in new:
        named = {member for _, fact in facts for member in fact.members}
        if not each.fact.members or not named.issuperset(each.fact.members):
            facts.append(each)


def _first_facts(reason: TimedFact | None, before: Sequence[TimedFact]) -> list[TimedFact]:
    """Return the facts of a line with which a rebalance begins, and of the lines of the same request before it."""
    if reason is None:
        return list(before[:1])
    at, fact = reason
    if not fact.text.startswith("explicit `LeaveGroup`"):
        # Kafka 2.4 to 2.8 log the instance id of a member only before: a static member that leaves was removed.
        same = [each.fact.causes for each in before if each.fact.members == fact.members]
        is_static = fact.causes[:1] == ("consumer_closed",) and any("member_removed" in causes for causes in same)
        return [TimedFact(at, Fact(same[0], fact.members, fact.text)) if is_static else reason]
    # A leave of several members has one line for each, with the reason that its client gave.
    found = [each for each in before if not fact.members or set(each.fact.members) <= set(fact.members)]
    if not found:
        return [reason]
    first, *others = found
    causes = first.fact.causes if fact.members else fact.causes
    _, separator, client = first.fact.text.rpartition("; client reason: ")
    text = f"{fact.text.rstrip('.')}{separator}{client}"
    return [TimedFact(at, Fact(causes, fact.members or first.fact.members, text)), *others]


def _is_leave(facts: Sequence[TimedFact], at: int) -> bool:
    """Return True if the only fact is a leave of the same time whose client reason is not known yet."""
    return len(facts) == 1 and facts[0].at == at and facts[0].fact.text.startswith("explicit `LeaveGroup`")


def _after_load(each: TimedFact, loaded: int | None) -> TimedFact:
    """Return a fact; a session that expired soon after the coordinator had loaded the group expired because of that."""
    at, fact = each
    if loaded is None or at - loaded > _LOADED_MS or fact.causes != EXPIRED:
        return each
    text = f"{fact.text.rstrip('.')}, {format_duration(at - loaded)} after the coordinator had loaded the group"
    return TimedFact(at, Fact(("coordinator_moved", *EXPIRED[:2]), fact.members, text))


def _with_epochs(group: str, events: Sequence[TimedEvent]) -> Iterator[LoggedRebalance]:
    """Yield the rebalances of a consumer, share or streams group."""
    epochs = [(at, event.generation) for at, event in events if event.what == "epoch"]
    times = [at for at, _ in epochs]
    found: dict[int, list[TimedFact]] = {place: [] for place in range(len(epochs))}
    alone: list[TimedFact] = []
    kind = next((event.kind for _, event in events if event.kind and event.kind != "classic"), "consumer")
    for at, event in events:
        if event.what != "member" or event.fact is None:
            continue
        place = _epoch_of(at, event.fact, times)
        if place is not None:
            found[place].append(TimedFact(at, event.fact))
        elif event.fact.members and event.fact.causes[0] in _DEPARTED:
            alone.append(TimedFact(at, event.fact))
    for place, (at, epoch) in enumerate(epochs):
        yield LoggedRebalance(group, kind, epoch, at, tuple(_decisive(found[place])))
    for each in alone:
        yield LoggedRebalance(group, kind, None, each.at, (each,))


def _epoch_of(at: int, fact: Fact, times: Sequence[int]) -> int | None:
    """Return the place of the epoch that a fact belongs to; None without one.

    A broker writes the epoch after a leave at once, that after a join when it has found the topics, and that after a
    join with a pattern when it has resolved the pattern.
    """
    is_departure = bool(fact.causes) and fact.causes[0] in _DEPARTED
    latest = _SAME_WRITE_MS if is_departure else _SAME_REQUEST_MS
    start = bisect_left(times, at - _SAME_WRITE_MS)
    near = [(abs(times[place] - at), place) for place in range(start, bisect_right(times, at + latest))]
    if near:
        return min(near)[1]
    following = start < len(times) and times[start] - at <= _RESOLVED_MS
    return start if following and not is_departure else None


def _decisive(facts: Iterable[TimedFact]) -> list[TimedFact]:
    """Return the facts that began an epoch: the first about each member, and a conversion.

    Without any, only the topics changed. Such a line does not name the change, so that it has no certain cause.
    """
    found: list[TimedFact] = []
    _extend(found, (each for each in facts if each.fact.members or each.fact.causes[0].startswith("protocol_")))
    return found or [TimedFact(at, Fact((), (), fact.text)) for at, fact in facts]
