"""Output folder of a report: accepted places, and the treatment of existing files."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from assignor.cli import main
from assignor.errors import IllegalArgumentError
from assignor.report.report_folder import REPORT_FILE, TABLES, check_report_folder, replace_report_folder

EMPTY = {"records": 0, "records_by_type": {}, "bad_records": 0, "groups": []}


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Return a folder with a file."""
    folder = tmp_path / "recording"
    folder.mkdir()
    (folder / "records.parquet").touch()
    return folder


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """Return the folder of an earlier report."""
    folder = tmp_path / "earlier"
    for name in TABLES:
        (folder / name).mkdir(parents=True)
    (folder / REPORT_FILE).write_text(json.dumps(EMPTY))
    return folder


def test_a_new_folder_an_empty_one_and_an_earlier_report_are_accepted(
    tmp_path: Path, recording: Path, earlier: Path
) -> None:
    (tmp_path / "empty").mkdir()

    for place in (tmp_path / "new", tmp_path / "empty", earlier):
        assert place == check_report_folder(place, recording)


def test_symbolic_links_and_dots_are_resolved(tmp_path: Path, recording: Path, earlier: Path) -> None:
    (tmp_path / "link").symlink_to(earlier)

    assert earlier == check_report_folder(tmp_path / "link", recording)
    assert earlier == check_report_folder(recording / ".." / "earlier", recording)


@pytest.mark.parametrize(
    "mark", ["{}", "[]", "no json", '{"lighthouse": 1}', json.dumps({**EMPTY, "more": 1}), json.dumps(list(EMPTY))]
)
def test_a_marker_file_that_no_report_wrote_is_ignored(recording: Path, earlier: Path, mark: str) -> None:
    (earlier / REPORT_FILE).write_text(mark)

    with pytest.raises(IllegalArgumentError, match="is not an empty folder or an earlier report"):
        check_report_folder(earlier, recording)


def test_an_earlier_report_with_other_files_is_not_replaced(recording: Path, earlier: Path) -> None:
    (earlier / "notes.txt").write_text("mine")

    with pytest.raises(IllegalArgumentError, match="is not an empty folder or an earlier report"):
        check_report_folder(earlier, recording)


def test_a_file_and_a_folder_with_files_are_not_replaced(tmp_path: Path, recording: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "records").mkdir()

    for place in (tmp_path / "file", tmp_path / "folder"):
        with pytest.raises(IllegalArgumentError, match="choose another --out folder"):
            check_report_folder(place, recording)


def test_the_recording_is_never_replaced(tmp_path: Path, recording: Path) -> None:
    for place in (recording, tmp_path, recording / ".." / "recording"):
        with pytest.raises(IllegalArgumentError, match="contains the recording"):
            check_report_folder(place, recording)


def test_an_earlier_report_is_replaced_completely(earlier: Path) -> None:
    with replace_report_folder(earlier) as part:
        (part / "new").touch()
        assert (earlier / REPORT_FILE).exists(), "the earlier report stays until the new one is complete"

    assert ["new"] == [path.name for path in earlier.iterdir()]
    assert [earlier] == list(earlier.parent.glob("*earlier*"))


def test_a_failed_report_leaves_no_files(tmp_path: Path) -> None:
    with contextlib.suppress(KeyboardInterrupt), replace_report_folder(tmp_path / "deep" / "er" / "out") as part:
        (part / "half").touch()
        raise KeyboardInterrupt

    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--out", "file/out"], "cannot create {folder}/file/out: Not a directory; choose another --out folder"),
        (
            ["--out", "."],
            "cannot replace .: it is not an empty folder or an earlier report; choose another --out folder",
        ),
        (
            ["--keep", "kept", "--out", "kept"],
            "cannot replace kept: it contains the recording; choose another --out folder",
        ),
        (
            ["--page", "missing/page.html"],
            "cannot write the page missing/page.html: the folder missing does not exist; create it",
        ),
    ],
)
def test_a_cluster_is_not_recorded_for_a_place_that_cannot_be_written(
    options: list[str],
    error: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def record(*_: object) -> None:
        raise AssertionError("no recording is expected")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("assignor.cli.record.record_to_end", record)
    (tmp_path / "file").write_text("mine")

    assert 2 == main(["report", "--bootstrap-server", "127.0.0.1:1", *options])

    assert f"assignor: {error.format(folder=tmp_path)}\n" == capsys.readouterr().err
    assert ["file"] == [path.name for path in tmp_path.iterdir()]
