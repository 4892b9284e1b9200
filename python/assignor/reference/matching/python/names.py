r"""Characters by their Unicode names (`\N{...}`), as far as topic names can have them."""

from __future__ import annotations

_NUMBERS = ("ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE")
_SIGNS = {
    "SPACE": " ",
    "EXCLAMATION MARK": "!",
    "QUOTATION MARK": '"',
    "NUMBER SIGN": "#",
    "DOLLAR SIGN": "$",
    "PERCENT SIGN": "%",
    "AMPERSAND": "&",
    "APOSTROPHE": "'",
    "LEFT PARENTHESIS": "(",
    "RIGHT PARENTHESIS": ")",
    "ASTERISK": "*",
    "PLUS SIGN": "+",
    "COMMA": ",",
    "HYPHEN-MINUS": "-",
    "FULL STOP": ".",
    "SOLIDUS": "/",
    "COLON": ":",
    "SEMICOLON": ";",
    "LESS-THAN SIGN": "<",
    "EQUALS SIGN": "=",
    "GREATER-THAN SIGN": ">",
    "QUESTION MARK": "?",
    "COMMERCIAL AT": "@",
    "LEFT SQUARE BRACKET": "[",
    "REVERSE SOLIDUS": "\\",
    "RIGHT SQUARE BRACKET": "]",
    "CIRCUMFLEX ACCENT": "^",
    "LOW LINE": "_",
    "GRAVE ACCENT": "`",
    "LEFT CURLY BRACKET": "{",
    "VERTICAL LINE": "|",
    "RIGHT CURLY BRACKET": "}",
    "TILDE": "~",
}


def character_named(name: str) -> int | None:
    """The code of a printable ASCII character; None where the name is of none."""
    upper = name.upper() if name.isascii() else name
    sign = _SIGNS.get(upper)
    if sign is not None:
        return ord(sign)
    number = upper.removeprefix("DIGIT ")
    if number != upper and number in _NUMBERS:
        return ord("0") + _NUMBERS.index(number)
    for prefix, first in (("LATIN SMALL LETTER ", "a"), ("LATIN CAPITAL LETTER ", "A")):
        letter = upper.removeprefix(prefix)
        if letter != upper and len(letter) == 1 and "A" <= letter <= "Z":
            return ord(first) + ord(letter) - ord("A")
    return None
