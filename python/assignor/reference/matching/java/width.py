"""Lengths of parts of a pattern as Java computes them, for the limits of look-behinds and for repeated groups.

The syntax tree cannot give these lengths: Java's ints overflow, and Java computes too short a length for some parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

MAX_INT = 0x7FFF_FFFF
"""Largest int."""


def wrapped(number: int) -> int:
    """Return a number as a Java int, which overflows."""
    return (number + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000


@dataclass(frozen=True, slots=True)
class Width:
    """Length of a part, as Java computes it.

    Attributes:
        least: Minimum number of characters.
        most: Maximum number of characters.
        bounded: True if there is a maximum length.
        one_way: True if there is only one way to match the part at a position.
    """

    least: int = 0
    most: int = 0
    bounded: bool = True
    one_way: bool = True


@dataclass(frozen=True, slots=True)
class Add:
    """A minimum and maximum number of characters."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Many:
    """At least this number of characters of a set; Java counts them as bounded."""

    least: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """A character with its combining characters; Java adds nothing to the length for them."""


@dataclass(frozen=True, slots=True)
class Times:
    """A part with a minimum and maximum number of iterations."""

    part: Width
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class AlternationStep:
    """One of several alternatives."""

    parts: tuple[Width, ...]


@dataclass(frozen=True, slots=True)
class Inner:
    """A part whose length is computed separately; it may be optional."""

    steps: tuple[Step, ...]
    optional: bool


@dataclass(frozen=True, slots=True)
class Loop:
    """A repeated group that can match in several ways; Java stops measuring here."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A backreference."""


Step: TypeAlias = Add | Many | Cluster | Times | AlternationStep | Inner | Loop | Reference
"""A step of a sequence. The steps of a group without a quantifier count as steps of the sequence."""


def width_of(steps: list[Step] | tuple[Step, ...], start: Width = Width()) -> Width:
    """Return the width of a sequence, added to the width before it."""
    width = start
    # The width before an alternation is added at the end.
    before: list[Width] = []
    for step in steps:
        match step:
            case Add(least, most):
                width = replace(width, least=wrapped(width.least + least), most=wrapped(width.most + most))
            case Many(least):
                width = Width(wrapped(width.least + least), wrapped(width.most + MAX_INT), width.bounded, False)
            case Cluster():
                width = replace(width, one_way=False)
            case Times():
                width = _repeated(width, step)
            case AlternationStep(parts):
                before.append(
                    Width(
                        wrapped(width.least + min(part.least for part in parts)),
                        wrapped(width.most + max(-1, *(part.most for part in parts))),
                        width.bounded and all(part.bounded for part in parts),
                        False,
                    )
                )
                width = Width()
            case Inner(inner, optional):
                found = width_of(inner, width)
                width = replace(found, least=width.least, one_way=False) if optional else found
            case Loop():
                width = replace(width, bounded=False, one_way=False)
                break
            case Reference():
                width = replace(width, bounded=False)
    for part in before:
        width = Width(
            wrapped(width.least + part.least), wrapped(width.most + part.most), width.bounded and part.bounded, False
        )
    return width


def _repeated(before: Width, step: Times) -> Width:
    part = step.part
    least = wrapped(part.least * step.least + before.least)
    if least < before.least:
        least = 0x0FFF_FFFF
    most = part.most
    bounded = before.bounded and part.bounded
    if bounded:
        most = wrapped(part.most * step.most + before.most)
        bounded = most >= before.most
    return Width(least, most, bounded, part.one_way and step.least == step.most and before.one_way)
