"""Writer of the hashes in the requirement files: `python -m release.pins`, after a version in them has changed.

Each package has the hashes of all its files, so that the same files are installed on every platform. uv reads them from
the package index. `make pins` calls this program with uv.
"""

from __future__ import annotations

import re
import subprocess
import sys

from release import ROOT

FILES = tuple(
    ROOT / name
    for name in (
        *("requirements-demo.txt", "requirements-dev.txt", "requirements-release.txt", "requirements-site.txt"),
        "fuzz/requirements.txt",
    )
)

PIN = re.compile(r"^[A-Za-z0-9._-]+==\S+", re.MULTILINE)
"""Name and version of a package."""


def head(text: str) -> str:
    """Return the lines of a requirement file before its packages: comments, and the names of other files."""
    return "".join(f"{line}\n" for line in text.splitlines() if line.startswith(("#", "-r ")))


def hashed(pins: list[str]) -> str:
    """Return packages with the hashes of their files, by name."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-deps", "--no-header", "--no-annotate"]
    # The version of Python has no effect on pinned packages, but on whether uv accepts them.
    command += ["--generate-hashes", "--python-version=3.11", "-"]
    done = subprocess.run(command, input="\n".join(pins), stdout=subprocess.PIPE, check=True, encoding="utf-8")
    return done.stdout


def main() -> int:
    """Write the files whose hashes are out of date."""
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        fresh = head(text) + hashed(PIN.findall(text))
        if fresh != text:
            file.write_text(fresh, encoding="utf-8")
            sys.stderr.write(f"{file.name} written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
