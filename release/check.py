"""Checks of built files before they are published: metadata, licences, description, contents, paths, installation.

`python -m release.check FOLDER --repository URL` checks each wheel and the sdist in a folder. It needs the packages of
`requirements-release.txt`, and the package index for numpy, which the wheel needs.
"""

from __future__ import annotations

import argparse
import platform
import re
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from release import ROOT, contents, stated_version
from release.build import run
from release.build_paths import build_paths
from release.description import Links
from release.tag import tag_problems, text_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CALL = """
import assignor
assigned = assignor.assign({"t0": 3}, {"C0": ["t0"], "C1": ["t0"]})
assert [0, 1] == [each.partition for each in assigned["C0"]], assigned
assert [2] == [each.partition for each in assigned["C1"]], assigned
print(assignor.__version__, assignor.__file__)
"""
"""A call of `assign` with a known answer."""


def index_problems(files: list[Path], links: Links) -> Iterable[str]:
    """Yield what is wrong with metadata, licences and description, and with the description as an index renders it."""
    import trove_classifiers
    from readme_renderer import markdown

    for path in files:
        built = contents.read_built(path)
        yield from contents.problems(built, links)
        for unknown in {*built.metadata.get_all("Classifier", [])} - trove_classifiers.classifiers:
            yield f"{path.name}: no index knows the classifier {unknown!r}"
        rendered = markdown.render(built.description)
        if rendered is None:
            yield f"{path.name}: the description cannot be rendered: install readme_renderer[md]"
        else:
            yield from (f"{path.name}: the link {each!r} is relative" for each in contents.relative_targets(rendered))


def twine_problems(files: list[Path], _: Links) -> Iterable[str]:
    """Run `twine check --strict`; the error has its text."""
    run("twine", "--no-color", "check", "--strict", *files)
    return ()


def wheel_problems(files: list[Path], _: Links) -> Iterable[str]:
    """Run check-wheel-contents on the wheels; the error has its text."""
    run("check-wheel-contents", *(path for path in files if path.suffix == ".whl"))
    return ()


def platform_problems(files: list[Path], _: Links) -> Iterable[str]:
    """Yield a line for each wheel of Linux and this processor whose tag promises more than auditwheel finds."""
    for path in files:
        tags = path.stem.split("-")[-1].split(".") if path.suffix == ".whl" else []
        if not any(tag.endswith(f"_{platform.machine()}") and "linux" in tag and "musl" not in tag for tag in tags):
            continue
        found = re.search(r'platform tag:\s*"([^"]+)"', run("auditwheel", "show", path))
        if not found or found[1] not in tags or not found[1].startswith("manylinux"):
            tag = found[1] if found else None
            yield f"{path.name}: auditwheel finds the tag {tag}: build for manylinux, or run auditwheel repair"


def path_problems(files: list[Path], links: Links) -> Iterable[str]:
    """Yield the paths of the machine that built a wheel, which its compiler flags must replace."""
    folders = [str(links.root), str(Path.home())]
    for wheel in (path for path in files if path.suffix == ".whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                for path in build_paths(archive.read(name), folders):
                    yield f"{wheel.name}: {name} has the path {path}: build with the flags of the Makefile"


def installation_problems(files: list[Path], links: Links) -> Iterable[str]:
    """Yield what is wrong after an installation of the built files, and of numpy only, into a new environment."""
    version = stated_version(links.root)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        programs = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        options = ("--quiet", "--disable-pip-version-check", "--only-binary", ":all:")
        pip = (programs / "python", "-m", "pip", "install", *options)
        run(*pip, "numpy", cwd=folder)
        run(*pip, "--no-index", "--find-links", files[0].parent, f"assignor=={version}", cwd=folder)
        printed = run(programs / "python", "-I", "-c", CALL, cwd=folder).split()
        if printed[0] != version or not Path(printed[1]).resolve().is_relative_to(folder.resolve()):
            yield f"the installed package is {' '.join(printed)}, not {version} of the built files"
        if (command := run(programs / "assignor", "--version", cwd=folder).strip()) != f"assignor {version}":
            yield f"the installed command prints {command!r}"


CHECKS: dict[str, Callable[[list[Path], Links], Iterable[str]]] = {
    "metadata, licences, links of the description": index_problems,
    "twine check --strict": twine_problems,
    "check-wheel-contents": wheel_problems,
    "auditwheel": platform_problems,
    "paths of the machine that built a wheel": path_problems,
    "installation of the built files, and a call": installation_problems,
}


def built_files(folder: Path, version: str) -> list[Path]:
    """Return the wheels and the sdist of a version in a folder.

    Raises:
        ValueError: The folder has no wheel, not one sdist, or other files.
    """
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    wheels = [path for path in files if path.name.startswith(f"assignor-{version}-") and path.suffix == ".whl"]
    sdists = [path for path in files if path.name == f"assignor-{version}.tar.gz"]
    if not wheels or len(sdists) != 1 or len(wheels) + 1 != len(files):
        names = ", ".join(path.name for path in files) or "nothing"
        raise ValueError(f"{folder} has {names}; it must have wheels and one sdist of version {version}, nothing else")
    return wheels + sdists


def main(arguments: list[str] | None = None) -> int:
    """Check the built files of a release."""
    parser = argparse.ArgumentParser(prog="python -m release.check", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="folder with the wheels and the sdist")
    parser.add_argument("--repository", required=True, help="address of the repository that the files were built for")
    given = parser.parse_args(arguments)
    failed = 0
    try:
        links = Links.of_version(given.repository, ROOT)
        files = built_files(given.folder.resolve(), stated_version(ROOT))
    except ValueError as error:
        sys.exit(f"assignor: {error}")
    sys.stdout.writelines(f"{path.name}, {path.stat().st_size:,} bytes\n" for path in files)
    for name, check in CHECKS.items():
        start = time.monotonic()
        try:
            found = list(check(files, links))
        except ValueError as error:
            found = [str(error)]
        failed += bool(found)
        sys.stdout.write(f"{'FAILED' if found else 'ok':<7}{name} ({time.monotonic() - start:.1f} s)\n")
        sys.stdout.writelines(f"       {line}\n" for problem in found for line in problem.splitlines())
        sys.stdout.flush()
    todo = [*tag_problems(links.tag, ROOT), *text_problems(ROOT)]
    sys.stdout.writelines(f"before the tag: {problem}\n" for problem in todo)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
