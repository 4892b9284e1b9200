"""The flags of `re`, and what each makes of a set of characters."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assignor.reference.matching.chars import Chars, among, between, both_cases
from assignor.reference.matching.python.tokens import Tokens
from assignor.reference.matching.text import invalid

KNOWN = "aiLmstux"
_KINDS = "auL"

_BEYOND = ((0x130, "iI"), (0x131, "iI"), (0x17F, "sS"), (0x212A, "kK"))
"""Characters beyond ASCII that are a case of an ASCII letter: İ, ı, ſ and the Kelvin sign."""


@dataclass(frozen=True, slots=True)
class Mode:
    """The flags that change what a pattern means: `m` and `s` speak of line breaks, which no name has."""

    ignore: bool = False
    ascii: bool = False
    verbose: bool = False

    def with_flags(self, on: str, off: str) -> Mode:
        """The mode within a group that turns flags on and off."""
        ascii_only = "a" in on if "a" in on or "u" in on else self.ascii
        ignore = (self.ignore or "i" in on) and "i" not in off
        verbose = (self.verbose or "x" in on) and "x" not in off
        return replace(self, ignore=ignore, ascii=ascii_only, verbose=verbose)

    def span(self, first: int, last: int) -> Chars:
        """What characters of names match one of the codes."""
        chars = between(chr(first), chr(last))
        if self.ignore:
            chars = both_cases(chars)
            for code, partners in _BEYOND:
                if not self.ascii and first <= code <= last:
                    chars |= among(partners)
        return chars


def group_flags(tokens: Tokens, token: str) -> tuple[str, str, bool]:
    """Reads inline flags, of which the first token is taken: those turned on, those turned off, whether for all."""
    on, off = "", ""
    while token != "-":
        on += token
        if token == "L":
            raise invalid(tokens.at, "the flag L, which is for bytes")
        if token in _KINDS and set(on) & set(_KINDS) != {token}:
            raise invalid(tokens.at, "flags that exclude each other")
        token = _flag(tokens, ")-:")
        if token == ")":
            return on, off, True
        if token == ":":
            _refuse_template(tokens, on)
            return on, off, False
    _refuse_template(tokens, on)
    token = _flag(tokens, "")
    while token != ":":
        if token in _KINDS:
            raise invalid(tokens.at, "a flag that cannot be turned off")
        off += token
        token = _flag(tokens, ":")
    _refuse_template(tokens, off)
    if set(on) & set(off):
        raise invalid(tokens.at - 1, "a flag turned on and off")
    return on, off, False


def _flag(tokens: Tokens, ends: str) -> str:
    """The next flag or one of the characters that may end flags."""
    at, token = tokens.at, tokens.take()
    if not token or token not in KNOWN + ends:
        raise invalid(at, "an unknown flag" if token.isascii() and token.isalpha() else "flags without an end")
    return token


def _refuse_template(tokens: Tokens, flags: str) -> None:
    if "t" in flags:
        raise invalid(tokens.at - 1, "a flag that is for the whole pattern only")
