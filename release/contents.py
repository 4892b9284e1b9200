"""What a wheel and an sdist must contain: metadata of the project, licences, a description without relative links."""

from __future__ import annotations

import email
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from release import stated_version

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message
    from pathlib import Path

    from release.description import Links


@dataclass(frozen=True, slots=True)
class Built:
    """A built file, as it is read from a wheel or an sdist.

    Attributes:
        name: Name of the file.
        metadata: Metadata of the package, with the description as the body of the message.
        licences: Licence files by the name that the metadata has for them.
    """

    name: str
    metadata: Message
    licences: dict[str, bytes]

    @property
    def description(self) -> str:
        """Description of the package, which an index shows."""
        body = self.metadata.get_payload(decode=True)
        return body.decode("utf-8") if isinstance(body, bytes) else ""


def read_built(path: Path) -> Built:
    """Read the metadata and the licences of a wheel or an sdist.

    Raises:
        ValueError: The file is neither, or has no metadata.
    """
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            files = {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" in name}
        inside = {name.partition(".dist-info/")[2]: data for name, data in files.items()}
        metadata, folder = inside.get("METADATA"), "licenses/"
    elif path.name.endswith(".tar.gz"):
        with tarfile.open(path) as sdist:
            entries = [(entry.name, sdist.extractfile(entry)) for entry in sdist if entry.isfile()]
            inside = {name.partition("/")[2]: file.read() for name, file in entries if file}
        metadata, folder = inside.get("PKG-INFO"), ""
    else:
        raise ValueError(f"{path.name} is neither a wheel nor an sdist: remove it")
    if metadata is None:
        raise ValueError(f"{path.name} has no metadata: build it again")
    message = email.message_from_bytes(metadata)
    named = message.get_all("License-File", [])
    return Built(path.name, message, {name: inside[folder + name] for name in named if folder + name in inside})


def problems(built: Built, links: Links) -> Iterator[str]:
    """Yield what is wrong with the metadata, the licences and the description of a built file, one line each."""
    project = tomllib.loads((links.root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    expected = {
        "Name": [project["name"]],
        "Version": [stated_version(links.root)],
        "Requires-Python": [project["requires-python"]],
        "License-Expression": [project["license"]],
        "Classifier": project["classifiers"],
        "Project-URL": [f"{name}, {address}" for name, address in links.project_urls().items()],
        "Description-Content-Type": ["text/markdown; charset=UTF-8; variant=GFM"],
    }
    for field, values in expected.items():
        found = built.metadata.get_all(field, [])
        if sorted(values) != sorted(found):
            yield f"{built.name}: {field} is {found}, and the project has {values}"
    yield from licence_problems(built, links.root)
    readme = links.absolute((links.root / "README.md").read_text(encoding="utf-8"), "README.md")
    if built.description.strip() != readme.strip():
        yield f"{built.name}: the description is not the README with absolute links; run release.description first"


def licence_problems(built: Built, root: Path) -> Iterator[str]:
    """Yield a line for each licence file that a built file lacks, or has with another text."""
    patterns = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["license-files"]
    for pattern in patterns:
        files = [path for path in sorted(root.glob(pattern)) if path.is_file()]
        if not files:
            yield f"license-files has {pattern!r}, and the project has no such file"
        for path in files:
            name = path.relative_to(root).as_posix()
            if name not in built.licences:
                yield f"{built.name} has no {name}, which license-files names"
            elif built.licences[name].splitlines() != path.read_bytes().splitlines():
                yield f"{built.name} has another {name} than the project"


class _Targets(HTMLParser):
    """Collector of the targets of links and images."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - HTMLParser passes the tag
        """Collect the targets of a tag."""
        self.found += [value for name, value in attrs if name in {"href", "src"} and value]


def relative_targets(html: str) -> list[str]:
    """Return the targets in a rendered page that are neither addresses nor places on the page itself."""
    targets = _Targets()
    targets.feed(html)
    return [target for target in targets.found if not target.startswith(("https://", "http://", "mailto:", "#"))]
