"""Tests of the documentation: examples run, links resolve, generated parts are current, pages state their purpose."""

from __future__ import annotations

import doctest
import functools
import importlib
import json
import operator
import pkgutil
import re
import struct
from pathlib import Path

import pytest

import assignor
from docs import generate, measured, page_pictures

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(assignor.__path__, "assignor.")
    if not found.name.endswith(("._core", ".__main__", ".kafka_python_2_assignors"))
)
"""Modules of the package that can be imported with the newest releases of all dependencies."""
PAGES = [
    *(path.name for path in sorted(ROOT.glob("*.md"))),
    "data/README.md",
    *(path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("data/*/README.md"))),
    "examples/README.md",
    "examples/pipeline/README.md",
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))),
]


def test_examples_of_modules_run() -> None:
    results = {
        name: doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
        for name in MODULES
    }
    # `assignor` has the names that were used before, whose examples are those of other modules.
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    (own,) = doctest.DocTestFinder(recurse=False).find(assignor, "assignor")
    results["assignor"] = runner.run(own)

    assert [] == [name for name, result in results.items() if result.failed]
    with_examples = {name.removeprefix("assignor.") for name, result in results.items() if result.attempted}
    assert {"findings", "model", "offsets", "partition_assignor", "reference.assign"} <= with_examples
    assert {"wire.connect", "wire.consumer", "wire.streams"} <= with_examples


@pytest.mark.parametrize("name", ["assign", "plan", "Plan", "Plan.from_json", "Group", "Topics"])
def test_examples_of_the_core_run(name: str) -> None:
    given = {each: getattr(assignor, each) for each in ("assign", "plan", "Plan", "Group", "Topics")}
    examples = doctest.DocTestFinder().find(operator.attrgetter(name)(assignor), name, globs=given)
    runner = doctest.DocTestRunner()
    for example in examples:
        runner.run(example)

    assert runner.tries > 0
    assert 0 == runner.failures


def test_examples_of_the_readme_run() -> None:
    results = doctest.testfile(str(ROOT / "README.md"), module_relative=False)

    assert results.attempted >= 6
    assert 0 == results.failed


@pytest.mark.parametrize(
    ("page", "examples"),
    [
        ("calls.md", 15),
        ("coordinator.md", 10),
        ("idle-members.md", 15),
        ("lag.md", 10),
        ("matching.md", 8),
        ("member.md", 10),
        ("page.md", 4),
        ("rebalance-causes.md", 8),
        ("rebalance-cost.md", 7),
        ("replay-events.md", 6),
        ("replica-counts.md", 4),
        ("subscription-state.md", 12),
        ("tutorial.md", 15),
        ("uneven-traffic.md", 6),
        ("why-did-my-group-rebalance.md", 9),
        *(
            (path.relative_to(ROOT / "docs").as_posix(), 3)
            for path in sorted((ROOT / "docs" / "assignors").glob("*.md"))
        ),
    ],
)
def test_examples_of_a_page_run(page: str, examples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # examples read the bundled recording
    path = ROOT / "docs" / page
    results = doctest.testfile(str(path), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)

    assert results.attempted >= examples
    assert 0 == results.failed


def test_each_assignor_has_a_page_with_a_picture() -> None:
    pages = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "assignors").glob("*.md")}
    of_partitions = {f"{generate.page_of(*assignor)}.md" for assignor in generate.ASSIGNORS}

    assert of_partitions | {"index.md", "share.md", "streams.md"} == set(pages)
    assert ["index.md"] == [name for name, page in pages.items() if "<!-- generated: ownership" not in page]


def test_generated_parts_of_pages_are_up_to_date() -> None:
    assert [] == generate.renew(generate.pages(), write=False)


def test_a_page_that_is_out_of_date_is_reported_and_written(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "member.md").read_text(encoding="utf-8")
    copy = tmp_path / "member.md"
    copy.write_text(page.replace("LEAVING --> STALE", "LEAVING --> STABLE"), encoding="utf-8")

    assert ["member.md"] == generate.renew([copy], write=False)
    assert ["member.md"] == generate.renew([copy], write=True)
    assert page == copy.read_text(encoding="utf-8")


def test_each_generated_part_is_on_one_page() -> None:
    pages = [path.read_text(encoding="utf-8") for path in generate.pages()]
    names = [name for page in pages for name in re.findall(r"<!-- (?:generated|built): (.*?) -->", page)]

    assert sorted(generate.PARTS) == sorted(names)


def test_the_site_has_the_parts_that_the_repository_leaves_out(tmp_path: Path) -> None:
    generate.write_site(tmp_path)

    assert {
        path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*") if path.suffix in {".md", ".png"}
    } == {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    for name, part in {"figures.md": generate.PARTS["figures"](), "reference.md": "### class Plan\n"}.items():
        assert part not in (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert part in (tmp_path / name).read_text(encoding="utf-8")
    assert not [path for path in tmp_path.rglob("*.md") if "<!-- built: " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES)
def test_figures_in_prose_are_the_measured_ones(page: str) -> None:
    assert [] == list(measured.wrong_figures((ROOT / page).read_text(encoding="utf-8")))


def test_a_figure_in_prose_that_was_not_measured_is_reported(tmp_path: Path) -> None:
    section = {"tables": [{"head": ["group", "Java", "plan"], "rows": [["3x1", "1,250", "1.2 / 1.5 (30.1x)"]]}]}
    figures = tmp_path / "figures.json"
    figures.write_text(json.dumps({"java": section}), encoding="utf-8")

    right = (
        "Java: 1,200 ms <!-- figure: java :: 3x1 :: Java -->, 30 <!-- figure: java :: 3x1 :: plan :: ratio --> times"
    )
    assert [] == list(measured.wrong_figures(right, figures))
    for page, message in {
        "2 <!-- figure: java :: 3x1 :: plan :: min -->": "java :: 3x1 :: plan :: min: 2 on the page, 1.2 measured",
        "1.5 s <!-- figure: java :: 4x1 :: plan :: min -->": "java :: 4x1 :: plan :: min: no such cell in figures.json",
        "fast <!-- figure: java :: 3x1 :: Java -->": "a comment `<!-- figure: ... -->` does not follow a number",
    }.items():
        assert [message] == list(measured.wrong_figures(page, figures))
    page = "from 1,000 <!-- figure: java :: 3x1 :: Java --> to 30 ms <!-- figure: java :: 3x1 :: plan :: ratio -->"
    assert page.replace("1,000", "1,200") == measured.with_figures(page, figures)


def test_figures_come_from_complete_runs_of_commits() -> None:
    for name, section in measured.sections().items():
        assert section["commit"], name
        assert not section["uncommitted_changes"], name
        assert section["command"].startswith("python -m benches.run --only "), name


@pytest.mark.parametrize("page", PAGES)
def test_links_resolve(page: str) -> None:
    path = ROOT / page
    links = re.findall(r"\]\((?!https?:)([^)]+)\)", path.read_text(encoding="utf-8"))

    assert [] == [link for link in links if not resolves(path, link)]


def test_each_page_is_reachable_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
            waiting += [(page.parent / link).resolve() for link in links]

    assert set() == {ROOT / page for page in PAGES} - reached


def public_names() -> set[str]:
    """Return the public names of the package, and its modules that are public or that a page names."""
    pages = (path for path in (ROOT / "docs").rglob("*.md") if path.name not in {"calls.md", "decisions.md"})
    words = {word for path in pages for word in re.findall(r"\bassignor\.([a-z_]+)", path.read_text(encoding="utf-8"))}
    modules = {found.name for found in pkgutil.iter_modules(assignor.__path__)} & words | set(assignor._MODULES)
    return {name for name in assignor.__all__ if name not in modules} | {f"assignor.{name}" for name in modules}


def names_without_a_row(page: str) -> set[str]:
    """Return the public names that no code in a table of a page contains."""
    rows = [line for line in page.splitlines() if line.startswith("|")]
    code = "\n".join(span for row in rows for span in re.findall(r"`([^`]+)`", row))
    return {name for name in public_names() if not re.search(rf"(?<![\w.]){re.escape(name)}\b", code)}


def test_each_public_name_is_in_the_page_of_calls() -> None:
    page = (ROOT / "docs" / "calls.md").read_text(encoding="utf-8")

    assert set() == names_without_a_row(page)
    for name in public_names():
        rows = [line for line in page.splitlines() if not re.search(rf"(?<![\w.]){re.escape(name)}\b", line)]
        assert name in names_without_a_row("\n".join(rows))


def test_modules_that_pages_name_are_attributes_of_the_package() -> None:
    assert {name.removeprefix("assignor.") for name in public_names() if name.startswith("assignor.")} == set(
        assignor._MODULES
    )


def resolves(page: Path, link: str) -> bool:
    """Return True if a relative link points to an existing file and, with a fragment, to one of its headings."""
    name, _, fragment = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not fragment or fragment in anchors(target.resolve()))


@functools.cache
def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub and the site generate for the headings of a page, as it is on the site."""
    headings = re.findall(r"^#+ (.*)$", generate.filled(page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/")])
def test_a_page_opens_with_a_title_and_its_purpose(page: str) -> None:
    title, blank, *rest = (ROOT / page).read_text(encoding="utf-8").split("\n")
    purpose = " ".join(rest).partition("  ")[0]

    assert title.startswith("# ")
    assert not title.endswith(".")
    assert "" == blank
    assert re.match(r"[A-Z`].*?[.:]( |$)", purpose), purpose


def test_the_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert "$ make demo\n" in text
    assert "$ make test\n" in text


def test_the_readme_has_at_most_80_lines_and_700_words() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert len(text.splitlines()) <= 80
    assert len(text.split()) <= 700


def test_pictures_of_pages_are_small_and_made_by_the_program() -> None:
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    shown = {Path(name).name for page in pages for name in re.findall(r"""[("]([\w/.-]+\.png)[)"]""", page)}

    assert {*page_pictures.PICTURES} == shown == {path.name for path in ROOT.glob("docs/**/*.png")}
    for name, picture in page_pictures.PICTURES.items():
        content = (ROOT / "docs" / name).read_bytes()
        assert (b"\x89PNG\r\n\x1a\n", b"IHDR") == (content[:8], content[12:16])
        assert (picture.width, picture.height) == struct.unpack(">II", content[16:24])
        assert len(content) < 200_000
    assert "](docs/page-light.png)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert page_pictures.RECORDING.is_dir()
