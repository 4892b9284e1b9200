"""Fixtures of the tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import Commands


@pytest.fixture
def commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Return commands that read files of a temporary folder."""
    return Commands(tmp_path, capsys, monkeypatch)
