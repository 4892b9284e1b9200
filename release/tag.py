"""What prevents a release of this commit under a tag.

`python -m release.tag v0.1.0` fails if the tag differs from the version of Cargo.toml, or if a file still describes the
time before this release, and names each reason.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from typing import TYPE_CHECKING

from release import ROOT, changelog, stated_version

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCKS = ("Cargo.lock", "fuzz/Cargo.lock")
"""Lock files, into which cargo copies the version."""

UNPUBLISHED = "not published yet"
"""Words of the README that are wrong on a package index."""


def tag_problems(tag: str, root: Path) -> Iterator[str]:
    """Yield a line if a tag is not the one of the stated version, and one for each lock file with another version."""
    version = stated_version(root)
    if tag != f"v{version}":
        yield f"the tag is {tag!r}, and Cargo.toml has version {version}: use the tag v{version}, or change the version"
    for name in LOCKS:
        packages = tomllib.loads((root / name).read_text(encoding="utf-8"))["package"]
        locked = next((package["version"] for package in packages if package["name"] == "assignor"), None)
        if locked != version:
            yield f"{name} has assignor {locked}, and Cargo.toml {version}: run cargo update assignor in its folder"


def text_problems(root: Path) -> Iterator[str]:
    """Yield a line for each text that must change before the stated version is released."""
    version = stated_version(root)
    try:
        date, _ = changelog.section(version, (root / "CHANGELOG.md").read_text(encoding="utf-8"))
    except ValueError as error:
        yield str(error)
    else:
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
            yield f"CHANGELOG.md: section {version} has the date {date!r}: write the day of the release"
    if UNPUBLISHED in (root / "README.md").read_text(encoding="utf-8"):
        yield f"README.md says {UNPUBLISHED!r}: describe the installation from the index"


def main(arguments: list[str] | None = None) -> int:
    """Compare a tag with the version, the lock files, the changelog and the README."""
    parser = argparse.ArgumentParser(prog="python -m release.tag", description=main.__doc__)
    parser.add_argument("tag", help="name of the tag, such as v0.1.0")
    found = [*tag_problems(parser.parse_args(arguments).tag, ROOT), *text_problems(ROOT)]
    sys.stderr.writelines(f"assignor: {problem}\n" for problem in found)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
