"""How long Java thinks that a part of a pattern is: what it demands of a look-behind, and how it runs repeated groups.

Its numbers are ints that overflow, and some parts count as less than they take; so they cannot be had from the tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

GREATEST = 0x7FFF_FFFF
"""The greatest int."""


def wrapped(number: int) -> int:
    """The number as an int, which overflows."""
    return (number + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000


@dataclass(frozen=True, slots=True)
class Width:
    """What Java knows about the length of a part.

    Attributes:
        least: The least characters.
        most: The most.
        bounded: Whether there is a most.
        one_way: Whether there is but one way to match the part at a position.
    """

    least: int = 0
    most: int = 0
    bounded: bool = True
    one_way: bool = True


@dataclass(frozen=True, slots=True)
class Add:
    """So many characters."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Many:
    """So many characters of a set and more, which Java counts as if there were a most."""

    least: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """A character with those that combine with it, which Java does not count."""


@dataclass(frozen=True, slots=True)
class Times:
    """A part so many times."""

    part: Width
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class AlternationStep:
    """One of several parts."""

    parts: tuple[Width, ...]


@dataclass(frozen=True, slots=True)
class Inner:
    """A part for itself, perhaps left out."""

    steps: tuple[Step, ...]
    optional: bool


@dataclass(frozen=True, slots=True)
class Loop:
    """A repeated group that can match in several ways: Java looks no further."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A back-reference."""


Step: TypeAlias = Add | Many | Cluster | Times | AlternationStep | Inner | Loop | Reference
"""A step of a sequence; a group that is not repeated is no step, but those within it are."""


def width_of(steps: list[Step] | tuple[Step, ...], start: Width = Width()) -> Width:
    """The width of a sequence, behind what has been measured before."""
    width = start
    # What stands before an alternative is added only in the end.
    before: list[Width] = []
    for step in steps:
        match step:
            case Add(least, most):
                width = replace(width, least=wrapped(width.least + least), most=wrapped(width.most + most))
            case Many(least):
                width = Width(wrapped(width.least + least), wrapped(width.most + GREATEST), width.bounded, False)
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
