"""Network between a client and the coordinator: it loses, delays and repeats messages, but keeps the order of requests.

A client has one connection, on which requests arrive in order. An overtaken request was on an abandoned connection,
which the broker no longer reads. Answers may arrive late, twice, in another order, or after a timeout.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from assignor.member import events

if TYPE_CHECKING:
    from assignor.member.messages import HeartbeatRequest, HeartbeatResponse
    from tests.member.simulation.client import Client

__all__ = ["Dice", "Network", "NetworkQuality"]


class Dice:
    """Random numbers. Each depends only on the seed, the user, the purpose and the number of draws for that purpose."""

    def __init__(self, seed: int, who: int) -> None:
        self._prefix = f"{seed}/{who}/"
        self._thrown: dict[str, int] = {}

    def draw(self, what: str) -> float:
        """Return a number >= 0 and < 1."""
        thrown = self._thrown[what] = self._thrown.get(what, 0) + 1
        digest = blake2b(f"{self._prefix}{what}/{thrown}".encode(), digest_size=6).digest()
        return int.from_bytes(digest, "big") / 2**48

    def up_to(self, what: str, most: int) -> int:
        """Return an integer from 0 to the given number."""
        return int(self.draw(what) * (most + 1)) if most else 0

    def happens(self, what: str, chance: float) -> bool:
        """Return True with the given probability."""
        return chance > 0 and self.draw(what) < chance


@dataclass(frozen=True, slots=True)
class NetworkQuality:
    """Delays and faults of a client's network.

    Attributes:
        delay_ms: Longest delay of a message.
        loss: Share of messages that are lost.
        repeats: Share of messages that arrive twice.
    """

    delay_ms: int = 4
    loss: float = 0.0
    repeats: float = 0.0


class Network:
    """Connection of one process."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._world = client.world
        self._dice = client.dice
        self._process = client.process
        self._sent = 0
        self._read = 0

    def send(self, number: int, request: HeartbeatRequest) -> None:
        """Send a request."""
        client, world = self._client, self._world
        self._sent += 1
        if client.transport_faults:
            retriable = client.transport_faults.pop(0)
            world.count("connection failed" if retriable else "connection failed for good")
            self._fail(number, retriable=retriable, delay=1)
        elif self._is_lost("request lost"):
            self._fail_perhaps(number)
        else:
            at = world.now + 1 + self._dice.up_to("request delay", client.network_quality.delay_ms)
            world.schedule(at, self._arrive, self._sent, number, request)

    def _arrive(self, order: int, number: int, request: HeartbeatRequest) -> None:
        client, world = self._client, self._world
        if order < self._read:
            world.count("request overtaken")
            return
        self._read = order
        response = world.answer(client, request)
        if self._dice.happens("request repeated", client.network_quality.repeats):
            world.count("request repeated")
            world.answer(client, request)
        if self._is_lost("response lost"):
            self._fail_perhaps(number)
            return
        self._respond(number, response)
        if self._dice.happens("response repeated", client.network_quality.repeats):
            world.count("response repeated")
            self._respond(number, response)

    def _respond(self, number: int, response: HeartbeatResponse) -> None:
        at = self._world.now + 1 + self._dice.up_to("response delay", self._client.network_quality.delay_ms)
        self._world.schedule(at, self._deliver, events.ResponseReceived(number, response))

    def _is_lost(self, what: str) -> bool:
        lost = self._dice.happens(what, self._client.network_quality.loss)
        if lost:
            self._world.count(what)
        return lost

    def _fail_perhaps(self, number: int) -> None:
        """Report a lost message soon, or not at all; the member then detects it by its timeout."""
        if self._dice.draw("loss noticed") < 0.5:
            self._fail(number, retriable=True, delay=1 + self._dice.up_to("loss noticed after", 1000))

    def _fail(self, number: int, *, retriable: bool, delay: int) -> None:
        event = events.TransportFailed(number, retriable, "the connection broke")
        self._world.schedule(self._world.now + delay, self._deliver, event)

    def _deliver(self, event: events.Event) -> None:
        if self._client.process == self._process:
            self._client.handle(event)
