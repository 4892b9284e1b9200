"""Random topic names and patterns for the timings of matching; equal for equal seeds.

Names consist of words that teams use for topics. 30 % of the patterns are a prefix, 15 % an exact name, 15 % a suffix,
10 % alternatives, and 30 % have character classes or match a text in the middle of a name. All timed engines match them
alike.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_WORDS = [
    *("orders", "payments", "users", "clicks", "audit", "mail", "billing", "search", "ledger", "stock", "prices"),
    *("invoices", "events", "metrics", "sessions", "carts", "refunds", "reviews", "alerts", "devices", "shipments"),
    *("returns", "coupons", "profiles"),
]
_PLACES = ["eu", "us", "asia", "emea", "latam", "prod", "staging", "dev", "test", "qa"]
_KINDS = ["raw", "dlq", "retry", "v1", "v2", "v3", "changelog", "repartition", "snapshot", "cdc", "compacted", "delta"]


def names(count: int, seed: int = 7) -> list[str]:
    """Return `count` distinct names in random order."""
    rng = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        separator = rng.choice(".-_")
        parts = [rng.choice(_PLACES), rng.choice(_WORDS), rng.choice(_WORDS), rng.choice(_KINDS)]
        found.setdefault(separator.join([*parts[: rng.randint(2, 4)], str(rng.randrange(400))]))
    return list(found)


def patterns(count: int, topics: list[str], seed: int = 11) -> list[str]:
    """Return `count` distinct patterns; most of them match some topics."""
    rng = random.Random(seed)
    kinds: list[Callable[[random.Random, str], str]] = [_prefix, _exact, _suffix, _alternatives, _within]
    found: dict[str, None] = {}
    while len(found) < count:
        kind = rng.choices(kinds, (30, 15, 15, 10, 30))[0]
        found.setdefault(kind(rng, rng.choice(topics)))
    return list(found)


def _prefix(rng: random.Random, topic: str) -> str:
    return re.escape(topic[: rng.randint(3, len(topic))]) + ".*"


def _exact(_: random.Random, topic: str) -> str:
    return re.escape(topic)


def _suffix(rng: random.Random, topic: str) -> str:
    return ".*" + re.escape(topic[-rng.randint(3, min(9, len(topic))) :])


def _alternatives(rng: random.Random, topic: str) -> str:
    tail = rng.choice(["", ".*"])
    return f"({'|'.join([re.escape(topic), *(f'{rng.choice(_PLACES)}-{rng.choice(_WORDS)}' for _ in range(2))])}){tail}"


def _within(rng: random.Random, topic: str) -> str:
    word, place, kind = rng.choice(_WORDS), rng.choice(_PLACES), rng.choice(_KINDS)
    return rng.choice(
        [
            f"{re.escape(topic[:4])}[a-z]+[._-]{kind}[._-][0-9]+",
            f"(?:{place}|{rng.choice(_PLACES)})[._-]{word}[._-].*[0-9]{{2}}",
            f".*{word}[._-]{kind}.*",
            f"[a-{word[0]}]+[._-]{word}[._-]\\w+[._-]{rng.randrange(40)}\\d*",
            f"{place}.{word}.[^0-9]*{rng.randrange(10)}[0-9]?",
        ]
    )
