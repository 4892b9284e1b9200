"""Comparison of a member with Kafka's own after each event, with names for the deliberate differences.

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
    """One event, Kafka's member before and after it, and the relevant facts from earlier events.

    Attributes:
        event: The event.
        before: Report of Kafka's member after the previous event.
        after: Report of Kafka's member after this event.
        subscribed: True if the application has subscribed since it last left.
        join_number: Number of joins so far.
        sent: Join number of each heartbeat when it was sent.
        epochs: Epoch of each heartbeat.
        called: Kind of each callback.
        releasing: Number of the callback of a leave that has not returned.
        losing: Numbers of the `onPartitionsLost` callbacks that have not returned.
        leave_heartbeat: Number of the leave heartbeat that has no answer yet.
        waits: True if a callback of a reconciliation failed since the application's last poll.
        confused: True if a heartbeat before the last one was answered while the last one had no answer. Kafka's member
            knows only that it expects an answer, not to which heartbeat.
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
        """State of Kafka's member before the event."""
        return str(self.before["state"])

    @property
    def heartbeat(self) -> int | None:
        """Number of the heartbeat that was answered or failed."""
        number: int | None = self.event.get("heartbeat")
        return number

    @property
    def overtaken(self) -> bool:
        """True if the event concerns a heartbeat that is not the last one."""
        return self.heartbeat is not None and self.heartbeat != len(self.sent) - 1

    @property
    def accepted_epoch(self) -> int | None:
        """Epoch of an answer without an error."""
        epoch: int | None = self.event["epoch"] if self.event.get("error") == 0 else None
        return epoch

    def advance(self, event: Json, after: Json) -> None:
        """Continue with the next event."""
        self.event, self.before, self.after = event, self.after, after
        if event["type"] in {"subscribe", "leave"}:
            self.subscribed = event["type"] == "subscribe"
        failed = self.state == "RECONCILING" and bool(event.get("callback") is not None and event["failed"])
        self.waits = failed or (self.waits and event["type"] != "poll")

    def apply(self) -> None:
        """Update the facts by the effects of the event."""
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
                self._apply_heartbeat(effect["request"]["member_epoch"], left)
            elif effect["kind"] in {"assigned", "revoked", "lost"}:
                self._apply_callback(effect["kind"])

    def _apply_heartbeat(self, epoch: int, left: int) -> None:
        if epoch < 0 and self.after["state"] == "UNSUBSCRIBED":
            self.leave_heartbeat = len(self.sent)
        self.sent.append(left if epoch < 0 else self.join_number)
        self.epochs.append(epoch)

    def _apply_callback(self, kind: str) -> None:
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
    """Return True if an incomplete leave is completed by a second leave or by an answer to another heartbeat."""
    like_leave = context.accepted_epoch is not None and context.accepted_epoch < 0
    if context.state == "PREPARE_LEAVING":
        return like_leave
    if context.state != "UNSUBSCRIBED" or context.leave_heartbeat is None:
        return False
    if context.heartbeat is None:
        return bool(context.event["type"] == "leave")
    return context.heartbeat != context.leave_heartbeat and (like_leave or context.accepted_epoch is None)


def _drops_subscription(context: EventContext) -> bool:
    return bool(context.event["type"] == "subscribe") and context.releasing is not None


def _joins_without_subscription(context: EventContext) -> bool:
    """Return True if the member joins without a subscription; it may then become STALE and send a leave heartbeat."""
    if context.subscribed:
        return False
    sends = any(effect["kind"] == "heartbeat" for effect in context.after["effects"])
    return bool(context.after["state"] == "JOINING") or (context.state == "STALE" and sends)


def _applies_answer_of_earlier_join(context: EventContext) -> bool:
    number = context.heartbeat
    if number is None or context.sent[number] == context.join_number:
        return False
    return context.epochs[number] >= 0 or context.accepted_epoch is None


def _applies_assignment_of_earlier_join(context: EventContext) -> bool:
    if context.event.get("assignment") is None or context.state in WITHOUT_HEARTBEATS:
        return False
    return context.accepted_epoch is not None and _applies_answer_of_earlier_join(context)


def _confuses_answers(context: EventContext) -> bool:
    return context.confused or (context.overtaken and context.before["in_flight"])


def _retries_without_poll(context: EventContext) -> bool:
    return context.waits


def _accepts_older_epoch(context: EventContext) -> bool:
    return context.accepted_epoch is not None and 0 <= context.accepted_epoch < context.before["epoch"]


def _joins_early(context: EventContext) -> bool:
    return bool(context.event["type"] == "poll") and context.state == "UNSUBSCRIBED" and bool(context.losing)


def _forgets_leave(context: EventContext) -> bool:
    return (
        context.heartbeat is not None
        and context.heartbeat == context.leave_heartbeat
        and context.state != "UNSUBSCRIBED"
    )


def _keeps_fetching(context: EventContext) -> bool:
    return bool(context.event["type"] == "leave") and bool(context.before["epoch"] <= 0)


LASTING_DIFFERENCES: dict[str, Callable[[EventContext], bool]] = {
    "Kafka acknowledges a partly resolved assignment repeatedly": _acknowledges_again,
    "Kafka forgets the partitions of a failed onPartitionsAssigned": _forgets_partitions,
    "Kafka completes a leave before the answer to its heartbeat": _completes_early,
    "Kafka drops a subscription made before a leave has released all partitions": _drops_subscription,
    "Kafka applies an assignment from before the last join": _applies_assignment_of_earlier_join,
    "Kafka joins after the application unsubscribed": _joins_without_subscription,
}
"""Deliberate differences that may show only in a later event."""

IMMEDIATE_DIFFERENCES: dict[str, Callable[[EventContext], bool]] = {
    "Kafka applies the answer to a heartbeat of an earlier join": _applies_answer_of_earlier_join,
    "Kafka applies the answer to an overtaken heartbeat as the answer to the last one": _confuses_answers,
    "Kafka retries after a failed callback without a poll": _retries_without_poll,
    "Kafka accepts an older epoch": _accepts_older_epoch,
    "Kafka joins while onPartitionsLost of a fenced member still runs": _joins_early,
    "Kafka keeps fetching partitions that a leaving member without an epoch loses": _keeps_fetching,
    "Kafka forgets a leave if its heartbeat is answered after the next join": _forgets_leave,
}
"""Deliberate differences that show in the same event, if at all."""


class UnexpectedDifferenceError(AssertionError):
    """Error for two members that differ although no deliberate difference applies."""


class Comparison:
    """Comparison of two members with the same options over one program.

    Args:
        program: The program: its options, its seed if it was drawn, and its events so far.

    Attributes:
        drawn: Number of events of the program, without resynchronisations.
        compared: Number of events after which the members agree.
        deliberate: Number of deliberate differences, by name.
        resynchronised: Number of deliberate differences after which the members were resynchronised.
        restarted: Number of deliberate differences after which new members replaced both, because one was FATAL.
        reported: Number of heartbeats in which our member reports other partitions than Kafka's.
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
            UnexpectedDifferenceError: The reports differ, and no deliberate difference applies.
        """
        if event["type"] in {"resynchronise", "restart"}:
            self._resynchronise(event, our, kafka)
            return None
        assert not self.differs, "the members must be resynchronised before the next event"
        context = self._context
        context.advance(event, kafka)
        name = next((name for name, applies in LASTING_DIFFERENCES.items() if applies(context)), None)
        found = differences(event, our, kafka)
        self.drawn += 1
        self.reported += other_reports(our, kafka)
        if found and name is None:
            name = next((name for name, applies in IMMEDIATE_DIFFERENCES.items() if applies(context)), None)
        self._is_fatal = "FATAL" in (our["state"], kafka["state"])
        self.was_fatal = self.was_fatal or self._is_fatal
        if name is not None:
            self.deliberate[name] += 1
            self.differs = True
        elif found:
            raise self._unexpected(event, found)
        else:
            self.compared += 1
            context.apply()
        self._remember(event, our)
        return name

    def _resynchronise(self, event: Json, our: Json, kafka: Json) -> None:
        if (event["type"] == "restart") != self._is_fatal:
            raise self._unexpected(event, ["members must be restarted if one of them is FATAL, else resynchronised"])
        self._context = EventContext(after=kafka)
        found = differences(event, {**our, "effects": []}, {**kafka, "effects": []})
        if found or our["state"] != "UNSUBSCRIBED" or kafka["in_flight"]:
            raise self._unexpected(event, ["the members differ after a resynchronisation", *found])
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
        first = f"program of seed {seed} (set ASSIGNOR_SEED={seed} to repeat it first), options {options}"
        return UnexpectedDifferenceError("\n".join([first, *self._trail, f"* {event}", *found]))


class Pair:
    """Our member and Kafka's, which get the same events and are compared after each.

    The reports are those of our member; `differs` is true in a report after which both must be resynchronised.

    Args:
        ours: Our member, before its first event; can be resynchronised.
        kafkas: Kafka's member, before its first event; can be resynchronised.
        comparison: Comparison of the two.
    """

    def __init__(self, ours: Runner, kafkas: Runner, comparison: Comparison) -> None:
        self._ours = ours
        self._kafkas = kafkas
        self._comparison = comparison
        self.kafka_reports: list[Json] = []
        """Report of Kafka's member after each event."""

    def step(self, event: Json) -> Json:
        """Pass an event to both members, and compare their reports.

        Raises:
            UnexpectedDifferenceError: They differ, and no deliberate difference applies.
            ResynchronisationError: The event is a resynchronisation that failed.
        """
        our, kafka = self._ours.step(event), self._kafkas.step(event)
        name = self._comparison.observe(event, our, kafka)
        self.kafka_reports.append(kafka)
        return {**our, "differs": name is not None}


def compare(program: Json, ours: Runner, kafkas: Runner) -> Comparison:
    """Compare two members over a program; both can be resynchronised and restarted.

    Raises:
        UnexpectedDifferenceError: They differ, and no deliberate difference applies.
    """
    comparison = Comparison(program)
    pair = Pair(ours, kafkas, comparison)
    for event in program["events"]:
        pair.step(event)
    return comparison


def differences(event: Json, our: Json, kafka: Json) -> list[str]:
    """Return the differences between two reports of one event."""
    ours, kafkas = visible(our), visible(kafka)
    # Kafka's member reports the last reconciled partitions; ours reports all that it has or may add before the answer.
    for request, effect in zip(kafkas["requests"], heartbeats(kafka), strict=True):
        if request["topic_partitions"] is not None and request["member_epoch"] >= 0:
            request["topic_partitions"] = effect["given"]
    # Kafka's member omits a pattern that it does not have; ours sends "" in heartbeats with all fields.
    for request, own in zip(kafkas["requests"], ours["requests"], strict=False):
        says_all = request["rebalance_timeout_ms"] != -1
        if says_all and request["subscribed_topic_regex"] is None and own["subscribed_topic_regex"] == "":
            request["subscribed_topic_regex"] = ""
    ours["metadata"], kafkas["metadata"] = our["metadata"], kafka["metadata"]
    if kafka["metadata"]:  # Kafka's member requests names repeatedly; ours waits between two requests
        ours["metadata"] = our["asked_lately"]
    elif not our["looks_soon"]:
        wake = our["wake"]
        ours["deadline"] = None if wake is None or wake >= NEVER else wake
        kafkas["deadline"] = deadline(event["at"], kafka)
    if not kafka["coordinator"] and kafka["state"] not in WITHOUT_HEARTBEATS:
        # Kafka's member looks for the coordinator repeatedly, with a backoff; ours requests one look-up, or waits if it
        # has just requested one.
        looks = our["looks_for_coordinator"] or our["looks_soon"]
        ours["looks_for_coordinator"], kafkas["looks_for_coordinator"] = looks, True
    if our["committing_epoch"] != "not now":  # ours does not commit partitions that it does not own
        ours["committing_epoch"], kafkas["committing_epoch"] = our["committing_epoch"], kafka["committing_epoch"]
    return [f"{name}: Kafka {kafkas[name]}, ours {ours[name]}" for name in kafkas if ours[name] != kafkas[name]]


def heartbeats(report: Json) -> list[Json]:
    """Return the heartbeats of a report."""
    return [effect for effect in report["effects"] if effect["kind"] == "heartbeat"]


def other_reports(our: Json, kafka: Json) -> int:
    """Return the number of heartbeats of a report with other partitions than Kafka's."""
    pairs = zip(heartbeats(our), heartbeats(kafka), strict=False)
    return sum(ours["request"]["topic_partitions"] != kafkas["request"]["topic_partitions"] for ours, kafkas in pairs)


def visible(report: Json) -> Json:
    """Return the part of a report that is compared.

    Effects for the network and effects for the application are compared separately, because neither side sees the
    order between the two. Leaves that complete together count once. For an error that is not in
    `ERRORS`, only the occurrence is compared, because its name differs from Kafka's.
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
    """Return the next time at which Kafka's member acts without an event; requests for topic names do not count."""
    times = [] if kafka["commit_at"] is None else [kafka["commit_at"]]
    if kafka["coordinator"] and kafka["state"] not in WITHOUT_HEARTBEATS:
        if not kafka["in_flight"]:
            times.append(now + kafka["heartbeat_in"])
        if kafka["state"] != "PREPARE_LEAVING":
            times.append(now + kafka["poll_in"])
    return min(times, default=None)
