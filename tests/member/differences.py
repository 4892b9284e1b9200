"""The shortest program of each deliberate difference: its last event is where Kafka's member does something else.

`comparison.py` names the differences and tells where each applies.
"""

from __future__ import annotations

from tests.member.programs import MADE_ANEW, NAMES, START
from tests.member.runner import Json

MAX_POLL = 300_000
INTERVAL = 3000


def coordinator() -> Json:
    return {"type": "coordinator", "known": True}


def names() -> Json:
    return {"type": "metadata", "names": NAMES}


def subscribe() -> Json:
    return {"type": "subscribe", "topics": ["a"], "pattern": None}


def poll() -> Json:
    return {"type": "poll"}


def leave() -> Json:
    return {"type": "leave"}


def wait(milliseconds: int) -> Json:
    return {"type": "tick", "after": milliseconds}


def response(heartbeat: int, epoch: int, ids: list[int] | None = None, error: int = 0) -> Json:
    """An answer; the assignment is partitions of one topic."""
    return {
        "type": "response",
        "heartbeat": heartbeat,
        "error": error,
        "message": None,
        "epoch": epoch,
        "assignment": None if ids is None else {MADE_ANEW: ids},
        "interval": INTERVAL,
    }


def transport(heartbeat: int) -> Json:
    return {"type": "transport", "heartbeat": heartbeat, "retriable": True}


def callback(number: int, *, failed: bool = False) -> Json:
    return {"type": "callback", "callback": number, "failed": failed}


JOINING = (coordinator(), names(), subscribe(), poll())
"""Heartbeat 0 is under way."""

STABLE = (*JOINING, response(0, 5, [0]), callback(0))
"""Heartbeat 1 is under way."""

DIFFERENCES: dict[str, tuple[Json, ...]] = {
    "Kafka acknowledges in a loop what is partly resolved": (
        coordinator(),
        subscribe(),
        poll(),
        response(0, 5, [0]),
        callback(0),
    ),
    "Kafka forgets what a failed onPartitionsAssigned was called with": (
        *JOINING,
        response(0, 5, [0]),
        callback(0, failed=True),
    ),
    "Kafka completes a leave before its heartbeat is answered": (*JOINING, leave(), transport(0)),
    "Kafka drops a subscription that comes before a leave has released all": (*STABLE, leave(), subscribe()),
    "Kafka takes an assignment that was given before the last join": (
        *JOINING,
        wait(MAX_POLL),
        poll(),
        response(0, 5, [0]),
    ),
    "Kafka joins after the application unsubscribed": (*STABLE, wait(MAX_POLL), poll(), leave(), callback(1)),
    "Kafka takes an answer to a heartbeat of an earlier join": (
        *JOINING,
        wait(MAX_POLL),
        poll(),
        response(0, 0, error=25),
    ),
    "Kafka takes the answer to an overtaken heartbeat for that to the last one": (
        *JOINING,
        leave(),
        response(0, 5),
        subscribe(),
        poll(),
    ),
    "Kafka tries again without a poll what a failed callback kept from happening": (
        *STABLE,
        response(1, 6, [1]),
        poll(),
        wait(INTERVAL),
        response(2, 7, [0, 1]),
        callback(1, failed=True),
    ),
    "Kafka goes back to an older epoch": (*STABLE, response(1, 4)),
    "Kafka joins while the onPartitionsLost of a member that was fenced still runs": (
        *STABLE,
        response(1, 0, error=110),
        leave(),
        subscribe(),
        poll(),
    ),
    "Kafka goes on fetching what a member without an epoch loses as it leaves": (
        *JOINING,
        response(0, 0, [0]),
        leave(),
    ),
    "Kafka forgets a leave whose heartbeat is answered after the next join": (
        *STABLE,
        response(1, 5),
        leave(),
        callback(1),
        subscribe(),
        poll(),
        wait(MAX_POLL),
        response(2, -1),
    ),
}


def program(difference: str) -> Json:
    """The program of a difference, a millisecond from one event to the next."""
    at = START
    events = []
    for event in DIFFERENCES[difference]:
        at += event.get("after", 1)
        events.append({"at": at, **{name: value for name, value in event.items() if name != "after"}})
    options = {
        "group": "group",
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout_ms": MAX_POLL,
        "server_assignor": None,
        "auto_commit": False,
        "retry_backoff_ms": 100,
        "retry_backoff_max_ms": 1000,
    }
    return {"difference": difference, "options": options, "events": events}
