"""Tests of the API reference: it describes all public names, and its parts follow from signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import assignor
from assignor import errors, offsets, wire
from docs import api

PAGE = (Path(__file__).parents[2] / "docs" / "reference.md").read_text(encoding="utf-8")
HEADINGS = re.findall(r"^#+ (.*)$", PAGE, flags=re.MULTILINE)


def test_the_page_describes_each_public_name() -> None:
    described = {heading.removeprefix("class ") for heading in HEADINGS}

    assert set() == set(assignor.__all__) - {"errors"} - described
    assert set() == {
        f"assignor.{module.__name__[9:]}.{name}" for module in (wire, offsets) for name in module.__all__
    } - (described)


def test_the_page_describes_each_method_of_a_plan() -> None:
    methods = {name for name in dir(assignor.Plan) if name[0] != "_" and callable(getattr(assignor.Plan, name))}

    assert {f"Plan.{name}" for name in methods} == {heading for heading in HEADINGS if heading.startswith("Plan.")}


@pytest.mark.parametrize("call", [assignor.assign, assignor.plan, assignor.check, assignor.match_topics])
def test_a_signature_has_each_parameter_with_its_default(call: object) -> None:
    assert callable(call)
    (block,) = api.signature("call", call)
    for name, parameter in inspect.signature(call).parameters.items():
        written = name if parameter.default is parameter.empty else f"{name}={parameter.default!r}".replace("'", '"')
        assert re.search(rf"[( ]{re.escape(written)}[,)]", block), written


def test_the_page_has_no_two_headings_with_the_same_anchor() -> None:
    anchors = [api.anchor(heading) for heading in HEADINGS]

    assert sorted(set(anchors)) == sorted(anchors)


def test_sections_of_a_docstring_become_lists() -> None:
    docstring = inspect.cleandoc("""
        Return 2 * 3 as
        `Plan`.

        Args:
            count: One line
                and another.

                A second paragraph.
            name: As for `assign`, see docs/matching.md.

        Returns:
            A number.

        Order: ascending.

        Raises:
            ValueError, TypeError: Always.

        Example:
            >>> 1
            1
    """)

    assert list(api.blocks(docstring, {"Plan": "class-plan"})) == [
        "Return 2 \\* 3 as [`Plan`](#class-plan).",
        "Arguments:\n\n* **count**: One line and another.\n\n  A second paragraph.\n"
        "* **name**: As for `assign`, see [matching.md](matching.md).",
        "Returns: A number.",
        "Order: ascending.",
        "Raises:\n\n* **ValueError, TypeError**: Always.",
    ]


def test_an_inherited_method_is_described_once() -> None:
    assert 1 == HEADINGS.count("RangeAssignor.assign_encoded")
    assert "StickyAssignor.assign_encoded" not in HEADINGS
    assert "under `RangeAssignor`: [`supported_protocols`](#rangeassignorsupported_protocols)" in PAGE


def test_the_tree_of_errors_has_each_error_below_its_base() -> None:
    tree = api.error_tree()

    assert sorted(errors.__all__) == sorted(re.findall(r"^ *\* \*\*(\w+)\*\*", tree, flags=re.MULTILINE))
    assert "\n  * **WrongTypeError** (also `TypeError`): " in tree
    assert "\n    * **NullArgumentError**: " in tree
