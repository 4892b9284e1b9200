"""Tests of the programs in `release/`: tag, changelog, absolute links of the description, contents of built files."""

from __future__ import annotations

import io
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from markdown_it import MarkdownIt

from release import ROOT, changelog, check, contents, description, stated_version, tag

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "https://example.org/owner/assignor"
VERSION = stated_version(ROOT)
LINKS = description.Links.of_version(REPOSITORY, ROOT)


def rendered(page: str) -> str:
    """Return the HTML of a Markdown page."""
    return str(MarkdownIt("commonmark").enable("table").render(page))


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md"])
def test_the_description_on_an_index_has_no_relative_link(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = len(contents.relative_targets(rendered(text)))
    absolute = LINKS.absolute(text, page)

    assert links > 10
    assert [] == contents.relative_targets(rendered(absolute))
    views = (f"]({REPOSITORY}/{view}/v{VERSION}/" for view in ("blob", "raw"))  # of a page, and of a picture
    assert links == sum(map(absolute.count, views))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](LICENSE)", f"[a]({REPOSITORY}/blob/v{VERSION}/LICENSE)"),
        ("[two\nlines](docs/lag.md#x)", f"[two\nlines]({REPOSITORY}/blob/v{VERSION}/docs/lag.md#x)"),
        ("![page](docs/page-dark.png)", f"![page]({REPOSITORY}/raw/v{VERSION}/docs/page-dark.png)"),
        ("[a](#install) [b](https://example.org) [c](mailto:d@example.org)",) * 2,
        (
            "```text\n[a](none)\n```\n[b](LICENSE)",
            f"```text\n[a](none)\n```\n[b]({REPOSITORY}/blob/v{VERSION}/LICENSE)",
        ),
    ],
)
def test_links_to_files_become_absolute(text: str, expected: str) -> None:
    assert expected == LINKS.absolute(text, "README.md")


def test_a_link_to_a_missing_file_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"README\.md: the link 'docs/none\.md#x' leads to no file of the repository"):
        LINKS.absolute("see [this](docs/none.md#x)", "README.md")


@pytest.mark.parametrize("repository", ["", "example.org/a", "https://example.org", f"{REPOSITORY}/", "http://a.org/b"])
def test_a_repository_without_an_address_is_an_error(repository: str) -> None:
    with pytest.raises(ValueError, match="must have the form https://HOST/OWNER/NAME"):
        description.Links(repository, "v1.0.0", ROOT)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<a href="docs/lag.md">x</a><img src="a.png"/>', ["docs/lag.md", "a.png"]),
        ('<a href="#x">x</a><a href="https://example.org">y</a>', []),
    ],
)
def test_relative_targets_are_found(html: str, expected: list[str]) -> None:
    assert expected == contents.relative_targets(html)


def project(folder: Path, **files: str) -> Path:
    """Write the files that `release.tag` reads, and return their folder."""
    new, old = "## [1.2.0] - 2026-11-30\n<!-- a -->\n\n- New.\n", "## [1.1.0] - 2026-01-01\n\n- Old.\n"
    texts = {
        "Cargo.toml": '[package]\nversion = "1.2.0"\n',
        "Cargo.lock": '[[package]]\nname = "assignor"\nversion = "1.2.0"\n',
        "fuzz/Cargo.lock": '[[package]]\nname = "assignor"\nversion = "1.2.0"\n',
        "CHANGELOG.md": f"# Changelog\n\n## [Unreleased]\n\n{new}\n{old}",
        "README.md": "Install it.\n",
    } | {name.replace("_", "/").replace("+", "."): text for name, text in files.items()}
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_commit_can_be_released(tmp_path: Path) -> None:
    root = project(tmp_path)

    assert [] == [*tag.tag_problems("v1.2.0", root), *tag.text_problems(root)]


@pytest.mark.parametrize("name", ["1.2.0", "v1.2.1", "v1.2.0rc1", ""])
def test_a_tag_that_is_not_the_version_is_an_error(tmp_path: Path, name: str) -> None:
    (problem,) = tag.tag_problems(name, project(tmp_path))

    assert (
        problem == f"the tag is {name!r}, and Cargo.toml has version 1.2.0: use the tag v1.2.0, or change the version"
    )


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        (
            "fuzz_Cargo+lock",
            '[[package]]\nname = "assignor"\nversion = "1.1.0"\n',
            "fuzz/Cargo.lock has assignor 1.1.0",
        ),
        ("Cargo+lock", '[[package]]\nname = "snap"\nversion = "1.2.0"\n', "Cargo.lock has assignor None"),
        ("CHANGELOG+md", "## [Unreleased]\n", "CHANGELOG.md: no section of version 1.2.0"),
        ("CHANGELOG+md", "## [1.2.0] - 2026-11-30\n\n## [1.1.0] - a\nb\n", "CHANGELOG.md: section 1.2.0 is empty"),
        (
            "CHANGELOG+md",
            "## [1.2.0] - YYYY-MM-DD\n\n- New.\n",
            "CHANGELOG.md: section 1.2.0 has the date 'YYYY-MM-DD'",
        ),
        ("README+md", "It is not published yet.", "README.md says 'not published yet'"),
    ],
)
def test_what_is_missing_before_a_tag_is_named(tmp_path: Path, file: str, text: str, expected: str) -> None:
    root = project(tmp_path, **{file: text})
    (problem,) = [*tag.tag_problems("v1.2.0", root), *tag.text_problems(root)]

    assert problem.startswith(expected)


def test_the_section_of_a_version_ends_before_the_next(tmp_path: Path) -> None:
    text = (project(tmp_path) / "CHANGELOG.md").read_text(encoding="utf-8")

    assert ("2026-11-30", "- New.\n") == changelog.section("1.2.0", text)
    assert ("2026-01-01", "- Old.\n") == changelog.section("1.1.0", text)


def test_the_changelog_has_the_stated_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == changelog.main([VERSION, "--repository", REPOSITORY])
    assert "- `assign()`" in capsys.readouterr().out


def test_only_the_manifest_states_the_version() -> None:
    assert [] == list(tag.tag_problems(f"v{VERSION}", ROOT))
    manifest = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert manifest["dynamic"] == ["version"]
    assert "urls" not in manifest  # release.description adds the table


def metadata(**changes: str) -> str:
    """Return the metadata of a built file, with other lines for some fields."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = {
        "name": "Name: assignor\n",
        "version": f"Version: {VERSION}\n",
        "classifiers": "".join(f"Classifier: {each}\n" for each in project["classifiers"]),
        "files": "".join(f"License-File: {each}\n" for each in project["license-files"]),
        "license": f"License-Expression: {project['license']}\n",
        "python": f"Requires-Python: {project['requires-python']}\n",
        "markdown": "Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM\n",
        "urls": "".join(f"Project-URL: {name}, {url}\n" for name, url in LINKS.project_urls().items()),
        "description": "\n" + LINKS.absolute((ROOT / "README.md").read_text(encoding="utf-8"), "README.md"),
    }
    return "".join((lines | changes).values())


def licences() -> dict[str, bytes]:
    names = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["license-files"]
    return {name: (ROOT / name).read_bytes() for name in names}


def wheel(folder: Path, text: str, files: dict[str, bytes]) -> Path:
    path = folder / f"assignor-{VERSION}-cp311-cp311-manylinux_2_34_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {"METADATA": text.encode(), **{f"licenses/{name}": files[name] for name in files}}.items():
            archive.writestr(f"assignor-{VERSION}.dist-info/{name}", data)
    return path


def sdist(folder: Path, text: str, files: dict[str, bytes]) -> Path:
    path = folder / f"assignor-{VERSION}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, data in {"PKG-INFO": text.encode(), **files}.items():
            entry = tarfile.TarInfo(f"assignor-{VERSION}/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


BUILDS = pytest.mark.parametrize("made", [wheel, sdist])


@BUILDS
def test_a_built_file_with_the_metadata_of_the_project_is_right(
    tmp_path: Path, made: Callable[[Path, str, dict[str, bytes]], Path]
) -> None:
    built = contents.read_built(made(tmp_path, metadata(), licences()))

    assert [] == list(contents.problems(built, LINKS))


@BUILDS
@pytest.mark.parametrize(
    ("field", "line", "expected"),
    [
        ("version", "Version: 9.9\n", "Version is ['9.9'], and the project has"),
        ("license", "", "License-Expression is [], and the project has ['Apache-2.0']"),
        ("classifiers", "Classifier: Typing :: Typed\n", "Classifier is ['Typing :: Typed'], and the project has"),
        ("urls", "", "Project-URL is [], and the project has"),
        ("description", "\n[lag](docs/lag.md)\n", "the description is not the README with absolute links"),
    ],
)
def test_wrong_metadata_of_a_built_file_is_named(
    tmp_path: Path, made: Callable[[Path, str, dict[str, bytes]], Path], field: str, line: str, expected: str
) -> None:
    path = made(tmp_path, metadata(**{field: line}), licences())
    (problem,) = contents.problems(contents.read_built(path), LINKS)

    assert problem.startswith(f"{path.name}: {expected}")


@BUILDS
def test_a_missing_or_changed_licence_is_named(
    tmp_path: Path, made: Callable[[Path, str, dict[str, bytes]], Path]
) -> None:
    for name in licences():
        others = {other: text for other, text in licences().items() if other != name}
        path = made(tmp_path, metadata(), others)
        assert [f"{path.name} has no {name}, which license-files names"] == list(
            contents.problems(contents.read_built(path), LINKS)
        )
        path = made(tmp_path, metadata(), others | {name: b"Do what you want."})
        assert [f"{path.name} has another {name} than the project"] == list(
            contents.problems(contents.read_built(path), LINKS)
        )


def test_a_folder_without_the_files_of_a_version_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has nothing; it must have wheels and one sdist of version"):
        check.built_files(tmp_path, VERSION)
    made = [wheel(tmp_path, metadata(), {}), sdist(tmp_path, metadata(), {})]
    assert made == check.built_files(tmp_path, VERSION)
    with pytest.raises(ValueError, match=rf"assignor-{VERSION}\.tar\.gz; it must have wheels"):
        check.built_files(tmp_path, "9.9")
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"notes\.txt; it must have wheels"):
        check.built_files(tmp_path, VERSION)


def test_the_classifiers_name_the_versions_that_have_wheels() -> None:
    matrix = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8"))["jobs"]["wheel"]
    built = {version for version in matrix["strategy"]["matrix"]["build"] if re.fullmatch(r"3\.\d+", version)}
    manifest = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {each.rpartition(" ")[2] for each in manifest["classifiers"] if re.search(r":: 3\.\d+$", each)}

    assert built == named


def test_files_of_requirements_pin_the_same_versions() -> None:
    pins: dict[str, set[str]] = {}
    for file in ("demo", "dev", "release"):
        text = (ROOT / f"requirements-{file}.txt").read_text(encoding="utf-8")
        for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE):
            pins.setdefault(re.sub(r"[-_.]+", "-", name).lower(), set()).add(version)

    assert len(pins) > 60
    assert {} == {name: versions for name, versions in pins.items() if len(versions) > 1}
