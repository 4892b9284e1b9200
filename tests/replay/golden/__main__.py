"""Program that writes the stored outputs of all recordings again: `python -m tests.replay.golden`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.replay.golden.outputs import outputs, write_expected
from tests.replay.golden.recordings import NAMES, recording

for name in NAMES:
    with tempfile.TemporaryDirectory() as given, tempfile.TemporaryDirectory() as folder:
        write_expected(name, dict(outputs(recording(name, Path(given)), Path(folder))))
