"""What the parser of `re` knows while it reads a pattern, and the parts that it makes."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from assignor.reference.matching.python.flags import Mode
from assignor.reference.matching.python.tokens import Tokens
from assignor.reference.matching.syntax import Node
from assignor.reference.matching.text import PatternFault, invalid, unsupported

WIDEST = 1 << 64
"""Where `re` stops to count characters."""


@dataclass(frozen=True, slots=True)
class Width:
    """How many characters something takes, as `re` computes it: not the fewest and the most that it can take."""

    least: int = 0
    most: int = 0

    def __add__(self, other: Width) -> Width:
        return Width(min(self.least + other.least, WIDEST), min(self.most + other.most, WIDEST))

    def __or__(self, other: Width) -> Width:
        return Width(min(self.least, other.least), max(self.most, other.most))

    def times(self, least: int, most: int | None) -> Width:
        """The width of a repetition."""
        if most is None:
            return Width(min(self.least * least, WIDEST), WIDEST if self.most else 0)
        return Width(min(self.least * least, WIDEST), min(self.most * most, WIDEST))


class Kind(enum.Enum):
    """What a part is to a quantifier behind it."""

    PLACE = "never repeated"
    REPEAT = "repeated already"
    OTHER = "can be repeated"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a pattern: what it means, how many characters it takes, and what it is to a quantifier."""

    node: Node
    width: Width
    kind: Kind = Kind.OTHER


@dataclass
class State:
    """What is known while a pattern is read. What `re` finds only later waits: anything wrong before that comes first.

    Attributes:
        tokens: The pattern.
        mode: The flags of the whole pattern.
        kinds: Those of the flags a and u that the whole pattern has.
        exclusive: Position of the flags that made them both.
        template: Whether the flag t refuses every repetition.
        widths: The width of each group, None while it is open; the first is the whole pattern.
        names: The groups that have names.
        behind: The first group within the outermost look-behind under way.
        conditions: The groups that conditions ask for, each with the first position that does.
        asked: The groups that anything asks for.
        kept: The groups within each possessive repetition, from the first up to below the last, with its position.
        faults: What `re` finds when it compiles what it read.
        doubts: What `re` accepts and cannot be matched here.
    """

    tokens: Tokens
    mode: Mode = field(default_factory=Mode)
    kinds: str = ""
    exclusive: int | None = None
    template: bool = False
    widths: list[Width | None] = field(default_factory=lambda: [None])
    names: dict[str, int] = field(default_factory=dict)
    behind: int | None = None
    conditions: dict[int, int] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)
    kept: list[tuple[int, int, int]] = field(default_factory=list)
    faults: list[PatternFault] = field(default_factory=list)
    doubts: list[PatternFault] = field(default_factory=list)

    def fault(self, position: int, reason: str) -> None:
        """Notes what `re` refuses when it compiles."""
        self.faults.append(invalid(position, reason))

    def doubt(self, position: int, construct: str) -> None:
        """Notes what cannot be matched exactly, unless `re` refuses the pattern anyway."""
        self.doubts.append(unsupported(position, construct))

    def finish(self) -> None:
        """Refuses the pattern, of which all is read, for the first of what was noted."""
        if self.exclusive is not None:
            raise invalid(self.exclusive, "flags that exclude each other")
        if self.tokens.next:
            raise invalid(self.tokens.at, "a ) too many")
        for group, at in self.conditions.items():
            if group >= len(self.widths):
                raise invalid(at, "an unknown group")
        for first, end, at in self.kept:
            if any(first <= group < end for group in self.asked):
                self.doubt(at, "a reference into a possessive repetition")
        for found in (self.faults, self.doubts):
            if found:
                raise min(found, key=lambda fault: fault.position)

    def is_open(self, group: int) -> bool:
        """Whether the group has begun and not ended."""
        return group < len(self.widths) and self.widths[group] is None

    def check_behind(self, group: int) -> None:
        """Refuses a group that a look-behind cannot ask for."""
        if self.behind is not None:
            if group >= len(self.widths) or self.is_open(group):
                raise invalid(self.tokens.at, "an open group")
            if group >= self.behind:
                raise invalid(self.tokens.at, "a group within the same look-behind")
