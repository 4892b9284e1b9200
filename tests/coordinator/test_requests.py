"""Invalid input: constructors reject values that cannot be encoded, and other requests get a defined answer."""

from __future__ import annotations

from typing import Any

import pytest

from assignor import RangeAssignor
from assignor.coordinator import (
    Coordinator,
    CoordinatorConfig,
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetToCommit,
    SyncGroupRequest,
)
from assignor.coordinator.requests import VERSIONS
from assignor.errors import AssignorError, IllegalArgumentError, IllegalStateError, NullArgumentError, WrongTypeError
from tests.coordinator.driver import AT_ONCE, GROUP, METHODS, RANGE, GroupDriver

# Untyped, because the tests pass arguments that a type checker rejects.
Join: Any = JoinGroupRequest
Sync: Any = SyncGroupRequest
Beat: Any = HeartbeatRequest
Leave: Any = LeaveGroupRequest
Commit: Any = OffsetCommitRequest
Offset: Any = OffsetToCommit
Config: Any = CoordinatorConfig
Driven: Any = Coordinator

INVALID: list[tuple[Any, type[AssignorError], str]] = [
    (lambda: Join(None), NullArgumentError, r"JoinGroupRequest: group_id must be a str"),
    (lambda: Join(b"g"), WrongTypeError, r"group_id must be a str, not bytes"),
    (lambda: Join("g\ud800"), IllegalArgumentError, r"group_id has a lone surrogate"),
    (lambda: Join("g", "m" * 40_000), IllegalArgumentError, r"member_id = .* has 40000 bytes .*; the limit is 32767"),
    (lambda: Join("g", client_id="é" * 20_000), IllegalArgumentError, r"client_id = .* has 40000 bytes"),
    (lambda: Join("g", group_instance_id=7), WrongTypeError, r"group_instance_id must be a str"),
    (lambda: Join("g", session_timeout_ms=2**31), IllegalArgumentError, r"session_timeout_ms cannot be"),
    (lambda: Join("g", rebalance_timeout_ms="9"), WrongTypeError, r"rebalance_timeout_ms must be an int"),
    (lambda: Join("g", protocols="range"), WrongTypeError, r"protocols must be an iterable of \(name, met"),
    (lambda: Join("g", protocols=["range"]), WrongTypeError, r"protocols must be .* tuples, not str"),
    (lambda: Join("g", protocols=[("range", "")]), WrongTypeError, r"metadata of protocol 'range' must be"),
    (lambda: Join("g", version=None), NullArgumentError, r"version must be an int"),
    (lambda: Sync("g", 1.5, "m"), WrongTypeError, r"SyncGroupRequest: generation_id must be an int"),
    (lambda: Sync("g", 1, "m", assignments=[("a", 3)]), WrongTypeError, r"the assignment of 'a' must"),
    (lambda: Sync("g", 1, "m", assignments=None), NullArgumentError, r"assignments must be an iterable"),
    (lambda: Beat("g", 2**31, "m"), IllegalArgumentError, r"generation_id cannot be over"),
    (lambda: Beat("g", True, "m"), WrongTypeError, r"generation_id must be an int, not bool"),
    (lambda: Leave("g", ["m"]), WrongTypeError, r"a member must be a LeavingMember, not str"),
    (lambda: Leave("g", [], version=2), IllegalArgumentError, r"version 2 must have one member, not 0"),
    (lambda: Commit("g", [("t", 0, 1)]), WrongTypeError, r"an offset must be an OffsetToCommit"),
    (lambda: Commit("g", [Offset("t", 2**31, 1)]), IllegalArgumentError, r"partition id cannot"),
    (lambda: Commit("g", [Offset("t", 0, 1, 5)]), WrongTypeError, r"metadata must be a str"),
    (lambda: Commit("g", [Offset("t", 0, 1, "x" * 32_768)]), IllegalArgumentError, r"metadata = .* has 32768 bytes"),
    (lambda: Commit("g", [Offset("t", 0, 1, topic_id="t")]), IllegalArgumentError, r"topic_id = 't': a uuid has 22"),
    (lambda: Commit("g", [Offset("t", 0, 1, topic_id=7)]), WrongTypeError, r"topic_id must be a str"),
    (lambda: Config(group_max_size=0), IllegalArgumentError, r"group_max_size must be >= 1, not 0"),
    (lambda: Config(offsets_retention_ms="7d"), WrongTypeError, r"offsets_retention_ms must be an int"),
    (lambda: Config(9, 8), IllegalArgumentError, r"min_session_timeout_ms \(9\) must be <= max_"),
    (lambda: Driven({}), WrongTypeError, r"config must be a CoordinatorConfig, not dict"),
    (lambda: Driven(confirm_writes=1), WrongTypeError, r"confirm_writes must be a bool"),
    (lambda: Driven(member_ids="a-1"), WrongTypeError, r"member_ids must be a callable"),
    (
        lambda: Driven(assignor="range", partitions_per_topic={}),
        WrongTypeError,
        r"assignor must be a PartitionAssignor",
    ),
    (lambda: Driven(assignor=RangeAssignor()), IllegalStateError, r"assignor requires partitions_per_topic"),
    (lambda: Driven().heartbeat(None, 0), NullArgumentError, r"request must be a HeartbeatRequest"),
    (lambda: Driven().expire(0.5), WrongTypeError, r"now must be an int, not float"),
    (lambda: Driven().expire(2**63), IllegalArgumentError, r"now cannot be over"),
    (lambda: Driven().written(3, 0), IllegalStateError, r"write 3 is not waiting for confirmation"),
    (lambda: Driven().delete_group(3, 0), WrongTypeError, r"group_id must be a str"),
]


@pytest.mark.parametrize(("make", "error", "match"), INVALID)
def test_invalid_values_are_rejected_with_their_names(make: Any, error: type[AssignorError], match: str) -> None:
    with pytest.raises(error, match=match):
        make()


def test_any_iterable_and_any_bytes_are_accepted() -> None:
    request = JoinGroupRequest("g", protocols=iter([("range", bytearray(b"x"))]))  # type: ignore[arg-type]  # the test

    assert (("range", b"x"),) == request.protocols


@pytest.mark.parametrize("kind", VERSIONS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("version", [-1, -(2**15), 11, 2**15 - 1])
def test_an_unsupported_version_gets_an_error_and_changes_nothing(kind: Any, version: int) -> None:
    driver = GroupDriver.begin()
    driver.settle("a")
    before = driver.coordinator.describe(GROUP)
    fields: dict[Any, tuple[Any, ...]] = {
        JoinGroupRequest: (GROUP,),
        SyncGroupRequest: (GROUP, 1, "a-1"),
        HeartbeatRequest: (GROUP, 1, "a-1"),
        LeaveGroupRequest: (GROUP, [LeavingMember("a-1")]),
        OffsetCommitRequest: (GROUP, [OffsetToCommit("t0", 0, 5)]),
    }

    ask = getattr(driver.coordinator, METHODS[kind])
    effects = ask(kind(*fields[kind], version=version), 0, ("a", "any"))

    response = effects.answers[0].response
    errors = [response.error_code] if hasattr(response, "error_code") else [each[2] for each in response.partitions]
    assert [ErrorCode.UNSUPPORTED_VERSION] == errors
    assert before == driver.coordinator.describe(GROUP)
    assert {} == driver.coordinator.committed(GROUP)


def test_a_join_without_protocols_is_rejected() -> None:
    driver = GroupDriver.begin()

    answer = driver.join("a", protocols=())

    assert answer is not None
    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL is answer.error_code
    assert "Empty" == driver.state()


def test_a_huge_batch_of_members_leaves_in_one_rebalance() -> None:
    driver = GroupDriver.begin()
    driver.settle("a", "b")
    unknown = [LeavingMember(f"unknown-{number}") for number in range(10_000)]

    answer = driver.leave("b", members=[*unknown, LeavingMember(driver.ids["b"])])

    assert answer is not None
    codes = [member.error_code for member in answer.members]  # type: ignore[union-attr]  # a leave response has them
    assert [ErrorCode.UNKNOWN_MEMBER_ID] * 10_000 + [ErrorCode.NONE] == codes
    assert "PreparingRebalance" == driver.state()
    assert 3 == len(driver.rebalances)


def test_the_leader_gets_an_invalid_subscription_unchanged() -> None:
    driver = GroupDriver.begin()
    driver.join("a", protocols=(("range", b"\x00"),))

    answer = driver.answers["a", "join"]

    assert b"\x00" == answer.members[0].metadata  # type: ignore[union-attr]  # the leader's answer has members


def test_an_invalid_length_in_a_subscription_breaks_the_generation_as_in_kafka() -> None:
    driver = GroupDriver.begin()

    answer = driver.join("a", protocols=(("range", b"\0\0\xff\xff\xff\xff"),))

    assert answer is None
    assert "PreparingRebalance" == driver.state()
    problem = "group 'orders': the subscription of member a-1 has an invalid count of -1 topics"
    assert [problem] == driver.problems
    driver.wait(AT_ONCE.new_member_join_timeout_ms)
    assert ErrorCode.UNKNOWN_MEMBER_ID is driver.answers["a", "join"].error_code  # type: ignore[union-attr]  # a join's
    assert "Empty" == driver.state()


def test_a_protocol_offered_twice_breaks_the_generation_as_in_kafka() -> None:
    driver = GroupDriver.begin()

    answer = driver.join("a", protocols=(*RANGE, *RANGE))

    assert answer is None
    assert ["group 'orders': member a-1 does not support any of the candidate protocols"] == driver.problems


def test_an_earlier_time_counts_as_the_previous_one() -> None:
    driver = GroupDriver.begin()
    driver.settle("a")
    driver.now = 5_000
    driver.heartbeat("a")
    driver.now = 20
    driver.heartbeat("a")

    assert "Stable" == driver.state()
    driver.now = 14_999
    driver.wait(0)
    assert "Stable" == driver.state()
    driver.wait(1)
    assert "Empty" == driver.state()


def test_a_member_id_in_use_is_rejected() -> None:
    alike = Coordinator(AT_ONCE, member_ids=lambda _: "same")
    alike.join_group(JoinGroupRequest("g", protocols=RANGE, version=3), 0)

    with pytest.raises(IllegalStateError, match=r"returned 'same'; it must return a new member id for group 'g'"):
        alike.join_group(JoinGroupRequest("g", protocols=RANGE, version=3), 0)


class Number:
    """An object with `__index__` that is not an int."""

    def __index__(self) -> int:
        return 3


def test_numbers_of_a_commit_are_converted_to_ints() -> None:
    number: Any = Number()

    request = OffsetCommitRequest("g", [OffsetToCommit("t0", number, number, "", number)])

    assert (OffsetToCommit("t0", 3, 3, "", 3),) == request.offsets
    assert [int] * 3 == [type(value) for value in request.offsets[0] if value == 3]


@pytest.mark.parametrize(("now", "retention_ms", "expires_at"), [(5, 2**63 - 1, 4 - 2**63), (-5, -(2**63), 2**63 - 5)])
def test_a_time_that_is_too_large_overflows_as_in_kafka(now: int, retention_ms: int, expires_at: int) -> None:
    driver = GroupDriver.begin()
    driver.now = now

    assert ErrorCode.NONE is driver.commit("", 7, retention_time_ms=retention_ms, version=2)
    assert [expires_at] == [stored.expires_at for stored in driver.coordinator.committed(GROUP).values()]


def fails(prefix: str) -> str:
    """Raise an error instead of returning an id."""
    raise ZeroDivisionError(prefix)


@pytest.mark.parametrize("version", [3, 9])
@pytest.mark.parametrize(
    ("member_ids", "error"),
    [
        (lambda _: "", IllegalStateError),
        (lambda _: None, IllegalStateError),
        (lambda _: "m" * 32_768, IllegalStateError),
        (lambda _: "\ud800", IllegalStateError),
        (fails, ZeroDivisionError),
    ],
)
def test_a_group_without_a_valid_member_id_is_not_created(
    member_ids: Any, error: type[Exception], version: int
) -> None:
    coordinator = Coordinator(AT_ONCE, member_ids=member_ids)

    with pytest.raises(error):
        coordinator.join_group(JoinGroupRequest(GROUP, protocols=RANGE, version=version), 0)

    assert () == coordinator.groups()
    assert () == coordinator.expire(0).writes


def test_a_pending_member_id_is_rejected() -> None:
    coordinator = Coordinator(AT_ONCE, member_ids="{}-1".format)
    join = JoinGroupRequest(GROUP, protocols=RANGE, client_id="a")
    coordinator.join_group(join, 0)

    with pytest.raises(IllegalStateError, match=r"returned 'a-1'; it must return a new member id for group 'orders'"):
        coordinator.join_group(join, 0)

    assert (GROUP,) == coordinator.groups()
