"""Releases of pyarrow that cannot hand over string views."""

from __future__ import annotations

import pyarrow as pa
import pytest

HAS_VIEWS = int(pa.__version__.partition(".")[0]) >= 25
"""False if pyarrow ends the process when it exports a view whose values all have at most 12 bytes, to any library."""


def needs_views(*layouts: str) -> None:
    """Skip a test of layouts with string or binary views, if the installed pyarrow cannot export them."""
    if not HAS_VIEWS and any("view" in layout.replace("list view", "") for layout in layouts):
        pytest.skip(f"pyarrow {pa.__version__} ends the process when it exports short string views")
