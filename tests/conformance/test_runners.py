"""Conformance runners on changed vectors: the fields that each ignores, and the changes that it notices or rejects."""

from __future__ import annotations

import copy
import functools
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.conformance import (
    test_assignors,
    test_coordinator,
    test_patterns,
    test_range,
    test_subscription_state,
    test_wire,
)
from tests.support.vector_fields import METADATA, METADATA_OF_KIND, check_fields, metadata, without_metadata
from tests.support.vector_files import OWN_FOLDER, of_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Json = dict[str, Any]
Keys = tuple[str | int, ...]
"""Path from a file to a record in it: field names and list indices."""

ROOT = Path(__file__).parents[2]


class Runner(NamedTuple):
    """Kind of vectors.

    Attributes:
        run: Function that compares a folder and returns the number of comparisons.
        file: Name of the file for the sample.
        entries: Field with the cases of a file; None if a file has one case per line.
        sample: Indices of cases in the file of our own folder, which together have every field.
        answers: Fields with Kafka's answers; the runner compares each of them.
        operation: Path within a case to a field that names an operation; None if the kind has no operations.
        mappings: Fields whose keys are data, such as topic names, and not metadata.
        optional: Fields that a record may lack.
        ordered: Fields of answers whose lists are compared with their order.
    """

    run: Callable[[Path], int]
    file: str
    entries: str | None
    sample: tuple[int, ...]
    answers: frozenset[str]
    operation: Keys | None
    mappings: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    ordered: frozenset[str] = frozenset()


def _coordinator(folder: Path) -> int:
    counts, differences = test_coordinator.compare_all(folder)
    assert [] == differences
    return counts["requests"]


TOPICS_AND_MEMBERS = frozenset({"topics", "expected", "actual", "replica_racks"})
ASSIGNORS = Runner(
    run=lambda folder: test_assignors.compare_all(folder, "rust"),
    file="assignor_sticky_visible.jsonl.gz",
    entries=None,
    sample=(520, 684),
    answers=frozenset({"expected", "member_order"}),
    operation=("assignor",),
    mappings=TOPICS_AND_MEMBERS,
    optional=frozenset({"member_order", "instance_id", "rack", "replica_racks", "user_data", "deleted"}),
    ordered=frozenset({"member_order"}),
)
RANGE = Runner(
    run=lambda folder: test_range.compare_all(folder, "rust"),
    file="range_visible.jsonl.gz",
    entries=None,
    sample=(910, 15),
    answers=frozenset({"expected"}),
    operation=("via",),
    mappings=TOPICS_AND_MEMBERS,
    ordered=frozenset({"expected"}),
)
RUNNERS = {
    "assignors": ASSIGNORS,
    "assignors_server": ASSIGNORS._replace(file="assignor_server_uniform_visible.jsonl.gz", sample=(217, 687)),
    "assignors_share": ASSIGNORS._replace(
        file="assignor_share_simple_visible.jsonl.gz",
        sample=(939, 723),
        optional=frozenset({"member_order", "rack", "assignable", "deleted"}),
    ),
    "assignors_streams": ASSIGNORS._replace(
        file="assignor_streams_sticky_visible.jsonl.gz",
        sample=(458, 414),
        answers=frozenset({"expected", "member_order", "process_order"}),
        mappings=frozenset({"expected", "client_tags"}),
        optional=frozenset({"member_order", "process_order", "instance_id", "client_tags"}),
        ordered=frozenset({"member_order", "process_order"}),
    ),
    "range": RANGE,
    "range_bug": RANGE._replace(file="range_upstream_bug.jsonl.gz", sample=(0, 21), answers=frozenset()),
    "range_upstream": RANGE._replace(
        file="range_upstream.json",
        entries="upstream_tests",
        sample=(17, 62),
        answers=frozenset({"expected", "actual", "rack_mismatches"}),
        operation=None,
        optional=frozenset({"rack_mismatches"}),
        ordered=frozenset(),
    ),
    "subscription_state": Runner(
        run=lambda folder: test_subscription_state.compare_all(folder)["steps"],
        file="subscription_state_visible.jsonl.gz",
        entries=None,
        sample=(161, 411, 564, 596),
        answers=frozenset({"start", "state", "returns", "raises"}),
        operation=("steps", 0, "do", "op"),
        mappings=frozenset({"partitions", "all_consumed"}),
        optional=frozenset({"listener", "strategy", "only"}),
        ordered=frozenset({"assigned"}),
    ),
    "patterns": Runner(
        run=lambda folder: test_patterns.compare_all(folder, "rust").compared,
        file="patterns_visible.json.gz",
        entries="patterns",
        sample=(106, 109),
        answers=frozenset({"matches"}),
        operation=None,
        optional=frozenset({"java", "re2j", "python_match", "exception"}),
    ),
    "wire": Runner(
        run=lambda folder: test_wire.compare_all(folder, "rust"),
        file="wire_visible.jsonl.gz",
        entries=None,
        sample=(139, 281, 350),
        answers=frozenset({"hex", "decoded", "left_over"}),
        operation=("do",),
        ordered=frozenset({"topics", "owned", "partitions"}),
    ),
    "coordinator": Runner(
        run=_coordinator,
        file="coordinator_visible.jsonl.gz",
        entries=None,
        sample=(347, 357, 361),
        answers=frozenset({"response", "observe"}),
        operation=("steps", 0, "api"),
        mappings=frozenset({"ids"}),
        optional=frozenset({"version", "generates", "committed_leader_epoch"}),
        ordered=frozenset({"members"}),
    ),
}


def kind_of(runner: str) -> str:
    """Return the kind of a runner's vectors; `range` and `assignors` have several forms of files."""
    return next((kind for kind in ("assignors", "range") if runner.startswith(kind)), runner)


@functools.cache
def own(kind: str) -> list[Json] | Json:
    """Return the cases of our own file, or the whole file if a field lists them."""
    runner = RUNNERS[kind]
    path = OWN_FOLDER / runner.file
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    if runner.entries is None:
        return [json.loads(line) for line in text.splitlines()]
    found: Json = json.loads(text)
    return found


def sample(kind: str) -> Json:
    """Return a copy of a file with a few of our own cases, as one record. A file of lines becomes the key `cases`."""
    runner, whole = RUNNERS[kind], own(kind)
    if isinstance(whole, list):
        return {"cases": [copy.deepcopy(whole[place]) for place in runner.sample]}
    assert runner.entries is not None
    cases = whole[runner.entries]
    return copy.deepcopy({**whole, runner.entries: [cases[place] for place in runner.sample]})


def cases(kind: str, file: Json) -> list[Json]:
    """Return the cases of a sample."""
    found: list[Json] = file[RUNNERS[kind].entries or "cases"]
    return found


def stored(folder: Path, kind: str, file: Json) -> Path:
    """Write a file of vectors to a new subfolder, because readers cache the cases of a path; return the subfolder."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    name = RUNNERS[kind].file
    lines = [file] if RUNNERS[kind].entries else file["cases"]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    data = text.encode() if name.endswith(".json") else gzip.compress(text.encode(), compresslevel=1)
    (folder / name).write_bytes(data)
    return folder


def records(kind: str, value: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Json]]:
    """Yield the records within a value with their paths, except those within metadata."""
    if isinstance(value, dict):
        if not keys or keys[-1] not in RUNNERS[kind].mappings:
            yield keys, value
        for name, each in value.items():
            if name not in METADATA:
                yield from records(kind, each, (*keys, name))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from records(kind, each, (*keys, place))


def levels(kind: str) -> dict[str, Keys]:
    """Return the path to one record of each level. List indices and keys that are data do not distinguish levels."""
    runner = RUNNERS[kind]
    found: dict[str, Keys] = {}
    for keys, _ in records(kind, sample(kind)):
        if not keys and runner.entries is None:
            continue  # a file of lines is not a record
        found.setdefault(level_of(kind, keys), keys)
    return found


def level_of(kind: str, keys: Keys) -> str:
    """Return the name of the level of a path: without list indices and keys that are data."""
    mappings = RUNNERS[kind].mappings
    names = [
        "*" if isinstance(name, int) or (at and keys[at - 1] in mappings) else name for at, name in enumerate(keys)
    ]
    return ".".join(names) or "the file"


def at(value: Any, keys: Keys) -> Any:
    """Return the value at a path."""
    return functools.reduce(lambda inner, name: inner[name], keys, value)


def values(kind: str, value: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield the scalars and lists within a value with their paths, except those within metadata."""
    if isinstance(value, dict):
        is_data = bool(keys) and keys[-1] in RUNNERS[kind].mappings
        for name, each in value.items():
            if is_data or name not in metadata(kind_of(kind)):
                yield from values(kind, each, (*keys, name))
    else:
        yield keys, value
        for place, each in enumerate(value if isinstance(value, list) else ()):
            yield from values(kind, each, (*keys, place))


def other(value: Any) -> Any:
    """Return a different value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return value[:-1] + ("1" if value.endswith("0") else "0")
        case [*first, _]:
            return first
        case _:
            return "other"


def changed_answers(kind: str) -> Iterator[tuple[str, Json]]:
    """Yield samples with one change of an answer, for one value of each level, each with a name of the change."""
    runner, seen = RUNNERS[kind], set()
    for number, case in enumerate(cases(kind, sample(kind))):
        for keys, value in values(kind, case):
            level = level_of(kind, keys)
            if runner.answers.isdisjoint(keys):
                continue
            changes = {"changed": other(value)}
            if isinstance(value, list) and value != value[::-1] and runner.ordered.intersection(keys):
                changes["reversed"] = value[::-1]
            for name, change in changes.items():
                if (level, name) not in seen:
                    seen.add((level, name))
                    changed = sample(kind)
                    found = cases(kind, changed)
                    at(found[number], keys[:-1])[keys[-1]] = change
                    found[:] = [found[number]]
                    yield f"{level} {name}", changed


@pytest.mark.parametrize("kind", RUNNERS)
def test_an_unchanged_sample_is_compared(kind: str, tmp_path: Path) -> None:
    assert RUNNERS[kind].run(stored(tmp_path, kind, sample(kind))) > 0


@pytest.mark.parametrize("kind", RUNNERS)
def test_metadata_is_ignored_at_every_level(kind: str, tmp_path: Path) -> None:
    changed = sample(kind)
    paths = [keys for keys, _ in records(kind, changed)]
    for keys in paths:
        record = at(changed, keys)
        for field in metadata(kind_of(kind)):
            record.setdefault(field, {"anything": 1})

    assert len(paths) > len(RUNNERS[kind].sample)
    assert RUNNERS[kind].run(stored(tmp_path, kind, changed)) > 0


@pytest.mark.parametrize("kind", RUNNERS)
def test_metadata_may_be_missing(kind: str, tmp_path: Path) -> None:
    changed = sample(kind)
    for case in cases(kind, changed):
        for field in metadata(kind_of(kind)) & case.keys():
            del case[field]

    assert RUNNERS[kind].run(stored(tmp_path, kind, changed)) > 0


@pytest.mark.parametrize("kind", RUNNERS)
def test_an_unknown_field_is_an_error_at_every_level(kind: str, tmp_path: Path) -> None:
    for level, keys in levels(kind).items():
        changed = sample(kind)
        at(changed, keys)["surprise"] = 1
        with pytest.raises((AssertionError, ValueError)):
            print(level, RUNNERS[kind].run(stored(tmp_path, kind, changed)))  # noqa: T201 - shown if nothing is raised


@pytest.mark.parametrize("kind", RUNNERS)
def test_a_missing_field_is_an_error_at_every_level(kind: str, tmp_path: Path) -> None:
    for level, keys in levels(kind).items():
        for field in at(sample(kind), keys).keys() - metadata(kind_of(kind)) - RUNNERS[kind].optional:
            changed = sample(kind)
            del at(changed, keys)[field]
            with pytest.raises((AssertionError, ValueError, KeyError)):
                print(level, field, RUNNERS[kind].run(stored(tmp_path, kind, changed)))  # noqa: T201 - as above


@pytest.mark.parametrize("kind", [kind for kind, runner in RUNNERS.items() if runner.answers])
def test_a_change_of_any_answer_is_noticed(kind: str, tmp_path: Path) -> None:
    for change, file in changed_answers(kind):
        with pytest.raises((AssertionError, ValueError)):
            print(change, RUNNERS[kind].run(stored(tmp_path, kind, file)))  # noqa: T201 - shown if nothing is raised


@pytest.mark.parametrize("kind", RUNNERS)
def test_metadata_of_another_kind_is_an_unknown_field(kind: str, tmp_path: Path) -> None:
    for field in frozenset().union(*METADATA_OF_KIND.values()) - metadata(kind_of(kind)):
        changed = sample(kind)
        cases(kind, changed)[0][field] = 1
        with pytest.raises(ValueError, match=f"unknown or missing: .*'{field}'"):
            RUNNERS[kind].run(stored(tmp_path, kind, changed))


@pytest.mark.parametrize("kind", [kind for kind, runner in RUNNERS.items() if runner.operation])
def test_an_unknown_operation_is_an_error(kind: str, tmp_path: Path) -> None:
    changed = sample(kind)
    *keys, field = RUNNERS[kind].operation or ()
    at(cases(kind, changed)[0], tuple(keys))[field] = "guess"

    with pytest.raises(ValueError, match=r"unknown .*'guess'"):
        RUNNERS[kind].run(stored(tmp_path, kind, changed))


@pytest.mark.parametrize("kind", RUNNERS)
def test_a_file_without_cases_is_an_error(kind: str, tmp_path: Path) -> None:
    changed = sample(kind)
    cases(kind, changed).clear()
    if kind == "range_upstream":
        changed["extra"].clear()

    with pytest.raises(ValueError, match=rf"{re.escape(RUNNERS[kind].file)} is empty"):
        RUNNERS[kind].run(stored(tmp_path, kind, changed))


@pytest.mark.parametrize("kind", RUNNERS)
@pytest.mark.parametrize("other", [False, True])
def test_a_folder_without_the_kind_is_an_error(kind: str, other: bool, tmp_path: Path) -> None:
    another = "patterns" if kind == "wire" else "wire"
    folder = stored(tmp_path, another, sample(another)) if other else tmp_path

    with pytest.raises(FileNotFoundError, match=f"no vectors of the kind {kind_of(kind)} in"):
        RUNNERS[kind].run(folder)


def test_a_missing_kind_fails_only_the_test_of_that_kind(tmp_path: Path) -> None:
    folder = stored(tmp_path, "wire", sample("wire"))

    selected = ["-m", "conformance", "-k", "vectors_are_answered or traces_are_answered or patterns_match"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "tests/conformance",
            *selected,
            "-p",
            "no:cacheprovider",
            "--tb=line",
            "-rfEp",
        ],
        cwd=ROOT,
        env={**os.environ, "ASSIGNOR_VECTORS": str(folder), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert pytest.ExitCode.TESTS_FAILED == done.returncode, done.stdout + done.stderr
    ended = set(re.findall(r"^(PASSED|FAILED|ERROR) tests/conformance/test_(\w+)\.py", done.stdout, re.MULTILINE))
    missing = {("FAILED", kind) for kind in ("assignors", "coordinator", "patterns", "range", "subscription_state")}
    assert {("PASSED", "wire"), *missing} == ended
    for _, kind in missing:
        assert f"no vectors of the kind {kind} in {folder}" in done.stdout


def test_the_name_of_every_conformance_test_has_its_kind_and_no_other(request: pytest.FixtureRequest) -> None:
    kinds = {kind_of(runner) for runner in RUNNERS}
    for item in request.session.items:
        if item.get_closest_marker("conformance"):
            name = item.nodeid.removeprefix("tests/conformance/")
            assert 1 == sum(kind in name for kind in kinds), item.nodeid


def test_files_of_a_kind_are_found_by_the_pattern_of_their_names(tmp_path: Path) -> None:
    for name in ("range_a.json", "range_b.jsonl.gz", "arrange_c.jsonl.gz", "wire_d.jsonl.gz", "wire_e.json"):
        (tmp_path / name).touch()

    assert ["range_a.json", "range_b.jsonl.gz"] == [path.name for path in of_kind("range", tmp_path)]
    assert ["wire_d.jsonl.gz"] == [path.name for path in of_kind("wire", tmp_path, ".jsonl.gz")]


def test_a_field_with_the_name_of_metadata_is_data_where_the_format_needs_it() -> None:
    check_fields("wire", "here", {"name", "seed"}, {"name"})
    with pytest.raises(ValueError, match=r"^here: fields unknown or missing: \['name', 'other'\]$"):
        check_fields("wire", "here", {"seed", "other"}, {"name"})

    expected, answer = {"name": "t", "why": 1, "parts": [{"id": 3, "seed": 4}]}, {"name": "u", "parts": [{"id": 5}]}
    assert {"name": "t", "parts": [{"id": 3}]} == without_metadata("wire", expected, answer)
