"""Tests of assignors in consumers and calls that cannot use them: the error names the right import."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor

import assignor.server
from assignor import assign
from assignor.clients import aiokafka, kafka_python
from assignor.errors import WrongTypeError
from tests.clients import aiokafka_group, kafka_python_group
from tests.clients.kafka_python_group import Leader, coordinator

if TYPE_CHECKING:
    from collections.abc import Iterable

OF_NO_CLIENT = (
    assignor.RangeAssignor,
    assignor.StickyAssignor,
    assignor.CooperativeStickyAssignor,
    assignor.server.RangeAssignor,
    assignor.server.UniformAssignor,
)


def right_import(client: str, name: str) -> str:
    """Return the import that the error for a consumer of a client names."""
    names = ["RangeAssignor", "RoundRobinAssignor", "StickyAssignor"]
    if client == "kafka_python":
        names.append("CooperativeStickyAssignor")
    right = name if name in names else ", ".join(names)
    return f"is not for consumers of {client.replace('_', '-')}: use `from assignor.clients.{client} import {right}`"


@pytest.mark.parametrize("kind", [*OF_NO_CLIENT, aiokafka.RangeAssignor, aiokafka.StickyAssignor])
@pytest.mark.parametrize("given", ["class", "instance"])
def test_a_consumer_of_kafka_python_gets_the_right_import_when_it_is_created(kind: Any, given: str) -> None:
    with pytest.raises(WrongTypeError) as raised:
        coordinator(kind if given == "class" else kind())

    assert str(raised.value).endswith(f"{kind.__name__} {right_import('kafka_python', kind.__name__)}")
    assert str(raised.value).startswith(("assignor.server.", "assignor.clients.aiokafka.", f"assignor.{kind.__name__}"))


@pytest.mark.parametrize("kind", [*OF_NO_CLIENT, kafka_python.RangeAssignor, kafka_python.CooperativeStickyAssignor])
@pytest.mark.parametrize("given", ["class", "instance"])
def test_a_consumer_of_aiokafka_gets_the_right_import_when_it_joins(kind: Any, given: str) -> None:
    consumer = aiokafka_group.coordinator(kind if given == "class" else kind())

    with pytest.raises(WrongTypeError) as raised:
        asyncio.run(aiokafka_group.join(consumer, "t"))
    assert str(raised.value).endswith(f"{kind.__name__} {right_import('aiokafka', kind.__name__)}")


def test_other_code_gets_both_imports() -> None:
    with pytest.raises(AttributeError) as raised:
        _ = assignor.RangeAssignor().metadata

    assert str(raised.value) == (
        "assignor.RangeAssignor is not for consumers of Python clients: use "
        "for kafka-python `from assignor.clients.kafka_python import RangeAssignor`, "
        "or for aiokafka `from assignor.clients.aiokafka import RangeAssignor`"
    )
    assert not hasattr(assignor.StickyAssignor, "metadata")


def test_an_assignor_of_ones_own_may_use_those_of_the_package() -> None:
    class Own(AbstractPartitionAssignor):  # type: ignore[misc]  # the client has no types
        name = "sticky"

        def __init__(self) -> None:
            self.rules, self.plugged = assignor.StickyAssignor(), kafka_python.StickyAssignor()

        def assign(self, cluster: Any, members: Any) -> Any:
            return self.plugged.assign(cluster, members)

        def metadata(self, topics: Iterable[str]) -> Any:
            assert self.rules.subscription_user_data(topics) is None
            return self.plugged.metadata(topics)

        def on_assignment(self, assignment: Any, generation: int) -> None:
            self.plugged.on_assignment(assignment, generation)

    assert {("t", 0), ("t", 1)} == Leader({"t": 2}, Own, "t").rebalance()


def test_the_interfaces_of_assign_cannot_be_mistaken() -> None:
    of_kafka_python, of_aiokafka = kafka_python_group.cluster({"t": 1}), aiokafka_group.cluster({"t": 1})
    for module, client in ((kafka_python, "kafka-python"), (aiokafka, "aiokafka")):
        message = (
            f"^cluster must be a ClusterMetadata of {client}, not dict: .*; for mappings use assignor.RangeAssignor$"
        )
        with pytest.raises(WrongTypeError, match=message):
            module.RangeAssignor().assign({"t": 1}, {"m": ["t"]})
    for cluster, used in ((of_kafka_python, "kafka_python"), (of_aiokafka, "aiokafka")):
        message = rf"^partitions_per_topic must be a mapping, not ClusterMetadata: .* assignor\.clients\.{used}\.Range"
        with pytest.raises(WrongTypeError, match=message):
            assignor.RangeAssignor().assign(cluster, {"m": ["t"]})


def test_a_coordinator_cannot_use_an_assignor_for_consumers() -> None:
    from assignor.coordinator import Coordinator

    message = re.escape(
        "Coordinator: assignor must be a PartitionAssignor such as assignor.RangeAssignor(), not "
        "RangeAssignor: RangeAssignor()"
    )
    for module in (kafka_python, aiokafka):
        with pytest.raises(WrongTypeError, match=f"^{message}$"):
            Coordinator(assignor=module.RangeAssignor(), partitions_per_topic={"t": 1})


def test_aiokafka_has_no_cooperative_sticky() -> None:
    with pytest.raises(AttributeError, match=r"consumers of aiokafka rebalance eagerly; use StickyAssignor$"):
        _ = aiokafka.CooperativeStickyAssignor


def test_the_name_of_an_assignor_is_what_assign_takes() -> None:
    for kind in (kafka_python.RangeAssignor, aiokafka.RangeAssignor, assignor.RangeAssignor):
        with pytest.raises(WrongTypeError, match=r"^assignor must be a name such as 'range', or None"):
            assign({"t": 1}, {"m": ["t"]}, assignor=kind)  # type: ignore[arg-type]  # the wrong type
        assert assign({"t": 1}, {"m": ["t"]}, assignor=kind.name)
