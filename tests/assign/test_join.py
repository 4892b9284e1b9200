"""Groups from the members of a JoinGroup response, with encoded subscriptions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import Group, Subscription, Topics, errors, plan
from assignor.reference.group import read_joined_members
from assignor.wire import encode_subscription
from tests.support.strategies import groups

TOPICS = {"t": 3, "u": 2}


def joined(members: dict[str, Subscription], version: int = 3) -> list[tuple[str, str | None, bytes]]:
    """Return the members as in a JoinGroup response."""
    return [
        (member, subscription.group_instance_id, encode_subscription(subscription, version))
        for member, subscription in members.items()
    ]


@given(groups(), st.integers(0, 5))
def test_drawn_groups_give_the_same_answer_if_encoded(group: Any, version: int) -> None:
    members = {
        member: found if isinstance(found, Subscription) else Subscription(tuple(found))
        for member, found in group.members.items()
    }
    if version < 3:
        members = {
            member: Subscription(found.topics, group_instance_id=found.group_instance_id)
            for member, found in members.items()
        }

    found = Group.from_wire(group.topics, joined(members, version))

    assert tuple(members) == found.members
    assert found.assign() == Group.from_wire(Topics(group.topics), iter(joined(members, version))).assign()
    assert plan(group.topics, members).to_json() == found.plan().to_json()
    assert found.plan() == plan(group.topics, read_joined_members(joined(members, version)), engine="reference")


@pytest.mark.parametrize(
    ("members", "error", "message"),
    [
        (
            [("a", None, b"\0")],
            errors.WireError,
            "2 bytes are needed and 1 remain at offset 0 while reading member 'a'.version",
        ),
        ([("a", None, b"\0\0\0\0\0\x09")], errors.WireError, "9 elements of at least 2 bytes do not fit"),
        (
            [("a", None, bytearray(b"\0"))],
            errors.WrongTypeError,
            r"members\[0\]: a subscription must be bytes, not bytearray",
        ),
        ([("a", 7, b"")], errors.WrongTypeError, r"members\[0\]: a group instance id must be a str, not int: 7"),
        ([(7, None, b"")], errors.WrongTypeError, r"members\[0\]: a member id must be a str, not int: 7"),
        (["a"], errors.WrongTypeError, r"members\[0\] must be \(member id, group instance id, bytes\), not str: 'a'"),
        (
            "abc",
            errors.WrongTypeError,
            r"members must be an iterable of \(member id, group instance id, bytes\), not str",
        ),
        (None, errors.NullArgumentError, "members must be an iterable of"),
    ],
)
def test_errors_name_the_invalid_member(members: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}"):
        Group.from_wire(TOPICS, members)


def test_a_member_that_joins_twice_is_rejected() -> None:
    members = joined({"a": Subscription(("t",))}) * 2

    with pytest.raises(errors.IllegalArgumentError, match=r"^the group has 'a' twice$"):
        Group.from_wire(TOPICS, members)


def test_only_the_tolerant_reader_accepts_an_older_body_under_a_newer_header() -> None:
    older = b"\0\1" + encode_subscription(Subscription(("t",)), 0)[2:]

    with pytest.raises(errors.WireError, match=r"^4 bytes are needed and 0 remain .* member 'a'.owned_partitions"):
        Group.from_wire(TOPICS, [("a", None, older)])
    assert [3] == Group.from_wire(TOPICS, [("a", None, older)], tolerant=True).plan().counts().tolist()
