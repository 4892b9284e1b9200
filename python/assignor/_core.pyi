"""What the Rust core offers Python: the interface that both engines satisfy."""

from typing import Any, Protocol

__build__: str
__version__: str

class ArrowArray(Protocol):
    """A column that can be handed over without a copy, such as a `pyarrow.Array` (the Arrow PyCapsule protocol)."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class ArrowRecordBatch(ArrowArray, Protocol):
    """Columns that can be handed over without a copy; `pyarrow.record_batch(...)` takes them."""

def decode_subscription(
    data: bytes, tolerant: bool
) -> tuple[int, list[str], bytes | None, list[tuple[str, list[int]]], int, str | None, int | None]:
    """Version, topics, user data, owned partitions, generation, rack, tolerated: as the bytes have them."""

def decode_assignment(data: bytes) -> tuple[int, list[tuple[str, list[int]]], bytes | None]:
    """Version, partitions, user data: as the bytes have them."""

def decode_record(
    key: bytes | None, value: bytes | None
) -> tuple[
    int,
    str | None,
    str,
    dict[str, Any],
    int | None,
    dict[str, Any] | None,
    list[dict[str, Any]] | None,
]:
    """Type, name, status, key, version, value, consumer protocol."""

def decode_batch(keys: ArrowArray, values: ArrowArray) -> ArrowRecordBatch:
    """Read many records at once; the columns are described at `assignor.offsets.decode_batch`."""

def coordinator_partition(group: str, partitions: int) -> int:
    """The partition of `__consumer_offsets` that holds a group; `partitions` is positive."""
