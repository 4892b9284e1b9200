"""Recorded Streams applications, Connect workers and share consumers: the log agrees with what the clients said."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from assignor.cli import main
from tests.replay.logs import assigned, replay_all
from tests.support.recorded_applications import RECORDINGS, expected, folder, log, said, settled, topics

if TYPE_CHECKING:
    from pathlib import Path

    from assignor.offsets import Record

Row = dict[str, Any]

KINDS = {
    "streams_connect_share": {
        "connect-archive": "classic",
        "connect-archive-lines": "classic",
        "connect-files": "classic",
        "connect-write-lines": "classic",
        "mailers": "share",
        "page-archive": "classic",
        "page-counter": "streams",
        "resizers": "share",
    },
    "streams_share_4_4": {"mailers": "share", "page-counter": "streams", "resizers": "share"},
}
"""Kind of each group; sinks of Connect consume with groups of their own."""

LIMITS = {"streams_connect_share": 1_000_000, "streams_share_4_4": 300_000}
"""Bytes that a recording may have."""

_MEMBER, _CURRENT = 19, 22
"""Record types of members of streams groups and of their tasks."""


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_recording_is_small_and_names_no_files_of_the_machine(name: str) -> None:
    files = sorted(folder(name).iterdir())
    assert sum(file.stat().st_size for file in files) < LIMITS[name]
    content = gzip.decompress((folder(name) / "coordinator.log.gz").read_bytes())
    content += b"".join(
        (record.key or b"") + (record.value or b"") for group in KINDS[name] for _, record in log(name, group)
    )
    assert [] == [path for path in (b"/tmp/", b"/home/", b"/root", b"/work/") if path in content]


@pytest.mark.parametrize("name", RECORDINGS)
def test_all_records_are_decoded(name: str) -> None:
    statuses = Counter(decoded.status for group in KINDS[name] for decoded, _ in log(name, group))
    assert {"decoded", "tombstone"} >= statuses.keys()


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_report_lists_each_group_with_its_kind(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder(name)), "--engine", "local", "--json", "--out", str(tmp_path / "out")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert KINDS[name] == {group["group"]: group["kind"] for group in report["groups"]}


@pytest.mark.parametrize(("name", "label", "group"), settled("share"))
def test_members_of_share_groups_own_what_the_consumers_said(name: str, label: str, group: str) -> None:
    time, clients = said(name, label, group)
    (history,) = replay_all([[record for _, record in log(name, group, time)]], topics(name))
    client_ids = {member["member_id"]: member["client_id"] for member in history["members"]}
    owned = {
        client_ids[member]: sorted(f"{topic}-{id}" for topic, ids in partitions.items() for id in ids)
        for member, partitions in assigned(history).items()
    }
    assert clients == {client: owned.get(client, []) for client in client_ids.values()}


@pytest.mark.parametrize(("name", "label", "group"), settled("streams"))
def test_members_of_streams_groups_own_what_the_threads_said(name: str, label: str, group: str) -> None:
    time, clients = said(name, label, group)
    members: dict[str, Row] = {}
    tasks: dict[str, Row] = {}
    for decoded, _ in log(name, group, time):
        for number, found in ((_MEMBER, members), (_CURRENT, tasks)):
            if decoded.type == number:
                _apply(decoded, found)
    owned = {
        member["clientId"]: {
            "process": member["processId"],
            "active": _names(tasks[member_id]["activeTasks"]),
            "standby": _names(tasks[member_id]["standbyTasks"]),
        }
        for member_id, member in members.items()
    }
    assert clients == owned


def _apply(decoded: Record, found: dict[str, Row]) -> None:
    """Apply the record of a member to the state of all members."""
    assert decoded.key is not None
    if decoded.value is None:
        found.pop(decoded.key["memberId"], None)
    else:
        found[decoded.key["memberId"]] = decoded.value


def _names(tasks: list[Row]) -> list[str]:
    """Return the names of tasks as Kafka Streams writes them."""
    return sorted(f"{each['subtopologyId']}_{id}" for each in tasks for id in each["partitions"])


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_driver_acted_while_the_log_was_recorded(name: str) -> None:
    times = [record.timestamp for group in KINDS[name] for _, record in log(name, group)]
    states = expected(name)["settled"]
    acted = [action["t"] for action in expected(name)["actions"] if action["action"] != "create"]
    assert min(acted) <= min(times)
    assert max(acted) < states[-1]["t"]
    assert sorted(acted) == acted
    assert len({state["label"] for state in states}) == len(states)
