"""Hypothesis strategies for patterns, by a grammar of each dialect, and for names.

Most patterns of the grammar are valid, since they refer only to closed groups. Most of `noise` and `mutations` are
invalid. There are few letters and names, so that patterns match.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

LETTERS = ("a", "b", "a", "b", "A", "c", "k", "s", "i", "-", "_", "1", ".")
BEYOND_ASCII = ("é", "ſ", "\u212a", "İ", "ı", "µ", "\U00010400", "\n", " ", "\x00", "#", "~", "&", "/")
"""Characters that no topic name contains. Some equal an ASCII letter if case is ignored."""


@dataclass(frozen=True)
class Grammar:
    """The constructs of a dialect, as texts.

    Attributes:
        escapes: Escapes of characters and classes.
        places: Assertions.
        members: Members of a set besides letters and ranges of letters.
        quantifiers: Quantifiers without a suffix.
        greeds: Suffixes that make a quantifier lazy or possessive; `""` leaves it greedy.
        groups: Beginnings of a group that does not capture.
        captures: Beginnings of a capturing group; a number in place of `{}` makes its name unique.
        behinds: Beginnings of a look-behind.
        references: Backreferences by number and by name.
        conditions: True if the dialect has conditionals.
        flags: Inline flags.
        wrong: Text that is invalid in most or all places.
    """

    escapes: tuple[str, ...]
    places: tuple[str, ...]
    members: tuple[str, ...]
    quantifiers: tuple[str, ...] = ("*", "+", "?", "{2}", "{0}", "{1,2}", "{2,}", "{0,1}")
    greeds: tuple[str, ...] = ("", "", "")
    groups: tuple[str, ...] = ()
    captures: tuple[str, ...] = ("(",)
    behinds: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    conditions: bool = False
    flags: str = ""
    wrong: tuple[str, ...] = field(
        default=("(", ")", "[", "[]", "[b-a]", "{", "**", "^*", "a{2,1}", "\\", r"\1", r"\9")
    )


_PYTHON = Grammar(
    escapes=(
        *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\.", r"\-", r"\\", r"\n", r"\t", r"\a", r"\ ", r"\é"),
        *(r"\0", r"\012", r"\141", r"\x61", r"\u0062", r"\U00000061", r"\N{LATIN SMALL LETTER A}", r"\N{full stop}"),
    ),
    places=("^", "$", r"\A", r"\Z", r"\b", r"\B"),
    members=(
        *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\]", r"\\", r"\b", r"\x61", r"\x61-\x63", r"\141", r"\0", "^"),
        *("[", "[:alpha:", "&&", "||", "~~", "--", "ſ", "\u212a", "İ-ı", "Z-ſ", "[-\u212a", "a-\U00010400", "!--"),
    ),
    quantifiers=("*", "+", "?", "{2}", "{0}", "{1,2}", "{2,}", "{0,1}", "{,2}", "{,}"),
    greeds=("", "", "", "?", "+"),
    groups=("(?:", "(?:", "(?=", "(?!", "(?>"),
    captures=("(", "(", "(?P<n{}>"),
    behinds=("(?<=", "(?<!"),
    references=(r"\{number}", "(?P={name})"),
    conditions=True,
    flags="aimsux",
    wrong=(
        *("(", ")", "[", "[]", "[b-a]", r"[a-\d]", r"[\d-a]", "{", "{}", "{a}", "{1", "{1 }", "**", "++?", "^*", "\\"),
        *("a{2,1}", "a{4294967295}", r"\q", r"\x6", r"\u006", r"\U00110000", r"\400", r"\1", r"\9"),
        *(r"\N", r"\N{", r"\N{}", "(?", "(?P", "(?P<", "(?P<a", "(?P<>a)", "(?P<1>a)", "(?P=zz)", "(?Px)", "(?<a)"),
        *("(?#c)", "(?#", r"(?#\)", "(?i)", "(?i-", "(?-i)", "(?i-i:a)", "(?au:a)", "(?-a:a)", "(?L:a)", "(?t:a)"),
        *("(?(", "(?(1", "(?(0)a)", "(?(9)a)", "(?(zz)a)", "(?(1)a|b|c)", "(?(+1)a)", "(?q)", "(?iq:a)", "(?<=a*)"),
    ),
)

_JAVA = Grammar(
    escapes=(
        *(
            r"\d",
            r"\D",
            r"\w",
            r"\W",
            r"\s",
            r"\S",
            r"\h",
            r"\H",
            r"\v",
            r"\V",
            r"\R",
            r"\X",
            r"\.",
            r"\-",
            r"\\",
            r"\n",
        ),
        *(r"\0141", r"\x61", r"\x{62}", r"\u0061", r"\cA", r"\e", r"\Qa.b\E", r"\Q", r"\E", r"\N{FULL STOP}"),
        *(r"\p{Lower}", r"\p{Alpha}", r"\P{Upper}", r"\pL", r"\p{IsAlphabetic}", r"\p{javaLowerCase}", r"\p{Punct}"),
    ),
    places=("^", "$", r"\A", r"\z", r"\Z", r"\b", r"\B", r"\G"),
    members=(
        *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\]", r"\\", r"\x61", r"\x61-\x63", r"\Q-\E", r"\p{Lower}", "^"),
        *("[ab]", "[^a]", "&&[a-c]", "&&a", "&&[^b]", "&&", "||", "--", "ſ", "\u212a", "İ-ı", "Z-ſ"),
    ),
    greeds=("", "", "", "?", "+"),
    groups=("(?:", "(?:", "(?=", "(?!", "(?>"),
    captures=("(", "(", "(?<n{}>"),
    behinds=("(?<=", "(?<!"),
    references=(r"\{number}", r"\k<{name}>"),
    flags="idmsuxU",
    wrong=(
        *("(", ")", "[", "[]", "[b-a]", "[a&&]", "{", "{a}", "**", "^*", "a{2,1}", "a{,2}", "a{9999999999}", "\\"),
        *(
            r"\q",
            r"\x6",
            r"\u006",
            r"\0",
            r"\1",
            r"\9",
            r"\k<zz>",
            r"\p{Nope}",
            "(?",
            "(?<1>a)",
            "(?q)",
            "(?i",
            "(?<=a*)",
        ),
    ),
)

_RE2J = Grammar(
    escapes=(
        *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\.", r"\-", r"\\", r"\n", r"\a", r"\f", r"\v", r"\_", r"\C"),
        *(r"\141", r"\0", r"\x61", r"\x{62}", r"\Qa.b\E", r"\Q", r"\E", r"\pL", r"\p{Lu}", r"\P{Ll}", r"\p{Greek}"),
    ),
    places=("^", "$", r"\A", r"\z", r"\b", r"\B"),
    members=(
        *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\]", r"\\", r"\x61", r"\x61-\x63", r"\pL", r"\P{Lu}", "^"),
        *("[:alpha:]", "[:^digit:]", "[:word:]", "&&", "[", "--", "ſ", "\u212a", "İ-ı", "Z-ſ"),
    ),
    greeds=("", "", "", "?"),
    groups=("(?:", "(?:"),
    captures=("(", "(", "(?P<n{}>"),
    flags="imsU",
    wrong=(
        *(
            "(",
            ")",
            "[",
            "[]",
            "[b-a]",
            "[[:nope:]]",
            "{",
            "{a}",
            "**",
            "a*+",
            "^*",
            "a{2,1}",
            "a{,2}",
            "a{1001}",
            "\\",
        ),
        *(
            r"\q",
            r"\x6",
            r"\1",
            r"\8",
            r"\Z",
            r"\pN{",
            r"\p{Nope}",
            "(?",
            "(?=a)",
            "(?<!a)",
            "(?<n>a)",
            "(?P<1>a)",
            "(?q)",
        ),
    ),
)

_LIBRDKAFKA = Grammar(
    escapes=(r"\.", r"\-", r"\\", r"\w", r"\W", r"\s", r"\S", r"\a", r"\d", r"\_", r"\{"),
    places=("^", "$", r"\b", r"\B", r"\<", r"\>", r"\`", r"\'"),
    members=(
        *("[:alpha:]", "[:digit:]", "[:upper:]", "[:punct:]", "[.-.]", "[.a.]", "[=a=]", "[.hyphen.]", "\\", r"\w"),
        *("^", "&&", "[", "--", "é", "!--"),
    ),
    references=(r"\{number}",),
    wrong=(
        *("(", ")", "[", "[]", "[b-a]", "[[:nope:]]", "[[.zz.]]", "[[=", "{", "{a}", "{1", "**", "+*", "^*", "(*a)"),
        *("a{2,1}", "a{,2}", "a{256}", "a{32768}", "a|*b", "()", "a||b", "\\", r"\1", r"\9", "(?:a)", "a*?", "a++"),
    ),
)

GRAMMARS = {"java": _JAVA, "re2j": _RE2J, "librdkafka": _LIBRDKAFKA, "python": _PYTHON}
"""Grammar of each dialect."""


def names() -> st.SearchStrategy[str]:
    """Draw names that patterns are likely to match. Kafka does not allow some of them."""
    return st.one_of(st.text("ab", min_size=1, max_size=6), st.text("aabbAck-_.1siSIK", min_size=1, max_size=8))


def noise() -> st.SearchStrategy[str]:
    """Draw text of characters that are mostly special in some dialect."""
    return st.text("ab1-^$.|*+?()[]{}\\,:=!<>&#Pixaé", max_size=12)


@st.composite
def mutations(draw: st.DrawFn, drawn: st.SearchStrategy[str]) -> str:
    """Draw a pattern with a part removed or doubled, or with noise inserted."""
    pattern = draw(drawn)
    start = draw(st.integers(0, len(pattern)))
    end = min(len(pattern), start + draw(st.integers(0, 3)))
    middle = draw(st.sampled_from(["", pattern[start:end] * 2, pattern[start:end] + draw(noise())]))
    return pattern[:start] + middle + pattern[end:]


@st.composite
def patterns(draw: st.DrawFn, dialect: str, *, wrong: bool = False) -> str:
    """Draw a pattern of a dialect; it may be invalid if `wrong` is True."""
    grammar = GRAMMARS[dialect]
    if not wrong:
        grammar = replace(grammar, wrong=())
    pattern = _Drawing(draw, grammar).alternatives(draw(st.integers(1, 3)))
    if grammar.flags and draw(st.integers(0, 3)) == 0:
        pattern = f"(?{draw(st.sampled_from(['i', *grammar.flags]))}){pattern}"
    return f"^{pattern}" if dialect == "librdkafka" and draw(st.integers(0, 9)) else pattern


class _Drawing:
    """State while a pattern is drawn: the closed groups and their names."""

    def __init__(self, draw: st.DrawFn, grammar: Grammar) -> None:
        self._draw = draw
        self._grammar = grammar
        self._begun = 0
        self._ended: list[int] = []
        self._named: dict[int, str] = {}

    def _one_of(self, *texts: str) -> str:
        return self._draw(st.sampled_from(texts))

    def _chance(self, one_in: int) -> bool:
        return self._draw(st.integers(1, one_in)) == one_in

    def alternatives(self, depth: int) -> str:
        return "|".join(self.sequence(depth) for _ in range(self._draw(st.sampled_from([1, 1, 2, 3]))))

    def sequence(self, depth: int) -> str:
        return "".join(self.item(depth) for _ in range(self._draw(st.sampled_from([1, 1, 2, 3, 0]))))

    def item(self, depth: int) -> str:
        grammar = self._grammar
        if grammar.wrong and self._chance(15):
            return self._one_of(*grammar.wrong)
        if self._chance(8):
            return self._one_of(*grammar.places)
        atom = self.group(depth) if depth and self._chance(2) else self.character()
        if not atom or not self._chance(3):
            return atom
        return atom + self._one_of(*grammar.quantifiers) + self._one_of(*grammar.greeds)

    def character(self) -> str:
        kind = self._draw(st.integers(0, 11))
        if kind < 7:
            return self._one_of(*LETTERS)
        if kind < 9:
            return self._one_of(*self._grammar.escapes)
        if kind < 11:
            return self.set()
        return self._one_of(*BEYOND_ASCII)

    def set(self) -> str:
        members = (*LETTERS, "a-c", "A-C", "a-z", "0-9", *self._grammar.members)
        inside = "".join(self._one_of(*members) for _ in range(self._draw(st.integers(1, 4))))
        return f"[{self._one_of('', '', '^')}{self._one_of('', '', '', ']')}{inside}{self._one_of('', '', '', '-')}]"

    def group(self, depth: int) -> str:
        grammar = self._grammar
        kinds = ["capture", "capture", *(["other"] * 2 if grammar.groups else [])]
        kinds += ["behind"] if grammar.behinds else []
        kinds += ["flags"] if grammar.flags else []
        if self._ended:
            kinds += ["reference"] if grammar.references else []
            kinds += ["condition"] if grammar.conditions else []
        kind = self._one_of(*kinds)
        if kind == "capture":
            return self.capture(depth)
        if kind == "other":
            return f"{self._one_of(*grammar.groups)}{self.alternatives(depth - 1)})"
        if kind == "behind":
            width = self._draw(st.integers(0, 2))
            inside = ["".join(self._one_of("a", "b", ".", "[ab]", "c") for _ in range(width)) for _ in "12"]
            return f"{self._one_of(*grammar.behinds)}{'|'.join(inside[: self._draw(st.integers(1, 2))])})"
        if kind == "flags":
            off = self._one_of("", "", "-i", "-s")
            on = self._one_of(*(flag for flag in grammar.flags if flag not in off))
            return f"(?{on}{off}:{self.alternatives(depth - 1)})"
        number = self._draw(st.sampled_from(self._ended))
        if kind == "condition":
            asked = self._one_of(str(number), self._named.get(number, str(number)))
            other = self._one_of("", f"|{self.sequence(depth - 1)}")
            return f"(?({asked}){self.sequence(depth - 1)}{other})"
        # Some dialects have only backreferences by number, and not every group has a name.
        reference = self._one_of(*grammar.references)
        if "{name}" in reference and number not in self._named:
            reference = grammar.references[0]
        return reference.replace("{number}", str(number)).replace("{name}", self._named.get(number, ""))

    def capture(self, depth: int) -> str:
        self._begun += 1
        number = self._begun
        begin = self._one_of(*self._grammar.captures)
        if "{}" in begin:
            self._named[number] = f"n{number}"
        inside = self.alternatives(depth - 1)
        self._ended.append(number)
        return f"{begin.replace('{}', str(number))}{inside})"
