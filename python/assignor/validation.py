"""Validation of input values. Most functions return the value in the type that the package uses, or raise.

This module is private. The package and the reference share it.
"""

from __future__ import annotations

import errno
import operator
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from assignor.errors import AssignorError, IllegalArgumentError, NullArgumentError, WrongTypeError
from assignor.names import Dialect
from assignor.ordering import java_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Bytes = bytes | bytearray | memoryview

BrokerVersion = tuple[int, int, int]
"""Version of a broker: major, minor and patch."""

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
"""Dialects of topic patterns."""


def shown(value: object) -> str:
    """Return the `repr` of a value for an error message, cut to 80 characters."""
    try:
        text = repr(value)
    except Exception:  # a failing `repr` must not hide the original error
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else text[:79] + "…"


def wrong_type(what: str, wanted: str, value: object) -> AssignorError:
    """Return the error for a value of the wrong type: NullArgumentError for None, as in Java, else WrongTypeError."""
    if value is None:
        return NullArgumentError(f"{what} must be {wanted}, not None")
    return WrongTypeError(f"{what} must be {wanted}, not {type(value).__name__}: {shown(value)}")


def check_name(value: object, what: str) -> str:
    """Return the value if it is a `str` that UTF-8 can encode."""
    if not isinstance(value, str):
        raise wrong_type(what, "a str", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise IllegalArgumentError(f"{what} has a lone surrogate, which UTF-8 cannot encode: {shown(value)}") from None
    return value


def check_path(path: str | os.PathLike[str], what: str, *, is_of_pyarrow: bool = True) -> None:
    """Check that a path can be opened.

    Args:
        path: The path.
        what: First words of the message.
        is_of_pyarrow: True if pyarrow opens the path, whose absolute form must be UTF-8.

    Raises:
        WrongTypeError: The path is neither a str nor an `os.PathLike` of one.
        IllegalArgumentError: The path is too long, or has a null character, or bytes that are not UTF-8 if pyarrow
            opens it.
    """
    named = path.__fspath__() if isinstance(path, os.PathLike) else path
    if not isinstance(named, str):
        raise wrong_type(f"{what}: the path", "a str or os.PathLike", path)
    text = os.path.abspath(named)  # noqa: PTH100  # `Path.absolute` keeps "..", and pyarrow does not
    if "\0" in text:
        raise IllegalArgumentError(f"{what} {shown(str(path))}: a path cannot have a null character")
    try:
        os.lstat(text)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise IllegalArgumentError(f"{what} {shown(named)}: {error.strerror}") from error
    except UnicodeEncodeError:
        raise IllegalArgumentError(f"{what} {shown(named)}: the path has a character that it cannot have") from None
    if is_of_pyarrow and any("\ud800" <= character <= "\udfff" for character in text):
        raise IllegalArgumentError(f"{what} {shown(str(path))}: the path must be UTF-8, also in its parent folders")


def check_dialect(value: object, what: str) -> None:
    """Raise IllegalArgumentError if the value is not a dialect."""
    if not isinstance(value, str) or value not in DIALECTS:
        raise IllegalArgumentError(f"{what} must be one of {', '.join(map(repr, DIALECTS))}, not {shown(value)}")


def read_subscribed_names(subscription: object, owner: str) -> tuple[str, ...]:
    """Return the topic names of a subscription that is not a `Subscription`, as `read_names` does.

    Raises:
        WrongTypeError: The subscription is a mapping, whose keys are probably no topic names.
    """
    if isinstance(subscription, Mapping):
        wanted = "a Subscription, such as Subscription(topics=['orders']), or an iterable of topic names"
        raise wrong_type(f"{owner}: a subscription", wanted, subscription)
    return read_names(subscription, owner)


def read_names(names: object, owner: str) -> tuple[str, ...]:
    """Return the topic names of an iterable, in its order; errors name the owner.

    The names of a set are sorted, because its iteration order differs from run to run.
    """
    what = f"{owner}: topics"
    entries = read_entries(names, what, "an iterable of topic names")
    found = [check_name(name, f"{owner}: a topic") for name in entries]
    if type(names) is tuple:
        return names
    return tuple(sorted(found, key=java_order) if isinstance(names, (set, frozenset)) else found)


def read_patterns(pattern: object, what: str) -> tuple[str, ...]:
    """Return the patterns in a value that is None, one pattern, or an iterable of patterns."""
    if pattern is None:
        return ()
    if isinstance(pattern, str):
        return (check_name(pattern, what),)
    entries = read_entries(pattern, what, "a str or an iterable of str")
    return tuple(check_name(entry, f"{what}: a pattern") for entry in entries)


def read_partitions(partitions: object, what: str) -> list[tuple[str, int]]:
    """Return the (topic, partition) pairs of an iterable, in its order."""
    entries = read_entries(partitions, what, "an iterable of (topic, partition)")
    return [read_partition(entry, what) for entry in entries]


def read_partition(entry: object, owner: str) -> tuple[str, int]:
    """Return a (topic, partition) tuple; errors name the owner."""
    if not isinstance(entry, tuple) or len(entry) != 2:
        raise wrong_type(f"{owner}: a partition", "a (topic, partition) tuple", entry)
    topic, id = entry
    check_name(topic, f"{owner}: a topic")
    number = read_index(id, f"{owner}: a partition id")
    if number < 0:
        raise IllegalArgumentError(f"{owner}: a partition id cannot be negative: {shown(id)}")
    return topic, number


def is_int(value: object) -> bool:
    """Return True if the value is an integer of Python or numpy, but not a bool or a numpy array."""
    kind = type(value)
    if issubclass(kind, int):
        return kind is not bool
    # numpy before 2.3 still allows `__index__` of its bools, with a warning.
    is_numpy_bool = kind.__module__ == "numpy" and kind.__name__ in {"bool", "bool_"}
    return hasattr(kind, "__index__") and not hasattr(kind, "__iter__") and not is_numpy_bool


def read_index(value: object, what: str) -> int:
    """Return the value as an int of any size if it is an integer."""
    if not is_int(value):
        raise wrong_type(what, "an int", value)
    try:
        return operator.index(value)  # type: ignore[arg-type]  # it has `__index__`
    except TypeError as error:
        if is_raised_below(error):
            raise
        raise wrong_type(what, "an int", value) from None


def read_bool(value: object, what: str) -> bool:
    """Return the value if it is a bool."""
    if not isinstance(value, bool):
        raise wrong_type(what, "a bool", value)
    return value


def is_raised_below(error: Exception) -> bool:
    """Return True if Python code that was called has raised an error, and not an operation of Python itself.

    The exceptions of a caller's objects propagate; those of operations that do not suit the type of a value do not.
    """
    return error.__traceback__ is not None and error.__traceback__.tb_next is not None


def read_int(value: object, what: str, *, bits: int) -> int:
    """Return the value if it is an integer that fits in a signed field of `bits` bits."""
    number = read_index(value, what)
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if number < least:
        raise IllegalArgumentError(f"{what} cannot be under {least}: {shown(value)}")
    if number > most:
        raise IllegalArgumentError(f"{what} cannot be over {most}: {shown(value)}")
    return number


def read_broker_version(version: object) -> BrokerVersion | None:
    """Return the numbers of a broker's version, such as `4.3.1`; None for None.

    Raises:
        WrongTypeError: The version is no str.
        IllegalArgumentError: The version is not three numbers of up to 32 bits.
    """
    if version is None:
        return None
    if not isinstance(version, str):
        raise wrong_type("broker_version", "a str", version)
    found = re.fullmatch(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})", version)
    if found is None:
        raise IllegalArgumentError(f"broker_version must be three numbers, such as 4.3.1, got {shown(version)}")
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def as_bytes(data: object, name: str) -> bytes:
    """Return the data as `bytes`; errors begin with `name`."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, Bytes):
        return bytes(data)
    raise wrong_type(name, "bytes", data)


def read_entries(values: object, what: str, wanted: str) -> Iterator[object]:
    """Return an iterator over an iterable, which text and bytes do not count as."""
    if isinstance(values, (str, bytes, bytearray)):
        raise wrong_type(what, wanted, values)
    try:
        entries: Iterator[object] = iter(values)  # type: ignore[call-overload]  # if not iterable, reported just below
    except TypeError as error:
        if is_raised_below(error):
            raise
        raise wrong_type(what, wanted, values) from None
    return entries


def read_items(mapping: Mapping[Any, Any], what: str) -> Iterable[tuple[Any, Any]]:
    """Return the items of a mapping, whose class may return other values than pairs."""
    if type(mapping) is dict:
        return mapping.items()
    items = []
    for item in read_entries(mapping.items(), f"{what}.items()", "an iterable of pairs"):
        if not isinstance(item, tuple) or len(item) != 2:
            raise wrong_type(f"an item of {what}", "a pair of key and value", item)
        items.append(item)
    return items
