"""Writes the generated parts of the pages in docs anew, or checks that they are: `python docs/generate.py [--check]`.

A generated part stands between `<!-- generated: name -->` and `<!-- end -->`. It comes from the tables in the code and
from recorded data, so that a page cannot say something else than they do.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from assignor.coordinator import ErrorCode, GroupState, RebalanceCause
from assignor.coordinator import state as group_state
from assignor.member import MemberState
from assignor.member.error_codes import ERRORS, UNKNOWN_SERVER_ERROR, heartbeat_error
from assignor.member.state_machine import TRANSITIONS, Trigger

DOCS = Path(__file__).resolve().parent
SIMULATION = DOCS / "simulation.json"
LIFE = DOCS.parent / "tests" / "vectors" / "member_timeline.json.gz"


def state_diagram() -> str:
    """The member's table as a mermaid diagram; what leaves a state as it is, is left out, but for an assignment."""
    edges: dict[tuple[MemberState, MemberState], list[str]] = {}
    for state, row in TRANSITIONS.items():
        for trigger, after in row.items():
            if after is not state or trigger is Trigger.ASSIGNED:
                edges.setdefault((state, after), []).append(trigger.value)
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {MemberState.UNSUBSCRIBED.name}"]
    lines += [f"    {state.name} --> {after.name}: {' / '.join(words)}" for (state, after), words in edges.items()]
    return "\n".join([*lines, "```"])


def error_table() -> str:
    """What follows from each error code."""
    rows = [(str(code), f"`{error.name}`", error.reaction.value) for code, error in ERRORS.items()]
    return table(
        ("code", "error", "what follows"),
        [*rows, ("any other", "", heartbeat_error(UNKNOWN_SERVER_ERROR).reaction.value)],
    )


def life_table() -> str:
    """The life of one member of a real group, as it was recorded."""
    life: list[dict[str, Any]] = json.loads(gzip.decompress(LIFE.read_bytes()))
    rows = [(f"{entry['at'] / 1000:.3f}", entry["event"], entry["state"], entry["effects"]) for entry in life]
    return table(("seconds", "what happened", "state after it", "what the member asked for"), rows)


def simulation_table() -> str:
    """What the last long run of the simulation amounted to, and what went wrong in it."""
    return table(("what", "how many"), (tuple(row) for row in json.loads(SIMULATION.read_text(encoding="utf-8"))))


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def group_diagram() -> str:
    """The table of a classic group's states as a mermaid diagram."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {GroupState.EMPTY.value}"]
    lines += [
        f"    {state.value} --> {after.value}: {event.value}"
        for state, row in group_state.TRANSITIONS.items()
        for event, after in row.items()
    ]
    return "\n".join([*lines, f"    {GroupState.DEAD.value} --> [*]", "```"])


def answer_table() -> str:
    """What becomes of each request in each state of a classic group."""
    rows = []
    for kind in group_state.RequestKind:
        answers = [group_state.ANSWERS[state][kind] for state in GroupState]
        cells = (f"`{answer.name}`" if isinstance(answer, ErrorCode) else answer.value for answer in answers)
        rows.append((kind.value, *cells))
    return table(("", *(state.value for state in GroupState)), rows)


def cause_table() -> str:
    """Why groups rebalance."""
    return table(("cause", "what it means"), ((f"`{cause.name}`", cause.value) for cause in RebalanceCause))


PARTS: Mapping[str, Callable[[], str]] = {
    "member states": state_diagram,
    "member errors": error_table,
    "member life": life_table,
    "member simulation": simulation_table,
    "group states": group_diagram,
    "group answers": answer_table,
    "group causes": cause_table,
}


def renewed(page: str) -> str:
    """A page with its generated parts made anew."""

    def part(found: re.Match[str]) -> str:
        return f"<!-- generated: {found[1]} -->\n{PARTS[found[1]]()}\n<!-- end -->"

    return re.sub(r"<!-- generated: (.*?) -->\n.*?<!-- end -->", part, page, flags=re.DOTALL)


def renew(folder: Path, *, write: bool) -> list[str]:
    """The names of a folder's pages that are stale, which are written anew if that is wanted."""
    stale = []
    for path in sorted(folder.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        fresh = renewed(page)
        if fresh != page:
            stale.append(path.name)
            if write:
                path.write_text(fresh, encoding="utf-8")
    return stale


def main() -> int:
    """Writes the stale pages, or fails where there are some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail where something is stale")
    check = parser.parse_args().check
    stale = renew(DOCS, write=not check)
    for name in stale:
        sys.stderr.write(f"docs/{name} is stale: run make docs\n" if check else f"docs/{name} written\n")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
