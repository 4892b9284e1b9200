"""Types of the names that arguments accept: assignors, group protocols, pattern dialects and engines.

A call with an unknown name raises an IllegalArgumentError that lists the known ones. Annotate a variable that holds a
name with its type; for a name from outside the program, such as an option of a command, use `typing.cast`.

Example:
    >>> from assignor import plan
    >>> from assignor.names import AssignorName
    >>> assignors: tuple[AssignorName, ...] = ("range", "roundrobin")
    >>> [plan({"t": 1}, {"a": ["t"]}, assignor=assignor).assignor for assignor in assignors]
    ['range', 'roundrobin']
"""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["AssignorName", "Dialect", "Engine", "GroupProtocol"]

AssignorName: TypeAlias = Literal["range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "simple"]
"""Kafka's names of the assignors of partitions. Each group protocol has some of them."""

GroupProtocol: TypeAlias = Literal["classic", "consumer", "share"]
"""Protocols of groups whose partitions are assigned."""

MEMBERS_ASSIGNORS = {
    "classic": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "consumer": ("uniform", "range"),
}
"""Kafka's assignors that give a partition to one member, by kind of group."""

Dialect: TypeAlias = Literal["java", "re2j", "librdkafka", "python"]
"""Dialects of topic patterns."""

Engine: TypeAlias = Literal["rust", "reference"]
"""Implementations: the Rust core, and the reference in plain Python."""
