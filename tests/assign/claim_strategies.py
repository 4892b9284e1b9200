"""Hypothesis strategies for groups with claims: owned partitions, their generations, and user data of sticky."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from hypothesis import strategies as st

from assignor import Subscription, TopicPartition
from tests.assign.simulated_groups import sticky_user_data
from tests.support import strategies
from tests.support.assignment_rules import ids_of


class Group(NamedTuple):
    """Arguments of `assign`: topics, members, and the keyword arguments beside the assignor."""

    topics: dict[str, Any]
    members: dict[str, Subscription]
    options: dict[str, Any]


def as_subscription(given: Any) -> Subscription:
    """Return a member of the drawn groups as a `Subscription`."""
    return given if isinstance(given, Subscription) else Subscription(tuple(given))


@st.composite
def claims(draw: st.DrawFn, topics: dict[str, Any]) -> dict[str, Any]:
    """Draw the owned partitions of a member; some of them do not exist."""
    existing = [(topic, id) for topic, partitions in topics.items() for id in ids_of(partitions)]
    odd = [("gone", 0), *((topic, 99) for topic in topics)]
    pool = st.sampled_from([*existing, *existing, *odd])
    owned = draw(st.lists(pool, max_size=8, unique=draw(st.booleans())))
    generation = draw(st.sampled_from([None, -1, 0, 1, 2, 2, 2]))
    data = draw(st.sampled_from([None, None, "own", "own", "empty", "bytes"]))
    user_data: bytes | None = None
    match data:
        case "own":
            user_data = sticky_user_data([list(entry) for entry in owned], draw(st.sampled_from([None, 0, 1, 2, 2, 2])))
        case "empty":
            user_data = b""
        case "bytes":
            user_data = draw(st.binary(max_size=12))
    partitions = tuple(TopicPartition(*entry) for entry in owned)
    return {"owned_partitions": partitions, "generation": generation, "user_data": user_data}


@st.composite
def groups_with_claims(draw: st.DrawFn, *, equal_instance_ids: bool = True) -> Group:
    """Draw a valid group whose members claim arbitrary partitions."""
    group = draw(strategies.groups(equal_instance_ids=equal_instance_ids))
    members = {
        member: dataclasses.replace(as_subscription(given), **draw(claims(group.topics)))
        for member, given in group.members.items()
    }
    return Group(group.topics, members, {"prefer_rack_aware": group.prefer_rack_aware})
