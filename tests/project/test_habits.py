"""Files for editors, hooks, dependabot, issues and citations have known keys, and agree with what they repeat."""

from __future__ import annotations

import re
import tomllib
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from release import pins
from tests.project.test_language import text_files

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["package"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def loaded(name: str) -> dict[str, Any]:
    """Return the content of a YAML file of the project."""
    content = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def test_hooks_run_pinned_tools_as_make_check_does() -> None:
    pinned = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements-dev.txt").read_text(encoding="utf-8"), re.M))
    (repo,) = loaded(".pre-commit-config.yaml")["repos"]  # another repository would have a version of its own

    assert {"repo", "hooks"} == set(repo)
    assert "local" == repo["repo"]
    assert ["ruff-check", "ruff-format", "mypy", "cargo-fmt"] == [hook["id"] for hook in repo["hooks"]]
    for hook in repo["hooks"]:
        assert {"id", "name", "entry", "language"} <= set(hook)
        assert set(hook) <= {"id", "name", "entry", "language", "types", "types_or", "pass_filenames"}
        assert "system" == hook["language"]
        tool = hook["name"].split()[0]
        assert hook["entry"].startswith(f".venv/bin/{tool}" if tool in pinned else "cargo fmt"), hook
        command = hook["name"] if tool == "cargo" else f"$(BIN)/{hook['name']}"
        assert f"\t{command}" in MAKEFILE, f"make check does not run {hook['name']}"


def editor_rules() -> ConfigParser:
    """Return the sections of .editorconfig; what stands before the first section is in the section `preamble`."""
    parser = ConfigParser()
    parser.read_string("[preamble]\n" + (ROOT / ".editorconfig").read_text(encoding="utf-8"))
    return parser


def test_rules_for_editors_have_known_keys_and_values() -> None:
    rules = editor_rules()
    allowed = {
        "charset": {"utf-8"},
        "end_of_line": {"lf"},
        "insert_final_newline": {"true", "unset"},
        "trim_trailing_whitespace": {"true", "unset"},
        "indent_style": {"space", "tab", "unset"},
        "indent_size": {"2", "4"},
    }

    assert {"root": "true"} == dict(rules["preamble"])
    assert "*" == rules.sections()[1]
    for section in rules.sections()[1:]:
        for key, value in rules[section].items():
            assert value in allowed[key], (section, key)


def broken_rules(name: str, text: str) -> list[str]:
    """Return the rules of `[*]` that a text file breaks. The files of other programs are not searched."""
    found = []
    if "\r" in text:
        found.append(f"{name}: end_of_line")
    if text and not text.endswith("\n"):
        found.append(f"{name}: insert_final_newline")
    if re.search(r"[ \t]$", text, re.MULTILINE):
        found.append(f"{name}: trim_trailing_whitespace")
    if name != "Makefile" and re.search(r"^\t", text, re.MULTILINE):
        found.append(f"{name}: indent_style")
    return found


def test_text_files_follow_the_rules_for_editors() -> None:
    files = {path.relative_to(ROOT).as_posix(): path for path in text_files()}

    assert [] == [
        broken for name, path in files.items() for broken in broken_rules(name, path.read_bytes().decode("utf-8"))
    ]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a\r\n", "end_of_line"),
        ("a", "insert_final_newline"),
        ("a \nb\n", "trim_trailing_whitespace"),
        ("\ta\n", "indent_style"),
    ],
)
def test_a_file_that_breaks_a_rule_is_found(text: str, rule: str) -> None:
    assert f"a.py: {rule}" in broken_rules("a.py", text)


def test_dependabot_reads_the_folders_with_pinned_packages() -> None:
    config = loaded(".github/dependabot.yml")
    updates = {update["package-ecosystem"]: update for update in config["updates"]}

    assert {"version", "updates"} == set(config)
    assert 2 == config["version"]
    assert {"github-actions", "pip", "cargo"} == set(updates)
    for update in updates.values():
        assert {"interval": "weekly"} == update["schedule"]
        keys = {"directory", "directories", "exclude-paths", "groups", "package-ecosystem", "schedule"}
        assert set(update) <= {*keys, "versioning-strategy"}
    of_pins = {f"/{file.parent.relative_to(ROOT).as_posix()}".removesuffix(".") for file in pins.FILES}
    of_locks = {f"/{file.parent.relative_to(ROOT).as_posix()}".removesuffix(".") for file in ROOT.glob("**/Cargo.lock")}
    assert of_pins == {*updates["pip"]["directories"]}
    assert of_locks == {*updates["cargo"]["directories"]}
    assert all((ROOT / name).is_file() for name in updates["pip"]["exclude-paths"])


def test_forms_of_issues_have_known_fields() -> None:
    assert ["bug.yml", "config.yml", "different_assignment.yml", "proposal.yml"] == [file.name for file in FORMS]
    assert {"blank_issues_enabled": True} == loaded(".github/ISSUE_TEMPLATE/config.yml")
    for file in FORMS:
        if file.name == "config.yml":
            continue
        form = loaded(file.relative_to(ROOT).as_posix())
        assert {"name", "description", "labels", "body"} == set(form)
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert {"input", "textarea"} >= {field["type"] for field in fields}
        assert len(fields) == len({field["id"] for field in fields})
        assert all(field["attributes"].keys() <= {"label", "description", "render"} for field in fields)
        assert any(field.get("validations") == {"required": True} for field in fields)


def test_files_that_forms_of_issues_name_exist() -> None:
    named = {name for file in FORMS for name in re.findall(r"[\w/-]+\.md\b", file.read_text(encoding="utf-8"))}

    assert {"SECURITY.md", "docs/command-line.md", "docs/limits.md"} == named
    assert all((ROOT / name).is_file() for name in named)


def test_the_citation_has_the_version_and_the_licence_of_the_package() -> None:
    citation = loaded("CITATION.cff")

    assert {"cff-version", "message", "title", "type", "authors"} <= set(citation)
    assert set(citation) <= {
        *("cff-version", "message", "title", "abstract", "type", "authors", "version", "license", "keywords")
    }
    assert ("1.2.0", "software", CARGO["name"]) == (citation["cff-version"], citation["type"], citation["title"])
    assert (CARGO["version"], CARGO["license"]) == (citation["version"], citation["license"])
    assert {*citation["keywords"]} <= {*PROJECT["keywords"]}
