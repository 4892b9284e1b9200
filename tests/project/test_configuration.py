"""Options of `assignor watch` from a file and the environment: each option, which place comes first, and bad values."""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from assignor.cli import main, watch

if TYPE_CHECKING:
    from pathlib import Path

Options = dict[str, Any]

VALUES: dict[str, Any] = {
    "bootstrap-server": "kafka:9092",
    "command-config": "client.properties",
    "timeout": 2_000,
    "group": ["orders-*", "!*-test"],
    "topic": ["orders"],
    "admin": True,
    "interval": 2.5,
    "cluster": "north",
    "json": True,
    "lag": True,
    "from": "earliest",
    "state": "state file",
    "for": 30,
    "page": "page.html",
    "metrics": 9_477,
    "metrics-host": "0.0.0.0",
    "serve": True,
    "metrics-groups": 7,
}
"""A value of each option, as a file has it."""


@pytest.fixture
def options_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that returns the options with which a command line runs the command."""
    found: list[Options] = []

    def run(options: argparse.Namespace) -> int:
        found.append(vars(options))
        return 0

    monkeypatch.setattr(watch, "run", run)

    def parsed(*words: str) -> Options:
        assert 0 == main(["watch", *words])
        return {name: value for name, value in found.pop().items() if name != "config"}

    return parsed


def words_of(option: str) -> list[str]:
    """Return an option as words of a command line."""
    value = VALUES[option]
    if value is True:
        return [f"--{option}"]
    return [f"--{option}={each}" for each in (value if isinstance(value, list) else [value])]


def variable(option: str) -> str:
    return f"ASSIGNOR_WATCH_{option.replace('-', '_').upper()}"


def written(folder: Path, **options: Any) -> str:
    """Write a file with options, and return its path."""
    path = folder / "watch.toml"
    lines = [f"{name.replace('_', '-')} = {json.dumps(value)}\n" for name, value in options.items()]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def test_each_option_has_a_value_here() -> None:
    command = argparse.ArgumentParser(prog="assignor watch", add_help=False)
    watch.add_options(command)

    assert {*VALUES, "config"} == {
        word.removeprefix("--") for word in re.sub("[][]", "", command.format_usage()).split() if word.startswith("--")
    }


@pytest.mark.parametrize("option", VALUES)
def test_an_option_is_the_same_from_each_place(
    option: str, options_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, nothing = options_of(*words_of(option)), options_of()
    assert expected != nothing
    value = VALUES[option]

    path = written(tmp_path, **{option: value})
    assert expected == options_of("--config", path)

    text = ",".join(value) if isinstance(value, list) else str(value)
    monkeypatch.setenv(variable(option), text)
    assert expected == options_of()
    monkeypatch.setenv(variable(option), "")
    assert nothing == options_of()

    monkeypatch.setenv("ASSIGNOR_WATCH_CONFIG", path)
    assert expected == options_of()


def test_the_command_line_comes_first_then_the_environment_then_the_file(
    options_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(
        tmp_path, group=["file"], topic=["file"], cluster="file", json=True, lag=True, metrics=1, admin=False
    )
    monkeypatch.setenv("ASSIGNOR_WATCH_TOPIC", "environment")
    monkeypatch.setenv("ASSIGNOR_WATCH_CLUSTER", "environment")
    monkeypatch.setenv("ASSIGNOR_WATCH_LAG", "False")

    found = options_of("--config", path, "--cluster=", "--group=a", "--group=b")

    assert ["a", "b"] == found["group"], "groups of the file are replaced, not added to"
    assert ["environment"] == found["topic"]
    assert "" == found["cluster"]
    assert (True, False, 1, False) == (found["json"], found["lag"], found["metrics"], found["admin"])


def test_an_empty_list_chooses_nothing(options_of: Any, tmp_path: Path) -> None:
    assert options_of() == options_of("--config", written(tmp_path, group=[], topic=[]))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("metric = 1", "{path} has the unknown option 'metric'; did you mean metrics? `assignor watch --help` lists"),
        ("zzz = 1", "{path} has the unknown option 'zzz'; `assignor watch --help` lists the options"),
        ('config = "other.toml"', "{path} has the unknown option 'config'; "),
        ("[watch]\nmetrics = 1", "{path} has the unknown option 'watch'; "),
        ("metrics = ", "--config {path} is not TOML: Invalid value (at "),
        ("metrics = 1\nmetrics = 2", "--config {path} is not TOML: Cannot overwrite a value"),
        ('metrics = "x"', "{path}: metrics: invalid int value: 'x'"),
        ("metrics = 1.5", "{path}: metrics: invalid int value: '1.5'"),
        ("metrics = true", "{path}: metrics must be text or a number, not True"),
        ("metrics = [1]", "{path}: metrics must be text or a number, not [1]"),
        ("cluster = 2026-01-01", "{path}: cluster must be text or a number, not datetime.date(2026, 1, 1)"),
        ("group = [[1]]", "{path}: group must be text, a number or a list of them, not [[1]]"),
        ('json = "yes"', "{path}: json must be true or false, not 'yes'"),
        ("json = 1", "{path}: json must be true or false, not 1"),
        ('from = "middle"', "{path}: from: invalid choice: 'middle' (choose from "),
        ("metrics = 70_000", "--metrics 70000: a port must be from 1 to 65535"),
        ("serve = true", "--serve needs --metrics: the page has the port of the metrics"),
    ],
)
def test_a_wrong_file_is_one_line(text: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "watch.toml"
    path.write_text(text, encoding="utf-8")

    assert 2 == main(["watch", "--config", str(path), "--bootstrap-server", "127.0.0.1:1"])

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"assignor: {error.format(path=path)}")


@pytest.mark.parametrize(
    ("content", "error"),
    [(None, "No such file or directory; give a file"), (b"cluster = '\xff'", "is not TOML: 'utf-8' codec")],
)
def test_a_file_that_cannot_be_read_is_one_line(
    content: bytes | None, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "watch.toml"
    if content is not None:
        path.write_bytes(content)

    assert 2 == main(["watch", "--config", str(path)])

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"assignor: --config {path}")
    assert error in line


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        (
            "METRIC",
            "1",
            "the environment has the unknown variable 'ASSIGNOR_WATCH_METRIC'; did you mean ASSIGNOR_WATCH_ME",
        ),
        ("PORTS", "1", "the environment has the unknown variable 'ASSIGNOR_WATCH_PORTS'; "),
        ("PORT", "9477", "the environment has the unknown variable 'ASSIGNOR_WATCH_PORT'; "),
        (
            "METRICS_PORT",
            "9477",
            "the environment has the unknown variable 'ASSIGNOR_WATCH_METRICS_PORT'; did you mean ",
        ),
        ("METRICS", "x", "ASSIGNOR_WATCH_METRICS: invalid int value: 'x'"),
        ("JSON", "on", "ASSIGNOR_WATCH_JSON must be true or false, not 'on'"),
        ("CONFIG", "no.toml", "--config no.toml: No such file or directory"),
    ],
)
def test_a_wrong_variable_is_one_line(
    name: str, text: str, error: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"ASSIGNOR_WATCH_{name}", text)

    assert 2 == main(["watch"])

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"assignor: {error}")


@pytest.mark.parametrize("service", ["ASSIGNOR_WATCH", "ASSIGNOR_WATCH_NORTH"])
def test_variables_that_kubernetes_sets_for_a_service_are_no_options(
    service: str, options_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = options_of()
    for name, value in {
        "SERVICE_HOST": "10.0.0.11",
        "SERVICE_PORT": "9477",
        "SERVICE_PORT_METRICS": "9477",
        "PORT": "tcp://10.0.0.11:9477",
        "PORT_9477_TCP": "tcp://10.0.0.11:9477",
        "PORT_9477_TCP_PROTO": "tcp",
        "PORT_9477_TCP_PORT": "9477",
        "PORT_9477_TCP_ADDR": "10.0.0.11",
    }.items():
        monkeypatch.setenv(f"{service}_{name}", value)

    assert nothing == options_of()


def test_other_commands_have_no_variables(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ASSIGNOR_MATCH_JSON", "1")

    assert 0 == main(["match", "a", "a"])

    assert "a\n" == capsys.readouterr().out
