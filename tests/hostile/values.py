"""Hostile values: what a caller can pass by mistake or on purpose in place of a valid argument."""

from __future__ import annotations

import copy
import datetime
import decimal
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from assignor import PartitionInfo, Subscription, TopicPartition


class UserError(Exception):
    """Exception that hostile objects raise; functions may let it propagate, as they do for any user code."""


class _BadLength:
    """Base of containers with a wrong length."""

    length = 0

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[str]:
        return iter(("t",))

    def __getitem__(self, key: object) -> object:
        raise UserError(f"__getitem__({key!r})")

    def keys(self) -> Any:
        return iter(("t",))

    def items(self) -> Any:
        return iter((("t", 1),))


class HugeLength(_BadLength):
    """A container whose length is larger than that of any container."""

    length = 2**63


class LongLength(_BadLength):
    """A container whose length is the largest that Python allows."""

    length = 2**63 - 1


class NegativeLength(_BadLength):
    """A container with a negative length."""

    length = -1


class HugeMapping(HugeLength, Mapping[str, Any]):
    """A mapping whose length is too large."""


class NegativeMapping(NegativeLength, Mapping[str, Any]):
    """A mapping with a negative length."""


class OddMapping(Mapping[str, Any]):
    """A mapping whose items are no pairs."""

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        return iter(("t",))

    def __getitem__(self, key: str) -> object:
        return 1

    def items(self) -> Any:
        return iter(("t", 1))


class FailingIteration:
    """A container that cannot be read."""

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Any]:
        raise UserError("__iter__")


class FailingEquality(str):
    """A text that cannot be compared; its hash is that of a text."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise UserError("__eq__")

    __hash__ = str.__hash__


class FailingHash:
    """An object that cannot be hashed."""

    def __hash__(self) -> int:
        raise UserError("__hash__")


class FailingText(str):
    """A text without a hash and with a `__str__` and a `__repr__` that raise."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise UserError("__hash__")

    def __str__(self) -> str:
        raise UserError("__str__")

    def __repr__(self) -> str:
        raise UserError("__repr__")


class FailingIndex:
    """An integer whose conversion raises."""

    def __index__(self) -> int:
        raise UserError("__index__")


class WrongIndex:
    """An integer whose conversion returns a text."""

    def __index__(self) -> int:
        return "1"  # type: ignore[return-value]  # the mistake


class FailingBool:
    """An object without a truth value."""

    def __bool__(self) -> bool:
        raise UserError("__bool__")


class FailingAttributes:
    """An object whose attributes cannot be read."""

    def __getattr__(self, name: str) -> object:
        raise UserError(name)


class FailingArrow:
    """A column whose Arrow data cannot be exported."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        raise UserError("__arrow_c_array__")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise UserError("__arrow_c_stream__")


class WrongArrow:
    """A column whose Arrow methods return no capsules."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return (1, 2)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return None


class Int(int):
    """A subclass of int whose comparisons raise."""

    def __lt__(self, other: int) -> bool:
        raise UserError("__lt__")

    def __eq__(self, other: object) -> bool:
        raise UserError("__eq__")

    __hash__ = int.__hash__


def _failing_generator() -> Iterator[Any]:
    yield "t"
    raise UserError("generator")


def _deep(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


def _cyclic() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


HOSTILE: dict[str, Callable[[], object]] = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "Ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "0": lambda: 0,
    "-1": lambda: -1,
    "2**31": lambda: 2**31,
    "-2**31-1": lambda: -(2**31) - 1,
    "2**63-1": lambda: 2**63 - 1,
    "2**63": lambda: 2**63,
    "2**64": lambda: 2**64,
    "-2**63": lambda: -(2**63),
    "-2**63-1": lambda: -(2**63) - 1,
    "10**5000": lambda: 10**5000,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: -float("inf"),
    "1.5": lambda: 1.5,
    "1j": lambda: 1j,
    "Decimal": lambda: decimal.Decimal(1),
    "sNaN": lambda: decimal.Decimal("sNaN"),
    "datetime": lambda: datetime.datetime(2020, 1, 1),
    "empty text": lambda: "",
    "lone surrogate": lambda: "\ud800",
    "surrogate in text": lambda: "a\udfffb",
    "NUL": lambda: "a\0b",
    "not ASCII": lambda: "é𐀀",
    "blank": lambda: " \n",
    "long text": lambda: "x" * 100_000,
    "empty bytes": lambda: b"",
    "bytes": lambda: b"\xff\xfe\x00",
    "long bytes": lambda: b"\0" * 100_000,
    "bytearray": lambda: bytearray(b"\xff"),
    "memoryview": lambda: memoryview(b"\xff\x00"),
    "strided memoryview": lambda: memoryview(bytes(8))[::2],
    "float memoryview": lambda: memoryview(np.zeros(2).data),
    "empty list": list,
    "empty tuple": lambda: (),
    "empty dict": dict,
    "empty set": lambda: set(),
    "set": lambda: {"t", 1},
    "deep list": lambda: _deep(5_000),
    "cyclic list": _cyclic,
    "dict": lambda: {None: None, 1: "\ud800", ("t", 0): []},
    "mapping proxy": lambda: MappingProxyType({"t": object()}),
    "range": lambda: range(2),
    "object": object,
    "class": lambda: dict,
    "function": lambda: len,
    "module": lambda: copy,
    "lock": threading.Lock,
    "exception": lambda: UserError("a value"),
    "generator": lambda: (x for x in ("t",)),
    "failing generator": _failing_generator,
    "huge length": HugeLength,
    "long length": LongLength,
    "negative length": NegativeLength,
    "failing iteration": FailingIteration,
    "failing equality": lambda: FailingEquality("t"),
    "failing hash": FailingHash,
    "failing text": lambda: FailingText("t"),
    "failing index": FailingIndex,
    "wrong index": WrongIndex,
    "failing bool": FailingBool,
    "failing attributes": FailingAttributes,
    "failing Arrow": FailingArrow,
    "wrong Arrow": WrongArrow,
    "int subclass": lambda: Int(1),
    "Subscription class": lambda: Subscription,
    "Subscription": lambda: Subscription(("t",)),
    "TopicPartition": lambda: TopicPartition("t", 0),
    "hostile TopicPartition": lambda: TopicPartition(None, "x"),  # type: ignore[arg-type]  # the mistake
    "hostile PartitionInfo": lambda: PartitionInfo(None, 7),  # type: ignore[arg-type]  # the mistake
    "numpy int": lambda: np.int64(-1),
    "numpy uint64": lambda: np.uint64(2**64 - 1),
    "numpy bool": lambda: np.bool_(True),
    "numpy float": lambda: np.float32(1.5),
    "numpy text": lambda: np.str_("t"),
    "numpy scalar array": lambda: np.array(1),
    "numpy int8": lambda: np.array([-1], np.int8),
    "numpy big endian": lambda: np.array([1, 2], ">i4"),
    "numpy float64": lambda: np.array([np.nan, np.inf]),
    "numpy complex": lambda: np.array([1j]),
    "numpy objects": lambda: np.array([None, "t", 1], object),
    "numpy texts": lambda: np.array(["t", "u"]),
    "numpy bytes": lambda: np.array([b"t", b"\xff"]),
    "numpy times": lambda: np.array(["2020-01-01"], "datetime64[s]"),
    "numpy records": lambda: np.zeros(2, [("a", "i4"), ("b", "f8")]),
    "numpy matrix": lambda: np.zeros((2, 2), np.int32),
    "numpy strided": lambda: np.arange(6, dtype=np.int32)[::-2],
    "numpy read-only": lambda: _read_only(np.arange(3, dtype=np.int32)),
    "numpy empty": lambda: np.array([]),
    "Arrow integers": lambda: pa.array([0, None, -1], pa.int64()),
    "Arrow floats": lambda: pa.array([1.5, None]),
    "Arrow texts": lambda: pa.array(["t", None]),
    "Arrow binary": lambda: pa.array([b"\xff", None]),
    "Arrow nulls": lambda: pa.nulls(2),
    "Arrow lists": lambda: pa.array([["t"], None, [None]]),
    "Arrow structs": lambda: pa.array([{"a": 1}]),
    "Arrow dictionary": lambda: pa.array(["t", None, "t"]).dictionary_encode(),
    "Arrow chunks": lambda: pa.chunked_array([[1], [2]]),
    "huge mapping": HugeMapping,
    "negative mapping": NegativeMapping,
    "odd mapping": OddMapping,
    "Arrow batch": lambda: pa.record_batch({"a": [1], "topic": ["t"]}),
    "Arrow table": lambda: pa.table({"member_id": [1], "topic": [None]}),
    "Arrow empty table": lambda: pa.table({}),
}
"""Name to a function that returns a new value."""


def _key(value: Any) -> object:
    return {value: 1}


INSIDE: dict[str, Callable[[Any], object]] = {
    "": lambda value: value,
    "[x]": lambda value: [value],
    "(x,)": lambda value: (value,),
    "(x, x)": lambda value: (value, value),
    "{x}": lambda value: {value},
    "iter": lambda value: iter([value]),
    "{'t': x}": lambda value: {"t": value},
    "{x: 1}": _key,
    "{x: ['t']}": lambda value: {value: ["t"]},
    "{'m': [x]}": lambda value: {"m": [value]},
    "[(x, 0)]": lambda value: [(value, 0)],
    "[('t', x)]": lambda value: [("t", value)],
    "{'m': [(x, 0)]}": lambda value: {"m": [(value, 0)]},
    "{'m': [('t', x)]}": lambda value: {"m": [("t", value)]},
    "[('m', None, x)]": lambda value: [("m", None, value)],
    "[(x, x, b'')]": lambda value: [(value, value, b"")],
}
"""Name to a function that puts a value into a container."""


def hostile_values() -> Iterator[tuple[str, Callable[[], object]]]:
    """Return the names of all values, alone and in containers, and functions that create them."""
    for place, put in INSIDE.items():
        for name, make in HOSTILE.items():
            if place in ("{x}", "{x: 1}", "{x: ['t']}") and not _is_hashable(make()):
                continue
            yield (f"{place} with {name}" if place else name), partial(_placed, put, make)


def _placed(put: Callable[[Any], object], make: Callable[[], object]) -> object:
    return put(make())


def _is_hashable(value: object) -> bool:
    try:
        {value: value, "t": 0}  # noqa: B018 - a key must also be comparable
    except Exception:  # whatever the value raises
        return False
    return True
