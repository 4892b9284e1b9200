"""Record, watch and describe with users of a real broker with an authorizer: permissions, credentials and TLS."""

from __future__ import annotations

import json
import re
import uuid
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic

from assignor.cli import main
from assignor.cluster import Recording
from tests.broker.admin import Admin
from tests.broker.blobs import join_share
from tests.broker.running import running
from tests.live.secured import SecuredCluster
from tests.live.watching import until
from tests.support.consumer_closing import close_consumers
from tests.support.time_limit import within

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.broker

TOPIC = "__consumer_offsets"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    """Start a broker with users that have different permissions, and a group with a commit."""
    users = ("reader", "describer", "stranger", "outsider", "sharer", "half-sharer")
    with running(SecuredCluster, tmp_path_factory.mktemp("secured"), users) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.address})
        rights = [
            ("reader", AclOperation.READ, ResourceType.TOPIC, TOPIC),
            ("describer", AclOperation.DESCRIBE, ResourceType.TOPIC, TOPIC),
            ("stranger", AclOperation.DESCRIBE, ResourceType.GROUP, "g"),
            ("outsider", AclOperation.DESCRIBE, ResourceType.GROUP, "owners"),
            ("sharer", AclOperation.DESCRIBE, ResourceType.GROUP, "shared"),
            ("sharer", AclOperation.DESCRIBE, ResourceType.TOPIC, "private"),
            ("half-sharer", AclOperation.DESCRIBE, ResourceType.GROUP, "shared"),
        ]
        bindings = [
            AclBinding(
                *(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*"), *(operation, AclPermissionType.ALLOW)
            )
            for user, operation, kind, name in rights
        ]
        for future in admin.create_acls(bindings).values():
            future.result(30)
        admin.create_topics([NewTopic("private", 1)])["private"].result(30)
        consumer = Consumer({"bootstrap.servers": cluster.address, "group.id": "g"})
        places = [TopicPartition("private", 0, 1)]
        within("the commit", lambda: consumer.commit(offsets=places, asynchronous=False))
        within("closing the consumer", consumer.close)
        with cluster.connect() as connection:
            Admin(connection).await_coordinator("shared")
            join_share(connection, "shared", str(uuid.uuid4()), "private", waits=True)
        yield cluster


def on_cluster(command: str, address: str, settings: Path, *words: str) -> int:
    config = ["--command-config", str(settings), "--timeout", "5000"]
    return main([command, "--bootstrap-server", address, *config, *words])


def run(address: str, settings: Path, out: Path) -> int:
    return on_cluster("record", address, settings, "--out", str(out), "--until-end")


@pytest.mark.parametrize("tls", [False, True])
def test_a_user_who_may_read_the_log_records_it_without_other_permissions(
    secured: SecuredCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str], tls: bool
) -> None:
    address = secured.tls if tls else secured.sasl

    assert 0 == run(address, secured.client_file(tmp_path, "reader", tls=tls), tmp_path / "out")

    assert re.match(r"assignor: recorded [1-9]\d* records in ", capfd.readouterr().err)
    assert {TOPIC} == set(Recording.open(tmp_path / "out").topics()["topic"].to_pylist())


@pytest.mark.parametrize("user", ["describer", "stranger"])
def test_a_missing_permission_is_reported_in_one_line_with_the_command_that_does_not_need_it(
    secured: SecuredCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str], user: str
) -> None:
    assert 3 == run(secured.sasl, secured.client_file(tmp_path, user), tmp_path / "out")

    line = (
        f"assignor: user '{user}' has no permission READ on topic {TOPIC} of {secured.sasl}; `assignor describe` and "
        "`assignor watch --admin` work without it\n"
    )
    assert line == capfd.readouterr().err
    assert 3 == on_cluster(
        "watch", secured.sasl, secured.client_file(tmp_path, user), "--state", str(tmp_path / "state")
    )
    assert line == capfd.readouterr().err
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        ([], 0, "no groups, or this client has no permission to describe them"),
        (["--group", "g"], 1, "  g: group 'g' does not exist, or this client has no permission to describe it"),
    ],
)
def test_describe_says_that_groups_can_be_hidden(
    secured: SecuredCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str], words: list[str], code: int, line: str
) -> None:
    assert code == on_cluster("describe", secured.sasl, secured.client_file(tmp_path, "reader"), *words)

    found = capfd.readouterr()
    assert line in found.out.splitlines()
    assert "" == found.err


@pytest.mark.parametrize("tls", [False, True])
def test_describe_reads_share_groups_with_the_same_settings(
    secured: SecuredCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str], tls: bool
) -> None:
    address = secured.tls if tls else secured.sasl

    assert 0 == on_cluster("describe", address, secured.client_file(tmp_path, "sharer", tls=tls), "--json")

    found = json.loads(capfd.readouterr().out)
    assert ([("shared", "share")], []) == (
        [(group["group"], group["kind"]) for group in found["groups"]],
        found["problems"],
    )


def test_a_topic_of_a_share_group_that_may_not_be_described_is_a_problem(
    secured: SecuredCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert 0 == on_cluster("describe", secured.sasl, secured.client_file(tmp_path, "half-sharer"), "--json")

    found = json.loads(capfd.readouterr().out)
    (group,) = found["groups"]
    assert ("share", []) == (group["kind"], group["members"])
    assert group["problem"].startswith("cannot describe it: ")
    assert "not authorized to describe" in group["problem"]


def test_describe_needs_no_permission_on_the_log(
    secured: SecuredCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert 0 == on_cluster("describe", secured.sasl, secured.client_file(tmp_path, "stranger"), "--json")

    (group,) = json.loads(capfd.readouterr().out)["groups"]
    assert ("g", "EMPTY", None) == (group["group"], group["state"].upper(), group["problem"])
    assert [] == group["partitions"], "offsets of a topic need a permission on the topic"


def test_describe_does_not_take_hidden_offsets_for_missing_ones(
    secured: SecuredCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    consumer = Consumer({"bootstrap.servers": secured.address, "group.id": "owners", "enable.auto.commit": False})
    consumer.subscribe(["private"])
    until(lambda: consumer.poll(0.1) is None and consumer.assignment())
    places = [TopicPartition("private", 0, 0)]
    within("the commit", lambda: consumer.commit(offsets=places, asynchronous=False))
    settings = secured.client_file(tmp_path, "outsider")

    assert 0 == on_cluster("describe", secured.sasl, settings, "--json")
    found = json.loads(capfd.readouterr().out)
    assert 0 == on_cluster("describe", secured.sasl, settings)
    text = capfd.readouterr().out
    close_consumers([consumer])

    problem = (
        "topic 'private' does not exist, or this client has no permission DESCRIBE on it: its offsets and lag are "
        "unknown"
    )
    assert [{"group": None, "problem": problem}] == found["problems"]
    (group,) = found["groups"]
    (partition,) = group["partitions"]
    assert ("private", None, None, "unknown_end") == tuple(
        partition[name] for name in ("topic", "committed", "lag", "problem")
    )
    assert (1, 0, 1) == tuple(group["lag"][name] for name in ("unknown", "never_committed", "unknown_end"))
    assert text.endswith(f"\n\nNot described\n  {problem}\n")
    assert "never committed" not in text


@pytest.mark.parametrize("tls", [False, True])
def test_a_client_without_security_settings_is_referred_to_them(
    secured: SecuredCluster, capfd: pytest.CaptureFixture[str], tls: bool
) -> None:
    address = secured.tls if tls else secured.sasl

    assert 3 == main(["describe", "--bootstrap-server", address, "--timeout", "1500"])

    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"assignor: cannot list the topics: no answer from {address} within 1.5 s: Disconnected: ")
    assert line.endswith("; does the listener need TLS or SASL? Give its settings with --command-config")


def test_a_wrong_password_is_reported_in_one_line_with_the_address(
    secured: SecuredCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert 3 == run(secured.sasl, secured.client_file(tmp_path, "reader", password="wrong"), tmp_path / "out")

    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"assignor: cannot connect to {secured.sasl}: ")
    assert "wrong" not in line


def test_an_unknown_certificate_is_reported_in_one_line_with_the_address(
    secured: SecuredCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = secured.client_file(tmp_path, "reader", tls=True)
    settings.write_text(settings.read_text().partition("ssl.truststore.type")[0])

    assert 3 == run(secured.tls, settings, tmp_path / "out")

    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"assignor: cannot connect to {secured.tls}: ")
    assert "certificate" in line
