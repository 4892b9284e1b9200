"""Findings of a report: the table of their kinds, and what a finding says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "info"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""Severities, the most severe first."""


class Kind(NamedTuple):
    """Kind of findings.

    Attributes:
        severity: `error`, `warning` or `info`.
        meaning: Meaning of such a finding, as text.
        needs_attention: True if the text report lists it under the groups that need attention.
    """

    severity: Severity
    meaning: str
    needs_attention: bool = True


KINDS = {
    "storm": Kind("error", "at least 20 rebalances with unchanged membership within a minute"),
    "rebalance_loop": Kind(
        "warning", "the group goes on rebalancing: the same members join again, or members leave and others join"
    ),
    "long_rebalance": Kind(
        "warning", "a rebalance of a live group lasts longer than the largest rebalance timeout of its members"
    ),
    "unowned": Kind("error", "partitions of subscribed topics have no owner"),
    "two_owners": Kind("error", "several members have the same partition: its records are consumed more than once"),
    "not_subscribed": Kind("warning", "members have partitions of topics that they do not subscribe to"),
    "unknown_partition": Kind("warning", "members have partitions that do not exist by the topic metadata"),
    "no_members": Kind("warning", "all members have left, and the lag has grown since"),
    "stuck": Kind(
        "warning",
        "members with regular commits stopped committing for at least 60 s, or until the end of the log, although "
        "records were waiting",
    ),
    "went_back": Kind("warning", "committed offsets went back: records may be consumed again"),
    "not_owned": Kind("warning", "offsets were committed for partitions that no member of the group owned"),
    "never_committed": Kind(
        "info", "partitions have had an owner for at least 60 s and have no committed offset", needs_attention=False
    ),
    "idle": Kind("info", "members have no partitions"),
    "skew": Kind(
        "warning",
        "a member owns at least twice the partitions of another, and the difference exceeds the number of topics",
    ),
    "uneven_traffic": Kind(
        "warning",
        "a member has at least 1.5 times the mean records per second, although members have similar numbers of "
        "partitions, and another assignment would be more even",
    ),
    "lag_growing": Kind("warning", "the lag grew for some time although the generation did not change"),
    "out_of_range": Kind("warning", "committed offsets are beyond the end or before the start of a partition's log"),
    "unreadable_group": Kind("warning", "the last group record cannot be decoded: state and members are not known"),
    "bad_records": Kind("warning", "records of the group cannot be decoded"),
    "invalid_timestamps": Kind("warning", "records of the group have timestamps that are not between 1970 and 9999"),
    "different": Kind("warning", "assignments differ from those of Kafka's assignor", needs_attention=False),
    "unreadable": Kind(
        "warning",
        "assignments are not compared, because the bytes of a member cannot be decoded",
        needs_attention=False,
    ),
    "note": Kind(
        "info",
        "assignments that equal Kafka's, with a remark; that differ because of other topic metadata, or were "
        "corrected within seconds; or that are not compared, because the topic metadata lacks a topic or the log does "
        "not determine the assignor's answer",
        needs_attention=False,
    ),
}
"""Kinds of findings by name, in the order in which the findings about a group are listed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Finding about a group.

    Attributes:
        kind: A key of `KINDS`.
        since: Time in milliseconds at which it began; None if not known.
        until: Time in milliseconds at which it ended; None if it has not ended at the end of the log, or if the time is
            not known.
        group: Group id.
        text: The finding, as in the text report.
        evidence: Facts that support it.
    """

    kind: str
    since: int | None
    until: int | None
    group: str
    text: str
    evidence: str

    @property
    def severity(self) -> Severity:
        """`error`, `warning` or `info`."""
        return KINDS[self.kind].severity

    def to_json(self) -> dict[str, object]:
        """Return the object that `assignor report --json` prints for the finding."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "since": self.since,
            "until": self.until,
            "group": self.group,
            "text": self.text,
            "evidence": self.evidence,
        }
