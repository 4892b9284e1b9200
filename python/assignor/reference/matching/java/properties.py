r"""Properties of `\p{...}` as sets of printable ASCII characters."""

from __future__ import annotations

from assignor.reference.matching.char_set import ALL, DIGITS, LETTERS, LOWER, NONE, UPPER, WORD, CharSet
from assignor.reference.matching.java.cursor import Cursor, Flags
from assignor.reference.matching.java.names import ALIAS_BLOCKS, BLOCKS, SCRIPTS

_PUNCTUATION: CharSet = frozenset("!\"#%&'()*,-./:;?@[\\]_{}")
_SYMBOLS: CharSet = frozenset("$+<=>^`|~")
_HEXADECIMAL: CharSet = DIGITS | set("abcdefABCDEF")
_SPACE: CharSet = frozenset(" ")


def _table(*rows: tuple[str, CharSet]) -> dict[str, CharSet]:
    return {name: chars for names, chars in rows for name in names.split()}


_CASED = {
    *("Lu", "Upper", "javaUpperCase", "UPPER", "UPPERCASE"),
    *("Ll", "Lower", "javaLowerCase", "LOWER", "LOWERCASE"),
    *("Lt", "javaTitleCase", "TITLECASE"),
}
"""Names of letters of one case, which match both cases if case is ignored."""

_CATEGORIES = _table(
    ("Lu Upper javaUpperCase", UPPER),
    ("Ll Lower javaLowerCase", LOWER),
    ("Lt javaTitleCase", NONE),
    ("L LC Alpha javaAlphabetic javaLetter javaUnicodeIdentifierStart", LETTERS),
    ("Nd N Digit javaDigit", DIGITS),
    ("LD Alnum javaLetterOrDigit", LETTERS | DIGITS),
    ("Zs Z Blank Space javaSpaceChar javaWhitespace", _SPACE),
    ("Pd", frozenset("-")),
    ("Ps", frozenset("([{")),
    ("Pe", frozenset(")]}")),
    ("Pc", frozenset("_")),
    ("Po", frozenset("!\"#%&'*,./:;?@\\")),
    ("P", _PUNCTUATION),
    ("Sm", frozenset("+<=>|~")),
    ("Sc", frozenset("$")),
    ("Sk", frozenset("^`")),
    ("S", _SYMBOLS),
    ("Punct", _PUNCTUATION | _SYMBOLS),
    ("L1 all ASCII Print javaDefined", ALL),
    ("Graph", ALL - _SPACE),
    ("XDigit", _HEXADECIMAL),
    ("javaJavaIdentifierStart", LETTERS | set("$_")),
    ("javaJavaIdentifierPart", WORD | {"$"}),
    ("javaUnicodeIdentifierPart", WORD),
    ("javaMirrored", frozenset("()<>[]{}")),
    ("Cn Lm Lo M Mn Me Mc Nl No Zl Zp C Cc Cf Co Cs So Pi Pf Cntrl", NONE),
    ("javaIdeographic javaIdentifierIgnorable javaISOControl", NONE),
)
"""General categories, POSIX classes in ASCII, and classes of `java.lang.Character`."""

_POSIX = _table(
    ("ALPHA", LETTERS),
    ("LOWER", LOWER),
    ("UPPER", UPPER),
    ("SPACE BLANK", _SPACE),
    ("PUNCT", _PUNCTUATION),
    ("XDIGIT", _HEXADECIMAL),
    ("ALNUM", LETTERS | DIGITS),
    ("CNTRL", NONE),
    ("DIGIT", DIGITS),
    ("GRAPH", ALL - _SPACE),
    ("PRINT", ALL),
)
"""POSIX classes by Unicode properties."""

_BINARY = _POSIX | _table(
    ("ALPHABETIC LETTER", LETTERS),
    ("LOWERCASE", LOWER),
    ("UPPERCASE", UPPER),
    ("TITLECASE", NONE),
    ("WHITESPACE WHITE_SPACE", _SPACE),
    ("PUNCTUATION", _PUNCTUATION),
    ("HEXDIGIT HEX_DIGIT", _HEXADECIMAL),
    ("ASSIGNED", ALL),
    ("WORD", WORD),
    ("CONTROL IDEOGRAPHIC JOINCONTROL JOIN_CONTROL NONCHARACTERCODEPOINT NONCHARACTER_CODE_POINT", NONE),
)
"""Binary properties, which include the POSIX classes."""


def property_at(cursor: Cursor) -> CharSet:
    """Parse a property, with the cursor at its backslash."""
    start = cursor.at
    cursor.at += 1
    negated = cursor.raw(cursor.at) == "P"
    if cursor.next() == "{":
        cursor.next()
        first = cursor.at
        while True:
            if cursor.ended():
                raise cursor.invalid(start, "the name of the property is not closed")
            if cursor.read() == "}":
                break
        if cursor.at <= first + 1:
            raise cursor.invalid(start, "the name of the property is empty")
        name = cursor.between(first, cursor.at - 1)
    else:
        name = cursor.read()
    chars = _named(name, cursor.flags)
    if chars is None:
        raise cursor.invalid(start, "unknown property")
    return ALL - chars if negated else chars


def _named(name: str, flags: Flags) -> CharSet | None:
    if "=" in name:
        key, _, value = name.partition("=")
        match key.lower():
            case "sc" | "script":
                return _script(value)
            case "blk" | "block":
                return _block(value)
            case "gc" | "general_category":
                return _find(_CATEGORIES, value, flags)
        return None
    if name.startswith("In"):
        return _block(name[2:])
    if name.startswith("Is"):
        name = name[2:]
        found = _find(_BINARY, name.upper(), flags)
        found = _find(_CATEGORIES, name, flags) if found is None else found
        return _script(name) if found is None else found
    posix = _find(_POSIX, name.upper(), flags) if flags.classes else None
    return _find(_CATEGORIES, name, flags) if posix is None else posix


def _find(table: dict[str, CharSet], name: str, flags: Flags) -> CharSet | None:
    return LETTERS if flags.fold and name in _CASED and name in table else table.get(name)


def _script(name: str) -> CharSet | None:
    name = name.upper()
    if name in ("LATIN", "LATN"):
        return LETTERS
    if name in ("COMMON", "ZYYY"):
        return ALL - LETTERS
    return NONE if name in SCRIPTS.split(" ") else None


def _block(name: str) -> CharSet | None:
    """Return a block by its name, with or without spaces, or by the name of Java's constant."""
    name = name.upper()
    if name in _block_names("BASIC LATIN"):
        return ALL
    if any(name in _block_names(known) for known in BLOCKS.split(";")):
        return NONE
    return NONE if any(name in (known, known.replace(" ", "")) for known in ALIAS_BLOCKS.split(";")) else None


def _block_names(known: str) -> tuple[str, str, str]:
    return known, known.replace(" ", ""), known.replace(" ", "_").replace("-", "_")
