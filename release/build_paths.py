"""Search for paths of the machine that built a file, such as an extension module, which must not leave that machine."""

from __future__ import annotations

import re
from collections.abc import Iterable

HOME = rb"(?:/root|/(?:home|Users)/[^/\0\n]+|\\Users\\[^\\\0\n]+)[/\\]"
"""Home directories of Linux, macOS and Windows."""

CARGO = rb"[/\\]\.cargo[/\\]"
"""The folder where cargo keeps the sources of crates."""

SHOWN = rb"[^\0\n]{0,60}"
"""What an error shows of a path."""


def build_paths(data: bytes, folders: Iterable[str] = ()) -> list[str]:
    """Return paths in home directories, in cargo's folder and in other folders, which `data` contains."""
    places = b"|".join([HOME, CARGO, *(re.escape(folder.encode()) + rb"[/\\]" for folder in folders)])
    found = re.findall(rb"(?:%s)%s" % (places, SHOWN), data)
    return sorted({path.decode(errors="replace") for path in found})
