"""Random programs of events for a member, drawn from a seed: mostly valid, sometimes hostile.

Answers are drawn only for requests of the member that have none yet, so that a program is valid for every member with
the same behaviour. `runner.py` describes programs.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.member.resynchronisation import resynchronise
from tests.member.runner import Json, Runner

IDS = {f"00000000-0000-0000-0000-00000000000{number}": name for number, name in enumerate(("a", "B", "a-1", "a.0"), 1)}
OLD_ID, NEW_ID = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-00000000000f"
"""Ids of a topic before and after it was deleted and created again; an assignment has only one of them."""

UNNAMED = "ffffffff-0000-0000-8000-000000000000"
"""Id of a topic whose name never arrives; it is negative in Java, and so the first in Java's order."""

NAMES = {**IDS, NEW_ID: "a"}

PATTERNS = ("a.*", "[aB]")
START = 1_000_000
"""Start time. Kafka's request state uses -1 for never, so a clock must not start near 0."""

RARE_STATES = {"FENCED", "STALE", "PREPARE_LEAVING", "FATAL"}

LENGTH = 40
"""Number of events after the first ones, unless the member becomes FATAL."""

COORDINATOR_ERRORS = (15, 16)
FENCING = (25, 110)
RETRIABLE = (14, *COORDINATOR_ERRORS)
FATAL_ERRORS = (-1, 7, 30, 35, 42, 69, 81, 82, 111, 112, 113, 128, 999)
TOPIC_AUTHORIZATION_FAILED = 29


@dataclass
class Drawing:
    """A program up to the last drawn event, and the requests without an answer."""

    random: random.Random
    options: Json
    at: int = START
    events: list[Json] = field(default_factory=list)
    reports: list[Json] = field(default_factory=list)
    heartbeats: int = 0
    callbacks: int = 0
    commits: int = 0
    unanswered: dict[int, int] = field(default_factory=dict)
    """Epoch of each heartbeat without an answer."""
    called: list[int] = field(default_factory=list)
    committing: list[int] = field(default_factory=list)
    coordinator: bool = False
    subscribed: str | None = None
    """Kind of the subscription; Kafka allows another kind only after a leave."""
    named: bool = False
    epoch: int = 0
    target: Json = field(default_factory=dict)
    former: Json = field(default_factory=dict)

    @property
    def state(self) -> str:
        """State of the member."""
        return str(self.reports[-1]["state"]) if self.reports else "UNSUBSCRIBED"

    def add(self, event: Json, report: Json) -> None:
        """Add an event and its report."""
        self.events.append(event)
        self.reports.append(report)
        if event["type"] in {"resynchronise", "restart"}:
            self._restart(is_new=event["type"] == "restart")
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
                if event.get("error") in COORDINATOR_ERRORS:
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

    def _restart(self, *, is_new: bool) -> None:
        self.heartbeats = self.callbacks = self.commits = 0
        self.unanswered.clear()
        self.called.clear()
        self.committing.clear()
        self.coordinator, self.subscribed = not is_new, None
        self.named = self.named and not is_new
        self.at = self.events[-1]["at"]


def draw(seed: int, start: Callable[[Json], Runner], length: int = LENGTH) -> tuple[Json, list[Json]]:
    """Draw a program while a member runs it.

    Args:
        seed: Seed of all random choices.
        start: Starts a member with these options.
        length: Number of events, unless there is a fatal error.

    Returns:
        The program, and the report of the member after each event.
    """
    chance = random.Random(seed)
    drawing = Drawing(chance, _options(chance))
    living = start(drawing.options)
    for event in _beginning(chance):
        drawing.add(event, living.step(event))
    rest = length
    while rest > 0:
        event = _next(drawing)
        report = living.step(event)
        drawing.add(event, report)
        rest = min(rest, 4) if drawing.state == "FATAL" else rest
        rest -= 1
        if report.get("differs"):
            drawing.add(*resynchronise(living, drawing.at))
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
    """Return the first events, which usually make the client ready; omitted ones come later, or never."""
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
        # A subscription in PREPARE_LEAVING is one of the deliberate differences.
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
        kinds = (FENCING, RETRIABLE, (TOPIC_AUTHORIZATION_FAILED,), FATAL_ERRORS)
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
    if kind < 0.35:  # the first step of the protocol: the member loses partitions for other members
        drawing.target = {id: kept for id, ids in drawing.target.items() if (kept := [i for i in ids if i % 2])}
    elif kind < 0.4:
        drawing.target = {}
    elif kind < 0.47:  # partitions that were to be revoked may stay
        both = {**drawing.former, **drawing.target}
        drawing.target = {id: sorted({*ids, *drawing.former.get(id, ids)}) for id, ids in both.items()}
    elif kind < 0.6:
        drawing.target = {**drawing.target, chance.choice(list(IDS)): [0, 1, 5]}
    else:
        topics = chance.sample(list(IDS), chance.randint(1, 3))
        drawing.target = {id: sorted(chance.sample(range(12), chance.randint(1, 4))) for id in topics}
    if chance.random() < 0.03:
        drawing.target = {**drawing.target, UNNAMED: [0]}
    if chance.random() < 0.03 and OLD_ID in drawing.target:
        drawing.target = {NEW_ID if id == OLD_ID else id: ids for id, ids in drawing.target.items()}
    elif OLD_ID in drawing.target:
        drawing.target = {id: ids for id, ids in drawing.target.items() if id != NEW_ID}
    drawing.former = former
    return _reordered(drawing)


def _reordered(drawing: Drawing) -> Json:
    """Return the target, sometimes in another order or with a duplicate partition."""
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
    """Advance to the time at which the member wants to wake, or one millisecond before or after."""
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
