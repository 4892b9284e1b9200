"""The command line without a Spark session: engines, help, version, and errors for invalid input."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

from assignor import errors
from assignor.cli import COMMANDS, engines, main
from assignor.cluster import Recording
from assignor.cluster.records import Size

FLEET = Path(__file__).parents[2] / "data" / "fleet_webshop"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "assignor: the following arguments are required: COMMAND; `assignor --help` lists the options"),
        (
            ["decode", "-", "--for", "3"],
            "assignor decode: unrecognized arguments: --for 3; `assignor decode --help` lists the options",
        ),
        (
            ["decode"],
            "assignor decode: the following arguments are required: INPUT; `assignor decode --help` lists the options",
        ),
    ],
)
def test_invalid_arguments_are_reported_in_one_line_by_the_command(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)

    assert (2, f"{message}\n") == (caught.value.code, capsys.readouterr().err)


@pytest.mark.parametrize("command", ["decode", "replay", "report", "watch", "describe"])
def test_the_group_option_has_the_same_description_in_each_command(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])

    printed = " ".join(capsys.readouterr().out.split())
    assert (
        "--group PATTERN only the groups with this name, in which * stands for any characters and ? for one;" in printed
    )


@pytest.mark.parametrize("option", ["keep", "command-config", "timeout"])
def test_options_for_a_live_cluster_need_its_address(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["report", str(FLEET), f"--{option}", "500"])
    assert f"assignor: --{option} 500 needs --bootstrap-server\n" == capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output_is_reported_in_one_line(unbuffered: str) -> None:
    command = [sys.executable, "-m", "assignor", "match", "a", "a"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )

    assert "assignor: cannot write to standard output: No space left on device\n" == done.stderr
    assert 2 == done.returncode


@pytest.mark.parametrize(
    ("words", "start"),
    [(["--help"], "usage: assignor [-h]"), (["decode"], "assignor decode: the fo"), (["match", "a", "a"], "a\n")],
)
def test_the_package_runs_as_the_command_does(
    words: list[str], start: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = subprocess.run([sys.executable, "-m", "assignor", *words], capture_output=True, text=True, check=False)
    try:
        code: object = main(words)
    except SystemExit as ended:
        code = ended.code

    assert (code, *capsys.readouterr()) == (found.returncode, found.stdout, found.stderr)
    assert (found.stdout or found.stderr).startswith(start)


def test_the_option_version_prints_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])

    assert 0 == caught.value.code
    assert capsys.readouterr().out.startswith("assignor ")


def test_help_imports_no_module_of_a_command() -> None:
    program = (
        "import sys; from assignor.cli import COMMANDS, main\n"
        "try: main(['--help'])\n"
        "finally: print(*(name for name in sys.modules if name.startswith('assignor.cli.') or name in "
        "('pyarrow', 'rich', 'pyspark', 'pandas')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (0, "\n") == (done.returncode, done.stderr)
    for command in COMMANDS:
        assert f"\n    {command} " in done.stdout


def test_an_output_folder_with_other_files_is_rejected_before_spark_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").touch()

    code = main(["report", str(FLEET), "--out", str(tmp_path)])

    printed = capsys.readouterr()
    assert 2 == code
    error = f"cannot replace {tmp_path}: it is not an empty folder or an earlier report; choose another --out folder"
    assert f"assignor: {error}\n" == printed.err


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_an_output_folder_that_cannot_be_created_is_rejected_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr("assignor.report.local.write_tables", fail)
    monkeypatch.setattr("assignor.spark.session.session", fail)

    code = main(["report", str(FLEET), "--engine", engine, "--out", str(tmp_path / "file" / "out")])

    error = f"cannot create {tmp_path / 'file' / 'out'}: Not a directory; choose another --out folder"
    assert (2, f"assignor: {error}\n") == (code, capsys.readouterr().err)


def fail(*_: object, **__: object) -> None:
    raise AssertionError("no work is expected")


def test_a_small_recording_needs_no_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = recording(tmp_path / "given")
    for name in [name for name in sys.modules if name.partition(".")[0] in {"pyspark", "py4j", "pandas"}]:
        monkeypatch.setitem(sys.modules, name, None)

    for engine in ("auto", "local"):
        code = main(["report", str(folder), "--json", "--engine", engine, "--out", str(tmp_path / "out")])

        printed = capsys.readouterr()
        assert 0 == code, printed.err
        assert 0 == json.loads(printed.out)["records"]
        lines = [line.split(":")[0] for line in printed.err.splitlines()]
        assert ["decoding and replaying", "summarizing", "assignor"] == lines
        assert "assignor: there is no topic metadata" in printed.err
    assert 2 == main(["report", str(folder), "--engine", "spark", "--out", str(tmp_path / "out")])
    assert (
        "assignor: pyspark and pandas are not installed: pip install 'pyspark>=4.1' 'pandas>=2.2.2,<3'\n"
        == capsys.readouterr().err
    )


def test_auto_uses_spark_above_the_stated_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Recording.open(recording(tmp_path / "given"))

    found: list[Size] = []
    monkeypatch.setattr("assignor.cluster.records.size_of", lambda _: found[-1])
    for records, size, expected in (
        (engines.LOCAL_RECORDS, engines.LOCAL_MEGABYTES * 10**6, False),
        (engines.LOCAL_RECORDS + 1, 0, True),
        (0, engines.LOCAL_MEGABYTES * 10**6 + 1, True),
    ):
        found.append(Size(records, size))
        assert expected is engines.uses_spark("auto", given)
        assert engines.uses_spark("spark", given)
        assert not engines.uses_spark("local", given)


def recording(folder: Path) -> Path:
    """Return a recording without records."""
    folder.mkdir()
    for name in ("records.parquet", "topics.parquet"):
        pq.write_table(pq.read_schema(FLEET / name).empty_table(), folder / name)
    return folder


def test_without_rich_one_line_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)

    code = main(["report", str(FLEET), "--out", str(tmp_path / "out")])

    assert (2, "assignor: rich is not installed: pip install 'rich>=13.5'\n") == (code, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (errors.IllegalArgumentError("that will not do"), "assignor: that will not do\n"),
        (PermissionError(13, "Permission denied", "out"), "assignor: [Errno 13] Permission denied: 'out'\n"),
        (PySparkException("first\n  a stack\nlast\n"), "assignor: first last\n"),
    ],
)
def test_an_expected_error_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, message: str
) -> None:
    assert (2, message) == (run_into(error, monkeypatch), capsys.readouterr().err)


def test_ctrl_c_prints_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert 130 == run_into(KeyboardInterrupt(), monkeypatch)
    assert "assignor: interrupted\n" == capsys.readouterr().err


def test_an_unexpected_error_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        run_into(ZeroDivisionError(), monkeypatch)


def test_sigterm_closes_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    @contextlib.contextmanager
    def session(**_: object) -> Iterator[None]:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            yield
        finally:
            closed.append(True)

    monkeypatch.setattr("assignor.spark.session.session", session)

    with pytest.raises(SystemExit) as caught:
        main(["report", str(FLEET), "--engine", "spark"])
    assert 143 == caught.value.code
    assert closed
    assert signal.SIG_DFL == signal.getsignal(signal.SIGTERM)


def run_into(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the exit code of a report that fails with an error."""

    def session(**_: object) -> None:
        raise error

    monkeypatch.setattr("assignor.spark.session.session", session)
    return main(["report", str(FLEET), "--engine", "spark"])
