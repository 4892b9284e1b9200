"""Tests of the types of the package: names of options, constructors, and the type check of the documentation."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from typing import Any, get_args

import pytest

import assignor
from assignor import coordinator, errors, names, plan
from assignor.matching import TopicPattern
from assignor.reference.assign import ASSIGNORS
from assignor.spark import Scenario
from docs import typecheck

CONSTRUCTORS: tuple[type[Any], ...] = (
    assignor.Subscription,
    coordinator.JoinGroupRequest,
    coordinator.LeaveGroupRequest,
    coordinator.OffsetCommitRequest,
    coordinator.SyncGroupRequest,
    Scenario,
)
"""Classes whose constructors take more types than their attributes have."""


def accepted(option: str, **others: Any) -> set[str]:
    """Return the names that the error for an unknown one lists."""
    call: Any = TopicPattern if option == "dialect" else plan
    arguments = ("t",) if option == "dialect" else ({}, {})
    with pytest.raises(errors.IllegalArgumentError) as raised:
        call(*arguments, **{option: "unknown"}, **others)
    return set(re.findall(r"'([a-z0-9-]+)'", str(raised.value).partition(", not ")[0].partition(" for ")[0]))


def test_the_types_of_names_are_those_that_the_engine_accepts() -> None:
    assert set(get_args(names.Engine)) == accepted("engine")
    assert set(get_args(names.Dialect)) == accepted("dialect")
    assert set(get_args(names.GroupProtocol)) == accepted("group_protocol")
    of_protocols = {protocol: accepted("assignor", group_protocol=protocol) for protocol in accepted("group_protocol")}
    assert set(get_args(names.AssignorName)) == set().union(*of_protocols.values())
    assert of_protocols == {protocol: {name for of, name in ASSIGNORS if of == protocol} for protocol in of_protocols}
    assert {protocol: set(found) for protocol, found in names.MEMBERS_ASSIGNORS.items()}.items() <= of_protocols.items()


@pytest.mark.parametrize("kind", CONSTRUCTORS)
def test_the_constructor_for_type_checkers_is_that_of_the_class(kind: type[Any]) -> None:
    (body,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(body, ast.ClassDef)
    (declared,) = (
        each
        for block in body.body
        if isinstance(block, ast.If)
        for each in block.body
        if isinstance(each, ast.FunctionDef) and each.name == "__init__"
    )
    defaults = [ast.literal_eval(default) for default in declared.args.defaults]
    fields = dataclasses.fields(kind)

    assert [field.name for field in fields] == [each.arg for each in declared.args.args[1:]]
    assert defaults == [field.default for field in fields if field.default is not dataclasses.MISSING]


PAGE = """# Title

Text with `code`.

```python
>>> from assignor import plan
>>> found = plan(
...     {"t": 1}, {})
>>> found
<Plan: ...>
>>> plan({"t": -1}, {})
Traceback (most recent call last):
assignor.errors.IllegalArgumentError: ...
>>> def double(number: int) -> int:
...     return 2 * number
```

```text
>>> not code
```

```python
number = 1
```
"""


def test_the_code_of_a_page_keeps_its_lines() -> None:
    lines = typecheck.module_of(PAGE, "given = 1").splitlines()

    assert ["# mypy: allow-redefinition", "given = 1"] == lines[:2]
    code = {number: line for number, line in enumerate(lines, 1) if line and number > 2}
    shown = PAGE.splitlines()
    assert {6, 7, 8, 9, 14, 15, 23} == code.keys()
    for number, line in code.items():
        assert line == shown[number - 1].removeprefix(">>> ").removeprefix("... ")


def test_all_pages_with_code_and_all_examples_are_checked() -> None:
    files = typecheck.checked_files()

    assert {"README.md", "docs/tutorial.md", "docs/assignors/range.md", "examples/fleet_notebook.py"} <= set(files)
