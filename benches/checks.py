"""What checking the input costs: the core beside a twin of it that trusts its input.

The twin is the same source, compiled with `--cfg assignor_unchecked`, which turns every `ensure!` of the binding into
nothing; cargo builds it on demand, into target/. Both are loaded here and called in turn. Two cores that are the same
come out within 3 % of each other.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType

import assignor._core
from assignor.errors import AssignorError
from sides import WrongAnswerError
from timing import Pace, Times, interleave, sampler
from workloads import Shape, Workload

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "target" / "unchecked"
REFUSED = ({"t": [0, 0]}, {"a": ["t"]})
"""A group that the core refuses, for an id that is there twice."""


class TwinMissingError(Exception):
    """There is no twin to be had here, and why."""


def trusting() -> ModuleType:
    """The core without its checks.

    Raises:
        TwinMissingError: There is no cargo, or building failed, or what was built refuses wrong input all the same.
    """
    cargo = shutil.which("cargo")
    if cargo is None:
        raise TwinMissingError("cargo was not found")
    command = [cargo, "rustc", "--release", "--locked", "--quiet", "--lib", "--crate-type", "cdylib"]
    command += ["--features", "python", "--target-dir", str(TARGET), "--", "--cfg", "assignor_unchecked"]
    built = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYO3_PYTHON": sys.executable, "PYO3_BUILD_EXTENSION_MODULE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    library = TARGET / "release" / "libassignor.so"
    if built.returncode or not library.exists():
        raise TwinMissingError(f"cargo could not build {library.name}: {built.stdout.strip().splitlines()[-1:]}")
    loader = ExtensionFileLoader("assignor._core", str(library))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    try:
        module.plan(*REFUSED)
    except AssignorError:
        raise TwinMissingError(f"{library.name} was built without its checks, and checks all the same") from None
    return module


def timed(core: ModuleType, verb: str, workload: Workload, shape: Shape, pace: Pace) -> Times:
    """Times `assign` or `plan` of both cores, called `checked` and `unchecked`, on the same input.

    Raises:
        WrongAnswerError: Their answers differ.
    """
    given = workload.partitions_per_topic(), workload.subscriptions(shape)
    cores = {"checked": assignor._core, "unchecked": core}
    calls = {name: functools.partial(getattr(each, verb), *given) for name, each in cores.items()}
    answers = [dict(call()) for call in calls.values()]
    if answers[0] != answers[1]:
        raise WrongAnswerError(f"{verb} without checks differs on {workload.name}")
    answers.clear()
    return interleave({name: sampler(call) for name, call in calls.items()}, pace, alike=True)
