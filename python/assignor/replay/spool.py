"""Sorting of any number of lines with bounded memory: sorted runs in a temporary file, merged when they are read."""

from __future__ import annotations

import heapq
import os
import pickle
import tempfile
from typing import IO, TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

    Entry = tuple[tuple[Any, ...], int, str]

SPOOL_CHARACTERS = 64 << 20
"""Number of characters of lines in memory; more are written to a temporary file."""

_CHUNK = 500


class LineSpool:
    """Lines with sort keys. Lines with equal keys keep their order. As a context manager, a spool removes its file."""

    def __init__(self, limit: int = SPOOL_CHARACTERS) -> None:
        self._limit = limit
        self._entries: list[Entry] = []
        self._size = 0
        self._count = 0
        self._file: IO[bytes] | None = None
        self._runs: list[tuple[int, int]] = []

    def __enter__(self) -> Self:
        """Return the spool."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()

    def add(self, key: tuple[Any, ...], line: str) -> None:
        """Add a line."""
        self._entries.append((key, self._count, line))
        self._count += 1
        self._size += len(line)
        if self._size > self._limit:
            self._write_run()

    def __iter__(self) -> Iterator[str]:
        """Yield the lines in the order of their keys."""
        self._entries.sort()
        for _, _, line in heapq.merge(self._entries, *map(self._read_run, self._runs)):
            yield line

    def _write_run(self) -> None:
        self._entries.sort()
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="assignor-events-")  # noqa: SIM115  # closed by __exit__
        start = self._file.seek(0, os.SEEK_END)
        for first in range(0, len(self._entries), _CHUNK):
            pickle.dump(self._entries[first : first + _CHUNK], self._file, pickle.HIGHEST_PROTOCOL)
        self._runs.append((start, self._file.tell()))
        self._entries = []
        self._size = 0

    def _read_run(self, run: tuple[int, int]) -> Iterator[Entry]:
        """Yield the entries of a run; other runs may be read from the same file in between."""
        position, end = run
        assert self._file is not None
        while position < end:
            self._file.seek(position)
            entries = pickle.load(self._file)
            position = self._file.tell()
            yield from entries
