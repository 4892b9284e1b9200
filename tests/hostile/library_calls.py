"""Public calls of clients, recordings, reports, pages, replays and scenarios, with valid arguments to replace."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

from kafka.coordinator import consumer as kafka_python_coordinator

from assignor.clients import aiokafka, kafka_python
from assignor.cluster import Recording
from assignor.page import PageData, check_page, page, write_page
from assignor.replay import Replay
from assignor.replay.silences import Silence
from assignor.report import Report
from assignor.spark import Scenario
from tests.clients import aiokafka_group, kafka_python_group
from tests.hostile.calls import Call, _call, _method
from tests.replay.logs import commit, log
from tests.support.recorded_fleet import RECORDING

ROW = {"t": 0, "topic": "t", "topic_id": "", "partition": 0, "racks": [""]}
EVENT = {"event": "group_deleted", "cluster": "", "group": "g", "kind": "classic", "at": 1, "offset": 1}


class Admin:
    """Admin client of kafka-python for a cluster with one group, as its methods return it."""

    def describe_cluster(self) -> dict[str, Any]:
        """Return the cluster."""
        return {"cluster_id": "c", "brokers": [{"broker_id": 1, "rack": None}]}

    def describe_topics(self) -> list[dict[str, Any]]:
        """Return the topics."""
        return [{"error_code": 0, "name": "t", "partitions": [{"partition_index": 0, "replica_nodes": [1]}]}]

    def list_groups(self) -> list[dict[str, Any]]:
        """Return the groups."""
        return [{"group_id": "g", "protocol_type": "consumer", "group_type": "classic", "group_state": "Empty"}]

    def describe_groups(self, groups: list[str]) -> dict[str, Any]:
        """Return descriptions of groups."""
        described: dict[str, Any] = {"error": None, "group_state": "Empty", "protocol_data": "", "members": []}
        return dict.fromkeys(groups, described)


def _created(kind: Callable[..., Any], **options: Any) -> object:
    """Create an assignor; the option `tolerant` of kafka-python's replaces the decoder of the process."""
    decoder = kafka_python_coordinator.ConsumerProtocolSubscription
    try:
        return kind(**options)
    finally:
        kafka_python_coordinator.ConsumerProtocolSubscription = decoder


def _members_of_kafka_python(**fields: Any) -> object:
    member = SimpleNamespace(**fields)
    return kafka_python.StickyAssignor().assign(kafka_python_group.cluster({"t": 2}), [member])


def _client_calls() -> Iterator[Call]:
    given: dict[str, Any] = {"admin": Admin(), "cluster": "c", "groups": ["g"], "batch": 1}
    yield _call("assignor.clients.kafka_python.read_cluster", kafka_python.read_cluster, **given)
    options: dict[str, Any] = {"client_rack": "r", "shadow": False, "tolerant": False}
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        name: (getattr(kafka_python, name), options)
        for name in ("RangeAssignor", "RoundRobinAssignor", "StickyAssignor", "CooperativeStickyAssignor")
    }
    subscription = kafka_python.RangeAssignor().metadata(["t"])
    joined = kafka_python_group.joined({"a": ("t",)})
    assignment = kafka_python.RangeAssignor().assign(kafka_python_group.cluster({"t": 2}), joined)["a"]
    for name, (kind, given) in kinds.items():
        dotted = f"assignor.clients.kafka_python.{name}"
        more = {"eager": False} if name == "CooperativeStickyAssignor" else {}
        yield _call(dotted, partial(_created, kind), **given, **more)
        for shadow in (False, True):
            make = partial(kind, shadow=shadow)
            yield _method(f"{dotted}.supported_protocols", make)
        yield _method(f"{dotted}.metadata", kind, topics=["t"])
        yield _method(f"{dotted}.on_assignment", kind, assignment=assignment, generation=1)
        cluster = kafka_python_group.cluster({"t": 2})
        yield _method(f"{dotted}.assign", kind, cluster=cluster, members=joined)
    fields = {"member_id": "a", "group_instance_id": None, "metadata": subscription}
    yield _call("assignor.clients.kafka_python.StickyAssignor.assign with a member", _members_of_kafka_python, **fields)
    members = aiokafka_group.joined({"a": ("t",)})
    of_aiokafka = aiokafka.RangeAssignor().assign(aiokafka_group.cluster({"t": 2}), members)["a"]
    for name in ("RangeAssignor", "RoundRobinAssignor", "StickyAssignor"):
        kind, dotted = getattr(aiokafka, name), f"assignor.clients.aiokafka.{name}"
        yield _call(dotted, partial(_created, kind), **options)
        yield _method(f"{dotted}.metadata", kind, topics=["t"])
        yield _method(f"{dotted}.on_assignment", kind, assignment=of_aiokafka)
        cluster = aiokafka_group.cluster({"t": 2})
        yield _method(f"{dotted}.assign", kind, cluster=cluster, members=members)


def _recording() -> Recording:
    return Recording.open(RECORDING)


def _report() -> Report:
    return Report(records=0, records_by_type={}, bad_records=0, groups=(), remarks=(), members=())


def _cluster_calls() -> Iterator[Call]:
    yield _call("assignor.cluster.Recording.open", Recording.open, folder=RECORDING)
    yield _method("assignor.cluster.Recording.select", _recording, groups=["web*"], until=5)
    for method in ("end_offset_rows", "topics"):
        yield _method(f"assignor.cluster.Recording.{method}", _recording)
    for method in ("findings", "to_json"):
        yield _method(f"assignor.report.Report.{method}", _report)
    yield _call("assignor.page.check_page", check_page, path="page.html")
    yield _call("assignor.page.write_page", write_page, path="page.html", data=None)
    yield _call("assignor.page.write_page to a page", write_page, path="page.html", data=PageData("x", []))
    fields: dict[str, Any] = {"title": "x", "events": [EVENT], "records": 1, "since": 0, "until": 5}
    fields |= {"groups": (), "findings": (), "notes": (), "topics": {"t": 1}}
    yield _call("assignor.page.PageData", PageData, **fields)
    yield _call("assignor.page.page with its fields", _page_of, **fields)
    yield _call("assignor.page.page", page, data=None, timeline=None)


def _page_of(**fields: Any) -> object:
    return page(PageData(**fields))


def _replay() -> Replay:
    replay = Replay([ROW], is_open=True)
    for record in log([commit("t", 0)]):
        replay.push(record)
    return replay


def replay_life(replay: Replay) -> list[object]:
    """Return what a replay shows, and which events it has from now on."""
    seen: list[object] = [replay.snapshot(), replay.counts(), replay.states(), replay.positions()]
    return [*seen, replay.next_deadline(), replay.advance(2**40), replay.finish()]


def _pushed(offset: Any, timestamp: Any, key: Any, value: Any) -> object:
    return _replay().push((offset, timestamp, key, value))


def _observed(**fields: Any) -> object:
    return _replay().observe_topics([fields])


def _silent(**fields: Any) -> None:
    _replay().observe_silences([Silence(**fields)])


def _replay_calls() -> Iterator[Call]:
    settings: dict[str, Any] = {"topics": [ROW], "is_open": True, "is_compared": False, "storm_rebalances": 3}
    yield _call("assignor.replay.Replay", Replay, **settings)
    record: dict[str, Any] = {"offset": 9, "timestamp": 9, "key": struct.pack(">h", 2), "value": None}
    yield _call("assignor.replay.Replay.push of a record", _pushed, **record)
    yield _call("assignor.replay.Replay.observe_topics of a row", _observed, **ROW)
    silence: dict[str, Any] = {"since": 1, "until": 2, "partitions": (0,), "is_whole_log": False, "moved": ""}
    yield _call("assignor.replay.Replay.observe_silences of a silence", _silent, **silence)
    methods: dict[str, dict[str, Any]] = {
        "push": {"record": tuple(record.values()), "cluster": "c"},
        "advance": {"now": 5, "cluster": "c"},
        "observe_topics": {"rows": [ROW]},
        "observe_silences": {"silences": [Silence(**silence)]},
        "observe_broker_log": {"rebalances": [], "cluster": "c"},
        "forget": {"group": "g", "cluster": ""},
        "restore": {"data": _replay().snapshot()},
    }
    methods |= {name: {} for name in ("next_deadline", "finish", "snapshot", "counts", "states", "positions")}
    for name, given in methods.items():
        yield _method(f"assignor.replay.Replay.{name}", _replay, **given)


def _scenario_calls() -> Iterator[Call]:
    yield _call("assignor.spark.Scenario", Scenario, name="s", groups=["g"], steps=(("make_static",),))
    methods: dict[str, dict[str, Any]] = {
        "add_members": {"count": 1},
        "remove_members": {"count": 1},
        "multiply_partitions": {"factor": 2},
        "grow_partitions": {"partitions": {"t": 3}},
        "set_racks": {"racks": ["r"]},
        "add_topic": {"topic": "t", "partitions": 2},
        "make_static": {},
        "rolling_restart": {"instance_ids": None},
        "use": {"assignor": "range", "group_protocol": "classic"},
    }
    for name, given in methods.items():
        yield _method(f"assignor.spark.Scenario.{name}", partial(Scenario, "s"), **given)


CALLS = [*_client_calls(), *_cluster_calls(), *_replay_calls(), *_scenario_calls()]
"""Calls that need neither a session of Spark nor a cluster."""
