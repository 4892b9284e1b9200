"""What one call of a coordinator leads to, collected as it comes about.

Answers, records and rebalances come from many places. They all go through here, so that what depends on a write waits
for it, and nothing is answered twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.coordinator.cause import Rebalance, RebalanceCause
from assignor.coordinator.effects import Answer, Effects, LogRecord, Write
from assignor.coordinator.error_codes import ErrorCode
from assignor.errors import IllegalStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from assignor.coordinator.group import ClassicGroup
    from assignor.coordinator.responses import Response

    Done = Callable[[ErrorCode | None], None]

__all__ = ["Asked", "Outbox"]


class Asked:
    """A request that is to be answered.

    Attributes:
        correlation: What the caller gave with it.
        version: Of the request.
        answered: Whether it was; further answers are dropped.
    """

    __slots__ = ("answered", "correlation", "version")

    def __init__(self, correlation: object, version: int) -> None:
        self.correlation = correlation
        self.version = version
        self.answered = False


class Outbox:
    """Where effects go.

    Attributes:
        now: The time of what is being done; within one call timers fire at their own times.
        last_write: The number of the latest write.
    """

    def __init__(self, *, confirm_writes: bool) -> None:
        self.now = 0
        self._confirm_writes = confirm_writes
        self._writes: list[Write] = []
        self._answers: list[Answer] = []
        self._rebalances: list[Rebalance] = []
        self._problems: list[str] = []
        self.last_write = 0
        self._awaited: dict[int, Done] = {}

    def answer(self, asked: Asked, response: Response) -> None:
        """Answer a request, unless it was."""
        if not asked.answered:
            asked.answered = True
            self._answers.append(Answer(asked.correlation, response))

    def rebalance(self, group: ClassicGroup, cause: RebalanceCause, reason: str) -> None:
        """Tell of a rebalance that begins."""
        self._rebalances.append(Rebalance(group.group_id, group.generation, cause, reason, self.now))

    def problem(self, sentence: str) -> None:
        """Tell of something that somebody should look at."""
        self._problems.append(sentence)

    def write(self, group_id: str, records: Iterable[LogRecord], done: Done) -> None:
        """Have records written, and go on with `done` once they are, or with the error if they are not."""
        self.last_write += 1
        self._writes.append(Write(self.last_write, group_id, tuple(records)))
        if self._confirm_writes:
            self._awaited[self.last_write] = done
        else:
            done(None)

    def after(self, number: int, then: Done) -> None:
        """Go on with `then` once a write is done, or with the error; at once where it is."""
        before = self._awaited.get(number)
        if before is None:
            then(None)
            return

        def done(error: ErrorCode | None) -> None:
            before(error)
            then(error)

        self._awaited[number] = done

    def go_on(self, number: int, error: ErrorCode | None) -> None:
        """Do what waited for a write."""
        done = self._awaited.pop(number, None)
        if done is None:
            raise IllegalStateError(f"no write of number {number} waits to be confirmed")
        done(error)

    @property
    def is_settled(self) -> bool:
        """Whether no write waits to be confirmed."""
        return not self._awaited

    def give_up(self, error: ErrorCode) -> None:
        """Go on with an error for all that waits for writes."""
        awaited, self._awaited = self._awaited, {}
        for done in awaited.values():
            done(error)

    def collect(self, next_deadline: int | None) -> Effects:
        """All effects since the last time."""
        effects = Effects(
            tuple(self._writes), tuple(self._answers), tuple(self._rebalances), tuple(self._problems), next_deadline
        )
        for kind in (self._writes, self._answers, self._rebalances, self._problems):
            kind.clear()
        return effects
