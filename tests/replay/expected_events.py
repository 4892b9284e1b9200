"""Expected events of the log of a `Simulation`, computed from what its coordinator and its clients know.

`differences` compares them with the events, the states and the positions of a replay. The expectation is a second
statement of what an event is: the difference between two states that the coordinator describes. A cause that the
coordinator gave must be among the causes of the event, unless the log cannot show it (`is_hidden`), and no cause may be
among them that the log excludes (`allowed_causes`).
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.coordinator import GroupState
from tests.replay.simulated_client import COOPERATIVE
from tests.replay.simulated_groups import EXPIRED, REBALANCE, SESSION, Simulation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assignor import TopicPartition
    from assignor.replay import Replay
    from tests.replay.simulated_log import Known, Record, TopicState, Written

Event = dict[str, Any]

TOPICAL = frozenset({"partitions_increased", "topic_created", "topic_deleted"})
REJOINED = frozenset({"leader_rejoined", "owned_partitions_changed", "subscription_changed"})
WRONG_OWNERS = frozenset({"two_owners", "not_subscribed", "unknown_partition"})
DEPARTED = EXPIRED | {"consumer_closed", "member_removed", "sync_timed_out"}


class Changes(NamedTuple):
    """Difference between the members of two group records; `replaced` has old member ids by new ones."""

    joined: list[str]
    left: list[str]
    replaced: dict[str, str]
    resubscribed: list[str]


class Step(NamedTuple):
    """A group record with members, and what came before it.

    Attributes:
        written: The record.
        before: The previous record of the group in the log; None for a new group, or if the group was deleted.
        duration: Time since the previous record, of a deleted group too; None for the first one.
        is_partial: True if the log lacks the earlier records of the group.
        moved: Partitions with another owner than the last known one.
        owners: Member ids by partition.
    """

    written: Written
    before: Written | None
    duration: int | None
    is_partial: bool
    moved: list[list[Any]]
    owners: dict[TopicPartition, str]

    @property
    def members(self) -> dict[str, Known]:
        return self.written.members or {}

    @property
    def members_before(self) -> dict[str, Known]:
        return (self.before.members if self.before else None) or {}

    @property
    def missing(self) -> int:
        """Number of generations that the log lacks before this one; negative if the generation is not a new one."""
        return self.written.generation - (self.before.generation if self.before else 0) - 1

    @property
    def changes(self) -> Changes:
        return changes(self.members_before, self.members)


def changes(before: Mapping[str, Known], after: Mapping[str, Known]) -> Changes:
    """Compare the members of two group records. A static member is the same member with a new member id."""
    instances = {known.instance: id for id, known in before.items() if known.instance is not None}
    old_ids = {id: instances.get(known.instance or "", "") for id, known in after.items() if id not in before}
    replaced = {new: old for new, old in old_ids.items() if old and old not in after}
    remaining = {id: replaced.get(id, id) for id in after if id in before or id in replaced}
    return Changes(
        sorted(after.keys() - before.keys() - replaced.keys()),
        sorted(before.keys() - after.keys() - {*replaced.values()}),
        replaced,
        sorted(id for id, old in remaining.items() if after[id].topics != before[old].topics),
    )


def steps(simulation: Simulation, log: Sequence[Record]) -> Iterator[Step]:
    """Yield the group records of a log in order, without tombstones."""
    present = {record[0] for record in log}
    previous: dict[str, Written] = {}
    times: dict[str, int] = {}
    known: dict[str, dict[TopicPartition, str]] = {}
    for written in simulation.written:
        group, members, last = written.group, written.members, previous.get(written.group)
        if written.offset not in present:
            continue
        previous[group] = written
        if members is None:
            known.pop(group, None)
            continue
        owners = {each: id for id, owner in members.items() for each in owner.partitions}
        names = {each: members[id].instance or id for each, id in owners.items()}
        before = known.get(group, {})
        moved = sorted([*each] for each, name in names.items() if before.get(each, name) != name)
        topics = topics_of(members)
        known[group] = {each: name for each, name in before.items() if each.topic in topics} | names if members else {}
        duration = written.at - times[group] if group in times else None
        is_partial = last is None and written.generation > 1
        earlier = last if last is not None and last.members is not None else None
        yield Step(written, earlier, duration, is_partial, moved, owners)
        times[group] = written.at


def topics_of(members: Mapping[str, Known]) -> set[str]:
    return {topic for known in members.values() for topic in known.topics}


def topics_around(simulation: Simulation, since: int, until: int) -> list[dict[str, TopicState]]:
    """Return the topics at a time, after each change up to another time, and after the next change.

    Replay does not know whether a snapshot of the topics shows a change at once.
    """
    times = list(simulation.snapshots)
    first = max(sum(time <= since for time in times) - 1, 0)
    last = sum(time <= until for time in times)
    return [simulation.snapshots[time] for time in times[first : last + 1]]


# ---- events


def expected_events(simulation: Simulation, log: Sequence[Record], *, has_topics: bool) -> Iterator[Event]:
    """Yield the generation, rebalance and member events of a log, without causes."""
    for step in steps(simulation, log):
        written, members, seen = step.written, step.members, step.changes
        common = {"group": written.group, "offset": written.offset, "at": written.at, "generation": written.generation}
        protocol = {"protocol_type": written.protocol_type, "protocol": written.protocol, "leader": written.leader}
        same = bool(members) and members.keys() == step.members_before.keys()
        sizes = {"members": len(members), "partitions": len(step.owners), "same_members": same}
        yield {"event": "generation", **common, **protocol, **sizes, "duration_ms": step.duration}
        actions = {"joined": seen.joined, "left": seen.left, "subscription_changed": seen.resubscribed}
        for action, ids in {**actions, "replaced": seen.replaced}.items():
            for id in ids:
                previous = seen.replaced[id] if action == "replaced" else None
                yield {"event": "member", **common, "action": action, "member": id, "previous": previous}
        if step.missing >= 0 and written.generation > 0:
            base = changes(members, members) if step.is_partial else seen
            ids = {"joined": base.joined, "left": base.left, "replaced": sorted(base.replaced)}
            moved = None if step.is_partial else step.moved
            free = unowned(simulation, step) if has_topics else None
            yield {"event": "rebalance", **common, **ids, "moved": moved, "unowned": free}


def unowned(simulation: Simulation, step: Step) -> list[list[Any]]:
    """Return the partitions of subscribed topics that no member got, though they existed."""
    around = topics_around(simulation, step.written.at, step.written.at)
    exist = [{(topic, id) for topic, (_, count) in each.items() for id in range(count)} for each in around]
    topics = topics_of(step.members)
    return sorted([*each] for each in set.intersection(*exist) if each[0] in topics and each not in step.owners)


def place(event: Event) -> tuple[Any, ...]:
    return tuple(event.get(name, "") for name in ("group", "offset", "event", "action", "member"))


# ---- causes


def wrong_causes(simulation: Simulation, step: Step, causes: Sequence[str], *, has_topics: bool) -> list[str]:
    """Return what is wrong with the causes of a rebalance."""
    if step.is_partial:
        return [] if list(causes) == ["unknown"] else ["the log begins with the generation, so its cause is unknown"]
    truth, reason = step.written.cause
    expected = EXPIRED if truth in EXPIRED else {truth}  # the log does not show whether a connection ended
    allowed = allowed_causes(simulation, step) | (frozenset() if has_topics else TOPICAL)
    wrong = {name for name in causes if name not in allowed}
    if not is_hidden(simulation, step, has_topics=has_topics):
        wrong |= expected - {*causes}
    faults = known_faults(simulation, step)
    return [f"{name}: the coordinator's reason is {reason}" for name in sorted(wrong - faults)]


def allowed_causes(simulation: Simulation, step: Step) -> set[str]:
    """Return the causes that the log and the topics of the cluster allow."""
    before, after, seen, is_gap = step.members_before, step.members, step.changes, step.missing > 0
    leader = step.before.leader if step.before else None
    gone = {*seen.left, *seen.replaced.values()}
    began = step.before.began if step.before else step.written.began
    others = [id for id in after.keys() & before.keys() if id != leader]
    rules = {
        ("consumer_subscribed",): bool(seen.joined) or (bool(seen.replaced) and is_gap),
        ("subscription_changed",): bool(seen.resubscribed),
        ("static_member_returned",): bool(seen.replaced),
        ("protocol_changed",): bool(seen.replaced) and step.before is not None,
        ("member_removed",): any(before[id].instance is not None for id in gone),
        ("consumer_closed", *EXPIRED): bool(gone) or (is_gap and not before and not after),
        ("sync_timed_out",): bool(gone) or is_gap,
        ("poll_interval_exceeded",): any(before[id].instance is None for id in gone)
        and step.written.began - began >= REBALANCE - SESSION,  # a join phase ends before the record is written
        ("rejoin_timed_out",): bool(seen.left) and step.written.began - began >= REBALANCE - SESSION,
        ("leader_rejoined",): leader is not None,
        ("unknown",): not before and not after and not is_gap,  # its members came and went
        ("owned_partitions_changed",): is_gap
        or any(after[id].subscription != before[id].subscription for id in others)
        # A static member that does not return in time keeps its old subscription.
        or (step.written.protocol == COOPERATIVE and bool(others)),
    }
    topical = set()
    since = step.before.began if step.before else step.written.at
    for old, new in itertools.pairwise(topics_around(simulation, since, step.written.at)):
        topical |= {"topic_created"} if new.keys() - old.keys() else set()
        topical |= {"topic_deleted"} if old.keys() - new.keys() else set()
        grown = any(new[topic].size > old[topic].size for topic in new.keys() & old.keys())
        topical |= {"partitions_increased"} if grown else set()
    return topical | {name for names, is_allowed in rules.items() if is_allowed for name in names}


def is_hidden(simulation: Simulation, step: Step, *, has_topics: bool) -> bool:
    """Return True if the log cannot show the cause that the coordinator gave.

    * Members whose requests a coordinator lost join its successor again. A loaded member has one protocol only, so its
      next join also counts as a change of its subscription.
    * A member can have joined again and then left, restarted, or taken its change back before the record was written.
    * A member of a generation that the log lacks can have come and gone.
    * The group may select the same protocol in the end.
    * A change of a topic shows in the assignments of members that subscribe to it before and after the change, if it is
      the only change of the topic. Without topic metadata, some changes of topics do not show at all.
    """
    truth, reason = step.written.cause
    before, after = step.members_before, step.members
    if truth == "consumer_subscribed":
        return not is_named(reason, after)
    if truth in REJOINED:
        began = step.before.began if step.before else 0
        ids = step.changes.resubscribed if truth == "subscription_changed" else after
        is_shown = is_named(reason, {id: after[id] for id in ids})
        return not is_shown or any(began <= time <= step.written.at for time in simulation.reloads)
    if truth == "sync_timed_out":  # only commits of other members show it
        return not (is_named(reason, before) and has_other_commits(simulation, step))
    if truth in DEPARTED | {"static_member_returned"}:
        return not is_named(reason, before)
    if truth == "protocol_changed":
        return step.before is not None and step.before.protocol == step.written.protocol
    if truth not in TOPICAL:
        return False
    topic = reason.split("'")[1]
    since = step.before.began if step.before else 0
    states = [each.get(topic) for each in topics_around(simulation, since, step.written.at)]
    is_subscribed = topic in topics_of(before) & topics_of(after)
    return not has_topics or not is_subscribed or sum(old != new for old, new in itertools.pairwise(states)) > 1


def has_other_commits(simulation: Simulation, step: Step) -> bool:
    """Return True if some members committed in the previous generation, and no member that left did."""
    if step.before is None:
        return False
    since, until = step.before.began, step.written.began
    found = {each.member_id for each in simulation.commits if since <= each.at <= until}
    gone = {*step.changes.left, *step.changes.replaced.values()}
    return bool(found & step.members_before.keys()) and not found & gone


def is_named(reason: str, members: Mapping[str, Known]) -> bool:
    """Return True if the coordinator's sentence names one of the members."""
    words = re.split(r"[ ,:']+", reason.rstrip("."))
    return any(id in words or known.instance in words for id, known in members.items())


def known_faults(simulation: Simulation, step: Step) -> set[str]:
    """Return the causes that replay gets wrong in this place; `test_event_faults.py` has an example of each fault."""
    seen, found = step.changes, set()
    if seen.resubscribed:
        found |= {"topic_created", "topic_deleted"}
    subscribed = topics_of(step.members_before) | topics_of(step.members)
    since = step.before.began if step.before and step.written.protocol != COOPERATIVE else 0
    births = {
        (topic, each[topic].born)
        for each in topics_around(simulation, since, step.written.at)
        for topic in subscribed & each.keys()
    }
    if len(births) > len({topic for topic, _ in births}):  # a topic was created again
        found |= TOPICAL
    return found


# ---- comparison


def differences(
    simulation: Simulation, log: Sequence[Record], events: Sequence[Event], replay: Replay, *, has_topics: bool = True
) -> list[str]:
    """Return the differences between a replay and what the simulation knows, one sentence for each."""
    found = []
    expected = {place(event): event for event in expected_events(simulation, log, has_topics=has_topics)}
    kinds = ("generation", "rebalance", "member")
    actual = {place(event): event for event in events if event["event"] in kinds}
    found += [f"unexpected: {actual[each]}" for each in sorted(actual.keys() - expected.keys())]
    found += [f"missing: {expected[each]}" for each in sorted(expected.keys() - actual.keys())]
    for each in sorted(expected.keys() & actual.keys()):
        for name, value in expected[each].items():
            if actual[each][name] != value:
                found.append(f"{each}: {name} is {actual[each][name]} instead of {value}")
    for step in steps(simulation, log):
        event = actual.get((step.written.group, step.written.offset, "rebalance", "", ""))
        if event is not None:
            wrong = wrong_causes(simulation, step, event["causes"], has_topics=has_topics)
            found += [f"{place(event)}: {event['causes']}: {each}" for each in wrong]
            comparison = actual[*place(event)[:2], "generation", "", ""]["comparison"]
            if has_topics and step.written.is_first and comparison and comparison["outcome"] != "equal":
                found.append(f"{place(event)}: the assignment is {comparison}")
    found += wrong_owners(simulation, log, events)
    found += wrong_departures(simulation, events)
    if len(log) == len(simulation.log):
        found += wrong_commits(simulation, events)
    return [*found, *wrong_states(simulation, log, replay)]


def wrong_owners(simulation: Simulation, log: Sequence[Record], events: Sequence[Event]) -> Iterator[str]:
    """Yield the events of wrong owners that do not follow from the members of the group records, and the reverse."""
    actual: dict[tuple[str, str], dict[int, set[tuple[str, int]]]] = {}
    for event in events:
        if event["event"] == "offsets" and event["problem"] in WRONG_OWNERS:
            partitions = {(topic, id) for topic, id in event["topic_partitions"]} if event["until"] is None else set()
            actual.setdefault((event["group"], event["problem"]), {})[event["offset"]] = partitions
    for step in steps(simulation, log):
        if not step.written.is_first:
            continue
        for problem, partitions in owner_problems(simulation, step).items():
            shown = actual.get((step.written.group, problem), {})
            last = max((offset for offset in shown if offset <= step.written.offset), default=None)
            found = set[tuple[str, int]]() if last is None else shown[last]
            if found != partitions:
                yield f"{step.written.group} at {step.written.offset}: {problem} is {found} instead of {partitions}"


def owner_problems(simulation: Simulation, step: Step) -> dict[str, set[tuple[str, int]]]:
    """Return the partitions with wrong owners in a group record, by problem."""
    owned = [(id, (each.topic, each.partition)) for id, known in step.members.items() for each in known.partitions]
    counts = Counter(each for _, each in owned)
    around = topics_around(simulation, step.written.at, step.written.at)
    exists = {(topic, id) for state in around for topic, (_, size) in state.items() for id in range(size)}
    return {
        "two_owners": {each for each, count in counts.items() if count > 1},
        "not_subscribed": {each for id, each in owned if each[0] not in step.members[id].topics},
        "unknown_partition": {each for _, each in owned if each not in exists},
    }


def wrong_departures(simulation: Simulation, events: Sequence[Event]) -> Iterator[str]:
    """Yield the members whose event excludes the reason for which they left."""
    for event in events:
        if event["event"] == "member" and event["action"] == "left":
            truth = simulation.departures.get(event["member"], frozenset())
            # Only commits of other members show that a member missed the sync.
            if not truth <= {*event["causes"], "sync_timed_out"}:
                yield f"{event['member']} left at {event['at']} for {event['causes']} instead of {set(truth)}"


def wrong_commits(simulation: Simulation, events: Sequence[Event]) -> Iterator[str]:
    """Yield the commits that went back without an event and the reverse, and stuck members that committed."""
    expected = set()
    last: dict[str | None, int] = {}
    for commit in simulation.commits:
        last[commit.member_id] = commit.at
    for _, commits in itertools.groupby(sorted(simulation.commits, key=lambda each: each[:3]), lambda each: each[:3]):
        before = -1
        for commit in commits:
            if commit.offset is None:  # a deleted offset still counts
                continue
            if commit.offset < before:
                expected.add((commit.group, commit.at, commit.topic, commit.partition))
            before = commit.offset
    found = {
        (event["group"], event["at"], *each)
        for event in events
        if event["event"] == "offsets" and event["problem"] == "went_back"
        for each in event["topic_partitions"]
    }
    yield from (f"went back: {each}" for each in sorted(expected ^ found))
    for event in events:
        if event["event"] == "stuck" and event["until"] is None:
            times = [
                each.at for each in simulation.commits if each.member_id == event["member"] and each.at < event["at"]
            ]
            if times[-1] != event["since"]:
                yield f"{event['member']} is stuck since {event['since']} and committed at {times[-1]}"


def wrong_states(simulation: Simulation, log: Sequence[Record], replay: Replay) -> Iterator[str]:
    """Compare the states and positions of a replay with a coordinator that has loaded the log."""
    coordinator = simulation.new_coordinator()
    coordinator.load([record[2:] for record in log], simulation.now)
    owners = {step.written.group: step for step in steps(simulation, log)}
    actual = {
        state["group"]: (state["state"], state["generation"] or 0, {each["member_id"] for each in state["members"]})
        for state in replay.states()
        if state["state"] != "gone"
    }
    expected = {}
    positions: dict[tuple[str, str, int], tuple[str | None, int | None]] = {}
    for group in coordinator.groups():
        described = coordinator.describe(group)
        members = {each.member_id for each in described.members}
        expected[group] = described.state.value, described.generation, members
        for key, offset in coordinator.committed(group).items():
            positions[group, key.topic, key.partition] = None, offset.offset
        if described.state is not GroupState.EMPTY:
            for key, id in owners[group].owners.items():
                instance = owners[group].members[id].instance
                owner = id if instance is None else f"instance {instance}"
                positions[group, *key] = owner, positions.get((group, *key), (None, None))[1]
    if actual != expected:
        yield f"the states are {actual} instead of {expected}"
    held = {
        (row["group_id"], row["topic"], row["partition"]): (row["member_id"], row["committed"])
        for row in replay.positions()
    }
    yield from (f"position {each}" for each in sorted(held.items() ^ positions.items(), key=str))
