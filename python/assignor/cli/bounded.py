"""Answers of a bounded size: long lists are cut, and the answer says how many entries each lacks."""

from __future__ import annotations

import json
from typing import Any

MOST_CHARACTERS = 24_000
"""Largest length of the JSON of an answer."""

MOST_TEXT = 2_000
"""Largest length of a string in an answer."""

Path = tuple[str | int, ...]


def bounded(answer: dict[str, Any], most: int = MOST_CHARACTERS) -> dict[str, Any]:
    """Return an answer whose JSON has at most a number of characters.

    The longest lists lose their last entries, and strings of more than `MOST_TEXT` characters their end.

    Args:
        answer: The answer, of the types of JSON.
        most: Number of characters.

    Returns:
        The answer with the key `truncated`: null if nothing is left out, else an object from the place of each list or
        object to the number of entries that are left out. An answer that cannot be cut to this size has the key
        `error` instead.

    Example:
        >>> found = bounded({"group": "g", "members": list(range(100))}, most=150)
        >>> found["members"], found["truncated"]
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24], {'members': 75})
    """
    kept: dict[str, Any] = _copied(answer)
    left_out: dict[str, int] = {}
    while _length({**kept, "truncated": left_out or None}) > most:
        place, found = max(_containers(kept, ()), key=lambda each: _length(each[1]), default=((), None))
        if found is None:
            return {"error": f"the answer is longer than {most:,} characters; ask for less", "truncated": None}
        removed = len(found) - len(found) // 2
        for _ in range(removed):
            found.pop() if isinstance(found, list) else found.popitem()
        name = ".".join(map(str, place))
        left_out[name] = left_out.get(name, 0) + removed
    return {**kept, "truncated": left_out or None}


def _containers(value: Any, place: Path) -> list[tuple[Path, Any]]:
    """Return the lists that have no longer list inside, and objects with many names, with their places."""
    found: list[tuple[Path, Any]] = []
    entries = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for name, entry in entries:
        found += _containers(entry, (*place, name))
    if isinstance(value, list) and value:
        found.append((place, value))
    return found


def _copied(value: Any) -> Any:
    """Return a copy of the lists and objects in a value, with long strings cut."""
    if isinstance(value, dict):
        return {str(name): _copied(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(entry) for entry in value]
    if isinstance(value, str) and len(value) > MOST_TEXT:
        return f"{value[: MOST_TEXT - 1]}…"
    return value


def _length(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))
