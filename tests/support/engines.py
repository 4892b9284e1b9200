"""Names of the two engines, and outcomes of calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, get_args

from assignor import assign, errors
from assignor.names import Engine

__all__ = ["ENGINES", "Assign", "Engine", "Outcome", "outcome", "outcomes"]

ENGINES: tuple[Engine, ...] = get_args(Engine)

Assign: TypeAlias = Callable[..., Mapping[str, Any]]


class Outcome(NamedTuple):
    """Outcome of a call: the answer with its order, or class and message of the error; the other is None."""

    answer: list[tuple[str, list[tuple[str, int]]]] | None
    error: tuple[type[BaseException], str] | None


def outcome(call: Assign, *arguments: Any, **options: Any) -> Outcome:
    """Call a function; return its outcome. Only an `AssignorError` counts as an outcome; other exceptions propagate."""
    try:
        answer = call(*arguments, **options)
    except errors.AssignorError as error:
        return Outcome(None, (type(error), str(error)))
    return Outcome([(member, list(partitions)) for member, partitions in answer.items()], None)


def outcomes(partitions_per_topic: Any, subscriptions: Any, *, prefer_rack_aware: bool = False) -> list[Outcome]:
    """Return the outcome of `assign` on each engine, in the order of `ENGINES`."""
    return [
        outcome(assign, partitions_per_topic, subscriptions, prefer_rack_aware=prefer_rack_aware, engine=engine)
        for engine in ENGINES
    ]
