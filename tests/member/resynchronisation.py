"""Resynchronisation: returns the members of a program to a known state, so that their comparison can continue.

A resynchronisation is one event of a program. Each member leaves the group, joins it with successful answers, and
leaves again, until it is UNSUBSCRIBED, nothing is pending and no interval or backoff runs. Heartbeats, callbacks and
commits are then numbered from 0 again. A FATAL member cannot be resynchronised; a new one replaces it. This is a
restart, also an event of the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.member.runner import Json, Runner

if TYPE_CHECKING:
    from collections.abc import Callable

INTERVAL = 3000
"""Heartbeat interval in the last answer to both members."""

DURATION = 20_000
"""Duration of a resynchronisation, longer than its steps and than any interval or backoff of a program."""

_MOST_STEPS = 100


class ResynchronisationError(Exception):
    """Error for a member that cannot be resynchronised: it is FATAL, or does not become UNSUBSCRIBED."""


class Resynchronised:
    """A member that can be resynchronised and restarted.

    Args:
        start: Function that starts the member; called again for each restart.
    """

    def __init__(self, start: Callable[[], Runner]) -> None:
        self._start = start
        self._begin()

    def _begin(self) -> None:
        self._living = self._start()
        self._bases = dict.fromkeys(("heartbeat", "callback", "commit"), 0)
        self._counts = dict(self._bases)
        self._heartbeats: dict[int, int] = {}
        """The epoch of each heartbeat that has no answer."""
        self._callbacks: list[int] = []
        self._commits: list[int] = []
        self._state = "UNSUBSCRIBED"

    def step(self, event: Json) -> Json:
        """Pass an event of the program to the member, and return its report.

        Raises:
            ResynchronisationError: The event is a resynchronisation that failed.
        """
        if event["type"] == "resynchronise":
            return self._resynchronise(event["at"])
        if event["type"] == "restart":
            self._begin()
            return self._step({**event, "type": "tick"})
        numbered = {name: event[name] + base for name, base in self._bases.items() if name in event}
        return self._step({**event, **numbered})

    def _step(self, event: Json) -> Json:
        report = self._living.step(event)
        if event["type"] in {"response", "transport"}:
            self._heartbeats.pop(event["heartbeat"], None)
        if event["type"] == "callback" and event["callback"] in self._callbacks:
            self._callbacks.remove(event["callback"])
        if event["type"] == "commit" and event["commit"] in self._commits:
            self._commits.remove(event["commit"])
        for effect in report["effects"]:
            match effect["kind"]:
                case "heartbeat":
                    self._heartbeats[self._next("heartbeat")] = effect["request"]["member_epoch"]
                case "assigned" | "revoked" | "lost":
                    self._callbacks.append(self._next("callback"))
                case "commit":
                    self._commits.append(self._next("commit"))
        self._state = report["state"]
        return report

    def _next(self, kind: str) -> int:
        self._counts[kind] += 1
        return self._counts[kind] - 1

    def _resynchronise(self, end: int) -> Json:
        begin = end - DURATION
        self._step({"at": begin, "type": "coordinator", "known": True})
        self._leave(begin)
        self._step({"at": begin, "type": "subscribe", "topics": ["a"], "pattern": None})
        self._step({"at": begin, "type": "poll"})
        self._leave(begin)
        self._bases = dict(self._counts)
        return self._step({"at": end, "type": "tick"})

    def _leave(self, at: int) -> None:
        """Leave the group from any state, and answer everything that is pending."""
        self._step({"at": at, "type": "leave"})
        for _ in range(_MOST_STEPS):
            if self._state == "FATAL":
                raise ResynchronisationError("the member is FATAL")
            if self._callbacks:
                self._step({"at": at, "type": "callback", "callback": self._callbacks[0], "failed": False})
            elif self._commits:
                self._step({"at": at, "type": "commit", "commit": self._commits[0], "failed": False})
            elif self._heartbeats:
                number, epoch = next(iter(self._heartbeats.items()))
                self._step(_answer(at, number, epoch))
            elif self._state == "STALE":  # only a subscription and a poll lead out of STALE, into a new join
                self._step({"at": at, "type": "subscribe", "topics": ["a"], "pattern": None})
                self._step({"at": at, "type": "poll"})
                self._step({"at": at, "type": "leave"})
            elif self._state != "UNSUBSCRIBED":
                self._step({"at": at, "type": "leave"})
            else:
                return
        raise ResynchronisationError(f"the member stays in {self._state}")


def resynchronise(living: Runner, at: int) -> tuple[Json, Json]:
    """Resynchronise one member or a pair; restart it if that fails.

    Args:
        living: The member.
        at: Time of the previous event.

    Returns:
        The event, which is a resynchronisation or a restart, and the report.
    """
    event = {"at": at + DURATION, "type": "resynchronise"}
    try:
        return event, living.step(event)
    except ResynchronisationError:
        event = {**event, "type": "restart"}
        return event, living.step(event)


def _answer(at: int, number: int, epoch: int) -> Json:
    return {
        "at": at,
        "type": "response",
        "heartbeat": number,
        "error": 0,
        "message": None,
        "epoch": epoch or 1,
        "assignment": None,
        "interval": INTERVAL,
    }
