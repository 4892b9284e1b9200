"""Names from input in the output of commands: no name has a character that controls the terminal or forges a line."""

from __future__ import annotations

import ast
import contextlib
import functools
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from hypothesis import strategies as st

from assignor import terminal
from assignor.cli import COMMANDS
from assignor.cluster import Recording
from assignor.lines import escape, json_text
from assignor.page import html
from assignor.replay.event_lines import EventLines
from assignor.replay.events import as_event
from assignor.replay.recorded import replay
from tests.cli.hostile import rows_with_names, write
from tests.cli.running import NO_BROKER, Ended, Stream, run
from tests.page.page_content import content

if TYPE_CHECKING:
    from assignor.replay.events import Event

CLI = Path(terminal.__file__).parent / "cli"
HOSTILE = (
    *("\n", "\r", "\t", "\x1b[2J", "\x1b[1m", "\x7f", "\x9b31m", "\x85", "\u061c", "\u200e", "\u200f", "\u2028"),
    *("\u2029", "\u202e", "\u2066", "\u2069", "\u200b", "\ufeff", "\U000e0041", "\\n", "\\u202e", "</script><b>", '"'),
)
CONTROLS = "".join(map(chr, (*range(32), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F)))
CONTROLS += "".join(map(chr, (*range(0x2028, 0x202F), *range(0x2066, 0x206A))))
"""Controls of C0 and C1, DEL, bidirectional controls and line separators."""

characters = st.characters(codec="utf-8") | st.sampled_from(HOSTILE)
names = st.lists(characters, min_size=1, max_size=6).map("".join)
texts = st.text(st.characters()) | st.lists(st.sampled_from((*HOSTILE, "\ud800", "\udcff", "a"))).map("".join)


def is_clean(text: str) -> bool:
    """Return True if a text has no control but line breaks."""
    return not any(character in CONTROLS for character in text if character != "\n")


def is_text(text: str) -> bool:
    """Return True if each character of a text is printable or a line break."""
    return all(character.isprintable() or character == "\n" for character in text)


@pytest.mark.parametrize("path", sorted(CLI.glob("*.py")), ids=lambda path: path.name)
def test_no_file_of_the_command_line_prints_in_another_way(path: Path) -> None:
    """Only `assignor/terminal.py` writes, so no command can forget to escape."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    streams = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in {"stdout", "stderr", "__stdout__", "__stderr__"}
    ]
    calls = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"print", "open"}
    ]
    imported = [
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for name in node.names
    ]

    assert [] == streams + calls
    assert not {"stdout", "stderr", "rich", "logging", "warnings"} & set(imported)


@hypothesis.given(text=texts)
def test_escaped_text_is_printable_and_stays_as_it_is(text: str) -> None:
    found = escape(text)

    assert found.isprintable()
    assert found == escape(found)
    assert found == text or not text.isprintable()


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        *(("\n", r"\n"), ("\t", r"\t"), ("\x00", r"\u0000"), ("\x1b", r"\u001b"), ("\x7f", r"\u007f")),
        *(("\x9b", r"\u009b"), ("\u202e", r"\u202e"), ("\u2028", r"\u2028"), ("\ud800", r"\ud800")),
        *(("\U000e0041", r"\U000e0041"), ("é", "é"), ("漢", "漢"), ("\\", "\\")),
    ],
)
def test_each_kind_of_control_has_its_escape(character: str, shown: str) -> None:
    assert f"a{shown}b" == escape(f"a{character}b")


def as_in_json(text: str) -> str:
    """Return the text that JSON can hold: two surrogates that are a pair are one character there."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@hypothesis.given(text=texts, ascii_only=st.booleans())
def test_json_has_no_controls_and_keeps_its_value(text: str, ascii_only: bool) -> None:
    found = json_text({text: [text]}, ascii_only=ascii_only)

    assert is_clean(found)
    assert "\n" not in found
    found.encode("ascii" if ascii_only else "utf-8")
    assert {as_in_json(text): [as_in_json(text)]} == json.loads(found)
    assert "é漢" in json_text("é漢")


@hypothesis.given(text=texts, is_terminal=st.booleans())
def test_a_line_of_output_stays_one_line(text: str, is_terminal: bool) -> None:
    out, err = Stream(is_terminal=is_terminal), Stream(is_terminal=is_terminal)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        terminal.print_lines([escape(text), text])
        terminal.print_json(text)
        terminal.notice(text)
        terminal.show_status(text)

    plain, styled, in_json, end = out.getvalue().split("\n")
    assert escape(text) == plain
    assert is_text(plain)
    for style in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;31m"):
        styled = styled.replace(style, "") if is_terminal else styled
    assert is_text(styled)
    assert as_in_json(text) == json.loads(in_json)
    assert "" == end
    assert f"assignor: {escape(text)}\n\r\x1b[K{escape(text)}" == err.getvalue()


@hypothesis.given(word=texts, command=st.sampled_from(["", *COMMANDS]))
def test_an_invalid_argument_is_shown_escaped_on_one_line(word: str, command: str) -> None:
    for words in ([command, f"--{word}x"], [command, "--group", word], [f"{word}x"]):
        found = run([each for each in words if each] or ["--"])
        assert (2, "", 1) == (found.code, found.out, found.err.count("\n")), found
        assert is_text(found.err)


@hypothesis.given(name=names)
def test_names_in_a_group_are_shown_escaped_and_add_no_line(name: str) -> None:
    assert [] == _differences(_outputs_of_group(name), _outputs_of_group("name"))


@functools.cache
def _outputs_of_group(name: str) -> dict[tuple[str, ...], Ended]:
    """Return what commands print about a group with a name in all places."""
    group = {
        "partitions_per_topic": {name: 3, f"{name}2": 1},
        "subscriptions": {name: [name, f"{name}2"], f"{name}2": [name], f"{name}3": [f"{name}2"]},
        "assignment": {name: [[name, 9], [name, 0]], f"{name}2": [[f"{name}2", 0], [name, 0]]},
        "scenarios": {name: ["remove_members=1", "use=sticky"]},
    }
    data = json.dumps(group).encode()
    commands = (*(("assign", "-"), ("plan", "-"), ("check", "-"), ("what-if", "-")), ("explain", "x.*", "-"))
    return {(*words, form): run([*words, form], data) for words in commands for form in ("--text", "--json")}


def _differences(
    hostile: dict[tuple[str, ...], Ended], plain: dict[tuple[str, ...], Ended]
) -> list[tuple[tuple[str, ...], Ended, Ended]]:
    """Return the commands whose output with a hostile name has controls, or is not as with a plain one."""

    def is_alike(words: tuple[str, ...]) -> bool:
        found, expected = hostile[words], plain[words]
        return (
            expected.code in (0, 1)
            and expected.code == found.code
            and is_clean(found.out + found.err)
            and ("--json" in words or words[0] == "decode" or is_text(found.out))
            and expected.out.count("\n") == found.out.count("\n")
        )

    return [(words, hostile[words], plain[words]) for words in hostile if not is_alike(words)]


@hypothesis.given(name=names)
@hypothesis.settings(max_examples=max(12, hypothesis.settings().max_examples // 4))
def test_names_in_a_recording_are_shown_escaped_and_add_no_line(name: str) -> None:
    assert [] == _differences(_outputs(name), _outputs("name"))


@functools.cache
def _outputs(name: str) -> dict[tuple[str, ...], Ended]:
    """Return what commands print about a recording with a name in all places."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = write(Path(temporary) / "in", *rows_with_names(name))
        out = ("--out", str(Path(temporary) / "out"))
        found: dict[tuple[str, ...], Ended] = {
            words: run([words[0], folder, *words[1:], *(out if words[0] == "report" else ())])
            for words in (("report",), ("report", "--json"), ("replay",), ("replay", "--json"), ("decode",))
        }
        found["watch",] = _printed(Recording.open(folder))
    return found


def _printed(recording: Recording) -> Ended:
    """Return the lines that a watch prints for the events of a recording."""
    out, lines = Stream(), EventLines()
    events: list[Event] = [as_event(row) for row in replay(recording)]
    with contextlib.redirect_stdout(out):
        terminal.print_lines(map(lines.line, events))
    return Ended(0, out.getvalue(), "")


@hypothesis.given(name=names)
@hypothesis.settings(max_examples=max(4, hypothesis.settings().max_examples // 10))
def test_names_in_a_page_are_shown_escaped(name: str) -> None:
    hostile, plain = _page(name), _page("name")

    assert is_clean(hostile[0])
    assert plain[0].count("<") == hostile[0].count("<")
    for text in _strings(hostile[1]):
        assert is_clean(text), text


@functools.cache
def _page(name: str) -> tuple[str, Any]:
    """Return the HTML of a page without its scripts, and its data."""
    with tempfile.TemporaryDirectory() as temporary, pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "bundle", lambda: "")
        patch.setattr(html, "resource", lambda _: "")
        path = Path(temporary) / "page.html"
        folder = write(Path(temporary) / "in", *rows_with_names(name))
        found = run(["report", folder, "--json", "--out", Path(temporary) / "out", "--page", path])
        assert 0 == found.code, found.err
        return path.read_text(encoding="utf-8"), content(path)


def _strings(value: Any) -> list[str]:
    """Return all texts in JSON."""
    if isinstance(value, str):
        return [value]
    entries = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for entry in entries for text in _strings(entry)]


def test_texts_of_a_cluster_that_does_not_answer_are_escaped(tmp_path: Path) -> None:
    settings = tmp_path / "a\u202e\x1b[2J"
    settings.write_text("sasl.jaas.config=\x1b[2J\u202e required;", encoding="utf-8")
    for command in ("describe", "watch", "report"):
        for words in (
            [command, *NO_BROKER, "--command-config", settings],
            [command, "--bootstrap-server", "\x1b[2J\u202e:9", "--timeout", "100"],
        ):
            found = run(words)
            assert (found.code in (2, 3), "", 1) == (True, found.out, found.err.count("\n")), found
            assert is_text(found.err)
            assert r"\u202e" in found.err
