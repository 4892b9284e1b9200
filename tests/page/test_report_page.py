"""`assignor report --page`: a page that replaces an earlier one when it is complete, and one line for each problem."""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from assignor.cli import main
from assignor.errors import IllegalArgumentError
from assignor.page import PageData, html, write_page
from assignor.page.html import resource
from assignor.replay.silences import Silence, silence_events
from tests.page.made_events import finding, rebalance, storm
from tests.replay.test_recorded_lag import commit, end, generation, record, write
from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGE = Path(html.__file__).parent

pytestmark = pytest.mark.usefixtures("quick_bundle")


def test_report_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"

    code = main(["report", str(RECORDING), "--engine", "local", "--out", str(tmp_path / "out"), "--page", str(page)])

    assert code == 0
    assert capsys.readouterr().out.endswith(f"Page: {page}\n")
    text = page.read_text(encoding="utf-8")
    assert "<h1>Consumer groups of fleet_webshop</h1>" in text
    assert {"out", "page.html"} == {path.name for path in tmp_path.iterdir()}


def test_a_page_without_topic_metadata_says_what_is_not_known(tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    folder.mkdir()
    for name in ("records.parquet", "aborted.json"):
        (folder / name).symlink_to(RECORDING / name)
    pages = []
    for recording in (folder, RECORDING):
        page = tmp_path / "page.html"
        words = ["report", str(recording), "--engine", "local", "--out", str(tmp_path / "out"), "--page", str(page)]
        assert main(words) == 0
        pages.append(page.read_text(encoding="utf-8"))

    assert ["<li>There is no topic metadata (topics.parquet):" in text for text in pages] == [True, False]


def test_only_the_last_silences_are_listed_one_by_one() -> None:
    found = [Silence(at * 100_000, at * 100_000 + 20_000, (0,), True) for at in range(1, 8)]

    text = html.page(PageData("x", silence_events(found)))

    assert text.count("<li>Silence: the whole log had no records for 20.0 s, since 1970-01-01 00:") == 5
    assert "<li>2 earlier silences of the log.</li>" in text


def test_all_causes_and_evidence_are_in_the_table_and_markup_in_them_is_text() -> None:
    events = [rebalance("a", 1_000, causes=["consumer_closed", "consumer_dead"], evidence="</script><b>m</b> left.")]

    text = html.page(PageData("x", events, findings=[finding("a", "error", evidence="<b>e</b>\n")]))

    assert "<summary>consumer_closed</summary>" in text
    assert "consumer_closed, consumer_dead. &lt;/script&gt;&lt;b&gt;m&lt;/b&gt; left.</div></details>" in text
    assert "<b>" not in text
    assert text.count("</script>") == 3


def test_a_page_needs_no_network(tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", PageData("x", [rebalance("a", 1_000)]))

    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    for attribute in ('src="', "url(", "@import", "<link rel=stylesheet"):
        assert attribute not in text.replace('rel="icon" href="data:,"', "").split("<script>")[0]


def test_the_navigation_names_each_section_of_the_page() -> None:
    quiet = PageData("x", [rebalance("a", 1_000)])
    stormy = PageData("x", [rebalance("a", 1_000, unowned=[["t", 0]]), storm("a", 1_000, None, 20)])

    for data, count in ((quiet, 8), (stormy, 10)):
        text = html.page(data)
        sections = re.findall(r'<section id="([^"]+)"', text)
        assert sections == re.findall(r'<li><a href="#([^"]+)"', text)
        assert count == len(sections)


def test_a_finding_without_a_start_says_so() -> None:
    text = html.page(PageData("x", [], findings=[finding("a", "error")]))

    assert '<td data-label="since (UTC)">not known</td>' in text


def test_licences_of_the_scripts_are_in_the_page(tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", PageData("x", []))

    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    for name in ("Interactive Data Lab (BSD-3-Clause)", "Mike Bostock (ISC)", "Simon Lydell (MIT)", "without warranty"):
        assert name.lower() in text.lower()
    assert resource("licences.txt").count("\n") < text.count("\n")


def test_an_earlier_page_stays_if_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.html"
    page.write_text("earlier", encoding="utf-8")

    def fail(self: Path, *_: Any, **__: Any) -> None:
        with self.open("w", encoding="utf-8") as file:
            file.write("a part")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(IllegalArgumentError, match=r"page\.html: No space left on device; choose another file or free"):
        write_page(page, PageData("x", []))

    assert page.read_text(encoding="utf-8") == "earlier"
    assert [page] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "error"),
    [("", "it is a folder; give the name of a file"), ("missing/page.html", "missing does not exist; create it")],
)
def test_a_page_that_cannot_be_written_is_rejected_before_any_work(
    path: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assignor.report.local.write_tables", _unexpected)

    code = main(["report", str(RECORDING), "--out", str(tmp_path / "out"), "--page", str(tmp_path / path)])

    errors = capsys.readouterr().err
    assert code == 2
    assert errors.startswith(f"assignor: cannot write the page {tmp_path / path}: ")
    assert errors.endswith(f"{error}\n")
    assert errors.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_missing_package_is_named_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr("assignor.report.local.write_tables", _unexpected)

    code = main(["report", str(RECORDING), "--out", str(tmp_path / "out"), "--page", str(tmp_path / "page.html")])

    assert code == 2
    assert capsys.readouterr().err == (
        "assignor: vl-convert-python is not installed: pip install 'vl-convert-python>=1.7'\n"
    )


def _unexpected(*_: Any) -> None:
    raise AssertionError("no work is expected")


def test_altair_is_imported_when_a_page_is_made() -> None:
    import subprocess

    loaded: Sequence[str] = ("altair", "vl_convert", "pyarrow")
    code = f"import assignor.page, sys; print([name for name in {loaded!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout == "[]\n"


def test_the_files_of_the_page_are_in_the_package() -> None:
    assert {"page.css", "page.js", "live.js", "licences.txt"} == {
        path.name for path in PACKAGE.iterdir() if path.suffix not in {".py", ""}
    }


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [commit("g", "t", 0, None)],
        [(b"\0\2\0", b"\0")],
        [generation("g", 1, {"a": {"t": [0]}}), (generation("g", 1, {})[0], None)],
        [commit("g", "t", 0, 5), commit("g", "t", 0, None)],
    ],
    ids=["no record", "tombstone", "bad record", "deleted group", "deleted offset"],
)
@pytest.mark.parametrize("ends", [[], [end(500, 1), end(1_500, 4), end(9_000, 9)]], ids=["no ends", "ends"])
def test_a_recording_in_which_no_group_is_left_has_a_page(tmp_path: Path, rows: list[Any], ends: list[Any]) -> None:
    records = [record(offset, 1_000 * (offset + 1), content) for offset, content in enumerate(rows)]
    folder = write(tmp_path / "in", records, ends).folder
    page = tmp_path / "page.html"

    assert 0 == main(["report", str(folder), "--json", "--out", str(tmp_path / "out"), "--page", str(page)])
    assert "Consumer groups of in" in page.read_text(encoding="utf-8")


def test_a_device_is_not_replaced_by_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "device")

    assert 2 == main(["report", str(RECORDING), "--out", str(tmp_path / "out"), "--page", str(tmp_path / "device")])
    assert "it is not a regular file; give another file" in capsys.readouterr().err
    assert stat.S_ISFIFO((tmp_path / "device").stat().st_mode)
