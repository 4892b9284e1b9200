"""Containers that user code changes while the Rust core reads them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assignor import PartitionInfo, Topics, _core, assign, errors

SEEN_WHILE_READ = sys.version_info < (3, 12) and "abi3" not in str(_core.__file__)
"""True if finalizers can run while the core reads memory; since Python 3.12 they run in Python code only."""


class Finalizer:
    """Object that changes a container when it is collected."""

    def __init__(self, change: Callable[[], None]) -> None:
        self.change = change
        self.cycle = self

    def __del__(self) -> None:
        self.change()


@pytest.fixture(autouse=True)
def collector_as_it_was() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.enable()


def is_rejected(topics: dict[str, int], subscriptions: dict[str, Any]) -> bool:
    """Return True if the input is rejected; do not allocate collectable objects before the call."""
    try:
        assign(topics, subscriptions)
    except errors.IllegalArgumentError:
        return True
    return False


@pytest.mark.parametrize("extra", [[], [f"topic-{number}" for number in range(100)]], ids=["small", "large"])
@pytest.mark.parametrize("kind", [list, set])
def test_a_container_looks_empty_while_it_is_read_and_is_restored_afterwards(
    kind: type[list[str]] | type[set[str]], extra: list[str]
) -> None:
    seen = set()
    for threshold in range(1, 10):  # one of these triggers a collection when the name is rejected
        names = kind(["t", "\ud800", *extra])
        before = names.copy()
        lengths: list[int] = []

        def change(names: list[str] | set[str] = names, lengths: list[int] = lengths) -> None:
            lengths.append(len(names))
            added = [f"added-{number}" for number in range(50)]
            names.extend(added) if isinstance(names, list) else names.update(added)

        topics, subscriptions = {"t": 1}, {"a": names}
        gc.collect()
        gc.disable()
        Finalizer(change)
        gc.set_threshold(threshold)
        gc.enable()
        assert is_rejected(topics, subscriptions)
        assert names == before or lengths != [0]
        seen.update(lengths)

    assert 0 in seen or not SEEN_WHILE_READ


def test_racks_of_a_list_that_was_cleared_are_not_confused_with_later_ones() -> None:
    def rack(number: int) -> str:
        return f"rack{number}"

    first = [PartitionInfo(0, (rack(1),))]
    address = id(next(iter(first[0].racks)))
    last: list[PartitionInfo] = []

    class Between:
        """Partitions whose iterator clears `first` and gives `last` a rack, mostly at the address of the freed rack."""

        def __iter__(self) -> Iterator[PartitionInfo]:
            first.clear()
            others = [rack(2) for _ in range(100)]
            other = next((other for other in others if id(other) == address), others[0])
            last.append(PartitionInfo(0, (other,)))
            return iter([PartitionInfo(0, (rack(1),))])

    topics = Topics({"first": first, "next": Between(), "then": last})

    racks = {"first": "rack1", "next": "rack1", "then": "rack2"}
    assert dict(topics) == {name: [PartitionInfo(0, (only,))] for name, only in racks.items()}
