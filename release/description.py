"""Links of the README on a package index, which shows the README without the files that it links to.

`python -m release.description --repository URL` changes the README of a checkout so that each link to a file leads to
this file in the tag of the version, and adds the addresses of the project to pyproject.toml. Built files then have both
in their metadata. The repository itself keeps relative links and no addresses: those of a clone or a fork differ.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from release import ROOT, stated_version

_CODE = r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)"
_LINK = r"(?P<image>!?)(?P<text>\[[^\[\]]*\])\((?P<target>[^()\s]+)\)"
_CODE_OR_LINK = re.compile(f"{_CODE}|{_LINK}", re.MULTILINE | re.DOTALL)
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|#", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses of the files of one version.

    Attributes:
        repository: Address of the repository, as a browser shows it.
        tag: Tag of the version.
        root: A checkout, in which each target must exist.
    """

    repository: str
    tag: str
    root: Path

    def __post_init__(self) -> None:
        if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", self.repository):
            raise ValueError(
                f"repository {self.repository!r} must have the form https://HOST/OWNER/NAME, without a slash at the end"
            )

    @classmethod
    def of_version(cls, repository: str, root: Path) -> Links:
        """Return the addresses of the version that a checkout states."""
        return cls(repository, f"v{stated_version(root)}", root)

    def address(self, target: str, page: str, *, image: bool = False) -> str:
        """Return the address of a file that a page links to, with the fragment of the link.

        Raises:
            ValueError: The repository has no such file.
        """
        name, _, fragment = target.partition("#")
        if not (self.root / name).exists():
            raise ValueError(f"{page}: the link {target!r} leads to no file of the repository; correct the link")
        view = "raw" if image else "blob"
        return f"{self.repository}/{view}/{self.tag}/{name}" + (f"#{fragment}" if fragment else "")

    def absolute(self, text: str, page: str) -> str:
        """Return a Markdown page of the root folder with an absolute address in each link, except in blocks of code."""

        def replaced(link: re.Match[str]) -> str:
            if link["fence"] or _ABSOLUTE.match(link["target"]):
                return link[0]
            address = self.address(link["target"], page, image=bool(link["image"]))
            return f"{link['image']}{link['text']}({address})"

        return _CODE_OR_LINK.sub(replaced, text)

    def project_urls(self) -> dict[str, str]:
        """Return the addresses of the project by the names that an index shows."""
        pages = {"Documentation": "docs/README.md", "Changelog": "CHANGELOG.md"}
        return {"Source": self.repository} | {name: self.address(page, "Project-URL") for name, page in pages.items()}


def rewrite(links: Links) -> None:
    """Write absolute links into the README of a checkout, and the addresses of the project into its pyproject.toml."""
    readme, project = links.root / "README.md", links.root / "pyproject.toml"
    text = links.absolute(readme.read_text(encoding="utf-8"), readme.name)
    readme.write_text(text, encoding="utf-8", newline="\n")
    with project.open("a", encoding="utf-8", newline="\n") as file:
        file.write("\n[project.urls]\n")
        file.writelines(f'{name} = "{address}"\n' for name, address in links.project_urls().items())


def main(arguments: list[str] | None = None) -> int:
    """Write absolute links into README.md and the addresses of the project into pyproject.toml, before a build."""
    parser = argparse.ArgumentParser(prog="python -m release.description", description=main.__doc__)
    parser.add_argument(
        "--repository", required=True, help="address of the repository, such as https://HOST/OWNER/NAME"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to change (default: this one)")
    given = parser.parse_args(arguments)
    try:
        rewrite(Links.of_version(given.repository, given.root))
    except ValueError as error:
        sys.exit(f"assignor: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
