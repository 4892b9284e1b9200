"""Benchmarks of leaders in kafka-python and aiokafka, with the clients' own assignors and with ours.

The step of the assignor starts with the decoded subscriptions and the cluster metadata that the client passes to it. It
ends with the bytes of each member in the SyncGroup request. The whole step also includes the client's own decoding of
the subscriptions in the JoinGroup response. Every member has its own `str` objects, because a client decodes each
member separately.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assignor import Subscription, check
from assignor.wire import decode_assignment, encode_subscription
from benches import peers
from benches.bench_assign import TALL, WIDE
from benches.checks import require
from benches.implementations import IMPLEMENTATIONS, forget_answers, right_answer
from benches.report import Part, Row, Run, Target, missing, section, shown
from benches.timing import interleave, ratio, sampler
from benches.workloads import Workload

OVER_CLIENTS = {
    **dict.fromkeys(((workload, "kafka-python") for workload in (WIDE, TALL)), 60.0),
    **dict.fromkeys(((workload, "aiokafka") for workload in (WIDE, TALL)), 80.0),
    **{(Workload(1000, 100, 10, assignor="sticky"), client): 500.0 for client in ("kafka-python", "aiokafka")},
}
"""The smallest ratios of the time of a client's own assignor and encoder to ours, by group and client."""

Encoded = Mapping[str, bytes]


def kafka_python(workload: Workload) -> Callable[[], Any]:
    """Return the function with which kafka-python decodes the members of a JoinGroup response."""
    from kafka.protocol.consumer.group import JoinGroupResponse
    from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

    joined = [
        (JoinGroupResponse.JoinGroupResponseMember(version=7, member_id=member, group_instance_id=None), data)
        for member, data in _subscriptions(workload)
    ]

    def decode() -> Any:
        for member, data in joined:
            member.metadata = ConsumerProtocolSubscription.decode(data)
        return [member for member, _ in joined]

    return decode


def aiokafka(workload: Workload) -> Callable[[], Any]:
    """Return the function with which aiokafka decodes the members of a JoinGroup response."""
    from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata

    joined = _subscriptions(workload)
    return lambda: {member: ConsumerProtocolMemberMetadata.decode(data) for member, data in joined}


CLIENTS = {
    "kafka-python": (kafka_python, "kafka", "assignor.clients.kafka_python"),
    "aiokafka": (aiokafka, "aiokafka", "assignor.clients.aiokafka"),
}
"""The clients by name: the decoding function, its package, and the module of our assignors."""


def _subscriptions(workload: Workload) -> list[tuple[str, bytes]]:
    """Return the members with the subscriptions that Kafka's consumer writes in version 3."""
    encode = functools.lru_cache(maxsize=1)(lambda topics: encode_subscription(Subscription(topics)))
    named: Any = workload.subscriptions()  # lists of topics, as these workloads have no racks
    return [(member, encode(tuple(topics))) for member, topics in named.items()]


def calls(name: str, workload: Workload) -> dict[str, Callable[[], Encoded]]:
    """Return the calls to time, after their answers are checked.

    Raises:
        WrongAnswerError: An answer is wrong.
    """
    prepare, package, module = CLIENTS[name]
    decode, own = prepare(workload), peers.assignors(package)[workload.assignor]
    ours = getattr(importlib.import_module(module), f"{workload.assignor.capitalize()}Assignor")
    cluster = peers.Cluster(workload)

    def step(assignor: Callable[[], Any], decode: Callable[[], Any]) -> Encoded:
        # The sticky assignors keep state, so each call has an instance of its own.
        answer = assignor().assign(cluster, decode())
        return {member: assignment.encode() for member, assignment in answer.items()}

    decoded = decode()
    found: dict[str, Callable[[], Encoded]] = {
        "client's": functools.partial(step, own, lambda: decoded),
        "ours": functools.partial(step, ours, lambda: decoded),
        "whole, client's": functools.partial(step, own, decode),
        "whole, ours": functools.partial(step, ours, decode),
    }
    _assert_right("assignor", workload, found["ours"]())
    _assert_right(f"{name}'s assignor", workload, found["client's"]())
    return found


def _assert_right(name: str, workload: Workload, encoded: Encoded) -> None:
    expected = right_answer(workload)
    answer = {member: set(decode_assignment(data).partitions) for member, data in encoded.items()}
    if name != "assignor" and workload.assignor == "sticky":  # the peers move other partitions than Kafka
        sizes = sorted(map(len, answer.values()))
        topics, subscriptions = workload.partitions_per_topic(), workload.subscriptions()
        is_right = not check(answer, topics, subscriptions) and sizes == sorted(expected.counts())
    else:
        is_right = answer == {member: set(partitions) for member, partitions in expected.items()}
    require(is_right, f"{name} is wrong about {workload.name}")


@section(
    "clients",
    "Leaders in Python clients",
    "Milliseconds, min / median, and the time of the client's own assignor divided by that of the assignor of this "
    "package that plugs into the client. The step of the assignor goes from decoded subscriptions and the client's "
    "metadata to the bytes of each member in SyncGroup. The whole step also decodes the subscriptions, which the "
    "client does itself with either assignor. kB: size of all assignments; the clients' `range` also writes an entry "
    "for each topic in which the member gets no partition. Times include freeing the result.",
)
def clients(run: Run) -> Iterator[Part]:
    workloads = dict.fromkeys(workload for workload, _ in OVER_CLIENTS)
    few = [Workload(20, 10, 4), Workload(20, 10, 4, assignor="sticky")]
    installed = [name for name in CLIENTS if IMPLEMENTATIONS[name].version]
    for name, workload in itertools.product(installed, run.of(list(workloads), few)):
        case = f"{workload.name}, {name}"
        run.report(case)
        made = calls(name, workload)
        ours, theirs = (f"{sum(map(len, made[column]().values())) / 1000:,.0f}" for column in ("ours", "client's"))
        forget_answers()
        times = interleave({column: sampler(call, frees=True) for column, call in made.items()}, run.pace(3))
        part, whole = ratio(times, "client's", "ours"), ratio(times, "whole, client's", "whole, ours")
        factors = {"ratio": f"{shown(part)}x", "whole, ratio": f"{shown(whole)}x"}
        yield Row(case, times, {**factors, "kB, client's": theirs, "kB": ours})
        if wanted := OVER_CLIENTS.get((workload, name)):
            yield Target(f"{name}'s assignor / ours, {workload.name}", part, wanted)
    yield from missing(name for name in CLIENTS if name not in installed)
