"""Tests of the licences of linked crates: complete, up to date and part of the package."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest

from docs import licenses

ROOT = Path(__file__).parents[2]
LISTED = re.compile(r"^(\S+) (\d\S*): .+$", re.MULTILINE)


@pytest.fixture(scope="module")
def committed() -> str:
    """Return the committed text."""
    return licenses.FILE.read_text(encoding="utf-8")


def test_the_committed_text_is_up_to_date(committed: str) -> None:
    assert licenses.text() == committed, "run make docs"


def test_the_listed_crates_are_locked(committed: str) -> None:
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    locked = {(package["name"], package["version"]) for package in lock["package"]}
    listed = {*LISTED.findall(committed.partition(licenses.RULE)[0])}

    assert listed <= locked
    assert {"arrow-array", "bytes", "numpy", "pyo3", "windows-link"} <= {name for name, _ in listed}
    assert not {"assignor", "proptest", "pyo3-macros", "pyo3-build-config"} & {name for name, _ in listed}


def test_each_listed_crate_has_a_text(committed: str) -> None:
    crates, *texts = committed.split(f"{licenses.RULE}\n")

    headings = "".join(texts[::2])
    assert [] == [name for name, version in LISTED.findall(crates) if f"{name} {version} (" not in headings]


def test_notices_are_part_of_the_text(committed: str) -> None:
    assert "\nApache Arrow\n" in committed
    assert "arrow-array" in committed.partition("(NOTICE.txt)")[0]


def test_a_crate_without_a_licence_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("MIT", encoding="utf-8")
    crate = licenses.Crate("bare", "1.0.0", "MIT", tmp_path)

    with pytest.raises(ValueError, match=r"crate bare 1\.0\.0 \(MIT\) has no file with a licence"):
        [*licenses.legal_files(crate)]


def test_the_package_lists_its_licences() -> None:
    assert ["LICENSE", licenses.FILE.name] == importlib.metadata.metadata("assignor").get_all("License-File")
