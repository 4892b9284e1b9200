"""Tests of the API reference, as it is on the site: it describes all public names."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import pytest

import assignor
from assignor import coordinator, offsets, subscription_state, wire
from assignor.member import effects, events
from docs import api, generate

DOCS = Path(__file__).parents[2] / "docs"
HEADINGS = {
    page: re.findall(r"^#+ (.*)$", generate.filled((DOCS / page).read_text(encoding="utf-8")), flags=re.MULTILINE)
    for page in api.PAGES
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


@pytest.mark.parametrize("page", HEADINGS)
def test_a_page_has_no_two_headings_with_the_same_anchor(page: str) -> None:
    anchors = [api.anchor(heading) for heading in HEADINGS[page]]

    assert sorted(set(anchors)) == sorted(anchors)
