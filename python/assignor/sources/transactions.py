"""Outcome of transactions in a partition of the log: which records a read_committed reader skips."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]

DATA = -1
"""Entry of `control` for a record of a transaction; a marker has the type of the control record."""

COMMIT = 1
"""Type of the control record that commits a transaction; 0 aborts it."""


class Outcome(NamedTuple):
    """Records that the group coordinator does not apply.

    Attributes:
        aborted: Offsets of all of them, in order, including those of open transactions.
        unfinished: Offsets of the records of transactions without an end in the log, in order.
    """

    aborted: Numbers
    unfinished: Numbers


def resolve_transactions(offsets: Numbers, producer_ids: Numbers, control: Numbers) -> Outcome:
    """Find the records of transactions that were aborted or have no end.

    A marker ends the transaction of its producer id: it decides all earlier records of the id that no marker before it
    has decided.

    Args:
        offsets: Offset of each record of a transaction and of each marker of one partition, in any order.
        producer_ids: Producer id of each.
        control: `DATA` for a record; for a marker its type, where only `COMMIT` commits.

    Returns:
        The outcome.

    Example:
        >>> resolve_transactions(np.array([0, 1, 2, 3]), np.array([7, 8, 7, 8]), np.array([-1, -1, 1, 0])).aborted
        array([1])
    """
    order = np.lexsort((offsets, producer_ids))
    producer_ids, control = producer_ids[order], control[order]
    count = len(order)
    places = np.where(control != DATA, np.arange(count), count)
    following = np.minimum.accumulate(places[::-1])[::-1]  # place of the next marker, of any producer
    marker = np.minimum(following, max(count - 1, 0))
    is_decided = (following < count) & (producer_ids[marker] == producer_ids)
    is_data = control == DATA
    unfinished = np.sort(offsets[order][is_data & ~is_decided])
    is_aborted = is_data & ~(is_decided & (control[marker] == COMMIT))
    return Outcome(np.sort(offsets[order][is_aborted]), unfinished)
