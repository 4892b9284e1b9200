"""Report on the groups of a recording, as data and as JSON. `text.render` is its form for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assignor.report.group_findings import findings_of
from assignor.report.group_report import by_group

if TYPE_CHECKING:
    from assignor.replay.coordinator_moves import BrokerHistory
    from assignor.replay.logged_events import LogComparison
    from assignor.replay.silences import Silence
    from assignor.report.findings import Finding
    from assignor.report.group_report import GroupReport, MemberReport, Remark

MOST_GROUPS_WITH_MEMBERS = 60
"""Largest number of groups for which the report lists members and their partitions; the Parquet files always do."""

NO_TOPICS = (
    "there is no topic metadata (topics.parquet): assignments are not compared with Kafka's, partitions without an "
    "owner are not known, and topics that the log names by id have no names"
)
"""What a report on a recording without topic metadata lacks."""


LOG, ADMIN = "log", "admin"
"""What a report is made of: the records of a log, or one description of a cluster by an Admin client."""

NO_LOG = (
    "this report is made of one description of the cluster by an Admin client: it has the present members, owners and "
    "lag, and no generations, rebalances, storms, stuck members or comparisons"
)
"""What a report without a log lacks."""

_OF_LOG = ("records", "records_by_type", "bad_records", "invalid_timestamps", "duplicates", "silences")
_GROUP_OF_LOG = (
    *("generation", "range_generations", "rebalances", "busiest_minute", "bad_records", "invalid_timestamps"),
    *("assignments", "remarks", "tasks", "cost"),
)
_GROUP_OF_MEMBERS = (
    *("members", "topics", "partitions", "idle_members", "unowned", "least_loaded", "most_loaded", "assigned"),
)
"""Keys that are null in JSON if they are not known."""


@dataclass(frozen=True, slots=True)
class Report:
    """Report on the groups of a recording.

    Attributes:
        records: Number of records, including those of aborted transactions and duplicates.
        records_by_type: Record type to number of (values, tombstones).
        bad_records: Number of records that cannot be decoded.
        groups: The groups, sorted by name.
        remarks: Notes on generations under `range`.
        members: The members at the end of the log; empty for more than `MOST_GROUPS_WITH_MEMBERS` groups.
        duplicates: Number of records that are copies of others: replicas, or files that were copied twice.
        has_topics: False if there is no topic metadata, so that assignments are not compared.
        share_lag_unknown: Why the lag of share groups is not known; None if it is, or without share groups.
        silences: Silences of the log, by time.
        since: Time in milliseconds; findings that ended before it are left out. None for no limit.
        notes: What a recording lacks that was converted from other files, or what a description has only estimated.
        mode: `LOG`, or `ADMIN` for a report without a log. What only a log has is then null in JSON.
        undescribed: Of a report without a log: ids of the groups whose members or owners are not known.
        problems: Of a report without a log: group id, or "" for the cluster, and what could not be read.
        broker_log: Causes that brokers logged, compared with those of the records; None without a log of the brokers.
        brokers: Moves of coordinators and outages of brokers; None if the recording has no history of them.
    """

    records: int
    records_by_type: dict[int, tuple[int, int]]
    bad_records: int
    groups: tuple[GroupReport, ...]
    remarks: tuple[Remark, ...]
    members: tuple[MemberReport, ...]
    duplicates: int = 0
    has_topics: bool = True
    share_lag_unknown: str | None = None
    silences: tuple[Silence, ...] = ()
    since: int | None = None
    notes: tuple[str, ...] = ()
    mode: str = LOG
    undescribed: frozenset[str] = frozenset()
    problems: tuple[tuple[str, str], ...] = ()
    broker_log: LogComparison | None = None
    brokers: BrokerHistory | None = None

    @property
    def invalid_timestamps(self) -> int:
        """Number of records of the groups whose timestamp is not between 1970 and 9999; copies count once."""
        return sum(group.invalid_timestamps for group in self.groups)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `assignor report --json` prints."""
        remarks, members = by_group(self.remarks), by_group(self.members)
        has_members = len(self.groups) <= MOST_GROUPS_WITH_MEMBERS
        found: dict[str, Any] = {
            "records": self.records,
            "records_by_type": {
                str(number): {"values": values, "tombstones": tombstones}
                for number, (values, tombstones) in sorted(self.records_by_type.items())
            },
            "bad_records": self.bad_records,
            "invalid_timestamps": self.invalid_timestamps,
            "duplicates": self.duplicates,
            **({"notes": list(self.notes)} if self.notes else {}),
            "share_lag_unknown": self.share_lag_unknown,
            "silences": [silence.to_json() for silence in self.silences],
            "since": self.since,
            "broker_log": None if self.broker_log is None else self.broker_log.to_json(),
            "brokers": None if self.brokers is None else self.brokers.to_json(),
            "groups": [
                {
                    **group.to_json(),
                    "remarks": [remark.to_json() for remark in remarks.get(group.group, ())],
                    "assigned": [member.to_json() for member in members.get(group.group, ())] if has_members else None,
                }
                for group in self.groups
            ],
            "findings": [finding.to_json() for finding in self.findings()],
            "mode": self.mode,
        }
        if self.mode == ADMIN:
            found.update(dict.fromkeys(_OF_LOG))
            found["problems"] = [{"group": group or None, "problem": problem} for group, problem in self.problems]
            for group in found["groups"]:
                group.update(dict.fromkeys(_GROUP_OF_LOG))
                if group["group"] in self.undescribed:
                    group.update(dict.fromkeys(_GROUP_OF_MEMBERS))
        return found

    def findings(self) -> list[Finding]:
        """Return the findings, by group, without those that ended before `since`."""
        remarks = by_group(self.remarks)
        found = [found for group in self.groups for found in findings_of(group, remarks.get(group.group, []))]
        return [each for each in found if self.since is None or each.until is None or each.until >= self.since]
