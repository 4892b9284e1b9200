"""Outcome of transactions: compared with a reader that follows the log record by record."""

from __future__ import annotations

from random import Random  # of the strategy

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assignor.sources.transactions import COMMIT, DATA, resolve_transactions

Row = tuple[int, int]


def followed(rows: list[Row]) -> tuple[list[int], list[int]]:
    """Return the aborted and the unfinished offsets of rows of (producer id, control), in the order of the log."""
    pending: dict[int, list[int]] = {}
    aborted: list[int] = []
    for offset, (producer, control) in enumerate(rows):
        if control == DATA:
            pending.setdefault(producer, []).append(offset)
        elif control == COMMIT:
            pending.pop(producer, None)
        else:
            aborted += pending.pop(producer, [])
    unfinished = [offset for offsets in pending.values() for offset in offsets]
    return sorted(aborted + unfinished), sorted(unfinished)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([DATA, DATA, 0, COMMIT])), max_size=30), st.randoms())
def test_the_outcome_is_that_of_a_reader_of_the_log(rows: list[Row], random: Random) -> None:
    order = list(range(len(rows)))
    random.shuffle(order)
    producers, control = (np.array([rows[at][column] for at in order], np.int64) for column in (0, 1))
    found = resolve_transactions(np.array(order, np.int64), producers, control)

    assert (found.aborted.tolist(), found.unfinished.tolist()) == followed(rows)


def test_a_marker_decides_only_its_producer_and_only_earlier_records() -> None:
    found = resolve_transactions(np.array([0, 1, 2, 3, 4]), np.array([7, 8, 7, 8, 7]), np.array([-1, -1, 0, -1, -1]))

    assert found.aborted.tolist() == [0, 1, 3, 4]
    assert found.unfinished.tolist() == [1, 3, 4]
