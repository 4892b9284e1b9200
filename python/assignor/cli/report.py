"""Command `assignor report`: the groups of a recording, and whether their assignments equal Kafka's."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.cli.admin_report import DESCRIBED, print_admin_report
from assignor.cli.broker_log import add_broker_log, read_broker_log
from assignor.cli.connection import add_connection, check_source
from assignor.cli.engines import add_engine, modules_of, start_spark, uses_spark
from assignor.cli.measure import add_measure, check_measure
from assignor.cli.selection import add_broker_version, add_groups, add_times, check_times
from assignor.cli.sources import add_paths, opened
from assignor.dependencies import require
from assignor.errors import AuthorizationError, IllegalArgumentError
from assignor.lines import escape
from assignor.report.findings import KINDS
from assignor.report.report import NO_TOPICS
from assignor.terminal import colours, notice, print_json, print_line, print_lines, width
from assignor.validation import check_path

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import SparkSession

    from assignor.cluster import Recording
    from assignor.sources.broker_log import BrokerLog


FOUND = 1
"""Exit code if a finding is of a kind that `--fail-on` names."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Decode a recording of the topic __consumer_offsets, or the log in the data directories of brokers, replay "
        "every consumer group, and compare the recorded assignments with those of Kafka's assignors. With "
        "--bootstrap-server, record a live cluster first, without changing anything on it."
    )
    add_paths(command, is_optional=True)
    add_connection(command)
    command.add_argument(
        "--keep",
        metavar="FOLDER",
        help="with --bootstrap-server: folder in which the recording is kept and continued (default: a temporary one)",
    )
    command.add_argument(
        "--admin",
        action="store_true",
        help="with --bootstrap-server: report on one description by an Admin client instead of reading the log",
    )
    add_measure(command, "with --admin, to know the traffic, the growth of the lag and the time to catch up")
    command.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    command.add_argument(
        "--out", metavar="DIR", help="folder for Parquet files (default: assignor-report/<name of the folder at PATH>)"
    )
    command.add_argument(
        "--fail-on",
        default="",
        metavar="KINDS",
        help=f"end with exit code {FOUND} if there is a finding of these kinds, separated by commas: "
        f"{', '.join(KINDS)}",
    )
    command.add_argument(
        "--page",
        metavar="FILE",
        help="also write a page with charts, one HTML file (needs altair, vl-convert-python)",
    )
    add_groups(command)
    add_times(command, "findings and silences that ended before this time")
    add_broker_log(command)
    add_broker_version(command)
    add_engine(command)


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    needs = "report needs either the PATH of a recording or of a broker's data directory, or --bootstrap-server"
    check_source(options, needs, "keep")
    if options.admin and (options.bootstrap_server is None or options.keep is not None):
        wrong = "--keep cannot be used with it" if options.keep is not None else "it needs --bootstrap-server"
        raise IllegalArgumentError(f"--admin describes a live cluster and records nothing: {wrong}")
    if options.admin and options.until is not None:
        raise IllegalArgumentError("--until needs the log of the past: it cannot be used with --admin")
    if options.admin and options.broker_log:
        raise IllegalArgumentError("--broker-log explains the rebalances of a log: it cannot be used with --admin")
    if options.measure is not None and not options.admin:
        raise IllegalArgumentError(f"--measure {options.measure:g} needs --admin: a log has all measurements")
    check_measure(options.measure)
    if options.keep is not None:
        check_path(options.keep, "--keep")
    check_times(options)
    kinds = _kinds(options.fail_on)
    require(
        *modules_of(options.engine),
        *(() if options.paths else ("confluent_kafka",)),
        *(() if options.json else ("rich",)),
        *(() if options.page is None else ("altair", "vl_convert")),
    )
    if options.paths:
        from assignor.sources.source import check_paths

        check_paths(options.paths)
        first = Path(options.paths[0])
        return _report(options, first.absolute().parent if first.is_file() else first, kinds)
    if options.admin:
        return _described(options, kinds, usual=0)
    with tempfile.TemporaryDirectory(prefix="assignor-") as temporary:
        try:
            # The name of the folder is the default name of the report.
            return _report(options, Path(options.keep or Path(temporary) / "live"), kinds)
        except AuthorizationError as error:
            if options.until is not None or options.broker_log:
                raise
            notice(f"{error}; this report is made of one description by an Admin client instead")
    return _described(options, kinds, usual=DESCRIBED)


def _described(options: argparse.Namespace, kinds: tuple[str, ...], *, usual: int) -> int:
    """Report without the log; return the exit code, which is `usual` unless there is a finding of some kinds."""
    found = print_admin_report(options)
    return FOUND if any(finding.kind in kinds for finding in found.findings()) else usual


def _report(options: argparse.Namespace, folder: Path, kinds: tuple[str, ...]) -> int:
    """Check where the report goes, record the cluster if there is one, and write and print the report."""
    from assignor.cluster import Recording
    from assignor.report.report_folder import check_report_folder, replace_report_folder
    from assignor.sources.data_directory import check_outside
    from assignor.spark.progress import progress

    out = Path("assignor-report") / folder.resolve().name if options.out is None else Path(options.out)
    check_outside(out)
    for path in (folder, *map(Path, options.paths)):
        place = check_report_folder(out, path)
    if options.page is not None:
        from assignor.page import check_page

        check_page(options.page)
    with contextlib.ExitStack() as stack:
        recording = stack.enter_context(opened(options.paths)) if options.paths else None
        with replace_report_folder(place) as part:
            if recording is None:
                from assignor.cli.record import record_to_end

                record_to_end(options, folder, is_kept=options.keep is not None)
                recording = Recording.open(folder)
            recording = recording.select(until=options.until, broker_version=options.broker_version)
            spark = start_spark(stack, "assignor report") if uses_spark(options.engine, recording) else None
            from assignor.report.summary import summarize

            log = read_broker_log(options, recording)
            _write_tables(spark, recording, part, log)
            with progress(None, "summarizing", quiet=False):
                found = summarize(recording, part, groups=options.group, since=options.since, log=log)
        if options.page is not None:
            from assignor.page import write_page
            from assignor.page.report_data import page_data

            with progress(spark, "writing the page", quiet=False):
                write_page(options.page, page_data(recording, found, place))
    if options.json:
        if not found.has_topics:
            notice(f"{NO_TOPICS}.")
        for note in found.notes:
            notice(f"{note}.")
        for note in log.notes:
            notice(escape(note))
        print_json(found.to_json())
    else:
        from assignor.report.text import render

        print_lines(map(escape, log.notes))
        print_lines(render(found, colour=colours(), width=width()).split("\n"))
        print_line(f"Parquet files: {out}")
        if options.page is not None:
            print_line(f"Page: {options.page}")
    return FOUND if any(finding.kind in kinds for finding in found.findings()) else 0


def _kinds(text: str) -> tuple[str, ...]:
    """Return the kinds of findings in a list that is separated by commas."""
    kinds = tuple(kind.strip() for kind in text.split(",")) if text else ()
    for kind in kinds:
        if kind not in KINDS:
            raise IllegalArgumentError(f"--fail-on {kind}: a finding must be one of {', '.join(KINDS)}")
    return kinds


def _write_tables(spark: SparkSession | None, recording: Recording, part: Path, log: BrokerLog) -> None:
    if spark is None:
        from assignor.report import local
        from assignor.spark.progress import progress

        with progress(None, "decoding and replaying", quiet=False):
            local.write_tables(recording, part, log.rebalances)
        return
    from assignor.spark.report import write_tables

    write_tables(spark, recording, part, log.rebalances)
