"""The section of CHANGELOG.md about one version, as the text of its release.

`python -m release.changelog 0.1.0 --repository URL` prints the section; its links lead to the files of the tag.
"""

from __future__ import annotations

import argparse
import re
import sys

from release import ROOT
from release.description import Links


def section(version: str, changelog: str) -> tuple[str, str]:
    """Return the date and the text of a version's section.

    Raises:
        ValueError: The changelog has no section of this version, or the section is empty.
    """
    heading = re.search(rf"^## \[{re.escape(version)}\] - (.*)$", changelog, flags=re.MULTILINE)
    if not heading:
        raise ValueError(f"CHANGELOG.md: no section of version {version}: add the line '## [{version}] - YYYY-MM-DD'")
    text, _, _ = changelog[heading.end() :].partition("\n## [")
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).strip()
    if not text:
        raise ValueError(f"CHANGELOG.md: section {version} is empty: describe the changes")
    return heading[1].strip(), text + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Print the section of CHANGELOG.md about a version, with absolute links."""
    parser = argparse.ArgumentParser(prog="python -m release.changelog", description=main.__doc__)
    parser.add_argument("version", help="version, such as 0.1.0")
    parser.add_argument("--repository", required=True, help="address of the repository, for the links")
    given = parser.parse_args(arguments)
    try:
        _, text = section(given.version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
        links = Links(given.repository, f"v{given.version}", ROOT)
        sys.stdout.write(links.absolute(text, "CHANGELOG.md"))
    except ValueError as error:
        sys.exit(f"assignor: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
