"""Statistics of recordings: requests by version, error codes and states, and their text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.broker.classic_requests import DeleteRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.broker.classic_comparison import Entry
    from tests.broker.classic_play import Played


@dataclass
class Counts:
    """Counters.

    Attributes:
        programs: Played programs.
        requests: Requests without DescribeGroups.
        versions: Requests by API and version.
        codes: Responses by API and Kafka's name of the error code.
        states: DescribeGroups responses by state.
        released: Responses that a later request or a timer released.
        unanswered: Requests without a response.
        repeated: Aborted tries by reason.
        given_up: Programs without a complete try.
        looks: Repeated DescribeGroups requests.
        slowest_ms: Slowest immediate response, in milliseconds.
    """

    programs: int = 0
    requests: int = 0
    versions: Counter[tuple[str, int]] = field(default_factory=Counter)
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    released: int = 0
    unanswered: int = 0
    repeated: Counter[str] = field(default_factory=Counter)
    given_up: int = 0
    looks: int = 0
    slowest_ms: float = 0.0

    def __str__(self) -> str:
        lines = [
            f"{self.programs} sequences, {self.requests} requests, {sum(self.states.values())} descriptions; "
            f"{self.repeated.total()} tries repeated, {self.given_up} sequences given up, "
            f"{self.looks} descriptions repeated, slowest response {self.slowest_ms:.0f} ms",
            f"{self.released} responses released by a later step, {self.unanswered} requests without a response",
            "repeated: " + ", ".join(f"{why} {count}" for why, count in sorted(self.repeated.items())),
            "states: " + ", ".join(f"{state} {count}" for state, count in sorted(self.states.items())),
        ]
        for api in sorted({api for api, _ in self.versions}):
            versions = (f"v{each} {count}" for (name, each), count in sorted(self.versions.items()) if name == api)
            codes = (f"{code} {count}" for (name, code), count in sorted(self.codes.items()) if name == api)
            lines.append(f"{api}: {', '.join(versions)}; {', '.join(codes)}")
        return "\n".join(lines)


def count(played: Iterable[Played]) -> Counts:
    """Return the statistics of the last tries."""
    counts = Counts()
    for each in played:
        counts.programs += 1
        counts.repeated.update(each.spoilt)
        counts.given_up += each.is_spoilt
        counts.looks += each.looks
        counts.slowest_ms = max(counts.slowest_ms, each.slowest_ms)
        asked, answered = 0, 0
        for entry in each.recording.entries:
            asked += entry.request is not None
            answered += len(entry.answers)
            _count_entry(counts, entry)
        counts.requests += asked
        counts.unanswered += asked - answered
    return counts


def _count_entry(counts: Counts, entry: Entry) -> None:
    counts.versions["DescribeGroups", entry.look] += 1
    group = entry.looked.groups[0]
    counts.states[group.group_state] += 1
    counts.codes["DescribeGroups", group.error_code.name.upper()] += 1
    if entry.request is not None:
        counts.versions[_api(entry.request), entry.request.version] += 1
    for number, answer in entry.answers.items():
        counts.released += number != entry.number
        api = type(answer).__name__.removesuffix("Response")
        for code in {code.name.upper() for code in _codes(answer)}:
            counts.codes[api, code] += 1


def _api(request: Any) -> str:
    return "DeleteGroups" if isinstance(request, DeleteRequest) else type(request).__name__.removesuffix("Request")


def _codes(answer: Any) -> Iterator[Any]:
    """Yield the error codes anywhere in a response."""
    if hasattr(answer, "error_code"):
        yield answer.error_code
    for topic in getattr(answer, "topics", ()):
        for partition in topic.partitions:
            yield partition.error_code
    for nested in (*getattr(answer, "members", ()), *getattr(answer, "results", ())):
        if hasattr(nested, "error_code"):
            yield nested.error_code
