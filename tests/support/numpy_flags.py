"""Releases of numpy whose flags count as numbers."""

from __future__ import annotations

import numpy as np

FLAGS_ARE_NO_NUMBERS = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 3)
"""False if numpy turns its flags into whole numbers where one is asked for, with a warning that they will not be."""
