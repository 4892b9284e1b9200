"""Kafka's own member, in a Java process that answers each event with a report of its effects."""

from __future__ import annotations

from tests.broker.cluster import JARS
from tests.member.runner import Json
from tests.support.kafka_program import KafkaProgram, OracleMissingError

__all__ = ["MemberOracle", "OracleMissingError", "version"]


class MemberOracle(KafkaProgram):
    """Kafka's own member.

    Raises:
        OracleMissingError: Java, a compiler or Kafka's jars are missing.
    """

    def __init__(self) -> None:
        super().__init__("org.apache.kafka.clients.consumer.internals.MemberOracle")

    def start(self, options: Json) -> MemberOracle:
        """Start a new member with these options; return the oracle, which now runs it."""
        self.ask({"options": options})
        return self

    def step(self, event: Json) -> Json:
        """Pass an event to the member, and return its report."""
        report: Json = self.ask(event)
        return report


def version() -> str:
    """Return the release of kafka-clients in the name of the oracle's jar."""
    return next(JARS.glob("kafka-clients-[0-9]*[0-9].jar")).stem.removeprefix("kafka-clients-")
