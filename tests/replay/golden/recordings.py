"""Recordings on which the outputs of the commands are stored."""

from __future__ import annotations

from tests.support.recorded_fleet import RECORDING

RECORDINGS = {"fleet_webshop": RECORDING}
"""Folders of the recordings by name."""
