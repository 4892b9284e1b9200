"""Command `assignor replay`: what happened to the groups of a recording, and why."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

from assignor.cli.broker_log import add_broker_log, read_broker_log
from assignor.cli.engines import add_engine, modules_of, start_spark, uses_spark
from assignor.cli.selection import add_broker_version, add_groups, add_times, check_times
from assignor.cli.sources import add_paths, opened
from assignor.dependencies import require
from assignor.lines import escape, format_count
from assignor.report.report import NO_TOPICS
from assignor.terminal import colours, needs_ascii, notice, print_json_text, print_lines, width

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from assignor.cluster import Recording
    from assignor.replay.logged_events import LogMatches
    from assignor.sources.broker_log import BrokerLog

ISOLATION_LEVELS = ("read_committed", "read_uncommitted")
"""Values of `--isolation`, as Kafka's consumer names them."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Replay a recording of the topic __consumer_offsets, or the log in the data directories of brokers, and print "
        "its events: rebalances with causes and evidence, members, storms, stuck members and unusual offsets. The "
        "command reads only files, and connects to no cluster."
    )
    add_paths(command)
    command.add_argument("--json", action="store_true", help="print one JSON object per event and line instead of text")
    add_groups(command)
    add_times(command, "events before this time; what happened before still counts for later events")
    command.add_argument(
        "--isolation",
        choices=ISOLATION_LEVELS,
        default=ISOLATION_LEVELS[0],
        help="whether records of aborted transactions are replayed (default: %(default)s, which omits them)",
    )
    add_broker_log(command)
    add_broker_version(command)
    add_engine(command)


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    check_times(options)
    require(*modules_of(options.engine))
    with opened(options.paths) as recording:
        chosen = recording.select(groups=options.group, until=options.until, broker_version=options.broker_version)
        _replay(chosen, options)
    return 0


def _replay(recording: Recording, options: argparse.Namespace) -> None:
    """Print the events of a recording."""
    from assignor.cluster.copies import count_copies
    from assignor.replay.history import write_history
    from assignor.replay.logged_events import LogMatches
    from assignor.replay.recorded import end_of
    from assignor.replay.series import find_series
    from assignor.replay.spool import LineSpool

    copies = count_copies(recording)
    log = read_broker_log(options, recording)
    matches = LogMatches(log.rebalances)
    notes = [*_notes(recording, options.isolation, copies), *map(escape, log.notes)]
    with LineSpool() as spool:
        groups = set()
        for group, at, offset, line in _events(recording, options, log, matches, has_copies=copies > 0):
            groups.add(group)
            if options.since is not None and at < options.since:
                continue
            name = (group is not None, group or "")  # events without a group come first
            tie = line if group is None else ""  # several partitions of the log can have the same offset
            spool.add((at, name, offset, tie) if options.json else (name, at, offset, tie), line)
        if recording.groups is not None:
            recording.groups.check_matched(filter(None, groups), recording.source)
        notes += map(escape, matches.comparison().lines()) if log.rebalances else ()
        if options.json:
            for each in notes:
                notice(each)
            for line in spool:
                print_json_text(line)
            return
        print_lines([*notes, "Times are in UTC.", ""])
        series = find_series(map(json.loads, spool), end_of(recording))
        print_lines(write_history(map(json.loads, spool), series, colour=colours(), width=width()))


def _notes(recording: Recording, isolation: str, copies: int) -> Iterator[str]:
    """Yield sentences on the records that are not replayed, and on what is not known."""
    yield _isolation_note(recording, isolation)
    if copies:
        yield f"{format_count(copies, 'duplicate')} of other records: each record counts once."
    if not recording.topics().num_rows:
        yield f"{NO_TOPICS}."
    yield from (f"{escape(note)}." for note in recording.notes)


def _isolation_note(recording: Recording, isolation: str) -> str:
    """Return a sentence on the treatment of records of aborted transactions."""
    count = len(set(recording.aborted))
    if isolation == "read_uncommitted":
        return f"read_uncommitted: all records are replayed; {count:,} are known to be aborted."
    if not recording.has_aborted:
        return (
            "read_committed: there is no aborted.json, so all records are replayed, including those of aborted "
            "transactions."
        )
    return f"read_committed: {count:,} records of aborted transactions are omitted."


def _events(
    recording: Recording, options: argparse.Namespace, log: BrokerLog, matches: LogMatches, *, has_copies: bool
) -> Iterator[tuple[str | None, int, int, str]]:
    """Yield group, time, offset and JSON of each event, at last of those that only the log of the broker has."""
    from assignor.replay.events import to_json

    for row in _recorded(recording, options, log, has_copies=has_copies):
        if log.rebalances and row[-1].startswith('{"event": "rebalance"'):
            matches.add(json.loads(row[-1]))
        yield row
    for event in matches.unrecorded():
        line = to_json(event, ascii_only=options.json and needs_ascii())
        yield event["group"], event["at"], event["offset"], line


def _recorded(
    recording: Recording, options: argparse.Namespace, log: BrokerLog, *, has_copies: bool
) -> Iterator[tuple[str | None, int, int, str]]:
    """Yield group, time, offset and JSON of each event of the recording."""
    from assignor.spark.progress import progress

    is_committed = options.isolation == ISOLATION_LEVELS[0]
    ascii_only = options.json and needs_ascii()
    if not uses_spark(options.engine, recording):
        from assignor.replay import recorded
        from assignor.replay.events import to_json

        with progress(None, "replaying", quiet=False):
            for event in recorded.replay(recording, is_committed=is_committed, logged=log.rebalances):
                yield event["group"], event["at"], event["offset"], to_json(event, ascii_only=ascii_only)
        return
    with contextlib.ExitStack() as stack:
        spark = start_spark(stack, "assignor replay")
        from assignor.spark.event_lines import event_lines

        with progress(spark, "replaying", quiet=False):
            yield from event_lines(
                spark,
                recording,
                is_committed=is_committed,
                has_copies=has_copies,
                ascii_only=ascii_only,
                logged=log.rebalances,
            )
