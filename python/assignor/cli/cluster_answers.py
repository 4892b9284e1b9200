"""Answers about the groups of a recording or a live cluster, as an assistant asks for them: data of a bounded size.

Each answer calls the function of the library that the command with this name calls.
"""

from __future__ import annotations

import contextlib
import difflib
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignor.cli import what_if
from assignor.cli.bounded import bounded
from assignor.cli.inputs import GroupInput
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.names import MEMBERS_ASSIGNORS
from assignor.page.what_if import subscription_of
from assignor.replay.final_group import read_final_group
from assignor.validation import check_name, shown

with dependency("pyarrow"):
    import pyarrow.compute as pc
    from pyarrow.dataset import dataset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from assignor.cluster import Recording
    from assignor.cluster.cluster_description import ClusterDescription
    from assignor.cluster.connection import ClientSettings
    from assignor.names import Dialect
    from assignor.page.data import MemberRow, PageData

Row = dict[str, Any]

REBALANCES = 10
"""Number of rebalances in an answer: the last ones."""

_NAMES = 20
"""Number of groups in the error about an unknown group: those with the most similar names."""

_EVENT_FIELDS = ("generation", "at", "causes", "evidence", "joined", "left", "replaced", "moved", "unowned")


@dataclass(frozen=True)
class ClusterView:
    """What is known of a cluster at one time.

    Attributes:
        data: Groups, findings, members and topics.
        source: Name of the recording, or the address of the cluster.
        events: Folder with the events of a recording; None for a live cluster, whose past is not known.
        recording: The recording; None for a live cluster.
        described: Description and topic metadata of a live cluster; None for a recording.
    """

    data: PageData
    source: str
    events: Path | None
    recording: Recording | None = None
    described: tuple[ClusterDescription, pa.RecordBatch] | None = None

    def group(self, name: str) -> Mapping[str, Any]:
        """Return a group as in `report.json`.

        Raises:
            IllegalArgumentError: There is no such group; the message has similar names.
        """
        groups = {row["group"]: row for row in self.data.groups}
        if check_name(name, "group") not in groups:
            near = difflib.get_close_matches(name, groups, _NAMES, cutoff=0.3)
            names = ", ".join(map(shown, [*near, *sorted(groups.keys() - set(near))][:_NAMES])) or "none"
            raise IllegalArgumentError(f"{self.source} has no group {shown(name)}; its {len(groups):,} groups: {names}")
        return groups[name]

    def members(self, name: str) -> list[MemberRow]:
        """Return the members of a group at the end."""
        return list(self.data.members([name]))


@dataclass
class ClusterAnswers(contextlib.ExitStack):
    """Answers about one recording or live cluster.

    A recording is read at the first question, and a live cluster at each. Use it as a context manager.

    Args:
        paths: Paths of a recording, or of what `assignor report` accepts in its place; empty for a live cluster.
        settings: Settings of the clients of a live cluster.
    """

    paths: Sequence[str] = ()
    settings: ClientSettings | None = None
    _recorded: ClusterView | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        super().__init__()

    def explain_group(self, group: str) -> Row:
        """Return state, members, lag, findings and the last rebalances of a group, with causes and evidence."""
        view = self._view([group])
        found = dict(view.group(group))
        answer = {
            "source": view.source,
            "group": found,
            "findings": [row for row in view.data.findings if row["group"] == group],
            "last_rebalances": None if view.events is None else _last_rebalances(view.events, group),
            "notes": list(view.data.notes),
        }
        return bounded(answer)

    def what_if(self, group: str, steps: Sequence[str]) -> Row:
        """Return the balance of a group, and what some steps change."""
        view = self._view([group])
        given = _input(view, group)
        scenarios = what_if.scenarios_of(given, {"with these steps": list(steps)})
        return bounded({"source": view.source, "group": group, "outcomes": what_if.outcomes(given, scenarios)})

    def scale(self, group: str, max_members: int | None = None) -> Row:
        """Return a group with 1, 2, 3, ... members, by number of members; of a recording also by its traffic."""
        from assignor.scaling import scale

        view = self._view([group])
        given = _input(view, group)
        weights = None if view.recording is None else read_final_group(view.recording, group).weights()
        found = scale(
            given.partitions_per_topic,
            given.subscriptions,
            max_members=max_members,
            weights=weights or None,
            group=group,
            **given.settings,
        )
        return bounded({"source": view.source, "group": group, **found.to_json()})

    def can_migrate(self, group: str) -> Row:
        """Return whether a classic group can move to KIP-848, who blocks it, and what changes."""
        from assignor.cluster.classic_groups import described_groups, last_topics, recorded_groups
        from assignor.migration import BrokerSettings, migrate

        view = self._view([group])
        kind = view.group(group)["kind"]
        settings, notes = BrokerSettings(), list(view.data.notes)
        if view.recording is not None:
            groups, topics = recorded_groups(view.recording)
        elif view.described is not None and self.settings is not None:
            from assignor.cluster.broker_settings import read_broker_settings

            description, metadata = view.described
            groups, topics = described_groups(description), last_topics(metadata)
            settings, unread = read_broker_settings(self.settings, self.settings.admin())
            notes += unread
        chosen = [each for each in groups if each.group_id == group]
        if not chosen:
            raise IllegalArgumentError(f"group {shown(group)} is {kind}; only classic groups can move")
        (found,) = migrate(chosen, topics, settings=settings)
        return bounded({"source": view.source, "settings": settings.to_json(), "notes": notes, **found.to_json()})

    def match_pattern(self, pattern: str, dialect: Dialect = "java") -> Row:
        """Return the topics that a pattern matches, and an explanation of the pattern."""
        from assignor import explain_pattern, match_topics

        view = self._view([])
        topics = list(view.data.topics or ())
        found = match_topics(pattern, topics, dialect=dialect)
        explained = str(explain_pattern(pattern, dialect, topics))
        return bounded(
            {
                "source": view.source,
                "number_of_topics": len(topics),
                "number_of_matches": len(found),
                "matches": found,
                "explanation": explained,
            }
        )

    def _view(self, groups: list[str]) -> ClusterView:
        with self._lock:
            if self.settings is not None:
                return _described(self.settings, groups)
            if self._recorded is None:
                self._recorded = _read(self.paths, self)
            return self._recorded


def _read(paths: Sequence[str], stack: contextlib.ExitStack) -> ClusterView:
    """Read a recording; its tables are in a temporary folder until the stack is closed."""
    from assignor.page.report_data import page_data
    from assignor.report import local
    from assignor.report.summary import summarize
    from assignor.sources.source import open_source

    recording = stack.enter_context(open_source(paths))
    part = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assignor-")))
    local.write_tables(recording, part)
    return ClusterView(page_data(recording, summarize(recording, part), part), str(paths[0]), part, recording)


def _described(settings: ClientSettings, groups: list[str]) -> ClusterView:
    """Describe groups of a live cluster; none for an empty list."""
    from assignor.cluster.description import describe
    from assignor.cluster.topics import topic_rows
    from assignor.cluster.written_times import local_ms
    from assignor.page.described_data import described_page
    from assignor.report.described import report_of

    admin, at = settings.admin(), local_ms()
    # A name is chosen after the read, so that characters of patterns in it have no meaning and similar names are known.
    description = describe(settings, admin=admin, groups=groups and ["*"])
    topics = topic_rows(settings, admin, local_ms())
    report = report_of(description, topics, at)
    page = described_page(settings.address, report, description, topics)
    return ClusterView(page, settings.address, None, described=(description, topics))


def _last_rebalances(part: Path, group: str) -> list[Row]:
    """Return the last rebalances of a group, the latest first."""
    is_wanted = (pc.field("group") == group) & (pc.field("event") == "rebalance")
    rows = dataset(part / "events", format="parquet").to_table(filter=is_wanted).to_pylist()
    rows.sort(key=lambda row: (row["at"], row["offset"]))
    return [{name: row[name] for name in _EVENT_FIELDS} for row in rows[::-1][:REBALANCES]]


def _input(view: ClusterView, name: str) -> GroupInput:
    """Return a group as the input of `assignor what-if`.

    Raises:
        IllegalArgumentError: The group has no members, or what-if does not know its assignor.
    """
    group, members = view.group(name), view.members(name)
    kind, assignor = group["kind"], group["protocol"]
    place = f"group {shown(name)}"
    if not members:
        raise IllegalArgumentError(f"{place} has no members at the end of {view.source}: there is nothing to assign")
    if assignor not in MEMBERS_ASSIGNORS.get(kind, ()):
        known = "; ".join(f"{each}: {', '.join(names)}" for each, names in MEMBERS_ASSIGNORS.items())
        raise IllegalArgumentError(f"{place} is {kind} with assignor {shown(assignor)}; what-if knows {known}")
    subscriptions = {member.member_id: subscription_of(member, group) for member in members}
    topics = dict(view.data.topics or {})
    if not any(found.patterns for found in subscriptions.values()):
        named = {topic for found in subscriptions.values() for topic in found.topics}
        topics = {topic: partitions for topic, partitions in topics.items() if topic in named}
    return GroupInput(place, topics, subscriptions, {"assignor": assignor, "group_protocol": kind})
