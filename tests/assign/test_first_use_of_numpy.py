"""Tests that a signal handler that raises during the first use of numpy leaves an exception, not a panic."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tests send POSIX signals")

SETUP = """
import signal, sys
from assignor import Group, MemberColumns
plan = Group({"t": 3}, {"a": ["t"]}).plan()
assert "numpy" not in sys.modules

class Raised(Exception):
    pass

def handler(signum, frame):
    raise Raised

signal.signal(signal.SIGALRM, handler)

def interrupt():
    signal.raise_signal(signal.SIGALRM)
    sum(range(100))

class Finder:
    def find_spec(self, name, path, target=None):
        if name == "numpy":
            interrupt()
"""

FIRST_USES = {
    "counts": "plan.counts()",
    "spans": "plan.spans()",
    "columns": "Group({'t': 1}, MemberColumns(['a'], [0], [['t']]))",
}


def _output(program: str) -> str:
    """Return what a program writes."""
    done = subprocess.run(
        [sys.executable, "-c", SETUP + program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout


@pytest.mark.parametrize("call", FIRST_USES.values(), ids=FIRST_USES)
def test_an_exception_of_a_handler_ends_the_import_of_numpy(call: str) -> None:
    program = f"""
sys.meta_path.insert(0, Finder())
try:
    {call}
except Raised:
    print("raised")
del sys.meta_path[0]
{call}
print("usable")
"""
    assert "raised\nusable\n" == _output(program)


@pytest.mark.parametrize("call", FIRST_USES.values(), ids=FIRST_USES)
def test_an_exception_of_a_handler_does_not_end_the_look_up_of_the_functions_of_numpy(call: str) -> None:
    # rust-numpy makes an object of this class when it looks the functions up.
    program = f"""
import numpy.lib
class NumpyVersion(numpy.lib.NumpyVersion):
    def __init__(self, version):
        super().__init__(version)
        print("looked up", flush=True)
        interrupt()
numpy.lib.NumpyVersion = NumpyVersion
try:
    {call}
    sum(range(100))
except Raised:
    print("raised")
{call}
print("usable")
"""
    assert "looked up\nraised\nusable\n" == _output(program)


def test_a_handler_that_interrupts_the_import_of_numpy_cannot_use_it() -> None:
    program = """
class Importing:
    def find_spec(self, name, path, target=None):
        if name == "numpy.lib":
            plan.counts()
sys.meta_path.insert(0, Importing())
try:
    import numpy
except ImportError as error:
    print(error)
del sys.meta_path[0]
print(plan.counts().tolist())
"""
    assert "numpy is not imported yet: import it before the signal handler is set\n[3]\n" == _output(program)
