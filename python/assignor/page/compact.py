"""Rows of a page as compact JSON: a list of values per row, with each text and the name of each group once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.lines import escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assignor.page.data import Row


LINES = "details"
"""Column whose texts have several lines."""

TIMES = ("start", "end", "first", "last", "since", "until")
"""Columns with times in milliseconds."""


class Texts:
    """Texts of a page, each with its number, so that a text that repeats takes the space of a number.

    Attributes:
        found: The texts by number.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.found)
            self.found.append(text)
        return number


def compact(rows: Sequence[Row], groups: Mapping[str, int], texts: Texts, since: int, skip: int = 0) -> dict[str, Any]:
    """Return rows as JSON that `page.js` expands.

    The result has `fields` (names of the columns with several values), `rows` (lists of their values), `same` (the
    other columns with their only value), `texts` and `times` (columns with numbers of texts, and with milliseconds
    after `since`), and `skip`. The column `group` has the place of the group.

    Args:
        rows: The rows; all have the same fields.
        groups: Place of each group in the list of groups.
        texts: The texts of the page, which gets those of the rows.
        since: Start of the page's time range in milliseconds.
        skip: Number of the first rows that are in a table of the HTML.
    """
    names = list(rows[0]) if rows else []

    def value(row: Row, name: str) -> Any:
        found = row[name]
        if name == "group":
            return groups.get(found)
        if name in TIMES and found is not None:
            return found - since
        return texts.number(_shown(found, name)) if isinstance(found, str) else found

    same = {name: rows[0][name] for name in names if all(row[name] == rows[0][name] for row in rows)}
    fields = [name for name in names if name not in same]
    return {
        "fields": fields,
        "same": {name: value(rows[0], name) for name in same},
        "texts": [name for name in names if name != "group" and any(isinstance(row[name], str) for row in rows)],
        "times": [name for name in names if name in TIMES],
        "rows": [[value(row, name) for name in fields] for row in rows],
        "skip": skip,
    }


def _shown(text: str, name: str) -> str:
    """Return a text with its control characters escaped."""
    if text.isprintable():
        return text
    return "\n".join(map(escape, text.split("\n"))) if name == LINES else escape(text)
