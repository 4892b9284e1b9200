"""Commands without an optional package, or with one that cannot be imported: one line has its name or the cause."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from assignor.dependencies import EXTRAS, dependency, require
from assignor.errors import MissingDependencyError
from tests.cli.commands import GROUP
from tests.cli.hostile import rows_with_names, write
from tests.cli.missing_extras_program import CAUSE
from tests.cli.running import NO_BROKER, Ended

Ends = dict[tuple[str, str], list[tuple[list[str], Ended]]]

ROOT = Path(__file__).parents[2]

OF_COMMANDS = {
    "altair": 1,
    "confluent_kafka": 7,
    "pandas": 2,
    "prometheus_client": 1,
    "pyarrow": 17,
    "pyspark": 2,
    "rich": 2,
    "vl_convert": 1,
}
"""Packages that commands use, and the number of the commands below that need each."""

OF_SPARK = {"pandas", "pyarrow", "pyspark"}
"""Packages that Spark needs; with them, a command would start it."""

OF_PAGES = {"altair", "pyarrow", "vl_convert"}
"""Packages that pages need; with them, a command would write one, which takes a second."""

ERRORS = ("missing", "OSError")
CASES = [(package, error) for package in OF_COMMANDS for error in ERRORS]


def commands(folder: Path, package: str) -> list[list[str]]:
    """Return the commands, with the files that they read and write in a folder."""
    recording, group, lines = (str(folder.parent / name) for name in ("in", "group.json", "lines.json"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    report = ["report", recording, "--out", str(folder / "out")]
    found = [
        *(["assign", group], ["plan", group], ["check", group], ["match", "a", "a"], ["explain", "a", "b"]),
        *(["decode", recording], ["decode", lines], ["replay", recording], ["replay", recording, "--json"]),
        *(report, [*report, "--json"]),
        *(["describe", *NO_BROKER], ["describe", "--json", *NO_BROKER], ["watch", *NO_BROKER]),
        *(["watch", "--json", *NO_BROKER], ["watch", "--metrics", port, *NO_BROKER]),
        ["record", *NO_BROKER, "--out", str(folder / "new")],
        ["report", *NO_BROKER, "--json", "--out", str(folder / "live")],
        ["what-if", group, "--step", "add_members=1"],
    ]
    if package in OF_PAGES:
        found.append([*report, "--json", "--page", str(folder / "page.html")])
    if package in OF_SPARK:
        found += [["replay", recording, "--engine", "spark"], [*report, "--json", "--engine", "spark"]]
    return found


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ends:
    """Return how the commands end without each package."""
    folder = tmp_path_factory.mktemp("extras")
    write(folder / "in", *rows_with_names("name"))
    (folder / "group.json").write_text(json.dumps({**GROUP, "assignment": {}}))
    (folder / "lines.json").write_text('{"key": "AAIAAWc=", "value": null}')
    given = {(package, error): commands(folder / f"{package}-{error}", package) for package, error in CASES}
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.missing_extras_program"],
        input=json.dumps([(*case, words) for case, words in given.items()]),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (0, "") == (done.returncode, done.stderr)
    found = json.loads(done.stdout)
    return {
        case: [(words, Ended(*each)) for words, each in zip(given[case], of_case, strict=True)]
        for case, of_case in zip(CASES, found, strict=True)
    }


@pytest.mark.parametrize(("package", "error"), CASES)
def test_a_package_that_is_missing_or_broken_is_named_in_one_line(ended: Ends, package: str, error: str) -> None:
    name, extra = EXTRAS[package]
    named = 0
    for words, (code, out, err) in ended[package, error]:
        assert code in (0, 1, 2, 3), (words, err)
        if code == 2:
            named += 1
            assert ("", 1) == (out, err.count("\n")), (words, err)
            if error == "missing":
                extras = {extra, "spark"} if package in OF_SPARK else {extra}
                assert err in {
                    f"assignor: {name} is not installed: pip install 'assignor[{each}]'\n" for each in extras
                }
            else:
                assert f"assignor: {name} is installed, but cannot be imported: {error}: {CAUSE}\n" == err, words
    assert OF_COMMANDS[package] == named, ended[package, error]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ModuleNotFoundError("x", name="rich"), r"rich is not installed: pip install 'assignor\[cli\]'"),
        (ModuleNotFoundError("x", name="rich.text"), r"rich is not installed: pip install 'assignor\[cli\]'"),
        (ModuleNotFoundError("No module named 'pygments'", name="pygments"), "imported: No module named 'pygments'"),
        (ImportError("cannot import name 'Text'", name="rich.text"), "imported: cannot import name 'Text'"),
        (ImportError(), "imported: ImportError"),
        (OSError("libc.so:\n no such file"), "imported: OSError: libc.so: no such file"),
        (AttributeError("_ARRAY_API"), "imported: AttributeError: _ARRAY_API"),
    ],
)
def test_the_message_says_whether_a_package_is_missing_or_cannot_be_imported(error: Exception, message: str) -> None:
    with pytest.raises(MissingDependencyError, match=f"{message}$"), dependency("rich"):
        raise error


def test_an_older_version_counts_as_missing_if_a_version_is_needed() -> None:
    error = ImportError("cannot import name 'X'", name="kafka.admin")
    with (
        pytest.raises(MissingDependencyError, match=r"^kafka-python 3\.0 or newer is not installed: pip"),
        dependency("kafka", version="3.0 or newer"),
    ):
        raise error


def test_requiring_installed_packages_imports_them() -> None:
    require("pyarrow", "rich")

    assert {"pyarrow", "rich"} <= sys.modules.keys()
