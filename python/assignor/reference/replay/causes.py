"""Causes of a rebalance, from the difference between two consecutive records of a group.

The log has the results of rebalances, not the requests that start them. `classic_causes` and `epoch_causes` return
every cause that can have led from one record to the next, most likely first. The first reason that a broker logs for
the rebalance is one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assignor.reference.assign import ASSIGNORS
from assignor.reference.offsets.protocol import CONSUMER
from assignor.reference.replay.topic_causes import classic_topic_causes, epoch_topic_causes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from assignor.reference.history.metadata import Metadata
    from assignor.reference.replay.difference import Difference, GroupRecord
    from assignor.reference.replay.known_member import KnownMember

__all__ = ["EXPIRED", "Causes", "classic_causes", "departure_causes", "epoch_causes"]

EXPIRED = ["consumer_dead", "application_crashed"]
"""Causes of a missing member whose session expired; the log does not show whether its connection had ended."""

REJOINED = ["leader_rejoined", "owned_partitions_changed"]
"""Causes of a rebalance after which members and topics are unchanged."""


@dataclass
class Causes:
    """Causes, most likely first and without repeats, and sentences with the evidence."""

    names: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)

    def add(self, names: Iterable[str], sentence: str) -> None:
        """Add causes and a sentence."""
        self.names += [name for name in dict.fromkeys(names) if name not in self.names]
        self.sentences.append(sentence)


def unknown(sentence: str) -> Causes:
    """Return the cause `unknown`; `sentence` says which evidence the log lacks."""
    return Causes(["unknown"], [sentence])


def classic_causes(
    before: GroupRecord | None,
    after: GroupRecord,
    changes: Difference,
    last_commit: Callable[[KnownMember], int | None],
    highest: dict[str, int],
    metadata: Metadata,
) -> Causes:
    """Return the causes of a generation of a classic group.

    `last_commit` returns the time of a member's last commit, and `highest` has the highest known partition by topic.
    """
    if before is None and after.generation > 1:
        text = f"The log begins with generation {after.generation}: it has no earlier record of the group."
        return unknown(text)
    causes = Causes()
    add_conversion(causes, before, after)
    missing = after.generation - before.generation - 1 if before and before.kind == after.kind else 0
    if before is not None:
        add_revocations(causes, before, after, changes)
        for old in changes.left:
            add_departure(causes, old, before.began, after.began, last_commit(old), "left")
            add_unsynced(causes, old, before, after, last_commit(old))
        for old, new in changes.replaced:
            add_replacement(causes, old, new, before, after, last_commit(old))
        for names, sentence in classic_topic_causes(before, after, changes, highest, metadata):
            causes.add(names, sentence)
        add_subscriptions(causes, changes, before)
    add_joined(causes, changes)
    if not causes.names and before is not None:
        add_unchanged(causes, changes, before, missing)
    if missing > 0 and before is not None:
        add_missing(causes, before, after)
    return causes if causes.names else unknown("Nothing in the log explains the rebalance.")


def epoch_causes(
    before: GroupRecord | None, after: GroupRecord, changes: Difference, metadata: Metadata, is_partial: bool
) -> Causes:
    """Return the causes of an epoch of a consumer, share or streams group."""
    if is_partial:
        return unknown(f"The log begins with epoch {after.generation}: it has no earlier record of the group.")
    causes = Causes()
    add_conversion(causes, before, after)
    add_joined(causes, changes)
    for old in changes.left:
        add_departure(causes, old, None, after.at, None, "left")
    for _, new in changes.replaced:
        causes.add(["static_member_returned"], f"Static member '{new.instance_id}' returned as {new.id}.")
    if before is not None:
        add_subscriptions(causes, changes, before)
        for names, sentence in epoch_topic_causes(before, after, metadata):
            causes.add(names, sentence)
    if not causes.names:
        causes.names = ["unknown"]
        causes.sentences = causes.sentences or ["No record of a member, pattern or topic explains the new epoch."]
    return causes


def add_conversion(causes: Causes, before: GroupRecord | None, after: GroupRecord) -> None:
    """Add a cause for a conversion between the classic protocol and another one.

    The next classic generation, or a following epoch with the same timestamp, has this cause too.
    """
    old = after.converted_from
    if old is None and before is not None and (after.kind == "classic" or before.at == after.at):
        old = before.converted_from
    if old is not None:
        sentence = f"The group changed from the {old} protocol to the {after.kind} protocol."
        causes.add(["protocol_downgraded" if after.kind == "classic" else "protocol_upgraded"], sentence)


def add_revocations(causes: Causes, before: GroupRecord, after: GroupRecord, changes: Difference) -> None:
    """Add the members that had to give up partitions in the previous generation, and therefore joined again.

    Assignors other than those of Kafka's consumer, such as that of Kafka Streams, can ask other members to join again.
    """
    names, members = [], []
    for id in sorted(before.members):
        member = before.members[id]
        if id in after.members and member.assigned is not None and set(member.owned) - set(member.assigned):
            names.append("leader_rejoined" if id == before.leader else "owned_partitions_changed")
            members.append(id)
    if members and ("classic", before.protocol) not in ASSIGNORS and others_of(changes, before):
        names.append("owned_partitions_changed")
    if members:
        text = f"{listed(members)} had to revoke partitions in generation {before.generation}, and join again after it."
        causes.add(sorted(names), text)


def departure_causes(
    member: KnownMember, began: int | None, until: int, last_commit: int | None
) -> tuple[list[str], str]:
    """Return the possible causes of a member's absence, and what its commits show.

    A session lasts at least one session timeout from the end of the join phase. This does not apply to a static member,
    which stays in the group even if it misses the join phase. A client sends a heartbeat at most half a session timeout
    before each commit. Most clients commit when they are closed, so a member without a recent commit is more likely
    dead.
    """
    closed, session = ["consumer_closed"], member.session_timeout
    is_static = member.instance_id is not None
    # The clocks of brokers differ: a join phase or a commit that is later than `until` is ignored.
    began = None if is_static or began is None or began > until else began
    last_commit = None if last_commit is None or last_commit > until else last_commit
    expired = [*EXPIRED, "member_removed"] if is_static else EXPIRED
    if session is None:
        return (expired + closed if is_static else closed + EXPIRED), ""
    if (began is not None and until < began + session) or (
        last_commit is not None and until < last_commit + session // 2
    ):
        times = [began, last_commit]
        silence = until - max(time for time in times if time is not None)
        text = f"It was active {max(silence, 0)} ms before, so its session of {session} ms cannot have expired."
        return (["member_removed", *closed] if is_static else closed), text
    if last_commit is not None and until >= last_commit + session:
        text = f"Its last commit was {until - last_commit} ms before; its session timeout is {session} ms."
        return expired + closed, text
    return (expired + closed if is_static else closed + EXPIRED), ""


def add_departure(
    causes: Causes, member: KnownMember, began: int | None, until: int, last_commit: int | None, verb: str
) -> None:
    """Add a member that is missing."""
    names, text = departure_causes(member, began, until, last_commit)
    ending = " or its session expired" if EXPIRED[0] in names else ""
    causes.add(names, f"Member {member.id} {verb}{ending}. {text}".rstrip())


def add_unsynced(
    causes: Causes, member: KnownMember, before: GroupRecord, after: GroupRecord, last_commit: int | None
) -> None:
    """Add `sync_timed_out` if a member may not have requested its assignment within the rebalance timeout."""
    timeout = longest_timeout(before)
    waited, session = after.began - before.began, member.session_timeout or 0
    if 0 < timeout <= waited <= timeout + session and (last_commit is None or last_commit < before.began):
        causes.add(["sync_timed_out"], f"Member {member.id} may not have sent SyncGroup within {timeout} ms.")


def longest_timeout(record: GroupRecord) -> int:
    """Return the longest rebalance timeout of the members; 0 if the log lacks it."""
    return max((member.rebalance_timeout or 0 for member in record.members.values()), default=0)


def add_replacement(
    causes: Causes,
    old: KnownMember,
    new: KnownMember,
    before: GroupRecord,
    after: GroupRecord,
    last_commit: int | None,
) -> None:
    """Add a static member with a new member id in a new generation."""
    names = ["protocol_changed"] if after.protocol != before.protocol else []
    expiry, _ = departure_causes(old, before.began, after.began, last_commit)
    names += ["static_member_returned", *(name for name in EXPIRED if name in expiry), "member_removed"]
    text = f"Static member '{new.instance_id}' returned as {new.id} during a rebalance"
    causes.add(names, f"{text}; its previous member id was {old.id}.")


def add_subscriptions(causes: Causes, changes: Difference, before: GroupRecord) -> None:
    """Add the members whose subscription changed."""
    is_opaque = before.kind == "classic" and before.protocol_type != CONSUMER
    if is_opaque and (changes.joined or changes.left):
        return  # Other protocol types put a member's state into its subscription, which changes with each rebalance.
    changed = [new for _, new in changes.changed]
    if changed:
        names = ["subscription_changed"]
        if is_opaque or any(old.id == before.leader for old, _ in changes.changed):
            names.append("leader_rejoined")
        causes.add(names, f"{listed([member.id for member in changed])} changed the subscription.")


def add_joined(causes: Causes, changes: Difference) -> None:
    """Add new members."""
    if changes.joined:
        causes.add(["consumer_subscribed"], f"{listed([member.id for member in changes.joined])} joined.")


def add_unchanged(causes: Causes, changes: Difference, before: GroupRecord, missing: int) -> None:
    """Add the causes of a generation with the same members and subscriptions."""
    if not changes.remaining:
        if missing > 0:
            names = ["consumer_closed", *EXPIRED]
            causes.add(names, "Members joined and left in generations that are not in the log.")
        return
    others = others_of(changes, before)
    text = f"The members and their topics are unchanged: the leader {before.leader} joined again"
    if others:
        causes.add(REJOINED, f"{text}, or {listed(others)} did.")
    elif len(changes.remaining) > 1:
        causes.add(["leader_rejoined"], f"{text}. The other members sent the same bytes as before.")
    else:
        causes.add(["leader_rejoined"], f"{text}.")


def others_of(changes: Difference, before: GroupRecord) -> list[str]:
    """Return the members, except the leader, whose subscription bytes changed: this can start a rebalance."""
    return [new.id for old, new in changes.remaining if old.id != before.leader and old.metadata != new.metadata]


def add_missing(causes: Causes, before: GroupRecord, after: GroupRecord) -> None:
    """Add causes for generations that the log lacks."""
    first, last = before.generation + 1, after.generation - 1
    which = f"Generation {first} is" if first == last else f"Generations {first} to {last} are"
    them = "it" if first == last else "them"
    # Without a change of members, any member can have started the rebalances that the log lacks.
    names = list(REJOINED) if set(causes.names) <= set(REJOINED) else []
    if before.members and after.began - before.began >= longest_timeout(before):
        names.append("sync_timed_out")
    sentence = f"{which} not in the log: the next rebalance began before the assignment was complete, or compaction "
    causes.add(names, f"{sentence}removed {them}.")


def listed(ids: list[str]) -> str:
    """Return a text with up to three member ids."""
    more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
    return f"Member {ids[0]}" if len(ids) == 1 else f"Members {', '.join(ids[:3])}{more}"
