"""Random sequences of requests of the classic group protocol: requests of clients, and invalid ones.

A step refers to the state of its member when it is played ("its id", "the previous generation"). So a program can be
played again with other member ids, and without some of its steps.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LONG_MS = 120_000
"""Timeout that does not expire while a program is played."""

TOPICS = {"classic-orders": 3, "classic-clicks": 2}
"""Existing topics with their partition counts."""

MISSING_TOPIC = "classic-missing"

ASSIGNORS = ("range", "cooperative-sticky", "roundrobin", "sticky")
CUSTOM = ("Aa", "BB", "höchst", "\U0001f980", "C#", "x" * 40)
"""Protocol names; the first, second and fifth have the same hash code in Java."""

FOREIGN = ("äöüßéè", "абвгде", "\U0001f980\U0001f99e\U0001f990\U0001f991\U0001f419\U0001f41a")


@dataclass(frozen=True)
class Actor:
    """Client that takes part in the group.

    Attributes:
        client_id: Client id in the header of its requests.
        instance_id: Instance id of a static member, else None.
        protocols: Supported protocols with metadata.
        protocol_type: Protocol type.
        session_timeout_ms: Session timeout.
        rebalance_timeout_ms: Rebalance timeout.
    """

    client_id: str
    instance_id: str | None
    protocols: tuple[tuple[str, bytes], ...]
    protocol_type: str = "consumer"
    session_timeout_ms: int = LONG_MS
    rebalance_timeout_ms: int = LONG_MS


@dataclass(frozen=True)
class Step:
    """Request, or a wait.

    Attributes:
        kind: "advance" for the next request of a client; else "join", "sync", "heartbeat", "leave", "commit", "delete"
            or "wait".
        actor: Number of the actor.
        pick: Random number that chooses the version and other details of the request.
        look: Version of the DescribeGroups request after the step.
        odd: Unusual fields of the request, such as ("join.member", "unknown"); see `classic_requests`.
        wait_ms: Duration of a wait; 0 waits until the next timer has expired.
    """

    kind: str
    actor: int = 0
    pick: int = 0
    look: int = 5
    odd: tuple[tuple[str, str], ...] = ()
    wait_ms: int = 0

    def __str__(self) -> str:
        arguments = [f"actor={self.actor}", f"pick={self.pick}"] if self.kind != "wait" else []
        arguments += [f"look={self.look}"]
        arguments += [f"odd={self.odd!r}"] if self.odd else []
        arguments += [f"wait_ms={self.wait_ms}"] if self.wait_ms else []
        return f"Step({', '.join([repr(self.kind), *arguments])})"


@dataclass(frozen=True)
class Program:
    """Sequence of steps of several actors.

    Attributes:
        seed: Seed of the program.
        profile: Name of its profile in `PROFILES`.
        actors: At most six actors.
        steps: The steps in order.
        empty_group_id: True for the group id "", which some requests accept.
    """

    seed: int
    profile: str
    actors: tuple[Actor, ...]
    steps: tuple[Step, ...]
    empty_group_id: bool = False

    def __str__(self) -> str:
        actors = "\n".join(f"  {number}: {actor}" for number, actor in enumerate(self.actors))
        return f"seed {self.seed} ({self.profile})\n{actors}\n" + "\n".join(f"  {step}" for step in self.steps)


@dataclass(frozen=True)
class _Profile:
    """Distribution of random programs: weights of kinds of steps, properties of actors, and rates of unusual fields."""

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
        short_sessions=False,  # sessions of many members would expire together
    ),
    "empty group id": _Profile({"commit": 6, "join": 1, "sync": 1, "heartbeat": 1, "leave": 1}, steps=(8, 12), odd=0.5),
}

ODDITIES: dict[str, dict[str, tuple[str, ...]]] = {
    "join": {
        "member": ("none", "none", "unknown", "other", "earlier"),
        "instance": ("none", "other", "unknown", "empty", "own"),
        "protocols": ("changed", "changed", "twice", "none", "unnamed", "disjoint", "garbage", "reordered", "more"),
        "type": ("connect", "empty"),
        "session": ("low", "high", "negative", "least", "most"),
        "rebalance": ("zero", "negative", "longest"),
        "group": ("empty",),
    },
    "sync": {
        "member": ("none", "unknown", "other", "earlier"),
        "instance": ("none", "other", "unknown"),
        "generation": ("before", "next", "none", "huge"),
        "protocol": ("null", "other name", "other type", "given"),
        "assignments": ("some", "twice", "empty", "garbage", "unknown", "none", "always"),
        "group": ("empty",),
    },
    "heartbeat": {
        "member": ("none", "unknown", "other", "earlier"),
        "instance": ("none", "other", "unknown"),
        "generation": ("before", "next", "none"),
        "group": ("empty",),
    },
    "leave": {
        "member": ("none", "unknown", "other", "earlier"),
        "instance": ("none", "other", "unknown", "own"),
        "batch": ("unknown", "twice", "all", "instances", "mixed", "none"),
        "group": ("empty",),
    },
    "commit": {
        "member": ("none", "unknown", "other", "earlier"),
        "instance": ("none", "other", "unknown"),
        "generation": ("before", "next", "some", "none", "none"),
        "offsets": ("too long", "too long", "null", "no topic", "no partition", "several", "negative", "nothing"),
        "retention": ("short",),
    },
    "delete": {},
    "wait": {},
}
"""Unusual values of a request, by field."""


def subscription(topics: Sequence[str], version: int = 0, user_data: bytes = b"") -> bytes:
    """Return a ConsumerProtocol subscription; versions 1 to 3 lack the fields after the user data."""
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in topics)
    return struct.pack(">hi", version, len(topics)) + names + struct.pack(">i", len(user_data)) + user_data


_ORDERS = (("range", subscription(["classic-orders"])),)

RARE = Program(
    -1,
    "rare errors",
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
        Step("leave", 0, 1, odd=(("leave.member", "unknown"),)),
        Step("delete", pick=2),
    ),
)
"""Program with errors that every run must contain, and that random programs may lack."""

RETURNING = Program(
    -2,
    "a returning static leader",
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
"""Program in which static members rejoin a Stable group, with every request version that has instance ids."""

ABSENT = Program(
    -3,
    "a static member that does not rejoin in time, and equal votes for two protocols",
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
"""Program in which a static member stays in the group without joining, until it also misses the sync phase."""

SCRIPTED = (RARE, RETURNING, ABSENT)


def draw(seed: int) -> Program:
    """Return the random program of a seed."""
    profile = list(PROFILES)[seed % len(PROFILES)]
    random_ = random.Random(f"classic {seed}")
    settings = PROFILES[profile]
    actors = _actors(random_, settings)
    steps = []
    if "commit" in settings.weights and random_.random() < 0.3:
        steps.append(Step("commit", 0, random_.randrange(1000), random_.randrange(7), (("commit.generation", "some"),)))
    for _ in range(random_.randint(*settings.steps)):
        (kind,) = random_.choices(list(settings.weights), list(settings.weights.values()))
        steps.append(_step(random_, kind, len(actors), settings))
    if settings.short:
        steps.append(Step("wait", look=random_.randrange(7)))
    return Program(seed, profile, actors, tuple(steps), empty_group_id=profile == "empty group id")


def _actors(random_: random.Random, settings: _Profile) -> tuple[Actor, ...]:
    names = CUSTOM if random_.random() < 0.25 else ASSIGNORS
    kind = "connect" if random_.random() < 0.1 else "consumer"
    number = random_.randint(*settings.actors)
    return tuple(_actor(random_, each, settings, names, kind) for each in range(number))


def _actor(random_: random.Random, number: int, settings: _Profile, names: Sequence[str], kind: str) -> Actor:
    letter = random_.choice(FOREIGN)[number] if random_.random() < 0.15 else "abcdef"[number]
    offered = random_.choice((list(names[:1]), list(names[:2]), random_.sample(names, random_.randint(1, len(names)))))
    if names[0] not in offered and random_.random() < 0.8:
        offered.append(names[0])
    random_.shuffle(offered)
    wanted = random_.sample(list(TOPICS), random_.randint(1, 2))
    metadata = subscription(wanted, random_.randrange(4), random_.choice((b"", letter.encode())))
    session, rebalance = LONG_MS + number, LONG_MS + 1000 * number
    if random_.random() < settings.short:
        # Different timeouts, so that timers that start together do not expire together.
        which = random_.randrange(3) if settings.short_sessions else 1
        session = 500 + 130 * number if which != 1 else session
        rebalance = 560 + 130 * number if which != 0 else rebalance
    return Actor(
        client_id=f"client-{letter}" if random_.random() < 0.95 else "",
        instance_id=f"inst-{letter}" if random_.random() < settings.static else None,
        protocols=tuple((name, metadata) for name in offered),
        protocol_type=kind,
        session_timeout_ms=session,
        rebalance_timeout_ms=rebalance,
    )


def _step(random_: random.Random, kind: str, actors: int, settings: _Profile) -> Step:
    oddities = list(settings.always)
    if random_.random() < settings.odd:
        # The request of "advance" is known only when it is played, so choose unusual fields for each possible one.
        kinds = ("join", "sync", "heartbeat") if kind == "advance" else (kind,)
        for each in kinds:
            possible = dict(ODDITIES[each])
            if random_.random() < 0.7:
                possible.pop("group", None)  # an empty group id mostly gives the same error
            names = random_.sample(list(possible), min(len(possible), random_.choice((1, 1, 1, 2))))
            oddities += [(f"{each}.{name}", random_.choice(possible[name])) for name in names]
    wait_ms = random_.choice((0, 0, 0, 200)) if kind == "wait" else 0
    actor, pick, look = random_.randrange(actors), random_.randrange(1000), random_.randrange(7)
    return Step(kind, actor, pick, look, tuple(oddities), wait_ms)
