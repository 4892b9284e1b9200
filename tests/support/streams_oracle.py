"""Kafka's own assignor of streams groups in a Java process; needs Java and Maven."""

from __future__ import annotations

from typing import Any

from tests.support.kafka_program import KafkaProgram, OracleMissingError

__all__ = ["OracleMissingError", "StreamsOracle"]

Json = dict[str, Any]

_QUESTION = ("topology", "standby_replicas", "members")


class StreamsOracle(KafkaProgram):
    """The assignor of streams groups of the broker that the tests run, which is of version 4.3.1.

    Raises:
        OracleMissingError: Java, its compiler or Kafka's jars are missing.
    """

    def __init__(self) -> None:
        super().__init__("streams.StreamsOracle")

    def answer(self, case: Json) -> Json:
        """Return a case in the vectors' format with Kafka's answer."""
        found: Json = self.ask({field: case[field] for field in _QUESTION})
        return {**case, **found}
