"""Choice of the engine: the Rust core, or the reference in plain Python."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeVar, get_args

from assignor.errors import IllegalArgumentError
from assignor.names import Engine
from assignor.validation import shown

Implementation = TypeVar("Implementation")


def choose(engine: Engine, implementation: Implementation, module: str) -> Implementation:
    """Return a function or class of the Rust core, or its counterpart in the reference.

    Args:
        engine: `"rust"` or `"reference"`.
        implementation: The function or class of the core. Its counterpart has the same name.
        module: Name of the counterpart's module in `assignor.reference`, which is imported only if it is needed.

    Raises:
        IllegalArgumentError: `engine` is neither `"rust"` nor `"reference"`.
    """
    if isinstance(engine, str) and engine == "rust":
        return implementation
    return reference_verb(engine, module, implementation.__name__)  # type: ignore[attr-defined,no-any-return]  # functions and classes have names


def reference_verb(engine: object, module: str, name: str) -> Any:
    """Return a function or class of the reference; raise IllegalArgumentError if there is no such engine."""
    check_engine(engine)
    return getattr(import_module(f"assignor.reference.{module}"), name)


def check_engine(engine: object) -> None:
    """Raise IllegalArgumentError if `engine` is neither `"rust"` nor `"reference"`."""
    if not isinstance(engine, str) or engine not in get_args(Engine):
        raise IllegalArgumentError(f"engine must be 'rust' or 'reference', not {shown(engine)}")
