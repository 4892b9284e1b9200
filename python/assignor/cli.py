"""The command line: `assignor report`. What it finds goes to standard output, what it has to say to standard error."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.errors import AssignorError

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The words after `assignor`; those of the process by default.

    Returns:
        The exit code: 0; 2 when the input cannot be used or something needed is missing, and one line says what; 130
        after Ctrl-C.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        code: int = options.run(options)
    except AssignorError as error:
        print(f"assignor: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("assignor: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of standard output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _parser() -> argparse.ArgumentParser:
    from assignor import __version__

    parser = argparse.ArgumentParser(
        prog="assignor", description="Who gets which partition, exactly as Apache Kafka decides it."
    )
    parser.add_argument("--version", action="version", version=f"assignor {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    report = commands.add_parser(
        "report",
        help="say how recorded groups stand, and whether their assignments are what Kafka's rules give",
        description="Decodes a recorded __consumer_offsets topic with Spark, replays every group, and compares every "
        "generation of the range assignor with what Kafka's rules give. Changes nothing on any cluster.",
    )
    report.add_argument("folder", metavar="FOLDER", help="records.parquet, topics.parquet and aborted.json")
    report.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    report.add_argument(
        "--out", metavar="DIR", help="where to write the Parquet output (default: assignor-report/NAME-OF-FOLDER)"
    )
    report.set_defaults(run=_report)
    return parser


def _report(options: argparse.Namespace) -> int:
    from assignor.recording import Recording

    recording = Recording.open(options.folder)
    out = Path(options.out) if options.out else Path("assignor-report") / recording.folder.resolve().name
    from assignor.spark.progress import progress
    from assignor.spark.session import session

    with contextlib.ExitStack() as stack:
        with progress(None, "starting Spark"):
            spark = stack.enter_context(session(app="assignor report"))
        from assignor.spark.report import report

        found = report(spark, recording, out)
    if options.json:
        print(json.dumps(found.to_json(), ensure_ascii=False))
    else:
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        print(f"{found.to_text(colour=colour)}\nParquet output: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
