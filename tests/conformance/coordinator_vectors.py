"""Replay of the vectors of the kind `coordinator`: requests of classic groups and the responses of a real broker.

The files are `coordinator_*.jsonl.gz` in `tests/vectors` or in the folder `ASSIGNOR_VECTORS`, with a trace per line. A
trace has the settings of the broker, the member ids that it generated, and the steps of one group: requests with their
responses, waits, and results of DescribeGroups (observations). `play` sends the requests to a coordinator in virtual
time, and `differences` compares the outcomes with the broker's. Nothing is skipped: an unknown API, version or field is
an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from assignor.coordinator import Coordinator, CoordinatorConfig, Effects
from tests.coordinator.messages import KIND, MESSAGES, Json
from tests.support.vector_fields import check_fields, metadata, without_metadata
from tests.support.vector_files import of_kind

_SETTINGS = {"initial_rebalance_delay_ms", "min_session_timeout_ms", "max_session_timeout_ms", "group_max_size"}
_REQUEST = {"i", "at_ms", "member", "client_id", "api", "version", "request", "response", "released_by"}

_GROUP = "group"
_NEVER_MS = 10**15
"""Time in milliseconds that no trace reaches."""

_TOPICS = {"t0": 2}
"""Topics of the broker with their partition counts."""

_UUID_LENGTH = 36
_BY_TIME = {"time": True}


class Outcome(NamedTuple):
    """Outcome of one step of a trace, with aliases instead of member ids and group ids.

    Attributes:
        by_time: Responses that were sent while the timers ran up to the step, by the step of their request.
        by_step: Responses that were sent while the request of the step was handled, by the step of their request.
        prefixes: Prefixes of the member ids that the coordinator generated.
        observed: Description of the group, if the step is an observation.
    """

    by_time: dict[int, Json]
    by_step: dict[int, Json]
    prefixes: list[str]
    observed: Json | None


# ---- files


def files(place: Path) -> list[Path]:
    """Return the files of the kind `coordinator`; raise FileNotFoundError if there are none."""
    return of_kind(KIND, place, ".jsonl.gz")


# ---- outcomes of our coordinator


RunTimers = Callable[[Coordinator, int], Iterable[Effects]]


def run_at_once(coordinator: Coordinator, now: int) -> list[Effects]:
    """Run the timers of a coordinator up to a time, in one call."""
    return [coordinator.expire(now)]


class _MemberIds:
    """Factory that returns the member ids that the broker generated, and records the requested prefixes."""

    def __init__(self) -> None:
        self.next_id: str | None = None
        self.prefixes: list[str] = []

    def __call__(self, prefix: str) -> str:
        self.prefixes.append(prefix)
        return self.next_id or f"{prefix}-unexpected-{len(self.prefixes)}"


class Replay:
    """Replay of one trace on a coordinator, step by step.

    Args:
        trace: The trace.
        coordinator: Factory of the coordinator.
        run_timers: Function that runs its timers up to a time; by default one call of `expire`.
    """

    def __init__(
        self,
        trace: Json,
        coordinator: Callable[..., Coordinator] = Coordinator,
        run_timers: RunTimers = run_at_once,
    ) -> None:
        self.name = str(trace.get("name"))
        self._ids = {"$group": _GROUP, **_ids(trace)}
        self._aliases = {real: alias for alias, real in self._ids.items()}
        self._member_ids = _MemberIds()
        self._run_timers = run_timers
        self._waiting: dict[int, Json] = {}
        self.coordinator = coordinator(
            CoordinatorConfig(
                **{name: trace["broker"][name] for name in _SETTINGS},
                offsets_retention_ms=_NEVER_MS,
                offsets_retention_check_interval_ms=_NEVER_MS,
            ),
            partitions_per_topic=_TOPICS,
            member_ids=self._member_ids,
        )

    def outcome(self, entry: Json) -> Outcome:
        """Return the outcome of the next step."""
        now = entry["at_ms"]
        self._member_ids.prefixes, self._member_ids.next_id = [], None
        by_time: dict[int, Json] = {}
        by_step: dict[int, Json] = {}
        for effects in self._run_timers(self.coordinator, now):
            self._answered(by_time, effects)
        if "api" in entry:
            self._member_ids.next_id = self._ids[entry["generates"]] if "generates" in entry else None
            self._waiting[entry["i"]] = entry
            ask, given = MESSAGES[entry["api"]].ask, self._with_ids(entry["request"])
            self._answered(by_step, ask(self.coordinator, given, entry["version"], entry["client_id"], now, entry["i"]))
        observed = self._observed() if "observe" in entry else None
        return Outcome(by_time, by_step, self._member_ids.prefixes, observed)

    def _answered(self, answers: dict[int, Json], effects: Effects) -> None:
        for step, response in effects.answers:
            entry = self._waiting.pop(step, None) if isinstance(step, int) else None
            if entry is None:
                raise AssertionError(
                    f"{self.name}: a response to step {step!r}, which has no pending request: {response}"
                )
            answers[entry["i"]] = self._with_aliases(
                MESSAGES[entry["api"]].show(response, entry["request"], entry["version"])
            )

    def _observed(self) -> Json:
        found = self.coordinator.describe(_GROUP)
        members = [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "client_id": member.client_id,
                "metadata": member.metadata.hex(),
                "assignment": member.assignment.hex(),
            }
            for member in found.members
        ]
        shown: Json = self._with_aliases(
            {
                "error_code": 0,
                "state": found.state.value,
                "protocol_type": found.protocol_type,
                "protocol": found.protocol,
                "members": members,
            }
        )
        return shown

    def _with_ids(self, value: Any) -> Any:
        """Replace aliases in the fields of a request by real ids."""
        return _replaced(value, lambda text: self._ids[text] if text.startswith("$") else text)

    def _with_aliases(self, value: Any) -> Any:
        """Replace real ids in the fields of a response by aliases."""
        return _replaced(value, lambda text: self._aliases.get(text, text))


def _replaced(value: Any, replace: Callable[[str], str]) -> Any:
    """Return JSON with a function applied to each text."""
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, dict):
        return {name: _replaced(each, replace) for name, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, replace) for each in value]
    return value


def play(
    trace: Json, coordinator: Callable[..., Coordinator] = Coordinator, run_timers: RunTimers = run_at_once
) -> Iterator[Outcome]:
    """Yield the outcome of each step of a trace. It depends on the requests and their times only."""
    replay = Replay(trace, coordinator, run_timers)
    for entry in trace["steps"]:
        try:
            outcome = replay.outcome(entry)
        except Exception as error:
            error.add_note(f"{replay.name}, step {entry['i']}: {entry}")
            raise
        yield outcome


# ---- comparison with the broker


def differences(trace: Json, outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Yield a sentence for each difference between the outcomes and the broker's responses.

    Args:
        trace: Trace that `check_form` accepts.
        outcomes: Outcomes of its steps.
    """
    name, ids, steps = str(trace.get("name")), _ids(trace), trace["steps"]
    due: dict[int, set[int]] = {}
    late = set()
    for entry in steps:
        released_by = _released_by(entry)
        if released_by == _BY_TIME:
            late.add(entry["i"])
        elif released_by is not None:
            due.setdefault(released_by["step"], set()).add(entry["i"])
    for number, (entry, outcome) in enumerate(zip(steps, outcomes, strict=True)):
        where = f"{name}, step {number}"
        for answers, cause in ((outcome.by_time, _BY_TIME), (outcome.by_step, {"step": number})):
            for step, response in answers.items():
                yield from _compare_answer(where, steps[step], response, cause)
        for step in sorted(due.get(number, set()) - outcome.by_step.keys()):
            yield f"{where}: no response to step {step}"
        late -= outcome.by_time.keys()
        prefixes = [ids[entry["generates"]][: -len("-") - _UUID_LENGTH]] if "generates" in entry else []
        if prefixes != outcome.prefixes:
            yield f"{where}: prefixes of generated member ids: expected {prefixes}, got {outcome.prefixes}"
        if outcome.observed is not None:
            yield from _compare_fields(f"{where}, the group", entry["observe"], outcome.observed)
    for step in sorted(late):
        yield f"{name}: no response to step {step}; expected: a response after a timer expires"


def _compare_answer(where: str, entry: Json, response: Json, cause: Json) -> Iterator[str]:
    what = f"{where}, the response to step {entry['i']}"
    if entry["response"] is None:
        yield f"{what}: expected: none; got {response}"
    elif _released_by(entry) != cause:
        yield f"{what}: expected: released by {entry['released_by']}; got {response} by {cause}"
    else:
        yield from _compare_fields(what, entry["response"], response)


def _compare_fields(where: str, expected: Json, found: Json) -> Iterator[str]:
    expected = without_metadata(KIND, expected, found)
    for field in sorted(expected.keys() | found.keys()):
        if field not in expected or field not in found:
            yield f"{where}: {field} is {'unexpected' if field in found else 'missing'}"
        elif expected[field] != found[field] or type(expected[field]) is not type(found[field]):
            yield f"{where}: {field}: expected {expected[field]!r}, got {found[field]!r}"


# ---- the form of a trace


def check_form(trace: Json) -> None:
    """Check the form of a trace.

    Raises:
        ValueError: A field is missing or unknown, or has an invalid value.
    """
    name = str(trace.get("name"))
    check_fields(KIND, name, trace, {"broker", "ids", "steps"})
    check_fields(KIND, f"{name}, the broker", trace["broker"], _SETTINGS, {"version"})
    ids, steps = _ids(trace), trace["steps"]
    if len(set(ids.values())) != len(ids) or not steps:
        raise ValueError(f"{name}: two aliases have the same id, or there are no steps")
    now = 0
    for number, entry in enumerate(steps):
        where = f"{name}, step {number}"
        if entry.get("i") != number or not now <= entry.get("at_ms", -1):
            raise ValueError(f"{where}: out of order")
        now = entry["at_ms"]
        if "api" in entry:
            _check_request(where, entry, ids, len(steps))
        elif "wait_ms" in entry:
            check_fields(KIND, where, entry, {"i", "at_ms", "wait_ms"})
            now += entry["wait_ms"]
        else:
            check_fields(KIND, where, entry, {"i", "at_ms", "observe"})


def _check_request(where: str, entry: Json, ids: Json, steps: int) -> None:
    check_fields(KIND, where, entry, _REQUEST, {"generates"})
    message = MESSAGES.get(entry["api"])
    if message is None or entry["version"] not in message.versions:
        raise ValueError(f"{where}: unknown request: {entry['api']!r} of version {entry['version']!r}")
    check_fields(KIND, f"{where}, the request", entry["request"], message.carried(entry["version"]))
    known = {"$group", *ids}
    unknown = [text for text in _texts(entry["request"]) if text.startswith("$") and text not in known]
    generates = entry.get("generates", f"${entry['member']}")
    if unknown or ("generates" in entry and generates not in ids) or not generates.startswith(f"${entry['member']}"):
        raise ValueError(f"{where}: unknown aliases: {[*unknown, generates]}")
    released_by, response = _released_by(entry), entry["response"]
    if released_by is None or released_by == _BY_TIME:
        known_release = True
    else:
        known_release = released_by.keys() == {"step"} and released_by["step"] in range(entry["i"], steps)
    if not known_release or (released_by is None) != (response is None):
        raise ValueError(f"{where}: released_by {released_by} does not fit the response {response}")


def _ids(trace: Json) -> dict[str, str]:
    """Return the real member id of each alias."""
    return {alias: real for alias, real in trace["ids"].items() if alias not in metadata(KIND)}


def _released_by(entry: Json) -> Json | None:
    """Return what released the answer to a request, without metadata."""
    released_by: Json | None = entry.get("released_by")
    return released_by and {name: value for name, value in released_by.items() if name not in metadata(KIND)}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
