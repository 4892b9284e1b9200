"""Input of a page: events and rows of a report as plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assignor.validation import check_name, read_entries, read_int, wrong_type

Row = dict[str, Any]
"""Row of a table: column to value. Times are in milliseconds since 1970, in UTC."""


@dataclass(frozen=True, slots=True)
class MemberRow:
    """Member of a group at the end, with its subscription and its partitions.

    Attributes:
        group: Group id.
        member_id: Member id.
        instance_id: Instance id of a static member.
        client_id: Client id.
        client_host: Host of the client.
        rack: Rack of the member.
        topics: Subscribed topics.
        pattern: Subscribed pattern, or None.
        spans: The partitions, as spans of (topic, first partition, count).
    """

    group: str
    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rack: str | None = None
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    spans: tuple[tuple[str, int, int], ...] = ()

    @property
    def name(self) -> str:
        """Instance id of a static member, else client id and first 8 characters of the member id's unique part."""
        if self.instance_id:
            return self.instance_id
        unique_part = self.member_id.removeprefix(f"{self.client_id}-")[:8]
        return f"{self.client_id} {unique_part}" if self.client_id else self.member_id

    @property
    def partitions(self) -> int:
        """Number of partitions of the member."""
        return sum(count for _, _, count in self.spans)


def member_rows(members: Iterable[Mapping[str, Any]], spans: Iterable[Mapping[str, Any]]) -> Iterator[MemberRow]:
    """Yield members from rows of the tables `members` and `assignments` of a report."""
    owned: dict[tuple[str, str], list[tuple[str, int, int]]] = {}
    for row in spans:
        owned.setdefault((row["group_id"], row["member_id"]), []).append((row["topic"], row["start"], row["count"]))
    for row in members:
        yield MemberRow(
            group=row["group_id"],
            member_id=row["member_id"],
            instance_id=row["group_instance_id"],
            client_id=row["client_id"] or "",
            client_host=row["client_host"] or "",
            rack=row["rack"],
            topics=tuple(row["topics"] or ()),
            pattern=row["pattern"],
            spans=tuple(sorted(owned.get((row["group_id"], row["member_id"]), ()))),
        )


def _no_members(_groups: Sequence[str]) -> Iterable[MemberRow]:
    return ()


@dataclass(frozen=True, slots=True)
class PageData:
    """What a page shows.

    Attributes:
        title: Name of the recording or the cluster.
        events: Events as `assignor replay --json` prints them, each group in the order of its log, and silences of
            the log. The page reads them once.
        records: Number of records that were read; None if not known.
        since: Time of the first record; None for that of the first event.
        until: Time of the last record; None for that of the last event.
        groups: Groups as in `report.json`.
        findings: Findings as in `report.json`.
        notes: Sentences on what is not known, for example without topic metadata.
        members: Function that returns the members of the given groups at the end.
        topics: Partitions of the topics at the end, as `assignor.plan` accepts them.
        lag: Function that returns the lag of the given groups, a row per partition with group, topic, partition,
            member_id, committed, end_offset, lag and problem, as `assignor.lag.partition_lag`; None if the end offsets
            are not known.
        lag_over_time: Function that returns the lag of the given groups at some times, a row per group and time with
            group, at and lag (None if unknown); None if the end offsets are not known.

    Raises:
        WrongTypeError: A value has another type.
        IllegalArgumentError: A time does not fit in 64 bits, or UTF-8 cannot encode the title or a note.
    """

    title: str
    events: Iterable[Mapping[str, Any]]
    records: int | None = None
    since: int | None = None
    until: int | None = None
    groups: Sequence[Mapping[str, Any]] = ()
    findings: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()
    members: Callable[[Sequence[str]], Iterable[MemberRow]] = _no_members
    topics: Mapping[str, Any] | None = None
    lag: Callable[[Sequence[str]], Iterable[Mapping[str, Any]]] | None = None
    lag_over_time: Callable[[Sequence[str]], Iterable[Mapping[str, Any]]] | None = None

    def __post_init__(self) -> None:
        check_name(self.title, "title")
        for name in ("records", "since", "until"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, read_int(value, name, bits=64))
        object.__setattr__(self, "groups", tuple(read_rows(self.groups, "groups", "group")))
        object.__setattr__(self, "findings", tuple(read_rows(self.findings, "findings", "severity")))
        notes = read_entries(self.notes, "notes", "an iterable of str")
        object.__setattr__(self, "notes", tuple(check_name(note, "notes: a note") for note in notes))
        if self.topics is not None and not isinstance(self.topics, Mapping):
            raise wrong_type("topics", "a mapping or None", self.topics)


class Live(NamedTuple):
    """How a browser gets a newer page: it asks for the path `version`, and loads the page again if that is new.

    Attributes:
        version: Time of the state that the page shows, in milliseconds, as text.
        seconds: Time between two questions.
    """

    version: str
    seconds: float


def read_rows(rows: object, what: str, key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of an iterable, which are mappings with a key.

    Raises:
        WrongTypeError: The value is no iterable, or an entry is no mapping or lacks the key.
    """
    for number, row in enumerate(read_entries(rows, what, "an iterable of rows")):
        if not isinstance(row, Mapping) or key not in row:
            raise wrong_type(f"{what}: row {number}", f"a mapping with {key}", row)
        yield row
