"""Whether a back-reference can be followed exactly.

Java forgets what a group took when it takes back the way that led there, but not for a group inside of a look-around,
an atomic group, a possessive repetition, or a repeated group that can match in one way only. There, a reference may see
what was taken on a way that failed; unless every way to the reference passes the group, and only once.
"""

from __future__ import annotations

from assignor.reference.matching.syntax import (
    Alternation,
    Atomic,
    Backreference,
    Capture,
    Concat,
    LookAround,
    Node,
    Repetition,
)


class _InexactError(Exception):
    """A reference can see what was taken on a way that failed."""


def are_exact(node: Node, kept: set[int]) -> bool:
    """Whether no reference can see what one of the `kept` groups took on a way that failed."""
    try:
        _passed(node, kept, False, frozenset())
    except _InexactError:
        return False
    return True


def _passed(node: Node, kept: set[int], repeated: bool, taken: frozenset[int]) -> frozenset[int]:
    """The groups that are passed once on every way behind the node, those before it being `taken`."""
    match node:
        case Concat(nodes):
            for inner in nodes:
                taken = _passed(inner, kept, repeated, taken)
        case Alternation(nodes):
            ways = [_passed(inner, kept, repeated, taken) for inner in nodes]
            taken = frozenset.intersection(*ways)
        case Repetition(inner):
            _passed(inner, kept, True, taken)
        case Capture(group, inner):
            taken = _passed(inner, kept, repeated, taken)
            if not repeated:
                taken |= {group}
        case Atomic(inner) | LookAround(_, False, inner):
            taken = _passed(inner, kept, repeated, taken)
        case LookAround(_, True, inner):
            _passed(inner, kept, repeated, taken)
        case Backreference(group):
            if group in kept and group not in taken:
                raise _InexactError
    return taken
