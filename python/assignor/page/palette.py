"""Colours and shapes of a page, for a light and a dark background.

A colour stands for a family of causes, and colour and shape together for one cause. The tests check that the colours
of families differ for readers with each kind of colour blindness, and that text has a contrast of at least 4.5:1.
"""

from __future__ import annotations

from typing import NamedTuple


class Mark(NamedTuple):
    """Colour number and shape of a cause."""

    family: int
    shape: str


FAMILIES = (
    ("consumer_subscribed",),
    ("consumer_closed", "member_removed"),
    ("consumer_dead", "application_crashed", "sync_timed_out", "poll_interval_exceeded", "rejoin_timed_out"),
    ("leader_rejoined", "owned_partitions_changed", "static_member_returned"),
    ("subscription_changed", "protocol_changed"),
    ("partitions_increased", "topic_created", "topic_deleted", "partitions_initialized"),
    ("protocol_upgraded", "protocol_downgraded", "assignment_not_stored", "over_capacity", "coordinator_moved"),
    ("unknown",),
)
"""Families of causes: joined, left, failed, joined again, subscription, topics, group, not known. Each has a colour."""

SHAPES = ("circle", "square", "diamond", "triangle-up", "cross")
"""Shapes of the causes of a family, in this order."""

LIGHT = ("#386dad", "#c7752f", "#aa4566", "#a147ef", "#701978", "#2a4528", "#625c07", "#789199")
"""Colours of the families on a light background."""

DARK = ("#3bc4fe", "#eb8622", "#dd3e37", "#ac51cd", "#c9a0a9", "#8dfde0", "#c2e859", "#6c8686")
"""Colours of the families on a dark background."""

MARKS = {
    cause: Mark(number, shape)
    for number, causes in enumerate(FAMILIES)
    for cause, shape in zip(causes, SHAPES, strict=False)
}
"""Colour and shape of each cause."""


def mark(cause: str) -> Mark:
    """Return the colour number and the shape of a cause; those of `unknown` for a name that is not known."""
    return MARKS.get(cause, MARKS["unknown"])


class Theme(NamedTuple):
    """Colours of a page on one background."""

    background: str
    surface: str
    text: str
    muted: str
    line: str
    accent: str
    alarm: str
    families: tuple[str, ...]


THEMES = {
    "light": Theme("#f6f7f9", "#ffffff", "#16202c", "#4f5b69", "#d5dae1", "#0b5fa5", "#b3123f", LIGHT),
    "dark": Theme("#0f151c", "#182029", "#e8edf3", "#a9b5c3", "#33404e", "#6cb8ff", "#ff7d90", DARK),
}
"""Colours of the page by value of `prefers-color-scheme`."""
