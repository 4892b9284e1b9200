"""The shortest program of each deliberate difference: Kafka's member differs in the last event.

`comparison.py` names the differences and has their conditions.
"""

from __future__ import annotations

from tests.member.programs import NAMES, OLD_ID, START
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
    """Return an answer whose assignment has partitions of one topic."""
    return {
        "type": "response",
        "heartbeat": heartbeat,
        "error": error,
        "message": None,
        "epoch": epoch,
        "assignment": None if ids is None else {OLD_ID: ids},
        "interval": INTERVAL,
    }


def transport(heartbeat: int) -> Json:
    return {"type": "transport", "heartbeat": heartbeat, "retriable": True}


def callback(number: int, *, failed: bool = False) -> Json:
    return {"type": "callback", "callback": number, "failed": failed}


JOINING = (coordinator(), names(), subscribe(), poll())
"""Program in which heartbeat 0 is in flight."""

STABLE = (*JOINING, response(0, 5, [0]), callback(0))
"""Program in which heartbeat 1 is in flight."""

DIFFERENCES: dict[str, tuple[Json, ...]] = {
    "Kafka acknowledges a partly resolved assignment repeatedly": (
        coordinator(),
        subscribe(),
        poll(),
        response(0, 5, [0]),
        callback(0),
    ),
    "Kafka forgets the partitions of a failed onPartitionsAssigned": (
        *JOINING,
        response(0, 5, [0]),
        callback(0, failed=True),
    ),
    "Kafka completes a leave before the answer to its heartbeat": (*JOINING, leave(), transport(0)),
    "Kafka drops a subscription made before a leave has released all partitions": (*STABLE, leave(), subscribe()),
    "Kafka applies an assignment from before the last join": (
        *JOINING,
        wait(MAX_POLL),
        poll(),
        response(0, 5, [0]),
    ),
    "Kafka joins after the application unsubscribed": (*STABLE, wait(MAX_POLL), poll(), leave(), callback(1)),
    "Kafka applies the answer to a heartbeat of an earlier join": (
        *JOINING,
        wait(MAX_POLL),
        poll(),
        response(0, 0, error=25),
    ),
    "Kafka applies the answer to an overtaken heartbeat as the answer to the last one": (
        *JOINING,
        leave(),
        response(0, 5),
        subscribe(),
        poll(),
    ),
    "Kafka retries after a failed callback without a poll": (
        *STABLE,
        response(1, 6, [1]),
        poll(),
        wait(INTERVAL),
        response(2, 7, [0, 1]),
        callback(1, failed=True),
    ),
    "Kafka accepts an older epoch": (*STABLE, response(1, 4)),
    "Kafka joins while onPartitionsLost of a fenced member still runs": (
        *STABLE,
        response(1, 0, error=110),
        leave(),
        subscribe(),
        poll(),
    ),
    "Kafka keeps fetching partitions that a leaving member without an epoch loses": (
        *JOINING,
        response(0, 0, [0]),
        leave(),
    ),
    "Kafka forgets a leave if its heartbeat is answered after the next join": (
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
    """Return the program of a difference, with one millisecond between events."""
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
