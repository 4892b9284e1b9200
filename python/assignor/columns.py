"""Groups as columns: what one has in Arrow or numpy goes in without a Python object for each partition or name.

`assign`, `plan`, `Group` and `Topics` take these where they take mappings. They take Arrow tables too: anything with
`__arrow_c_stream__` or `__arrow_c_array__`, such as a `pyarrow.Table` or a `polars.DataFrame`. Topics then have the
columns `topic` (text) and `partitions` (a count), and perhaps `racks` (a list for each partition of the racks of its
replicas); members have `member_id` (text) and `topics` (a list of text), and perhaps `group_instance_id`, `rack`,
`generation` (an integer), `owned_partitions` (a list of structs of `topic` and `partition`) and `user_data` (binary).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    TextColumn: TypeAlias = "ArrowArray | ArrowStream | npt.NDArray[Any] | Iterable[str]"
    OptionalTextColumn: TypeAlias = "ArrowArray | ArrowStream | npt.NDArray[Any] | Iterable[str | None]"
    IntColumn: TypeAlias = "ArrowArray | ArrowStream | npt.NDArray[Any] | Iterable[int]"
    OptionalIntColumn: TypeAlias = "ArrowArray | ArrowStream | npt.NDArray[Any] | Iterable[int | None]"


class ArrowArray(Protocol):
    """Column that is passed without a copy, such as a `pyarrow.Array` (the Arrow PyCapsule protocol)."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Return two capsules: the type and the data."""
        ...


class ArrowRecordBatch(ArrowArray, Protocol):
    """Columns that are passed without a copy; `pyarrow.record_batch(...)` takes them."""


class ArrowStream(Protocol):
    """Columns in chunks, such as a `pyarrow.Table` or a `polars.DataFrame` (the Arrow PyCapsule protocol)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a capsule."""
        ...


ArrowTable = ArrowRecordBatch | ArrowStream


class TopicColumns(NamedTuple):
    """Topics as columns, a row for each.

    Attributes:
        topic: The names: an Arrow or numpy column of text, or any iterable of `str`.
        partitions: How many partitions each has; their ids are 0 to n-1.
        rack_set: None, or one entry for each partition, topic after topic: the index in `rack_sets` of the racks that
            its replicas are on.
        rack_sets: The distinct ones, each an iterable of racks; None in it is a broker without a rack.

    Example:
        >>> from assignor import MemberColumns, TopicColumns, plan
        >>> topics = TopicColumns(["t"], [3], rack_set=[0, 1, 0], rack_sets=[("r0",), ("r1",)])
        >>> members = MemberColumns(["a", "b"], [0, 0], [["t"]], rack=["r1", "r0"])
        >>> plan(topics, members)["a"]
        [TopicPartition(topic='t', partition=1)]
    """

    topic: TextColumn
    partitions: IntColumn
    rack_set: IntColumn | None = None
    rack_sets: Iterable[Iterable[str | None]] = ()


class MemberColumns(NamedTuple):
    """Members as columns, a row for each.

    Attributes:
        member_id: The ids: an Arrow or numpy column of text, or any iterable of `str`.
        subscription: The index in `subscriptions` of what each subscribes to.
        subscriptions: The distinct ones: iterables of topic names, or an Arrow column of lists of text.
        group_instance_id: None, or per member its instance id, None for a dynamic one.
        rack: None, or per member its rack, None or `""` for one without.
        generation: None, or for each member the generation in which it got its owned partitions; None or a negative
            number if it has none.
        owned_partitions: None, or for each member the partitions that it owns, in order: iterables of (topic,
            partition) tuples, or an Arrow column of lists of structs with the fields `topic` and `partition`; None if
            it owns none.
        user_data: None, or for each member the user data of its subscription: an Arrow column of binary, or any
            iterable of `bytes` and None.

    Example:
        >>> from assignor import MemberColumns, assign
        >>> members = MemberColumns(["a", "b"], [0, 0], [["t"]], owned_partitions=[[("t", 2)], None])
        >>> assign({"t": 3}, members, assignor="sticky")["a"]
        [TopicPartition(topic='t', partition=1), TopicPartition(topic='t', partition=2)]
    """

    member_id: TextColumn
    subscription: IntColumn
    subscriptions: ArrowArray | ArrowStream | Iterable[Iterable[str]]
    group_instance_id: OptionalTextColumn | None = None
    rack: OptionalTextColumn | None = None
    generation: OptionalIntColumn | None = None
    owned_partitions: ArrowArray | ArrowStream | Iterable[Iterable[tuple[str, int]] | None] | None = None
    user_data: ArrowArray | ArrowStream | Iterable[bytes | None] | None = None
