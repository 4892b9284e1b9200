"""Test that the pages about the clients list the releases with which the assignors are tested."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.support.client_releases import RELEASES, ROOT


@pytest.mark.parametrize("client", ["kafka-python", "aiokafka"])
def test_the_page_of_a_client_lists_the_tested_releases(client: str) -> None:
    page = (ROOT / "docs" / f"{client}.md").read_text(encoding="utf-8").partition("\n## Releases\n")[2]
    rows = re.findall(r"^\| ([\d., ]+) \| ([^|]+) \|", page.partition("\n## ")[0], flags=re.MULTILINE)

    listed = {version: python for versions, python in rows for version in versions.split(", ")}
    assert listed == {
        each.version: "any" if each.last_python is None else "up to {}.{}".format(*each.last_python)
        for each in RELEASES
        if each.client == client
    }


@pytest.mark.parametrize("client", ["kafka-python", "aiokafka"])
def test_the_oldest_and_newest_tested_releases_are_those_of_the_requirements(client: str) -> None:
    first, *_, last = (each for each in RELEASES if each.client == client)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (requirement,) = project["optional-dependencies"][client]
    pins = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")

    assert f"{first.version}.".startswith(f"{requirement.removeprefix(f'{client}>=')}.")
    assert re.search(rf"^{client}=={re.escape(last.version)}\b", pins, flags=re.MULTILINE)
