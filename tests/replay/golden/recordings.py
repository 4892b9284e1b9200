"""Recordings on which the outputs of the commands are stored, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.replay.golden.generated import GENERATED
from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from pathlib import Path

NAMES = (RECORDING.name, *GENERATED)
"""Names of all recordings."""


def recording(name: str, folder: Path) -> Path:
    """Return the folder of a recording; a generated one is written to the existing folder `folder`."""
    if name == RECORDING.name:
        return RECORDING
    GENERATED[name]().write(folder)
    return folder
