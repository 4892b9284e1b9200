"""Texts with random changes: what cannot be read is an error of this package, and no text needs a long time."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

from assignor import check
from assignor.errors import AssignorError
from assignor.sources.dump_text import Dump, is_dump
from assignor.sources.group_text import is_group_text, read_group_text
from tests.support.time_limit import within

DATA = Path(__file__).parents[1] / "data"
DUMPS = sorted((DATA / "dump_text").iterdir())
TEXTS = sorted((DATA / "group_text").iterdir())
PIECES = (
    '"',
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "=",
    "-",
    " ",
    "\n",
    "\t",
    "9" * 20,
    "\0",
    "é",
    "\ud800",
    "null",
    "payload: ",
)
ROUNDS = 60


def changed(text: str, chance: random.Random) -> str:
    """Return a text with a few pieces removed, repeated, moved or replaced."""
    for _ in range(chance.randrange(1, 6)):
        start = chance.randrange(len(text))
        end = min(len(text), start + chance.choice((0, 1, 5, 60, 400)))
        place = chance.randrange(len(text))
        new = chance.choice(("", text[start:end] * 2, chance.choice(PIECES), text[place : place + 30]))
        text = text[:start] + new + text[end:]
    return text


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.stem)
def test_changed_dumps_are_read_or_refused(path: Path) -> None:
    chance, text, read = random.Random(path.name), path.read_text(), 0
    for _ in range(ROUNDS):
        given = changed(text, chance)
        is_dump(given.encode(errors="replace"))
        dump = Dump(given.split("\n"), "text")
        with contextlib.suppress(AssignorError):
            read += sum(batch.num_rows for batch in dump)
        assert all("\n" not in note for note in dump.notes)
    assert read > ROUNDS


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_changed_descriptions_are_read_or_refused(path: Path) -> None:
    chance, text, read = random.Random(path.name), path.read_text(), 0
    for _ in range(ROUNDS):
        given = changed(text, chance)
        with contextlib.suppress(AssignorError):
            is_group_text(given)
            for group in read_group_text(given, "text"):
                group.notes()
                group.check("text")
                check(group.assignment(), group.counts, group.subscriptions())
                read += 1
    assert read or "state" in path.stem or path.stem == "kafka-3.9.1-members"


LINE = "| offset: 1 CreateTime: 5 keySize: 9 valueSize: 9 sequence: 0 headerKeys: [] key: "
HEADER = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"


@pytest.mark.parametrize(
    "text",
    [
        "offset: 1 " * 100_000,
        "baseOffset: 1 lastOffset: 1 producerId: 1 isTransactional: true " * 20_000,
        "Dumping a " * 100_000,
        f'{LINE}group_metadata::group=g payload: {{"protocolType":"consumer","protocol":"x","generationId":1,'
        f'"assignment":"{{a=[{"t-1" * 30_000}}}"}}',
        f"{LINE}metadata::g payload: {'a:1:{' * 50_000}",
        f"{LINE}offset_commit::group={',partition=a-1' * 50_000}",
        f'{LINE}{{"type":"1","data":{"[" * 100_000}',
        f"{LINE}offset::g:t:1 payload: {'9' * 5_000}",
        "GROUP \n" * 10_000,
        "GROUP X\nrow\n" * 10_000,
        f"GROUP{' ' * 200_000}x",
        HEADER * 2_000,
        f"{HEADER}{'g ' * 100_000}",
        f"{HEADER}g t {'9' * 5_000} 5 5 0 a h c\n",
    ],
    ids=range(14),
)
def test_the_time_to_read_a_line_does_not_grow_faster_than_its_length(text: str) -> None:
    ended = []

    def read() -> None:
        for reader in (lambda: list(Dump(text.split("\n"), "text")), lambda: read_group_text(text, "text")):
            with contextlib.suppress(AssignorError):
                reader()
            ended.append(reader)

    within("reading the text", read)
    assert 2 == len(ended)
