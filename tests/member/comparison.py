"""Compares what a member did, event by event, with what Kafka's own did, and names where ours means to differ.

A deliberate difference ends the comparison of a program at its event: from there on the two live different lives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from assignor.member.error_codes import ERRORS
from tests.member.life import NEVER, Json

FENCING = (25, 110)
WITHOUT_HEARTBEATS = {"UNSUBSCRIBED", "FENCED", "FATAL", "STALE"}


@dataclass
class Moment:
    """An event, where Kafka's member stood before it and what it did, and what of the life so far matters to it.

    Attributes:
        event: What happened.
        before: What Kafka's member reported after the event before.
        after: What it reports after this one.
        subscribed: Whether the application has subscribed since it last left.
        life: In which of its lives the member is; it starts another whenever it joins.
        sent: In which one each heartbeat was sent.
        epochs: The epoch of each heartbeat.
        called: The kind of each callback.
        releasing: The callback of a leave, if it has not come back.
        losing: The callbacks for what was lost that have not come back.
        goodbye: The heartbeat that leaves for the application and has no answer yet.
        waits: Whether a callback of a reconciliation failed since the application polled last.
        confused: Whether an overtaken heartbeat was answered and the last one was not: Kafka knows only whether there
            is an answer to wait for.
    """

    event: Json = field(default_factory=lambda: {"type": "tick"})
    before: Json = field(default_factory=lambda: {"state": "UNSUBSCRIBED", "epoch": 0, "in_flight": False})
    after: Json = field(default_factory=lambda: {"state": "UNSUBSCRIBED", "epoch": 0, "in_flight": False})
    subscribed: bool = False
    life: int = 0
    sent: list[int] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    releasing: int | None = None
    losing: set[int] = field(default_factory=set)
    goodbye: int | None = None
    waits: bool = False
    confused: bool = False

    @property
    def state(self) -> str:
        """Where Kafka's member stood before the event."""
        return str(self.before["state"])

    @property
    def heartbeat(self) -> int | None:
        """The heartbeat that the event is about: it was answered, or failed."""
        number: int | None = self.event.get("heartbeat")
        return number

    @property
    def overtaken(self) -> bool:
        """Whether the event is about a heartbeat that is not the last one."""
        return self.heartbeat is not None and self.heartbeat != len(self.sent) - 1

    @property
    def answered_well(self) -> int | None:
        """The epoch of an answer without an error."""
        epoch: int | None = self.event["epoch"] if self.event.get("error") == 0 else None
        return epoch

    def go_on(self, event: Json, after: Json) -> None:
        """Goes on to the next event."""
        self.event, self.before, self.after = event, self.after, after
        if event["type"] in {"subscribe", "leave"}:
            self.subscribed = event["type"] == "subscribe"
        failed = self.state == "RECONCILING" and bool(event.get("callback") is not None and event["failed"])
        self.waits = failed or (self.waits and event["type"] != "poll")

    def take_in(self) -> None:
        """Takes in what the event led to."""
        number = self.heartbeat
        if number is not None:
            self.goodbye = None if number == self.goodbye else self.goodbye
            self.confused = self.overtaken and (self.confused or self.before["in_flight"])
        number = self.event.get("callback")
        if number is not None:
            self.losing.discard(number)
            self.releasing = None if number == self.releasing else self.releasing
        left = self.life
        if self.after["state"] == "JOINING":
            self.life += self.state != "JOINING" or self.event.get("error") in FENCING
        for effect in self.after["effects"]:
            if effect["kind"] == "heartbeat":
                self._take_in_heartbeat(effect["request"]["member_epoch"], left)
            elif effect["kind"] in {"assigned", "revoked", "lost"}:
                self._take_in_callback(effect["kind"])

    def _take_in_heartbeat(self, epoch: int, left: int) -> None:
        if epoch < 0 and self.after["state"] == "UNSUBSCRIBED":
            self.goodbye = len(self.sent)
        self.sent.append(left if epoch < 0 else self.life)
        self.epochs.append(epoch)

    def _take_in_callback(self, kind: str) -> None:
        number = len(self.called)
        if kind == "lost":
            self.losing.add(number)
        if self.event["type"] == "leave":
            self.releasing = number
        self.called.append(kind)


def _acknowledges_again(moment: Moment) -> bool:
    return any(effect["kind"] == "again" for effect in moment.after["effects"])


def _forgets_partitions(moment: Moment) -> bool:
    number = moment.event.get("callback")
    if number is None or moment.called[number] != "assigned":
        return False
    return bool(moment.event["failed"]) and moment.state == "RECONCILING"


def _completes_early(moment: Moment) -> bool:
    """A leave that is not over completes with a second one, or with another heartbeat than its goodbye."""
    like_goodbye = moment.answered_well is not None and moment.answered_well < 0
    if moment.state == "PREPARE_LEAVING":
        return like_goodbye
    if moment.state != "UNSUBSCRIBED" or moment.goodbye is None:
        return False
    if moment.heartbeat is None:
        return bool(moment.event["type"] == "leave")
    return moment.heartbeat != moment.goodbye and (like_goodbye or moment.answered_well is None)


def _drops_subscription(moment: Moment) -> bool:
    return bool(moment.event["type"] == "subscribe") and moment.releasing is not None


def _joins_with_nothing(moment: Moment) -> bool:
    """It may be STALE again in the same breath, and then says a goodbye that has no other reason."""
    if moment.subscribed:
        return False
    says = any(effect["kind"] == "heartbeat" for effect in moment.after["effects"])
    return bool(moment.after["state"] == "JOINING") or (moment.state == "STALE" and says)


def _takes_from_earlier_life(moment: Moment) -> bool:
    number = moment.heartbeat
    if number is None or moment.sent[number] == moment.life:
        return False
    return moment.epochs[number] >= 0 or moment.answered_well is None


def _takes_assignment_from_earlier_life(moment: Moment) -> bool:
    if moment.event.get("assignment") is None or moment.state in WITHOUT_HEARTBEATS:
        return False
    return moment.answered_well is not None and _takes_from_earlier_life(moment)


def _takes_for_last(moment: Moment) -> bool:
    return moment.confused or (moment.overtaken and moment.before["in_flight"])


def _waits_for_no_poll(moment: Moment) -> bool:
    return moment.waits


def _goes_back(moment: Moment) -> bool:
    return moment.answered_well is not None and 0 <= moment.answered_well < moment.before["epoch"]


def _joins_early(moment: Moment) -> bool:
    return bool(moment.event["type"] == "poll") and moment.state == "UNSUBSCRIBED" and bool(moment.losing)


def _forgets_leave(moment: Moment) -> bool:
    return moment.heartbeat is not None and moment.heartbeat == moment.goodbye and moment.state != "UNSUBSCRIBED"


def _goes_on_fetching(moment: Moment) -> bool:
    return bool(moment.event["type"] == "leave") and bool(moment.before["epoch"] <= 0)


ENDS: dict[str, Callable[[Moment], bool]] = {
    "Kafka acknowledges in a loop what is partly resolved": _acknowledges_again,
    "Kafka forgets what a failed onPartitionsAssigned was called with": _forgets_partitions,
    "Kafka completes a leave before its goodbye is answered": _completes_early,
    "Kafka drops a subscription that comes before a leave has released all": _drops_subscription,
    "Kafka takes an assignment that was given in an earlier life": _takes_assignment_from_earlier_life,
    "Kafka joins after the application unsubscribed": _joins_with_nothing,
}
"""Deliberate differences after which the two differ sooner or later."""

EXCUSES: dict[str, Callable[[Moment], bool]] = {
    "Kafka takes an answer to a heartbeat of an earlier life": _takes_from_earlier_life,
    "Kafka takes the answer to an overtaken heartbeat for that to the last one": _takes_for_last,
    "Kafka tries again without a poll what a failed callback kept from happening": _waits_for_no_poll,
    "Kafka goes back to an older epoch": _goes_back,
    "Kafka joins while the onPartitionsLost of a member that was fenced still runs": _joins_early,
    "Kafka goes on fetching what a member without an epoch loses as it leaves": _goes_on_fetching,
    "Kafka forgets a leave whose goodbye is answered in the next life": _forgets_leave,
}
"""Deliberate differences that show at once, if at all."""


@dataclass(frozen=True)
class Verdict:
    """What came of comparing a program.

    Attributes:
        compared: How many events the two agree on.
        ended: The deliberate difference at which the comparison ended, if it did.
        difference: The first event at which they differ otherwise, with all that led there.
        claims: In how many heartbeats ours claims something else to own than Kafka's does.
    """

    compared: int
    ended: str | None = None
    difference: str | None = None
    claims: int = 0


def compare(program: Json, ours: list[Json], kafkas: list[Json]) -> Verdict:
    """Compares the reports of two lives of one program."""
    moment = Moment()
    claims = 0
    for number, (event, our, kafka) in enumerate(zip(program["events"], ours, kafkas, strict=True)):
        moment.go_on(event, kafka)
        ended = next((name for name, applies in ENDS.items() if applies(moment)), None)
        found = differences(event, our, kafka)
        claims += other_claims(our, kafka)
        if found and ended is None:
            ended = next((name for name, applies in EXCUSES.items() if applies(moment)), None)
        if ended is not None:
            return Verdict(number, ended=ended, claims=claims)
        if found:
            return Verdict(number, difference=_told(program, ours, number, found))
        moment.take_in()
    return Verdict(len(ours), claims=claims)


def differences(event: Json, our: Json, kafka: Json) -> list[str]:
    """What two reports of one event differ in."""
    ours, kafkas = visible(our), visible(kafka)
    # Kafka's says what was reconciled last; ours claims all that the member has or may take before the answer comes.
    for request, effect in zip(kafkas["requests"], heartbeats(kafka), strict=True):
        if request["topic_partitions"] is not None and request["member_epoch"] >= 0:
            request["topic_partitions"] = effect["given"]
    # Kafka's says nothing of a pattern it does not have; ours says that there is none wherever it says all else.
    for request, own in zip(kafkas["requests"], ours["requests"], strict=False):
        says_all = request["rebalance_timeout_ms"] != -1
        if says_all and request["subscribed_topic_regex"] is None and own["subscribed_topic_regex"] == "":
            request["subscribed_topic_regex"] = ""
    ours["metadata"], kafkas["metadata"] = our["metadata"], kafka["metadata"]
    if kafka["metadata"]:  # it asks on and on, ours does so once in a while
        ours["metadata"] = our["asked_lately"]
    elif not our["looks_soon"]:
        wake = our["wake"]
        ours["deadline"] = None if wake is None or wake >= NEVER else wake
        kafkas["deadline"] = deadline(event["at"], kafka)
    if not kafka["coordinator"] and kafka["state"] not in WITHOUT_HEARTBEATS:
        # Kafka's looks on and on, with a backoff; ours asks once, and waits if it has just asked.
        looks = our["looks_for_coordinator"] or our["looks_soon"]
        ours["looks_for_coordinator"], kafkas["looks_for_coordinator"] = looks, True
    if our["committing_epoch"] != "not now":  # ours commits nothing that is no longer its own, or not yet
        ours["committing_epoch"], kafkas["committing_epoch"] = our["committing_epoch"], kafka["committing_epoch"]
    return [f"{name}: Kafka {kafkas[name]}, ours {ours[name]}" for name in kafkas if ours[name] != kafkas[name]]


def heartbeats(report: Json) -> list[Json]:
    """The heartbeats of a report."""
    return [effect for effect in report["effects"] if effect["kind"] == "heartbeat"]


def other_claims(our: Json, kafka: Json) -> int:
    """How many heartbeats of a report claim something else than Kafka's do."""
    pairs = zip(heartbeats(our), heartbeats(kafka), strict=False)
    return sum(ours["request"]["topic_partitions"] != kafkas["request"]["topic_partitions"] for ours, kafkas in pairs)


def visible(report: Json) -> Json:
    """What is compared of any report.

    The network and the application each get what is for them, and neither sees the order between the two. Leaves that
    end together are one end to us. An error that no member treats in a way of its own has only Kafka's name.
    """
    requests: list[Json] = []
    others: list[Json] = []
    for effect in report["effects"]:
        kind = effect["kind"]
        if kind == "heartbeat":
            requests.append(dict(effect["request"]))
        elif kind == "error":
            known = effect["code"] in ERRORS
            others.append({"kind": kind, "code": effect["code"], "name": effect["name"]} if known else {"kind": kind})
        elif kind not in {"again", "refused"} and not (kind == "left" and effect in others):
            others.append(effect)
    whole = {name: report[name] for name in ("state", "epoch", "assignment", "given_up")}
    return {**whole, "requests": requests, "others": others}


def deadline(now: int, kafka: Json) -> int | None:
    """When time alone makes Kafka's member do something next; its questions for the names of topics are not in it."""
    times = [] if kafka["commit_at"] is None else [kafka["commit_at"]]
    if kafka["coordinator"] and kafka["state"] not in WITHOUT_HEARTBEATS:
        if not kafka["in_flight"]:
            times.append(now + kafka["heartbeat_in"])
        if kafka["state"] != "PREPARE_LEAVING":
            times.append(now + kafka["poll_in"])
    return min(times, default=None)


def _told(program: Json, ours: list[Json], number: int, found: list[str]) -> str:
    lines = [f"seed {program.get('seed')}, event {number}, options {program['options']}"]
    for event, report in zip(program["events"][:number], ours, strict=False):
        kinds = [effect["kind"] for effect in report["effects"]]
        lines.append(f"  {event} -> {report['state']} {report['epoch']} {kinds}")
    return "\n".join([*lines, f"* {program['events'][number]}", *found])
