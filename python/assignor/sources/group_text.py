"""Descriptions of groups as input of an assignment: text of `kafka-consumer-groups.sh`, or JSON of `assignor describe`.

The text is that of `--describe` with any of `--offsets`, `--members`, `--verbose` and `--state`, of Kafka 2.0 to 4.x.
It can have several groups, and several tables of a group. What a description lacks is guessed where there is a good
guess, and named in `notes`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assignor.errors import IllegalArgumentError
from assignor.lines import format_count
from assignor.model import Subscription, TopicPartition
from assignor.ordering import java_order
from assignor.sources.group_tables import MEMBERS, MOST_PARTITIONS, OFFSETS, Table, read_tables
from assignor.validation import read_int, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

STABLE, EMPTY = "Stable", "Empty"
CLASSIC, CONSUMER, SHARE = "classic", "consumer", "share"

_NONE = "-"
_IN_PARENTHESES = re.compile(r"[\w.-]+\([\d,]*\)(?:, [\w.-]+\([\d,]*\))*")
_WITH_COLON = re.compile(r"[\w.-]+:[\d,]*(?:;[\w.-]+:[\d,]*)*")
_TOPIC = re.compile(r"([\w.-]+)[(:]([\d,]*)")
_DIGITS = 10
_WITHOUT_NAMES = re.compile(r"\([\d,]*\)(?:, \([\d,]*\))*")
_IN_STATE = re.compile(r"\s*(?:Warning: )?Consumer group '(.*)' (?:has no active members|is (rebalancing))\.")
_NOT_FOUND = re.compile(r"\s*Error: (?:The )?[Cc]onsumer group '(.*)' does not exist\.")
_ERROR = re.compile(r"\s*Error: (.*)")
_OPTION = re.compile(r"--group[ =](?:\"([^\"]+)\"|'([^']+)'|(\S+))")


@dataclass(slots=True)
class DescribedMember:
    """Member of a described group.

    Attributes:
        owned: The partitions that it owns.
        topics: The topics that it subscribes to; None if the description does not have them.
        rack: Its rack, None if it has none or the description does not have it.
        instance_id: Instance id of a static member.
        epoch: Its member epoch; None in the classic protocol.
        target: The partitions of its target assignment; None if the description does not have them.
        count: The number of its partitions by the description; None without it.
    """

    owned: set[TopicPartition] = field(default_factory=set)
    topics: tuple[str, ...] | None = None
    rack: str | None = None
    instance_id: str | None = None
    epoch: int | None = None
    target: set[TopicPartition] | None = None
    count: int | None = None


@dataclass(slots=True)
class DescribedGroup:
    """Group in a description.

    Attributes:
        name: The group id; "" if the text does not have it.
        members: The members by id, in the order of the description.
        counts: Number of partitions of each topic; the smallest possible one if `has_counts` is False.
        has_counts: True if the numbers of partitions are those of the cluster.
        state: Kafka's name of the state, `rebalancing` for one of the states of a rebalance, "" if it is not known.
        size: Number of members by the description of the state; None without it.
        assignor: Kafka's name of the assignor; None if it is not known.
        protocol: `classic`, `consumer` or `share`; None if it is not known.
        problem: Why the group cannot be read; None if it can.
        remarks: Sentences on its text.
    """

    name: str
    members: dict[str, DescribedMember] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    has_counts: bool = False
    state: str = ""
    size: int | None = None
    assignor: str | None = None
    protocol: str | None = None
    problem: str | None = None
    remarks: list[str] = field(default_factory=list)
    _tables: dict[str, int] = field(default_factory=dict)
    _has_owners: bool = False

    @property
    def is_settled(self) -> bool:
        """True if a partition without an owner in the description has none in the group, too.

        It can have one, or get it at once, while the group rebalances.
        """
        has_targets = all(member.target in (None, member.owned) for member in self.members.values())
        return self.state in ("", STABLE, EMPTY) and has_targets

    @property
    def guessed_topics(self) -> tuple[str, ...]:
        """Topics with partitions that a member owns: the guess for members without a known subscription."""
        found = {topic for member in self.members.values() for topic, _ in member.owned | (member.target or set())}
        return tuple(sorted(found, key=java_order))

    @property
    def has_guess(self) -> bool:
        """True if the subscription of a member is guessed."""
        return any(member.topics is None for member in self.members.values())

    def subscriptions(self) -> dict[str, Subscription]:
        """Return the subscriptions of the members, with the partitions that they own."""
        guess = self.guessed_topics
        return {
            name: Subscription(
                guess if member.topics is None else member.topics,
                group_instance_id=member.instance_id,
                rack=member.rack,
                owned_partitions=tuple(sorted(member.owned, key=_order)),
                generation=member.epoch,
            )
            for name, member in self.members.items()
        }

    def assignment(self) -> dict[str, list[TopicPartition]]:
        """Return the partitions that the members own."""
        return {name: sorted(member.owned, key=_order) for name, member in self.members.items()}

    def notes(self) -> list[str]:
        """Return what the description lacks, and what is used in its place."""
        found = list(self.remarks)
        if self.has_guess:
            guessed = [member for member in self.members.values() if member.topics is None]
            whose = "each member" if len(guessed) == len(self.members) else format_count(len(guessed), "member")
            found.append(f"guessed subscription of {whose}: {', '.join(self.guessed_topics) or 'no topic'}")
        if not self.has_counts:
            found.append("topics can have more partitions than it names")
        if self.assignor is None and self.members:
            found.append("it does not name the assignor")
        if not self.is_settled:
            found.append(f"the group is in a rebalance (state {self.state or 'unknown'})")
        found.append("it has no racks of partitions")
        return found

    def check(self, place: str) -> None:
        """Check that the group has members, and that their partitions are known.

        Raises:
            IllegalArgumentError: It has not.
        """
        what = f"{place}: group {shown(self.name)}" if self.name else f"{place}: the group"
        if self.problem is not None:
            raise IllegalArgumentError(f"{what} cannot be used: {self.problem}")
        is_guess_empty = self.has_guess and not self.guessed_topics
        if self.state not in ("", STABLE, EMPTY) and (is_guess_empty or not self.members):
            raise IllegalArgumentError(
                f"{what} is in state {self.state}, in which brokers return no partitions of members; describe it again"
            )
        if not self.members and self.size:
            raise IllegalArgumentError(
                f"{what} has {format_count(self.size, 'member')}, which this text does not list; describe it with "
                "--members --verbose"
            )
        if not self.members:
            raise IllegalArgumentError(f"{what} has no members, so there is nothing to assign")
        if is_guess_empty and self._has_owners:
            raise IllegalArgumentError(f"{what}: no member owns a partition, so their subscriptions are not known")
        if is_guess_empty:
            raise IllegalArgumentError(
                f"{what} has no partitions of members in this text; describe it with --members --verbose, or without "
                "--members"
            )


def is_group_text(text: str) -> bool:
    r"""Return True if a text has a line of `kafka-consumer-groups.sh --describe`.

    Example:
        >>> is_group_text("\nConsumer group 'billing' has no active members.\n")
        True
    """
    lines = text.splitlines()
    is_message = any(_IN_STATE.match(line) or _NOT_FOUND.match(line) for line in lines)
    return is_message or any(True for _ in read_tables(lines))


def read_group_text(text: str, place: str) -> list[DescribedGroup]:
    """Return the groups in the text of `kafka-consumer-groups.sh --describe`, in the order of the text.

    Args:
        text: The text.
        place: Name of the text for messages.

    Raises:
        IllegalArgumentError: The text has no group, or names a group that does not exist.
    """
    lines = text.splitlines()
    found: dict[str, DescribedGroup] = {}
    named = [next(filter(None, match.groups())) for match in _OPTION.finditer(text)]
    only = named[0] if len(set(named)) == 1 else ""
    states = {match[1]: "rebalancing" if match[2] else EMPTY for line in lines if (match := _IN_STATE.match(line))}
    if not only and len(states) == 1:
        only = next(iter(states))
    for table in read_tables(lines):
        _add_table(table, found, only)
    for name, state in states.items():
        group = found.setdefault(name, DescribedGroup(name))
        group.state = group.state or state
    if not found:
        for pattern, reason in ((_NOT_FOUND, "group {!r} does not exist"), (_ERROR, "{}")):
            if match := next(filter(None, map(pattern.match, lines)), None):
                raise IllegalArgumentError(f"{place} describes no group: {reason.format(match[1])}")
        raise IllegalArgumentError(f"{place} describes no group")
    for group in found.values():
        _find_remarks(group)
    return list(found.values())


def is_description(data: object) -> bool:
    """Return True for the JSON object of `assignor describe --json`."""
    return isinstance(data, dict) and {"groups", "cluster", "problems"} <= data.keys()


def read_description(data: dict[str, Any], place: str) -> list[DescribedGroup]:
    """Return the groups in the JSON of `assignor describe`, in its order.

    Args:
        data: The object of `assignor describe --json`.
        place: Name of the input for messages.

    Raises:
        IllegalArgumentError: The object has another form.
    """
    try:
        return [_described(group) for group in data["groups"]]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise IllegalArgumentError(
            f"{place} is not the output of `assignor describe --json`: {type(error).__name__}: {error}"
        ) from error


def choose_group(groups: list[DescribedGroup], pattern: str | None, place: str) -> DescribedGroup:
    """Return the group that a pattern matches; without a pattern the only group.

    Args:
        groups: The groups of a description.
        pattern: A name, or a pattern as for `NamePatterns`. A group without a name has any name.
        place: Name of the input for messages.

    Raises:
        IllegalArgumentError: No group, or more than one, matches; or there are several groups and no pattern.
    """
    if not groups:
        raise IllegalArgumentError(f"{place} describes no group")
    chosen, what = groups, "several groups; choose one with --group"
    if pattern is not None:
        chosen = [group for group in groups if group.name == pattern or (not group.name and len(groups) == 1)]
        if not chosen and (pattern.startswith("!") or not {"*", "?"}.isdisjoint(pattern)):
            from assignor.cluster.name_patterns import NamePatterns

            patterns = NamePatterns([pattern])
            chosen = [group for group in groups if patterns.matches(group.name)]
        what = f"several groups that match {shown(pattern)}"
    if not chosen:
        names = ", ".join(sorted(shown(group.name) for group in groups))
        raise IllegalArgumentError(f"{place} describes no group {shown(pattern)}; it describes {names}")
    if len(chosen) > 1:
        names = ", ".join(sorted(shown(group.name) for group in chosen))
        raise IllegalArgumentError(f"{place} describes {what}: {names}")
    return chosen[0]


def _order(partition: tuple[str, int]) -> tuple[Any, int]:
    topic, id = partition
    return java_order(topic), id


def _described(given: dict[str, Any]) -> DescribedGroup:
    """Return a group of `assignor describe --json`; older versions print neither topics nor subscriptions."""
    kind = given["kind"]
    group = DescribedGroup(given["group"], state=given["state"] or "unknown", assignor=given["protocol"] or None)
    group._has_owners = True
    group.protocol = kind if kind in (CLASSIC, CONSUMER, SHARE) else None
    group.problem = given["problem"]
    if group.problem is None and kind not in (CLASSIC, CONSUMER, SHARE, ""):
        group.problem = f"it is a {kind} group"
    for each in given["members"]:
        subscription = each.get("subscription")
        topics = None if subscription is None else tuple(subscription["topics"])
        rack = None if subscription is None else subscription["rack"]
        group.members[each["member"]] = DescribedMember(topics=topics, rack=rack, instance_id=each["instance_id"])
    for row in given["partitions"]:
        partition = TopicPartition(row["topic"], row["partition"])
        _count(group, [partition])
        owners = row.get("members", [row["member"]])  # only a partition of a share group has several
        for member in filter(None, owners):
            group.members.setdefault(member, DescribedMember()).owned.add(partition)
    if (counts := given.get("topics")) is not None:
        group.has_counts = True
        for topic, count in counts.items():
            if count is None:
                group.has_counts = False
            else:
                group.counts[topic] = read_int(count, f"topic {shown(topic)}", bits=32)
    return group


def _add_table(table: Table, groups: dict[str, DescribedGroup], only: str) -> None:
    """Add the rows of a table to its groups."""
    seen: set[str] = set()
    for number, cells in table.rows:
        name = cells.get("GROUP", only)
        group = groups.setdefault(name, DescribedGroup(name))
        if name not in seen:
            seen.add(name)
            _start_table(group, table)
        if table.kind == OFFSETS:
            _add_offset(group, cells)
        elif table.kind == MEMBERS:
            _add_member(group, cells, number)
        else:
            _add_state(group, cells)
    if table.unreadable:
        text = f"{format_count(len(table.unreadable), 'line')} cannot be read, the first is line {table.unreadable[0]}"
        for name in seen or {only}:
            groups.setdefault(name, DescribedGroup(name)).remarks.append(text)


def _start_table(group: DescribedGroup, table: Table) -> None:
    """Forget the owners of an earlier table: this one is as complete, and newer."""
    group._tables[table.kind] = group._tables.get(table.kind, 0) + 1
    has_owners = table.kind == OFFSETS or not {"ASSIGNMENT", "CURRENT-ASSIGNMENT"}.isdisjoint(table.columns)
    if group._tables[table.kind] > 1 and table.kind == MEMBERS:
        group.members.clear()
    if has_owners and not (table.kind == MEMBERS and _has_no_names(table)):
        group._has_owners = True
        for member in group.members.values():
            member.owned.clear()


def _has_no_names(table: Table) -> bool:
    """Return True if the assignments have no names of topics, as in Kafka 3.8 and 3.9."""
    return any(_WITHOUT_NAMES.fullmatch(cells.get("ASSIGNMENT", "")) for _, cells in table.rows)


def _add_offset(group: DescribedGroup, cells: dict[str, str]) -> None:
    owner = cells["CONSUMER-ID"]
    partitions = []
    if cells["TOPIC"] != _NONE and cells["PARTITION"] != _NONE:
        partitions = [TopicPartition(cells["TOPIC"], int(cells["PARTITION"]))]
        _count(group, partitions)
    if owner not in ("", _NONE):
        group.members.setdefault(owner, DescribedMember()).owned.update(partitions)


def _add_member(group: DescribedGroup, cells: dict[str, str], number: int) -> None:
    member = group.members.setdefault(cells["CONSUMER-ID"], DescribedMember())
    member.instance_id = cells.get("GROUP-INSTANCE-ID") or None
    member.count = int(cells["#PARTITIONS"]) if cells["#PARTITIONS"] != _NONE else None
    epoch = cells.get("CURRENT-EPOCH", _NONE)
    if epoch != _NONE:
        member.epoch = int(epoch)
        group.protocol = CONSUMER
        member.target = set(_partitions(cells.get("TARGET-ASSIGNMENT", "")) or ())
    elif "CURRENT-EPOCH" in cells:
        group.protocol = group.protocol or CLASSIC
    text = cells.get("CURRENT-ASSIGNMENT", cells.get("ASSIGNMENT"))
    if text is None:
        return
    owned = _partitions(text)
    if owned is not None:
        _count(group, [*owned, *(member.target or ())])
        member.owned.update(owned)
    elif _WITHOUT_NAMES.fullmatch(text):
        group.problem = (
            "its assignments have no names of topics, as Kafka 3.8 and 3.9 print them; describe it without --members"
        )
    else:
        group.remarks.append(f"the assignment in line {number} cannot be read")


def _partitions(text: str) -> list[TopicPartition] | None:
    """Return the partitions of an assignment in either form; None if it has neither."""
    if text in ("", _NONE):
        return []
    if not (_IN_PARENTHESES.fullmatch(text) or _WITH_COLON.fullmatch(text)):
        return None
    pairs = [(topic, number) for topic, numbers in _TOPIC.findall(text) for number in numbers.split(",") if number]
    if any(len(number) > _DIGITS or int(number) >= MOST_PARTITIONS for _, number in pairs):
        return None
    return [TopicPartition(topic, int(number)) for topic, number in pairs]


def _add_state(group: DescribedGroup, cells: dict[str, str]) -> None:
    group.state = cells["STATE"]
    group.size = int(cells["#MEMBERS"]) if cells["#MEMBERS"] != _NONE else None
    strategy = cells.get("ASSIGNMENT-STRATEGY", "")
    group.assignor = strategy if strategy not in ("", _NONE) else group.assignor
    if (epoch := cells.get("GROUP-EPOCH")) is not None:
        group.protocol = CLASSIC if epoch == _NONE else CONSUMER


def _count(group: DescribedGroup, partitions: Iterable[TopicPartition]) -> None:
    for topic, number in partitions:
        group.counts[topic] = max(group.counts.get(topic, 0), number + 1)


def _find_remarks(group: DescribedGroup) -> None:
    """Find what the tables of a group contradict, and members that they may lack."""
    if group.problem is not None and OFFSETS in group._tables:
        group.problem = None
    if any(count > 1 for count in group._tables.values()):
        group.remarks.append("it describes the group more than once, and the last description is used")
    if group.members and MEMBERS not in group._tables and group.size != len(group.members):
        group.remarks.append("it has no members without partitions, which --members --verbose shows")
    for name, member in group.members.items():
        if group._has_owners and group.problem is None and member.count not in (None, len(member.owned)):
            owned = format_count(len(member.owned), "partition")
            group.remarks.append(f"member {shown(name)} has {owned} here, and {member.count} by its #PARTITIONS")
