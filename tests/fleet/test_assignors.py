"""`Clusters`: groups that cannot be computed, invalid topic ids, and groups that are too large for their assignor."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fleet.columns import Row, ask, cluster, clusters, group, groups, member, outcome_of

NOT_COMPUTED = {
    "not Kafka's": (
        [{"assignor": "own"}] * 2,
        "assignor 'own' of group_protocol 'classic' is not supported; "
        "supported: 'cooperative-sticky', 'range', 'roundrobin', 'sticky'",
    ),
    "of the other protocol": (
        [{"assignor": "sticky", "group_protocol": "consumer"}] * 2,
        "assignor 'sticky' of group_protocol 'consumer' is not supported; supported: 'range', 'uniform'",
    ),
    "another protocol": (
        [{"group_protocol": "streams"}] * 2,
        "group_protocol 'streams' is not supported; supported: 'classic', 'consumer', 'share'",
    ),
    "different assignors": (
        [{"assignor": "sticky"}, {"assignor": "range"}],
        "members of the group have different values of assignor: 'range', 'sticky'",
    ),
    "two protocols": (
        [{"group_protocol": "consumer"}, {"group_protocol": "classic"}],
        "members of the group have different values of group_protocol: 'classic', 'consumer'",
    ),
}


def named(id: str, *topics: str, protocol: str = "classic", assignor: str = "sticky", **columns: Any) -> Row:
    """Return a member whose row names an assignor."""
    return member(id, *topics, assignor=assignor, group_protocol=protocol, **columns)


@pytest.mark.parametrize(("names", "reason"), NOT_COMPUTED.values(), ids=NOT_COMPUTED)
def test_a_group_that_cannot_be_computed_has_a_reason(names: list[Row], reason: str) -> None:
    asked = group(*(member(id, "t", **row) for id, row in zip("ab", names, strict=True)))

    assert [[reason]] == ask("problems", [cluster({"t": 6})], [asked])


# ---- topic ids


def with_ids(**ids: str | None) -> Row:
    known = cluster({"t": 5, "u": 2, "v": 5})
    return {**known, "topics": [{**row, "topic_id": ids.get(row["topic"])} for row in known["topics"]]}


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ({"u": "short"}, "topic 'u': topic_id 'short' must have Kafka's form: 22 characters of URL-safe base64"),
        (
            {"t": "AAAAAAAAAAAAAAAAAAAADw", "v": "AAAAAAAAAAAAAAAAAAAADw"},
            "topic 'v': topic 't' has the same topic_id 'AAAAAAAAAAAAAAAAAAAADw'",
        ),
    ],
)
def test_an_invalid_topic_id_is_named(ids: dict[str, str], message: str) -> None:
    found = outcome_of("assign", clusters(with_ids(**ids)), groups(group(member("a", "t"))))

    assert ("IllegalArgumentError", f"cluster 'c', {message}") == found


def test_a_group_that_is_too_large_for_its_assignor_is_named() -> None:
    known = clusters(cluster({"t": 2**28, "u": 1}))

    found = outcome_of("assign", known, groups(group(named("a", "t", "u", assignor="roundrobin"))))
    by_range = outcome_of("assign", known, groups(group(named("a", "t", "u", assignor="range"))))

    limit = f"the limit of assignor 'roundrobin' of group_protocol 'classic' is {2**28}"
    message = f"group 'g' of cluster 'c': the topics have {2**28 + 1} partitions; {limit}"
    assert ("IllegalArgumentError", message) == found
    assert [[("t", 2**28), ("u", 1)]] == [[(row["topic"], row["count"]) for row in each] for each in by_range.answer]
