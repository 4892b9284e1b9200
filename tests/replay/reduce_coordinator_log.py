"""Reduction of a recording's broker logs to the lines with the reasons for rebalances.

`broker_reasons.jsonl.gz` in `tests/data/fleet_webshop/` is the result for the recorded cluster. Each line is an object;
its field `what` is one of these words:

* `rebalance`: group, generation that follows, and the first reason that the broker gave for it (classic groups);
* `epoch`: group and the new epoch (consumer, share and streams groups);
* `joined`, `left`, `expired`: group and member (the same groups; `expired` is "fenced ... session expired").

Run `python -m tests.replay.reduce_coordinator_log coordinator.log.gz broker_reasons.jsonl.gz` to write it again.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

REBALANCE = re.compile(
    r"Preparing to rebalance group (.*) in state \S+ with old generation (\d+) \(reason: (.*)\)\. \("
)
EPOCH = re.compile(r"\[GroupId (.*?)\].*Bumped (?:streams )?group epoch to (\d+) ")
MEMBER = re.compile(
    r"\[GroupId (.*?)\](?:\[MemberId (\S+)\])? (?:Streams member |Member )(?:(\S+) )?(joins|left|fenced)\b"
)
ACTIONS = {"joins": "joined", "left": "left", "fenced": "expired"}


def reduced(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects for the lines of a log."""
    seen = set()
    for line in lines:
        if found := REBALANCE.search(line):
            group, generation, reason = found[1], int(found[2]) + 1, found[3]
            if (group, generation) not in seen:
                seen.add((group, generation))
                yield {"what": "rebalance", "group": group, "generation": generation, "reason": reason}
        elif found := EPOCH.search(line):
            yield {"what": "epoch", "group": found[1], "generation": int(found[2])}
        elif found := MEMBER.search(line):
            yield {"what": ACTIONS[found[4]], "group": found[1], "member": found[3] or found[2]}


def main(source: str, target: str) -> None:
    """Reduce a log to a file."""
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        content = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in reduced(lines))
    Path(target).write_bytes(gzip.compress(content.encode(), mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
