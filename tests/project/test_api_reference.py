"""Tests of the API reference: it describes all public names, and its parts follow from signatures and docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import pytest

import assignor
from assignor import coordinator, errors, offsets, subscription_state, wire
from assignor.member import effects, events
from docs import api

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference.md").read_text(encoding="utf-8")
STATE_MACHINES = (DOCS / "reference-state-machines.md").read_text(encoding="utf-8")
HEADINGS = {
    page: re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    for page, text in {"reference": PAGE, "state machines": STATE_MACHINES}.items()
}
ALL_HEADINGS = [heading for headings in HEADINGS.values() for heading in headings]


def test_the_page_describes_each_public_name() -> None:
    described = {heading.removeprefix("class ") for heading in ALL_HEADINGS}

    assert set() == set(assignor.__all__) - {"errors"} - described
    modules = (wire, offsets, assignor.member, events, effects, coordinator, subscription_state)
    names = {f"{module.__name__}.{name}" for module in modules for name in module.__all__}
    assert names - described == {
        *("assignor.member.events", "assignor.member.effects"),  # modules
        *("assignor.member.events.Event", "assignor.member.effects.Effect"),  # unions of the other names
        "assignor.subscription_state.NO_LEADER",
        "assignor.subscription_state.SubscriptionState",  # described as a name of the package
        "assignor.subscription_state.TopicPattern",  # described as a name of `assignor.matching`
    }
    assert {"SubscriptionState", "assignor.matching.TopicPattern"} <= described


@pytest.mark.parametrize(
    "cls", [assignor.Plan, assignor.SubscriptionState, assignor.member.Member, coordinator.Coordinator]
)
def test_a_page_describes_each_method_of_a_class(cls: type) -> None:
    methods = {name for name in dir(cls) if name[0] != "_" and callable(getattr(cls, name))}

    assert {f"{cls.__name__}.{name}" for name in methods} == {
        heading for heading in ALL_HEADINGS if heading.startswith(f"{cls.__name__}.")
    }


def test_each_field_of_a_class_is_described() -> None:
    for _, entry in api.entries():
        value = entry.value()
        listed = (inspect.getdoc(value) or "").partition("Attributes:")[2]
        names = [each.name for each in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
        names += getattr(value, "_fields", ())
        assert [] == [name for name in names if f"\n    {name}: " not in listed], entry.path


@pytest.mark.parametrize("call", [assignor.assign, assignor.plan, assignor.check, assignor.match_topics])
def test_a_signature_has_each_parameter_with_its_default(call: object) -> None:
    assert callable(call)
    (block,) = api.signature("call", call)
    for name, parameter in inspect.signature(call).parameters.items():
        written = name if parameter.default is parameter.empty else f"{name}={parameter.default!r}".replace("'", '"')
        assert re.search(rf"[( ]{re.escape(written)}[,)]", block), written


def test_a_signature_shows_defaults_as_in_the_code() -> None:
    (block,) = api.signature("describe", coordinator.GroupDescription)
    assert "    error_code=ErrorCode.NONE,\n" in block
    (block,) = api.signature("sync", coordinator.SyncGroupResponse)
    assert ', assignment=b"")' in block
    (block,) = api.signature("position", assignor.SubscriptionState.position, is_method=True)
    assert "position(tp, position=...)" in block


@pytest.mark.parametrize("page", HEADINGS)
def test_a_page_has_no_two_headings_with_the_same_anchor(page: str) -> None:
    anchors = [api.anchor(heading) for heading in HEADINGS[page]]

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

    assert list(api.blocks(docstring, {"Plan": "#class-plan"})) == [
        "Return 2 \\* 3 as [`Plan`](#class-plan).",
        "Arguments:\n\n* **count**: One line and another.\n\n  A second paragraph.\n"
        "* **name**: As for `assign`, see [matching.md](matching.md).",
        "Returns: A number.",
        "Order: ascending.",
        "Raises:\n\n* **ValueError, TypeError**: Always.",
    ]


def test_an_inherited_method_is_described_once() -> None:
    assert 1 == ALL_HEADINGS.count("RangeAssignor.assign_encoded")
    assert "StickyAssignor.assign_encoded" not in ALL_HEADINGS
    assert "under `RangeAssignor`: [`supported_protocols`](#rangeassignorsupported_protocols)" in PAGE


def test_a_name_of_two_modules_links_to_the_module_of_the_text() -> None:
    of_coordinator = api.targets("reference-state-machines.md", "coordinator")
    of_effects = api.targets("reference-state-machines.md", "member.effects")

    assert "#class-assignorcoordinatorheartbeatrequest" == of_coordinator["HeartbeatRequest"]
    assert "#class-assignormemberheartbeatrequest" == of_effects["HeartbeatRequest"]
    assert "#class-assignormemberheartbeatrequest" == of_coordinator["member.HeartbeatRequest"]


def test_a_name_on_another_page_links_to_that_page() -> None:
    assert "reference.md#assign" == api.targets("reference-state-machines.md", "coordinator")["assign"]
    assert "#assign" == api.targets("reference.md", "")["assign"]
    assert "[`assign`](reference.md#assign)" in STATE_MACHINES


def test_the_members_of_an_enum_have_their_docstrings() -> None:
    rows = list(api.enum_members(coordinator.GroupState))

    assert "* **DEAD** = 'Dead': The group was deleted or moved to another coordinator." == rows[-1]
    awaiting = "Another name of `COMPLETING_REBALANCE`: its name up to Kafka 1.0."
    assert f"* **AWAITING_SYNC** = 'CompletingRebalance': {awaiting}" in rows
    assert "* **READ_COMMITTED** = 1" in list(api.enum_members(subscription_state.IsolationLevel))


def test_the_tree_of_errors_has_each_error_below_its_base() -> None:
    tree = api.error_tree()

    assert sorted(errors.__all__) == sorted(re.findall(r"^ *\* \*\*(\w+)\*\*", tree, flags=re.MULTILINE))
    assert "\n  * **WrongTypeError** (also `TypeError`): " in tree
    assert "\n    * **NullArgumentError**: " in tree
