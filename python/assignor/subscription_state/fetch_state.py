"""Fetch states of a partition, and the table of their transitions.

Source: SubscriptionState.FetchStates, kafka-clients 4.4.0. As in Kafka, a transition that is not in the table is
ignored without an error.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

__all__ = ["TABLE", "FetchState", "Rules"]


class FetchState(enum.Enum):
    """Fetch state of a partition.

    `INITIALIZING`: no position yet. `FETCHING`: the position is valid. `AWAIT_RESET`: the offset of a reset strategy is
    being looked up. `AWAIT_VALIDATION`: the leader is being asked whether the log was truncated below the position.
    """

    INITIALIZING = "INITIALIZING"
    FETCHING = "FETCHING"
    AWAIT_RESET = "AWAIT_RESET"
    AWAIT_VALIDATION = "AWAIT_VALIDATION"

    __hash__ = object.__hash__  # in C; the hash of Enum is a Python function


class Rules(NamedTuple):
    """Rules of one state.

    Attributes:
        next: States that may follow.
        requires_position: True if a partition in this state must have a position.
        valid_position: True if records may be fetched from the position.
    """

    next: frozenset[FetchState]
    requires_position: bool
    valid_position: bool


_FETCHING, _RESET, _VALIDATION = FetchState.FETCHING, FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION

TABLE = {
    FetchState.INITIALIZING: Rules(frozenset({_FETCHING, _RESET, _VALIDATION}), False, False),
    FetchState.FETCHING: Rules(frozenset({_FETCHING, _RESET, _VALIDATION}), True, True),
    FetchState.AWAIT_RESET: Rules(frozenset({_FETCHING, _RESET}), False, False),
    FetchState.AWAIT_VALIDATION: Rules(frozenset({_FETCHING, _RESET, _VALIDATION}), True, False),
}
"""Rules of every state."""
