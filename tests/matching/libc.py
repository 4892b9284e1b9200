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


def search(pattern: str, names: Iterable[str]) -> list[str] | None:
    """Return the names in which libc finds the pattern; None if libc does not compile it."""
    libc = ctypes.CDLL(None)
    libc.newlocale.restype = libc.uselocale.restype = ctypes.c_void_p
    libc.newlocale.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p]
    libc.uselocale.argtypes = [ctypes.c_void_p]
    found = libc.newlocale(LC_CTYPE_MASK, b"C.UTF-8", None)
    if not found:
        raise OSError("libc has no locale C.UTF-8")
    using = ctypes.c_void_p(found)
    before = ctypes.c_void_p(libc.uselocale(using))
    compiled = ctypes.create_string_buffer(REGEX_T_BYTES)
    try:
        if libc.regcomp(compiled, pattern.encode(), REG_EXTENDED | REG_NOSUB):
            return None
        matching = [
            name for name in names if libc.regexec(compiled, name.encode(), ctypes.c_size_t(0), None, 0) != REG_NOMATCH
        ]
        libc.regfree(compiled)
        return matching
    finally:
        libc.uselocale(before)
        libc.freelocale(using)
