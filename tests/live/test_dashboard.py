"""The dashboard for Grafana asks for metrics and labels that `assignor watch` serves, and its file is current."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from deploy import dashboard
from tests.live.alert_rules import labels_of, names
from tests.live.all_metrics import all_metrics, label_names_of

if TYPE_CHECKING:
    from tests.live.alert_rules import Samples

PANELS = [panel for row in dashboard.ROWS.values() for panel in row]


@pytest.fixture(scope="module")
def known() -> Samples:
    return all_metrics()


def wrong(panel: dashboard.Panel, known: Samples) -> str | None:
    """Return what an expression or a legend asks for that does not exist; None if all of it does."""
    used = names(panel.expression)
    if not used or used - known.keys():
        return f"metrics {used - known.keys() or 'none'}"
    missing = labels_of(panel.expression) - label_names_of(known, used)
    grouped = set(re.findall(r"by \(([^)]*)\)", panel.expression))
    shown = set(re.findall(r"{{(\w+)}}", panel.legend)) - {name.strip() for by in grouped for name in by.split(",")}
    return f"labels {missing | shown}" if missing | shown else None


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_a_panel_asks_for_metrics_that_are_served(panel: dashboard.Panel, known: Samples) -> None:
    assert wrong(panel, known) is None
    assert panel.expression.count("(") == panel.expression.count(")")
    assert panel.expression.count("{") == panel.expression.count("}")


@pytest.mark.parametrize(
    ("expression", "legend", "expected"),
    [
        ("sum(assignor_storm)", "", "metrics {'assignor_storm'}"),
        ("sum by (topic) (assignor_storms_active)", "", "labels {'topic'}"),
        ('assignor_storms_active{member="a"}', "", "labels {'member'}"),
        ("sum by (group) (assignor_group_members)", "{{kind}}", "labels {'kind'}"),
    ],
)
def test_a_panel_with_a_wrong_name_is_found(expression: str, legend: str, expected: str, known: Samples) -> None:
    assert wrong(dashboard.Panel("", "", expression, legend), known) == expected


def test_panels_do_not_overlap_and_have_ids_of_their_own() -> None:
    panels = dashboard.dashboard()["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < dashboard.WIDTH
    assert len({panel["id"] for panel in panels}) == len(panels) == len(PANELS) + len(dashboard.ROWS)


def test_the_file_is_what_the_program_writes() -> None:
    assert dashboard.FILE.read_text(encoding="utf-8") == dashboard.text(), "run: python -m deploy.dashboard"
