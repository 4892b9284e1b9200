"""Daemon of Spark's Python workers that imports large packages once, before it forks the workers.

A worker collects garbage after each task, which takes a tenth of a second unless the imported objects are frozen.
"""

from __future__ import annotations

import gc

import pandas as pd  # type: ignore[import-untyped]  # noqa: F401  # has no types; the forked workers use it
import pyarrow as pa  # noqa: F401  # the forked workers use it
from pyspark.daemon import manager

import assignor.spark  # noqa: F401  # as above

if __name__ == "__main__":
    gc.freeze()
    manager()
