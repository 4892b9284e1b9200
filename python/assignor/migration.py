"""`migrate`: whether classic groups can move to the protocol of KIP-848, what blocks them, and what changes if they do.

The rules are those of Kafka's group coordinator in versions 4.0 to 4.4. A broker turns a classic group into one of
KIP-848 when the first member with `group.protocol=consumer` joins it, or rejects that member. The numbers are those of
the broker's assignor, which starts from the partitions that the members own today.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from assignor import _core
from assignor.classic_group import ClassicGroup, ClassicMember, classic_member
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.migration_settings import DEFAULTS, BrokerSettings
from assignor.validation import (
    check_name,
    read_bool,
    read_entries,
    read_items,
    read_names,
    read_patterns,
    shown,
    wrong_type,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assignor.weights import Weights

__all__ = [
    "DEFAULTS",
    "Blocker",
    "BrokerSettings",
    "ClassicGroup",
    "ClassicMember",
    "ClientCount",
    "LaterMoves",
    "Migration",
    "Placement",
    "Verdict",
    "classic_member",
    "migrate",
]

Verdict = Literal["online", "offline only", "not yet"]
"""Answers: members can be replaced one after another; all must stop first; something must change first."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """Obstacle: its kind, the verdict that follows from it, a sentence, and the members that block (may be empty)."""

    kind: str
    verdict: Verdict
    reason: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClientCount:
    """Members with the same client: library, version, whether it has the protocol, and their number.

    `support` is `yes`, `no`, `unknown`, `after an upgrade` if the version is too old, or `in newer versions` if it is
    not visible.
    """

    library: str | None
    version: str | None
    support: str
    members: int


@dataclass(frozen=True, slots=True)
class Placement:
    """How the partitions of a group are placed.

    Attributes:
        partitions: Number of owned partitions.
        idle: Members without partitions, in Kafka's order.
        least_loaded: Partitions of the least loaded member; None without members.
        most_loaded: Partitions of the most loaded member; None without members.
        rack_misses: Partitions without a replica on the rack of their owner.
        co_partition_breaks: Partition ids with different owners in topics with equal numbers of partitions.
        unweighted: Partitions of subscribed topics whose weight is unknown; None without weights.
        least_weight: Lowest sum of the weights of a member's partitions; None without weights, or if one is unknown,
            like the following fields.
        most_weight: Highest sum of the weights of a member's partitions.
        mean_weight: Mean of these sums.
        weight_bound: `most_weight` cannot be lower with these members, whatever assigns.
        packed_weight: `most_weight` if the heaviest partitions are given first, each to the least loaded member.
    """

    partitions: int
    idle: tuple[str, ...]
    least_loaded: int | None
    most_loaded: int | None
    rack_misses: int
    co_partition_breaks: int
    unweighted: int | None = None
    least_weight: float | None = None
    most_weight: float | None = None
    mean_weight: float | None = None
    weight_bound: float | None = None
    packed_weight: float | None = None


@dataclass(frozen=True, slots=True)
class LaterMoves:
    """Partitions that move when a member joins, when one leaves, and when all restart one after another."""

    join: int
    leave: int
    restart: int


@dataclass(frozen=True, slots=True)
class Migration:
    """Answer for a classic group.

    Attributes:
        group: The group id.
        verdict: One of `Verdict`; None if the group cannot be judged.
        reason: One sentence.
        path: How to move; None if the verdict is `not yet` or None.
        assignor: The broker's assignor after the switch.
        nearest: The broker's assignor that is nearest to the one of today; None if today's is not known.
        members: Number of members; None if the group cannot be judged.
        blockers: All obstacles, the strongest first.
        clients: The clients of the members, the most frequent first.
        notes: Sentences on what else changes.
        unknown: Sentences on what the verdict does not consider, because it is not known.
        moved: Partitions that get another owner at the switch, if all members switch at once; None if not known.
        before: The partitions before the switch; None if the group cannot be judged.
        after: The partitions after it; None if they cannot be computed.
        problem: Why there are no numbers; else None.
        rolling: Partitions that move while members are replaced one after another; None if not asked for or not known.
        later_today: Later moves with the assignor of today; None if not asked for or not computed.
        later: Later moves with the broker's assignor; None if not asked for or not computed.
        pattern_changes: What patterns mean after the switch, as in `Fleet.what_if`.
    """

    group: str
    verdict: Verdict | None
    reason: str
    path: str | None = None
    assignor: str | None = None
    nearest: str | None = None
    members: int | None = None
    blockers: tuple[Blocker, ...] = ()
    clients: tuple[ClientCount, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    moved: int | None = None
    before: Placement | None = None
    after: Placement | None = None
    problem: str | None = None
    rolling: int | None = None
    later_today: LaterMoves | None = None
    later: LaterMoves | None = None
    pattern_changes: tuple[dict[str, Any], ...] = field(default=())

    def to_json(self) -> dict[str, object]:
        """Return the object that `assignor migrate --json` prints for the group."""
        return {name: _json(getattr(self, name)) for name in self.__slots__}

    def summary(self) -> dict[str, object]:
        """Return the part of `to_json` that a report has: verdict, reason, path, blocking members and moves."""
        names = ("verdict", "reason", "path", "moved")
        return {**{name: getattr(self, name) for name in names}, "blocking": list(self.blocking)}

    @property
    def blocking(self) -> tuple[str, ...]:
        """Ids of all members that block, without duplicates."""
        return tuple(dict.fromkeys(member for blocker in self.blockers for member in blocker.members))


def migrate(
    groups: Iterable[ClassicGroup],
    topics: Iterable[Mapping[str, Any]],
    *,
    settings: BrokerSettings | None = None,
    later: bool = True,
) -> tuple[Migration, ...]:
    """Return the answer for each classic group, in the order of the groups.

    Args:
        groups: The groups.
        topics: The topics of their cluster: mappings with `topic`, `partitions` (their number), and optionally `racks`
            (the racks of each partition), `topic_id` and `weights` (the weight of each partition for groups without
            weights of their own), as the rows of `assignor.spark.schemas.TOPICS`.
        settings: Settings of the brokers; Kafka's defaults if they are None.
        later: Whether to compute later moves and the moves of a rolling replacement, which takes most of the time.

    Raises:
        WrongTypeError: An argument has another type.
        IllegalArgumentError: A value is invalid, such as a member that is given twice; the message names the group.

    Example:
        >>> members = (
        ...     ClassicMember("consumer-billing-1-x", ("orders",), (("orders", 0, 3),), library="java"),
        ...     ClassicMember("consumer-billing-2-y", ("orders",), (("orders", 3, 1),), library="java"),
        ... )
        >>> topics = [{"topic": "orders", "partitions": 4}]
        >>> (found,) = migrate([ClassicGroup("billing", members, "range", "consumer")], topics)
        >>> found.verdict, found.moved, found.after.most_loaded
        ('online', 1, 2)
    """
    rules = settings if settings is not None else BrokerSettings()
    if not isinstance(rules, BrokerSettings):
        raise wrong_type("settings", "a BrokerSettings", settings)
    read_bool(later, "later")
    given = []
    for group in read_entries(groups, "groups", "an iterable of ClassicGroup"):
        if not isinstance(group, ClassicGroup):
            raise wrong_type("a group", "a ClassicGroup", group)
        check_name(group.group_id, "a group id")
        read_bool(group.has_owners, f"group {shown(group.group_id)}: has_owners")
        for member in read_entries(group.members, f"group {shown(group.group_id)}: members", "an iterable of members"):
            if not isinstance(member, ClassicMember):
                raise wrong_type(f"group {shown(group.group_id)}: a member", "a ClassicMember", member)
            check_name(member.member_id, f"group {shown(group.group_id)}: a member id")
        given.append(group)
    judged = [group for group in given if group.problem is None]
    found = iter(_computed(judged, topics, rules, later=later))
    return tuple(
        Migration(group.group_id, None, group.problem, unknown=group.unknown)
        if group.problem is not None
        else replace(next(found), unknown=group.unknown)
        for group in given
    )


_TOPIC_FIELDS = ("topic", "partitions", "racks", "topic_id", "weights")


def _computed(
    groups: list[ClassicGroup], topics: Iterable[Mapping[str, Any]], rules: BrokerSettings, *, later: bool
) -> list[Migration]:
    """Return the answers for groups; those with weights have topics of their own."""
    rows = []
    for row in read_entries(topics, "topics", "an iterable of topics"):
        if not isinstance(row, Mapping):
            raise wrong_type("a topic", "a mapping with topic and partitions", row)
        rows.append({name: row.get(name) for name in _TOPIC_FIELDS})
    if not groups:
        return []
    plain = [group for group in groups if group.weights is None]
    found = iter(_answers(plain, rows, rules, later=later))
    return [
        next(found)
        if group.weights is None
        else _answers([group], _weighted(group, group.weights, rows), rules, later=later)[0]
        for group in groups
    ]


def _weighted(group: ClassicGroup, weights: Weights, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the topics that a group can use, with its weights."""
    from assignor.single_group import add_weights

    chosen = rows
    if isinstance(weights, Mapping) and not any(member.pattern for member in group.members):
        names = group.topics()
        names |= {key[0] if isinstance(key, tuple) and key else key for key, _ in read_items(weights, "weights")}
        chosen = [row for row in rows if row["topic"] in names]
    try:
        return add_weights([dict(row) for row in chosen], weights)
    except (IllegalArgumentError, WrongTypeError) as error:
        raise type(error)(f"group {shown(group.group_id)}: {error}") from error


def _answers(
    groups: list[ClassicGroup], topics: Sequence[Mapping[str, Any]], rules: BrokerSettings, *, later: bool
) -> list[Migration]:
    with dependency("pyarrow"):
        import pyarrow as pa
    from assignor.single_group import CLUSTERS

    text, number = pa.string(), pa.int32()
    texts = pa.list_(text)
    member = {"member_id": text, "group_instance_id": text, "rack": text, "topics": texts, "pattern": texts}
    member |= dict.fromkeys(
        ("dialect", "assignor", "library", "library_version", "conversion_problem", "protocol_type"), text
    )
    member["generation"] = number
    span = {"member_id": text, "topic": text, "start": number, "count": number}
    group_type = {"cluster": text, "group_id": text, "protocol_type": text}
    group_type |= {"members": pa.list_(pa.struct(member)), "current": pa.list_(pa.struct(span))}
    try:
        engine = _core.Clusters(pa.array([[{"cluster": "", "topics": topics}]], CLUSTERS))
        column = pa.array([_row(group) for group in groups], pa.struct(group_type))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, (IllegalArgumentError, WrongTypeError)):
            raise
        kind = WrongTypeError if isinstance(error, TypeError) else IllegalArgumentError
        raise kind(f"groups and topics cannot be read: {error}") from error
    parts = engine.migrate(column, rules.rules(), later=later)
    answers = [answer for part in parts for answer in pa.array(part).to_pylist()]
    return [read_row(group.group_id, answer[0]) for group, answer in zip(groups, answers, strict=True)]


def _row(group: ClassicGroup) -> dict[str, Any]:
    """Return a group as the row that `_core.Clusters` reads."""
    fields = ("member_id", "group_instance_id", "rack", "dialect", "library", "library_version", "conversion_problem")
    members = [
        {name: getattr(member, name) for name in fields}
        | _names(member, f"group {shown(group.group_id)}: member {shown(member.member_id)}")
        | {"assignor": group.assignor, "generation": group.generation}
        for member in group.members
    ]
    spans = [
        {"member_id": member.member_id, "topic": topic, "start": start, "count": count}
        for member in group.members
        for topic, start, count in member.spans
    ]
    return {
        "cluster": "",
        "group_id": group.group_id,
        "protocol_type": group.protocol_type,
        "members": members,
        "current": spans if group.has_owners else None,
    }


def _names(member: ClassicMember, owner: str) -> dict[str, list[str]]:
    """Return topics and patterns of a member."""
    pattern = read_patterns(member.pattern, f"{owner}: pattern")
    return {"topics": list(read_names(member.topics, owner)), "pattern": list(pattern)}


def read_row(group_id: str, row: Mapping[str, Any]) -> Migration:
    """Return the answer from the row that the engine returns, which is also a row of `Fleet.migrate`."""
    before, after = row["before"], row["after"]
    return Migration(
        group=group_id,
        blockers=tuple(Blocker(**{**each, "members": tuple(each["members"])}) for each in row["blockers"]),
        clients=tuple(ClientCount(**each) for each in row["clients"]),
        notes=tuple(row["notes"]),
        before=_placement(before),
        after=None if after is None else _placement(after),
        later_today=None if row["later_today"] is None else LaterMoves(**row["later_today"]),
        later=None if row["later"] is None else LaterMoves(**row["later"]),
        pattern_changes=tuple(row["pattern_changes"]),
        **{name: row[name] for name in _PLAIN},
    )


_PLAIN = ("verdict", "reason", "path", "assignor", "nearest", "members", "moved", "problem", "rolling")


def _placement(row: Mapping[str, Any]) -> Placement:
    return Placement(**{**row, "idle": tuple(row["idle"])})


def _json(value: Any) -> object:
    """Return a value of a `Migration` as JSON has it."""
    if isinstance(value, tuple):
        return [_json(each) for each in value]
    if isinstance(value, Blocker | ClientCount | Placement | LaterMoves):
        return {name: _json(getattr(value, name)) for name in value.__slots__}
    return value
