"""A protocol with an empty name is valid; answers to newer joins have null instead of the name."""

from __future__ import annotations

import pytest

from tests.coordinator.driver import GroupDriver


@pytest.mark.parametrize(("version", "shown"), [(0, ""), (6, ""), (7, None), (9, None)])
def test_an_empty_protocol_name_is_null_in_newer_answers(version: int, shown: str | None) -> None:
    group = GroupDriver.begin()
    answer = group.join("a", protocols=(("", b""),), version=version, group_instance_id="one")
    assert answer is not None
    assert 1 == answer.generation_id
    assert shown == answer.protocol_name
