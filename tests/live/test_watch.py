"""Watch of groups of real clients on a real broker: members that join, die, freeze and leave."""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from assignor.coordinator import RebalanceCause
from assignor.replay import watch, watch_state
from assignor.replay.watcher import Watcher
from tests.broker.admin import Admin
from tests.broker.cluster import Cluster
from tests.broker.running import running
from tests.live.consumer_program import CLIENTS
from tests.live.watching import Watching, until
from tests.support.committed_offsets import commit_offset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
SESSION_MS = 6_000
"""Session timeout of the KIP-848 group in milliseconds, which is a setting of the broker."""

PARTITIONS = 4
LIFETIME = 300
"""Seconds after which a program is killed, so that no test waits for its output for ever."""

LIMIT_MS = 5_000
"""Longest time between an event on the broker and its report."""

EXPIRED = {"consumer_dead", "application_crashed"}
NAMES = ("stays", "dies", "freezes")


class Groups:
    """One group per client, whose members are processes. `with` kills them."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._processes: dict[tuple[str, str], subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Groups:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()

    def join(self, client: str, name: str) -> None:
        """Start a member."""
        words = [client, self._address, f"watched-{client}", "watched", name, str(SESSION_MS)]
        command = [sys.executable, "-m", "tests.live.consumer_program", *words]
        self._processes[client, name] = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to the members of all groups with a name."""
        for (_, each), process in self._processes.items():
            if each == name:
                process.send_signal(number)


@pytest.fixture(scope="module")
def admin(broker: Cluster) -> AdminClient:
    found = AdminClient({"bootstrap.servers": broker.address})
    for future in found.create_topics([NewTopic("watched", PARTITIONS, 1)]).values():
        future.result(120)
    return found


def stable(watching: Watching, names: set[str]) -> bool:
    """Return True if each group has the members with these client ids, and an assignment."""
    states = {group["group"]: group for group in watching.watch.watcher.groups()}
    for client in CLIENTS:
        group = states.get(f"watched-{client}")
        if group is None or {member["client_id"] for member in group["members"]} != names:
            return False
        if names and sum(span["count"] for span in group["assignment"]) != PARTITIONS:
            return False
    return True


def described(admin: AdminClient, group: str) -> tuple[str, dict[str, tuple[str, str, set[tuple[str, int]]]]]:
    """Return the state of a group and its members, as the Admin client describes them."""
    (future,) = admin.describe_consumer_groups([group]).values()
    found = future.result(120)
    return found.state.name, {
        member.member_id: (
            member.client_id,
            member.host,
            {(each.topic, each.partition) for each in member.assignment.topic_partitions},
        )
        for member in found.members
    }


def watched(watching: Watching, group: str) -> tuple[str, dict[str, tuple[str, str, set[tuple[str, int]]]]]:
    """Return the state of a group and its members, as the watcher knows them."""
    (found,) = (each for each in watching.watch.watcher.groups() if each["group"] == group)
    owned: dict[str, set[tuple[str, int]]] = {member["member_id"]: set() for member in found["members"]}
    for span in found["assignment"]:
        ids = range(span["start"], span["start"] + span["count"])
        owned[span["member_id"]] |= {(span["topic"], id) for id in ids}
    return found["state"].upper(), {
        member["member_id"]: (member["client_id"], member["client_host"], owned[member["member_id"]])
        for member in found["members"]
    }


def equal_description(admin: AdminClient, watching: Watching, group: str) -> bool:
    return described(admin, group) == watched(watching, group)


def causes(watching: Watching, client: str, name: str, action: str) -> list[set[str]]:
    """Return the causes of each change of a member."""
    found = watching.of(f"watched-{client}", "member", client_id=name, action=action)
    return [set(event["causes"]) for event in found]


def has_closed(watching: Watching, client: str) -> bool:
    return "consumer_closed" in causes(watching, client, "freezes", "left")[-1]


def test_each_change_of_real_members_is_reported_with_its_cause(
    broker: Cluster, admin: AdminClient, record_property: Callable[[str, object], None]
) -> None:
    with Watching(broker.address) as watching, Groups(broker.address) as groups:
        for client in CLIENTS:
            for name in NAMES:
                groups.join(client, name)
        until(lambda: stable(watching, set(NAMES)))
        connection = broker.connect()
        for client in CLIENTS:
            group = f"watched-{client}"
            until(functools.partial(equal_description, admin, watching, group))
        (next_group,) = (each for each in watching.watch.watcher.groups() if each["group"] == "watched-librdkafka-next")
        assert Admin(connection).describe("watched-librdkafka-next").epoch == next_group["generation"]
        connection.close()

        groups.signal("dies", signal.SIGKILL)
        groups.signal("freezes", signal.SIGSTOP)
        until(lambda: stable(watching, {"stays"}))
        for client in CLIENTS:
            for name in ("dies", "freezes"):
                until(functools.partial(causes, watching, client, name, "left"))
                # A busy machine may delay a member for longer than its session timeout.
                # That member is removed as well, and joins again.
                assert all(EXPIRED <= found for found in causes(watching, client, name, "left")), (client, name)

        groups.signal("freezes", signal.SIGCONT)
        until(lambda: stable(watching, {"stays", "freezes"}))
        for client in CLIENTS:
            until(functools.partial(has_joined_again, watching, client))

        groups.signal("freezes", signal.SIGTERM)
        until(lambda: stable(watching, {"stays"}))
        for client in CLIENTS:
            until(functools.partial(has_closed, watching, client))
        assert_causes_of_rebalances(watching)
    delays = [found for event, found in zip(watching.events, watching.delays, strict=True) if "watched-" in str(event)]
    record_property("slowest report in milliseconds", max(delays))
    assert max(delays) <= LIMIT_MS


def has_joined_again(watching: Watching, client: str) -> bool:
    """Return True if the member that was stopped for a while has joined twice."""
    return len(causes(watching, client, "freezes", "joined")) >= 2


def assert_causes_of_rebalances(watching: Watching) -> None:
    """Check that each group has a rebalance for each way in which members join and leave."""
    names = {cause.name.lower() for cause in RebalanceCause}
    for client in CLIENTS:
        rebalances = watching.of(f"watched-{client}", "rebalance")
        found = {name for event in rebalances for name in event["causes"]}
        assert {"consumer_subscribed", "consumer_closed", *EXPIRED} <= found <= names, client
        assert [] == [event for event in rebalances if event["causes"] and not event["evidence"]]


# ---- restarts


@pytest.fixture
def commit(broker: Cluster) -> Callable[[str, int], None]:
    return lambda group, offset: commit_offset(broker.address, group, offset, "watched")


class Program:
    """Process `assignor watch --json` and the lines that it has printed. It is killed after `LIFETIME` seconds."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "assignor", "watch", "--json", *words]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._timer = threading.Timer(LIFETIME, self._process.kill)
        self._timer.daemon = True
        self._timer.start()

    def until_started(self) -> None:
        """Wait until the watch reports new events."""
        assert self._process.stderr
        while "watching" not in (line := self._process.stderr.readline()):
            assert line

    def read(self, count: int) -> list[str]:
        """Wait for the next lines and return them."""
        assert self._process.stdout
        return [self._process.stdout.readline() for _ in range(count)]

    def interrupt(self) -> None:
        """Send the signal of Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Kill the process, so that it cannot save its state again."""
        self._process.kill()
        self.finish()

    def finish(self) -> tuple[int, list[str]]:
        """Wait for the end, and return the exit code and the remaining lines."""
        out, _ = self._process.communicate(timeout=90)
        self._timer.cancel()
        return self._process.returncode, out.splitlines(keepends=True)


def saved_offset(file: Path) -> int | None:
    """Return the committed offset that the state in a file knows; None without one."""
    state = watch_state.load(file)
    if state is None:
        return None
    found: list[int] = Watcher(groups=state.groups, state=state).committed()["committed"].to_pylist()
    return found[0] if found else None


def test_a_killed_watch_continues_without_lost_or_repeated_events(
    broker: Cluster, commit: Callable[[str, int], None], tmp_path: Path
) -> None:
    file = tmp_path / "state"
    words = ("--bootstrap-server", broker.address, "--group", "resumed", "--state", str(file))
    program = Program(*words)
    program.until_started()
    commit("resumed", 9)
    commit("resumed", 8)
    found = program.read(1)
    commit("resumed", 7)
    found += program.read(1)
    until(lambda: saved_offset(file) == 7)
    program.kill()
    commit("resumed", 6)
    commit("resumed", 5)
    program = Program(*words)
    found += program.read(2)
    program.until_started()
    commit("resumed", 4)
    found += program.read(1)
    commit("resumed", 3)
    found += program.read(1)
    until(lambda: saved_offset(file) == 3)
    program.kill()

    assert (0, []) == Program(*words, "--for", "0").finish()
    program = Program(*words)
    program.until_started()
    program.interrupt()
    assert (130, []) == program.finish()
    code, every = Program(*words[:4], "--from", "earliest", "--for", "0").finish()
    assert (0, found) == (code, every)
    assert 6 == len(every)


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Cluster]:
    with running(Cluster, tmp_path) as cluster:
        yield cluster


def test_a_watch_survives_the_restart_of_the_brokers(own_broker: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "TOPICS_SECONDS", 3_600)  # only the lost brokers make the watch request new metadata
    admin = AdminClient({"bootstrap.servers": own_broker.address})
    for future in admin.create_topics([NewTopic("watched", 1, 1)]).values():
        future.result(120)

    def went_back() -> list[dict[str, Any]]:
        return watching.of("survivor", "offsets", problem="went_back")

    commit_offset(own_broker.address, "survivor", 9, "watched")
    with Watching(own_broker.address) as watching:
        commit_offset(own_broker.address, "survivor", 8, "watched")
        until(went_back)
        own_broker.stop()
        until(lambda: watching.noticed("no answer"))
        own_broker.start()
        until(lambda: watching.noticed("answers again"))
        commit_offset(own_broker.address, "survivor", 7, "watched")
        until(lambda: len(went_back()) > 1)
        assert 2 == len(went_back())
        assert 3 == len(watching.notices), watching.notices
        (state,) = (group for group in watching.watch.watcher.groups() if group["group"] == "survivor")
        assert 1 == state["committed_offsets"]
