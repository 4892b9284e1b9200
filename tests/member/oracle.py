"""Kafka's own member, in a process that answers each program of events with what followed from each event."""

from __future__ import annotations

from tests.broker.cluster import JARS
from tests.member.life import Json
from tests.support.kafka_program import KafkaProgram, OracleMissingError

__all__ = ["MemberOracle", "OracleMissingError", "version"]


class MemberOracle(KafkaProgram):
    """Kafka's own member.

    Raises:
        OracleMissingError: There is no Java, no compiler or no jars of Kafka.
    """

    def __init__(self) -> None:
        super().__init__("org.apache.kafka.clients.consumer.internals.MemberOracle")

    def live(self, program: Json) -> list[Json]:
        """Lives a program, and says what followed from each event."""
        steps: list[Json] = self.ask(program)
        return steps


def version() -> str:
    """The release of kafka-clients that the oracle runs, as its jar says."""
    return next(JARS.glob("kafka-clients-[0-9]*[0-9].jar")).stem.removeprefix("kafka-clients-")
