"""The workflows of continuous integration pin their actions and run when the code changes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

WORKFLOWS = Path(__file__).parents[2] / ".github/workflows"
FILES = sorted(WORKFLOWS.glob("*.yml"))
LOCAL = re.compile(r"uses: \./\.github/workflows/[\w-]+\.yml\b")
PINNED = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+\b")


def test_there_are_workflows() -> None:
    assert {"ci.yml", "long.yml", "release.yml", "wheels.yml"} <= {file.name for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_actions_are_pinned_by_commit_with_their_version(file: Path) -> None:
    uses = [line for line in file.read_text(encoding="utf-8").splitlines() if "uses:" in line]

    assert uses
    assert not [line for line in uses if not PINNED.search(line) and not LOCAL.search(line)]


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


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("ci.yml", "ci-${{ github.ref == 'refs/heads/main' && github.run_id || github.ref }}"),
        ("wheels.yml", "wheels-${{ github.event_name == 'pull_request' && github.ref || github.run_id }}"),
    ],
)
def test_each_run_on_main_has_a_group_of_its_own_and_is_not_cancelled(name: str, group: str) -> None:
    assert group == yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))["concurrency"]["group"]


def test_a_release_is_published_after_its_tag_and_its_files_are_checked() -> None:
    jobs = yaml.safe_load((WORKFLOWS / "release.yml").read_text(encoding="utf-8"))["jobs"]
    order = ["tag", "build", "check", "publish", "changelog"]

    assert order == list(jobs)
    assert order[:-1] == [jobs[name]["needs"] for name in order[1:]]
    assert "python -m release.tag" in jobs["tag"]["steps"][-1]["run"]
    assert jobs["build"]["uses"] == "./.github/workflows/wheels.yml"
    assert "python -m release.check dist" in jobs["check"]["steps"][-1]["run"]
    assert jobs["publish"]["steps"][-1]["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert jobs["publish"]["steps"][-1]["with"] == {"attestations": True}
    assert "python -m release.changelog" in jobs["changelog"]["steps"][-1]["run"]
    written = {
        name: [permission for permission, access in job["permissions"].items() if access == "write"]
        for name, job in jobs.items()
    }
    assert written == {"tag": [], "build": [], "check": [], "publish": ["id-token"], "changelog": ["contents"]}


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
