"""Tests that the files of requirements have exact versions with hashes, and no host of an index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from release import pins

ROOT = Path(__file__).parents[2]
HASH = re.compile(r" {4}--hash=sha256:[0-9a-f]{64}( \\)?")


def unhashed(text: str) -> list[str]:
    """Return the lines that are neither a package with a version and hashes, nor one of its hashes."""
    lines = text.removeprefix(pins.head(text)).splitlines()
    wrong = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        is_pin = re.fullmatch(r"[a-z0-9.-]+==[^\s;]+ \\", line) and HASH.fullmatch(after)
        is_hash = HASH.fullmatch(line) and line.endswith("\\") == bool(HASH.fullmatch(after))
        wrong += [] if is_pin or is_hash else [line]
    return wrong


def test_all_files_that_pip_installs_are_written() -> None:
    files = {*ROOT.glob("requirements-*.txt"), *ROOT.glob("*/requirements*.txt")}

    assert files - {ROOT / "requirements-floors.txt"} == {*pins.FILES}  # the floors are an input of tests


@pytest.mark.parametrize("file", pins.FILES, ids=lambda file: file.name)
def test_each_package_has_a_version_and_hashes(file: Path) -> None:
    assert [] == unhashed(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "line", ["a==1", "a>=1 \\", "--index-url=there", "    --hash=sha256:0", "a==1 ; python_version > '3' \\"]
)
def test_other_lines_are_found(line: str) -> None:
    right = f"# Comment.\na==1 \\\n    --hash=sha256:{'0' * 64}\n"

    assert [] == unhashed(right)
    assert line in unhashed(f"{right}{line}\n")


def test_pip_asks_for_hashes_wherever_it_reads_a_file_of_requirements() -> None:
    places = [ROOT / "Makefile", *ROOT.glob(".github/workflows/*.yml")]
    lines = [line for place in places for line in place.read_text(encoding="utf-8").splitlines()]
    installs = [line for line in lines if re.search(r"pip .*install.* -r ", line)]

    assert len(installs) >= 3
    assert [] == [line for line in installs if "--require-hashes" not in line]
    assert any(line.startswith("PIP :=") and "--require-hashes" in line for line in lines)
