"""Costs of rebalances as text: of one rebalance, and totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.lines import format_count, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SECOND = 1_000


def number_of_seconds(milliseconds: int) -> str:
    """Return a time in seconds without its unit, as `1,484`; with one decimal below 100."""
    value = milliseconds / _SECOND
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def partition_seconds(milliseconds: int) -> str:
    """Return a sum of pauses, as `1,484 partition-seconds`."""
    return f"{number_of_seconds(milliseconds)} partition-seconds"


def details(event: Mapping[str, Any]) -> str:
    """Return what is known of the cost of a rebalance, from its event or its event `cost`; empty if nothing is.

    Args:
        event: The event. One of a watch by polls has no cost.
    """
    return ", ".join(_details(event))


def _details(event: Mapping[str, Any]) -> Iterator[str]:
    if event.get("revoked") or event.get("assigned"):
        yield f"{format_count(event['revoked'], 'partition')} revoked, {event['assigned']:,} assigned"
    if event.get("paused"):
        lasted = event["pause_until"] - event["pause_since"]
        text = f"{format_count(event['paused'], 'partition')} without commits within {format_duration(lasted)}"
        yield f"{text}: {partition_seconds(event['partition_ms'])}{beyond(event)}"
    if event.get("open_pauses"):
        yield f"{format_count(event['open_pauses'], 'pause')} without an end"
    if event.get("target_ms") is not None:
        yield f"target assignment after {format_duration(event['target_ms'])}"
    epochs = [each["epoch_ms"] for each in event.get("member_costs") or () if each["epoch_ms"] is not None]
    if epochs:
        yield f"{format_count(len(epochs), 'member')} in the epoch after {format_duration(max(epochs))}"


def beyond(cost: Mapping[str, Any]) -> str:
    """Return the part of pauses beyond the usual intervals between commits, as the end of a sentence."""
    if cost["lost_ms"] is None:
        return " (usual interval between commits not known)"
    lost = number_of_seconds(cost["lost_ms"])
    if cost["compared_ms"] == cost["partition_ms"]:
        return f" ({lost} beyond the usual interval between commits)"
    compared = number_of_seconds(cost["compared_ms"])
    return f" ({lost} of {compared} beyond the usual interval between commits, which else is not known)"


def total(cost: Mapping[str, Any]) -> str:
    """Return the cost of several rebalances, as `106 s, 1,484 partition-seconds in 12,459 rebalances`.

    Args:
        cost: A row of `assignor.costs.rebalance_costs`.
    """
    number = format_count(cost["rebalances"], "rebalance")
    if cost["paused"]:
        pause, pauses = number_of_seconds(cost["pause_ms"]), partition_seconds(cost["partition_ms"])
        text = f"{pause} s, {pauses} in {number}{beyond(cost)}"
    else:
        text = f"{number}, whose pauses are not known"
    if cost["revoked"] is not None:
        text += f"; {cost['revoked']:,} partitions revoked, {cost['assigned']:,} assigned"
    if cost["epoch_ms"] is not None:
        text += f"; a member reached its epoch after up to {format_duration(cost['epoch_ms'])}"
    return text
