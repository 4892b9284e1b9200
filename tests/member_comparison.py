"""Compares what a member did, event by event, with what Kafka's own did, and names where ours means to differ.

A deliberate difference ends the comparison of a program at its event: from there on the two live different lives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from assignor.member.error_codes import ERRORS
from member_life import Json

FENCING = (25, 110)


@dataclass
class Moment:
    """An event, where Kafka's member stood before it and what it did, and the life so far.

    Attributes:
        event: What happened.
        before: What the one before it reported.
        after: What this one reported.
        subscribed: Whether the application has subscribed since it last left.
        sent: In which life of the member each heartbeat was sent; it starts another whenever it joins.
        epochs: The epoch of each heartbeat.
        life: The one that it is in.
        called: The kind of each callback.
        confused: Whether an overtaken heartbeat was answered and the last one was not: Kafka knows only whether there
            is an answer to wait for.
        losing: The callbacks for what was lost that have not come back.
        goodbye: The heartbeat that leaves for the application and has no answer yet.
    """

    event: Json = field(default_factory=dict)
    before: Json = field(default_factory=lambda: {"state": "UNSUBSCRIBED", "epoch": 0})
    after: Json = field(default_factory=lambda: {"state": "UNSUBSCRIBED", "epoch": 0})
    subscribed: bool = False
    sent: list[int] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    life: int = 0
    called: list[str] = field(default_factory=list)
    confused: bool = False
    losing: set[int] = field(default_factory=set)
    goodbye: int | None = None

    def go_on(self, event: Json, after: Json) -> None:
        """Goes on to the next event."""
        self.event, self.before, self.after = event, self.after, after
        if event["type"] in {"subscribe", "leave"}:
            self.subscribed = event["type"] == "subscribe"

    def take_in(self) -> None:
        """Takes in what the event led to."""
        if self.event["type"] in {"response", "transport"}:
            number = self.event["heartbeat"]
            self.goodbye = None if number == self.goodbye else self.goodbye
            self.confused = number != len(self.sent) - 1 and (self.confused or self.before["in_flight"])
        if self.event["type"] == "callback":
            self.losing.discard(self.event["callback"])
        life = self.life
        if self.after["state"] == "JOINING":
            self.life += self.before["state"] != "JOINING" or self.event.get("error") in FENCING
        for effect in self.after["effects"]:
            if effect["kind"] == "heartbeat":
                epoch = effect["request"]["member_epoch"]
                if epoch < 0 and self.after["state"] == "UNSUBSCRIBED":
                    self.goodbye = len(self.sent)
                self.sent.append(life if epoch < 0 else self.life)
                self.epochs.append(epoch)
            elif effect["kind"] in {"assigned", "revoked", "lost"}:
                if effect["kind"] == "lost":
                    self.losing.add(len(self.called))
                self.called.append(effect["kind"])


def _refuses(moment: Moment) -> bool:
    refused = [effect for effect in moment.after["effects"] if effect["kind"] == "refused"]
    return any(effect["from"] in {"FENCED", "STALE", "FATAL"} for effect in refused)


def _acknowledges_again(moment: Moment) -> bool:
    return any(effect["kind"] == "again" for effect in moment.after["effects"])


def _answers_earlier_life(moment: Moment) -> bool:
    event = moment.event
    if event["type"] not in {"response", "transport"} or moment.sent[event["heartbeat"]] == moment.life:
        return False
    return not (moment.epochs[event["heartbeat"]] < 0 and event.get("error") == 0)


def _takes_for_last(moment: Moment) -> bool:
    return moment.confused


def _older_epoch(moment: Moment) -> bool:
    event = moment.event
    return event["type"] == "response" and event["error"] == 0 and 0 <= event["epoch"] < moment.before["epoch"]


def _callback_failed(moment: Moment) -> bool:
    event = moment.event
    return event["type"] == "callback" and event["failed"] and moment.called[event["callback"]] == "assigned"


def _completes_other_leave(moment: Moment) -> bool:
    """While the goodbye has no answer: a second leave, or an older heartbeat that fails or is answered like a goodbye."""
    event = moment.event
    if moment.before["state"] != "UNSUBSCRIBED" or moment.goodbye is None:
        return False
    return event["type"] == "leave" or (
        event["type"] in {"response", "transport"}
        and event["heartbeat"] != moment.goodbye
        and (event.get("error") != 0 or event["epoch"] < 0)
    )


def _forgets_leave(moment: Moment) -> bool:
    event = moment.event
    answers = event["type"] in {"response", "transport"} and event["heartbeat"] == moment.goodbye
    return answers and moment.before["state"] != "UNSUBSCRIBED"


def _joins_before_released(moment: Moment) -> bool:
    """A poll in UNSUBSCRIBED joins although the onPartitionsLost of a member that was fenced has not come back."""
    return moment.event["type"] == "poll" and moment.before["state"] == "UNSUBSCRIBED" and bool(moment.losing)


def _joins_with_nothing(moment: Moment) -> bool:
    return moment.after["state"] == "JOINING" and not moment.subscribed


ENDS: dict[str, Callable[[Moment], bool]] = {
    "Kafka asks for a transition that its own table refuses": _refuses,
    "Kafka acknowledges in a loop what is partly resolved": _acknowledges_again,
    "Kafka forgets what a failed onPartitionsAssigned was called with": _callback_failed,
    "Kafka completes a leave before its goodbye is answered": _completes_other_leave,
    "Kafka joins after the application unsubscribed": _joins_with_nothing,
}
"""Deliberate differences after which the two differ sooner or later."""

EXCUSES: dict[str, Callable[[Moment], bool]] = {
    "Kafka takes an answer to a heartbeat of an earlier life": _answers_earlier_life,
    "Kafka takes the answer to an overtaken heartbeat for that to the last one": _takes_for_last,
    "Kafka forgets a leave whose goodbye is answered in the next life": _forgets_leave,
    "Kafka goes back to an older epoch": _older_epoch,
    "Kafka joins before all is released": _joins_before_released,
}
"""Deliberate differences that show at once, if at all."""


@dataclass(frozen=True)
class Verdict:
    """What came of comparing a program.

    Attributes:
        compared: How many events the two agree on.
        ended: The deliberate difference at which the comparison ended, if it did.
        difference: The first event at which they differ otherwise, with all that led there.
    """

    compared: int
    ended: str | None = None
    difference: str | None = None


def compare(program: Json, ours: list[Json], kafkas: list[Json]) -> Verdict:
    """Compares the reports of two lives of one program."""
    moment = Moment()
    for number, (event, our, kafka) in enumerate(zip(program["events"], ours, kafkas, strict=True)):
        moment.go_on(event, kafka)
        ended = next((name for name, applies in ENDS.items() if applies(moment)), None)
        found = differences(our, kafka)
        if found and ended is None:
            ended = next((name for name, applies in EXCUSES.items() if applies(moment)), None)
        if ended is not None:
            return Verdict(number, ended=ended)
        if found:
            return Verdict(number, difference=_told(program, ours, number, found))
        moment.take_in()
    return Verdict(len(ours))


def differences(our: Json, kafka: Json) -> list[str]:
    """What two reports of one event differ in."""
    ours, kafkas = visible(our), visible(kafka)
    return [f"{name}: Kafka {kafkas[name]}, ours {ours[name]}" for name in kafkas if ours[name] != kafkas[name]]


def visible(report: Json) -> Json:
    """What is compared of a report.

    The network and the application each get what is for them, and neither sees the order between the two. Leaves that end together are one end to us. An error that no member treats in a way of its own has the name that
    Kafka has for it, and no name of ours.
    """
    effects: list[Json] = []
    for effect in report["effects"]:
        kind = effect["kind"]
        if kind == "again" or (kind == "left" and effect in effects):
            continue
        shown = {name: value for name, value in effect.items() if name != "class"}
        if kind == "error" and effect["code"] not in ERRORS:
            shown = {"kind": "error"}
        effects.append(shown)
    return {
        "state": report["state"],
        "epoch": report["epoch"],
        "assignment": report["assignment"],
        "requests": [effect for effect in effects if effect["kind"] == "heartbeat"],
        "others": [effect for effect in effects if effect["kind"] != "heartbeat"],
    }


def _told(program: Json, ours: list[Json], number: int, found: list[str]) -> str:
    lines = [f"seed {program.get('seed')}, event {number}, options {program['options']}"]
    for event, report in zip(program["events"][:number], ours, strict=False):
        kinds = [effect["kind"] for effect in report["effects"]]
        lines.append(f"  {event} -> {report['state']} {report['epoch']} {kinds}")
    return "\n".join([*lines, f"* {program['events'][number]}", *found])
