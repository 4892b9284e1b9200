r"""Messages of a group coordinator: which group they are about, what happened, and the causes that agree with it.

The texts are those of Kafka 1.0 to 4.3: `GroupCoordinator` up to 3.9, `GroupMetadataManager` since 3.7. Kafka 2.0 and
2.1 log that a rebalance begins without a reason.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Event", "Fact", "read_event", "reason_fact"]

CLOSED, POLL = "consumer_closed", "poll_interval_exceeded"
EXPIRED = ("consumer_dead", "application_crashed", "coordinator_moved")
TOPICS = ("partitions_increased", "topic_created", "topic_deleted")
LEADER = ("leader_rejoined", *TOPICS, "subscription_changed")


class Fact(NamedTuple):
    """What a message says.

    Attributes:
        causes: Names of `RebalanceCause` in lower case that agree with it, the most specific one first.
        members: Ids of the members that it names.
        text: The message, or the reason in it.
    """

    causes: tuple[str, ...]
    members: tuple[str, ...]
    text: str


class Event(NamedTuple):
    """Message about a group.

    Attributes:
        what: `prepare` (a rebalance begins), `end` (its join phase is complete), `load`, `fact`, `leave`, `epoch` or
            `member`. The last two are of groups with an epoch.
        group: The group.
        kind: Kind of the group; empty if the message does not show it.
        generation: Of `prepare`: the generation that ends. Of `epoch`: the new epoch. Otherwise None.
        fact: What the message says; None for `end`, `load`, `epoch`, and for `prepare` without a reason.
    """

    what: str
    group: str
    kind: str = ""
    generation: int | None = None
    fact: Fact | None = None


_PREPARE = re.compile(
    r"Preparing to re(?:balance|stabilize) group (?P<group>.*?)(?: in state \w+)? with old generation "
    r"(?P<generation>-?\d+)",
    re.DOTALL,
)
_REASON = re.compile(r"(?: \(\S+-\d+\))? \(reason: (?P<reason>.*)\)\.?$", re.DOTALL)
_END = re.compile(
    r"Stabilized group (?P<stable>.*?) generation \d+\b|Group (?P<empty>.*?) with generation \d+ is now empty"
)
_LOAD = re.compile(
    r"Loading group metadata for (?P<old>.*) with generation \d+$|Loaded \w+ group (?P<new>.*) with \d+ members\.?$"
)
_FAILED = re.compile(r"Member (?P<member>.*?) in group (?P<group>.*) has failed, removing it from the group\.?$")
_NOT_REJOINED = re.compile(r"Group (?P<group>.*) removed dynamic members who haven't joined: (?P<members>.*)$")
_HAS_LEFT = " has left group through explicit `LeaveGroup` request; client reason: "
_LEAVER = re.compile(
    r"\[Group(?:Id)? (?P<group>.*?)\] (?:Static |Dynamic )?[Mm]ember (?P<member>.*?)"
    r"(?: with instance id (?P<instance>.*))?$",
    re.DOTALL,
)
_LEFT = (
    re.compile(
        r"Member MemberMetadata\(memberId=(?P<member>.*?), groupInstanceId=(?P<instance>.*?), clientId=.*?\) has "
        r"left group (?P<group>.*?) through explicit `LeaveGroup`(?: request)?(?:; client reason: (?P<reason>.*))?$",
        re.DOTALL,
    ),
    re.compile(
        r"Member\[group\.instance\.id (?P<instance>.*?), member\.id (?P<member>.*?)\] in group (?P<group>.*) has left, "
        r"removing it from the group$"
    ),
    re.compile(r"Member (?P<member>.*?) in group (?P<group>.*) has left, removing it from the group$"),
)
_GROUP_ID = re.compile(r"\[GroupId (?P<group>.*?)\](?:\[MemberId (?P<member>.*?)\])? (?P<text>.*)$", re.DOTALL)
_EPOCH = re.compile(r"Bumped (?P<kind>streams )?group epoch to (?P<epoch>\d+)\b")
_JOINS = re.compile(
    r"(?:Static member|Member) (?:(?P<member>\S+) )?(?:with instance id .* )?joins the "
    r"(?P<kind>consumer|share|streams) group\b"
)
_REJOINS = re.compile(
    r"Static member with instance id .* re-joins the (?P<kind>\w+) group\b.*"
    r"Created a new member (?P<member>\S+) to replace"
)
_LEAVES = re.compile(
    r"(?:Static )?[Mm]ember (?:(?P<member>\S+) )?(?:with instance id .* )?left the "
    r"(?P<kind>consumer|share|streams) group\b"
)
_FENCED = re.compile(r"(?P<streams>Streams member|Member) (?P<member>\S+) fenced from the group because (?P<why>.*)$")
_UPDATED = re.compile(r"Member (?:(?P<member>\S+) )?updated its (?:subscribed|member met)")
_CONVERTED = re.compile(r"Converted the (?:empty )?(?P<old>\w+) group to a (?P<new>\w+) group")
_REFRESHED = re.compile(r"Computed new (?:subscription metadata|metadata hash)\b")

_CLIENT_REASON = re.compile(r"^(?P<text>.*?)(?:; client reason: (?P<reason>.*))?$", re.DOTALL)
_ADDED = re.compile(r"Adding new member (?P<member>.*?)(?: with group instance ?id (?P<instance>.*))?$", re.DOTALL)
_REASONS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"[Rr]emoving member (?P<member>.*) on heartbeat expiration\.?$"), EXPIRED),
    (re.compile(r"[Ll]eader (?P<member>.*) re-joining group during \w+$"), LEADER),
    (
        re.compile(r"Updating metadata for static member (?P<member>.*) with instance id .*$"),
        ("static_member_returned", "protocol_changed"),
    ),
    (
        re.compile(r"Updating metadata for member (?P<member>.*) during \w+$"),
        ("owned_partitions_changed", "subscription_changed"),
    ),
    # Up to Kafka 2.6, also of the leader.
    (
        re.compile(r"Updating metadata for member (?P<member>.*)$"),
        ("owned_partitions_changed", "subscription_changed", *LEADER),
    ),
    (
        re.compile(r"Group's selectedProtocol will change because static member (?P<member>.*) with instance id "),
        ("protocol_changed",),
    ),
    (re.compile(r"Removing (?P<members>.*) on pending sync request expiration$"), ("sync_timed_out",)),
    (re.compile(r"[Ee]rror .*when storing group assignment"), ("assignment_not_stored",)),
    (re.compile(r"Freshly-loaded group .*is over capacity"), ("over_capacity",)),
    (re.compile(r"Downgrade group .* from consumer to classic"), ("protocol_downgraded",)),
    (
        re.compile(r"Member (?P<member>.*) (?:is )?joining group during \w+$"),
        ("consumer_subscribed", "subscription_changed", "owned_partitions_changed", "leader_rejoined"),
    ),
)
_LEAVE_REASON = re.compile(r"[Rr]emoving member (?P<member>.*) on LeaveGroup$")
_LEAVE_REQUEST = re.compile(r"explicit `LeaveGroup` request for \((?P<members>.*)\) members\.?$")
_NO_INSTANCE = {None, "None", "null"}


def reason_fact(reason: str) -> Fact:
    """Return what the reason of a rebalance says; the causes are empty if the reason is not known.

    Example:
        >>> reason_fact("removing member c-1 on heartbeat expiration").causes[0]
        'consumer_dead'
        >>> reason_fact("Removing member c on LeaveGroup; client reason: consumer poll timeout has expired.").causes
        ('poll_interval_exceeded',)
    """
    found = _CLIENT_REASON.match(reason)
    text, client = (found["text"], found["reason"]) if found else (reason, None)
    if found := _ADDED.match(text):
        return Fact(("consumer_subscribed",), (found["member"],), reason)
    if found := _LEAVE_REASON.match(text):
        return Fact(_leave_causes(client, None), (found["member"],), reason)
    if found := _LEAVE_REQUEST.match(text):
        members = _members(found["members"])
        return Fact(_leave_causes(client, None) if members else ("member_removed",), members, reason)
    for pattern, causes in _REASONS:
        if found := pattern.match(text):
            named = found.groupdict()
            members = _members(named["members"]) if "members" in named else tuple(filter(None, [named.get("member")]))
            return Fact(_specific(causes, client), members, reason)
    return Fact((), (), reason)


def _specific(causes: tuple[str, ...], client: str | None) -> tuple[str, ...]:
    """Return the causes that also agree with the reason of the client."""
    if client is not None and "subscription_changed" in causes and client.startswith("subscription has changed"):
        return ("subscription_changed",)
    return causes


def _leave_causes(client: str | None, instance: str | None) -> tuple[str, ...]:
    """Return the causes of a leave. Without a reason of the client, it may have exceeded its poll interval."""
    if client is not None and "poll timeout" in client:
        return (POLL,)
    if client is not None and "removed by an admin" in client:
        return ("member_removed",)
    if instance not in _NO_INSTANCE:
        return (CLOSED, "member_removed")
    if client in {None, "not provided"}:
        return (CLOSED, POLL)
    return (CLOSED,)


def _members(text: str) -> tuple[str, ...]:
    """Return the ids in a list as Java or Scala prints it."""
    inner = re.sub(r"^(?:\w*Set\w*|List|Array\w*)?[(\[{](.*)[)\]}]$", r"\1", text.strip(), flags=re.DOTALL)
    return tuple(each for each in inner.split(", ") if each)


def read_event(text: str) -> Event | None:
    """Return what a message of a group coordinator says about a group; None for another message.

    Example:
        >>> event = read_event("Preparing to rebalance group g with old generation 4 (reason: Adding new member c)")
        >>> event.what, event.group, event.generation, event.fact.causes, event.fact.members
        ('prepare', 'g', 4, ('consumer_subscribed',), ('c',))
    """
    if found := _PREPARE.match(text):
        reason = _REASON.match(text, found.end())
        fact = None if reason is None else reason_fact(reason["reason"])
        return Event("prepare", found["group"], "classic", int(found["generation"]), fact)
    if found := _END.match(text):
        return Event("end", found["stable"] if found["stable"] is not None else found["empty"], "classic")
    leaver, _, client = text.partition(_HAS_LEFT)
    if client and (found := _LEAVER.match(leaver)):
        kind = "consumer" if text.startswith("[GroupId") else "classic"
        fact = Fact(_leave_causes(client, found["instance"]), (found["member"],), text)
        return Event("member" if kind == "consumer" else "leave", found["group"], kind, None, fact)
    for pattern in _LEFT:
        if found := pattern.match(text):
            named = found.groupdict()
            fact = Fact(_leave_causes(named.get("reason"), named.get("instance")), (found["member"],), text)
            return Event("leave", found["group"], "classic", None, fact)
    if found := _FAILED.match(text):
        return Event("fact", found["group"], "classic", None, Fact(EXPIRED, (found["member"],), text))
    if found := _NOT_REJOINED.match(text):
        fact = Fact(("rejoin_timed_out",), _members(found["members"]), text)
        return Event("fact", found["group"], "classic", None, fact)
    if found := _GROUP_ID.match(text):
        return _of_epoch(found["group"], found["member"], found["text"])
    if found := _LOAD.match(text):
        return Event("load", found["old"] if found["old"] is not None else found["new"])
    return None


def _of_epoch(group: str, member: str | None, text: str) -> Event | None:
    """Return what a message says about a group with an epoch."""
    if found := _EPOCH.match(text):
        return Event("epoch", group, "streams" if found["kind"] else "", int(found["epoch"]))
    kind = ""
    causes: tuple[str, ...] = ()
    if found := _JOINS.match(text):
        kind, causes = found["kind"], ("consumer_subscribed",)
    elif found := _REJOINS.match(text):
        kind, causes = found["kind"], ("static_member_returned",)
    elif "temporarily left" in text:
        return None
    elif found := _LEAVES.match(text):
        kind, causes = found["kind"], (CLOSED, POLL)
    elif found := _FENCED.match(text):
        kind = "streams" if found["streams"].startswith("Streams") else ""
        causes = EXPIRED if "session expired" in found["why"] else ("rejoin_timed_out",)
    elif found := _UPDATED.match(text):
        causes = ("subscription_changed",)
    elif found := _CONVERTED.match(text):
        kind = found["new"]
        return Event("member", group, kind, None, Fact((_conversion(kind),), (), text))
    elif _REFRESHED.match(text):
        return Event("member", group, "", None, Fact(TOPICS, (), text))
    if not causes:
        return None
    named = found["member"] if found else None
    return Event("member", group, kind, None, Fact(causes, tuple(filter(None, [named or member])), text))


def _conversion(kind: str) -> str:
    return "protocol_downgraded" if kind == "classic" else "protocol_upgraded"
