"""Generator of THIRD-PARTY-LICENSES.txt, the licences of the crates in a wheel: `python -m docs.licenses`.

The extension module is linked with these crates, so each wheel has to carry their licences and notices. Cargo names
the crates, and the texts come from the files that the crates ship.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "THIRD-PARTY-LICENSES.txt"

PLATFORMS = (
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
)
"""Platforms for which there are wheels, by the names of Rust's targets."""

LEGAL = ("COPYING", "COPYRIGHT", "LICENCE", "LICENSE", "NOTICE", "UNLICENSE")
"""First words of the names of files that licences demand in copies."""

RULE = "=" * 80

INTRODUCTION = """\
The extension module of a wheel of assignor contains the crates of this list, all or some of them, depending on the
platform. Their licences and notices follow. It also contains the standard library of Rust, by the Rust Project
Contributors, under MIT OR Apache-2.0."""


class Crate(NamedTuple):
    """A crate that is linked into the extension module.

    Attributes:
        name: Name of the crate.
        version: Its version.
        license: SPDX expression of its licence.
        folder: Folder of its sources.
    """

    name: str
    version: str
    license: str
    folder: Path

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def linked_crates() -> list[Crate]:
    """Return the crates that are linked into the extension module on any platform, by name and version.

    Crates that only build scripts, macros and tests need are not part of it.
    """
    # `cargo metadata` alone would add what the crates need for features that only tests enable.
    tree = ["tree", "--edges=normal,no-proc-macro", "--prefix=none", "--format={p}"]
    lines = _cargo(*tree, *(f"--target={platform}" for platform in PLATFORMS)).splitlines()
    linked = {tuple(line.split()[:2]) for line in lines if line}
    filters = [f"--filter-platform={platform}" for platform in PLATFORMS]
    packages: list[dict[str, Any]] = json.loads(_cargo("metadata", "--format-version=1", *filters))["packages"]
    return sorted(
        Crate(each["name"], each["version"], each["license"], Path(each["manifest_path"]).parent)
        for each in packages
        if each["source"] and (each["name"], f"v{each['version']}") in linked
    )


def _cargo(*arguments: str) -> str:
    """Return the output of a command of cargo about the crate with its Python binding."""
    command = ["cargo", *arguments, "--locked", "--features=python"]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout


def legal_files(crate: Crate) -> Iterator[tuple[str, str]]:
    """Return the names and texts of the licences and notices of a crate.

    Raises:
        ValueError: The crate has none. Then its licence has to be found elsewhere.
    """
    files = [each for each in sorted(crate.folder.iterdir()) if each.is_file() and each.name.upper().startswith(LEGAL)]
    if not files:
        raise ValueError(f"crate {crate} ({crate.license}) has no file with a licence")
    for file in files:
        lines = file.read_text(encoding="utf-8").splitlines()
        yield file.name, "\n".join(line.rstrip() for line in lines).strip("\n")


def text() -> str:
    """Return the list of crates, and each distinct text once, with the crates that ship it."""
    crates = linked_crates()
    texts: dict[str, str] = {}
    owners: dict[str, list[str]] = {}
    for crate in crates:
        for name, content in legal_files(crate):
            key = "".join(content.split())  # copies of a licence differ in their line breaks
            texts.setdefault(key, content)
            owners.setdefault(key, []).append(f"{crate} ({name})")
    parts = [INTRODUCTION, "\n".join(f"{crate}: {crate.license}" for crate in crates)]
    parts += [f"{RULE}\n{chr(10).join(owners[key])}\n{RULE}\n\n{content}" for key, content in texts.items()]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Write the file if it is out of date."""
    fresh = text()
    if not FILE.exists() or FILE.read_text(encoding="utf-8") != fresh:
        FILE.write_text(fresh, encoding="utf-8")
        sys.stderr.write(f"{FILE.name} written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
