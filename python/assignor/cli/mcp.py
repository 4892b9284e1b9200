"""Command `assignor mcp`: a server of the Model Context Protocol with tools for assistants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.cli.connection import add_connection, check_source, connection_settings
from assignor.cli.sources import PATHS_HELP
from assignor.dependencies import dependency, require
from assignor.errors import AssignorError
from assignor.names import Dialect

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from assignor.cli.cluster_answers import ClusterAnswers

INSTRUCTIONS = (
    "Answers about the consumer groups of one Kafka cluster. The tools only read. Times are milliseconds since 1970, "
    "UTC. A null means that the value is not known. Long answers are cut: `truncated` has the number of entries that "
    "each list lacks."
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Serve tools for assistants over the Model Context Protocol, on standard input and output: explain_group, "
        "what_if, scale, can_migrate and match_pattern. They read a recording, or a live cluster with "
        "--bootstrap-server, and change nothing. The client of an assistant starts this command."
    )
    command.add_argument("paths", nargs="*", metavar="PATH", help=PATHS_HELP)
    add_connection(command)


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    check_source(options, "mcp needs either the PATH of a recording, or --bootstrap-server")
    require("mcp", "pyarrow", *(() if options.paths else ("confluent_kafka",)))
    from assignor.cli.cluster_answers import ClusterAnswers

    if options.paths:
        from assignor.sources.source import check_paths

        check_paths(options.paths)
    settings = None if options.paths else connection_settings(options)
    with ClusterAnswers(options.paths, settings) as answers:
        server_of(answers).run("stdio")
    return 0


def server_of(answers: ClusterAnswers) -> Any:
    """Return the server with the tools.

    Args:
        answers: Answers about a recording or a live cluster.
    """
    with dependency("mcp"):
        from mcp.server.mcpserver import MCPServer
        from mcp.types import ToolAnnotations

    import assignor

    server = MCPServer("assignor", instructions=INSTRUCTIONS, version=assignor.__version__, log_level="WARNING")
    reading = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

    def explain_group(group: str) -> dict[str, Any]:
        """Explain a consumer group.

        The answer has its state, members, assigned partitions, lag in records and in time, findings, and the last
        rebalances with their causes and the evidence. An unknown name is answered with the names of groups.
        """
        return _answered(answers.explain_group, group)

    def what_if(group: str, steps: list[str]) -> dict[str, Any]:
        """Predict what changes do to a consumer group: partitions that move, load of members, idle members.

        Steps, in the order in which they happen: add_members=2, remove_members=1, grow_partitions=TOPIC:12,
        multiply_partitions=2, add_topic=TOPIC:6, set_racks=r1,r2, make_static, rolling_restart, use=sticky,
        use=consumer/uniform.
        """
        return _answered(answers.what_if, group, steps)

    def scale(group: str, max_members: int | None = None) -> dict[str, Any]:
        """Compute a consumer group with 1, 2, 3, ... members, up to `max_members` (by default those of today).

        For each number: load of the members, idle members, and partitions that move from today; of a recording also
        the load by records per second. `good` lists the numbers without idle members and with even load.
        """
        return _answered(answers.scale, group, max_members)

    def can_migrate(group: str) -> dict[str, Any]:
        """Say whether a classic consumer group can move to the protocol of KIP-848 (group.protocol=consumer).

        The answer has the verdict (online, offline only, or not yet) with its reason, the members that block, and what
        changes: partitions that move, load before and after, and the moves of later changes.
        """
        return _answered(answers.can_migrate, group)

    def match_pattern(pattern: str, dialect: Dialect = "java") -> dict[str, Any]:
        """Find the topics that a topic pattern matches, and explain the pattern with probable mistakes in it."""
        return _answered(answers.match_pattern, pattern, dialect)

    for tool in (explain_group, what_if, scale, can_migrate, match_pattern):
        server.add_tool(tool, annotations=reading)
    return server


def _answered(answer: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Return an answer; wrong input and a cluster that does not answer are errors of the tool, not of the server."""
    with dependency("mcp"):
        from mcp.server.mcpserver.exceptions import ToolError

    try:
        return answer(*arguments)
    except AssignorError as error:
        raise ToolError(str(error)) from error
