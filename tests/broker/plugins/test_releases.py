"""Groups of Java members and of members of old releases of kafka-python and aiokafka, through a rolling restart."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.broker.plugins.client_consumers import Joining
from tests.broker.plugins.joining import form
from tests.support.client_releases import RELEASES, ReleaseMissingError, install, oldest

if TYPE_CHECKING:
    from assignor import TopicPartition
    from tests.broker.plugins.group_log import Generation
    from tests.broker.plugins.mixed_groups import MixedGroups
    from tests.support.client_releases import ClientRelease

pytestmark = [
    pytest.mark.broker,
    # A Python client that is closed while it connects leaves the socket to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

ASSIGNORS = ("range", "roundrobin", "sticky")

OLDEST = tuple(oldest(client) for client in ("kafka-python", "aiokafka"))


def group_of(assignor: str, release: ClientRelease) -> str:
    return f"{assignor}-{release.client}-{release.version}"


def rolling_restart(groups: MixedGroups, releases: tuple[ClientRelease, ...]) -> dict[str, list[Generation]]:
    """Form a group for each assignor and release, replace its members one by one, and return all generations.

    The first member of the release leads the group until it is replaced. One of the others is a Java member. One member
    leaves before its replacement joins, the other one after it.
    """
    members = {
        group_of(assignor, release): [
            Joining("a", str(release), [assignor]),
            Joining("b", str(release), [assignor]),
            Joining("java", "java", [assignor]),
        ]
        for release in releases
        for assignor in ASSIGNORS
    }
    formed = form(groups, members, stay=True)
    numbers = {group: generation.number for group, generation in formed.items()}
    for name, steps in (("b", ("leave", "join")), ("a", ("join", "leave"))):
        for step in steps:
            for group, (joining, *_) in members.items():
                if step == "join":
                    groups.join(group, joining._replace(name=f"{name}2"))
                else:
                    groups.leave(group, name)
            numbers = {group: groups.settle(group, number).number for group, number in numbers.items()}
    groups.disband(*members)
    return {group: groups.log.generations[group] for group in members}


def moved(generations: list[Generation]) -> list[set[TopicPartition]]:
    """Return for each generation the partitions that moved between two members of both it and the one before."""
    found = []
    for before, after in itertools.pairwise(generations):
        stayed = before.shares_by_client.keys() & after.shares_by_client.keys()
        owner = {each: name for name in stayed for each in before.shares_by_client[name]}
        found.append(
            {each for name in stayed for each in after.shares_by_client[name] if owner.get(each, name) != name}
        )
    return found


@pytest.mark.parametrize(
    "releases",
    [
        pytest.param(OLDEST, id="oldest"),
        *(
            pytest.param((each,), id=str(each), marks=pytest.mark.long)
            for each in RELEASES
            if each.runs and each not in OLDEST
        ),
    ],
)
def test_each_partition_has_one_owner_through_a_rolling_restart(
    groups: MixedGroups, releases: tuple[ClientRelease, ...]
) -> None:
    for release in releases:
        try:
            install(release)
        except ReleaseMissingError as error:
            pytest.skip(f"{release} cannot be installed: {error}")

    restarted = rolling_restart(groups, releases)

    for group, generations in restarted.items():
        full = [generation for generation in generations if len(generation.members) > 1]
        assert len(full) >= 5, group  # the first, and four changes
        assert {1} == {count for generation in full for count in generation.owners.values()}, group
        assert [set()] * len(full) == [
            groups.partitions(*generation.topics) - set(generation.owners) for generation in full
        ], group
        leaders = {generation.led_by.rpartition(".")[2] for generation in full}
        assert "a" in leaders, group
        assert ["a2", "b2", "java"] == sorted(name.rpartition(".")[2] for name in generations[-1].shares_by_client)
        for generation in full:
            assert groups.java_shares(generation) == generation.shares_by_client, group
        if group.startswith("sticky"):
            assert not any(moved(full)), group
