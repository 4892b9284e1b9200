"""Command line `assignor`. Results go to standard output, progress and errors to standard error.

Each command has a module with the command's name. Its function `add_options(command)` adds the options to the command's
parser, and `run(options)` returns the exit code. The module is imported when the command is used. `engines` chooses
between this process and Spark.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
import threading
from typing import IO, TYPE_CHECKING, Any, NoReturn

from assignor import terminal
from assignor.errors import AssignorError, ClusterError, SparkStartError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType, ModuleType

COMMANDS = {
    "assign": "compute the partitions of each member of a group",
    "plan": "compute the assignment of a group as a compact plan",
    "check": "find what is wrong with an assignment",
    "what-if": "predict how changes to a group move partitions and load",
    "scale": "find good numbers of members: load, idle members and moves for 1, 2, 3, ... members",
    "match": "print the topics that a topic pattern matches",
    "explain": "explain a topic pattern and find mistakes in it",
    "decode": "decode records of the topic __consumer_offsets",
    "record": "record the consumer groups of a live cluster into a folder",
    "replay": "show the rebalances of a recorded cluster, their causes, and storms and stuck members",
    "watch": "show the rebalances of a live cluster as they happen, and serve metrics",
    "report": "report the consumer groups of a recorded or live cluster and check their assignments",
    "migrate": "say whether classic groups can move to the protocol of KIP-848, and what changes",
    "describe": "show the groups, members, assignments and lag of a live cluster",
    "mcp": "serve tools for assistants that read a recording or a live cluster",
}
"""Commands and their summaries, in the order of `assignor --help`. The module of `what-if` is `what_if`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The words after `assignor`; those of the process by default.

    Returns:
        The exit code: 0 on success; 1 if `check` finds a problem, `report` has a finding that `--fail-on` names, or
        `describe` cannot describe a named group; 2 if the input is invalid or a dependency is missing; 3 if a live
        cluster does not answer or rejects the request; 4 if `report` may not read the log and describes the cluster
        instead; 130 after Ctrl-C. With 2, 3 and 4, one line on standard error has the reason.
    """
    terminal.prepare()
    try:
        try:
            options = _parser().parse_args(arguments)
        except SystemExit:  # after `--help`
            terminal.flush()
            raise
        with _terminated_as_interrupted():
            code: int = options.run(options)
            terminal.flush()
    except BrokenPipeError:  # the reader of standard output, such as `head`, closed the pipe
        terminal.drop_output()
        return 0
    except KeyboardInterrupt:
        terminal.notice("interrupted")
        return 130
    except Exception as error:
        if not _is_expected(error):
            raise
        if isinstance(error, terminal.OutputError):
            terminal.drop_output()
        terminal.notice(_message(error))
        return 3 if isinstance(error, ClusterError) else 2
    return code


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Make SIGTERM end the command as Ctrl-C does, so that Spark is stopped and temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit(143)

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _is_expected(error: Exception) -> bool:
    """Return True if the input or the machine causes the error, False if it is a defect of this package."""
    return isinstance(error, AssignorError | OSError | MemoryError) or _library(error) in _LIBRARIES


_LIBRARIES = {"pyspark", "py4j", "pyarrow", "cimpl", "confluent_kafka"}
"""Modules whose errors come from the input or from the machine; `cimpl` is that of confluent-kafka's classes."""


def _library(error: Exception) -> str:
    return type(error).__module__.partition(".")[0]


def _message(error: Exception) -> str:
    """Return the message of an error. Spark's messages contain a stack trace: return their first and last line.

    A line with the code of SQL, which Spark Connect adds, says nothing more.
    """
    if isinstance(error, AssignorError) and not isinstance(error, SparkStartError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    lines = [line.strip() for line in str(error).splitlines()]
    lines = [line for line in lines if line and not line.startswith("SQLSTATE: ")] or [type(error).__name__]
    return lines[0] if len(lines) == 1 else f"{lines[0]} {lines[-1]}"


def _parser() -> argparse.ArgumentParser:
    from assignor import __version__

    parser = _Parser(
        prog="assignor", description="Compute and check Kafka consumer group assignments, exactly as Apache Kafka does."
    )
    parser.add_argument("--version", action="version", version=f"assignor {__version__}")
    # CPython 3.14.0 would have colours in the programs of commands, which are part of names of variables.
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_CommandParser, prog=parser.prog)
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary, module=f"assignor.cli.{name.replace('-', '_')}")
    return parser


class _Parser(argparse.ArgumentParser):
    """Parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        """Print an error, and exit with code 2."""
        terminal.notice(f"{message}; `{self.prog} --help` lists the options", program=self.prog)
        sys.exit(2)

    def _print_message(self, message: str, file: IO[str] | None = None) -> None:  # type: ignore[override]  # narrower
        """Print the text of `--help` and `--version`; argparse calls this."""
        del file
        terminal.print_help(message)


class _CommandParser(_Parser):
    """Parser of a command. It imports the module of the command when the command is used."""

    def __init__(self, *, module: str, **settings: Any) -> None:
        self._module = module
        self._options: list[argparse.Action] = []
        super().__init__(**settings)

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """Add an option as usual, and remember it."""
        action = super().add_argument(*names, **settings)
        if action.default is not argparse.SUPPRESS:  # --help
            self._options.append(action)
        return action

    def parse_known_args(self, words: Any = None, namespace: Any = None) -> Any:
        """Add the options of the command, and parse them; report unknown options here, not in the main parser."""
        module: ModuleType = importlib.import_module(self._module)
        module.add_options(self)
        self.set_defaults(run=module.run)
        nothing = dict.fromkeys(action.dest for action in self._options)
        is_configurable = "config" in nothing
        if is_configurable:
            namespace = argparse.Namespace(**nothing)
        found, unknown = super().parse_known_args(words, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        if is_configurable:
            from assignor.cli.configuration import configure

            self.exit_on_error = False
            parse = super().parse_known_args
            configure(
                found,
                self._options,
                lambda words: parse(words, argparse.Namespace(**nothing))[0],
                os.environ,
                self.prog,
            )
        return found, unknown
