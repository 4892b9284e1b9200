"""The assignor, the group protocol and topic ids as arguments of `assign`, `plan` and `Group`."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from assignor import Group, Plan, Subscription, assign, errors, plan, wire
from assignor.names import AssignorName, GroupProtocol
from tests.support.engines import Engine
from tests.support.invalid_input import ARGUMENT, LONE, NULL, TYPE, Changing

CLASSIC = "'range', 'roundrobin', 'sticky', 'cooperative-sticky' for group_protocol 'classic'"
CONSUMER = "'uniform', 'range' for group_protocol 'consumer'"

TOPICS = {"t": 3, "u": 1}
MEMBERS = {"a": ["t", "u"], "b": ["t"]}
JOINED = [(member, None, wire.encode_subscription(Subscription(tuple(topics)))) for member, topics in MEMBERS.items()]

INVALID_NAMES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"assignor": "stream"}, ARGUMENT, f"assignor must be one of {CLASSIC}, not 'stream'"),
    ({"assignor": "Range"}, ARGUMENT, f"assignor must be one of {CLASSIC}, not 'Range'"),
    ({"assignor": LONE}, ARGUMENT, f"assignor must be one of {CLASSIC}, not '\\ud800'"),
    (
        {"assignor": "uniform"},
        ARGUMENT,
        f"assignor must be one of {CLASSIC}, not 'uniform'; 'uniform' is an assignor of group_protocol 'consumer'",
    ),
    (
        {"assignor": "uniform", "group_protocol": "share"},
        ARGUMENT,
        "assignor must be one of 'simple' for group_protocol 'share', not 'uniform'; "
        "'uniform' is an assignor of group_protocol 'consumer'",
    ),
    (
        {"assignor": "sticky", "group_protocol": "consumer"},
        ARGUMENT,
        f"assignor must be one of {CONSUMER}, not 'sticky'; 'sticky' is an assignor of group_protocol 'classic'",
    ),
    ({"assignor": 3}, TYPE, "assignor must be a name such as 'range', or None, not int: 3"),
    (
        {"group_protocol": "KIP-848"},
        ARGUMENT,
        "group_protocol must be one of 'classic', 'consumer', 'share', not 'KIP-848'",
    ),
    ({"group_protocol": None}, NULL, "group_protocol must be a str, not None"),
    ({"group_protocol": b"classic"}, TYPE, "group_protocol must be a str, not bytes: b'classic'"),
]


def error_of(call: Callable[[], object]) -> tuple[type[BaseException], str]:
    """Return class and message of the error of a call."""
    with pytest.raises(errors.AssignorError) as raised:
        call()
    return type(raised.value), str(raised.value)


@pytest.mark.parametrize(("options", "error", "message"), INVALID_NAMES)
def test_invalid_assignors_and_protocols_are_rejected(
    options: dict[str, Any], error: type[Exception], message: str, engine: Engine
) -> None:
    group = Group(TOPICS, MEMBERS)

    assert (error, message) == error_of(lambda: assign(TOPICS, MEMBERS, engine=engine, **options))
    assert (error, message) == error_of(lambda: plan(TOPICS, MEMBERS, engine=engine, **options))
    assert (error, message) == error_of(lambda: group.assign(**options))
    assert (error, message) == error_of(lambda: group.plan(**options))


ID = uuid.UUID("0f3b8d5a-1c2e-4f60-9a7b-c8d9e0f1a2b3")
TEXT = "DzuNWhwuT2Cae8jZ4PGisw"  # as org.apache.kafka.common.Uuid prints ID

INVALID_IDS: list[tuple[Any, type[Exception], str]] = [
    (7, TYPE, "topic_ids must be a mapping of topic names to ids, not int: 7"),
    ([("t", ID)], TYPE, f"topic_ids must be a mapping of topic names to ids, not list: [('t', {ID!r})]"),
    ({7: ID}, TYPE, "topic_ids: a topic name must be a str, not int: 7"),
    ({LONE: ID}, ARGUMENT, "topic_ids: a topic name has a lone surrogate, which UTF-8 cannot encode: '\\ud800'"),
    ({"t": None}, NULL, "topic_ids['t'] must be a uuid.UUID, 16 bytes or a str, not None"),
    ({"t": ID.int}, TYPE, f"topic_ids['t'] must be a uuid.UUID, 16 bytes or a str, not int: {ID.int}"),
    ({"t": bytes(15)}, ARGUMENT, f"topic_ids['t'] = {bytes(15)!r}: an id has 16 bytes, not 15"),
    ({"t": ID, "u": ID}, ARGUMENT, f"topic_ids gives 't' and 'u' the same id: {TEXT}"),
    ({"t": ID, "no topic": ID.bytes}, ARGUMENT, f"topic_ids gives 't' and 'no topic' the same id: {TEXT}"),
    ({"t": TEXT, "u": str(ID)}, ARGUMENT, f"topic_ids gives 't' and 'u' the same id: {TEXT}"),
    *(
        (
            {"t": text},
            ARGUMENT,
            f"topic_ids['t'] = {text!r}: an id as text has 22 characters of URL-safe base64, "
            "or the form of str(uuid.UUID)",
        )
        for text in ("", TEXT[1:], TEXT + "==", "+" + TEXT[1:], "é" * 11, ID.hex, f"{{{ID}}}", f"+{str(ID)[1:]}", LONE)
    ),
]


@pytest.mark.parametrize(("ids", "error", "message"), INVALID_IDS)
def test_invalid_topic_ids_are_rejected(ids: Any, error: type[Exception], message: str, engine: Engine) -> None:
    assert (error, message) == error_of(lambda: assign(TOPICS, MEMBERS, topic_ids=ids, engine=engine))
    assert (error, message) == error_of(lambda: plan(TOPICS, MEMBERS, topic_ids=ids, engine=engine))
    assert (error, message) == error_of(lambda: Group(TOPICS, MEMBERS, topic_ids=ids))
    assert (error, message) == error_of(lambda: Group.from_wire(TOPICS, JOINED, topic_ids=ids))


@pytest.mark.parametrize("id", [ID, ID.bytes, TEXT, str(ID), str(ID).upper()], ids=repr)
def test_all_forms_of_an_id_are_the_same_id(id: Any) -> None:
    assert (ARGUMENT, f"topic_ids gives 't' and 'u' the same id: {TEXT}") == error_of(
        lambda: Group(TOPICS, MEMBERS, topic_ids={"t": id, "u": ID})
    )


def test_ids_of_missing_topics_are_accepted(engine: Engine) -> None:
    ids = Changing({"gone": ID, "t": bytes(16)})

    assert assign(TOPICS, MEMBERS) == assign(TOPICS, MEMBERS, topic_ids=ids, engine=engine)


def test_without_an_assignor_the_default_of_the_protocol_computes_the_plan() -> None:
    group = Group(TOPICS, MEMBERS)

    assert ("range", "classic") == (group.plan().assignor, group.plan().group_protocol)
    assert ("uniform", "consumer") == (
        group.plan(group_protocol="consumer").assignor,
        group.plan(group_protocol="consumer").group_protocol,
    )


@pytest.mark.parametrize(
    ("assignor", "protocol"),
    [
        *(("range", "classic"), ("roundrobin", "classic"), ("sticky", "classic"), ("cooperative-sticky", "classic")),
        *(("uniform", "consumer"), ("range", "consumer")),
    ],
)
def test_the_json_of_a_plan_has_its_assignor(assignor: AssignorName, protocol: GroupProtocol) -> None:
    found = plan(TOPICS, MEMBERS, assignor=assignor, group_protocol=protocol)

    back = Plan.from_json(found.to_json())

    assert (assignor, protocol) == (found.assignor, found.group_protocol)
    assert (assignor, protocol) == (back.assignor, back.group_protocol)
    assert found == back


def test_json_with_an_unknown_assignor_is_rejected() -> None:
    text = plan(TOPICS, MEMBERS, assignor="sticky").to_json()

    assert (ARGUMENT, f"assignor must be one of {CLASSIC}, not 'stream'") == error_of(
        lambda: Plan.from_json(text.replace('"sticky"', '"stream"'))
    )
    assert (ARGUMENT, "assignor must be a string, not 7") == error_of(
        lambda: Plan.from_json(text.replace('"sticky"', "7"))
    )


def test_the_size_of_the_group_record_counts_the_name_of_the_assignor() -> None:
    sizes = {
        assignor: plan({}, {"a": ["t"]}, assignor=assignor).group_metadata_size("g")
        for assignor in ("range", "roundrobin", "cooperative-sticky")
    }

    assert sizes["roundrobin"] == sizes["range"] + len("roundrobin") - len("range")
    assert sizes["cooperative-sticky"] == sizes["range"] + len("cooperative-sticky") - len("range")


def test_a_plan_of_the_consumer_protocol_has_no_group_record() -> None:
    message = (
        "the plan is of assignor 'uniform' of group_protocol 'consumer': "
        "only a group of group_protocol 'classic' has a GROUP_METADATA record"
    )
    found = plan(TOPICS, MEMBERS, group_protocol="consumer")

    assert (errors.IllegalStateError, message) == error_of(lambda: found.group_metadata_size("g"))


@pytest.mark.parametrize(
    ("assignor", "protocol"),
    [
        *(("roundrobin", "classic"), ("sticky", "classic"), ("cooperative-sticky", "classic")),
        *(("uniform", "consumer"), ("range", "consumer")),
    ],
)
def test_groups_with_too_many_partitions_are_rejected(assignor: AssignorName, protocol: GroupProtocol) -> None:
    topics, members = {"t": 2**31 - 1, "u": 2**31 - 1}, {"a": ["t"]}
    message = (
        f"the topics have 4294967294 partitions; the limit of assignor '{assignor}' of group_protocol '{protocol}' "
        "is 268435456"
    )

    for call in (
        lambda: assign(topics, members, assignor=assignor, group_protocol=protocol),
        lambda: plan(topics, members, assignor=assignor, group_protocol=protocol),
        lambda: Group(topics, members).plan(assignor=assignor, group_protocol=protocol),
        lambda: Group(topics, members).assign(assignor=assignor, group_protocol=protocol),
    ):
        assert (ARGUMENT, message) == error_of(call)
    assert [2**31 - 1] == plan(topics, members).counts().tolist()
