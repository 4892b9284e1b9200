"""Command `assignor migrate`: whether classic groups can move to KIP-848, what blocks them, and what changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignor.cli.connection import add_connection, check_source, connection_settings
from assignor.cli.inputs import STDIN, group_of, parse_json, place_of, read_text
from assignor.cli.selection import add_groups, time_value
from assignor.cli.sources import PATHS_HELP, opened
from assignor.dependencies import require
from assignor.errors import IllegalArgumentError
from assignor.lines import escape
from assignor.migration import DEFAULTS, BrokerSettings, migrate
from assignor.terminal import notice, print_json, print_line, print_lines, status_line

if TYPE_CHECKING:
    import argparse

    from assignor.migration import ClassicGroup

_DESCRIPTION_SUFFIXES = (".json", ".txt")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Say for each classic group whether it can move to the protocol of KIP-848 (group.protocol=consumer): online, "
        "offline only, or not yet, with the reason and the members that block; how many partitions move, and what a "
        "join, a leave and a restart of all members cost then. The command changes nothing."
    )
    command.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help=f"{PATHS_HELP}; or one description of groups: the output of `assignor describe --json`, the text of "
        "kafka-consumer-groups.sh --describe, or the JSON of a group as for `assignor assign`; - is standard input",
    )
    add_connection(command)
    add_groups(command)
    command.add_argument(
        "--until",
        type=time_value,
        metavar="TIME",
        help="do not read records of a recording after this time, such as 2026-11-26T22:00",
    )
    command.add_argument(
        "--broker-setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"setting of the brokers: {', '.join(DEFAULTS)} (default: those of a live cluster, else Kafka's)",
    )
    command.add_argument("--broker-version", metavar="VERSION", help="version of the brokers, such as 4.3.1")
    command.add_argument(
        "--assignor",
        choices=("uniform", "range"),
        help="assignor of the brokers after the switch (default: the first of group.consumer.assignors)",
    )
    command.add_argument(
        "--no-later",
        action="store_true",
        help="leave out the moves of later changes and of a rolling restart, which take most of the time",
    )
    formats = command.add_mutually_exclusive_group()
    formats.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    formats.add_argument("--markdown", action="store_true", help="print a Markdown table, for a ticket")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from assignor.migration_text import markdown, text_lines

    check_source(options, "migrate needs either a PATH or --bootstrap-server")
    given = _given_settings(options.broker_setting)
    if options.assignor is not None:
        other = "range" if options.assignor == "uniform" else "uniform"
        given["group.consumer.assignors"] = f"{options.assignor},{other}"
    settings = BrokerSettings.read(given, options.broker_version)
    require("pyarrow", *(() if options.paths else ("confluent_kafka",)))
    notes: list[str] = []
    if options.paths:
        groups, topics, place = _from_paths(options)
    else:
        groups, topics, settings, notes = _from_cluster(options, given)
        place = options.bootstrap_server
    if options.group:
        from assignor.cluster.name_patterns import NamePatterns

        chosen = NamePatterns(options.group)
        groups = [group for group in groups if chosen.matches(group.group_id)]
        missing = chosen.unmatched({group.group_id: group for group in groups})
        if missing:
            raise IllegalArgumentError(f"{place} has no classic group {', '.join(map(repr, missing))}")
    found = migrate(groups, topics, settings=settings, later=not options.no_later)
    if options.json:
        answer = {
            "settings": settings.to_json(),
            "notes": notes,
            "groups": [migration.to_json() for migration in found],
        }
        print_json(answer)
        return 0
    for note in notes:
        notice(note)
    if options.markdown:
        print_lines(markdown(found))
        return 0
    if not found:
        print_line(f"{escape(str(place))} has no classic group")
        return 0
    print_lines(text_lines(found, settings))
    return 0


def _given_settings(texts: list[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise IllegalArgumentError(f"--broker-setting {text}: write it as NAME=VALUE")
        found[name.strip()] = value
    return found


def _from_paths(options: argparse.Namespace) -> tuple[list[ClassicGroup], list[dict[str, Any]], str]:
    """Return the groups and topics at the paths, and their name for messages."""
    if len(options.paths) == 1 and (described := _described(options.paths[0])) is not None:
        return *described, place_of(options.paths[0])
    from assignor.cluster.classic_groups import recorded_groups

    with opened(options.paths) as recording:
        recording = recording.select(groups=options.group, until=options.until, broker_version=None)
        groups, topics = recorded_groups(recording)
        if not recording.has_topics:
            notice("the input has no topics, so the assignments after the switch are not known")
        return groups, topics, recording.source


def _described(path: str) -> tuple[list[ClassicGroup], list[dict[str, Any]]] | None:
    """Return the groups of a description; None for a recording or files that are read as one."""
    from assignor.single_group import topic_rows
    from assignor.sources import group_text
    from assignor.sources.described_classic_groups import described_text_groups, group_of_subscriptions

    if path != STDIN and not _is_text(Path(path)):
        return None
    text, place = read_text(path), place_of(path)
    if not text.lstrip().startswith("{"):
        if not group_text.is_group_text(text):
            if path == STDIN:
                raise IllegalArgumentError(f"{place} is no description of groups")
            return None
        return described_text_groups(group_text.read_group_text(text, place))
    data = parse_json(text, place)
    if group_text.is_description(data):
        return described_text_groups(group_text.read_description(data, place))
    group = group_of(data, place)
    protocol = group.settings.get("group_protocol")
    if protocol not in (None, "classic"):
        raise IllegalArgumentError(f"{place}: the group has the protocol {protocol}; only classic groups can move")
    found = group_of_subscriptions("", group.subscriptions, group.settings.get("assignor"))
    found = replace(found, weights=group.others.get("weights"))
    return [found], topic_rows(group.partitions_per_topic, topic_ids=group.settings.get("topic_ids"), place=place)


def _is_text(path: Path) -> bool:
    """Return True for a file that is no text of kafka-dump-log.sh and no segment, but text or JSON of groups."""
    from assignor.sources.dump_text import is_dump_file

    if not path.is_file() or path.suffix == ".log" or path.suffix.startswith(".parquet"):
        return False
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError:
        return False
    return b"\0" not in start and not is_dump_file(path)


def _from_cluster(
    options: argparse.Namespace, given: dict[str, str]
) -> tuple[list[ClassicGroup], list[dict[str, Any]], BrokerSettings, list[str]]:
    """Return groups and topics of a live cluster, the settings of its brokers, and what could not be read."""
    client = connection_settings(options)
    from assignor.cluster.broker_settings import read_broker_settings
    from assignor.cluster.classic_groups import described_groups, last_topics
    from assignor.cluster.description import describe
    from assignor.cluster.topics import topic_rows

    with status_line() as show:
        admin = client.admin()
        description = describe(client, options.group, admin=admin, on_progress=show, has_other_groups=False)
        topics = last_topics(topic_rows(client, admin, 0))
        settings, notes = read_broker_settings(client, admin, options.broker_version)
    if given:
        known = {name: value for name, value in settings.values().items() if name not in settings.assumed}
        settings = BrokerSettings.read({**known, **given}, options.broker_version)
    notes += [f"{group}: {text}" if group else text for group, text in description.problems if not group]
    return described_groups(description), topics, settings, notes
