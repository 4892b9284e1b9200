"""Fuzz a reader that is reached through Python: `python fuzz/border.py TARGET [FOLDER ...] [-OPTION=VALUE ...]`.

The arguments after the target are those of libFuzzer: folders of inputs, and options such as `-max_total_time=60`. New
inputs are added to the first folder. Without arguments, the program prints the names of the targets. It needs Atheris
(`fuzz/requirements.txt`); `make fuzz` calls it for each target.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import atheris

with atheris.instrument_imports(include=["assignor", "tests.support.border"]):
    import assignor.plan_json  # noqa: F401 - the core imports it only when it needs it
    from tests.support.border import TARGETS


def main() -> None:
    """Fuzz the target that the command line names."""
    if len(sys.argv) < 2:
        sys.stdout.write("".join(f"{name}\n" for name in TARGETS))
        return
    target = TARGETS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, lambda data: target(data) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
