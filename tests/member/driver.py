"""Driver of one member: passes events, answers effects, and brings the member into each of its states."""

from __future__ import annotations

from dataclasses import asdict
from typing import TypeVar
from uuid import UUID

from assignor import TopicPartition
from assignor.member import HeartbeatResponse, Member, MemberState
from assignor.member.effects import (
    CallPartitionsAssigned,
    CallPartitionsLost,
    CallPartitionsRevoked,
    Commit,
    Effect,
    SendHeartbeat,
    WakeAt,
)
from assignor.member.events import (
    CallbackDone,
    CommitDone,
    CoordinatorFound,
    Event,
    HeartbeatSent,
    Leave,
    MetadataArrived,
    Poll,
    ResponseReceived,
    Subscribe,
    Tick,
)
from assignor.member.messages import HeartbeatRequest

ORDERS, CLICKS = UUID(int=1), UUID(int=2)
NAMES = {ORDERS: "orders", CLICKS: "clicks"}
INTERVAL = 5000

Wanted = TypeVar("Wanted")
Call = CallPartitionsRevoked | CallPartitionsAssigned | CallPartitionsLost


_UNCHANGED = asdict(HeartbeatRequest("g", "m-1", 1))


def changed(request: HeartbeatRequest) -> dict[str, object]:
    """Return the fields of a heartbeat that are set, without those that identify the sender."""
    found = {name: value for name, value in asdict(request).items() if value != _UNCHANGED[name]}
    found.pop("member_epoch", None)
    return found


def partitions(topic: str, *ids: int) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, id) for id in ids)


class Driver:
    """A member and its effects; the time changes only by `wait`.

    Attributes:
        member: The member.
        now: Current time.
        effects: All effects without `WakeAt`; a test may clear them.
        heartbeat: Last heartbeat.
    """

    def __init__(self, member: Member, now: int = 1_000_000) -> None:
        self.member = member
        self.now = now
        self.effects: list[Effect] = []
        self.heartbeat = SendHeartbeat(0, HeartbeatRequest("", "", 0))

    def handle(self, *events: Event) -> list[Effect]:
        """Pass events to the member, and return their effects."""
        found: list[Effect] = [
            effect
            for event in events
            for effect in self.member.handle(event, self.now)
            if not isinstance(effect, WakeAt)
        ]
        self.effects += found
        for effect in found:
            if isinstance(effect, SendHeartbeat):
                self.heartbeat = effect
        return found

    def wait(self, milliseconds: int) -> list[Effect]:
        """Advance the time."""
        self.now += milliseconds
        return self.handle(Tick())

    def last(self, kind: type[Wanted]) -> Wanted:
        """Return the last effect of a kind."""
        return next(effect for effect in reversed(self.effects) if isinstance(effect, kind))

    def count(self, kind: type[Wanted]) -> int:
        """Return the number of effects of a kind."""
        return sum(isinstance(effect, kind) for effect in self.effects)

    @property
    def state(self) -> str:
        """Name of the member's state."""
        return self.member.state.name

    @property
    def request(self) -> HeartbeatRequest:
        """Request of the last heartbeat."""
        return self.heartbeat.request

    def send(self) -> list[Effect]:
        """Mark the last heartbeat as sent."""
        return self.handle(HeartbeatSent(self.heartbeat.number))

    def respond(self, epoch: int = 0, assignment: dict[UUID, list[int]] | None = None, error: int = 0) -> list[Effect]:
        """Answer the last heartbeat."""
        response = HeartbeatResponse(
            error_code=error,
            error_message="message of the coordinator" if error else None,
            member_id=self.member.member_id,
            member_epoch=epoch,
            heartbeat_interval_ms=INTERVAL,
            assignment=assignment,
        )
        return self.handle(ResponseReceived(self.heartbeat.number, response))

    def call_back(self) -> list[Effect]:
        """Complete the last callback."""
        calls = (CallPartitionsRevoked, CallPartitionsAssigned, CallPartitionsLost)
        call = next(effect for effect in reversed(self.effects) if isinstance(effect, calls))
        return self.handle(CallbackDone(call.number))


def outside(**options: object) -> Driver:
    """Return a member that knows coordinator and topic names and has not subscribed."""
    driver = Driver(Member("g", "m-1", jitter=0, **options))  # type: ignore[arg-type]  # each has its own type
    driver.handle(CoordinatorFound(), MetadataArrived(NAMES))
    return driver


def joining(**options: object) -> Driver:
    """Return a member whose first heartbeat is sent."""
    driver = outside(**options)
    driver.handle(Subscribe(["orders", "clicks"]), Poll())
    driver.send()
    return driver


def reconciling(**options: object) -> Driver:
    """Return a member with partitions 0 and 1 of orders, whose `CallPartitionsAssigned` is pending."""
    driver = joining(**options)
    driver.respond(1, {ORDERS: [0, 1]})
    if options.get("auto_commit"):
        driver.handle(Poll())
        driver.handle(CommitDone(driver.last(Commit).number))
    return driver


def acknowledging(**options: object) -> Driver:
    """Return a member whose acknowledgement is not sent yet."""
    driver = reconciling(**options)
    driver.call_back()
    return driver


def stable(**options: object) -> Driver:
    """Return a member whose acknowledgement was answered."""
    driver = acknowledging(**options)
    driver.send()
    driver.respond(1)
    return driver


def fenced(**options: object) -> Driver:
    """Return a fenced member whose `CallPartitionsLost` is pending."""
    driver = stable(**options)
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(error=110)
    return driver


def preparing_to_leave(**options: object) -> Driver:
    """Return a leaving member whose `CallPartitionsRevoked` is pending."""
    driver = stable(**options)
    driver.handle(Leave())
    return driver


def leaving(**options: object) -> Driver:
    """Return a leaving member whose leave heartbeat is not sent yet."""
    driver = preparing_to_leave(**options)
    driver.call_back()
    return driver


def fatal(**options: object) -> Driver:
    """Return a member after a fatal error, whose partitions are released."""
    driver = stable(**options)
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(error=42)
    driver.call_back()
    return driver


def stale(**options: object) -> Driver:
    """Return a member whose application did not poll, and whose `CallPartitionsLost` is pending."""
    driver = stable(**{"rebalance_timeout_ms": 20_000} | options)
    driver.wait(20_000)
    driver.send()
    return driver


IN_STATE = {
    MemberState.UNSUBSCRIBED: outside,
    MemberState.JOINING: joining,
    MemberState.RECONCILING: reconciling,
    MemberState.ACKNOWLEDGING: acknowledging,
    MemberState.STABLE: stable,
    MemberState.FENCED: fenced,
    MemberState.PREPARE_LEAVING: preparing_to_leave,
    MemberState.LEAVING: leaving,
    MemberState.FATAL: fatal,
    MemberState.STALE: stale,
}
"""Functions by state; each returns a member in that state."""
