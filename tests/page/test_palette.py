"""Colours of a page: contrast, and difference for readers with each kind of colour blindness."""

from __future__ import annotations

import itertools

import pytest

from assignor.coordinator import RebalanceCause
from assignor.page.palette import FAMILIES, MARKS, SHAPES, THEMES, Theme, mark

Colour = tuple[float, float, float]

SEEN_AS = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""Matrices of Machado, Oliveira and Fernandes (2009) for linear RGB, at full severity."""


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_text_has_a_contrast_of_at_least_4_5(theme: Theme) -> None:
    for text in (theme.text, theme.muted, theme.accent, theme.alarm):
        assert min(_contrast(text, theme.surface), _contrast(text, theme.background)) >= 4.5


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_marks_have_a_contrast_of_at_least_3(theme: Theme) -> None:
    assert min(_contrast(colour, theme.surface) for colour in (*theme.families, theme.accent, theme.alarm)) >= 3


@pytest.mark.parametrize("sight", SEEN_AS)
@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_colours_of_families_differ(theme: Theme, sight: str) -> None:
    seen = [_oklab(_seen(colour, sight)) for colour in theme.families]

    assert min(_distance(one, other) for one, other in itertools.combinations(seen, 2)) >= 0.09


def test_similar_colours_are_found() -> None:
    red, green = (_oklab(_seen(colour, "no green")) for colour in ("#a05030", "#6a7030"))

    assert _distance(red, green) < 0.09


def test_each_cause_has_its_own_colour_and_shape() -> None:
    assert {*MARKS} == {cause.name.lower() for cause in RebalanceCause} | {"unknown"}
    assert len({*MARKS.values()}) == len(MARKS)
    assert max(map(len, FAMILIES)) <= len(SHAPES)
    assert mark("a cause of a later version") == mark("unknown")


def _linear(colour: str) -> Colour:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return _to_linear(red), _to_linear(green), _to_linear(blue)


def _to_linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def _contrast(one: str, other: str) -> float:
    """Return the contrast of WCAG 2."""
    low, high = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in map(_linear, (one, other)))
    return (high + 0.05) / (low + 0.05)


def _seen(colour: str, sight: str) -> Colour:
    found = _linear(colour)
    red, green, blue = (
        min(1.0, max(0.0, sum(a * b for a, b in zip(row, found, strict=True)))) for row in SEEN_AS[sight]
    )
    return red, green, blue


def _oklab(colour: Colour) -> Colour:
    red, green, blue = colour
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def _distance(one: Colour, other: Colour) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5)
