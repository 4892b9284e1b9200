"""Weights of partitions, such as records per second: the forms in which functions accept them, and their validation.

`Plan.balance(weights=...)` and `assignor.scaling.scale(weights=...)` accept any of these:

* a mapping of topics to weights by partition id: `{"orders": [120.0, 3.5]}`; the weights of a topic are
  a list, a numpy array or an Arrow array
* a mapping of partitions to weights: `{("orders", 0): 120.0, ("orders", 1): 3.5}`, also with keys of `TopicPartition`
* `WeightColumns` of numpy columns
* an Arrow table, such as a `pyarrow.Table` or a `polars.DataFrame`, with the columns `topic`, `partition` and `weight`,
  for example `assignor.traffic.partition_traffic(...)` after its column `rate` is renamed

A weight is a finite number >= 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.validation import check_name, read_items, read_partition, shown, wrong_type

if TYPE_CHECKING:
    import numpy.typing as npt

    from assignor.columns import ArrowArray, ArrowTable

    Column: TypeAlias = "ArrowArray | npt.NDArray[Any] | Iterable[Any]"

__all__ = ["WeightColumns", "Weights", "weight_columns"]

_COLUMNS = ("topic", "partition", "weight")

_WANTED = "a mapping of topics or partitions to weights, WeightColumns or an Arrow table of topic, partition and weight"


class WeightColumns(NamedTuple):
    """Weights as columns, with one row per partition.

    Attributes:
        topic: Topic names: a numpy column of text, or any iterable of `str`.
        partition: Partition ids: a numpy column of integers, or any iterable of `int`.
        weight: Weights: a numpy column of numbers, or any iterable of numbers.

    Example:
        >>> import numpy as np
        >>> from assignor import plan
        >>> from assignor.weights import WeightColumns
        >>> weights = WeightColumns(["t", "t"], np.array([0, 1]), np.array([9.0, 1.0]))
        >>> plan({"t": 2}, {"a": ["t"], "b": ["t"]}).balance(weights=weights).weights
        {'a': 9.0, 'b': 1.0}
    """

    topic: Column
    partition: Column
    weight: Column


Weights: TypeAlias = "Mapping[str, Column] | Mapping[tuple[str, int], float] | WeightColumns | ArrowTable"
"""Weights of partitions, in one of the forms that the module describes."""


def weight_columns(
    weights: Weights, topics: Sequence[str], partitions: Sequence[int | npt.NDArray[np.int64]]
) -> list[npt.NDArray[np.float64] | None]:
    """Return the weights of the partitions of each topic.

    Args:
        weights: The weights, in one of the forms of this module.
        topics: Names of the topics.
        partitions: For each topic its number of partitions, or its partition ids, ascending.

    Returns:
        For each topic a float64 column in the order of its partitions, with NaN for a partition without a weight; None
        for a topic without weights.

    Raises:
        WrongTypeError: The weights have none of these forms, or a column has another type.
        IllegalArgumentError: A weight is negative, infinite or NaN, a partition has two weights, or `topics` does not
            have the partition of a weight.

    Example:
        >>> [column.tolist() for column in weight_columns({("t", 1): 2.5, ("t", 0): 1}, ["t"], [2])]
        [[1.0, 2.5]]
        >>> weight_columns({"t": [1, 2, 3]}, ["t"], [2])
        Traceback (most recent call last):
        assignor.errors.IllegalArgumentError: weights has a weight for ('t', 2), but topic 't' has no such partition
    """
    given = _by_topic(weights)
    known = dict.fromkeys(topics)
    for topic, (ids, _) in given.items():
        if topic not in known and len(ids):
            raise IllegalArgumentError(
                f"weights has a weight for ({topic!r}, {ids[0]}), but the group has no topic {topic!r}"
            )
    found: list[npt.NDArray[np.float64] | None] = []
    for topic, of_topic in zip(topics, partitions, strict=True):
        if topic not in given:
            found.append(None)
            continue
        ids, values = given[topic]
        if isinstance(of_topic, np.ndarray):
            places = np.searchsorted(of_topic, ids)
            exists = np.append(of_topic, -1)[places] == ids
            count = len(of_topic)
        else:
            places, count = ids, int(of_topic)
            exists = ids < count
        if not exists.all():
            first = ids[~exists][0]
            raise IllegalArgumentError(
                f"weights has a weight for ({topic!r}, {first}), but topic {topic!r} has no such partition"
            )
        column = np.full(count, np.nan)
        column[places] = values
        found.append(column)
    return found


_Given = dict[str, "tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]"]


def _by_topic(weights: object) -> _Given:
    """Return the partition ids and the weights of each topic."""
    if isinstance(weights, Mapping):
        return _of_mapping(weights)
    if hasattr(weights, "__arrow_c_stream__") or hasattr(weights, "__arrow_c_array__"):
        with dependency("pyarrow"):
            import pyarrow as pa

        try:
            table = pa.table(weights)
        except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
            raise WrongTypeError(f"weights cannot be read as an Arrow table: {error}") from error
        missing = [name for name in _COLUMNS if name not in table.column_names]
        if missing:
            raise WrongTypeError(f"weights has no column {missing[0]}; its columns are {', '.join(table.column_names)}")
        return _of_columns(*(table[name].to_pylist() if name == "topic" else table[name] for name in _COLUMNS))
    if isinstance(weights, tuple) and len(weights) == len(_COLUMNS):
        return _of_columns(*weights)
    raise wrong_type("weights", _WANTED, weights)


def _of_mapping(weights: Mapping[Any, Any]) -> _Given:
    found: _Given = {}
    single: dict[str, tuple[list[int], list[Any]]] = {}
    for key, value in read_items(weights, "weights"):
        if isinstance(key, tuple):
            topic, partition = read_partition(key, "weights")
            ids, values = single.setdefault(topic, ([], []))
            ids.append(partition)
            values.append(value)
        else:
            topic = check_name(key, "weights: a topic")
            column = _numbers(value, f"weights[{topic!r}]")
            found[topic] = np.arange(len(column)), column
    for topic, (ids, values) in single.items():
        if topic in found:
            raise IllegalArgumentError(f"weights has the key {topic!r} and keys of its partitions; give one of both")
        found[topic] = np.array(ids, np.int64), _numbers(values, f"weights of topic {topic!r}", ids)
    return found


def _of_columns(topic: Any, partition: Any, weight: Any) -> _Given:
    names = [check_name(name, "weights: a topic") for name in (topic.tolist() if hasattr(topic, "tolist") else topic)]
    ids = _as_array(partition, "the column partition of weights")
    if ids.dtype.kind not in "iu" and len(ids):
        raise WrongTypeError(f"the column partition of weights must have integers, not {ids.dtype}")
    values = _numbers(weight, "the column weight of weights")
    if not len(names) == len(ids) == len(values):
        lengths = f"{len(names)}, {len(ids)} and {len(values)}"
        raise IllegalArgumentError(f"the columns topic, partition and weight of weights have {lengths} rows")
    if (ids < 0).any():
        raise IllegalArgumentError(f"weights: a partition id cannot be negative: {ids[ids < 0][0]}")
    numbers: dict[str, int] = {}
    group = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
    order = np.lexsort((ids, group))
    group, ids, values = group[order], ids[order].astype(np.int64), values[order]
    twice = np.flatnonzero((group[1:] == group[:-1]) & (ids[1:] == ids[:-1]))
    topics = list(numbers)
    if len(twice):
        named = f"({topics[group[twice[0]]]!r}, {ids[twice[0]]})"
        raise IllegalArgumentError(f"weights has two weights for {named}; a partition must have one")
    ends = np.searchsorted(group, np.arange(len(topics) + 1))
    return {name: (ids[ends[at] : ends[at + 1]], values[ends[at] : ends[at + 1]]) for at, name in enumerate(topics)}


def _numbers(values: Any, what: str, ids: Sequence[int] | None = None) -> npt.NDArray[np.float64]:
    """Return weights as a float64 column; errors name the place of the first invalid one."""
    column = _as_array(values, what)
    if column.dtype.kind not in "iuf" and len(column):
        raise WrongTypeError(f"{what} must have numbers, not {shown(column.tolist()[0])}")
    column = column.astype(np.float64)
    invalid = np.flatnonzero(~(np.isfinite(column) & (column >= 0)))
    if len(invalid):
        at = invalid[0]
        place = f"partition {ids[at]}" if ids is not None else f"index {at}"
        raise IllegalArgumentError(f"{what}: a weight must be a finite number >= 0, got {column[at]} at {place}")
    return column


def _as_array(values: Any, what: str) -> npt.NDArray[Any]:
    """Return the values of a list, a numpy array or an Arrow array as a one-dimensional array."""
    if isinstance(values, (str, bytes, Mapping)) or not (hasattr(values, "__array__") or hasattr(values, "__iter__")):
        raise wrong_type(what, "a list or a column of numbers", values)
    try:
        column = np.asarray(values if hasattr(values, "__array__") else list(values))
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise WrongTypeError(f"{what} must be a column of numbers: {error}") from error
    if column.ndim != 1:
        raise WrongTypeError(f"{what} must have one dimension, not {column.ndim}")
    return column
