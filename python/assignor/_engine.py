"""How the door chooses between the Rust core and the reference, and what both are handed."""

from __future__ import annotations

from typing import Literal, Protocol, TypeVar

from assignor.errors import IllegalArgumentError
from assignor.model import wrong_type

Engine = Literal["rust", "reference"]
Bytes = bytes | bytearray | memoryview
Verb = TypeVar("Verb")


class ArrowArray(Protocol):
    """A column that can be handed over without a copy, such as a `pyarrow.Array` (the Arrow PyCapsule protocol)."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Two capsules: the type and the data."""
        ...


class ArrowRecordBatch(ArrowArray, Protocol):
    """Columns that can be handed over without a copy; `pyarrow.record_batch(...)` takes them."""


class ArrowStream(Protocol):
    """Columns that come in pieces, such as a `pyarrow.Table` or a `polars.DataFrame` (the Arrow PyCapsule protocol)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule."""
        ...


ArrowTable = ArrowRecordBatch | ArrowStream


def choose(engine: Engine, rust: Verb, reference: Verb) -> Verb:
    """The verb of the engine of that name."""
    if engine == "rust":
        return rust
    if engine == "reference":
        return reference
    raise IllegalArgumentError(f"engine must be 'rust' or 'reference', not {engine!r}")


def as_bytes(data: object, name: str) -> bytes:
    """What was given as `name`, as bytes."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, Bytes):
        return bytes(data)
    raise wrong_type(name, "bytes", data)
