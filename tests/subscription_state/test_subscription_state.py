"""The consumer's subscription state: types of subscription, patterns, metadata topics and copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assignor import SubscriptionState
from assignor.errors import (
    IllegalArgumentError,
    IllegalStateError,
)
from assignor.matching import TopicPattern
from assignor.subscription_state import (
    SubscriptionPattern,
    SubscriptionType,
)
from tests.subscription_state.initial_states import EXCLUSIVE, T0, T1, U0

SETTERS: dict[SubscriptionType, Callable[[SubscriptionState], Any]] = {
    SubscriptionType.AUTO_TOPICS: lambda state: state.subscribe(["t"]),
    SubscriptionType.AUTO_PATTERN: lambda state: state.subscribe(TopicPattern("t")),
    SubscriptionType.AUTO_PATTERN_RE2J: lambda state: state.subscribe(SubscriptionPattern("t")),
    SubscriptionType.AUTO_TOPICS_SHARE: lambda state: state.subscribe_to_share_group(["t"]),
    SubscriptionType.USER_ASSIGNED: lambda state: state.assign_from_user([T0]),
}


@pytest.mark.parametrize("first", SETTERS)
@pytest.mark.parametrize("second", SETTERS)
def test_types_exclude_each_other_until_unsubscribe(first: SubscriptionType, second: SubscriptionType) -> None:
    state = SubscriptionState("latest")
    assert SubscriptionType.NONE is state.subscription_type
    SETTERS[first](state)
    assert first is state.subscription_type

    if first is not second:
        with pytest.raises(IllegalStateError, match=EXCLUSIVE):
            SETTERS[second](state)
        assert first is state.subscription_type
        state.unsubscribe()
        assert state.has_no_subscription_or_user_assignment()
    SETTERS[second](state)
    assert second is state.subscription_type


@pytest.mark.parametrize("entered", SETTERS)
def test_a_group_assigns_with_every_type_except_user_assigned(entered: SubscriptionType) -> None:
    state = SubscriptionState("latest")
    SETTERS[entered](state)
    by_group = entered is not SubscriptionType.USER_ASSIGNED

    assert by_group is state.has_auto_assigned_partitions()
    assert (entered is SubscriptionType.AUTO_PATTERN) is state.has_pattern_subscription()
    assert (entered is SubscriptionType.AUTO_PATTERN_RE2J) is state.has_re2j_pattern_subscription()
    if by_group:
        state.group_subscribe(["t"])
        state.assign_from_subscribed([T0])
    else:
        with pytest.raises(IllegalStateError, match=EXCLUSIVE):
            state.group_subscribe(["t"])
        with pytest.raises(IllegalArgumentError, match=r"^Attempt to dynamically assign partitions while manual"):
            state.assign_from_subscribed([T0])


@pytest.mark.parametrize("entered", [SubscriptionType.NONE, *SETTERS])
def test_topics_come_from_a_pattern_only_if_the_client_matches_it(entered: SubscriptionType) -> None:
    state = SubscriptionState("latest")
    if entered is not SubscriptionType.NONE:
        SETTERS[entered](state)

    if entered is SubscriptionType.AUTO_PATTERN:
        assert state.subscribe_from_pattern(["t"])
        assert not state.subscribe_from_pattern(["t"])
    else:
        message = f"^Attempt to subscribe from pattern while subscription type set to {entered.name}$"
        with pytest.raises(IllegalArgumentError, match=message):
            state.subscribe_from_pattern(["t"])


def test_a_pattern_must_match_the_whole_name() -> None:
    state = SubscriptionState("latest")
    state.subscribe(TopicPattern("t|uv"))

    assert [True, False, True] == [state.matches_subscribed_pattern(topic) for topic in ("t", "u", "uv")]
    assert state.check_assignment_matched_subscription([T0])
    assert not state.check_assignment_matched_subscription([T0, U0])


def test_the_client_never_matches_the_brokers_pattern() -> None:
    state = SubscriptionState("latest")
    state.subscribe(SubscriptionPattern("t"))

    assert SubscriptionPattern("t") == state.subscription_pattern()
    assert not state.matches_subscribed_pattern("t")
    assert not state.check_assignment_matched_subscription([T0])
    assert not state.is_assigned_from_re2j("id")
    state.set_assigned_topic_ids(["id"])
    assert state.is_assigned_from_re2j("id")
    assert {"id"} == state.assigned_topic_ids()
    state.unsubscribe()
    assert not state.is_assigned_from_re2j("id")


def test_metadata_topics_are_the_subscribed_topics_and_those_of_the_group() -> None:
    state = SubscriptionState("latest")
    state.subscribe(["t"])

    assert not state.group_subscribe(["t"])
    assert state.group_subscribe(["u"])
    assert {"t", "u"} == state.metadata_topics()
    assert {"t"} == state.subscription()
    state.group_subscribe(["v"])  # replaces the topics of the group
    assert {"t", "v"} == state.metadata_topics()
    state.reset_group_subscription()
    assert {"t"} == state.metadata_topics()
    assert not state.needs_metadata("v")


def test_collections_are_copied_in_and_out() -> None:
    topics, partitions = {"t"}, [T0]
    state = SubscriptionState("latest")
    state.subscribe(topics)
    state.assign_from_subscribed(partitions)

    topics.add("u")
    partitions.append(T1)
    state.assigned_partitions().clear()
    state.assigned_partitions_list().clear()

    assert {"t"} == state.subscription()
    assert [T0] == state.assigned_partitions_list()


@pytest.mark.parametrize(
    ("entered", "text"),
    [
        (bool, "None"),
        (lambda state: state.subscribe(["b", "a"]), "Subscribe(a,b)"),
        (lambda state: state.subscribe(TopicPattern("a.*")), "Subscribe(a.*)"),
        (lambda state: state.subscribe(SubscriptionPattern("r.*")), "Subscribe(r.*)"),
        (lambda state: state.subscribe_to_share_group(["b", "a"]), "Subscribe to Share Group(a,b)"),
        (lambda state: state.assign_from_user([U0, T0]), "Assign([t-0, u-0] , id=1)"),
    ],
)
def test_the_pretty_string_shows_each_type(entered: Callable[[SubscriptionState], Any], text: str) -> None:
    state = SubscriptionState("latest")
    entered(state)

    assert text == state.pretty_string()
    assert f"<SubscriptionState {text}>" == repr(state)
