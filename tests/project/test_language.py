"""Retired phrases occur in no text file of the project."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "python", "tests", "benches", "docs", "examples", "data", "fuzz", "release", ".ci", ".github")
SUFFIXES = {".py", ".pyi", ".rs", ".java", ".md", ".toml", ".yml"}
SCRIPTS = {"Makefile", "run", "test-wheel", "test-floors"}

RETIRED = (
    # Words with a meaning of their own in this project, and pronouns for members and callers.
    *("(?<!intended\\s)audiences?", "told", "tells", "meant", "deeds?", "twins?", "ruled(?! out)"),
    *("nobody", "somebody", "anybody", "everybody", "whom"),
    # Inverted and archaic constructions.
    *("but for", "of which", "as many", "so many", "so that none", "is none", "for want of", "the very"),
    *("what becomes of", "takes? in what", "what (that|it|this) is like", "what others? (is|are)"),
    *("goes by", "finds? back", "at home", "would be if", "stands here", "is there for", "no more than that"),
    *("knows (no|nothing)", "hands? over what", "what a rank gets", "and so is none", "cannot be meant"),
    *("can be planned", "has no place for", "(is|are) not known whose", ", and some\\.", "at once where", "on and on"),
    *("there(by|in|of|upon)", "where(by|in|of|upon)", "hence", "whence", "lest", "upon", "albeit", "whilst", "amongst"),
    *("scarcely", "hardly", "forthwith", "save for", "owing to", "vice versa", "instead of which", "to be had"),
    *("as (they|it) came", "without harm", "how deep", "a search of over"),
    # Installations from an index that does not have this package. Hints name what works from a clone or a wheel.
    *(r"install (-\S+ )*['\"]?assignor(?![-/.])", r"assignor\[[a-z{][a-z-]*"),
)
"""Regular expressions of retired phrases; a space stands for whatever separates two words of a text or a name."""

EXEMPT = {
    "tests/project/test_language.py": "It lists the phrases.",
}
"""Files that are not searched, each with the reason."""

SEPARATOR = r"(?:[\s_#*|>]|//[/!]?)+"
SEARCH = re.compile(rf"(?<![a-z])(?:{'|'.join(RETIRED).replace(' ', SEPARATOR)})(?![a-z])", re.IGNORECASE)
CODE = re.compile(r"is\s+None|is_none")


def text_files() -> list[Path]:
    """Return the text files of the project."""
    files = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        files += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    return sorted(path for path in files if path.suffix in SUFFIXES or path.name in SCRIPTS)


def retired(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the words of each retired phrase in a text."""
    for found in SEARCH.finditer(text):
        if not CODE.fullmatch(found[0]):
            yield text.count("\n", 0, found.start()) + 1, " ".join(found[0].split())


def test_no_text_file_has_a_retired_phrase() -> None:
    names = {path.relative_to(ROOT).as_posix(): path for path in text_files()}

    assert len(names) > 500
    assert [] == [
        f"{name}:{line}: {words}"
        for name, path in names.items()
        if name not in EXEMPT
        for line, words in retired(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("name", EXEMPT)
def test_an_exempt_file_needs_its_exemption(name: str) -> None:
    assert list(retired((ROOT / name).read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Refuses what cannot be meant.", [(1, "cannot be meant")]),
        ("# the group, of\n# which the first", [(1, "of # which")]),
        ("told = run()\n", [(1, "told")]),
        ("def test_nobody_joins(): ...", [(1, "nobody")]),
        ("/// The rack; there is none.", [(1, "is none")]),
        ("if rack is None and id.is_none(): it was ruled out", []),
        ("/// Whether each call is without\n/// harm, whereby it ends.", [(1, "without /// harm"), (2, "whereby")]),
        ("fn elements_as_they_came() {}", [(1, "as_they_came")]),
        ("pip install 'assignor[cli]'", [(1, "install 'assignor")]),
        ("uv pip install --upgrade assignor", [(1, "install --upgrade assignor")]),
        ("it needs assignor[report]", [(1, "assignor[report")]),
        ("pip install dist/assignor-*.whl; install assignor-0.1.0.whl; pip install '.[cli]'; group.assignor[0]", []),
        ("Return the owner of each partition.", []),
    ],
)
def test_a_retired_phrase_is_found(text: str, expected: list[tuple[int, str]]) -> None:
    assert expected == list(retired(text))
