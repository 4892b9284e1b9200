"""What begins with a parenthesis in a pattern of `re`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from assignor.reference.matching.python.flags import KNOWN, Mode, group_flags
from assignor.reference.matching.python.state import Part, State, Width
from assignor.reference.matching.syntax import EMPTY, Around, Atomic, Group, IfTaken, Same
from assignor.reference.matching.text import invalid

Parser: TypeAlias = Callable[[Mode], Part]

MOST_GROUPS = (1 << 30) - 1
_BLANKS = " \t\n\r\v\f\x1c\x1d\x1e\x1f"
_NUMERIC = "0123456789+-_" + _BLANKS
"""What a number can be of."""


class Groups:
    """Reads groups; what is within them by the two parsers."""

    def __init__(self, state: State, either: Parser, branch: Parser) -> None:
        self._state = state
        self._tokens = state.tokens
        self._either = either
        self._branch = branch

    def read(self, mode: Mode, start: int, leads: bool) -> Part | None:
        """Reads on behind a `(`: a part, or None for a comment and for flags for all.

        Arguments:
            mode: The flags where it stands.
            start: Position of the parenthesis.
            leads: Whether nothing is before it, so that it may turn on flags for all.
        """
        tokens = self._tokens
        if not tokens.eat("?"):
            return self._capture(mode, start, None, 0)
        token = tokens.take()
        match token:
            case "":
                raise invalid(tokens.at, "a group without an end")
            case "P":
                return self._named(mode, start)
            case ":":
                return self._within(mode, start)
            case ">":
                inner = self._within(mode, start)
                return Part(Atomic(inner.node), inner.width)
            case "#":
                self._skip_comment(start)
                return None
            case "=" | "!" | "<":
                return self._around(mode, start, token)
            case "(":
                return self._condition(mode, start)
        if token != "-" and token not in KNOWN:
            raise invalid(start + 1, "an unknown kind of group")
        on, off, for_all = group_flags(tokens, token)
        if for_all:
            self._flags_for_all(on, start, leads)
            return None
        return self._within(mode.with_flags(on, off), start)

    def _within(self, mode: Mode, start: int) -> Part:
        """What is within a group, up to its end."""
        self._tokens.text.enter()
        inner = self._either(mode)
        self._close(start)
        self._tokens.text.leave()
        return inner

    def _close(self, start: int) -> None:
        if not self._tokens.eat(")"):
            raise invalid(start, "a group without an end")

    def _capture(self, mode: Mode, start: int, name: str | None, name_at: int) -> Part:
        state = self._state
        group = len(state.widths)
        if name is not None:
            if name in state.names:
                raise invalid(name_at, "a group name in use")
            state.names[name] = group
        state.widths.append(None)
        inner = self._within(mode, start)
        state.widths[group] = inner.width
        return Part(Group(group, inner.node), inner.width)

    def _named(self, mode: Mode, start: int) -> Part:
        """Reads on behind `(?P`."""
        tokens = self._tokens
        if tokens.eat("<"):
            name_at = tokens.at
            name = tokens.name(">", "group name")
            self._check_name(name, name_at)
            return self._capture(mode, start, name, name_at)
        if tokens.eat("="):
            name_at = tokens.at
            name = tokens.name(")", "group name")
            self._check_name(name, name_at)
            group = self._state.names.get(name)
            if group is None:
                raise invalid(name_at, "an unknown group name")
            return self.same(group, mode, name_at)
        if not tokens.take():
            raise invalid(tokens.at, "a group without an end")
        raise invalid(start + 1, "an unknown kind of group")

    def same(self, group: int, mode: Mode, at: int) -> Part:
        """What a group took, again."""
        state = self._state
        if state.is_open(group):
            raise invalid(at, "an open group")
        state.check_behind(group)
        state.asked.add(group)
        return Part(Same(group, mode.ignore), state.widths[group] or Width())

    def _check_name(self, name: str, at: int) -> None:
        """Refuses what is no identifier; beyond ASCII, what is one changes with the version of Unicode."""
        if not ("".join(char if char.isascii() else "_" for char in name)).isidentifier():
            raise invalid(at, "a bad group name")
        if not name.isascii():
            self._state.doubt(at, "a group name beyond ASCII")

    def _skip_comment(self, start: int) -> None:
        while True:
            token = self._tokens.take()
            if not token:
                raise invalid(start, "a comment without an end")
            if token == ")":
                return

    def _around(self, mode: Mode, start: int, token: str) -> Part:
        state, tokens = self._state, self._tokens
        ahead = token != "<"
        if not ahead:
            token = tokens.take()
            if not token:
                raise invalid(tokens.at, "a group without an end")
            if token not in "=!":
                raise invalid(start + 1, "an unknown kind of group")
        outer = state.behind
        if not ahead and outer is None:
            state.behind = len(state.widths)
        tokens.text.enter()
        inner = self._either(mode)
        state.behind = outer
        self._close(start)
        tokens.text.leave()
        if not ahead:
            if inner.width.least > 0xFFFFFFFF:
                state.fault(start, "a look-behind too wide")
            elif inner.width.least != inner.width.most:
                state.fault(start, "a look-behind without a fixed width")
        return Part(Around(ahead, token == "!", inner.node), Width())

    def _condition(self, mode: Mode, start: int) -> Part:
        """Reads on behind `(?(`."""
        state, tokens = self._state, self._tokens
        name_at = tokens.at
        group = self._condition_group(tokens.name(")", "group name"), name_at)
        if group:
            state.check_behind(group)
            state.asked.add(group)
            if state.is_open(group):
                state.doubt(start, "a condition on a group within itself")
        tokens.text.enter()
        taken = self._branch(mode)
        other = Part(EMPTY, Width())
        if tokens.eat("|"):
            other = self._branch(mode)
            if tokens.next == "|":
                raise invalid(tokens.at, "a condition with more than two branches")
        self._close(start)
        tokens.text.leave()
        return Part(IfTaken(group, taken.node, other.node), taken.width | other.width)

    def _condition_group(self, name: str, at: int) -> int:
        """The group of a name or number; 0 where that cannot be known."""
        state = self._state
        if name in state.names:
            return state.names[name]
        if not name.isascii():
            if any(char.isascii() and char not in _NUMERIC for char in name):
                raise invalid(at, "a bad group name")
            state.doubt(at, "a group name beyond ASCII")
            return 0
        if name.isidentifier():
            raise invalid(at, "an unknown group name")
        group = _number(name)
        if group is None:
            raise invalid(at, "a bad group name")
        if group == 0:
            raise invalid(at, "the group 0")
        if group >= MOST_GROUPS:
            raise invalid(at, "an unknown group")
        state.conditions.setdefault(group, at)
        return group

    def _flags_for_all(self, on: str, start: int, leads: bool) -> None:
        state = self._state
        if not leads:
            raise invalid(start, "flags for all that are not at the start")
        state.kinds += "".join(flag for flag in "au" if flag in on and flag not in state.kinds)
        if len(state.kinds) > 1 and state.exclusive is None:
            state.exclusive = start
        state.template = state.template or "t" in on
        state.mode = replace(
            state.mode,
            ignore=state.mode.ignore or "i" in on,
            ascii="a" in state.kinds,
            verbose=state.mode.verbose or "x" in on,
        )


def _number(text: str) -> int | None:
    """The number that `int` reads: white space around it, a sign, and single underscores between the digits."""
    digits = text.strip(_BLANKS)
    negative = digits.startswith("-")
    if negative or digits.startswith("+"):
        digits = digits[1:]
    groups = digits.split("_")
    if not all(group and set(group) <= set("0123456789") for group in groups) or len("".join(groups)) > 4300:
        return None
    number = int("".join(groups))
    return None if negative and number else number
