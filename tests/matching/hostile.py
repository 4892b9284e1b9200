"""Hostile patterns of each dialect: large, deeply nested, or slow to match. They are drawn from a small grammar.

A pattern repeats, nests or chains constructs of its dialect in numbers that people do not use. Most are valid. The
names are those on which such patterns are slow.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

LONGEST = 300_000
"""Maximum number of characters of a pattern; it is above the limit."""

NAMES = ["a" * 249, "ab" * 124, "a" * 120 + "!", "aB-_.0" * 41, "b", "a" * 24]


@dataclass(frozen=True)
class Constructs:
    """The constructs of a dialect.

    Attributes:
        atoms: Characters, classes, escapes and assertions.
        quantifiers: Quantifiers, with `{}` in place of a count.
        groups: Beginnings of groups; `{}` stands for a number that makes a name unique.
        references: Backreferences and conditionals; `{}` stands for the number of a group.
        look_arounds: Beginnings of look-arounds with bodies of fixed width.
    """

    atoms: tuple[str, ...]
    quantifiers: tuple[str, ...]
    groups: tuple[str, ...]
    references: tuple[str, ...] = ()
    look_arounds: tuple[str, ...] = ()


_ATOMS = ("a", "a", "b", ".", "[ab]", "[^b]", "[a-zA-Z0-9_.-]", "^", "$", r"\b", r"\B", "")
_QUANTIFIERS = ("*", "+", "?", "{{{}}}", "{{{},}}", "{{0,{}}}", "{{1,{}}}")

CONSTRUCTS = {
    "java": Constructs(
        (*_ATOMS, "[a-z&&[^c]]", "[a[b[c]]]", r"\p{Lower}", r"\Qa*\E"),
        (*_QUANTIFIERS, "*?", "*+", "{{0,{}}}+", "{{{}}}?"),
        ("(", "(", "(?:", "(?>", "(?<n{}>", "(?i:", "(?=", "(?!"),
        (r"\{}", r"\{}"),
        ("(?<=", "(?<!"),
    ),
    "re2j": Constructs((*_ATOMS, r"\pL", "[[:alpha:]]", r"\Qa*\E"), _QUANTIFIERS, ("(", "(?:", "(?P<n{}>", "(?i:")),
    "librdkafka": Constructs((*_ATOMS, "[[:alpha:]]", r"\<", r"\>"), _QUANTIFIERS, ("(",), (r"\{}",)),
    "python": Constructs(
        (*_ATOMS, r"\w", "[^-a]"),
        (*_QUANTIFIERS, "*?", "*+", "{{0,{}}}+", "{{{}}}?"),
        ("(", "(", "(?:", "(?>", "(?P<n{}>", "(?i:", "(?=", "(?!"),
        (r"\{}", "(?({})a|b)"),
        ("(?<=", "(?<!"),
    ),
}


def pattern(rng: random.Random, dialect: str) -> str:
    """Draw a hostile pattern of a dialect."""
    drawing = _Drawing(rng, CONSTRUCTS[dialect])
    text = rng.choice([drawing.nested, drawing.chained, drawing.counted, drawing.referring, drawing.mixed])()
    text = text[:LONGEST]
    return f"^{text}" if dialect == "librdkafka" and rng.random() < 0.95 else text


class _Drawing:
    """State while a pattern is drawn: the number of groups."""

    def __init__(self, rng: random.Random, constructs: Constructs) -> None:
        self._rng = rng
        self._constructs = constructs
        self._groups = 0

    def nested(self) -> str:
        """Draw groups in groups, some deeper than the limit."""
        rng = self._rng
        depth = rng.choice([5, 30, 99, 100, 100, 101, 5000])
        kinds = rng.choices(self._constructs.groups + self._constructs.look_arounds, k=rng.choice([1, 1, 3]))
        ends = [rng.choice(["", "|b", "a", "^", "(b)"]) + ")" + rng.choice(["", self.quantifier()]) for _ in "123"]
        begins = [rng.choice(["", "a", "b|", "^", self.atom()]) + kind for kind in kinds]
        opened = "".join(self._begin(rng.choice(begins)) for _ in range(depth))
        return opened + self.atom() + "".join(rng.choice(ends) for _ in range(depth)) + rng.choice(["", "x", "$"])

    def chained(self) -> str:
        """Draw a part and repeat it, some beyond the limit of length."""
        rng = self._rng
        part = "".join(self.item(1) for _ in range(rng.choice([1, 2, 4])))
        count = rng.choice([50, 500, 2000, 10_000, 60_000]) // max(1, len(part) // 4)
        chain = rng.choice(["", "", "|", ".*"]).join([part] * count) if "{}" not in part else part
        return (
            self._begin(rng.choice(["", ".*", "(?:", "("])) + chain
            if rng.random() < 0.1
            else chain + rng.choice(["", "x"])
        )

    def counted(self) -> str:
        """Draw nested repetitions with counts."""
        rng = self._rng
        text = self.item(0)
        for _ in range(rng.choice([1, 2, 3, 6])):
            first = rng.choice(["", "b|", "^|", "a?"])
            last = rng.choice(["", "b", self.atom()])
            text = f"{self._begin('(')}{first}{text}{last}){self.quantifier()}"
            if rng.random() < 0.3:
                text *= min(rng.choice([2, 10, 100]), 1 + LONGEST // (len(text) + 1))
        return text + rng.choice(["", "x", "$"])

    def referring(self) -> str:
        """Draw groups and references to them."""
        rng = self._rng
        count = rng.choice([3, 9, 50, 100, 101, 2000])
        inside = rng.choice(["a*", "a*", "a|aa", "a*?", "b", ".{0,9}", "(a*)*"])
        groups = f"({inside})" * count
        number = count * groups[:3].count("(") if inside.startswith("(") else count
        references = [
            rng.choice(self._constructs.references or ("a*",)).replace("{}", str(rng.randint(1, number)))
            for _ in range(rng.choice([1, 5, 100, 500]))
        ]
        if rng.random() < 0.3:
            groups = f"(a*)(a*)(?:x|{groups})"
        return groups + "".join(references) + rng.choice(["", "c", "{50}"])

    def mixed(self) -> str:
        """Draw all constructs together."""
        return "".join(self.item(3) for _ in range(self._rng.choice([2, 10, 100])))

    def item(self, depth: int) -> str:
        """Draw an atom or a group, with a quantifier."""
        rng = self._rng
        if depth and rng.random() < 0.5:
            inside = "|".join(
                "".join(self.item(depth - 1) for _ in range(rng.choice([1, 2, 3])))
                for _ in range(rng.choice([1, 1, 2]))
            )
            atom = f"{self._begin(rng.choice(self._constructs.groups))}{inside})"
        elif depth and self._constructs.look_arounds and rng.random() < 0.1:
            atom = rng.choice(self._constructs.look_arounds) + rng.choice(["a", "ab", "[ab]", "a{9}"]) + ")"
        elif self._groups and self._constructs.references and rng.random() < 0.1:
            atom = rng.choice(self._constructs.references).replace("{}", str(rng.randint(1, self._groups)))
        else:
            atom = self.atom()
        return atom + self.quantifier() if atom and rng.random() < 0.5 else atom

    def atom(self) -> str:
        """Draw a character, class, escape or assertion."""
        return self._rng.choice(self._constructs.atoms)

    def quantifier(self) -> str:
        """Draw a quantifier, with any count."""
        return self._rng.choice(self._constructs.quantifiers).format(
            self._rng.choice([0, 1, 2, 5, 9, 50, 249, 1000, 30_000])
        )

    def _begin(self, text: str) -> str:
        self._groups += text.count("(")
        return text.replace("{}", str(self._groups))
