"""Data of a page, with its rows as the script of the page expands them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def content(page: Path) -> dict[str, Any]:
    """Return the data of a page; `datasets` has lists of rows, with the group ids that the page shows."""
    found = re.search(r'id="page-data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    data["datasets"] = {name: list(map(_row(data, rows), rows["rows"])) for name, rows in data["datasets"].items()}
    return data


def _row(data: dict[str, Any], compact: dict[str, Any]) -> Any:
    def value(name: str, found: Any) -> Any:
        if found is None:
            return None
        if name == "group":
            return data["groups"][found]
        if name in compact["texts"]:
            return data["texts"][found]
        return found + data["since"] if name in compact["times"] else found

    def row(values: list[Any]) -> dict[str, Any]:
        found = compact["same"] | dict(zip(compact["fields"], values, strict=True))
        return {name: value(name, each) for name, each in found.items()}

    return row
