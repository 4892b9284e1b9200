"""Invalid or misbehaving input objects, and the errors that they raise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from assignor import assign, errors, plan
from tests.support.engines import Engine

LONE = "\ud800"
ARGUMENT, TYPE, NULL = errors.IllegalArgumentError, errors.WrongTypeError, errors.NullArgumentError


class Unreadable:
    """An object whose `repr` fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


class Changing(Mapping[str, Any]):
    """A custom mapping that can be changed."""

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self.entries = dict(entries)

    def __getitem__(self, key: str) -> Any:
        return self.entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


class Interfering:
    """An iterable that runs a callback whenever it is iterated."""

    def __init__(self, entries: list[Any], interfere: Callable[[], object]) -> None:
        self.entries = entries
        self.interfere = interfere

    def __iter__(self) -> Iterator[Any]:
        self.interfere()
        return iter(self.entries)


def error_of_input(topics: Any, members: Any, engine: Engine) -> tuple[type[BaseException], str]:
    """Return class and message of the error that both `assign` and `plan` raise."""
    with pytest.raises(errors.AssignorError) as assigning:
        assign(topics, members, engine=engine)
    with pytest.raises(errors.AssignorError) as planning:
        plan(topics, members, engine=engine)
    assert str(assigning.value) == str(planning.value)
    assert type(assigning.value) is type(planning.value)
    return type(assigning.value), str(assigning.value)


def error_of(call: Callable[[], object]) -> tuple[type[BaseException], str]:
    """Return class and message of the error of a single call."""
    with pytest.raises(errors.AssignorError) as raised:
        call()
    return type(raised.value), str(raised.value)
