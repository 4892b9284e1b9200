"""What the log of a broker adds to the events of a replay: rebalances without a record, and a comparison of the causes.

The replay itself puts the logged cause first (`src/replay/logged_causes.rs`), and leaves the causes of the records
alone in `inferred_causes`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assignor.lines import format_count, format_time
from assignor.replay.events import FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from assignor.replay.events import Event
    from assignor.sources.broker_log import LoggedRebalance

__all__ = ["LogComparison", "LogMatches"]

_DIFFERENCES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class LogComparison:
    """Causes that brokers logged, compared with those that the records alone allow.

    Attributes:
        logged: Number of rebalances that brokers logged.
        first: Number of rebalances in which the logged cause is also the first one of the records.
        among: Number in which it is another one of the records.
        missing: Number in which the records do not give it.
        without_reason: Number of rebalances whose lines have no reason, or one that is not known.
        only_logged: Number of rebalances that only the log has.
        differences: A row for each rebalance of `among` and `missing`: group, generation, at, `logged` (the cause) and
            `inferred` (the causes of the records).
    """

    logged: int = 0
    first: int = 0
    among: int = 0
    missing: int = 0
    without_reason: int = 0
    only_logged: int = 0
    differences: tuple[dict[str, Any], ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the object that `assignor report --json` prints."""
        names = ("logged", "first", "among", "missing", "without_reason", "only_logged")
        return {**{name: getattr(self, name) for name in names}, "differences": list(self.differences)}

    def lines(self) -> Iterator[str]:
        """Yield the lines for people."""
        compared = self.first + self.among + self.missing
        text = (
            f"The log of the broker has {format_count(self.logged, 'rebalance')}. Of {compared:,} with a reason and a "
            f"record, the records alone give the logged cause first for {self.first:,}, at another place for "
            f"{self.among:,}, and not at all for {self.missing:,}."
        )
        if self.without_reason:
            text += f" {self.without_reason:,} have no known reason."
        if self.only_logged:
            text += f" {format_count(self.only_logged, 'rebalance')} without a record: offset -1."
        yield text
        for row in self.differences[:_DIFFERENCES_SHOWN]:
            where = f"{row['group']}, generation {row['generation']}, {format_time(row['at'])}"
            yield f"{where}: the broker logged {row['logged']}; the records alone give {', '.join(row['inferred'])}"
        if len(self.differences) > _DIFFERENCES_SHOWN:
            more = len(self.differences) - _DIFFERENCES_SHOWN
            yield f"and {more:,} more: events whose first cause is not the first of inferred_causes"


@dataclass
class LogMatches:
    """Matches between logged rebalances and the rebalances of a replay.

    Args:
        rebalances: The logged rebalances.
    """

    rebalances: Iterable[LoggedRebalance]
    _keys: set[tuple[str, int]] = field(default_factory=set)
    _generations: set[tuple[str, int]] = field(default_factory=set)
    _counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("first", "among", "missing", "without_reason"), 0)
    )
    _differences: list[dict[str, Any]] = field(default_factory=list)

    def add(self, event: Mapping[str, Any]) -> None:
        """Note an event `rebalance` of the replay."""
        if event["logged_at"] is None:
            return
        self._keys.add((event["group"], event["logged_at"]))
        self._generations.add((event["group"], event["generation"]))
        if event["logged_reason"] is None:
            self._counts["without_reason"] += 1
            return
        logged, inferred = event["causes"][0], list(event["inferred_causes"])
        place = "first" if inferred[:1] == [logged] else "among" if logged in inferred else "missing"
        self._counts[place] += 1
        if place != "first":
            row = {name: event[name] for name in ("group", "generation", "at")}
            self._differences.append({**row, "logged": logged, "inferred": inferred})

    def unrecorded(self) -> list[Event]:
        """Return an event `rebalance` for each logged rebalance that no added event has, by time."""
        return [_event(each) for each in self.rebalances if not self._is_recorded(each)]

    def comparison(self) -> LogComparison:
        """Return the comparison of the causes."""
        rows = sorted(self._differences, key=lambda row: (row["at"], row["group"], row["generation"]))
        logged = list(self.rebalances)
        only = sum(not self._is_recorded(each) for each in logged)
        return LogComparison(logged=len(logged), only_logged=only, differences=tuple(rows), **self._counts)

    def _is_recorded(self, rebalance: LoggedRebalance) -> bool:
        if (rebalance.group, rebalance.at) in self._keys:
            return True
        # The line with an epoch, if another one at the same time named the member.
        is_bare = rebalance.kind != "classic" and rebalance.reason is None
        return is_bare and (rebalance.group, rebalance.generation) in self._generations


def _event(rebalance: LoggedRebalance) -> Event:
    """Return the event of a rebalance that only the log has."""
    facts = [fact for _, fact in rebalance.facts]
    causes = list(dict.fromkeys(fact.causes[0] for fact in facts if fact.causes)) or ["unknown"]
    joined = {member for fact in facts if fact.causes[:1] == ("consumer_subscribed",) for member in fact.members}
    left = {member for fact in facts if fact.causes and fact.causes[0] in _DEPARTURES for member in fact.members}
    start = f"The broker logged at {format_time(rebalance.at)} that the rebalance began."
    evidence = " ".join([*(rebalance.sentences or [start]), "The recording has no record of this generation."])
    found = {
        "event": "rebalance",
        "cluster": "",
        "group": rebalance.group,
        "kind": rebalance.kind,
        "at": rebalance.at,
        "offset": -1,
        "generation": rebalance.generation,
        "causes": causes,
        "evidence": evidence,
        "joined": sorted(joined),
        "left": sorted(left),
        "replaced": [],
        "logged_at": rebalance.at,
        "logged_reason": rebalance.reason,
    }
    return {**dict.fromkeys(FIELDS["rebalance"]), **found}


_DEPARTURES = frozenset(
    {
        *("consumer_closed", "consumer_dead", "poll_interval_exceeded", "coordinator_moved", "member_removed"),
        *("sync_timed_out", "rejoin_timed_out"),
    }
)
