"""Report on the groups of a recording, as data and as JSON."""

from __future__ import annotations

from dataclasses import dataclass

STORM = 20
"""A group with at least this number of rebalances with unchanged membership within a minute is in a rebalance storm."""

MOST_GROUPS_WITH_MEMBERS = 60
"""For a fleet of more groups the report does not say who has what; the Parquet output does."""


@dataclass(frozen=True, slots=True)
class RangeGenerations:
    """How a group's generations under `range` compare with what the range rules give.

    Attributes:
        checked: How many could be compared.
        equal: How many of those are equal.
        unknown: How many could not, because a member's bytes cannot be read.
    """

    checked: int = 0
    equal: int = 0
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class ComparedAssignments:
    """Comparison of a group's generations and epochs under an assignor other than `range` with that assignor's answers.

    Attributes:
        assignor: Kafka's name of the assignor.
        checked: The number of compared generations and epochs.
        equal: The number of those that are equal.
        reason: Why the first different one differs; None if all are equal.
    """

    assignor: str
    checked: int
    equal: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group at the end of the log.

    Attributes:
        group: Its name.
        kind: `classic`, `consumer`, `share`, `streams`, or `offsets` for a name that only has offsets.
        state: Kafka's name for the state, or `gone`.
        protocol: The assignor in use; None where there is none or the log does not say.
        generation: The last generation or group epoch.
        members: How many members.
        topics: How many topics they have partitions of.
        partitions: How many partitions they have.
        unowned: Partitions of the subscribed topics that no member owns; None if that is not known.
        idle_members: Members without a partition.
        least_loaded: Partitions of the member that has fewest; None without members.
        most_loaded: Partitions of the member that has most.
        range_generations: The comparison.
        rebalances: How many new generations or epochs the log has.
        busiest_minute: The most rebalances within a minute that changed no member.
        bad_records: Records of the group that could not be decoded.
        assignments: The comparison of assignors other than `range` of the classic protocol.
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
    range_generations: RangeGenerations
    rebalances: int
    busiest_minute: int
    bad_records: int
    assignments: tuple[ComparedAssignments, ...] = ()

    @property
    def stormy(self) -> bool:
        """Whether the group rebalances over and over without a member coming or going."""
        return self.busiest_minute >= STORM

    def to_json(self) -> dict[str, object]:
        """The group as `assignor report --json` prints it."""
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
            "range_generations": {
                "checked": self.range_generations.checked,
                "equal": self.range_generations.equal,
                "unknown": self.range_generations.unknown,
            },
        }


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know about one generation of a group."""

    group: str
    generation: int
    range: str
    text: str


@dataclass(frozen=True, slots=True)
class MemberReport:
    """A member and what it has: topic to runs of (first id, count)."""

    group: str
    member_id: str
    group_instance_id: str | None
    client_id: str
    spans: tuple[tuple[str, int, int], ...]

    @property
    def name(self) -> str:
        """What people know it by: its instance id, else its client id with the beginning of what is unique to it."""
        if self.group_instance_id:
            return self.group_instance_id
        unique = self.member_id.removeprefix(f"{self.client_id}-")
        return f"{self.client_id} {unique[:8]}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a recording says.

    Attributes:
        records: How many records it has, those of aborted transactions too.
        records_by_type: Record type to (values, tombstones).
        bad_records: How many could not be decoded.
        groups: The groups, by name.
        remarks: What there is to know about their range generations.
        members: The members at the end of the log; left out for a fleet of more than 60 groups.
    """

    records: int
    records_by_type: dict[int, tuple[int, int]]
    bad_records: int
    groups: tuple[GroupReport, ...]
    remarks: tuple[Remark, ...]
    members: tuple[MemberReport, ...]

    def to_json(self) -> dict[str, object]:
        """The object that `assignor report --json` prints."""
        return {
            "records": self.records,
            "records_by_type": {
                str(number): {"values": values, "tombstones": tombstones}
                for number, (values, tombstones) in sorted(self.records_by_type.items())
            },
            "bad_records": self.bad_records,
            "groups": [group.to_json() for group in self.groups],
        }

    def to_text(self, *, colour: bool = False, width: int | None = None) -> str:
        """Render the report as text: a table of groups, what stands out, the members' partitions, totals.

        Args:
            colour: Colour rebalance storms and groups that are gone.
            width: Columns of the terminal: the table leaves out the least important columns, and long lines are
                wrapped; None for no limit.

        Raises:
            MissingDependencyError: rich is missing.
        """
        from assignor.recording.text import render

        return render(self, colour=colour, width=width)
