"""Comparison of both engines with the real pattern engines of the dialects: all answers must be equal.

`pytest tests -m conformance -k patterns` runs these tests on `tests/vectors` or on the folder `ASSIGNOR_VECTORS`. The
matching names are compared; if the dialect rejects a pattern, the engine must raise `InvalidPatternError`. Answers of
`python` are those of CPython 3.11; the reference, which is `re`, must give those of the running version. Patterns
that the dialect accepts and the engine rejects for a reviewed reason are counted. The count is asserted for
`tests/vectors`, and limited for another folder.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from assignor import match_topics
from assignor.errors import InvalidPatternError, UnsupportedPatternError
from tests.conformance import pattern_vectors
from tests.conformance.pattern_vectors import Case
from tests.matching.re_versions import changed
from tests.matching.unsupported import is_reviewed
from tests.support import vector_files
from tests.support.vector_files import OWN_FOLDER

if TYPE_CHECKING:
    from assignor.names import Engine

pytestmark = pytest.mark.conformance

File = dict[str, Any]

UNSUPPORTED = {"rust": {"java": 24, "librdkafka": 22, "python": 1}, "reference": {"java": 24, "librdkafka": 22}}
"""Number of our own cases that each engine rejects for a reviewed reason, by dialect."""

MAX_UNSUPPORTED = 0.03
"""Highest share of the cases of a dialect in another folder that an engine may reject.

Of our own cases 2.0 % are rejected for java (24 of 1,192) and 3.1 % for librdkafka (22 of 700); their files were
generated to contain the reviewed constructs. No pattern of practical use is rejected.
"""


class Comparison(NamedTuple):
    """Number of cases, and of cases that the engine rejects for a reviewed reason, by dialect."""

    cases: Counter[str]
    unsupported: Counter[str]

    @property
    def compared(self) -> int:
        """Number of cases with a compared answer."""
        return self.cases.total() - self.unsupported.total()


def answer(case: Case, engine: Engine) -> tuple[str, ...] | UnsupportedPatternError | None:
    """Return the matching topics; None if the pattern is invalid, or the error if it is not supported."""
    try:
        found = match_topics(case.pattern, case.topics, dialect=case.dialect, include_internal=True, engine=engine)
    except InvalidPatternError:
        return None
    except UnsupportedPatternError as error:
        return error
    return tuple(found)


def expected(case: Case, engine: Engine) -> tuple[str, ...] | None:
    """Return the recorded answer, or that of `re` if the engine is `re` and its answer depends on the version."""
    if engine == "rust" or case.dialect != "python" or not changed(case.pattern):
        return case.matches
    try:
        return tuple(filter(re.compile(case.pattern).match, case.topics))
    except re.error:
        return None


def compare_all(folder: Path, engine: Engine) -> Comparison:
    """Compare every answer with the dialect's, and count the cases.

    Raises:
        AssertionError: An answer differs, or a pattern is rejected for a reason that is not reviewed.
    """
    comparison = Comparison(Counter(), Counter())
    for case in (case for path in pattern_vectors.files(folder) for case in pattern_vectors.read(path)):
        comparison.cases[case.dialect] += 1
        found = answer(case, engine)
        if isinstance(found, UnsupportedPatternError):
            assert is_reviewed(found), f"{case.name}: {found}"
            comparison.unsupported[case.dialect] += 1
        else:
            assert expected(case, engine) == found, case.name
    return comparison


def assert_few_are_unsupported(comparison: Comparison) -> None:
    """Raise AssertionError if nothing was compared, or if too many cases of a dialect were rejected."""
    assert comparison.compared > 0
    for dialect, cases in comparison.cases.items():
        assert comparison.unsupported[dialect] <= MAX_UNSUPPORTED * cases, f"{dialect}: {comparison}"


def test_patterns_match_what_they_match_in_their_own_dialect(engine: Engine) -> None:
    folder = vector_files.folder()

    comparison = compare_all(folder, engine)

    if folder == OWN_FOLDER:
        assert UNSUPPORTED[engine] == comparison.unsupported
    else:
        assert_few_are_unsupported(comparison)


# ---- the comparison notices changes


@functools.cache
def own_file() -> File:
    """Return the content of our own file `patterns_visible.json.gz`."""
    with gzip.open(OWN_FOLDER / "patterns_visible.json.gz", "rt", encoding="utf-8") as file:
        found: File = json.load(file)
    return found


def changed_answer(field: str, change: str) -> File:
    """Return a file with the first pattern that fails, or that matches some but not all topics, and another answer."""
    topics = own_file()["topics"]
    for entry in own_file()["patterns"]:
        matches = entry[field].get("matches")
        if change == "succeeds" and matches is None:
            return {"topics": topics, "patterns": [{**entry, field: {"matches": []}}]}
        if change != "succeeds" and matches and len(matches) < len(topics):
            more = [*matches, next(topic for topic in topics if topic not in matches)]
            answer = {"error": "rejected"} if change == "fails" else {"matches": more}
            return {"topics": topics, "patterns": [{**entry, field: answer}]}
    raise LookupError((field, change))


@pytest.mark.parametrize("field", ["java", "re2j", "python_match"])
@pytest.mark.parametrize("change", ["gains a match", "fails", "succeeds"])
def test_patterns_another_answer_is_noticed(field: str, change: str, engine: Engine, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "patterns_copy.json.gz", "wt", encoding="utf-8") as file:
        json.dump(changed_answer(field, change), file)

    with pytest.raises(AssertionError, match=r"v\d\d\d"):
        compare_all(tmp_path, engine)


@pytest.mark.parametrize(
    ("cases", "unsupported"),
    [
        pytest.param({}, {}, id="nothing compared"),
        pytest.param({"java": 100}, {"java": 4}, id="too many"),
        pytest.param({"java": 1000, "re2j": 30}, {"re2j": 1}, id="too many of a dialect with few cases"),
        pytest.param({"java": 3}, {"java": 3}, id="all"),
    ],
)
def test_patterns_too_many_unsupported_patterns_are_noticed(cases: dict[str, int], unsupported: dict[str, int]) -> None:
    assert_few_are_unsupported(Comparison(Counter({"java": 100}), Counter({"java": 3})))

    with pytest.raises(AssertionError):
        assert_few_are_unsupported(Comparison(Counter(cases), Counter(unsupported)))


def test_patterns_of_our_own_folder_are_complete() -> None:
    counts = Counter(
        (path.name.split(".")[0], case.dialect, case.matches is None)
        for path in pattern_vectors.files(OWN_FOLDER)
        for case in pattern_vectors.read(path)
    )

    assert {
        ("patterns_java", "java", False): 668,
        ("patterns_java", "java", True): 311,
        ("patterns_librdkafka", "librdkafka", False): 516,
        ("patterns_librdkafka", "librdkafka", True): 184,
        ("patterns_python", "python", False): 465,
        ("patterns_python", "python", True): 335,
        ("patterns_re2j", "re2j", False): 488,
        ("patterns_re2j", "re2j", True): 212,
        ("patterns_visible", "java", False): 190,
        ("patterns_visible", "java", True): 23,
        ("patterns_visible", "python", False): 164,
        ("patterns_visible", "python", True): 49,
        ("patterns_visible", "re2j", False): 164,
        ("patterns_visible", "re2j", True): 49,
    } == counts
