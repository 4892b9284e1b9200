"""Findings about rebalance loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.replay import loop_text
from assignor.report.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assignor.replay.loop import Loop


def findings_of_loops(group: str, loops: Sequence[Loop]) -> Iterator[Finding]:
    """Yield a finding for each loop of a group."""
    for loop in loops:
        text = f"rebalance loop: {loop_text.summary(loop)}"
        yield Finding("rebalance_loop", loop.since, loop.until, group, text, _evidence(loop))


def _evidence(loop: Loop) -> str:
    facts = loop_text.generations(loop.kind, loop.first, loop.last).capitalize()
    if loop.restarts:
        members = "member" if loop.restarts == 1 else "members"
        facts += f": {loop.restarts:,} {members} took the place of one that had left"
    if loop.clients:
        facts += f"; {'clients' if len(loop.clients) > 1 else 'client'}: {loop_text.clients(loop)}"
    return f"{facts}. The last rebalance: {loop.evidence}"
