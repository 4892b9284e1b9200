"""Upgrades of classic groups on real brokers: what `migrate` says of a group is what the broker answers.

A group is judged from a description of the live broker. Then a member of the new protocol joins it: the broker converts
the group, or rejects the member with the error that the verdict predicts, and computes a target assignment.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from kio.schema.consumer_group_heartbeat.v1 import ConsumerGroupHeartbeatResponse
from kio.schema.errors import ErrorCode

from assignor import Subscription, TopicPartition, assign
from assignor.cluster.broker_settings import read_broker_settings
from assignor.cluster.classic_groups import described_groups, last_topics
from assignor.cluster.connection import ClientSettings
from assignor.cluster.description import describe
from assignor.cluster.topics import topic_rows
from assignor.member import HeartbeatRequest
from assignor.migration import ClassicGroup as GivenGroup
from assignor.migration import ClassicMember as GivenMember
from assignor.migration import Migration, classic_member, migrate
from assignor.wire import encode_assignment, encode_subscription
from tests.broker.admin import Admin
from tests.broker.classic_members import ClassicGroup, ClassicMember
from tests.broker.cluster import Cluster
from tests.broker.heartbeat import to_wire
from tests.broker.running import running
from tests.support.assistant import ask, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.broker.connection import Connection
    from tests.support.assistant import Call

pytestmark = pytest.mark.broker

TOPICS = {"moving-orders": 7, "moving-payments": 7, "moving-quiet": 2}
NAMES = ("moving-orders", "moving-payments")
SUBSCRIPTION = encode_subscription(Subscription(NAMES), 3)
NEWER_HEADER = b"\0\2" + encode_subscription(Subscription(NAMES), 1)[2:]
"""Subscription whose body is of an older version than its header: brokers start a group with it."""

MAX_SIZE = 4

Owners = dict[TopicPartition, str]


@dataclasses.dataclass
class Stage:
    """Broker with topics, and the clients that judge its groups."""

    cluster: Cluster
    connection: Connection
    admin: Admin
    settings: ClientSettings

    def judge(self, group: str, *, later: bool = True) -> Migration:
        """Return the answer about a group, as `assignor migrate --bootstrap-server` computes it."""
        client = self.settings.admin()
        described = describe(self.settings, [group], admin=client, has_other_groups=False)
        topics = last_topics(topic_rows(self.settings, client, 0))
        settings, notes = read_broker_settings(self.settings, client)
        assert notes == []
        assert settings.assumed == ()
        (found,) = migrate(described_groups(described), topics, settings=settings, later=later)
        return found

    def join(
        self, group: str, *, instance_id: str | None = None, member_id: str = "", epoch: int = 0, more: str = ""
    ) -> Any:
        """Let a member of the new protocol join or send a heartbeat, and return the broker's answer."""
        request = HeartbeatRequest(
            group,
            member_id or str(uuid.uuid4()),
            epoch,
            instance_id=instance_id,
            rebalance_timeout_ms=600_000,
            subscribed_topic_names=(*NAMES, more) if more else NAMES,
            topic_partitions={} if epoch == 0 else None,
        )
        return self.connection.ask(to_wire(request), ConsumerGroupHeartbeatResponse)

    def targets(self, group: str) -> Owners:
        """Return the owner of each partition by the target assignment."""
        members = self.admin.describe(group).members
        return {place: name for name, member in members.items() for place in member.target}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Start a broker with a small maximum size of groups."""
    with running(Cluster, tmp_path_factory.mktemp("moving"), {"group.consumer.max.size": str(MAX_SIZE)}) as cluster:
        yield from _stage(cluster)


@pytest.fixture(scope="module")
def disabled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Start a broker that does not convert groups."""
    settings = {"group.consumer.migration.policy": "DISABLED"}
    with running(Cluster, tmp_path_factory.mktemp("disabled"), settings) as cluster:
        yield from _stage(cluster)


def _stage(cluster: Cluster) -> Iterator[Stage]:
    with cluster.connect() as connection:
        admin = Admin(connection)
        admin.create_topics(TOPICS)
        admin.await_coordinators()
        yield Stage(cluster, connection, admin, ClientSettings.read(cluster.address))


def assigned(names: list[str], assignor: str = "range", user_data: bytes | None = None) -> Mapping[str, bytes]:
    """Return the assignment of Kafka's assignor for members that subscribe to `NAMES`."""
    plan = assign(TOPICS, dict.fromkeys(names, NAMES), assignor=assignor)  # type: ignore[arg-type]  # a name of Kafka's
    return {name: encode_assignment(owned, user_data=user_data) for name, owned in plan.items()}


def dynamic(count: int) -> list[ClassicMember]:
    """Return members without instance ids."""
    return [ClassicMember(SUBSCRIPTION) for _ in range(count)]


def test_tools_for_assistants_answer_about_a_live_cluster(stage: Stage) -> None:
    """The first test, because librdkafka ends the process that describes a group of a later one."""
    with ClassicGroup(stage.cluster, "asked") as group:
        group.start(*dynamic(2), assignments=assigned)
        found = stage.judge(group.name)
        named = {"group": group.name}
        calls: list[Call] = [
            *(("explain_group", named), ("can_migrate", named), ("scale", {**named, "max_members": 3})),
            ("what_if", {**named, "steps": ["add_members=1"]}),
            *(("match_pattern", {"pattern": "moving-[op].*"}), ("explain_group", {"group": "aske"})),
        ]
        _, answers = ask(["--bootstrap-server", stage.cluster.address], calls)

    explained, migrated, scaled, changed, matched = (json.loads(text(answer)) for answer in answers[:-1])
    assert explained["group"]["members"] == 2
    assert explained["last_rebalances"] is None
    assert (migrated["verdict"], migrated["moved"]) == (found.verdict, found.moved)
    assert [each["most_loaded"] for each in scaled["counts"]] == [14, 8, 6]
    assert [each["members"] for each in changed["outcomes"]] == [2, 3]
    assert matched["matches"] == list(NAMES)
    assert answers[-1].is_error
    assert "has no group 'aske'; its " in text(answers[-1])


REFUSED: dict[str, tuple[Callable[[ClassicGroup], None], str, str, str]] = {
    "user_data": (
        lambda group: group.start(*dynamic(2), assignments=lambda names: assigned(names, user_data=b"mine")),
        "offline only",
        "an unsupported custom assignor is in use",
        "user_data",
    ),
    "subscription": (
        lambda group: group.start(ClassicMember(SUBSCRIPTION), ClassicMember(NEWER_HEADER), assignments=assigned),
        "offline only",
        "the embedded consumer protocol is malformed",
        "subscription",
    ),
    "max_size": (
        lambda group: group.start(*dynamic(MAX_SIZE + 1), assignments=assigned),
        "not yet",
        "the group size exceeds the consumer group maximum size",
        "max_size",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_the_broker_refuses_what_is_not_online(stage: Stage, kind: str) -> None:
    start, verdict, message, blocker = REFUSED[kind]
    with ClassicGroup(stage.cluster, f"refused-{kind}") as group:
        start(group)
        found = stage.judge(group.name)
        answer = stage.join(group.name)

    assert answer.error_code == ErrorCode.group_id_not_found
    assert message in answer.error_message
    assert found.verdict == verdict
    assert [each.kind for each in found.blockers] == [blocker]


def test_the_broker_refuses_an_unreadable_assignment(stage: Stage) -> None:
    """The group is not described: librdkafka ends the process when it reads such an assignment."""
    with ClassicGroup(stage.cluster, "refused-assignment") as group:
        group.start(*dynamic(1), assignments=lambda names: {names[0]: b"\0"})
        answer = stage.join(group.name)
        (name,) = (member.id for member in group.members)

    seen = classic_member(group.name, "range", "", SUBSCRIPTION, b"\0")
    given = GivenMember(name, NAMES, conversion_problem=seen["conversion_problem"])
    (found,) = migrate([GivenGroup(group.name, (given,), "range", "consumer")], [])
    assert "the embedded consumer protocol is malformed" in answer.error_message
    assert (found.verdict, found.blocking) == ("offline only", (name,))


def test_the_broker_refuses_a_group_of_connect(stage: Stage) -> None:
    with ClassicGroup(stage.cluster, "refused-connect", protocol_type="connect") as group:
        group.start(ClassicMember(b"\0\1worker"), assignments=lambda names: {names[0]: b"\0\1task"})
        found = stage.judge(group.name)
        answer = stage.join(group.name)

    assert "does not use the consumer embedded protocol" in answer.error_message
    assert (found.verdict, found.blockers[0].kind) == ("not yet", "connect")


def test_the_policy_refuses_groups_with_members_only(disabled: Stage) -> None:
    with ClassicGroup(disabled.cluster, "refused-policy") as group:
        (only,) = members = dynamic(1)
        group.start(*members, assignments=assigned)
        found, answer = disabled.judge(group.name), disabled.join(group.name)
        group.leave(only, None)
        empty, joined = disabled.judge(group.name), disabled.join(group.name)

    assert "online upgrade is disabled" in answer.error_message
    assert (found.verdict, found.blockers[0].kind) == ("offline only", "migration_policy")
    assert (empty.verdict, joined.error_code) == ("online", ErrorCode.none)


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_the_switch_of_static_members_moves_what_is_computed(stage: Stage, assignor: str) -> None:
    with ClassicGroup(stage.cluster, f"static-{assignor}", protocol=assignor) as group:
        members = [ClassicMember(SUBSCRIPTION, instance_id=f"static-{number}") for number in range(3)]
        group.start(*members, assignments=lambda names: assigned(names, assignor))
        found = stage.judge(group.name)
        owners = _owners(assigned([member.id for member in members], assignor))
        answers = [stage.join(group.name, instance_id=member.instance_id) for member in members]
        names = {member.id: answer.member_id for member, answer in zip(members, answers, strict=True)}
        kept = stage.targets(group.name)
        # Another name in a subscription makes the broker assign, although no topic has it.
        changed = stage.join(group.name, member_id=answers[0].member_id, epoch=int(answers[0].member_epoch), more="new")
        after = stage.targets(group.name)

    assert found.verdict == "online"
    assert {answer.error_code for answer in (*answers, changed)} == {ErrorCode.none}
    assert found.rolling == sum(kept[place] != names[name] for place, name in owners.items()) == 0
    loads = sorted(list(after.values()).count(name) for name in {*after.values()})
    assert found.moved == sum(after[place] != names[name] for place, name in owners.items())
    assert found.after is not None
    assert (found.after.least_loaded, found.after.most_loaded) == (loads[0], loads[-1])


def test_a_rolling_replacement_moves_what_is_computed(stage: Stage) -> None:
    with ClassicGroup(stage.cluster, "rolling") as group:
        members = dynamic(3)
        group.start(*members, assignments=assigned)
        found = stage.judge(group.name)
        order = sorted(members, key=lambda member: member.id)
        owners = [_owners(assigned([member.id for member in members]))]
        group.leave(order[0], assigned)
        owners.append(_owners(assigned([member.id for member in group.members])))
        joined: list[Any] = []
        for number in range(3):
            if number:
                group.leave(order[number], None)
                first = joined[0]
                answer = stage.join(group.name, member_id=first.member_id, epoch=int(first.member_epoch))
                assert answer.error_code == ErrorCode.none, answer
                joined[0] = answer
                owners.append(stage.targets(group.name))
            joined.append(stage.join(group.name))
            assert joined[-1].error_code == ErrorCode.none, joined[-1]
            owners.append(stage.targets(group.name))

    moved = sum(
        after[place] != name
        for before, after in itertools.pairwise(owners)
        for place, name in before.items()
        if place in after
    )
    assert found.verdict == "online"
    assert found.rolling == moved


def _owners(assignments: Mapping[str, bytes]) -> Owners:
    from assignor.wire import decode_assignment

    return {place: name for name, data in assignments.items() for place in decode_assignment(data).partitions}
