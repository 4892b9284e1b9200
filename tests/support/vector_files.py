"""Files of conformance vectors, in `tests/vectors` or in the folder that `ASSIGNOR_VECTORS` names."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN_FOLDER = Path(__file__).parents[1] / "vectors"


def folder() -> Path:
    """Return the folder of the vectors."""
    return Path(os.environ.get("ASSIGNOR_VECTORS") or OWN_FOLDER)


def of_kind(kind: str, place: Path, suffix: str = "", *, names: str | None = None) -> list[Path]:
    """Return the files of a kind. Their names begin with the kind, or match the pattern `names`.

    Raises:
        FileNotFoundError: The folder has no such file.
    """
    found = sorted(place.glob(names or f"{kind}_*{suffix}"))
    if not found:
        raise FileNotFoundError(f"no vectors of the kind {kind} in {place}")
    return found


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the traces of a file; raise if there are none."""
    empty = True
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            empty = False
            yield json.loads(line)
    if empty:
        raise ValueError(f"{path.name} is empty")
