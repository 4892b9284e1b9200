"""Watch by polls on a real broker, by a user who may not read the log, and a watch of the log beside it."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from typing import TYPE_CHECKING, Any, Self

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic

from assignor.cli import main
from assignor.cluster.connection import ClientSettings
from assignor.replay import poll_watcher
from assignor.replay.admin_watch import AdminWatch
from tests.broker.plugins.racks import RackedCluster
from tests.broker.running import running
from tests.live.secured import SecuredCluster
from tests.live.test_watch import Program
from tests.live.watching import Watching, until
from tests.support.consumer_closing import close_consumers
from tests.support.time_limit import within

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.broker

USER = "poller"
TOPIC = "polled"
PARTITIONS = 4
RECORDS = 10
"""Number of records in each partition."""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    """Start a broker with a user who may describe all groups and one topic, and nothing else."""
    with running(SecuredCluster, tmp_path_factory.mktemp("polled"), (USER,)) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.address})
        bindings = [
            AclBinding(
                *(kind, name, ResourcePatternType.LITERAL, f"User:{USER}", "*"),
                *(AclOperation.DESCRIBE, AclPermissionType.ALLOW),
            )
            for kind, name in ((ResourceType.GROUP, "*"), (ResourceType.TOPIC, TOPIC))
        ]
        for future in admin.create_acls(bindings).values():
            future.result(30)
        admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result(30)
        producer = Producer({"bootstrap.servers": cluster.address})
        for partition in range(PARTITIONS):
            for _ in range(RECORDS):
                producer.produce(TOPIC, b"record", partition=partition)
        assert 0 == producer.flush(60)
        first = Consumer({"bootstrap.servers": cluster.address, "group.id": "before"})
        place = [TopicPartition(TOPIC, 0, 1)]  # the first commit creates the log of the groups
        within("the commit", lambda: first.commit(offsets=place, asynchronous=False))
        within("closing the consumer", first.close)
        yield cluster


class Member:
    """Consumer that a thread polls until `leave`, or until `freeze`."""

    def __init__(self, cluster: SecuredCluster, group: str, **settings: Any) -> None:
        given = {"bootstrap.servers": cluster.address, "group.id": group, "enable.auto.commit": False}
        self.consumer = Consumer({**given, **settings})
        self.consumer.subscribe([TOPIC])
        self._is_stopped = threading.Event()
        self._wanted: int | None = None
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.leave()

    def _poll(self) -> None:
        while not self._is_stopped.is_set():
            self.consumer.poll(0.05)
            if self._wanted is not None:
                offset, self._wanted = self._wanted, None
                places = [TopicPartition(each.topic, each.partition, offset) for each in self.consumer.assignment()]
                self.consumer.commit(offsets=places, asynchronous=False)

    def freeze(self) -> None:
        """Stop polling; the consumer stays a member."""
        self._is_stopped.set()
        self._thread.join()

    def commit(self, offset: int) -> None:
        """Commit an offset for each partition that it owns, soon; only the thread that polls may use the consumer."""
        self._wanted = offset

    def leave(self) -> None:
        """Leave the group."""
        if not self._is_stopped.is_set():
            self.freeze()
        close_consumers([self.consumer])


def polling(secured: SecuredCluster, folder: Path, group: str, *, interval: float = 0.5) -> Watching:
    """Return a watch by polls of the user, who may not read the log."""
    settings = ClientSettings.read(secured.sasl, secured.client_file(folder, USER))
    return Watching("", settings=settings, make=AdminWatch, groups=(group,), interval=interval)


def membership(watching: Watching, group: str) -> list[tuple[str, str]]:
    return [(event["action"], event["member"]) for event in watching.of(group, "member")]


def moved(watching: Watching, group: str) -> set[tuple[str, int]]:
    return {tuple(place) for event in watching.of(group, "rebalance") for place in event["moved"] or ()}


def owners(watching: Watching, group: str) -> set[tuple[str, str, int]]:
    """Return member, topic and partition of each owned partition of a group."""
    rows = [row for row in watching.watch.watcher.groups() if row["group"] == group]
    return {
        (span["member_id"], span["topic"], id)
        for row in rows
        for span in row["assignment"]
        for id in range(span["start"], span["start"] + span["count"])
    }


def lag(watching: Watching, group: str) -> int | None:
    """Return the sum of the known lags of a group."""
    if watching.watch.lag is None:
        return None
    return sum(row["lag"] or 0 for row in watching.watch.lag.to_pylist() if row["group_id"] == group)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_polls_and_log_show_the_same_members_and_owners(secured: SecuredCluster, tmp_path: Path, protocol: str) -> None:
    group = f"followed-{protocol}"
    settings = {"group.protocol": protocol}
    with Watching(secured.address, groups=(group,)) as log, polling(secured, tmp_path, group) as polls:
        with Member(secured, group, **settings) as first:
            until(lambda: len(owners(polls, group)) == PARTITIONS)
            with Member(secured, group, **settings) as second:
                until(lambda: len({member for member, _, _ in owners(polls, group)}) == 2)
                until(lambda: owners(polls, group) == owners(log, group))
                for each in (first, second):
                    each.commit(4)
                until(lambda: lag(polls, group) == PARTITIONS * (RECORDS - 4))
                gone = membership(polls, group)[-1][1]
                owned = {(topic, id) for name, topic, id in owners(polls, group) if name == gone}
                # The events of a poll are reported just after its owners are known.
                until(lambda: owned == moved(polls, group))
            until(lambda: ("left", gone) in membership(polls, group))
            until(lambda: len(owners(polls, group)) == PARTITIONS and owners(polls, group) == owners(log, group))
        until(lambda: not owners(polls, group) and not owners(log, group))
        until(lambda: len(membership(log, group)) == len(membership(polls, group)) == 4)

    assert ["joined", "joined", "left", "left"] == [action for action, _ in membership(polls, group)]
    assert membership(log, group) == membership(polls, group)
    assert {protocol} == {event["kind"] for event in polls.events}
    assert PARTITIONS // 2 == len(owned)
    rebalances = polls.of(group, "rebalance")
    assert all("Two polls show this, at " in event["evidence"] for event in rebalances)
    assert {None} == {event["generation"] for event in rebalances}
    assert [] == polls.of(group, "offsets", problem="not_owned")


def test_a_long_rebalance_is_seen_by_polls(
    secured: SecuredCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poll_watcher, "DEFAULT_TIMEOUT_MS", 1_000)
    with polling(secured, tmp_path, "waits") as polls, Member(secured, "waits") as first:
        until(lambda: len(owners(polls, "waits")) == PARTITIONS)
        first.freeze()
        with Member(secured, "waits"):
            until(lambda: polls.noticed("group waits has been in a rebalance since "))
            assert polls.noticed(", longer than the default rebalance timeout of 1.0 s")
            assert 1 == len(membership(polls, "waits")), "members of an unfinished rebalance are not known yet"
            until(lambda: first.consumer.poll(0.05) is None and polls.noticed("the rebalance of group waits is over"))
            until(lambda: first.consumer.poll(0.05) is None and len(membership(polls, "waits")) == 2)


def test_the_command_prints_the_events_of_polls_as_json(secured: SecuredCluster, tmp_path: Path) -> None:
    words = ("--bootstrap-server", secured.sasl, "--command-config", str(secured.client_file(tmp_path, USER)))
    program = Program(*words, "--admin", "--interval", "1", "--group", "printed", "--cluster", "main")
    program.until_started()
    with Member(secured, "printed"):
        joined, rebalance = map(json.loads, program.read(2))
    left, _ = map(json.loads, program.read(2))
    program.interrupt()
    code, rest = program.finish()

    assert (130, []) == (code, rest)
    assert ("member", "joined", "main", None) == tuple(
        joined[name] for name in ("event", "action", "cluster", "generation")
    )
    assert ([joined["member"]], ["consumer_subscribed"], []) == tuple(
        rebalance[name] for name in ("joined", "causes", "unowned")
    )
    assert ("left", joined["member"]) == (left["action"], left["member"])
    assert {"consumer_closed", "consumer_dead"} <= set(left["causes"])


def test_the_text_says_how_the_groups_are_watched(
    secured: SecuredCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--bootstrap-server", secured.sasl, "--command-config", str(secured.client_file(tmp_path, USER))]

    assert 0 == main(["watch", *words, "--admin", "--for", "0", "--group", "before"])

    out, err = capfd.readouterr()
    assert "" == out
    line = r"[-\d]+ [\d:.]+  assignor: watching 1 group with 0 members; polled every 10 s, first in \d+\.\d s\n"
    assert re.fullmatch(line, err)
    assert 0 == main(["watch", *words, "--admin", "--for", "0", "--group", "before", "--lag"])
    assert re.fullmatch(r"[-\d]+ [\d:.]+  before  lag 9\n", capfd.readouterr().out)
    assert 0 == main(["watch", *words, "--admin", "--for", "0", "--group", "before", "--lag", "--json"])
    row = json.loads(capfd.readouterr().out)
    assert 0 == main(["watch", *words, "--admin", "--for", "0", "--group", "before", "--lag", "--topic", f"!{TOPIC}"])
    assert "" == capfd.readouterr().out
    assert ("lag", "before", 9, "one_measurement") == (
        *(row["event"], row["group"]),
        *(row["lag"]["lag"], row["lag"]["growth_reason"]),
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--admin", "--state", "file"], "--state file: a watch with --admin has no state to continue from"),
        (
            ["--admin", "--from", "earliest"],
            "--from earliest: a watch with --admin reads no log, only the present state",
        ),
        (["--interval", "5"], "--interval 5 needs --admin"),
        (["--admin", "--interval", "0"], "--interval 0: the number of seconds must be from 1 to 30"),
        (["--admin", "--interval", "nan"], "--interval nan: the number of seconds must be from 1 to 30"),
    ],
)
def test_options_that_do_not_fit_are_named(words: list[str], line: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["watch", "--bootstrap-server", "127.0.0.1:1", *words])

    assert f"assignor: {line}\n" == capfd.readouterr().err


@pytest.mark.long
def test_a_coordinator_that_does_not_run_is_no_departure(tmp_path: Path) -> None:
    offsets = {"offsets_topic_num_partitions": "6", "offsets_topic_replication_factor": "1"}
    groups = [f"survivor-{number}" for number in range(6)]
    with running(RackedCluster, tmp_path, ("a", "b", "c"), **offsets) as brokers, contextlib.ExitStack() as stack:
        admin = AdminClient({"bootstrap.servers": brokers.address})
        admin.create_topics([NewTopic(TOPIC, 1, 3)])[TOPIC].result(60)
        consumers = [Consumer({"bootstrap.servers": brokers.address, "group.id": group}) for group in groups]
        for consumer in consumers:
            consumer.subscribe([TOPIC])
        stack.callback(close_consumers, consumers)
        settings = ClientSettings.read(brokers.address, timeout=2.0)
        polls = stack.enter_context(Watching("", settings=settings, make=AdminWatch, interval=0.5))
        assert isinstance(polls.watch, AdminWatch)
        polled = polls.watch.watcher.polled

        def all_owned() -> bool:
            for consumer in consumers:
                consumer.poll(0.01)
            return all(owners(polls, group) for group in groups)

        until(all_owned)
        before = list(polls.events)
        described = [polled.description(group) for group in groups]
        coordinators = [found.coordinator[0] for found in described if found is not None and found.coordinator]
        stopped = max(coordinators)  # the first broker is the only controller
        brokers.stop(stopped)
        until(lambda: polled.lost)
        until(lambda: polls.noticed(": no broker lists this group: its coordinator does not run"))
        started = len(polls.notices)
        time.sleep(2)  # several polls do not list the groups
        brokers.start(stopped)
        until(lambda: not polled.lost and len(polls.notices) > started)
        until(all_owned)
        assert before == polls.events, "a broker that stops is no change of members or owners"


@pytest.mark.parametrize(
    ("pattern", "code", "groups"), [("befor*", 0, ["before"]), ("before", 0, ["before"]), ("absent-*", 1, [])]
)
def test_groups_are_described_by_pattern(
    secured: SecuredCluster, capfd: pytest.CaptureFixture[str], pattern: str, code: int, groups: list[str]
) -> None:
    assert code == main(["describe", "--bootstrap-server", secured.address, "--group", pattern, "--json"])

    found = json.loads(capfd.readouterr().out)
    assert groups == [group["group"] for group in found["groups"]]
    assert ([pattern] if code else []) == [problem["group"] for problem in found["problems"]]


# ---- report


def report(secured: SecuredCluster, folder: Path, *words: str) -> int:
    config = ["--command-config", str(secured.client_file(folder, USER)), "--out", str(folder / "out")]
    return main(["report", "--bootstrap-server", secured.sasl, *config, *words])


def test_a_report_without_the_permission_to_read_the_log_describes_the_cluster(
    secured: SecuredCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert 4 == report(secured, tmp_path, "--json")

    out, err = capfd.readouterr()
    found = json.loads(out)
    assert (
        f"assignor: user '{USER}' has no permission READ on topic __consumer_offsets of {secured.sasl}; `assignor "
        "describe` and `assignor watch --admin` work without it; this report is made of one description by an Admin "
        "client instead\n"
    ) == err
    assert "admin" == found["mode"]
    assert found["records"] is None
    (note,) = found["notes"]
    assert note.startswith(f"the setting retention.ms of 1 topic, such as '{TOPIC}', could not be read, so the time ")
    (group,) = (each for each in found["groups"] if each["group"] == "before")
    assert ("Empty", 0, RECORDS - 1) == (group["state"], group["members"], group["lag"]["lag"])
    assert found == json.loads((tmp_path / "out" / "report.json").read_text())
    assert 4 == report(secured, tmp_path, "--json"), "a later report replaces it"
    capfd.readouterr()
    assert 4 == report(secured, tmp_path, "--json", "--group", "befor?")
    assert ["before"] == [each["group"] for each in json.loads(capfd.readouterr().out)["groups"]]
    assert 3 == report(secured, tmp_path, "--until", "2026-01-01"), "the past is only in the log"


def test_a_report_by_an_admin_client_can_be_asked_for(
    secured: SecuredCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Member(secured, "reported") as member, polling(secured, tmp_path, "reported") as polls:
        until(lambda: len(owners(polls, "reported")) == PARTITIONS)
        page = tmp_path / "page.html"
        assert 0 == report(secured, tmp_path, "--admin", "--page", str(page), "--fail-on", "two_owners")
        member.commit(RECORDS + 1)
        until(lambda: lag(polls, "reported") == 0)
        text = capfd.readouterr()
        assert 1 == report(secured, tmp_path, "--admin", "--fail-on", "out_of_range")
        capfd.readouterr()
        assert 0 == report(secured, tmp_path, "--admin", "--measure", "0.2", "--group", "reported", "--json")
        (measured,) = json.loads(capfd.readouterr().out)["groups"]

    assert "" == text.err
    assert "  reported\n" not in text.out.partition("Assigned partitions")[0]
    assert "this report is made of one description of the cluster by an Admin client" in " ".join(text.out.split())
    assert f"JSON file: {tmp_path / 'out' / 'report.json'}" in text.out
    assert "This report is made of one description" in page.read_text(encoding="utf-8")
    assert [0.0] == list(measured["traffic"]["members"].values()), "nothing is written"
    assert measured["traffic"]["seconds"] >= 0.2


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--keep", "folder"], "--admin describes a live cluster and records nothing: --keep cannot be used with it"),
        ([], "--admin describes a live cluster and records nothing: it needs --bootstrap-server"),
        (["--until", "1"], "--until needs the log of the past: it cannot be used with --admin"),
        (["--measure", "0"], "--measure 0: the number of seconds must be above 0 and at most 86,400"),
    ],
)
def test_options_that_do_not_fit_to_a_description_are_named(
    words: list[str], line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    source = ["--bootstrap-server", "127.0.0.1:1"] if words else ["folder"]

    assert 2 == main(["report", *source, "--admin", *words])

    assert f"assignor: {line}\n" == capfd.readouterr().err


def test_a_report_on_a_log_measures_nothing_twice(capfd: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["report", "folder", "--measure", "5"])

    assert "assignor: --measure 5 needs --admin: a log has all measurements\n" == capfd.readouterr().err
