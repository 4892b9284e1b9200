"""Parser of clusters and groups from rows."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assignor.errors import IllegalArgumentError, UnsupportedPatternError
from assignor.reference.fleet.assignor import assignor_of
from assignor.reference.fleet.cluster import Cluster, Partitions
from assignor.reference.fleet.owned import READS_OWNED, OwnedSpan
from assignor.reference.fleet.roster import RosterMember, by_id
from assignor.reference.matching.pattern import Pattern
from assignor.validation import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignor.reference.fleet.assignor import Assignor
    from assignor.reference.fleet.owned import Owned
    from assignor.reference.fleet.roster import Roster

Row = dict[str, Any]
"""Values of a row by column; a missing column counts as null."""

MAX_INT32 = 2**31 - 1
"""Largest partition id."""

TOPIC_ID_BYTES = 16
"""Size of a topic id in bytes."""


@dataclass(frozen=True)
class Group:
    """Group of a fleet.

    Attributes:
        name: The name of the group in error messages.
        group_id: The group id.
        cluster: The topics of its cluster.
        roster: Its members; sorted by id if their order has an effect.
        unnamed_members: The number of member rows that lack a cluster, a group id or a member id.
        assignor: The assignor that all members name; None if the group cannot be computed or has no members.
        not_computed: The reason why the group cannot be computed.
        owned: The partitions that its members own, if the assignor or a scenario starts from them.
    """

    name: str
    group_id: str
    cluster: Cluster
    roster: Roster
    unnamed_members: int
    assignor: Assignor | None = None
    not_computed: str | None = None
    owned: Owned = field(default_factory=list)


def read_clusters(rows: list[Row]) -> dict[str, Cluster]:
    """Parse clusters; return them by name."""
    found = {}
    for row in rows:
        name = row.get("cluster")
        if name is None:
            raise IllegalArgumentError("clusters: a cluster has no name")
        if name in found:
            raise IllegalArgumentError(f"cluster '{name}' is given twice")
        found[name] = Cluster(_read_topics(row.get("topics") or [], name))
    return found


def _read_topics(rows: list[Row | None], cluster: str) -> dict[str, Partitions]:
    topics: dict[str, Partitions] = {}
    twice = []
    names: dict[int, str] = {}
    for given in rows:
        row = given or {}
        topic, count, racks = row.get("topic"), row.get("partitions"), row.get("racks")
        if topic is None:
            raise IllegalArgumentError(f"cluster '{cluster}': a topic has no name")
        where = f"cluster '{cluster}', topic '{topic}'"
        if count is None or count < 0:
            raise IllegalArgumentError(f"{where}: partitions must be 0 or more, not {_shown(count)}")
        if racks is not None and len(racks) != count:
            raise IllegalArgumentError(
                f"{where}: racks are given for {len(racks)} partitions, but the topic has {count}"
            )
        on = tuple(frozenset(rack for rack in replicas or () if rack is not None) for replicas in racks or ())
        if topic in topics:
            twice.append(where)
        topic_id = None if row.get("topic_id") is None else _read_topic_id(row["topic_id"], where)
        if topic_id is not None and names.setdefault(topic_id, topic) != topic:
            raise IllegalArgumentError(f"{where}: topic '{names[topic_id]}' has the same topic_id '{row['topic_id']}'")
        topics[topic] = Partitions(count, on if any(on) else (), topic_id)
    if twice:
        raise IllegalArgumentError(f"{twice[0]}: the topic is given twice")
    return topics


def _read_topic_id(text: str, where: str) -> int:
    """Parse a topic id as Kafka prints it: 16 bytes in URL-safe base64 without padding."""
    try:
        data = base64.b64decode(f"{text}==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if base64.urlsafe_b64encode(data) != f"{text}==".encode() or len(data) != TOPIC_ID_BYTES:
        raise IllegalArgumentError(
            f"{where}: topic_id '{text}' must have Kafka's form: 22 characters of URL-safe base64"
        )
    return int.from_bytes(data)


def read_group(row: Row, clusters: Mapping[str, Cluster]) -> Group:
    """Parse a group; a group without a cluster or an id has no members.

    Raises:
        IllegalArgumentError: A row is invalid, or two rows have the same member id.
    """
    cluster, group_id, members = row.get("cluster"), row.get("group_id"), row.get("members") or []
    name = f"group '{group_id or ''}'" + (f" of cluster '{cluster}'" if cluster else "")
    topics = clusters.get(cluster or "", Cluster())
    if cluster is None or group_id is None:
        return Group(name, group_id or "", topics, [], len(members))
    named = [member for member in members if member and member.get("member_id") is not None]
    roster = [_read_member(member, topics, name) for member in named]
    assignor, not_computed = assignor_of(roster) if roster else (None, None)
    starts_from_owned = bool(roster) and (assignor is None or assignor in READS_OWNED)
    owned = read_current(row, name) if starts_from_owned else []
    if assignor in READS_OWNED or any(member.instance_id is not None for member in roster):
        # The order of these members has an effect, but the order of the rows is arbitrary.
        roster = by_id(roster)
    known = set()
    for member in roster:
        if member.id in known:
            raise IllegalArgumentError(f"{name}: member '{member.id}' is given twice")
        known.add(member.id)
    return Group(name, group_id, topics, roster, len(members) - len(named), assignor, not_computed, owned)


def _read_member(row: Row, cluster: Cluster, group: str) -> RosterMember:
    id = row["member_id"]
    owner = f"{group}: member '{id}'"
    topics, pattern = row.get("topics"), row.get("pattern")
    found = None
    if pattern is not None:
        if topics:
            raise IllegalArgumentError(f"{owner}: give topics or a pattern, not both: the pattern is '{pattern}'")
        found = _read_pattern(pattern, row.get("dialect"), owner)
        names = _matching(found, cluster, owner)
    else:
        names = _names(topics or [], owner)
    is_subscribed = any(given is not None for given in (topics, pattern))
    generation = row.get("generation")
    return RosterMember(
        id,
        row.get("group_instance_id"),
        row.get("rack"),
        names,
        found,
        is_subscribed,
        None if generation is None or generation < 0 else generation,
        row.get("assignor"),
        row.get("group_protocol"),
    )


def _read_pattern(pattern: str, dialect: str | None, owner: str) -> Pattern:
    dialect = "java" if dialect is None else dialect
    if dialect not in DIALECTS:
        known = ", ".join(f"'{name}'" for name in DIALECTS)
        raise IllegalArgumentError(f"{owner}: dialect must be one of {known}, not '{dialect}'")
    return Pattern(pattern, dialect, owner=owner)


def _matching(pattern: Pattern, cluster: Cluster, owner: str) -> frozenset[str]:
    try:
        return frozenset(cluster.matching(pattern))
    except UnsupportedPatternError as error:
        raise UnsupportedPatternError(error.reason, error.pattern, error.dialect, error.position, owner) from None


def _names(topics: list[str | None], owner: str) -> frozenset[str]:
    found = frozenset(topic for topic in topics if topic is not None)
    if None in topics:
        raise IllegalArgumentError(f"{owner}: a subscribed topic is null")
    return found


def read_current(row: Row, owner: str) -> Owned:
    """Parse the current assignment of a group; rows without a member or a topic are ignored."""
    if row.get("cluster") is None or row.get("group_id") is None:
        return []
    found = []
    for given in row.get("current") or []:
        held = given or {}
        member, topic, start, count = (held.get(column) for column in ("member_id", "topic", "start", "count"))
        if member is None or topic is None:
            continue
        if start is None or count is None or start < 0 or count <= 0 or start + count - 1 > MAX_INT32:
            reason = (
                f"start {_shown(start)} and count {_shown(count)} of topic '{topic}' are not a range of partition ids"
            )
            raise IllegalArgumentError(f"{owner}: member '{member}': {reason}")
        found.append((member, OwnedSpan(topic, start, count)))
    return found


def _shown(number: int | None) -> str:
    return "null" if number is None else str(number)
