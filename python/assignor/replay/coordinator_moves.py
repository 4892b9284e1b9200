"""Moves of coordinators in a recording with the history of its brokers: events, and evidence for causes.

A live cluster shows the moves to a watch, see `assignor.replay.coordinators`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.cluster.broker_history import has_history, read_brokers, read_coordinators
from assignor.cluster.records import groups_of, scan
from assignor.lines import format_duration, format_time
from assignor.replay.coordinators import moved_event, moved_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.cluster.folder import Recording

Event = dict[str, Any]

TOGETHER_MS = 1_000
"""Moves between the same brokers within this time are one event, as in a watch that asks once a second."""

_NEAR_MS = 10_000
"""A broker that is fenced within this time of a move is the reason: one that stops hands its partitions over first."""


class Move(NamedTuple):
    """Change of the leader of a partition of `__consumer_offsets`.

    Attributes:
        at: Time in milliseconds at which the new leader was elected.
        partition: The partition.
        previous: Broker that led the partition before.
        leader: Broker that leads it from then on; the same one if the partition only had no leader for a time.
        without_leader: Milliseconds for which the partition had no leader.
    """

    at: int
    partition: int
    previous: int
    leader: int
    without_leader: int


class Outage(NamedTuple):
    """Time in which a broker was not available.

    Attributes:
        broker: Id of the broker.
        since: Time in milliseconds at which it was fenced or removed.
        until: Time at which it was available again; None if it was not, up to the end.
    """

    broker: int
    since: int
    until: int | None

    def text(self) -> str:
        """Return what happened to the broker.

        Example:
            >>> Outage(2, 1_700_000_000_000, 1_700_000_035_000).text()
            'broker 2 was fenced from 2023-11-14 22:13:20.000 to 2023-11-14 22:13:55.000'
        """
        if self.until is None:
            return f"broker {self.broker} was fenced at {format_time(self.since)} and has not come back"
        return f"broker {self.broker} was fenced from {format_time(self.since)} to {format_time(self.until)}"

    def to_json(self) -> dict[str, object]:
        """Return the object that `assignor report --json` prints."""
        return {"broker": str(self.broker), "since": self.since, "until": self.until}


class BrokerHistory(NamedTuple):
    """What happened to the brokers and to the coordinators of groups.

    Attributes:
        moves: Events `coordinator`, by time.
        outages: Times in which brokers were not available.
    """

    moves: tuple[Event, ...]
    outages: tuple[Outage, ...]

    def to_json(self) -> dict[str, object]:
        """Return the object that `assignor report --json` prints."""
        names = ("at", "previous", "leader", "log_partitions", "groups")
        return {
            "moves": [{name: event[name] for name in names} for event in self.moves],
            "outages": [outage.to_json() for outage in self.outages],
        }

    def lines(self) -> list[str]:
        """Return a line for each move and each outage, by time."""
        found = [(event["at"], f"{format_time(event['at'])}  {moved_text(event)}") for event in self.moves]
        found += [(outage.since, f"{format_time(outage.since)}  {outage.text()}") for outage in self.outages]
        return [line for _, line in sorted(found)]


def broker_history(recording: Recording, since: int | None = None) -> BrokerHistory | None:
    """Return what happened to the brokers; None if the recording has no history of them.

    Args:
        recording: The recording.
        since: Time in milliseconds; what ended before it is left out. None for no limit.

    Raises:
        IllegalArgumentError: A file cannot be read.
        WrongTypeError: A column is missing or of another type.
    """
    if not has_history(recording):
        return None
    start = 0 if since is None else since
    moves = tuple(event for event in coordinator_events(recording) if event["at"] >= start)
    outages = outages_of(recording)
    return BrokerHistory(moves, tuple(each for each in outages if each.until is None or each.until >= start))


def moves_of(recording: Recording) -> list[Move]:
    """Return the moves in `coordinators.parquet`, by time; none without the file.

    Raises:
        IllegalArgumentError: The file cannot be read.
        WrongTypeError: A column is missing or of another type.
    """
    found: list[Move] = []
    leaders: dict[int, int] = {}
    lost: dict[int, int] = {}
    for row in read_coordinators(recording).to_pylist():
        at, partition, leader = row["at"], row["partition"], row["leader"]
        previous = leaders.get(partition)
        if leader is None:
            lost.setdefault(partition, at)
            continue
        without = at - lost.pop(partition, at)
        leaders[partition] = leader
        if previous is not None and (leader != previous or without):
            found.append(Move(at, partition, previous, leader, without))
    return _until(recording, found)


def outages_of(recording: Recording) -> list[Outage]:
    """Return the times in `brokers.parquet` in which brokers were not available, by time; none without the file.

    The time before a broker was available for the first time does not count.

    Raises:
        IllegalArgumentError: The file cannot be read.
        WrongTypeError: A column is missing or of another type.
    """
    found: list[Outage] = []
    since: dict[int, int] = {}
    known: set[int] = set()
    for row in read_brokers(recording).to_pylist():
        at, broker = row["at"], row["broker"]
        if row["is_available"]:
            known.add(broker)
            if broker in since:
                found.append(Outage(broker, since.pop(broker), at))
        elif broker in known:
            since.setdefault(broker, at)
    found += [Outage(broker, at, None) for broker, at in since.items()]
    last = recording.until
    if last is not None:
        found = [
            each._replace(until=None) if (each.until or 0) > last else each for each in found if each.since <= last
        ]
    return sorted(found, key=lambda each: (each.since, each.broker))


def _until(recording: Recording, moves: list[Move]) -> list[Move]:
    return [move for move in moves if recording.until is None or move.at <= recording.until]


def moved_because(move: Move, outages: Iterable[Outage]) -> str:
    """Return how a coordinator changed, and which broker was fenced then, as the end of a sentence."""
    if move.leader != move.previous:
        text = f"it moved from broker {move.previous} to broker {move.leader}"
    else:
        text = (
            f"broker {move.leader} took over again after {format_duration(move.without_leader)} without a coordinator"
        )
    began = move.at - move.without_leader
    for outage in outages:
        is_over = outage.until is not None and outage.until < began
        if outage.broker == move.previous and outage.since <= move.at + _NEAR_MS and not is_over:
            return f"{text}; {outage.text()}"
    return text


def coordinator_events(recording: Recording) -> list[Event]:
    """Return the events `coordinator` of a recording, by time; partitions without groups have none.

    Args:
        recording: The recording. If there are moves, the columns partition and key of all its records are read.

    Raises:
        IllegalArgumentError: A file cannot be read.
        WrongTypeError: A column is missing or of another type.
    """
    moves = [move for move in moves_of(recording) if move.leader != move.previous]
    if not moves:
        return []
    groups: dict[int, set[str]] = {}
    for batch in scan(recording, ["partition", "key"]):
        for start, found in groups_of(batch["key"]):
            partitions = batch["partition"].slice(start, len(found)).to_pylist()
            for partition, group in set(zip(partitions, found.to_pylist(), strict=True)):
                if group is not None:
                    groups.setdefault(partition, set()).add(group)
    events = []
    ordered = sorted(moves, key=lambda move: (move.previous, move.leader, move.at))
    for brokers, of_brokers in itertools.groupby(ordered, lambda move: (move.previous, move.leader)):
        for together in _together(of_brokers):
            used = sorted({move.partition for move in together} & groups.keys())
            if used:
                count = sum(len(groups[partition]) for partition in used)
                events.append(moved_event(brokers, used, count, at=together[0].at))
    return sorted(events, key=lambda event: event["at"])


def _together(moves: Iterable[Move]) -> list[list[Move]]:
    """Return moves in groups, each within `TOGETHER_MS` of its first one."""
    found: list[list[Move]] = []
    for move in moves:
        if found and move.at < found[-1][0].at + TOGETHER_MS:
            found[-1].append(move)
        else:
            found.append([move])
    return found
