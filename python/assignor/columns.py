"""Topics and members as Arrow or numpy columns, which need no Python object per partition or name.

`assign`, `plan`, `Group` and `Topics` accept these classes in place of mappings. They also accept Arrow tables: objects
with `__arrow_c_stream__` or `__arrow_c_array__`, such as a `pyarrow.Table` or a `polars.DataFrame`.

A table of topics has the columns `topic` (text) and `partitions` (a count), and optionally `racks` (per partition, a
list of the racks of its replicas). A table of members has `member_id` (text) and `topics` (a list of text) or `pattern`
(text), and optionally `dialect` (text), `group_instance_id` (text), `rack` (text), `generation` (an integer),
`owned_partitions` (a list of structs of `topic` and `partition`) and `user_data` (binary).
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
    """Columns that are passed without a copy, such as a `pyarrow.RecordBatch`."""


class ArrowStream(Protocol):
    """Columns in chunks, such as a `pyarrow.Table` or a `polars.DataFrame` (the Arrow PyCapsule protocol)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a capsule."""
        ...


ArrowTable = ArrowRecordBatch | ArrowStream


class TopicColumns(NamedTuple):
    """Topics as columns, with one row per topic.

    Attributes:
        topic: Topic names: an Arrow or numpy column of text, or any iterable of `str`.
        partitions: Number of partitions of each topic. Partition ids are 0 to n-1.
        rack_set: None, or one entry per partition, topic after topic. An entry is the index in `rack_sets` of the
            racks of the partition's replicas.
        rack_sets: Distinct sets of racks, each an iterable; None in a set is a broker without a rack.

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
    """Members as columns, with one row per member. An optional column is None, or has one entry per member.

    Attributes:
        member_id: Member ids: an Arrow or numpy column of text, or any iterable of `str`.
        subscription: Index in `subscriptions` of the subscription of each member.
        subscriptions: Distinct subscriptions: iterables of topic names, or an Arrow column of lists of text.
        group_instance_id: Instance ids; None for a dynamic member.
        rack: Racks; None or `""` for a member without a rack.
        generation: Generation in which each member got its owned partitions; None or a negative number for a member
            without a generation.
        owned_partitions: Partitions that each member owns: iterables of (topic, partition) tuples, or an
            Arrow column of lists of structs with the fields `topic` and `partition`; None for a member that owns none.
        user_data: User data of each member: an Arrow column of binary, or any iterable of `bytes` and None.

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
