"""Public calls with valid arguments, which the tests replace by hostile values one by one."""

from __future__ import annotations

import importlib
import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from uuid import UUID

import pyarrow as pa

import assignor
from assignor import (
    CooperativeStickyAssignor,
    Group,
    MemberColumns,
    MemberInfo,
    PartitionInfo,
    RangeAssignor,
    RebalanceProtocol,
    RoundRobinAssignor,
    StickyAssignor,
    Subscription,
    TopicColumns,
    TopicMatcher,
    TopicPartition,
    Topics,
    assign,
    check,
    clients,
    costs,
    explain_pattern,
    lag,
    lag_growth,
    lag_time,
    lag_time_sums,
    match_topics,
    migration,
    offsets,
    plan,
    resolve,
    scaling,
    server,
    traffic,
    validate_topic,
    wire,
)
from assignor.matching import TopicPattern
from tests.hostile.values import UserError

TOPICS: Any = {"t": 3, "u": [0, 2]}
MEMBERS: Any = {"a": ("t",), "b": Subscription(("t", "u"), owned_partitions=(TopicPartition("t", 1),), generation=4)}
ENCODED = wire.encode_subscription(Subscription(("t",)))
RECORD = offsets.Record(1, "OFFSET_COMMIT", {"group": "g", "topic": "t", "partition": 0}, 3, {
    "offset": 1, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 5,
})  # fmt: skip
POSITIONS = pa.table(
    {"group_id": ["g"], "topic": ["t"], "partition": [0], "member_id": ["a"], "committed": [7]}, schema=lag.POSITIONS
)
ENDS = pa.table({"topic": ["t"], "partition": [0], "start_offset": [0], "end_offset": [9]}, schema=lag.END_OFFSETS)
COSTS = pa.Table.from_pylist(
    [{"event": "rebalance", "cluster": "", "group": "g", "at": 0, "causes": ["unknown"]}], schema=costs.EVENT_COLUMNS
)
DESCRIBED = [{"error_code": 0, "name": "t", "partitions": [{"partition_index": 0, "replica_nodes": [1]}]}]


@dataclass(frozen=True)
class Call:
    """A public call.

    Attributes:
        name: Dotted name of the callable, followed by a description for calls through a named tuple.
        make: Function that returns the callable, of a new object if it is a method, and its valid arguments by name.
    """

    name: str
    make: Callable[[], tuple[Callable[..., object], dict[str, Any]]]

    def parameters(self) -> list[str]:
        """Return the names of the parameters, including those that the valid arguments leave out."""
        function, arguments = self.make()
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        found = inspect.signature(function).parameters.values()
        return [*dict.fromkeys([*arguments, *(each.name for each in found if each.kind not in kinds)])]

    def run(self, replaced: dict[str, object]) -> object:
        """Call with some arguments replaced."""
        function, arguments = self.make()
        return invoke(function, {**arguments, **replaced})


def invoke(function: Callable[..., object], arguments: dict[str, Any]) -> object:
    """Call a function with arguments by name; positional-only ones are passed by position."""
    parameters = inspect.signature(function).parameters.values()
    first = [each.name for each in parameters if each.kind is each.POSITIONAL_ONLY and each.name in arguments]
    rest = {name: value for name, value in arguments.items() if name not in first}
    return function(*(arguments[name] for name in first), **rest)


def _call(name: str, function: Callable[..., object], /, **arguments: Any) -> Call:
    return Call(name, lambda: (function, arguments))


def _method(name: str, make: Callable[[], Any], /, **arguments: Any) -> Call:
    """Return the call of a method of the object that `make` returns; the method is the last part of the name."""
    method = name.partition(" ")[0].rpartition(".")[2]
    return Call(name, lambda: (getattr(make(), method), arguments))


def _plan() -> assignor.Plan:
    return plan(TOPICS, MEMBERS)


def _with_partition_info(partition: Any, racks: Any) -> object:
    members = {"a": Subscription(("t",), rack="r")}
    return assign({"t": [PartitionInfo(partition, racks)]}, members)


def _with_topic_columns(topic: Any, partitions: Any, rack_set: Any, rack_sets: Any) -> object:
    members = MemberColumns(["a"], [0], [["t"]], rack=["r"])
    return assign(TopicColumns(topic, partitions, rack_set, rack_sets), members)


def _member_columns(
    member_id: Any,
    subscription: Any,
    subscriptions: Any,
    group_instance_id: Any,
    rack: Any,
    generation: Any,
    owned_partitions: Any,
    user_data: Any,
) -> object:
    columns = MemberColumns(
        member_id, subscription, subscriptions, group_instance_id, rack, generation, owned_partitions, user_data
    )
    return assign({"t": 3}, columns, assignor="sticky")


def _checked(member: Any, topic: Any, partition: Any, engine: Any) -> object:
    try:
        assignment = {member: [(topic, partition)]}
    except Exception as error:  # a dict cannot have the key
        raise UserError from error
    return check(assignment, TOPICS, MEMBERS, engine=engine)


def _matcher() -> TopicMatcher:
    matcher = TopicMatcher()
    matcher.add_topics(["t", "u"])
    matcher.add_pattern("k", "t.*")
    return matcher


def _encoded(decoded: type, encode: Callable[..., object]) -> Callable[..., object]:
    """Return a function that encodes an instance of a class whose constructor checks nothing."""

    def encode_fields(**fields: Any) -> object:
        return encode(decoded(**fields))

    encode_fields.__signature__ = inspect.signature(decoded)  # type: ignore[attr-defined]  # for `Call.parameters`
    return encode_fields


def _record_of(record_type: Any, key: Any, version: Any, value: Any, status: Any) -> object:
    return offsets.encode_record(offsets.Record(record_type, None, key, version, value, None, status))


def _growth(at: Any, lag: Any, produced: Any, generation: Any) -> object:
    measured = lag_growth.Measurement(at=at, lag=lag, produced=produced, generation=generation)
    others = [lag_growth.Measurement(each, 3 * each, 10, 1) for each in range(7)]
    return lag_growth.find_growth([*others, measured], 1)


def _pure_calls() -> Iterator[Call]:
    options = {"assignor": "sticky", "group_protocol": "classic", "topic_ids": {"t": UUID(int=1)}}
    both = {"partitions_per_topic": TOPICS, "subscriptions": MEMBERS}
    checked = {"assignment": {"a": [("t", 0)]}, "group_protocol": "share"}
    for engine in ("rust", "reference"):
        yield _call(f"assignor.assign by {engine}", assign, **both, **options, engine=engine)
        yield _call(f"assignor.plan by {engine}", plan, **both, **options, engine=engine)
        yield _call(f"assignor.check by {engine}", check, **checked, **both, engine=engine)
        named = {"member": "a", "topic": "t", "partition": 0, "engine": engine}
        yield _call(f"assignor.check of one partition by {engine}", _checked, **named)
        names = {"topics": ["t", "u"], "include_internal": False, "engine": engine}
        yield _call(f"assignor.match_topics by {engine}", match_topics, pattern="t.*", dialect="java", **names)
        yield _call(f"assignor.resolve by {engine}", resolve, subscriptions=MEMBERS, **names)
        yield _call(f"assignor.explain_pattern by {engine}", explain_pattern, pattern="t*", dialect="java", **names)
        tolerant = {"data": ENCODED, "tolerant": True, "engine": engine}
        yield _call(f"assignor.wire.decode_subscription by {engine}", wire.decode_subscription, **tolerant)
        data = wire.encode_assignment([("t", 0)])
        yield _call(f"assignor.wire.decode_assignment by {engine}", wire.decode_assignment, data=data, engine=engine)
        task = b"\0\0\0\1" + bytes(8) + bytes(4)
        worker = b"\0\x09http://a/" + bytes(8)
        for decode, argument, data in (
            (wire.decode_streams_subscription, "user_data", b"\0\0\0\1" + bytes(16) + task),
            (wire.decode_streams_assignment, "user_data", b"\0\0\0\1" + task),
            (wire.decode_connect_subscription, "data", b"\0\0" + worker),
            (wire.decode_connect_assignment, "data", b"\0\0\0\0\0\1w" + worker + bytes(4)),
        ):
            encoded = {argument: data, "engine": engine}
            yield _call(f"assignor.wire.{decode.__name__} by {engine}", decode, **encoded)
        given = {"partitions": [("t", 0)], "version": 3, "user_data": b"", "engine": engine}
        yield _call(f"assignor.wire.encode_assignment by {engine}", wire.encode_assignment, **given)
        given = {"subscription": Subscription(("t",)), "version": 3, "engine": engine}
        yield _call(f"assignor.wire.encode_subscription by {engine}", wire.encode_subscription, **given)
    yield _call("assignor.validate_topic", validate_topic, name="t")
    yield _call("assignor.assign with PartitionInfo", _with_partition_info, partition=0, racks=("r",))
    columns = {"topic": ["t"], "partitions": [2], "rack_set": [0, 0], "rack_sets": [("r",)]}
    yield _call("assignor.assign with TopicColumns", _with_topic_columns, **columns)
    columns = {"member_id": ["a"], "subscription": [0], "subscriptions": [["t"]], "group_instance_id": ["i"]}
    columns |= {"rack": ["r"], "generation": [1], "owned_partitions": [[("t", 0)]], "user_data": [None]}
    yield _call("assignor.assign with MemberColumns", _member_columns, **columns)
    fields = {"version": 3, "topics": ("t",), "user_data": b"", "owned_partitions": (TopicPartition("t", 0),)}
    fields |= {"generation": 1, "rack": "r", "tolerated": None}
    encode = _encoded(wire.DecodedSubscription, wire.encode_subscription)
    yield _call("assignor.wire.encode_subscription with DecodedSubscription", encode, **fields)
    fields = {"version": 3, "partitions": (TopicPartition("t", 0),), "user_data": b""}
    encode = _encoded(wire.DecodedAssignment, wire.encode_assignment)
    yield _call("assignor.wire.encode_assignment with DecodedAssignment", encode, **fields)
    yield _call("assignor.offsets.decode_record", offsets.decode_record, key=b"\0\2\0\1g", value=None)
    columns = {"keys": pa.array([b"\0\1"]), "values": pa.array([None], pa.binary())}
    yield _call("assignor.offsets.decode_batch", offsets.decode_batch, **columns)
    yield _call("assignor.offsets.encode_record", offsets.encode_record, record=RECORD)
    fields = {"record_type": 1, "key": RECORD.key, "version": 3, "value": RECORD.value, "status": "decoded"}
    yield _call("assignor.offsets.encode_record with Record", _record_of, **fields)
    for field in RECORD.value or {}:
        yield _call(f"assignor.offsets.encode_record with {field}", _record_value(field), content=1)
    yield _call("assignor.offsets.coordinator_partition", offsets.coordinator_partition, group="g", partitions=50)
    yield _call("assignor.costs.rebalance_costs", costs.rebalance_costs, events=COSTS)
    yield _call("assignor.scaling.read_max_members", scaling.read_max_members, value=3)
    given = {"partitions_per_topic": {"t": 2}, "subscriptions": {"a": ["t"]}, "max_members": 2, "group": "g"}
    given |= {"assignor": "range", "group_protocol": "classic", "weights": {"t": [1, 2]}, "topic_ids": None}
    yield _call("assignor.scaling.scale", scaling.scale, **given, assignment={"a": [("t", 0)]})
    yield from _migration_calls()
    commits, owners = traffic.COMMITS.empty_table(), lag.POSITIONS.empty_table()
    given = {"commits": commits, "end_offsets": None, "partitions": None, "window_ms": 5}
    yield _call("assignor.traffic.partition_traffic", traffic.partition_traffic, **given)
    measured = traffic.PARTITION_TRAFFIC.empty_table()
    given = {"traffic": measured, "partitions_per_topic": {"t": 2}}
    yield _call("assignor.traffic.traffic_weights", traffic.traffic_weights, **given)
    yield _call("assignor.traffic.member_traffic", traffic.member_traffic, traffic=measured, owners=owners)
    yield _call("assignor.lag.join_owners", lag.join_owners, committed=POSITIONS, owners=POSITIONS)
    yield _call("assignor.lag.partition_lag", lag.partition_lag, positions=POSITIONS, end_offsets=ENDS)
    lags = lag.partition_lag(POSITIONS, ENDS)
    yield _call("assignor.lag.member_lag", lag.member_lag, partitions=lags)
    yield _call("assignor.lag.group_lag", lag.group_lag, partitions=lags)
    timed = lag_time.lag_in_time(lags, 5, lag.TIMED_END_OFFSETS.empty_table(), lag_time.TIMED_COMMITTED.empty_table())
    history = {"end_offsets": lag.TIMED_END_OFFSETS.empty_table(), "committed": lag_time.TIMED_COMMITTED.empty_table()}
    settings = {"retention_ms": {"t": 5}, "size_limited": ["t"], "compacted": ["u"]}
    given = {"lags": lags, "at": 5, **history, "window_ms": 5, **settings}
    yield _call("assignor.lag_time.lag_in_time", lag_time.lag_in_time, **given)
    yield _call("assignor.lag_time_sums.sum_lag_in_time", lag_time_sums.sum_lag_in_time, partitions=timed, by="group")
    yield _call("assignor.lag_time_sums.summed_schema", lag_time_sums.summed_schema, by="group")
    measurements = [lag_growth.Measurement(each, 3 * each, 10, 1) for each in range(7)]
    given = {"measurements": measurements, "window_ms": 1, "rises": 5, "share": 0.1}
    yield _call("assignor.lag_growth.find_growth", lag_growth.find_growth, **given)
    yield _call("assignor.lag_growth.Measurement", lag_growth.Measurement, at=8, lag=9, produced=1, generation=1)
    fields = {"at": 8, "lag": 9, "produced": 1, "generation": 1}
    yield _call("assignor.lag_growth.find_growth with Measurement", _growth, **fields)
    for module in (clients.kafka_python, clients.aiokafka):
        given = {"metadata": [], "topics": [], "cluster": {"brokers": []}}
        yield _call(f"{module.__name__}.partitions_per_topic", module.partitions_per_topic, **given)
    given = {"metadata": DESCRIBED, "topics": ["t"], "cluster": {"brokers": [{"broker_id": 1, "rack": "r"}]}}
    name = "assignor.clients.kafka_python.partitions_per_topic of a topic"
    yield _call(name, clients.kafka_python.partitions_per_topic, **given)


def _migration_calls() -> Iterator[Call]:
    given: dict[str, Any] = {"policy": "upgrade", "max_size": 5, "has_protocol": True, "assignor": "range"}
    yield _call("assignor.migration.BrokerSettings", migration.BrokerSettings, **given, version="4.3")
    settings = migration.BrokerSettings
    yield _call("assignor.migration.BrokerSettings.read", settings.read, given={}, version="4.3")
    for method in ("numbers", "values", "to_json", "rules"):
        yield _method(f"assignor.migration.BrokerSettings.{method}", settings)
    fields: dict[str, Any] = {"group_id": "g", "assignor": "range", "client_id": "c", "metadata": ENCODED}
    yield _call("assignor.migration.classic_member", migration.classic_member, **fields, assignment=b"")
    fields = {"topics": ("t",), "spans": (("t", 0, 1),), "group_instance_id": "i", "rack": "r", "library": "java"}
    fields |= {"library_version": "4.0", "conversion_problem": "user_data", "pattern": ("t.*",), "dialect": "java"}
    yield _call("assignor.migration.migrate with ClassicMember", _migrated_member, member_id="a", **fields)
    member = migration.ClassicMember("a", ("t",))
    fields = {"group_id": "g", "members": (member,), "assignor": "range", "protocol_type": "consumer", "unknown": ()}
    fields |= {"problem": None, "has_owners": True, "generation": 1, "weights": {"t": [1.0, 2.0]}}
    yield _call("assignor.migration.migrate with ClassicGroup", _migrated_group, **fields)
    given = {"groups": [migration.ClassicGroup("g", (member,))], "topics": [{"topic": "t", "partitions": 2}]}
    yield _call("assignor.migration.migrate", migration.migrate, **given, settings=None, later=True)
    (found,) = migration.migrate(**given)
    for method in ("to_json", "summary"):
        yield _method(f"assignor.migration.Migration.{method}", lambda: found)


def _migrated_member(**fields: Any) -> object:
    group = migration.ClassicGroup("g", (migration.ClassicMember(**fields),), "range", "consumer")
    return migration.migrate([group], [{"topic": "t", "partitions": 2}])


def _migrated_group(**fields: Any) -> object:
    return migration.migrate([migration.ClassicGroup(**fields)], [{"topic": "t", "partitions": 2}])


def _record_value(field: str) -> Callable[[Any], object]:
    def encode(content: Any) -> object:
        value = {**(RECORD.value or {}), field: content}
        return offsets.encode_record(offsets.Record(1, None, RECORD.key, 3, value))

    return encode


def _constructors() -> Iterator[Call]:
    fields: dict[str, Any] = {"topics": ("t",), "group_instance_id": "i", "rack": "r"}
    fields |= {"owned_partitions": (TopicPartition("t", 0),), "generation": 1, "user_data": b"", "pattern": "x.*"}
    yield _call("assignor.Subscription", Subscription, **fields, dialect="librdkafka")
    yield _call("assignor.MemberInfo", MemberInfo, member_id="a", group_instance_id="i", rack="r")
    yield _call("assignor.RebalanceProtocol.for_id", RebalanceProtocol.for_id, protocol_id=0)
    yield _call("assignor.Topics", Topics, partitions_per_topic=TOPICS)
    yield _call("assignor.Group", Group, partitions_per_topic=TOPICS, subscriptions=MEMBERS, topic_ids={})
    joined = [("a", None, ENCODED)]
    given = {"partitions_per_topic": TOPICS, "members": joined, "tolerant": True, "topic_ids": {}}
    yield _call("assignor.Group.from_wire", Group.from_wire, **given)
    yield _call("assignor.Plan.from_json", assignor.Plan.from_json, text=_plan().to_json())
    yield _call("assignor.TopicMatcher", TopicMatcher, dialect="java", include_internal=False)
    yield _call("assignor.matching.TopicPattern", TopicPattern, pattern="t.*", dialect="java")
    for kind in (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor):
        yield from _assignor_calls(f"assignor.{kind.__name__}", kind)
    kinds: tuple[type[server.ServerAssignor], ...] = (
        server.RangeAssignor,
        server.SimpleAssignor,
        server.UniformAssignor,
    )
    for of_server in kinds:
        name = f"assignor.server.{of_server.__name__}"
        yield _call(name, of_server, engine="rust")
        given = {"partitions_per_topic": TOPICS, "subscriptions": MEMBERS, "topic_ids": {"t": UUID(int=1)}}
        yield _method(f"{name}.assign", of_server, **given)
    yield from _streams_calls()


def _streams_calls() -> Iterator[Call]:
    yield _call("assignor.server.StreamsStickyAssignor", server.StreamsStickyAssignor, engine="rust")
    fields: dict[str, Any] = {"process_id": "p", "active": [("0", 0)], "standby": [("0", 1)], "warmup": [("0", 2)]}
    fields |= {"instance_id": "i", "client_tags": {"t": "u"}}
    yield _call("assignor.server.StreamsMember", server.StreamsMember, **fields)
    of_streams: dict[str, Any] = {"members": {"a": server.StreamsMember("p")}, "standby_replicas": 1}
    for engine in ("rust", "reference"):
        make = partial(server.StreamsStickyAssignor, engine=engine)
        name = f"assignor.server.StreamsStickyAssignor.assign {engine}"
        yield _method(name, make, topology={"0": (3, True)}, **of_streams)


def _assignor_calls(name: str, kind: Callable[..., Any]) -> Iterator[Call]:
    yield _call(name, kind, engine="rust")
    yield _method(f"{name}.supported_protocols", kind)
    yield _method(f"{name}.subscription_user_data", kind, topics=["t"])
    yield _method(f"{name}.assign", kind, partitions_per_topic=TOPICS, subscriptions=MEMBERS)
    for engine in ("rust", "reference"):
        members = [("a", None, ENCODED)]
        method = f"{name}.assign_encoded with {engine}"
        yield _method(method, partial(kind, engine=engine), topics=TOPICS, members=members, version=3)
    yield _method(f"{name}.on_assignment", kind, assignment=[TopicPartition("t", 0)], generation=1)


def _methods() -> Iterator[Call]:
    options = {"assignor": "sticky", "group_protocol": "classic", "prefer_rack_aware": False}
    for method in ("plan", "assign"):
        yield _method(f"assignor.Group.{method}", lambda: Group(TOPICS, MEMBERS), **options)
    for method in ("get", "__getitem__", "__contains__"):
        yield _method(f"assignor.Topics.{method}", lambda: Topics(TOPICS), **_positional(Topics, method, "t"))
        yield _method(f"assignor.Plan.{method}", _plan, **_positional(assignor.Plan, method, "a"))
    for method in ("keys", "values", "items"):
        yield _method(f"assignor.Topics.{method}", lambda: Topics(TOPICS))
    names = ("keys", "values", "items", "balance", "counts", "spans", "to_arrow", "to_json")
    for method in names:
        yield _method(f"assignor.Plan.{method}", _plan)
    yield _method("assignor.Plan.balance by weight", _plan, weights={"t": [1.0, 2.0]})
    yield _method("assignor.Findings.to_json", lambda: check({}, TOPICS, MEMBERS))
    yield _method("assignor.Plan.__eq__", _plan, **_positional(assignor.Plan, "__eq__", {"a": []}))
    yield _method("assignor.Plan.diff", _plan, other=_plan())
    yield _method("assignor.Plan.encode", _plan, version=3)
    yield _method("assignor.Plan.owner", _plan, topic="t", partition=0)
    yield _method("assignor.Plan.owners", _plan, topic="t", partition=0)
    yield _method("assignor.Plan.partitions", _plan, member="a")
    given = {"group_id": "g", "leader": "a", "clients": {"a": ("c", "h")}, "versions": 3}
    yield _method("assignor.Plan.group_metadata_size", _plan, **given)
    yield _method("assignor.Plan.group_metadata_size by member", _plan, **{**given, "versions": {"a": 3}})
    for method in ("add_topics", "remove_topics"):
        yield _method(f"assignor.TopicMatcher.{method}", _matcher, topics=["t"])
    yield _method("assignor.TopicMatcher.add_pattern", _matcher, key="x", pattern="t.*")
    for method in ("remove_pattern", "matches"):
        yield _method(f"assignor.TopicMatcher.{method}", _matcher, key="k")
    yield _method("assignor.matching.TopicPattern.matches", lambda: TopicPattern("t.*"), topic="t")


def _positional(kind: type, method: str, value: object) -> dict[str, object]:
    """Return the first argument of a method by the name that its signature has for it."""
    names = list(inspect.signature(getattr(kind, method)).parameters)
    return {names[1]: value}


CALLS = [*_pure_calls(), *_constructors(), *_methods()]
"""Calls of functions, constructors, and methods of objects without a history."""


def public_callables() -> dict[str, Any]:
    """Return all public functions, classes, and methods that the package defines, by dotted name."""
    found: dict[str, Any] = {}
    for name in ("assignor", *(f"assignor.{name}" for name in assignor._MODULES), *SUBMODULES):
        module = importlib.import_module(name)
        for each in getattr(module, "__all__", ()):
            value = getattr(module, each)
            if callable(value) and typing.get_origin(value) is not Literal:  # aliases of types can be called
                found.update(_named(f"{name}.{each}", value))
    return found


SUBMODULES = (
    "assignor.clients.kafka_python",
    "assignor.clients.aiokafka",
    "assignor.cluster.confluent",
    "assignor.spark.progress",
    "assignor.spark.session",
    "assignor.spark.sources",
    "assignor.member.events",
    "assignor.member.effects",
)
"""Public modules inside of public modules."""


def _named(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    yield name, value
    if not inspect.isclass(value):
        return
    for base in value.__mro__:
        if base.__module__.partition(".")[0] == "assignor":
            for method, member in vars(base).items():
                is_public = not method.startswith("_")
                if is_public and (callable(member) or isinstance(member, (classmethod, staticmethod))):
                    yield f"{name}.{method}", member
