"""Where the vectors are: `tests/vectors`, or any other folder that `ASSIGNOR_VECTORS` names."""

from __future__ import annotations

import os
from pathlib import Path

OWN_FOLDER = Path(__file__).parent / "vectors"


def folder() -> Path:
    """Where the vectors are."""
    return Path(os.environ.get("ASSIGNOR_VECTORS") or OWN_FOLDER)


def of_kind(kind: str, place: Path, suffix: str = "") -> list[Path]:
    """The files of a kind; none at all is an error."""
    found = sorted(place.glob(f"{kind}_*{suffix}"))
    if not found:
        raise FileNotFoundError(f"no vectors of the kind {kind} in {place}")
    return found
