"""Random changes of records, to test that the encoder accepts or rejects any record."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any

from assignor.offsets import Record

Place = tuple[Any, Any]
"""A dict and a key, or a list and an index."""


class Name(str):
    """A `str` that is equal to itself only."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return 7


def _loop() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


MAKERS: list[Callable[[random.Random], Any]] = [
    lambda _: None,
    lambda rng: rng.choice([True, 1.5, object, _loop(), [[]], (), {}, [{}], {"group": "g"}, range(2)]),
    lambda rng: rng.choice([-1, 0, 1]) * 2 ** rng.choice([7, 8, 15, 16, 31, 32, 63, 64, 100]) - rng.randrange(2),
    lambda rng: rng.choice(["", "é", "\ud800", "t" * 32_767, "t" * 32_768, "A" * 22, "A" * 21 + "_", Name("group")]),
    lambda rng: rng.choice([b"", b"abc", bytearray(b"abc"), memoryview(b"abc"), bytes(40_000)]),
]


def distorted(rng: random.Random, record: Record) -> Record:
    """Return a copy of a record in which some values are changed, removed or added."""
    parts: dict[str, Any] = {
        "type": record.type,
        "key": copied(record.key),
        "version": record.version,
        "value": copied(record.value),
    }
    for _ in range(rng.choice([1, 1, 1, 2])):
        owner, at = rng.choice(list(places(parts)) if rng.random() < 0.9 else [(parts, name) for name in parts])
        match rng.randrange(5):
            case 0 if owner is not parts:
                del owner[at]
            case 1 if isinstance(owner, dict) and owner is not parts:
                owner[rng.choice(["", "offset", "name", "\ud800", 7, None, Name("group"), Name("epoch")])] = owner[at]
            case 2 if isinstance(owner, list):
                owner[at:at] = [owner[at]] * rng.choice([1, 2, 300])
            case 3:
                owner[at] = same_type_value(rng, owner[at])
            case _:
                owner[at] = rng.choice(MAKERS)(rng)
    return dataclasses.replace(record, **parts)


def same_type_value(rng: random.Random, value: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, int):
        return value + rng.choice([-1, 1])
    if isinstance(value, str | bytes | list):
        return value[: rng.randrange(len(value) + 1)] * rng.choice([1, 2])
    return value


def copied(value: Any) -> Any:
    """Copy a tree of dicts and lists."""
    if isinstance(value, dict):
        return {name: copied(content) for name, content in value.items()}
    return [copied(content) for content in value] if isinstance(value, list) else value


def places(owner: Any, deepest: int = 6) -> list[Place]:
    """Return all places in a tree, up to a depth: a list may contain itself."""
    found: list[Place] = []
    if deepest and isinstance(owner, dict | list):
        for at, content in list(owner.items() if isinstance(owner, dict) else enumerate(owner)):
            found.append((owner, at))
            found += places(content, deepest - 1)
    return found
