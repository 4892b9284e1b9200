"""The dialect of Python's `re`, as version 3.11 has it: a prefix of the name has to match, as in `re.match`."""

from __future__ import annotations

from assignor.reference.matching.chars import ALL, NONE, Chars
from assignor.reference.matching.python.escapes import CLASSES, PLACES, code_or_group
from assignor.reference.matching.python.flags import Mode
from assignor.reference.matching.python.groups import Groups
from assignor.reference.matching.python.repeats import bounds, greed, spelled_out
from assignor.reference.matching.python.sets import read_set
from assignor.reference.matching.python.state import Kind, Part, State, Width
from assignor.reference.matching.python.tokens import Tokens
from assignor.reference.matching.syntax import ANYTHING, At, Greed, Node, One, Place, Repeat, concat, either
from assignor.reference.matching.text import deep, invalid

_BLANKS = " \t\n\r\v\f"


def parse(pattern: str) -> Node:
    """What the pattern means, over whole names."""
    with deep():
        state = State(Tokens(pattern))
        node = _Sequences(state).either(None).node
        state.finish()
        return concat([spelled_out(node, state.asked), ANYTHING])


class _Sequences:
    """Reads alternatives, and what is one after the other in each."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._tokens = state.tokens
        self._groups = Groups(state, self.either, self._sequence)

    def either(self, mode: Mode | None) -> Part:
        """Reads alternatives up to the end or a `)`; no mode is that of the whole pattern."""
        first = self._sequence(mode, mode is None)
        nodes, width = [first.node], first.width
        while self._tokens.eat("|"):
            part = self._sequence(mode)
            nodes.append(part.node)
            width |= part.width
        return Part(either(nodes), width)

    def _sequence(self, within: Mode | None, leads: bool = False) -> Part:
        state, tokens = self._state, self._tokens
        parts: list[Part] = []
        groups = len(state.widths)
        while tokens.next and tokens.next not in "|)":
            mode = within or state.mode
            start, token = tokens.at, tokens.take()
            if mode.verbose and token in _BLANKS:
                continue
            if mode.verbose and token == "#":
                while tokens.take() not in ("", "\n"):
                    pass
                continue
            times = bounds(tokens, token) if token in "*+?{" else None
            if times is not None:
                self._repeat(parts, times, start, groups)
                continue
            before = len(state.widths)
            part = (
                self._groups.read(mode, start, leads and not parts) if token == "(" else self._one(mode, token, start)
            )
            if part is not None:
                parts.append(part)
                groups = before
        return Part(concat([part.node for part in parts]), sum((part.width for part in parts), Width()))

    def _one(self, mode: Mode, token: str, start: int) -> Part:
        """A character, a set, a place or an escape."""
        if token == ".":
            return _chars(ALL)
        if token in "^$":
            return _place(Place.START if token == "^" else Place.END)
        if token == "[":
            return _chars(read_set(self._state, mode, start))
        if token[0] != "\\":
            return _chars(mode.span(ord(token), ord(token)))
        char = token[1]
        if char in CLASSES:
            return _chars(CLASSES[char])
        if char in PLACES:
            return _place(PLACES[char])
        code, group = code_or_group(self._tokens, char, start)
        if group is not None:
            if group >= len(self._state.widths):
                raise invalid(start + 1, "an unknown group")
            return self._groups.same(group, mode, start)
        if code is None:
            self._state.doubt(start, "a character name beyond ASCII")
            return _chars(NONE)
        return _chars(mode.span(code, code))

    def _repeat(self, parts: list[Part], times: tuple[int, int | None], start: int, groups: int) -> None:
        """Repeats the last part, in which the groups from that one on are."""
        state = self._state
        if not parts or parts[-1].kind is Kind.PLACE:
            raise invalid(start, "nothing to repeat")
        if parts[-1].kind is Kind.REPEAT:
            raise invalid(start, "a repetition of a repetition")
        ways = greed(self._tokens)
        if ways is Greed.POSSESSIVE:
            state.kept.append((groups, len(state.widths), start))
        if state.template:
            state.fault(start, "a repetition under the flag t")
        part = parts.pop()
        parts.append(Part(Repeat(part.node, *times, ways), part.width.times(*times), Kind.REPEAT))


def _chars(chars: Chars) -> Part:
    return Part(One(chars), Width(1, 1))


def _place(place: Place) -> Part:
    return Part(At(place), Width(), Kind.PLACE)
