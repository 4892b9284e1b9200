"""Build of the sdist and of a wheel for this machine as they are released, without a change to the checkout.

`python -m release.build --repository URL --out FOLDER` copies the project, prepares its description, and builds the
sdist. The wheel is built from this sdist, which shows that the sdist is complete. On Linux, auditwheel gives it its
manylinux tag.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from release import ROOT
from release.description import Links, rewrite

WORK = ROOT / "target" / "release-check"
"""The folder of the copies. Cargo finds the compiled dependencies of earlier builds only in `target`."""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a program that is installed beside this Python, and return its output.

    Raises:
        ValueError: The program fails. The message has its last lines.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "CARGO_TARGET_DIR": str(ROOT / "target")}
    done = subprocess.run(
        [shutil.which(str(command[0]), path=path) or command[0], *command[1:]],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-30:])
        raise ValueError(f"{Path(command[0]).name} fails with exit code {done.returncode}:\n{last}")
    return done.stdout


def copy_project(folder: Path) -> None:
    """Copy the files of the project that git does not ignore."""
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)


def unpack(sdist: Path, folder: Path) -> Path:
    """Unpack an sdist, and return its top folder.

    Its files get the present time: cargo compiles again only if a file is newer than the last build.
    """
    with tarfile.open(sdist) as archive:
        for entry in archive:
            entry.mtime = int(time.time())
            archive.extract(entry, folder, filter="data")
    return folder / sdist.name.removesuffix(".tar.gz")


def build(links: Links, out: Path) -> None:
    """Build the sdist and the wheel into a folder."""
    for folder in (WORK, out):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    copy_project(WORK / "tree")
    rewrite(Links(links.repository, links.tag, WORK / "tree"))
    run("maturin", "sdist", "--out", out, cwd=WORK / "tree")
    (sdist,) = out.glob("*.tar.gz")
    unpacked = unpack(sdist, WORK / "unpacked")
    pip = (
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    )
    run(*pip, "--wheel-dir", WORK / "wheel", unpacked)
    for wheel in (WORK / "wheel").glob("*.whl"):
        if sys.platform == "linux":
            run("auditwheel", "repair", "--wheel-dir", out, wheel)
        else:
            shutil.copy(wheel, out)


def main(arguments: list[str] | None = None) -> int:
    """Build the sdist, and from it a wheel for this Python, as they are released."""
    parser = argparse.ArgumentParser(prog="python -m release.build", description=main.__doc__)
    parser.add_argument(
        "--repository", required=True, help="address of the repository, such as https://HOST/OWNER/NAME"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the built files; it is emptied first")
    given = parser.parse_args(arguments)
    try:
        build(Links.of_version(given.repository, ROOT), given.out.resolve())
    except ValueError as error:
        sys.exit(f"assignor: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
