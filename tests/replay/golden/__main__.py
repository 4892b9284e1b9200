"""Program that writes the stored outputs of all recordings again: `python -m tests.replay.golden`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.replay.golden.outputs import outputs, write_expected
from tests.replay.golden.recordings import RECORDINGS

for name, recording in RECORDINGS.items():
    with tempfile.TemporaryDirectory() as folder:
        write_expected(name, dict(outputs(recording, Path(folder))))
