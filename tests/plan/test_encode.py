"""Encoded assignments of a plan's members, and the size of the group's record."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import PartitionInfo, Subscription, TopicPartition, assign, errors, plan
from assignor.wire import decode_assignment, encode_assignment, encode_subscription
from tests.support.assignment_rules import topics_of
from tests.support.engines import ENGINES, Engine
from tests.support.record_bytes import write_record
from tests.support.strategies import Group, groups, names

VERSIONS = st.integers(0, 3)


@given(group=groups(equal_instance_ids=True), version=st.integers(0, 9))
def test_encoded_assignments_equal_those_of_the_lists(group: Group, version: int) -> None:
    answer = assign(group.topics, group.members, prefer_rack_aware=group.prefer_rack_aware, engine="reference")
    for engine in ENGINES:
        found = plan(group.topics, group.members, prefer_rack_aware=group.prefer_rack_aware, engine=engine)
        encoded = found.encode(version)

        assert list(answer) == list(encoded)
        for member, partitions in answer.items():
            decoded = decode_assignment(encoded[member], engine="reference")
            assert (min(version, 3), tuple(partitions), None) == (
                decoded.version,
                decoded.partitions,
                decoded.user_data,
            )
            assert encode_assignment(partitions, version, engine="reference") == encoded[member]


def test_the_default_version_is_3(engine: Engine) -> None:
    found = plan({"é": [4, 7, 8], "t": 2}, {"b": ["t"], "a": ["é", "t"], "idle": []}, engine=engine)

    assert found.encode(3) == found.encode() == found.encode(version=4) == found.encode(2**80)
    assert {
        "b": "0003 00000001 0001 74 00000001 00000001 ffffffff",
        "a": "0003 00000002 0001 74 00000001 00000000 0002 c3a9 00000003 00000004 00000007 00000008 ffffffff",
        "idle": "0003 00000000 ffffffff",
    } == {
        member: spaced(data, expected) for (member, data), expected in zip(found.encode().items(), LAYOUTS, strict=True)
    }


LAYOUTS = ((2, 4, 2, 1, 4, 4, 4), (2, 4, 2, 1, 4, 4, 2, 2, 4, 4, 4, 4, 4), (2, 4, 4))


def spaced(data: bytes, layout: tuple[int, ...]) -> str:
    """Return bytes as hexadecimal digits, with a space between fields."""
    assert sum(layout) == len(data)
    ends = itertools.accumulate(layout)
    return " ".join(data[end - length : end].hex() for length, end in zip(layout, ends, strict=True))


def test_each_call_returns_a_new_dict(engine: Engine) -> None:
    found = plan({"t": 1}, {"a": ["t"]}, engine=engine)

    found.encode().clear()

    assert ["a"] == list(found.encode())


@pytest.mark.parametrize(
    ("version", "error", "message"),
    [
        (-1, errors.WireError, "version -1 is negative while writing version"),
        (-(2**80), errors.WireError, "version -1 is negative while writing version"),
        ("3", errors.WrongTypeError, "version must be an int, not str: '3'"),
        (True, errors.WrongTypeError, "version must be an int, not bool: True"),
        (3.0, errors.WrongTypeError, "version must be an int, not float: 3.0"),
        (None, errors.NullArgumentError, "version must be an int, not None"),
    ],
)
def test_an_invalid_version_is_rejected(engine: Engine, version: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        plan({"t": 1}, {"a": ["t"]}, engine=engine).encode(version)

    assert error is type(raised.value)
    assert message == str(raised.value)


def test_a_topic_name_that_is_too_long_is_rejected(engine: Engine) -> None:
    longest, longer = "t" * 32_767, "é" * 16_384

    assert 32_767 + 24 == len(plan({longest: 1}, {"a": [longest]}, engine=engine).encode()["a"]) + 4
    with pytest.raises(errors.WireError, match=r"32768.* while writing topic$"):
        plan({longer: 1}, {"a": [longer]}, engine=engine).encode()


# ---- size of the group's record


@st.composite
def details(draw: st.DrawFn, group: Group) -> dict[str, Any]:
    """Draw the optional arguments: leader, clients and versions."""
    some = {member: draw(st.booleans()) for member in group.members}
    clients = {member: (draw(names()), draw(names())) for member, known in some.items() if known}
    versions = {member: draw(VERSIONS) for member in group.members if draw(st.booleans())}
    return {
        "leader": draw(st.sampled_from([*group.members, None])),
        "clients": draw(st.sampled_from([clients, None, {"unknown": ("x", "y")} | clients])),
        "versions": draw(st.one_of(VERSIONS, st.just(versions))),
    }


@st.composite
def with_optional_fields(draw: st.DrawFn, group: Group) -> Group:
    """Draw owned partitions, generation and user data for some members of a group."""
    members = dict(group.members)
    for member, wanted in members.items():
        if isinstance(wanted, Subscription) and draw(st.booleans()):
            owned = draw(st.lists(st.builds(TopicPartition, names(), st.integers(0, 5)), max_size=5, unique=True))
            members[member] = Subscription(
                wanted.topics,
                wanted.group_instance_id,
                wanted.rack,
                tuple(owned),
                draw(st.sampled_from([None, 7])),
                draw(st.sampled_from([None, b"", b"data"])),
            )
    return group._replace(members=members)


def record_length(group: Group, group_id: str, details: dict[str, Any]) -> int:
    """Return the size of the group's record in bytes, by encoding it."""
    members = []
    for member, partitions in assign(group.topics, group.members, engine="reference").items():
        versions, wanted = details["versions"], group.members[member]
        version = versions if isinstance(versions, int) else versions.get(member, 3)
        client_id, client_host = (details["clients"] or {}).get(member, ("", ""))
        sent = Subscription(tuple(topics_of(wanted)))
        if isinstance(wanted, Subscription):
            sent = Subscription(
                tuple(topics_of(wanted)),
                rack=wanted.rack or None,
                owned_partitions=wanted.owned_partitions,
                generation=wanted.generation,
                user_data=wanted.user_data,
            )
        members.append(
            {
                "memberId": member,
                "groupInstanceId": wanted.group_instance_id if isinstance(wanted, Subscription) else None,
                "clientId": client_id,
                "clientHost": client_host,
                "subscription": encode_subscription(sent, version, engine="reference"),
                "assignment": encode_assignment(partitions, engine="reference"),
            }
        )
    value = {
        "protocolType": "consumer",
        "protocol": "range" if members else None,
        "leader": details["leader"],
        "members": members,
    }
    key, data = write_record(2, {"group": group_id}, value, version=3)
    assert key is not None
    assert data is not None
    return len(key) + len(data)


@given(data=st.data())
def test_the_size_equals_that_of_the_encoded_record(data: Any) -> None:
    group = data.draw(groups(equal_instance_ids=True).flatmap(with_optional_fields))
    group_id, known = data.draw(names()), data.draw(details(group))
    expected = record_length(group, group_id, known)
    for engine in ENGINES:
        assert expected == plan(group.topics, group.members, engine=engine).group_metadata_size(group_id, **known)


def test_versions_are_given_for_all_or_by_member_and_default_to_3(engine: Engine) -> None:
    wanted = Subscription(("t",), rack="r1", owned_partitions=(TopicPartition("t", 0),), user_data=b"12345")
    found = plan({"t": [PartitionInfo(0, ("r1",))]}, {"a": wanted, "b": wanted}, engine=engine)
    sizes = [found.group_metadata_size("g", versions=version) for version in range(4)]

    owned, generation, rack = 4 + 2 + 1 + 4 + 4, 4, 2 + 2
    assert [2 * owned, 2 * generation, 2 * rack] == [later - size for size, later in itertools.pairwise(sizes)]
    assert sizes[3] == found.group_metadata_size("g")
    assert sizes[3] == found.group_metadata_size("g", versions=2**40)
    assert sizes[3] == found.group_metadata_size("g", versions={})
    assert sizes[3] - rack == found.group_metadata_size("g", versions={"a": 2, "unknown": 0})


def test_a_group_without_members_has_no_protocol(engine: Engine) -> None:
    key, head = 2 + 2 + 1, 2 + (2 + 8) + 4 + 2 + 2 + 8 + 4

    assert key + head == plan({"t": 3}, {}, engine=engine).group_metadata_size("g")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"group_id": 3}, errors.WrongTypeError, "group_id must be a str, not int: 3"),
        ({"group_id": None}, errors.NullArgumentError, "group_id must be a str, not None"),
        ({"group_id": "\ud800"}, errors.IllegalArgumentError, "group_id has a lone surrogate, "),
        ({"leader": b"a"}, errors.WrongTypeError, "leader must be a str, not bytes: b'a'"),
        ({"clients": ["a"]}, errors.WrongTypeError, "clients must be a mapping by member id, not list: ['a']"),
        ({"clients": {1: ("", "")}}, errors.WrongTypeError, "a member id in clients must be a str, not int: 1"),
        ({"clients": {"a": "xy"}}, errors.WrongTypeError, "clients['a'] must be a pair of client id and client"),
        ({"clients": {"a": ("x",)}}, errors.WrongTypeError, "clients['a'] must be a pair of client id and client"),
        ({"clients": {"a": ("x", None)}}, errors.NullArgumentError, "clients['a'] must be a str, not None"),
        ({"versions": "3"}, errors.WrongTypeError, "versions must be an int or a mapping by member id, not str: '3'"),
        ({"versions": None}, errors.NullArgumentError, "versions must be an int or a mapping by member id, not None"),
        ({"versions": {"a": "3"}}, errors.WrongTypeError, "versions['a'] must be an int, not str: '3'"),
        ({"versions": {None: 3}}, errors.NullArgumentError, "a member id in versions must be a str, not None"),
        ({"versions": -1}, errors.WireError, "version -1 is negative while writing version"),
        ({"versions": {"a": -5}}, errors.WireError, "version -5 is negative while writing version"),
    ],
)  # fmt: skip
def test_invalid_arguments_are_rejected(
    engine: Engine, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        plan({"t": 1}, {"a": ["t"]}, engine=engine).group_metadata_size(**{"group_id": "g", **arguments})

    assert error is type(raised.value)
    assert str(raised.value).startswith(message)
