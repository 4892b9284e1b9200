"""Choice of the engine: the Rust core or the reference."""

from __future__ import annotations

from typing import Literal, TypeVar

from assignor.errors import IllegalArgumentError

Engine = Literal["rust", "reference"]
Verb = TypeVar("Verb")


def choose(engine: Engine, rust: Verb, reference: Verb) -> Verb:
    """Return the verb of the named engine."""
    if engine == "rust":
        return rust
    if engine == "reference":
        return reference
    raise IllegalArgumentError(f"engine must be 'rust' or 'reference', not {engine!r}")
