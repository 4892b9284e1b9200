"""Examples of shell commands in documentation pages: `$ command` and its output in blocks of the language `text`.

In an example, a line with only `…` matches any number of lines, and `…` within a line matches any text.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from assignor.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GAP = "…"


class Example(NamedTuple):
    """Command and the lines that it prints."""

    command: str
    output: list[str]


def examples(page: str) -> Iterator[Example]:
    """Yield the examples of a page."""
    for block in re.findall(r"^```text\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL):
        current: Example | None = None
        for line in block.splitlines():
            if line.startswith("$ "):
                if current is not None:
                    yield current
                current = Example(line.removeprefix("$ "), [])
            elif current is not None:
                current.output.append(line)
        if current is not None:
            yield current


def run(command: str, folder: Path) -> str:
    """Run a command of the shell in a folder and return its standard output; `assignor` is the package under test.

    Commands of `assignor` without pipes and redirections run in this process.
    """
    words = shlex.split(command)
    if words[0] == "assignor" and not set("|<>") & set(command):
        with contextlib.chdir(folder), io.TextIOWrapper(io.BytesIO(), encoding="utf-8") as printed:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                main(words[1:])
            printed.seek(0)
            return printed.read()

    shim = folder / ".bin" / "assignor"
    shim.parent.mkdir(exist_ok=True)
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m assignor "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    environment = {**os.environ, "PATH": f"{shim.parent}:{os.environ['PATH']}", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=folder, env=environment, capture_output=True, check=False
    )
    return done.stdout.decode()


def differences(expected: list[str], printed: list[str]) -> list[str]:
    """Return the expected lines that are not printed in this order; other lines may be printed only at a gap."""
    missing, place, has_gap = [], 0, False
    for line in expected:
        if line.strip() == GAP:
            has_gap = True
            continue
        pattern = re.compile(".*".join(map(re.escape, line.split(GAP))))
        found = next((at for at in range(place, len(printed)) if pattern.fullmatch(printed[at])), None)
        if found is None or (found > place and not has_gap):
            missing.append(line)
            continue
        place, has_gap = found + 1, False
    if place < len(printed) and not has_gap and not missing:
        missing.append(f"unexpected line: {printed[place]}")
    return missing
