"""Fleets with invalid topics and groups: all other groups have the answers that they have alone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from assignor import _core, errors
from assignor.migration import BrokerSettings
from tests.fleet.columns import CURRENT as CURRENT_ROWS
from tests.fleet.columns import MEMBERS, Row, answer, cluster, clusters, group, groups, member, without_weights
from tests.fleet.columns import TOPICS as TOPIC_ROWS

CURRENT = [("a", "t", 0, 3)]
VALID = [
    group(member("a", "t"), member("b", "t", "u"), id="range", current=CURRENT),
    group(member("a", "t", assignor="sticky"), member("b", "t", assignor="sticky"), id="sticky", current=CURRENT),
    group(id="empty"),
    group(member("a", "t", assignor="stream"), id="not computed"),
]
INVALID = {
    "twice": (group(member("a", "t"), member("a", "u")), "member 'a' is given twice"),
    "null": (group(member("a", "t"), {"member_id": "b", "topics": [None]}), "member 'b': a subscribed topic is null"),
    "pattern": (group(member("a", pattern="(")), "member 'a': java pattern '(', position 0: "),
    "dialect": (group(member("a", pattern="t", dialect="perl")), "member 'a': dialect must be one of "),
    "topic": (group(member("a", "t"), member("b", "bad")), "topic 'bad': the topic is given twice"),
    "matched": (group(member("a", pattern="b.*")), "topic 'bad': the topic is given twice"),
    "span": (
        group(member("a", "t", assignor="sticky"), current=[("a", "t", -1, 2)]),
        "member 'a': start -1 and count 2 of topic 't' are not a range of partition ids",
    ),
}
"""Groups by id, each with the beginning of its reason."""

GOOD = cluster({"t": 5, "u": 2})
TOPICS = {"cluster": "c", "topics": [*GOOD["topics"], *2 * cluster({"bad": 3})["topics"]]}
SCENARIOS = [("more", None, [("add_members", 2)])]
VERBS: dict[str, tuple[Any, ...]] = {
    "migrate": (BrokerSettings().rules(),),
    "resolve": (),
    "assign": (),
    "balance": (),
    "current_balance": (),
    "moves": (),
    "what_if": (SCENARIOS,),
    "scale": (),
    "assign_after": (SCENARIOS,),
}


def named(id: str) -> Row:
    """Return an invalid group with its id."""
    return {**INVALID[id][0], "group_id": id}


def answers(verb: str, known: Row, asked: list[Row], *arguments: Any, **options: Any) -> list[Any]:
    """Return the answer of each group, where invalid ones are left out."""
    lenient = _core.Clusters(clusters(known), leave_out_invalid=True)
    found = getattr(lenient, verb)(groups(*asked), *(arguments or VERBS.get(verb, ())), **options)
    return without_weights(pa.concat_arrays([pa.array(column) for column in found]).to_pylist())


@pytest.mark.parametrize("id", INVALID)
@pytest.mark.parametrize("verb", VERBS)
def test_an_invalid_group_has_no_answer_and_the_others_have_theirs(verb: str, id: str) -> None:
    asked = [*VALID[:2], named(id), *VALID[2:]]
    alone = without_weights(answer(verb, clusters(GOOD), groups(*VALID), *VERBS[verb]).to_pylist())

    assert (
        [*alone[:2], None, *alone[2:]] == answers(verb, TOPICS, asked) == answers(verb, TOPICS, asked, column_bytes=1)
    )
    assert [None, None] == answers(verb, TOPICS, [named(id), named(id)])


@pytest.mark.parametrize("id", INVALID)
@pytest.mark.parametrize("verb", VERBS)
def test_without_the_mode_an_invalid_group_or_topic_is_an_error(verb: str, id: str) -> None:
    known = TOPICS if id in ("topic", "matched") else GOOD

    with pytest.raises(errors.AssignorError):
        answer(verb, clusters(known), groups(*VALID, named(id)), *VERBS[verb])


def test_problems_have_the_reason_of_each_invalid_group() -> None:
    found = answers("problems", TOPICS, [*VALID, *map(named, INVALID)])

    assert [[], [], []] == found[:3]
    assert "assignor 'stream' of group_protocol 'classic' is not supported" in found[3][0]
    for [reason], (id, (_, expected)) in zip(found[4:], INVALID.items(), strict=True):
        assert reason.startswith(f"group '{id}' of cluster 'c': {expected}")


def test_problems_have_each_reason_of_a_group() -> None:
    asked = group(
        *(member("a", "t"), member("a", "bad"), member("a", "u"), member("b", pattern="("), member("c", pattern=")")),
        *({"member_id": "d", "topics": [None]}, member("e", "t", assignor="stream")),
        current=[("a", "t", -1, 2), ("f", "t", 0, 0), ("g", "t", 0, 1)],
    )

    [found] = answers("problems", TOPICS, [asked])

    expected = [
        "member 'a' is given twice",
        "member 'a': start -1 and count 2 of topic 't' are not a range of partition ids",
        "member 'b': java pattern '(', position 0: ",
        "member 'c': java pattern ')', position 0: ",
        "member 'd': a subscribed topic is null",
        "member 'f': start 0 and count 0 of topic 't' are not a range of partition ids",
        "topic 'bad': the topic is given twice",
    ]
    *others, unsupported = sorted(found, key=lambda reason: not reason.startswith("group"))
    assert "assignor 'stream' of group_protocol 'classic' is not supported" in unsupported
    assert len(expected) == len(others)
    for reason, text in zip(others, expected, strict=True):
        assert reason.startswith(f"group 'g' of cluster 'c': {text}")


def test_partitions_that_a_member_owns_twice_are_a_problem_and_count_once() -> None:
    runs = [("a", "t", 0, 3), ("a", "t", 1, 1), ("a", "t", 2, 3), ("a", "t", 5, 1), ("b", "t", 0, 3), ("a", "u", 0, 1)]
    asked = group(member("a", "t", "u"), current=runs)

    [found] = answers("problems", GOOD, [asked])

    assert [
        f"group 'g' of cluster 'c': member 'a': current has partitions {first} to {last} of topic 't' twice"
        for first, last in ((1, 1), (2, 2))
    ] == found
    # 0 to 4 of topic t, whose first three member b has, too, and one of topic u; t has 5 partitions.
    assert 6 == answers("current_balance", GOOD, [asked])[0]["partitions"]
    assert [] == answers("problems", GOOD, [group(member("a", "t"), current=[("a", "t", 0, 3), ("a", "t", 3, 2)])])[0]


@pytest.mark.parametrize("later", [False, True])
def test_a_pattern_that_reaches_an_invalid_topic_after_the_switch_has_no_answer(later: bool) -> None:
    # librdkafka does not match internal topics, and the broker does.
    internal = cluster({"__consumer_offsets": 3})["topics"]
    known = {"cluster": "c", "topics": [*GOOD["topics"], *internal]}
    asked = group(member("a", "^t.*", "^__.*", dialect="librdkafka"))
    rules = BrokerSettings().rules()

    [[found]] = answers("migrate", known, [asked], rules, later=later)
    assert [["__consumer_offsets"]] == [change["gained"] for change in found["pattern_changes"]]
    invalid = {"cluster": "c", "topics": [*known["topics"], *internal]}
    assert [None] == answers("migrate", invalid, [asked], rules, later=later)
    assert [None] != answers("assign", invalid, [asked])


def test_rows_that_cannot_be_read_have_their_reason() -> None:
    kind = pa.struct([*MEMBERS, ("unreadable", pa.string())])
    owner = pa.struct([*CURRENT_ROWS, ("unreadable", pa.string())])
    members = [{"member_id": "a", "topics": ["t"], "unreadable": "why"}, {"member_id": "b", "topics": ["t"]}]
    current = [{"member_id": "c", "topic": "t", "start": 0, "count": 1, "unreadable": "too"}]
    rows = [{"cluster": "c", "group_id": "g", "members": members, "current": current}]
    types = [("cluster", pa.string()), ("group_id", pa.string())]
    asked = pa.array(rows, pa.struct([*types, ("members", pa.list_(kind)), ("current", pa.list_(owner))]))
    topic = pa.struct([*TOPIC_ROWS, ("unreadable", pa.string())])
    known = pa.array(
        [[{"cluster": "c", "topics": [{"topic": "t", "partitions": 1}, {"topic": "u", "unreadable": "u"}]}]],
        pa.list_(pa.struct([("cluster", pa.string()), ("topics", pa.list_(topic))])),
    )
    lenient = _core.Clusters(known, leave_out_invalid=True)

    assert [("c", "u", "partitions must be 0 or more, not null"), ("c", "u", "u")] == lenient.invalid_topics()
    [found] = map(pa.array, lenient.problems(asked))
    prefix = "group 'g' of cluster 'c': member"
    assert [[f"{prefix} 'a': why", f"{prefix} 'c': too"]] == found.to_pylist()
    assert [None] == pa.array(lenient.assign(asked)[0]).to_pylist()
    with pytest.raises(errors.IllegalArgumentError, match=r"cluster 'c', topic 'u': u$"):
        _core.Clusters(known)


TWICE = f"has the same topic_id '{22 * 'A'}'"


@pytest.mark.parametrize(
    ("rows", "reasons"),
    [
        ([("t", -1, None, None)], ["partitions must be 0 or more, not -1"]),
        ([("t", None, None, None)], ["partitions must be 0 or more, not null"]),
        ([("t", 2, [["x"]], None)], ["racks are given for 1 partitions, but the topic has 2"]),
        ([("t", 2, None, None), ("t", 3, None, None)], ["the topic is given twice"]),
        ([("t", 2, None, "id")], ["topic_id 'id' must have Kafka's form: 22 characters of URL-safe base64"]),
        ([("s", 1, None, 22 * "A"), ("t", 2, None, 22 * "A")], [f"topic 't' {TWICE}", f"topic 's' {TWICE}"]),
        ([("t", 2, None, 22 * "A"), ("s", 1, None, 22 * "A")], [f"topic 't' {TWICE}", f"topic 's' {TWICE}"]),
    ],
)
def test_an_invalid_topic_spoils_only_the_groups_that_subscribe_to_it(
    rows: list[tuple[Any, ...]], reasons: list[str]
) -> None:
    names = ("topic", "partitions", "racks", "topic_id")
    known = [dict(zip(names, row, strict=True)) for row in [*rows, ("u", 2, None, 21 * "B" + "A")]]
    lenient = _core.Clusters(clusters({"cluster": "c", "topics": known}), leave_out_invalid=True)
    asked = groups(group(member("a", "t", "u"), id="uses"), group(member("a", "u"), id="other"))

    expected = [("c", name, reason) for name, reason in zip(("s", "t")[-len(reasons) :], reasons, strict=True)]
    assert expected == lenient.invalid_topics()
    [found] = map(pa.array, lenient.assign(asked))
    assert [None, [{"member_id": "a", "topic": "u", "start": 0, "count": 2}]] == found.to_pylist()


def test_invalid_weights_are_a_reason() -> None:
    kind = pa.struct([("topic", pa.string()), ("partitions", pa.int32()), ("weights", pa.list_(pa.float64()))])
    rows = [{"topic": "t", "partitions": 1, "weights": [-1.0]}, {"topic": "u", "partitions": 2, "weights": [1.0]}]
    column = pa.array(
        [[{"cluster": "c", "topics": rows}]],
        pa.list_(pa.struct([("cluster", pa.string()), ("topics", pa.list_(kind))])),
    )

    assert [
        ("c", "t", "weights[0] must be a number >= 0, got -1"),
        ("c", "u", "weights are given for 1 partitions, but the topic has 2"),
    ] == _core.Clusters(column, leave_out_invalid=True).invalid_topics()


def test_a_scenario_that_reaches_an_invalid_topic_has_no_outcome() -> None:
    reaching = [*SCENARIOS, ("bad", None, [("add_topic", "bad", 4)])]

    assert [None] == answers("what_if", TOPICS, [VALID[0]], reaching)
    assert [None] == answers("assign_after", TOPICS, [VALID[0]], reaching[1:])
    assert 2 == len(answers("what_if", GOOD, [VALID[0]], reaching)[0])


def test_owned_partitions_of_an_invalid_topic_have_no_balance() -> None:
    owner = group(member("a", "t"), current=[("a", "bad", 0, 2)])

    assert [None] == answers("current_balance", TOPICS, [owner])
    assert [None] != answers("balance", TOPICS, [owner])


def test_a_wrong_span_is_a_problem_also_if_the_assignor_does_not_read_it() -> None:
    asked = group(member("a", "t"), current=[("a", "t", 5, 0)])

    assert [None] == answers("moves", GOOD, [asked])
    assert [None] != answers("assign", GOOD, [asked])
    [[reason]] = answers("problems", GOOD, [asked])
    assert reason.endswith("member 'a': start 5 and count 0 of topic 't' are not a range of partition ids")


def test_the_mode_hides_no_answer_that_is_too_large() -> None:
    many: list[Any] = [("many", None, [("multiply_partitions", 2**31 - 1)])]
    huge = cluster({"t": 2**31 - 1})
    sticky = group(member("a", "t", assignor="sticky"))

    with pytest.raises(errors.IllegalArgumentError, match=r"^group 'range' of cluster 'c': scenario 'many': "):
        answers("what_if", GOOD, [VALID[0]], many)
    for verb in ("assign", "balance", "scale", "what_if"):
        with pytest.raises(errors.IllegalArgumentError, match=r"^group 'g' of cluster 'c': .*partitions"):
            answers(verb, huge, [sticky])
