"""The workflows of continuous integration pin their actions and run when the code changes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

WORKFLOWS = Path(__file__).parents[2] / ".github/workflows"
FILES = sorted(WORKFLOWS.glob("*.yml"))
PINNED = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+\b")


def test_there_are_workflows() -> None:
    assert {"ci.yml", "long.yml", "wheels.yml"} <= {file.name for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_actions_are_pinned_by_commit_with_their_version(file: Path) -> None:
    uses = [line for line in file.read_text(encoding="utf-8").splitlines() if "uses:" in line]

    assert uses
    assert not [line for line in uses if not PINNED.search(line)]


@pytest.mark.parametrize("line", ["uses: actions/checkout@v5", "uses: actions/checkout@" + 40 * "0"])
def test_an_action_that_is_not_pinned_or_has_no_version_is_noticed(line: str) -> None:
    assert not PINNED.search(line)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_workflow_that_is_limited_to_paths_runs_when_the_code_changes(file: Path) -> None:
    triggers = yaml.safe_load(file.read_text(encoding="utf-8"))[True]  # YAML reads the key `on` as true
    limits = [trigger["paths"] for trigger in _triggers(triggers) if "paths" in trigger]

    assert all({"src/**", "python/**", "build.rs", "Cargo.toml", "Cargo.lock"} <= {*paths} for paths in limits)


def _triggers(triggers: Any) -> list[dict[str, Any]]:
    return [trigger for trigger in triggers.values() if isinstance(trigger, dict)] if isinstance(triggers, dict) else []


def test_a_workflow_runs_the_long_profiles_on_schedule() -> None:
    text = (WORKFLOWS / "long.yml").read_text(encoding="utf-8")

    assert yaml.safe_load(text)[True]["schedule"]
    assert "test-long" in text


def test_a_workflow_runs_each_fuzz_target_for_ten_minutes() -> None:
    text = (WORKFLOWS / "long.yml").read_text(encoding="utf-8")
    script = (WORKFLOWS.parents[1] / "fuzz" / "run").read_text(encoding="utf-8")

    assert "make fuzz FUZZ_SECONDS=600\n" in text
    for name in re.findall(r"\^(\w+=)", text):  # what the workflow reads from the script
        assert f"\n{name}" in script
