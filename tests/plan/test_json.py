"""Plans as JSON and as pickles: they round-trip, and errors of invalid JSON name the place."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import Diff, PartitionInfo, Plan, Subscription, TopicPartition, errors, plan
from tests.support.engines import ENGINES, Engine
from tests.support.strategies import Group, groups

MEMBERS: dict[str, Any] = {
    "b": Subscription(("u", "t", "gone"), group_instance_id="i", rack="r1", user_data=b"xyz"),
    "a": Subscription(("t", "u"), owned_partitions=(TopicPartition("t", 1),), generation=4),
    "c": ["u", "t"],
    "idle": [],
}
TOPICS: dict[str, Any] = {"u": [0, 1, 4, 9], "t": [PartitionInfo(0, ("r0",)), PartitionInfo(1, ("r1",))]}

TEXT = (
    '{"topics":["t","u"],'
    '"subscriptions":[["gone","t","u"],["t","u"],[]],'
    '"members":[{"member_id":"b","subscription":0,"group_instance_id":"i","user_data":3,"rack":2},'
    '{"member_id":"a","subscription":1,"owned_partitions":11},'
    '{"member_id":"c","subscription":1},{"member_id":"idle","subscription":2}],'
    '"spans":{"member":[0,0,1,1,2],"topic":[0,1,0,1,1],"start":[1,0,0,4,9],"count":[1,2,1,1,1]}}'
)


@pytest.fixture
def found(engine: Engine) -> Plan:
    """Return the plan of `TEXT`."""
    return plan(TOPICS, MEMBERS, engine=engine)


def all_results(found: Plan) -> list[object]:
    """Return the results of all methods of a plan."""
    return [
        found.members,
        found.topics,
        dict(found),
        [column.tolist() for column in found.spans()],
        found.counts().tolist(),
        found.balance(),
        found.encode(),
        [found.group_metadata_size("g", versions=version) for version in range(4)],
        found.to_json(),
        repr(found),
    ]


def test_the_json_of_a_plan_is_as_documented(found: Plan) -> None:
    assert TEXT == found.to_json()


def test_a_plan_from_json_equals_the_original(found: Plan) -> None:
    for text in (TEXT, TEXT.encode(), bytearray(TEXT.encode()), TEXT.encode("utf-16"), json.dumps(json.loads(TEXT))):
        back = Plan.from_json(text)  # type: ignore[arg-type]  # a bytearray is accepted

        assert all_results(found) == all_results(back)
        assert found == back
        assert Diff({}, {}, 0) == found.diff(back)


@given(group=groups(equal_instance_ids=True))
def test_plans_round_trip_and_both_engines_write_the_same_json(group: Group) -> None:
    plans = [
        plan(group.topics, group.members, prefer_rack_aware=group.prefer_rack_aware, engine=engine)
        for engine in ENGINES
    ]
    answers = [all_results(each) for each in plans]

    assert answers[0] == answers[1]
    assert plans[0] == plans[1]
    for each in plans:
        assert answers[0] == all_results(Plan.from_json(each.to_json()))
        assert answers[0] == all_results(pickle.loads(pickle.dumps(each)))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_plan_can_be_pickled(found: Plan, protocol: int) -> None:
    assert all_results(found) == all_results(pickle.loads(pickle.dumps(found, protocol)))


def test_a_plan_can_be_copied(found: Plan) -> None:
    assert all_results(found) == all_results(copy.copy(found))
    assert all_results(found) == all_results(copy.deepcopy(found))


def test_unknown_keys_are_ignored(found: Plan) -> None:
    assert found == Plan.from_json(TEXT[:-1] + ',"more":[null]}')


# ---- invalid JSON


def changed(**parts: Any) -> str:
    """Return the JSON with other parts; parts that are ... are left out."""
    known = json.loads(TEXT) | parts
    return json.dumps({name: part for name, part in known.items() if part is not ...})


def with_member(**fields: Any) -> str:
    """Return the JSON with other fields of the second member; fields that are ... are left out."""
    members = json.loads(TEXT)["members"]
    members[1] = {name: value for name, value in (members[1] | fields).items() if value is not ...}
    return changed(members=members)


def with_spans(*rows: tuple[int, int, int, int], **columns: Any) -> str:
    """Return the JSON with other spans, given as rows or as columns."""
    names = ("member", "topic", "start", "count")
    given = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) if rows else json.loads(TEXT)["spans"]
    return changed(spans={name: value for name, value in (given | columns).items() if value is not ...})


NUMBER = "must be an integer from 0 to 2147483647, not"

WRONG = [
    ("", "invalid JSON: Expecting value"),
    ("{", "invalid JSON: "),
    (b"\xff", "invalid JSON: 'utf-8' codec can't decode byte 0xff"),
    ("[" * 100_000, "invalid JSON: "),
    ("9" * 5_000, "invalid JSON: Exceeds the limit"),
    ("null", "the plan must be an object, not None"),
    ("[]", "the plan must be an object, not []"),
    ("NaN", "the plan must be an object, not nan"),
    (changed(topics=...), "topics must be an array, not None"),
    (changed(topics="t"), "topics must be an array, not 't'"),
    (changed(topics={}), "topics must be an array, not {}"),
    (changed(topics=["t", 7]), "topics[1] must be a string, not 7"),
    (changed(topics=["t", None]), "topics[1] must be a string, not None"),
    (changed(topics=["t", "\ud800"]), "topics[1] has a lone surrogate, which UTF-8 cannot encode: '\\ud800'"),
    (changed(topics=["u", "t"]), "topics[1] = 't': must come after 'u' in Java's order"),
    (changed(topics=["t", "t"]), "topics[1] = 't': must come after 't' in Java's order"),
    (changed(topics=["t", "～", "😀"]), "topics[2] = '😀': must come after '～' in Java's order"),
    (changed(subscriptions=...), "subscriptions must be an array, not None"),
    (changed(subscriptions=[[], {}]), "subscriptions[1] must be an array, not {}"),
    (changed(subscriptions=[[], ["t", 7]]), "subscriptions[1][1] must be a string, not 7"),
    (changed(subscriptions=[["\udfff"]]), "subscriptions[0][0] has a lone surrogate"),
    (changed(subscriptions=[]), "member 'b': there is no subscription 0"),
    (changed(members=...), "members must be an array, not None"),
    (changed(members={}), "members must be an array, not {}"),
    (changed(members=[7]), "members[0] must be an object, not 7"),
    (changed(members=[]), "span 0: member index 0 is out of range: the number of members is 0"),
    (with_member(member_id=...), "members[1].member_id must be a string, not None"),
    (with_member(member_id=7), "members[1].member_id must be a string, not 7"),
    (with_member(member_id="\ud800"), "members[1].member_id has a lone surrogate"),
    (with_member(member_id="b"), "the plan has 'b' twice"),
    (with_member(subscription=...), f"members[1].subscription {NUMBER} None"),
    (with_member(subscription=-1), f"members[1].subscription {NUMBER} -1"),
    (with_member(subscription=1.0), f"members[1].subscription {NUMBER} 1.0"),
    (with_member(subscription=True), f"members[1].subscription {NUMBER} True"),
    (with_member(subscription=2**31), f"members[1].subscription {NUMBER} 2147483648"),
    (with_member(subscription=3), "member 'a': there is no subscription 3"),
    (with_member(group_instance_id=7), "members[1].group_instance_id must be a string, not 7"),
    (with_member(group_instance_id="\ud800"), "members[1].group_instance_id has a lone surrogate"),
    (with_member(user_data="x"), f"members[1].user_data {NUMBER} 'x'"),
    (with_member(owned_partitions=-1), f"members[1].owned_partitions {NUMBER} -1"),
    (with_member(rack=None), f"members[1].rack {NUMBER} None"),
    (changed(spans=...), "spans must be an object, not None"),
    (changed(spans=[]), "spans must be an object, not []"),
    (with_spans(member=...), "spans.member must be an array, not None"),
    (with_spans(count=7), "spans.count must be an array, not 7"),
    (with_spans(topic=[0, 1, 0, 1, "1"]), f"spans.topic[4] {NUMBER} '1'"),
    (with_spans(start=[-1, 0, 0, 4, 9]), f"spans.start[0] {NUMBER} -1"),
    (with_spans(start=[1, 10**30, 0, 4, 9]), f"spans.start[1] {NUMBER} 1{'0' * 30}"),
    (with_spans(count=[1, 2, 1, 1]), "spans.count must have 5 entries, as spans.member has, not 4"),
    (with_spans(member=[]), "spans.topic must have 0 entries, as spans.member has, not 5"),
    (with_spans((0, 0, 0, 1), (4, 0, 1, 1)), "span 1: member index 4 is out of range: the number of members is 4"),
    (with_spans((0, 2, 0, 1)), "span 0: topic index 2 is out of range: the number of topics is 2"),
    (with_spans((0, 0, 0, 0)), "span 0: start 0 and count 0 are not a range of partition ids"),
    (with_spans((0, 0, 2, 2**31 - 1)), "span 0: start 2 and count 2147483647 are not a range of partition ids"),
    (
        with_spans((0, 0, 0, 2**31 - 1), (0, 0, 2**31 - 1, 1)),
        "span 1: a member has more partitions of a topic than an int32 can hold",
    ),
    (with_spans((1, 0, 0, 1), (0, 0, 1, 1)), "span 1: spans must be ordered by member"),
    (with_spans((0, 1, 0, 1), (0, 0, 0, 1)), "span 1: the spans of a member must be ordered by topic and id and must"),
    (with_spans((0, 0, 0, 2), (0, 0, 1, 2)), "span 1: the spans of a member must be ordered by topic and id and must"),
    (with_spans((0, 0, 4, 2), (1, 0, 0, 5)), "span 1: partition 4 of topic 't' already has an owner"),
    (with_spans((3, 0, 0, 1)), "span 0: member 'idle' does not subscribe to topic 't'"),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_errors_name_the_place_in_the_json(text: str | bytes, message: str) -> None:
    with pytest.raises(errors.IllegalArgumentError) as raised:
        Plan.from_json(text)

    assert errors.IllegalArgumentError is type(raised.value)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(("text", "error"), [(None, errors.NullArgumentError), (7, errors.WrongTypeError)])
def test_values_that_are_not_text_are_rejected(text: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="text must be str or bytes, not "):
        Plan.from_json(text)


def test_adjacent_spans_are_merged() -> None:
    split = Plan.from_json(with_spans((0, 0, 0, 1), (0, 0, 1, 2), (1, 0, 3, 1)))

    assert [[0, 1], [0, 0], [0, 3], [3, 1]] == [column.tolist() for column in split.spans()]


def read(text: str | bytes) -> bool:
    """Return True if the JSON is a plan with results for all methods, and False if it is rejected."""
    try:
        found = Plan.from_json(text)
    except errors.IllegalArgumentError:
        return False
    assert found.to_json() == Plan.from_json(found.to_json()).to_json()
    assert found == Plan.from_json(found.to_json())
    if found.counts().sum() < 10_000:  # a changed number may be a count of many millions
        all_results(found)
    return True


def leaves(value: Any) -> st.SearchStrategy[Any]:
    """Draw values near the given one, and values of other types."""
    near = (
        [value + 1, value - 1]
        if isinstance(value, int)
        else [[*value, 0], value[:-1]]
        if isinstance(value, list)
        else []
    )
    return st.sampled_from(
        [*near, None, -1, 0, 1, 2, 2**31 - 1, 2**31, 2**64, 0.0, True, "", "t", "\ud800", [], [0], {}]
    )


@st.composite
def altered(draw: st.DrawFn, value: Any) -> Any:
    """Return the value with one part replaced."""
    if isinstance(value, (dict, list)) and value and draw(st.integers(0, 9)):
        place = draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
        found = value.copy()
        found[place] = draw(altered(value[place]))
        return found
    return draw(leaves(value))


@given(group=groups(), data=st.data())
def test_json_with_a_replaced_value_is_a_plan_or_rejected(group: Group, data: Any) -> None:
    known = json.loads(plan(group.topics, group.members).to_json())

    assert read(json.dumps(data.draw(altered(known)))) in {True, False}, "other errors propagate"


@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 4),
            st.integers(0, 2),
            st.sampled_from([0, 1, 2, 3, 2**31 - 2, 2**31 - 1]),
            st.sampled_from([0, 1, 2, 3, 2**31 - 2, 2**31 - 1]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_arbitrary_spans_are_a_plan_or_rejected(rows: list[tuple[int, int, int, int]]) -> None:
    for spans in (rows, sorted(rows)):
        if read(with_spans(*spans)):
            assert len(spans) == len({(topic, start) for _, topic, start, _ in spans})
