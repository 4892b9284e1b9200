"""Compare what a member does, event by event, with what Kafka's own does, and name the deliberate differences.

After a deliberate difference the two members have different states. The next event of the program then resynchronises
both (`resynchronisation.py`), and the comparison continues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from assignor.member.error_codes import ERRORS
from tests.member.runner import NEVER, Json, Runner

FENCING = (25, 110)
WITHOUT_HEARTBEATS = {"UNSUBSCRIBED", "FENCED", "FATAL", "STALE"}


@dataclass
class EventContext:
    """An event, where Kafka's member stood before it and what it did, and what matters to it of the events so far.

    Attributes:
        event: What happened.
        before: What Kafka's member reported after the event before.
        after: What it reports after this one.
        subscribed: Whether the application has subscribed since it last left.
        join_number: How many times the member has joined.
        sent: After which join each heartbeat was sent.
        epochs: The epoch of each heartbeat.
        called: The kind of each callback.
        releasing: The callback of a leave, if it has not come back.
        losing: The callbacks for what was lost that have not come back.
        leave_heartbeat: The heartbeat that leaves for the application and has no answer yet.
        waits: Whether a callback of a reconciliation failed since the application polled last.
        confused: Whether an overtaken heartbeat was answered and the last one was not: Kafka knows only whether there
            is an answer to wait for.
    """

    event: Json = field(default_factory=lambda: {"type": "tick"})
    before: Json = field(default_factory=lambda: {"state": "UNSUBSCRIBED", "epoch": 0, "in_flight": False})
    after: Json = field(default_factory=lambda: {"state": "UNSUBSCRIBED", "epoch": 0, "in_flight": False})
    subscribed: bool = False
    join_number: int = 0
    sent: list[int] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    releasing: int | None = None
    losing: set[int] = field(default_factory=set)
    leave_heartbeat: int | None = None
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
            self.leave_heartbeat = None if number == self.leave_heartbeat else self.leave_heartbeat
            self.confused = self.overtaken and (self.confused or self.before["in_flight"])
        number = self.event.get("callback")
        if number is not None:
            self.losing.discard(number)
            self.releasing = None if number == self.releasing else self.releasing
        left = self.join_number
        if self.after["state"] == "JOINING":
            self.join_number += self.state != "JOINING" or self.event.get("error") in FENCING
        for effect in self.after["effects"]:
            if effect["kind"] == "heartbeat":
                self._take_in_heartbeat(effect["request"]["member_epoch"], left)
            elif effect["kind"] in {"assigned", "revoked", "lost"}:
                self._take_in_callback(effect["kind"])

    def _take_in_heartbeat(self, epoch: int, left: int) -> None:
        if epoch < 0 and self.after["state"] == "UNSUBSCRIBED":
            self.leave_heartbeat = len(self.sent)
        self.sent.append(left if epoch < 0 else self.join_number)
        self.epochs.append(epoch)

    def _take_in_callback(self, kind: str) -> None:
        number = len(self.called)
        if kind == "lost":
            self.losing.add(number)
        if self.event["type"] == "leave":
            self.releasing = number
        self.called.append(kind)


def _acknowledges_again(context: EventContext) -> bool:
    return any(effect["kind"] == "again" for effect in context.after["effects"])


def _forgets_partitions(context: EventContext) -> bool:
    number = context.event.get("callback")
    if number is None or context.called[number] != "assigned":
        return False
    return bool(context.event["failed"]) and context.state == "RECONCILING"


def _completes_early(context: EventContext) -> bool:
    """A leave that is not over completes with a second one, or with another heartbeat than its leave heartbeat."""
    like_leave = context.answered_well is not None and context.answered_well < 0
    if context.state == "PREPARE_LEAVING":
        return like_leave
    if context.state != "UNSUBSCRIBED" or context.leave_heartbeat is None:
        return False
    if context.heartbeat is None:
        return bool(context.event["type"] == "leave")
    return context.heartbeat != context.leave_heartbeat and (like_leave or context.answered_well is None)


def _drops_subscription(context: EventContext) -> bool:
    return bool(context.event["type"] == "subscribe") and context.releasing is not None


def _joins_with_nothing(context: EventContext) -> bool:
    """It may be STALE again in the same breath, and then says a leave heartbeat that has no other reason."""
    if context.subscribed:
        return False
    says = any(effect["kind"] == "heartbeat" for effect in context.after["effects"])
    return bool(context.after["state"] == "JOINING") or (context.state == "STALE" and says)


def _takes_from_earlier_join(context: EventContext) -> bool:
    number = context.heartbeat
    if number is None or context.sent[number] == context.join_number:
        return False
    return context.epochs[number] >= 0 or context.answered_well is None


def _takes_assignment_from_earlier_join(context: EventContext) -> bool:
    if context.event.get("assignment") is None or context.state in WITHOUT_HEARTBEATS:
        return False
    return context.answered_well is not None and _takes_from_earlier_join(context)


def _takes_for_last(context: EventContext) -> bool:
    return context.confused or (context.overtaken and context.before["in_flight"])


def _waits_for_no_poll(context: EventContext) -> bool:
    return context.waits


def _goes_back(context: EventContext) -> bool:
    return context.answered_well is not None and 0 <= context.answered_well < context.before["epoch"]


def _joins_early(context: EventContext) -> bool:
    return bool(context.event["type"] == "poll") and context.state == "UNSUBSCRIBED" and bool(context.losing)


def _forgets_leave(context: EventContext) -> bool:
    return (
        context.heartbeat is not None
        and context.heartbeat == context.leave_heartbeat
        and context.state != "UNSUBSCRIBED"
    )


def _goes_on_fetching(context: EventContext) -> bool:
    return bool(context.event["type"] == "leave") and bool(context.before["epoch"] <= 0)


ENDS: dict[str, Callable[[EventContext], bool]] = {
    "Kafka acknowledges in a loop what is partly resolved": _acknowledges_again,
    "Kafka forgets what a failed onPartitionsAssigned was called with": _forgets_partitions,
    "Kafka completes a leave before its heartbeat is answered": _completes_early,
    "Kafka drops a subscription that comes before a leave has released all": _drops_subscription,
    "Kafka takes an assignment that was given before the last join": _takes_assignment_from_earlier_join,
    "Kafka joins after the application unsubscribed": _joins_with_nothing,
}
"""Deliberate differences after which the two differ sooner or later."""

EXCUSES: dict[str, Callable[[EventContext], bool]] = {
    "Kafka takes an answer to a heartbeat of an earlier join": _takes_from_earlier_join,
    "Kafka takes the answer to an overtaken heartbeat for that to the last one": _takes_for_last,
    "Kafka tries again without a poll what a failed callback kept from happening": _waits_for_no_poll,
    "Kafka goes back to an older epoch": _goes_back,
    "Kafka joins while the onPartitionsLost of a member that was fenced still runs": _joins_early,
    "Kafka goes on fetching what a member without an epoch loses as it leaves": _goes_on_fetching,
    "Kafka forgets a leave whose heartbeat is answered after the next join": _forgets_leave,
}
"""Deliberate differences that show at once, if at all."""


class UnexpectedDifferenceError(AssertionError):
    """The two members differ where no deliberate difference applies."""


class Comparison:
    """The comparison of two members of the same options over one program.

    Args:
        program: The program: its options, its seed if it was drawn, and its events so far.

    Attributes:
        drawn: How many events of the program the members had, resynchronisations apart.
        compared: In how many of them the members agree.
        deliberate: How many deliberate differences ended the agreement, by name.
        resynchronised: After how many of them the members were resynchronised.
        restarted: The number of deliberate differences after which new members replaced both, as one of them was FATAL.
        reported: In how many heartbeats ours reports other partitions than Kafka's.
    """

    def __init__(self, program: Json) -> None:
        self._program = program
        self._trail: list[str] = []
        self._context = EventContext()
        self.drawn = self.compared = self.resynchronised = self.restarted = self.reported = 0
        self.deliberate: Counter[str] = Counter()
        self.differs = False
        """True after a deliberate difference, until the members are resynchronised."""
        self.was_fatal = False
        """True if a member has been FATAL, after which a program has only a few more events."""
        self._is_fatal = False

    @property
    def is_complete(self) -> bool:
        """True if the members were compared to the end of the program."""
        return not self.differs

    def observe(self, event: Json, our: Json, kafka: Json) -> str | None:
        """Compare the reports of one event. Return the name of the deliberate difference, if there is one.

        Raises:
            UnexpectedDifferenceError: They differ, and no deliberate difference applies.
        """
        if event["type"] in {"resynchronise", "restart"}:
            self._resynchronise(event, our, kafka)
            return None
        assert not self.differs, "the members are to be resynchronised before the next event"
        context = self._context
        context.go_on(event, kafka)
        name = next((name for name, applies in ENDS.items() if applies(context)), None)
        found = differences(event, our, kafka)
        self.drawn += 1
        self.reported += other_reports(our, kafka)
        if found and name is None:
            name = next((name for name, applies in EXCUSES.items() if applies(context)), None)
        self._is_fatal = "FATAL" in (our["state"], kafka["state"])
        self.was_fatal = self.was_fatal or self._is_fatal
        if name is not None:
            self.deliberate[name] += 1
            self.differs = True
        elif found:
            raise self._unexpected(event, found)
        else:
            self.compared += 1
            context.take_in()
        self._remember(event, our)
        return name

    def _resynchronise(self, event: Json, our: Json, kafka: Json) -> None:
        if (event["type"] == "restart") != self._is_fatal:
            raise self._unexpected(event, ["members are restarted if one of them is FATAL, else resynchronised"])
        self._context = EventContext(after=kafka)
        found = differences(event, {**our, "effects": []}, {**kafka, "effects": []})
        if found or our["state"] != "UNSUBSCRIBED" or kafka["in_flight"]:
            raise self._unexpected(event, ["the members differ after they were resynchronised", *found])
        if event["type"] == "restart":
            self.restarted += 1
        else:
            self.resynchronised += 1
        self.differs = False
        self._remember(event, our)

    def _remember(self, event: Json, our: Json) -> None:
        kinds = [effect["kind"] for effect in our["effects"]]
        self._trail.append(f"  {event} -> {our['state']} {our['epoch']} {kinds}")

    def _unexpected(self, event: Json, found: list[str]) -> UnexpectedDifferenceError:
        seed, options = self._program.get("seed"), self._program["options"]
        first = f"the program of seed {seed} (ASSIGNOR_SEED={seed} repeats it first), options {options}"
        return UnexpectedDifferenceError("\n".join([first, *self._trail, f"* {event}", *found]))


class Pair:
    """Our member and Kafka's, which get the same events and are compared after each.

    Its reports are those of our member; `differs` is true in one after which both are to be resynchronised.

    Args:
        ours: Our member, which nothing has happened to yet and which can be resynchronised.
        kafkas: Kafka's member, likewise.
        comparison: Compares them.
    """

    def __init__(self, ours: Runner, kafkas: Runner, comparison: Comparison) -> None:
        self._ours = ours
        self._kafkas = kafkas
        self._comparison = comparison
        self.kafka_reports: list[Json] = []
        """The report of Kafka's member after each event."""

    def step(self, event: Json) -> Json:
        """Hand an event to both members, and compare what follows.

        Raises:
            UnexpectedDifferenceError: They differ, and no deliberate difference applies.
            ResynchronisationError: The event is a resynchronisation, which failed.
        """
        our, kafka = self._ours.step(event), self._kafkas.step(event)
        name = self._comparison.observe(event, our, kafka)
        self.kafka_reports.append(kafka)
        return {**our, "differs": name is not None}


def compare(program: Json, ours: Runner, kafkas: Runner) -> Comparison:
    """Compare two members, which can be resynchronised and restarted, over a program.

    Raises:
        UnexpectedDifferenceError: They differ, and no deliberate difference applies.
    """
    comparison = Comparison(program)
    pair = Pair(ours, kafkas, comparison)
    for event in program["events"]:
        pair.step(event)
    return comparison


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


def other_reports(our: Json, kafka: Json) -> int:
    """Return how many heartbeats of a report have other partitions than Kafka's."""
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
