"""Groups whose members are replaced one by one, with another assignor, while the others continue to consume."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange
from kafka.coordinator.assignors.range import RangePartitionAssignor as KafkaPythonRange

from assignor import TopicPartition
from assignor.clients import kafka_python
from tests.broker.plugins.client_consumers import Joining
from tests.broker.plugins.joining import form, ours, shares

if TYPE_CHECKING:
    from tests.broker.plugins.group_log import Generation
    from tests.broker.plugins.mixed_groups import MixedGroups

pytestmark = [
    pytest.mark.broker,
    # A Python client that is closed while it connects leaves the socket to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


def replace(groups: MixedGroups, members: dict[str, tuple[str, Joining]]) -> None:
    """Replace a member by another one in each group, one step after the other, and wait until the groups settle."""
    before = {group: groups.settle(group).number for group in members}
    for group, (leaving, _) in members.items():
        groups.leave(group, leaving)
    before = {group: groups.settle(group, number).number for group, number in before.items()}
    for group, (_, joining) in members.items():
        groups.join(group, joining)
    for group, number in before.items():
        groups.settle(group, number)


def partitions_without_owner(groups: MixedGroups, group: str) -> list[set[TopicPartition]]:
    """Return for each generation of a group the partitions that have no owner and are not being revoked."""
    return [
        groups.partitions(*generation.topics) - set(generation.owners) - generation.claimed
        for generation in groups.log.generations[group]
    ]


def length(generation: Generation) -> int:
    """Return the number of bytes of all assignments."""
    return sum(len(member.assignment) for member in generation.members)


def test_members_change_from_the_clients_own_range_to_ours_without_a_stop(groups: MixedGroups) -> None:
    own = {"kafka-python": [KafkaPythonRange()], "aiokafka": [AiokafkaRange]}
    own_led = form(
        groups,
        {
            f"switch-{client}": [
                *(Joining(name, client, strategies) for name in "ab"),
                Joining("java", "java", ["range"]),
            ]
            for client, strategies in own.items()
        },
        stay=True,
    )

    for name in "ab":
        replace(
            groups,
            {f"switch-{client}": (name, Joining(f"{name}2", client, ours(client, "range"))) for client in own},
        )
    groups.disband(*(f"switch-{client}" for client in own))

    for group in (f"switch-{client}" for client in own):
        generations = groups.log.generations[group]
        assert not any(partitions_without_owner(groups, group))
        assert {1} == {count for generation in generations for count in generation.owners.values()}
        assert ["a2", "b2", "java"] == sorted(shares(generations[-1]))
        assert 1 == len(
            {each.member_id for one in generations for each in one.members if each.client_id[-4:] == "java"}
        )
        # The members of one generation send subscriptions in versions 0 and 3.
        for generation in generations:
            assert groups.java_shares(generation) == generation.shares_by_client
        # The clients' own assignors write an entry for each topic, even if a member gets nothing of it.
        assert length(own_led[group]) > length(generations[-1])


def test_a_group_changes_from_range_to_cooperative_sticky_in_two_rolling_restarts(groups: MixedGroups) -> None:
    group = "cooperate"
    clients = {"a": "kafka-python", "b": "kafka-python", "c": "java"}

    def strategies(client: str, restart: int) -> list[Any]:
        if client == "java":
            return ["cooperative-sticky"] if restart else ["cooperative-sticky", "range"]
        if restart:
            return [kafka_python.CooperativeStickyAssignor()]
        return [kafka_python.CooperativeStickyAssignor(eager=True), kafka_python.RangeAssignor()]

    form(groups, {group: [Joining(name, client, ours(client, "range")) for name, client in clients.items()]}, stay=True)

    for restart in (0, 1):
        for name, client in clients.items():
            joining = Joining(f"{name}{restart + 1}", client, strategies(client, restart))
            replace(groups, {group: (f"{name}{restart or ''}", joining)})
    groups.disband(group)

    generations = groups.log.generations[group]
    protocols = [protocol for protocol, _ in itertools.groupby(generation.protocol for generation in generations)]
    assert ["range", "cooperative-sticky"] == protocols
    assert not any(partitions_without_owner(groups, group))
    assert {1} == {count for generation in generations for count in generation.owners.values()}
    assert ["a2", "b2", "c2"] == sorted(shares(generations[-1]))
    for generation in generations:
        assert groups.java_shares(generation) == generation.shares_by_client
