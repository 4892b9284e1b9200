"""Draws programs of events for a member, from a seed: valid mostly, hostile sometimes.

What happens next is chosen from what the member has asked for and not yet been given, so that a program makes sense
for every member that does the same. See `runner.py` for what a program is.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.member.resynchronisation import resynchronise
from tests.member.runner import Json, Runner

IDS = {f"00000000-0000-0000-0000-00000000000{number}": name for number, name in enumerate(("a", "B", "a-1", "a.0"), 1)}
MADE_ANEW, SAME_NAME = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-00000000000f"
"""A topic's id before and after it was made anew; no coordinator gives both at once."""

NAMELESS = "ffffffff-0000-0000-8000-000000000000"
"""A topic whose name never arrives, with an id that Java's order puts first (it is negative there)."""

NAMES = {**IDS, SAME_NAME: "a"}

PATTERNS = ("a.*", "[aB]")
START = 1_000_000
"""Kafka's state of requests takes -1 for never, which is not long ago where a clock starts at 0."""

RARE_STATES = {"FENCED", "STALE", "PREPARE_LEAVING", "FATAL"}

LENGTH = 40
"""How many events a program has after its beginning, unless the member becomes FATAL."""

NOT_FOUND_ANY_MORE = (15, 16)
FENCING = (25, 110)
AGAIN = (14, *NOT_FOUND_ANY_MORE)
FOR_GOOD = (-1, 7, 30, 35, 42, 69, 81, 82, 111, 112, 113, 128, 999)
TOPIC_AUTHORIZATION_FAILED = 29


@dataclass
class Drawing:
    """A program as far as it is drawn, and what is outstanding in it."""

    random: random.Random
    options: Json
    at: int = START
    events: list[Json] = field(default_factory=list)
    reports: list[Json] = field(default_factory=list)
    heartbeats: int = 0
    callbacks: int = 0
    commits: int = 0
    unanswered: dict[int, int] = field(default_factory=dict)
    """The epoch of each heartbeat that has no answer."""
    called: list[int] = field(default_factory=list)
    committing: list[int] = field(default_factory=list)
    coordinator: bool = False
    subscribed: str | None = None
    """The kind of subscription: Kafka lets it change between leaving only."""
    named: bool = False
    epoch: int = 0
    target: Json = field(default_factory=dict)
    former: Json = field(default_factory=dict)

    @property
    def state(self) -> str:
        """Where the member stands."""
        return str(self.reports[-1]["state"]) if self.reports else "UNSUBSCRIBED"

    def happened(self, event: Json, report: Json) -> None:
        """Takes in an event and what came of it."""
        self.events.append(event)
        self.reports.append(report)
        if event["type"] in {"resynchronise", "restart"}:
            self._begin_anew(is_new=event["type"] == "restart")
            return
        match event["type"]:
            case "subscribe":
                self.subscribed = "topics" if event["pattern"] is None else "pattern"
            case "leave":
                self.subscribed = None
            case "coordinator":
                self.coordinator = event["known"]
            case "metadata":
                self.named = True
            case "response" | "transport":
                self.unanswered.pop(event["heartbeat"])
                if event.get("error") in NOT_FOUND_ANY_MORE:
                    self.coordinator = False
            case "callback":
                self.called.remove(event["callback"])
            case "commit":
                self.committing.remove(event["commit"])
        for effect in report["effects"]:
            match effect["kind"]:
                case "heartbeat":
                    self.unanswered[self.heartbeats] = effect["request"]["member_epoch"]
                    self.heartbeats += 1
                case "assigned" | "revoked" | "lost":
                    self.called.append(self.callbacks)
                    self.callbacks += 1
                case "commit":
                    self.committing.append(self.commits)
                    self.commits += 1

    def _begin_anew(self, *, is_new: bool) -> None:
        self.heartbeats = self.callbacks = self.commits = 0
        self.unanswered.clear()
        self.called.clear()
        self.committing.clear()
        self.coordinator, self.subscribed = not is_new, None
        self.named = self.named and not is_new
        self.at = self.events[-1]["at"]


def draw(seed: int, start: Callable[[Json], Runner], length: int = LENGTH) -> tuple[Json, list[Json]]:
    """Draws a program while a member runs it.

    Args:
        seed: Of all that is random.
        start: Makes a member of these options.
        length: How many events at most; there are fewer after a fatal error.

    Returns:
        The program, and what the member reported after each event.
    """
    chance = random.Random(seed)
    drawing = Drawing(chance, _options(chance))
    living = start(drawing.options)
    for event in _beginning(chance):
        drawing.happened(event, living.step(event))
    rest = length
    while rest > 0:
        event = _next(drawing)
        report = living.step(event)
        drawing.happened(event, report)
        rest = min(rest, 4) if drawing.state == "FATAL" else rest
        rest -= 1
        if report.get("differs"):
            drawing.happened(*resynchronise(living, drawing.at))
    return {"seed": seed, "options": drawing.options, "events": drawing.events}, drawing.reports


def _options(chance: random.Random) -> Json:
    return {
        "group": "group",
        "instance_id": chance.choice((None, None, "static")),
        "rack_id": chance.choice((None, "rack")),
        "rebalance_timeout_ms": chance.choice((10_000, 60_000, 300_000)),
        "server_assignor": chance.choice((None, None, "range")),
        "auto_commit": chance.random() < 0.4,
        "retry_backoff_ms": chance.choice((100, 100, 30)),
        "retry_backoff_max_ms": chance.choice((1000, 1000, 150)),
    }


def _beginning(chance: random.Random) -> list[Json]:
    """Mostly a client that is ready; what is left out here comes later, or never."""
    found = {"at": START, "type": "coordinator", "known": True}
    names = {"at": START, "type": "metadata", "names": NAMES}
    return [event for event, share in ((found, 0.85), (names, 0.8)) if chance.random() < share]


def _next(drawing: Drawing) -> Json:
    chance, state = drawing.random, drawing.state
    answers = len(drawing.unanswered)
    choices: dict[Callable[[Drawing], Json], float] = {
        _answer: (15 if state in {"STALE", "UNSUBSCRIBED"} else 6) * answers,
        _end_of_callback: (1 if state in RARE_STATES else 4) if drawing.called else 0,
        _end_of_commit: 3 if drawing.committing else 0,
        _poll: (4 if state not in {"FATAL", "PREPARE_LEAVING"} else 0.5) if drawing.subscribed else 0,
        _tick: 0.7,
        _wake: 1.5 if drawing.subscribed and not answers and state not in RARE_STATES else 0.2,
        _pass_poll_interval: 0.2 if drawing.subscribed and state not in RARE_STATES else 0,
        _coordinator: 0.2 if drawing.coordinator else 5,
        _metadata: 0.05 if drawing.named else (4 if state == "RECONCILING" else 0.4),
        _leave: (0.6 if state in RARE_STATES else 0.5) if drawing.subscribed else 0.1,
        # What Kafka does with a subscription that comes while it prepares to leave is among the deliberate differences.
        _subscribe: 0 if state in {"PREPARE_LEAVING", "FATAL"} else (0.3 if drawing.subscribed else 5),
    }
    event = chance.choices(list(choices), list(choices.values()))[0](drawing)
    return {"at": drawing.at, **event}


def _pass(drawing: Drawing) -> None:
    drawing.at += drawing.random.choice((0, 0, 1, 3, 10, 40, 100))


def _answer(drawing: Drawing) -> Json:
    _pass(drawing)
    chance = drawing.random
    number = min(drawing.unanswered) if chance.random() < 0.9 else chance.choice(list(drawing.unanswered))
    sent = drawing.unanswered[number]
    fate = chance.random()
    if fate < 0.05:
        return {"type": "transport", "heartbeat": number, "retriable": chance.random() < 0.85}
    answer = {"type": "response", "heartbeat": number, "error": 0, "message": None, "epoch": 0, "assignment": None}
    answer["interval"] = chance.choice((3000, 3000, 3000, 3000, 5000, 700, 0))
    if fate < 0.17:
        kinds = (FENCING, AGAIN, (TOPIC_AUTHORIZATION_FAILED,), FOR_GOOD)
        error = chance.choice(chance.choices(kinds, (8, 6, 2, 3))[0])
        return {**answer, "error": error, "message": chance.choice((None, "no")), "interval": 0}
    if fate < 0.19 and sent >= 0:
        hostile = chance.choice((drawing.epoch - 1, 0, -1, drawing.epoch + 1000))
        return {**answer, "epoch": hostile, "assignment": chance.choice((None, _assignment(drawing)))}
    if sent < 0:
        return {**answer, "epoch": sent}
    if sent == 0:
        drawing.epoch += chance.choice((1, 1, 7))
        late = chance.random() < 0.1
        return {**answer, "epoch": drawing.epoch, "assignment": None if late else _assignment(drawing)}
    if chance.random() < 0.4:
        drawing.epoch += chance.choice((0, 1, 1, 2))
        return {**answer, "epoch": max(drawing.epoch, sent), "assignment": _assignment(drawing)}
    return {**answer, "epoch": max(drawing.epoch, sent)}


def _assignment(drawing: Drawing) -> Json:
    chance = drawing.random
    kind = chance.random()
    if kind < 0.1:
        return drawing.target
    former = drawing.target
    if kind < 0.35:  # the first step of the protocol: what others are to have is taken away
        drawing.target = {id: kept for id, ids in drawing.target.items() if (kept := [i for i in ids if i % 2])}
    elif kind < 0.4:
        drawing.target = {}
    elif kind < 0.47:  # what was about to be revoked may stay
        both = {**drawing.former, **drawing.target}
        drawing.target = {id: sorted({*ids, *drawing.former.get(id, ids)}) for id, ids in both.items()}
    elif kind < 0.6:
        drawing.target = {**drawing.target, chance.choice(list(IDS)): [0, 1, 5]}
    else:
        topics = chance.sample(list(IDS), chance.randint(1, 3))
        drawing.target = {id: sorted(chance.sample(range(12), chance.randint(1, 4))) for id in topics}
    if chance.random() < 0.03:
        drawing.target = {**drawing.target, NAMELESS: [0]}
    if chance.random() < 0.03 and MADE_ANEW in drawing.target:
        drawing.target = {SAME_NAME if id == MADE_ANEW else id: ids for id, ids in drawing.target.items()}
    elif MADE_ANEW in drawing.target:
        drawing.target = {id: ids for id, ids in drawing.target.items() if id != SAME_NAME}
    drawing.former = former
    return _said_otherwise(drawing)


def _said_otherwise(drawing: Drawing) -> Json:
    """The same partitions in another order now and then, or one of them twice."""
    chance, target = drawing.random, drawing.target
    if not target or chance.random() < 0.9:
        return target
    order = chance.sample(list(target), len(target))
    return {id: chance.sample(target[id], len(target[id])) + target[id][: chance.choice((0, 0, 1))] for id in order}


def _end_of_callback(drawing: Drawing) -> Json:
    _pass(drawing)
    chance = drawing.random
    number = drawing.called[0] if chance.random() < 0.8 else chance.choice(drawing.called)
    return {"type": "callback", "callback": number, "failed": chance.random() < 0.08}


def _end_of_commit(drawing: Drawing) -> Json:
    _pass(drawing)
    chance = drawing.random
    return {"type": "commit", "commit": chance.choice(drawing.committing), "failed": chance.random() < 0.2}


def _poll(drawing: Drawing) -> Json:
    _pass(drawing)
    return {"type": "poll"}


def _tick(drawing: Drawing) -> Json:
    drawing.at += drawing.random.choice((0, 1, 29, 99, 200, 700, 2999))
    return {"type": "tick"}


def _wake(drawing: Drawing) -> Json:
    """Time goes on to when the member wants to be woken, or to just before or after."""
    wake = drawing.reports[-1]["wake"] if drawing.reports else None
    wake = drawing.at + 3000 if wake is None else min(wake, drawing.at + drawing.options["rebalance_timeout_ms"])
    drawing.at = max(drawing.at, wake + drawing.random.choice((-1, 0, 0, 0, 1)))
    return {"type": "tick"}


def _pass_poll_interval(drawing: Drawing) -> Json:
    drawing.at += drawing.options["rebalance_timeout_ms"] + drawing.random.choice((-1, 0, 1))
    return {"type": drawing.random.choice(("tick", "tick", "poll"))}


def _coordinator(drawing: Drawing) -> Json:
    _pass(drawing)
    return {"type": "coordinator", "known": not drawing.coordinator}


def _metadata(drawing: Drawing) -> Json:
    _pass(drawing)
    chance = drawing.random
    if chance.random() < 0.3:
        some = chance.sample(list(IDS), 2)
        return {"type": "metadata", "names": {id: IDS[id] for id in some}}
    return {"type": "metadata", "names": NAMES}


def _leave(drawing: Drawing) -> Json:
    _pass(drawing)
    return {"type": "leave"}


def _subscribe(drawing: Drawing) -> Json:
    _pass(drawing)
    chance = drawing.random
    kind = drawing.subscribed or chance.choice(("topics", "topics", "pattern"))
    if kind == "pattern":
        return {"type": "subscribe", "topics": [], "pattern": chance.choice(PATTERNS)}
    topics = chance.sample(list(IDS.values()), chance.randint(1, 4))
    return {"type": "subscribe", "topics": topics, "pattern": None}
