"""Report of `assignor report` on a live cluster whose log may not be read: one description by an Admin client."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assignor.cli.connection import connection_settings
from assignor.cli.measure import describe_twice
from assignor.lines import json_text
from assignor.terminal import colours, print_json, print_line, print_lines, status_line, width

if TYPE_CHECKING:
    import argparse

    from assignor.report.report import Report

DESCRIBED = 4
"""Exit code of a report that was made of a description because the log may not be read."""


def print_admin_report(options: argparse.Namespace) -> Report:
    """Describe the cluster, print the report, and write `report.json` and the page; return the report.

    Args:
        options: Options of the command.

    Raises:
        ClusterError: The cluster does not answer.
        IllegalArgumentError: The output folder or the page cannot be written.
    """
    settings = connection_settings(options)
    from assignor.cluster.topics import topic_rows
    from assignor.replay.watch_loop import local_ms
    from assignor.report.described import report_of
    from assignor.report.report_folder import REPORT_FILE, check_report_folder, replace_report_folder

    out = Path("assignor-report/live") if options.out is None else Path(options.out)
    place = check_report_folder(out, None)
    if options.page is not None:
        from assignor.page import check_page

        check_page(options.page)
    with status_line() as show:
        admin = settings.admin()
        earlier, description = describe_twice(settings, options.group, options.measure, show, admin=admin)
        at = max(description.read_at.values(), default=local_ms())
        topics = topic_rows(settings, admin, local_ms())
    found = report_of(description, topics, at, since=options.since, earlier=earlier)
    with replace_report_folder(place) as part:
        (part / REPORT_FILE).write_text(json_text(found.to_json(), indent=1) + "\n", encoding="utf-8")
    if options.page is not None:
        from assignor.page import write_page
        from assignor.page.described_data import described_page

        write_page(options.page, described_page(settings.address, found, description, topics))
    if options.json:
        print_json(found.to_json())
        return found
    from assignor.report.text import render

    print_lines(render(found, colour=colours(), width=width()).split("\n"))
    print_line(f"JSON file: {out / REPORT_FILE}")
    if options.page is not None:
        print_line(f"Page: {options.page}")
    return found
