"""Programs of simulations: members, topics, settings and a list of steps, all drawn from a seed.

A printed program is Python code that creates the same program again. `run(Program(...))` then has the same outcome,
because random choices during the run (lost messages, delays) depend only on the seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from kio.schema.errors import ErrorCode

from tests.member.simulation.coordinator_settings import CoordinatorSettings

__all__ = ["ClientPlan", "Program", "Step", "draw_program"]

PASSING = (ErrorCode.coordinator_load_in_progress, ErrorCode.coordinator_not_available, ErrorCode.not_coordinator)
FENCING = (ErrorCode.unknown_member_id, ErrorCode.fenced_member_epoch)
FATAL = (ErrorCode.group_authorization_failed, ErrorCode.invalid_request, ErrorCode.unknown_server_error)
PATTERNS = ("t[0-2]", "t.*", "t1|t3", ".*")


@dataclass(frozen=True, slots=True)
class ClientPlan:
    """One application with a member; times are in milliseconds.

    Attributes:
        topics: Initially subscribed topic names.
        pattern: Initially subscribed pattern.
        instance_id: Instance id of a static member.
        starts_at: Start time.
        poll_every: Interval between polls.
        options: Further options of its `Member`, by name.
    """

    topics: tuple[str, ...]
    pattern: str | None = None
    instance_id: str | None = None
    starts_at: int = 0
    poll_every: int = 400
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One action at a given time.

    Attributes:
        at: Time of the action.
        do: Name of the action; `Simulator` has a method `_do_<name>`.
        client: Index of the client, if the action concerns one.
        value: Argument of the method.
    """

    at: int
    do: str
    client: int | None = None
    value: Any = None


@dataclass(frozen=True, slots=True)
class Program:
    """A whole simulation.

    Attributes:
        seed: Seed of the random choices during the run.
        settings: Settings of the coordinator.
        topics: Initial topics with their partition counts.
        clients: The applications.
        steps: The actions, by time.
        faults_end_at: Time after which there are no more faults.
    """

    seed: int
    settings: CoordinatorSettings
    topics: tuple[tuple[str, int], ...]
    clients: tuple[ClientPlan, ...]
    steps: tuple[Step, ...]
    faults_end_at: int

    @property
    def settling_limit_ms(self) -> int:
        """Longest time that the group may take to settle after the last fault.

        The removal of a lost member may take a session timeout and a rebalance timeout, and may be needed twice in a
        row. Patterns are resolved only every ten seconds.
        """
        options = [dict(client.options) for client in self.clients]
        rebalance: int = max(each["rebalance_timeout_ms"] for each in options)
        request: int = max(each["request_timeout_ms"] for each in options)
        steps = 30 * (self.settings.heartbeat_interval_ms + self.settings.assignment_interval_ms)
        by_pattern = any(client.pattern for client in self.clients) or any(
            step.do == "subscribe" and step.value[1] for step in self.steps
        )
        return 2 * (self.settings.session_timeout_ms + rebalance + request) + steps + (25_000 if by_pattern else 0)


def draw_program(seed: int) -> Program:
    """Return the program of a seed."""
    rng = random.Random(seed)
    heartbeat = rng.choice([200, 500, 1000])
    settings = CoordinatorSettings(
        heartbeat_interval_ms=heartbeat,
        session_timeout_ms=rng.choice([3, 6, 12]) * heartbeat + 2000,
        assignment_interval_ms=rng.choice([0, 0, 300, 1000]),
    )
    topics = tuple((f"t{index}", rng.randint(1, 5)) for index in range(rng.randint(1, 4)))
    names = [name for name, _ in topics]
    by_pattern = rng.random() < 0.2
    assignors = rng.choice([(None,), (None, "range"), ("uniform", "range"), ("range",)])
    clients = tuple(
        _draw_client(rng, index, names, assignors, by_pattern=by_pattern) for index in range(rng.randint(2, 6))
    )
    length = rng.choice([5_000, 10_000, 20_000])
    steps = sorted(
        (_draw_step(rng, length, len(clients), by_pattern=by_pattern) for _ in range(rng.randint(2, 20))),
        key=lambda step: step.at,
    )
    return Program(seed, settings, topics, clients, tuple(steps), length)


def _draw_client(
    rng: random.Random, index: int, names: list[str], assignors: tuple[str | None, ...], *, by_pattern: bool
) -> ClientPlan:
    topics, pattern = _draw_subscription(rng, names, by_pattern=by_pattern)
    options: dict[str, Any] = {
        "rebalance_timeout_ms": rng.choice([1500, 3000, 8000]),
        "request_timeout_ms": rng.choice([800, 2000, 5000]),
        "auto_commit": rng.random() < 0.4,
    }
    server_assignor = rng.choice(assignors)
    if server_assignor:
        options["server_assignor"] = server_assignor
    if rng.random() < 0.3:
        options["jitter"] = 0
    for option in ("heartbeat_while_preparing_to_leave", "heartbeat_while_fenced", "join_at_once"):
        if rng.random() < 0.25:
            options[option] = True
    return ClientPlan(
        topics,
        pattern,
        instance_id=f"i{index}" if rng.random() < 0.3 else None,
        starts_at=rng.choice([0, 0, rng.randint(0, 4000)]),
        poll_every=rng.choice([200, 400, 900]),
        options=tuple(sorted(options.items())),
    )


def _draw_subscription(rng: random.Random, names: list[str], *, by_pattern: bool) -> tuple[tuple[str, ...], str | None]:
    if by_pattern and rng.random() < 0.6:
        return (), rng.choice(PATTERNS)
    if rng.random() < 0.6:
        return tuple(names), None
    return tuple(sorted(rng.sample(names, rng.randint(1, len(names))))), None


def _draw_step(rng: random.Random, length: int, clients: int, *, by_pattern: bool) -> Step:
    at, client = rng.randrange(length), rng.randrange(clients)
    kinds = {
        "network": 6, "crash": 2, "leave": 2, "subscribe": 3, "stall": 2, "freeze": 2, "callbacks": 4, "commits": 3,
        "metadata": 3, "disconnect": 1, "error": 2, "transport": 1, "fail_over": 1, "topics": 2,
    }  # fmt: skip
    do = rng.choices(list(kinds), list(kinds.values()))[0]
    value: Any = None
    match do:
        case "network":
            value = rng.choice([20, 200, 1500]), rng.choice([0.0, 0.1, 0.5, 0.9]), rng.choice([0.0, 0.3])
        case "crash":
            value = rng.choice([None, 0, 50, 1000, 6000])
        case "subscribe":
            value = _draw_subscription(rng, ["t0", "t1", "t2", "t3"], by_pattern=by_pattern)
        case "stall" | "freeze" | "fail_over":
            value = rng.choice([300, 2000, 6000, 12_000])
        case "callbacks":
            value = rng.choice([0, 100, 1000, 4000]), rng.choice([0.0, 0.2, 0.5])
        case "commits":
            value = rng.choice([0, 100, 2000]), rng.choice([0.0, 0.3]), rng.choice([0.0, 0.3])
        case "metadata":
            value = rng.choice([0, 300, 3000]), rng.choice([0.0, 0.3, 0.9])
        case "error":
            code = rng.choice(rng.choices([PASSING, FENCING, FATAL], [12, 5, 1])[0])
            value = int(code), rng.random() < 0.5
        case "transport":
            value = rng.random() < 0.9
        case "topics":
            value = ((f"t{rng.randrange(5)}", rng.choice([0, 1, 3, 6])),)
        case _:
            pass
    return Step(at, do, None if do in ("fail_over", "topics") else client, value)
