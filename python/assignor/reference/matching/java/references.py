"""Check that backreferences can be matched exactly.

When Java backtracks over a group, it restores the group's previous capture. It does not restore the capture of a group
inside a look-around, an atomic group, a possessive repetition, or a repeated group that can match in only one way. A
backreference to such a group may see a capture from a failed path, unless every path to the backreference captures the
group exactly once.
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
    """A backreference that may see a capture from a failed path."""


def are_exact(node: Node, kept: set[int]) -> bool:
    """Return True if no backreference can see a capture of the `kept` groups that Java kept after backtracking."""
    try:
        _passed(node, kept, False, frozenset())
    except _InexactError:
        return False
    return True


def _passed(node: Node, kept: set[int], repeated: bool, taken: frozenset[int]) -> frozenset[int]:
    """Return the groups that every path has captured exactly once when the node has matched.

    `taken` are those captured before the node.
    """
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
            if not repeated and group in kept:
                taken |= {group}
        case Atomic(inner) | LookAround(_, False, inner):
            taken = _passed(inner, kept, repeated, taken)
        case LookAround(_, True, inner):
            _passed(inner, kept, repeated, taken)
        case Backreference(group):
            if group in kept and group not in taken:
                raise _InexactError
    return taken
