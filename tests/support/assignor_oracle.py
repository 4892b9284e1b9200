"""Kafka's own assignors in a Java process; needs Java and Maven."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support import maven_jars
from tests.support.kafka_program import ROOT, KafkaProgram, OracleMissingError

__all__ = ["AssignorOracle", "OracleMissingError", "install", "version"]

Json = dict[str, Any]

JARS = maven_jars.TARGET / "kafka-assignors"
_QUESTION = ("assignor", "topics", "replica_racks", "members", "after", "limit_ms")


class AssignorOracle(KafkaProgram):
    """Kafka's roundrobin, sticky and cooperative-sticky, and the broker's uniform, range and simple.

    Raises:
        OracleMissingError: Java, its compiler or Kafka's jars are missing.
    """

    def __init__(self) -> None:
        super().__init__("assignors.AssignorOracle", install)

    def answer(self, case: Json) -> Json:
        """Return a case in the vectors' format with Kafka's answer.

        If Kafka's class does not terminate within `limit_ms` milliseconds, by default 10 s, the error is `endless`.
        """
        found: Json = self.ask({field: case[field] for field in _QUESTION if field in case})
        if "endless" in found.get("error", ()):
            self.restart()
        return {**case, **found}


def version() -> str:
    """Return the Kafka release of the assignors."""
    return next(JARS.glob("kafka-group-coordinator-[0-9]*.jar")).stem.removeprefix("kafka-group-coordinator-")


def install() -> Path:
    """Copy the jars with Maven, unless they are there; return their folder."""
    try:
        maven_jars.install(ROOT / "tests/java/pom.xml", JARS)
    except maven_jars.JarsMissingError as error:
        raise OracleMissingError(str(error)) from None
    return JARS
