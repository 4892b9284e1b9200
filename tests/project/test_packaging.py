"""Tests of the installed package: version, type information, dependencies and public names."""

from __future__ import annotations

import importlib.metadata
import inspect
import tomllib
from pathlib import Path
from typing import Any

import pytest

import assignor
from assignor import errors

ROOT = Path(__file__).parents[2]


def project(file: str) -> dict[str, Any]:
    """Return the contents of a TOML file of the project."""
    return tomllib.loads((ROOT / file).read_text(encoding="utf-8"))


def test_the_version_equals_that_of_the_crate() -> None:
    from assignor import _core

    version = project("Cargo.toml")["package"]["version"]

    assert version == assignor.__version__
    assert version == _core.__version__


def test_the_package_has_type_information() -> None:
    assert (Path(assignor.__file__).parent / "py.typed").exists()
    assert (Path(assignor.__file__).parent / "_core.pyi").exists()


def test_the_package_requires_only_numpy() -> None:
    required = importlib.metadata.requires("assignor") or []

    assert ["numpy>=1.26"] == project("pyproject.toml")["project"]["dependencies"]
    assert ["numpy>=1.26"] == [requirement for requirement in required if "extra ==" not in requirement]


def test_public_names_exist_and_are_sorted_and_unique() -> None:
    assert sorted(set(assignor.__all__)) == assignor.__all__
    assert [] == [name for name in assignor.__all__ if not hasattr(assignor, name)]


def test_an_unknown_name_raises_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'assignor' has no attribute 'asign'"):
        assignor.asign  # noqa: B018 - the access is tested


def test_errors_are_subclasses_of_assignor_error() -> None:
    classes = [getattr(errors, name) for name in errors.__all__]

    assert all(issubclass(error, errors.AssignorError) for error in classes)
    assert sorted(errors.__all__) == sorted(name for name in dir(errors) if inspect.isclass(getattr(errors, name)))


def test_public_functions_and_classes_have_docstrings() -> None:
    undocumented = [name for name in assignor.__all__ if not inspect.getdoc(getattr(assignor, name))]

    assert [] == undocumented
