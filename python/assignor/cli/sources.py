"""Paths of the commands that read a recording, or what people have in its place, and the progress of reading it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from assignor.terminal import status_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from assignor.cluster import Recording

PATHS_HELP = (
    "folder of a recording; or data directories of the brokers of a cluster, folders above them, partition folders "
    "__consumer_offsets-N and log segments, which may be mixed; or files with text of kafka-dump-log.sh"
)


def add_paths(command: argparse.ArgumentParser, *, is_optional: bool = False) -> None:
    """Add the argument PATH, which can be repeated."""
    command.add_argument("paths", nargs="*" if is_optional else "+", metavar="PATH", help=PATHS_HELP)


@contextlib.contextmanager
def opened(paths: Sequence[str]) -> Iterator[Recording]:
    """Yield the recording at the paths; a temporary one if they are no recording.

    Raises:
        IllegalArgumentError: A path cannot be read; the message names it and says what was expected.
        MissingDependencyError: pyarrow is not installed.
    """
    from assignor.sources.source import open_source

    with contextlib.ExitStack() as stack:
        with status_line() as show:
            recording = stack.enter_context(open_source(paths, show))
        yield recording
