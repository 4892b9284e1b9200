"""Program with consumers of one release of kafka-python or aiokafka, which answers lines of JSON.

The commands and answers are those of the programs that `tests/broker/plugins/program_consumers.py` starts.
"""

from __future__ import annotations

import functools
import json
import logging
import sys
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from tests.broker.plugins.client_consumers import AiokafkaConsumers, Consumers, Joining, KafkaPythonConsumers
from tests.broker.plugins.joining import ours

POLL_MS = 1_000
"""Time limit of a poll of kafka-python. A consumer of 2.1 can stay without partitions if a poll ends while it joins."""

KINDS: dict[str, Any] = {
    "kafka-python": functools.partial(KafkaPythonConsumers, poll_ms=POLL_MS),
    "aiokafka": AiokafkaConsumers,
}


shared = functools.cache(ours)
"""Return an assignor that all consumers share; each has its own state in it."""


def answer(
    consumers: Consumers, client: str, names: set[str], closing: Executor, command: dict[str, Any]
) -> dict[str, Any]:
    """Execute a command, and return the states of all consumers. Consumers of several groups close at the same time."""
    match command.pop("do"):
        case "join":
            strategies = [each for name in command.pop("assignors") for each in shared(client, name)]
            joining = Joining(client=client, strategies=strategies, **command)
            consumers.join(joining)
            names.add(joining.name)
        case "leave":
            names.discard(command["name"])
            closing.submit(consumers.leave, command["name"])
    return {
        name: {"partitions": sorted(consumers.owned(name)), "error": "; ".join(consumers.errors(name))}
        for name in names
    }


def main() -> None:
    """Answer each line of the input with one line, until it ends. Logs go to the standard error."""
    client, address = sys.argv[1:]
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    consumers: Consumers = KINDS[client](address)
    names: set[str] = set()
    with ThreadPoolExecutor() as closing:
        for line in sys.stdin:
            print(json.dumps(answer(consumers, client, names, closing, json.loads(line))), flush=True)  # noqa: T201 - the answer
    consumers.close()


if __name__ == "__main__":
    main()
