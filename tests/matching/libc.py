"""Matching by regcomp and regexec of this machine's libc, to test the dialect `librdkafka`.

librdkafka passes patterns unchanged to regcomp. The locale is that of a Python process on Linux: UTF-8 characters,
everything else as in the C locale.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterable

REG_EXTENDED = 1
REG_NOSUB = 8
REG_NOMATCH = 1
LC_CTYPE_MASK = 1
REGEX_T_BYTES = 1024
"""Size of a buffer for regex_t, which has 64 bytes on 64-bit Linux."""

IS_GLIBC = platform.libc_ver()[0] == "glibc"


class InvalidError(Exception):
    """Error for a pattern that does not compile; the message is libc's."""


def _load(locale: str) -> tuple[ctypes.CDLL, ctypes.c_void_p]:
    libc = ctypes.CDLL(None)
    libc.newlocale.restype = ctypes.c_void_p
    libc.newlocale.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p]
    libc.uselocale.restype = ctypes.c_void_p
    libc.uselocale.argtypes = [ctypes.c_void_p]
    libc.regerror.restype = ctypes.c_size_t
    found = libc.newlocale(LC_CTYPE_MASK, locale.encode(), None)
    if not found:
        raise OSError(f"libc has no locale {locale}")
    return libc, ctypes.c_void_p(found)


def answer(pattern: str, names: Iterable[str], locale: str = "C.UTF-8") -> list[str]:
    """Return the names in which libc finds the pattern.

    Raises:
        InvalidError: libc does not compile the pattern.
    """
    libc, using = _load(locale)
    before = ctypes.c_void_p(libc.uselocale(using))
    compiled = ctypes.create_string_buffer(REGEX_T_BYTES)
    try:
        error = libc.regcomp(compiled, pattern.encode(), REG_EXTENDED | REG_NOSUB)
        if error:
            text = ctypes.create_string_buffer(200)
            libc.regerror(error, compiled, text, ctypes.c_size_t(len(text)))
            raise InvalidError(text.value.decode())
        found = [
            name for name in names if libc.regexec(compiled, name.encode(), ctypes.c_size_t(0), None, 0) != REG_NOMATCH
        ]
        libc.regfree(compiled)
        return found
    finally:
        libc.uselocale(before)
        libc.freelocale(using)


def search(pattern: str, names: Iterable[str]) -> list[str] | None:
    """Return the names in which libc finds the pattern; None if libc does not compile it."""
    try:
        return answer(pattern, names)
    except InvalidError:
        return None
