"""Sequences of requests of the classic group protocol, drawn from a seed: what clients do, and what none would.

A step says who asks what in terms of what the member knows when its turn comes ("its id", "the generation before"), so
that a program can be played again with other member ids, and without some of its steps.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LONG_MS = 120_000
"""A timeout that does not end while a program is played."""

TOPICS = {"classic-orders": 3, "classic-clicks": 2}
"""The topics that exist, and their partitions."""

MISSING_TOPIC = "classic-missing"

ASSIGNORS = ("range", "cooperative-sticky", "roundrobin", "sticky")
CUSTOM = ("Aa", "BB", "höchst", "\U0001f980", "C#", "x" * 40)
"""Names of protocols; the first two, and the fifth, have one hash code in Java."""

FOREIGN = ("äöüßéè", "абвгде", "\U0001f980\U0001f99e\U0001f990\U0001f991\U0001f419\U0001f41a")


@dataclass(frozen=True)
class Actor:
    """Somebody who is, or would like to be, a member.

    Attributes:
        client_id: As the header of its requests has it.
        instance_id: Of a static member.
        protocols: What it offers, with metadata.
        protocol_type: Of the group it wants.
        session_timeout_ms: Its session.
        rebalance_timeout_ms: How long the others are to wait for it.
    """

    client_id: str
    instance_id: str | None
    protocols: tuple[tuple[str, bytes], ...]
    protocol_type: str = "consumer"
    session_timeout_ms: int = LONG_MS
    rebalance_timeout_ms: int = LONG_MS


@dataclass(frozen=True)
class Step:
    """One request, or a wait.

    Attributes:
        kind: "advance" is what a client would do next; else "join", "sync", "heartbeat", "leave", "commit", "delete" or
            "wait".
        actor: Who, by number.
        pick: Chooses the version, among those of the request.
        look: The version of DescribeGroups with which the group is looked at afterwards.
        odd: What is not as a client would have it, such as ("join.member", "nobody"); see `classic_requests`.
        wait_ms: How long; 0 is until the next timer has ended.
    """

    kind: str
    actor: int = 0
    pick: int = 0
    look: int = 5
    odd: tuple[tuple[str, str], ...] = ()
    wait_ms: int = 0

    def __str__(self) -> str:
        said = [f"actor={self.actor}", f"pick={self.pick}"] if self.kind != "wait" else []
        said += [f"look={self.look}"]
        said += [f"odd={self.odd!r}"] if self.odd else []
        said += [f"wait_ms={self.wait_ms}"] if self.wait_ms else []
        return f"Step({', '.join([repr(self.kind), *said])})"


@dataclass(frozen=True)
class Program:
    """Actors and their steps.

    Attributes:
        seed: From which it was drawn.
        profile: What it is mostly about.
        actors: At most six.
        steps: In their order.
        empty_group_id: Whether it is about the group whose id is "", which some requests accept.
    """

    seed: int
    profile: str
    actors: tuple[Actor, ...]
    steps: tuple[Step, ...]
    empty_group_id: bool = False

    def without(self, first: int, count: int) -> Program:
        """Leave some steps out."""
        return replace(self, steps=self.steps[:first] + self.steps[first + count :])

    def __str__(self) -> str:
        actors = "\n".join(f"  {number}: {actor}" for number, actor in enumerate(self.actors))
        return f"seed {self.seed} ({self.profile})\n{actors}\n" + "\n".join(f"  {step}" for step in self.steps)


@dataclass(frozen=True)
class _Profile:
    """How programs are drawn: the weight of each kind of step, how actors are, and what is odd about every step."""

    weights: dict[str, int]
    actors: tuple[int, int] = (2, 4)
    steps: tuple[int, int] = (14, 26)
    static: float = 0.2
    short: float = 0.0
    odd: float = 0.15
    always: tuple[tuple[str, str], ...] = ()
    short_sessions: bool = True


PROFILES: dict[str, _Profile] = {
    "clients": _Profile({"advance": 30, "commit": 3, "leave": 2, "join": 2}, odd=0.05),
    "crowd": _Profile({"advance": 20, "join": 3, "leave": 1}, actors=(6, 6), steps=(24, 34), odd=0.05),
    "static": _Profile({"advance": 20, "join": 6, "leave": 3, "sync": 2, "heartbeat": 2, "commit": 1}, static=0.8),
    "timers": _Profile({"advance": 20, "wait": 4, "commit": 1, "join": 1, "heartbeat": 2}, short=0.7, odd=0.05),
    "static timers": _Profile({"advance": 20, "wait": 4, "join": 3, "leave": 1}, static=0.8, short=0.7, odd=0.05),
    "pending": _Profile({"advance": 8, "join": 10, "leave": 3, "wait": 1, "sync": 1}, short=0.2, odd=0.3),
    "hostile": _Profile(
        {"advance": 14, "join": 8, "sync": 6, "heartbeat": 5, "leave": 5, "commit": 5, "delete": 2}, static=0.4, odd=0.6
    ),
    "protocols": _Profile({"advance": 20, "join": 8, "sync": 2, "leave": 1}, odd=0.4),
    "commits": _Profile({"advance": 12, "commit": 12, "leave": 3, "delete": 3}, static=0.3, odd=0.5),
    "batches": _Profile({"advance": 22, "leave": 8, "join": 1}, actors=(3, 6), static=0.5, odd=0.5),
    "short rebalances": _Profile({"advance": 22, "wait": 3, "join": 3}, static=0.3, short=0.9, odd=0.02),
    "many": _Profile(
        {"advance": 4, "join": 20, "wait": 2},
        actors=(6, 6),
        steps=(26, 36),
        static=0.0,
        short=0.6,
        odd=0.0,
        always=(("join.member", "none"),),
        short_sessions=False,  # those of many members would end together
    ),
    "empty group id": _Profile({"commit": 6, "join": 1, "sync": 1, "heartbeat": 1, "leave": 1}, steps=(8, 12), odd=0.5),
}

ODDITIES: dict[str, dict[str, tuple[str, ...]]] = {
    "join": {
        "member": ("none", "none", "nobody", "other", "earlier"),
        "instance": ("none", "other", "unknown", "empty", "own"),
        "protocols": ("changed", "changed", "twice", "none", "unnamed", "disjoint", "garbage", "reordered", "more"),
        "type": ("connect", "empty"),
        "session": ("low", "high", "negative", "least", "most"),
        "rebalance": ("zero", "negative", "longest"),
        "group": ("empty",),
    },
    "sync": {
        "member": ("none", "nobody", "other", "earlier"),
        "instance": ("none", "other", "unknown"),
        "generation": ("before", "next", "none", "huge"),
        "protocol": ("null", "other name", "other type", "given"),
        "assignments": ("some", "twice", "empty", "garbage", "nobody", "none", "always"),
        "group": ("empty",),
    },
    "heartbeat": {
        "member": ("none", "nobody", "other", "earlier"),
        "instance": ("none", "other", "unknown"),
        "generation": ("before", "next", "none"),
        "group": ("empty",),
    },
    "leave": {
        "member": ("none", "nobody", "other", "earlier"),
        "instance": ("none", "other", "unknown", "own"),
        "batch": ("nobody", "twice", "everybody", "instances", "mixed", "none"),
        "group": ("empty",),
    },
    "commit": {
        "member": ("none", "nobody", "other", "earlier"),
        "instance": ("none", "other", "unknown"),
        "generation": ("before", "next", "some", "none", "none"),
        "offsets": ("too long", "too long", "null", "no topic", "no partition", "several", "negative", "nothing"),
        "retention": ("short",),
    },
    "delete": {},
    "wait": {},
}
"""What can be odd about a request, by field."""


def subscription(topics: Sequence[str], version: int = 0, user_data: bytes = b"") -> bytes:
    """Give a subscription of the consumer protocol; of later versions without what they add at the end."""
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in topics)
    return struct.pack(">hi", version, len(topics)) + names + struct.pack(">i", len(user_data)) + user_data


_ORDERS = (("range", subscription(["classic-orders"])),)

RARE = Program(
    -1,
    "what is rarely drawn",
    (Actor("client-a", "inst-a", _ORDERS), Actor("client-b", None, _ORDERS)),
    (
        Step("delete", pick=0, look=6),
        Step("delete", pick=1),
        Step("delete", pick=2),
        Step("commit", 1, 7 * 8, odd=(("commit.generation", "some"),)),
        Step("commit", 1, 8 * 8, odd=(("commit.generation", "some"),)),
        Step("commit", 1, 4 * 8, odd=(("commit.generation", "some"),)),
        Step("commit", 1, 3 * 8, odd=(("commit.offsets", "too long"),)),
        Step("commit", 1, 7 * 8, odd=(("commit.offsets", "no topic"),)),
        *(Step("commit", 1, version * 8, odd=(("commit.offsets", "no partition"),)) for version in range(9)),
        Step("delete", pick=1),
        Step("join", 0, 1),
        Step("leave", 0, 1, odd=(("leave.member", "nobody"),)),
        Step("delete", pick=2),
    ),
)
"""Errors that a run must show, and that chance may leave out."""

RETURNS = Program(
    -2,
    "a static leader that comes back",
    (Actor("client-a", "inst-a", _ORDERS), Actor("client-b", "inst-b", _ORDERS)),
    (
        Step("join", 0, 1),
        Step("join", 1, 1),
        Step("join", 0, 1),
        Step("advance", 0, 1),
        Step("advance", 1, 1),
        *(
            Step(kind, actor, 8 * version + 1, odd=odd)
            for version in range(5)
            for actor in (0, 1)
            for kind, odd in (("join", (("join.member", "none"),)), ("advance", ()), ("advance", ()))
        ),
        Step("join", 0, 1, odd=(("join.member", "none"), ("join.protocols", "more"))),
    ),
)
"""With every version that knows static members, while the group is Stable."""

ABSENT = Program(
    -3,
    "a static member that does not join in time, and as many votes for two protocols",
    (
        Actor("client-a", "inst-a", (*_ORDERS, ("cooperative-sticky", b"")), rebalance_timeout_ms=600),
        Actor("client-b", None, (("cooperative-sticky", b""), *_ORDERS), rebalance_timeout_ms=700),
    ),
    (
        Step("join", 0, 1),
        Step("join", 1, 3 * 8),
        Step("join", 0, 1),
        Step("heartbeat", 0, 1),
        Step("commit", 1, 3 * 8),
        Step("advance", 0, 1),
        Step("advance", 1, 8),
        Step("join", 1, 3 * 8, odd=(("join.protocols", "changed"),)),
        Step("commit", 1, 3 * 8),
        Step("wait"),
        Step("advance", 1, 8),
        Step("wait"),
        Step("advance", 1, 8),
    ),
)
"""The others go on with it, until it has not asked for its assignment either."""

SCRIPTED = (RARE, RETURNS, ABSENT)


def draw(seed: int) -> Program:
    """Draw a program."""
    profile = list(PROFILES)[seed % len(PROFILES)]
    random_ = random.Random(f"classic {seed}")
    drawn = PROFILES[profile]
    actors = _actors(random_, drawn)
    steps = []
    if "commit" in drawn.weights and random_.random() < 0.3:
        steps.append(Step("commit", 0, random_.randrange(1000), random_.randrange(7), (("commit.generation", "some"),)))
    for _ in range(random_.randint(*drawn.steps)):
        (kind,) = random_.choices(list(drawn.weights), list(drawn.weights.values()))
        steps.append(_step(random_, kind, len(actors), drawn))
    if drawn.short:
        steps.append(Step("wait", look=random_.randrange(7)))
    return Program(seed, profile, actors, tuple(steps), empty_group_id=profile == "empty group id")


def _actors(random_: random.Random, drawn: _Profile) -> tuple[Actor, ...]:
    names = CUSTOM if random_.random() < 0.25 else ASSIGNORS
    kind = "connect" if random_.random() < 0.1 else "consumer"
    number = random_.randint(*drawn.actors)
    return tuple(_actor(random_, each, drawn, names, kind) for each in range(number))


def _actor(random_: random.Random, number: int, drawn: _Profile, names: Sequence[str], kind: str) -> Actor:
    letter = random_.choice(FOREIGN)[number] if random_.random() < 0.15 else "abcdef"[number]
    offered = random_.choice((list(names[:1]), list(names[:2]), random_.sample(names, random_.randint(1, len(names)))))
    if names[0] not in offered and random_.random() < 0.8:
        offered.append(names[0])
    random_.shuffle(offered)
    wanted = random_.sample(list(TOPICS), random_.randint(1, 2))
    metadata = subscription(wanted, random_.randrange(4), random_.choice((b"", letter.encode())))
    session, rebalance = LONG_MS + number, LONG_MS + 1000 * number
    if random_.random() < drawn.short:
        # Far from each other, so that no two of them end together where they begin together.
        which = random_.randrange(3) if drawn.short_sessions else 1
        session = 500 + 130 * number if which != 1 else session
        rebalance = 560 + 130 * number if which != 0 else rebalance
    return Actor(
        client_id=f"client-{letter}" if random_.random() < 0.95 else "",
        instance_id=f"inst-{letter}" if random_.random() < drawn.static else None,
        protocols=tuple((name, metadata) for name in offered),
        protocol_type=kind,
        session_timeout_ms=session,
        rebalance_timeout_ms=rebalance,
    )


def _step(random_: random.Random, kind: str, actors: int, drawn: _Profile) -> Step:
    oddities = list(drawn.always)
    if random_.random() < drawn.odd:
        # Which request it comes to is only known when it is played, so there is an oddity for each.
        kinds = ("join", "sync", "heartbeat") if kind == "advance" else (kind,)
        for each in kinds:
            possible = dict(ODDITIES[each])
            if random_.random() < 0.7:
                possible.pop("group", None)  # there is little to be seen in that
            names = random_.sample(list(possible), min(len(possible), random_.choice((1, 1, 1, 2))))
            oddities += [(f"{each}.{name}", random_.choice(possible[name])) for name in names]
    wait_ms = random_.choice((0, 0, 0, 200)) if kind == "wait" else 0
    actor, pick, look = random_.randrange(actors), random_.randrange(1000), random_.randrange(7)
    return Step(kind, actor, pick, look, tuple(oddities), wait_ms)
