"""Character classes and escapes of RE2/J."""

from __future__ import annotations

from assignor.reference.matching.char_set import ALL, DIGITS, LETTERS, LOWER, NONE, POSIX, UPPER, WORD, CharSet, among
from assignor.reference.matching.scanner import Scanner, invalid, unsupported

LAST = 0x10FFFF
FOLDED = (0x41, 0x1044F)
"""First and last code point with other cases. A range over all of them contains every case."""
ENDLESS = (0x1C80, 0x1C88)
"""Cyrillic letters that are in Java's tables but not in those of RE2/J 1.8, whose loop over their cases never ends."""
ONE_CASE = {0x17F: "sS", 0x212A: "kK"}
"""The long s and the Kelvin sign are other cases of s and k."""

CLASSES = {**POSIX, "ascii": ALL, "word": WORD}

PERL = {"d": DIGITS, "D": ALL - DIGITS, "s": among(" "), "S": ALL - {" "}, "w": WORD, "W": ALL - WORD}

SCRIPTS = """
Arabic Armenian Avestan Balinese Bamum Batak Bengali Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal
Carian Cham Cherokee Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Egyptian_Hieroglyphs Ethiopic Georgian
Glagolitic Gothic Greek Gujarati Gurmukhi Han Hangul Hanunoo Hebrew Hiragana Imperial_Aramaic Inherited
Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kayah_Li Kharoshthi Khmer Lao
Lepcha Limbu Linear_B Lisu Lycian Lydian Malayalam Mandaic Meetei_Mayek Mongolian Myanmar New_Tai_Lue Nko Ogham
Ol_Chiki Old_Italic Old_Persian Old_South_Arabian Old_Turkic Oriya Osmanya Phags_Pa Phoenician Rejang Runic
Samaritan Saurashtra Shavian Sinhala Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet
Tamil Telugu Thaana Thai Tibetan Tifinagh Ugaritic Unknown Vai Yi
"""
"""Scripts of RE2/J 1.8 without an ASCII character in either case."""

BARE = "C Cc Cf Co Cs Lm Lo Lt M Mc Me Mn Nl No Pf Pi So Zl Zp"
"""General categories without an ASCII character in either case."""

CATEGORIES = {
    **dict.fromkeys(BARE.split(), NONE),
    **dict.fromkeys(SCRIPTS.split(), NONE),
    "Any": ALL,
    "L": LETTERS,
    "Latin": LETTERS,
    "Lu": UPPER,
    "Ll": LOWER,
    "N": DIGITS,
    "Nd": DIGITS,
    "P": among("!\"#%&'()*,-./:;?@[\\]_{}"),
    "Pc": among("_"),
    "Pd": among("-"),
    "Pe": among(")]}"),
    "Po": among("!\"#%&'*,./:;?@\\"),
    "Ps": among("([{"),
    "S": among("$+<=>^`|~"),
    "Sc": among("$"),
    "Sk": among("^`"),
    "Sm": among("+<=>|~"),
    "Z": among(" "),
    "Zs": among(" "),
    "Common": ALL - LETTERS,
}
"""ASCII characters of general categories and scripts."""

# RE2/J adds other cases to `Ll` only for letters with more than two cases, here K and S.
CATEGORIES_FOLDED = CATEGORIES | {"Lu": LETTERS, "Ll": LOWER | among("KS")}

ESCAPES = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}


def between(first: int, last: int, folded: bool, position: int) -> CharSet:
    """Return the characters between two code points, with their other cases if case is ignored."""
    chars = frozenset(char for char in ALL if first <= ord(char) <= last)
    if not folded or (first <= FOLDED[0] and FOLDED[1] <= last):
        return chars
    if first <= ENDLESS[1] and ENDLESS[0] <= last:
        construct = "a case-insensitive letter from U+1C80 to U+1C88, for which RE2/J does not terminate"
        raise unsupported(position, construct)
    for code, letters in ONE_CASE.items():
        if first <= code <= last:
            chars |= among(letters)
    return _both_cases(chars)


def bracketed(text: Scanner, folded: bool) -> CharSet:
    """Parse a class in brackets."""
    start = text.at
    text.take()
    negated = text.eat("^")
    chars = NONE
    first = True
    while first or text.look() != "]":
        first = False
        found = _named(text, folded)
        if found is None:
            found = escaped(text, folded)
        chars |= _members(text, start, folded) if found is None else found
    text.take()
    return ALL - chars if negated else chars


def _members(text: Scanner, start: int, folded: bool) -> CharSet:
    """Parse a character or a range of a class that starts at `start`."""
    position = text.at
    first = last = _member(text, start)
    # A hyphen before the closing bracket is a literal.
    if text.look() == "-" and text.look(1) != "]":
        text.take()
        last = _member(text, start)
        if last < first:
            raise invalid(position, "a character range that ends before it starts")
    return between(first, last, folded, position)


def _member(text: Scanner, start: int) -> int:
    if text.look() == "\\":
        return character(text)
    if text.is_at_end():
        raise invalid(start, "the character class is not closed")
    return ord(text.take())


def _named(text: Scanner, folded: bool) -> CharSet | None:
    """Parse `[:alpha:]` or `[:^alpha:]`, if one is next."""
    start = text.at
    if text.look() + text.look(1) != "[:":
        return None
    text.take()
    # Do not consume the colon: in `[:]` the same colon begins and ends the name.
    name = ""
    while not text.eat(":]"):
        if text.is_at_end():
            text.at = start
            return None
        name += text.take()
    name = name.removeprefix(":")
    chars = CLASSES.get(name.removeprefix("^"))
    if chars is None:
        raise invalid(start, "unknown character class")
    if folded:
        chars = _both_cases(chars)
    return ALL - chars if name.startswith("^") else chars


def escaped(text: Scanner, folded: bool) -> CharSet | None:
    r"""Parse `\d`, `\pL` or a similar escape, if one is next."""
    letter = text.look(1)
    if text.look() != "\\" or not letter:
        return None
    if letter in "pP":
        return _unicode(text, folded)
    chars = PERL.get(letter)
    if chars is not None:
        text.at += 2
    return chars


def _unicode(text: Scanner, folded: bool) -> CharSet:
    r"""Parse `\pL`, `\p{Greek}` or `\P{^Lu}`."""
    start = text.at
    negated = text.look(1) == "P"
    text.at += 2
    if text.eat("{"):
        name = text.take_while(lambda char: char != "}")
        if not text.eat("}"):
            raise invalid(start, "the class name is not closed")
    else:
        name = text.take()
    if name.startswith("^"):
        negated = not negated
    chars = (CATEGORIES_FOLDED if folded else CATEGORIES).get(name.removeprefix("^"))
    if chars is None:
        raise invalid(start, "unknown character class")
    return ALL - chars if negated else chars


def character(text: Scanner) -> int:
    """Parse an escape of a single character, inside or outside a class."""
    start = text.at
    text.take()
    char = text.take()
    if not char:
        raise invalid(start, "a backslash at the end of the pattern")
    if _is_digit(char, 8):
        code = _octal(text, char)
    elif char == "x":
        code = _hexadecimal(text)
    elif char in ESCAPES:
        code = ESCAPES[char]
    else:
        code = None if char.isascii() and char.isalnum() else ord(char)
    if code is None:
        raise invalid(start, "unknown escape")
    return code


def _octal(text: Scanner, digits: str) -> int | None:
    # A single digit other than 0 would be a backreference.
    if digits != "0" and not _is_digit(text.look(), 8):
        return None
    while len(digits) < 3 and _is_digit(text.look(), 8):
        digits += text.take()
    return int(digits, 8)


def _hexadecimal(text: Scanner) -> int | None:
    if text.eat("{"):
        digits = text.take_while(lambda char: _is_digit(char, 16))
        return int(digits, 16) if digits and text.eat("}") and int(digits, 16) <= LAST else None
    digits = text.take() + text.take()
    return int(digits, 16) if len(digits) == 2 and all(_is_digit(char, 16) for char in digits) else None


def _is_digit(char: str, base: int) -> bool:
    return char != "" and char in "0123456789abcdefABCDEF"[: 8 if base == 8 else None]


def _both_cases(chars: CharSet) -> CharSet:
    return chars | {char.swapcase() for char in chars}
