"""Files in `deploy` run the command with options that exist, and agree with each other and with the documentation."""

from __future__ import annotations

import re
import shlex
import tomllib
from configparser import ConfigParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kubernetes_validate
import pytest
import yaml

from assignor import cli
from tests.live.alert_rules import rules

if TYPE_CHECKING:
    import argparse

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SCHEMAS = "1.34"
"""Version of Kubernetes whose schemas the manifest has to satisfy."""

DOCUMENTS: list[dict[str, Any]] = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")))
IMAGE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")


def parsed(words: list[str]) -> argparse.Namespace:
    """Return the options of a command; a wrong one fails the test."""
    try:
        return cli._parser().parse_args(words)
    except SystemExit as error:
        raise AssertionError(words) from error


def container() -> dict[str, Any]:
    (found,) = DOCUMENTS[0]["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["kind"])
def test_the_manifest_satisfies_the_schemas_of_kubernetes(document: dict[str, Any]) -> None:
    kubernetes_validate.validate(document, SCHEMAS, strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**document, "spec": {**document["spec"], "replica": 1}}, SCHEMAS, strict=True)


def test_the_manifest_runs_a_watch_whose_paths_and_port_the_probes_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in container()["env"]:
        monkeypatch.setenv(variable["name"], variable["value"])
    options = parsed(container()["args"])
    (port,) = container()["ports"]
    mounts = {mount["mountPath"] for mount in container()["volumeMounts"]}

    assert (options.metrics, options.metrics_host) == (port["containerPort"], "0.0.0.0")
    assert "kafka:9092" == options.bootstrap_server
    assert str(Path(options.state).parent) in mounts
    probes = {name: container()[name]["httpGet"] for name in ("livenessProbe", "readinessProbe", "startupProbe")}
    assert {"/health", "/ready"} == {probe["path"] for probe in probes.values()}
    assert probes["readinessProbe"]["path"] == "/ready"
    assert {port["name"]} == {probe["port"] for probe in probes.values()}
    assert [port["name"]] == [each["targetPort"] for each in DOCUMENTS[1]["spec"]["ports"]]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["package"]["version"]
    assert container()["image"] == f"assignor:{version}"


def test_the_image_installs_the_extras_of_the_command_and_its_user_can_write_the_state() -> None:
    user = DOCUMENTS[0]["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["package"]["rust-version"]

    assert f"USER {user}\n" in IMAGE
    assert "[cli,kafka,report]" in IMAGE
    assert re.findall(r"^EXPOSE (\d+)$", IMAGE, re.M) == [str(container()["ports"][0]["containerPort"])]
    assert re.findall(r"^FROM rust:([\d.]+)-", IMAGE, re.M) == [rust]


def test_the_image_is_built_without_the_files_that_git_ignores() -> None:
    """A library of another machine would end up in the wheel, and copying `target` takes minutes."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    expected = [line.strip("/") if line.startswith("/") else f"**/{line.strip('/')}" for line in ignored]

    assert [".git", *expected] == (ROOT / ".dockerignore").read_text(encoding="utf-8").split()


def test_the_unit_runs_a_watch_with_a_state_that_systemd_provides(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DEPLOY / "assignor-watch.service").read_text(encoding="utf-8")
    unit = ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # keys of systemd have capital letters
    unit.read_string(text)
    for name, value in re.findall(r"^# ([A-Z_]+)=(.*)$", text, re.M):  # example of the file with variables
        monkeypatch.setenv(name, value)
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    options = parsed(words)

    assert Path(program).name == "assignor"
    assert options.metrics == container()["ports"][0]["containerPort"]
    assert Path(options.state).parent == Path("/var/lib") / unit["Service"]["StateDirectory"]
    assert options.bootstrap_server == "kafka:9092"


def test_the_page_lists_all_alerts() -> None:
    page = (ROOT / "docs" / "alert-on-a-storm.md").read_text(encoding="utf-8")

    assert set(rules()) == set(re.findall(r"^\| `(\w+)` \|", page.split("## Metrics")[0], re.M))
