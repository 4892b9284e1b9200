"""Generator of the tables and diagrams in the README, CONTRIBUTING.md and docs: `python -m docs.generate [--check]`.

A generated part is between `<!-- generated: name -->` and `<!-- end -->`. Its sources are tables and docstrings in
the code, recorded data and measured figures, so a page cannot contradict them. Long parts are on the site only, which
`make site` builds: there, the part replaces what is between `<!-- built: name -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from assignor.coordinator import ErrorCode, GroupState, RebalanceCause
from assignor.coordinator import state as group_state
from assignor.member import MemberState
from assignor.member.error_codes import ERRORS, UNKNOWN_SERVER_ERROR, heartbeat_error
from assignor.member.state_machine import TRANSITIONS, Trigger
from assignor.replay.events import FIELDS, MEANINGS
from docs import api, concept_pictures, covered_lines, measured, share_picture, task_picture
from docs.assignor_pictures import Assignment, moved, ownership, settled

DOCS = Path(__file__).resolve().parent
SIMULATION = DOCS / "simulation.json"
DEVIATIONS = DOCS.parent / "tests" / "conformance" / "deviations.json"
LIFE = DOCS.parent / "tests" / "vectors" / "member_timeline.json.gz"


def state_diagram() -> str:
    """Return a mermaid diagram of the member's transitions: those to another state, and new assignments."""
    edges: dict[tuple[MemberState, MemberState], list[str]] = {}
    for state, row in TRANSITIONS.items():
        for trigger, after in row.items():
            if after is not state or trigger is Trigger.ASSIGNED:
                edges.setdefault((state, after), []).append(trigger.value)
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {MemberState.UNSUBSCRIBED.name}"]
    lines += [f"    {state.name} --> {after.name}: {' / '.join(words)}" for (state, after), words in edges.items()]
    return "\n".join([*lines, "```"])


def error_table() -> str:
    """Return a table of the reactions to error codes."""
    rows = [(str(code), f"`{error.name}`", error.reaction.value) for code, error in ERRORS.items()]
    return table(
        ("code", "error", "reaction"),
        [*rows, ("any other", "", heartbeat_error(UNKNOWN_SERVER_ERROR).reaction.value)],
    )


def life_table() -> str:
    """Return a table of the recorded events of one member of a real group."""
    life: list[dict[str, Any]] = json.loads(gzip.decompress(LIFE.read_bytes()))
    rows = [(f"{entry['at'] / 1000:.3f}", entry["event"], entry["state"], entry["effects"]) for entry in life]
    return table(("seconds", "event", "state after it", "effects"), rows)


def simulation_table() -> str:
    """Return a table of the results of the last long run of the simulation."""
    return table(
        ("event or result", "number"), (tuple(row) for row in json.loads(SIMULATION.read_text(encoding="utf-8")))
    )


def executed_lines() -> str:
    """Return a table of the lines of each room, and how many of them the tests execute."""
    return table(covered_lines.header(), covered_lines.rows(covered_lines.measured()["rooms"]))


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


ASSIGNOR_NAMES = {
    "server_uniform": "`uniform`",
    "share_simple": "`simple` (share groups)",
    "streams_sticky": "`sticky` (streams groups)",
}
"""Names of the broker's assignors by their names in the vectors; those of the other assignors have hyphens instead of
underscores."""


def deviation_table() -> str:
    """Return a table of the cases in which an assignor deviates from Kafka's class."""
    listed: list[dict[str, Any]] = json.loads(DEVIATIONS.read_text(encoding="utf-8"))["deviations"]
    rows = []
    for each in listed:
        names = (ASSIGNOR_NAMES.get(name, f"`{name.replace('_', '-')}`") for name in each["assignors"])
        page = f"[{Path(each['page'].partition('#')[0]).stem}]({each['page']})"
        rows.append((each["case"], ", ".join(names), each["reason"], page))
    return table(("Kafka's class", "assignor", "what `assignor` does", "page"), rows)


def group_diagram() -> str:
    """Return the transitions of a classic group as a mermaid diagram."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {GroupState.EMPTY.value}"]
    lines += [
        f"    {state.value} --> {after.value}: {event.value}"
        for state, row in group_state.TRANSITIONS.items()
        for event, after in row.items()
    ]
    return "\n".join([*lines, f"    {GroupState.DEAD.value} --> [*]", "```"])


def answer_table() -> str:
    """Return a table of the answer to each request of a classic group, with the states that give this answer."""
    rows = []
    for kind in group_state.RequestKind:
        states: dict[str, list[str]] = {}
        for state in GroupState:
            answer = group_state.ANSWERS[state][kind]
            text = f"`{answer.name}`" if isinstance(answer, ErrorCode) else answer.value
            states.setdefault(text, []).append(state.value)
        rows += [(kind.value, ", ".join(names), text) for text, names in states.items()]
    return table(("request", "states", "answer"), rows)


def event_fields(kind: str) -> str:
    """Return a table of the fields of a kind of event; of those of all events if the kind is empty."""
    return table(("field", "meaning"), ((f"`{name}`", meaning) for name, meaning in MEANINGS[kind].items()))


def event_kinds() -> str:
    """Return a table of the fields of each kind of event."""
    rows = ((f"`{kind}`", ", ".join(f"`{name}`" for name in fields)) for kind, fields in FIELDS.items())
    return table(("event", "fields"), rows)


def cause_table() -> str:
    """Return a table of the causes of rebalances."""
    return table(("cause", "what it means"), ((f"`{cause.name}`", cause.value) for cause in RebalanceCause))


def assignor_table() -> str:
    """Return a table that compares load and moves of all assignors for the same group."""
    topics = {f"topic-{number}": 12 for number in range(5)}
    wide = {f"member-{number}": list(topics) for number in range(10)}
    half = {member: names if number % 2 else names[:2] for number, (member, names) in enumerate(wide.items())}
    rows = []
    for group_protocol, assignor in ASSIGNORS:
        assigned = functools.partial(settled, topics, assignor=assignor, group_protocol=group_protocol)
        start = assigned(wide, {})
        joined = assigned(wide | {"member-10": list(topics)}, start)
        left = assigned({member: names for member, names in wide.items() if member != "member-0"}, start)
        rows.append(
            (
                f"[`{assignor}`]({page_of(group_protocol, assignor)}.md)",
                group_protocol,
                span(start),
                span(assigned(half, {})),
                str(len(moved(start, joined))),
                str(len(moved(start, left))),
            )
        )
    return table(("assignor", "protocol", "load", "load, mixed", "moved, join", "moved, leave"), rows)


ASSIGNORS = [
    ("classic", "range"),
    ("classic", "roundrobin"),
    ("classic", "sticky"),
    ("classic", "cooperative-sticky"),
    ("consumer", "uniform"),
    ("consumer", "range"),
]


def page_of(group_protocol: str, assignor: str) -> str:
    """Return the name of an assignor's page."""
    return f"server-{assignor}" if (group_protocol, assignor) == ("consumer", "range") else assignor


def span(assignment: Assignment) -> str:
    """Return the fewest and the most partitions of a member, as text."""
    counts = [len(partitions) for partitions in assignment.values()]
    return f"{min(counts)}-{max(counts)}"


PARTS: Mapping[str, Callable[[], str]] = {
    "assignors": assignor_table,
    "ownership range": functools.partial(ownership, "range"),
    "ownership roundrobin": functools.partial(ownership, "roundrobin"),
    "ownership sticky": functools.partial(ownership, "sticky"),
    "ownership cooperative-sticky": functools.partial(ownership, "cooperative-sticky"),
    "ownership uniform": functools.partial(ownership, "uniform", "consumer"),
    "ownership server range": functools.partial(ownership, "range", "consumer"),
    "steps of protocols": concept_pictures.protocol_steps,
    "steps of restarts": concept_pictures.restart_steps,
    "readers by rack": concept_pictures.rack_steps,
    "ownership share": share_picture.share_ownership,
    "ownership streams": task_picture.task_ownership,
    "member states": state_diagram,
    "member errors": error_table,
    "member life": life_table,
    "member simulation": simulation_table,
    "group states": group_diagram,
    "group answers": answer_table,
    "group causes": cause_table,
    "deviations": deviation_table,
    "executed lines": executed_lines,
    "figures": measured.figures_page,
    "missed targets": measured.missed_targets,
    "ratios": measured.ratio_table,
    **{f"fields of {kind or 'all events'}": functools.partial(event_fields, kind) for kind in MEANINGS},
    "fields of events": event_kinds,
    **api.PARTS,
}


def renewed(page: str) -> str:
    """Return a page with its generated parts and its measured figures replaced."""

    def part(found: re.Match[str]) -> str:
        return f"<!-- generated: {found[1]} -->\n{PARTS[found[1]]()}\n<!-- end -->"

    page = re.sub(r"<!-- generated: (.*?) -->\n.*?<!-- end -->", part, page, flags=re.DOTALL)
    return measured.with_figures(page)


def filled(page: str) -> str:
    """Return a page as it is on the site, with the parts that only the site has."""
    return re.sub(r"<!-- built: (.*?) -->\n.*?<!-- end -->", lambda found: PARTS[found[1]](), page, flags=re.DOTALL)


def write_site(folder: Path) -> None:
    """Write the pages and pictures of docs to a folder, as they are on the site."""
    for path in sorted(DOCS.rglob("*")):
        copy = folder / path.relative_to(DOCS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            copy.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
        elif path.suffix == ".png":
            shutil.copyfile(path, copy)


def pages() -> list[Path]:
    """Return the README, CONTRIBUTING.md and the pages in docs."""
    return [DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def renew(paths: Iterable[Path], *, write: bool) -> list[str]:
    """Return the names of the pages whose generated parts are out of date, and write these pages if wanted."""
    stale = []
    for path in paths:
        page = path.read_text(encoding="utf-8")
        fresh = renewed(page)
        if fresh != page:
            stale.append(path.name)
            if write:
                path.write_text(fresh, encoding="utf-8")
    return stale


def main() -> int:
    """Write the pages that are out of date. With --check, return 1 if there are any and write nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    options = parser.add_mutually_exclusive_group()
    options.add_argument("--check", action="store_true", help="write nothing and fail if a page is out of date")
    options.add_argument("--site", type=Path, metavar="FOLDER", help="write only the pages of the site, to FOLDER")
    arguments = parser.parse_args()
    if arguments.site:
        write_site(arguments.site)
        return 0
    check = arguments.check
    stale = renew(pages(), write=not check)
    for name in stale:
        sys.stderr.write(f"{name} is out of date: run make docs\n" if check else f"{name} written\n")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
