"""Statistics of recordings: requests by version, error codes and states."""

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
        given_up: Programs without a complete try.
        repeated: Aborted tries by reason.
        versions: Requests by API and version.
        codes: Responses by API and Kafka's name of the error code.
        states: DescribeGroups responses by state.
    """

    programs: int = 0
    given_up: int = 0
    repeated: Counter[str] = field(default_factory=Counter)
    versions: Counter[tuple[str, int]] = field(default_factory=Counter)
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)


def count(played: Iterable[Played]) -> Counts:
    """Return the statistics of the last tries."""
    counts = Counts()
    for each in played:
        counts.programs += 1
        counts.given_up += each.is_spoilt
        counts.repeated.update(each.spoilt)
        for entry in each.recording.entries:
            _count_entry(counts, entry)
    return counts


def _count_entry(counts: Counts, entry: Entry) -> None:
    counts.versions["DescribeGroups", entry.look] += 1
    group = entry.looked.groups[0]
    counts.states[group.group_state] += 1
    counts.codes["DescribeGroups", group.error_code.name.upper()] += 1
    if entry.request is not None:
        counts.versions[_api(entry.request), entry.request.version] += 1
    for answer in entry.answers.values():
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
