"""Programs of a release: the tag, the changelog section, the description on the index, the build and its checks.

`docs/release.md` says how a release is made. The workflow `release` and `make release-check` run these programs. Only
`release.build` and `release.check` need other packages, those of `requirements-release.txt`.
"""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder of the project."""


def stated_version(root: Path) -> str:
    """Return the version that Cargo.toml states. maturin and the core read it there, too."""
    return str(tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))["package"]["version"])
