"""The states of fetching that a partition goes through, and which follow which: a table.

Source: SubscriptionState.FetchStates, kafka-clients 4.4.0. A step that the table does not have is ignored there,
without an error, and so it is here.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

__all__ = ["TABLE", "FetchState", "Rules"]


class FetchState(enum.Enum):
    """Where a partition stands.

    `INITIALIZING` until it has its first position, `FETCHING` while it has a valid one, `AWAIT_RESET` while the offset
    that a reset strategy means is being looked up, `AWAIT_VALIDATION` while its leader is asked whether the log was cut
    off below the position.
    """

    INITIALIZING = "INITIALIZING"
    FETCHING = "FETCHING"
    AWAIT_RESET = "AWAIT_RESET"
    AWAIT_VALIDATION = "AWAIT_VALIDATION"

    __hash__ = object.__hash__  # a member is equal to nothing else; Enum's own takes longer


class Rules(NamedTuple):
    """What holds in one state.

    Attributes:
        next: The states that may follow.
        requires_position: Whether a partition cannot enter it without a position, and keeps one in it.
        valid_position: Whether the position may be fetched from.
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
"""By state, all of them."""
