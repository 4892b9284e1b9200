"""What a coordinator's calls return: answers to send, records to write, rebalances to tell of, and when to call again.

A coordinator does nothing by itself. The records go to the log, in their order, before the answers are sent: then a
coordinator that starts anew with what is in the log has lost nothing that anybody was told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from assignor.coordinator.cause import Rebalance
from assignor.coordinator.responses import Response

__all__ = ["Answer", "Effects", "LogRecord", "Write"]


class LogRecord(NamedTuple):
    """One record for `__consumer_offsets`, as bytes; a value of None is a tombstone."""

    key: bytes
    value: bytes | None


class Write(NamedTuple):
    """Records that are written together.

    Attributes:
        number: With which `Coordinator.written` or `Coordinator.write_failed` is called; ascending from 1.
        group_id: Whose they are; with it goes the partition of the log (`offsets.coordinator_partition`).
        records: In the order in which they are to stand in the log.
    """

    number: int
    group_id: str
    records: tuple[LogRecord, ...]


class Answer(NamedTuple):
    """An answer to a request.

    Attributes:
        correlation: What the caller gave with the request.
        response: The answer.
    """

    correlation: object
    response: Response


@dataclass(frozen=True, slots=True)
class Effects:
    """All that a call leads to, each kind in the order in which it came about.

    Attributes:
        writes: What is to be written before the answers go out.
        answers: To this request, and to others that waited.
        rebalances: That began.
        problems: What somebody should look at, in sentences, such as a subscription that cannot be read.
        next_deadline: When `expire` is to be called if nothing else is before; None where nothing waits for a time.
    """

    writes: tuple[Write, ...] = ()
    answers: tuple[Answer, ...] = ()
    rebalances: tuple[Rebalance, ...] = ()
    problems: tuple[str, ...] = ()
    next_deadline: int | None = None

    @property
    def records(self) -> tuple[LogRecord, ...]:
        """The records of all writes, one after the other."""
        return tuple(record for write in self.writes for record in write.records)
