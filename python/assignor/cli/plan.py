"""Command `assignor plan`: the assignment of a group as a compact plan."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from assignor.cli.inputs import add_group_input, read_group
from assignor.cli.output import add_format
from assignor.terminal import needs_ascii, print_json, print_json_text, print_line

if TYPE_CHECKING:
    import argparse


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Compute the assignment of a group and print it as a plan: spans of partitions in columns, which "
        "`Plan.from_json` reads. The text form shows how evenly the plan distributes partitions."
    )
    add_group_input(command)
    add_format(command, default="json")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from assignor import WeightedBalance, plan
    from assignor.lines import format_count

    group = read_group(options)
    found = plan(group.partitions_per_topic, group.subscriptions, **group.settings)
    if options.format == "json":
        text = found.to_json()
        if needs_ascii():
            print_json(json.loads(text))
        else:
            print_json_text(text)
        return 0
    weights = group.others.get("weights")
    balance = found.balance() if weights is None else found.balance(weights=weights)
    print_line(f"{found.assignor} ({found.group_protocol}): {format_count(len(found), 'member')}")
    print_line(f"partitions of a member: {balance.min} to {balance.max}, {balance.mean:.2f} on average")
    if isinstance(balance, WeightedBalance):
        print_line(
            f"weight of a member: {balance.least_weight:,.1f} to {balance.most_weight:,.1f}, "
            f"{balance.mean_weight:,.1f} on average; no assignment has a highest weight under "
            f"{balance.weight_bound:,.1f}, one with {balance.packed_weight:,.1f} exists"
        )
    if balance.idle:
        print_line(f"without partitions: {', '.join(balance.idle)}")
    for topic, spread in balance.spread.items():
        if spread > 1:
            print_line(f"{topic}: its subscribers differ by up to {format_count(spread, 'partition')}")
    return 0
