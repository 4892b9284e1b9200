"""What a report says of one group: its state, comparisons, remarks and members, as data and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.migration import Migration
    from assignor.replay.loop import Loop
    from assignor.report.group_costs import GroupCosts
    from assignor.report.group_tasks import GroupTasks
    from assignor.report.lag import GroupLag
    from assignor.report.traffic import GroupTraffic


@dataclass(frozen=True, slots=True)
class Compared:
    """Comparison of generations and epochs of a group with the answers of an assignor.

    Attributes:
        checked: Number of compared generations and epochs.
        equal: Number of those with equal assignments.
        unknown: Number of generations and epochs that are not compared.
        explained: Number of compared ones that differ, but are the answer for earlier or missing topic metadata.
        healed: Number of compared ones that differ without explanation, but are followed by an equal one within
            seconds.
        unknown_topics: Number of those in `unknown` for which the topic metadata lacks a topic.
        not_determined: Number of those in `unknown` whose assignment the log does not determine.
    """

    checked: int = 0
    equal: int = 0
    unknown: int = 0
    explained: int = 0
    healed: int = 0
    unknown_topics: int = 0
    not_determined: int = 0

    @property
    def unexplained(self) -> int:
        """Number of compared ones that differ without explanation and are not healed."""
        return self.checked - self.equal - self.explained - self.healed

    @property
    def unreadable(self) -> int:
        """Number of those in `unknown` for which the bytes of a member cannot be decoded."""
        return self.unknown - self.unknown_topics - self.not_determined

    def counts(self) -> dict[str, int]:
        """Return the counts of outcomes, and of the classes of different ones, by name in JSON."""
        names = ("checked", "equal", "unknown", "unexplained", "explained", "healed")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class OfClass:
    """Generations and epochs of one class under an assignor other than classic `range`.

    Attributes:
        reason: Generation and reason of the first one.
        since: Time of the first one in milliseconds.
        until: Time of the last one in milliseconds.
    """

    reason: str
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True)
class ComparedAssignments:
    """Comparison of a group's generations and epochs with the answers of an assignor other than classic `range`.

    Attributes:
        assignor: Kafka's name of the assignor; None if the log does not determine the answer of any assignor.
        compared: Counts of outcomes and classes.
        classes: The first generation or epoch of each class that occurs, by name of the class.
    """

    assignor: str | None
    compared: Compared
    classes: dict[str, OfClass] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupReport:
    """State of a group at the end of the log.

    Attributes:
        group: Group id.
        kind: `classic`, `consumer`, `share`, `streams`, or `offsets` for a group that only has committed offsets.
        state: Kafka's name of the state; `gone`, or `Unknown` if the last group record cannot be decoded.
        protocol: The assignor in use; None if the group has no assignor or the log does not name it.
        generation: The last generation or group epoch.
        members: Number of members.
        topics: Number of topics with assigned partitions.
        partitions: Number of assigned partitions.
        unowned: Number of partitions of the subscribed topics without an owner; None if not known.
        idle_members: Number of members without partitions.
        least_loaded: Lowest number of partitions of a member; None without members.
        most_loaded: Highest number of partitions of a member; None without members.
        range_generations: Comparison of the generations under `range` of the classic protocol.
        rebalances: Number of new generations or epochs in the log.
        busiest_minute: Highest number of rebalances within a minute that left the membership unchanged.
        bad_records: Number of records of the group that cannot be decoded.
        invalid_timestamps: Number of records of the group whose timestamp is not between 1970 and 9999.
        assignments: Comparison of assignors other than the classic protocol's `range`.
        events: Storms, stuck members and unusual offsets, as `group_events.read_events` returns them.
        loops: Rebalance loops, in the order of time.
        unowned_spans: The partitions that `unowned` counts, as spans of (topic, first partition, count); empty if not
            known.
        first_invalid: Offset of the first record whose timestamp is not between 1970 and 9999; None without one.
        bad_records_between: Times of the first and the last record that cannot be decoded.
        unreadable: Reason why the last group record cannot be decoded; None if it can.
        unreadable_since: Time in milliseconds of the first of the last group records that cannot be decoded.
        lag: Lag at the last time of the end offsets; None without end offsets, or if the group has neither owned
            partitions nor committed offsets.
        traffic: Records per second of the members; None if no member with partitions has commits.
        tasks: Tasks of a group that assigns tasks; None for other groups, and if no assignment is known.
        costs: Cost of its rebalances; None without any.
        migration: Whether a classic group can move to KIP-848, by Kafka's default settings of brokers; None for other
            groups.
    """

    group: str
    kind: str
    state: str
    protocol: str | None
    generation: int | None
    members: int
    topics: int
    partitions: int
    unowned: int | None
    idle_members: int
    least_loaded: int | None
    most_loaded: int | None
    range_generations: Compared
    rebalances: int
    busiest_minute: int
    bad_records: int
    invalid_timestamps: int = 0
    first_invalid: int | None = None
    assignments: tuple[ComparedAssignments, ...] = ()
    events: tuple[dict[str, Any], ...] = ()
    loops: tuple[Loop, ...] = ()
    unowned_spans: tuple[tuple[str, int, int], ...] = ()
    bad_records_between: tuple[int | None, int | None] = (None, None)
    unreadable: str | None = None
    unreadable_since: int | None = None
    lag: GroupLag | None = None
    traffic: GroupTraffic | None = None
    tasks: GroupTasks | None = None
    costs: GroupCosts | None = None
    migration: Migration | None = None

    @property
    def is_stormy(self) -> bool:
        """True if the group has been in a rebalance storm."""
        return any(event["event"] == "storm" for event in self.events)

    def to_json(self) -> dict[str, object]:
        """Return the object that `assignor report --json` prints for the group, without its remarks and members."""
        return {
            "group": self.group,
            "kind": self.kind,
            "state": self.state,
            "protocol": self.protocol,
            "generation": self.generation,
            "members": self.members,
            "topics": self.topics,
            "partitions": self.partitions,
            "idle_members": self.idle_members,
            "range_generations": self.range_generations.counts(),
            "rebalances": self.rebalances,
            "busiest_minute": self.busiest_minute,
            "unowned": self.unowned,
            "least_loaded": self.least_loaded,
            "most_loaded": self.most_loaded,
            "bad_records": self.bad_records,
            "invalid_timestamps": self.invalid_timestamps,
            "assignments": [{"assignor": found.assignor, **found.compared.counts()} for found in self.assignments],
            "lag": None if self.lag is None else self.lag.to_json(),
            "traffic": None if self.traffic is None else self.traffic.to_json(),
            "tasks": None if self.tasks is None else self.tasks.to_json(),
            "cost": None if self.costs is None else self.costs.to_json(),
            "migration": None if self.migration is None else self.migration.summary(),
        }


@dataclass(frozen=True, slots=True)
class Remark:
    """Note on the assignment of one generation of a group under `range`.

    Attributes:
        group: Group id.
        generation: The generation.
        range: Outcome of the comparison: `equal`, `different` or `unknown`.
        text: The note.
        at: Time of the generation in milliseconds.
        of_class: Class of a generation that is not equal, see `assignor.spark.schemas.GENERATION`; None if it is equal.
    """

    group: str
    generation: int
    range: str
    text: str
    at: int | None = None
    of_class: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return the object that `assignor report --json` prints for the remark."""
        return {
            "generation": self.generation,
            "at": self.at,
            "range": self.range,
            "class": self.of_class,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class MemberReport:
    """Member and its partitions, as spans of (topic, first partition, count)."""

    group: str
    member_id: str
    group_instance_id: str | None
    client_id: str
    spans: tuple[tuple[str, int, int], ...]

    @property
    def name(self) -> str:
        """Instance id of a static member, else client id and first 8 characters of the member id's unique part."""
        if self.group_instance_id:
            return self.group_instance_id
        unique_part = self.member_id.removeprefix(f"{self.client_id}-")
        return f"{self.client_id} {unique_part[:8]}"

    def to_json(self) -> dict[str, object]:
        """Return the object that `assignor report --json` prints for the member."""
        return {
            "member_id": self.member_id,
            "group_instance_id": self.group_instance_id,
            "client_id": self.client_id,
            "spans": [{"topic": topic, "start": start, "count": count} for topic, start, count in self.spans],
        }


Entry = TypeVar("Entry", Remark, MemberReport)


def by_group(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Return the entries of each group."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.group, []).append(entry)
    return found
