"""Programs that a signal interrupts while they are inside one call of the package."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

_PROGRAM = """
import json, os, signal, sys, threading, time

class Raised(Exception):
    pass

def handler(signum, frame):
    raise Raised

{setup}
start = time.monotonic()
signal.signal(getattr(signal, sys.argv[1]), handler)
if sys.argv[1] == "SIGINT":
    threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
else:
    signal.setitimer(signal.ITIMER_REAL, 0.3)
raised = "nothing"
try:
    {call}
except Raised:
    raised = "Raised"
print(json.dumps({{"raised": raised, "seconds": time.monotonic() - start - 0.3}}), flush=True)
{after}
"""


def interrupted(setup: str, call: str, signal: str = "SIGALRM", after: str = "") -> dict[str, Any]:
    """Run a program whose call a signal interrupts after 0.3 s, by an exception of the handler.

    Args:
        setup: Statements before the call.
        call: The call, which must take several seconds if nothing interrupts it.
        signal: `"SIGALRM"`, from a timer of the system, or `"SIGINT"`, from another thread.
        after: Statements after the call, which check what it left.

    Returns:
        `raised`: the name of the exception. `seconds`: the time from the signal to the exception.
    """
    program = _PROGRAM.format(setup=setup, call=call, after=after)
    done = subprocess.run(
        [sys.executable, "-c", program, signal], capture_output=True, text=True, check=False, timeout=120
    )
    assert (0, "") == (done.returncode, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
