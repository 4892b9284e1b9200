"""What Spark sends to its executors: it loads only if their Python has this version of the package.

Spark pickles the functions of a package as their names, and an executor without the package then fails while Spark
unpickles them, with traces of Python and Java. Here they are pickled together with a function that is sent as code. It
checks the package before it loads the rest, and its error is one line. The first query of an application also checks an
executor before it sends anything, because Spark logs each failed task with a trace of its own.
"""

from __future__ import annotations

import functools
import importlib
import re
import shutil
import sys
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor import _core
from assignor.dependencies import dependency
from assignor.errors import MissingDependencyError
from assignor.spark.schemas import check_session

with dependency("pyspark"):
    from pyspark import cloudpickle
    from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_ROWS = 1_000
"""Rows of the check, which Spark splits into tasks; their number is by default that of the cores of its executors."""

_CHECKED: weakref.WeakSet[SparkContext] = weakref.WeakSet()
"""Contexts with an executor that has the package."""


def check_executors(spark: SparkSession) -> None:
    """Raise an error if the Python of an executor lacks this package, has another version, or cannot import it.

    By default, the number of tasks of the check is that of the cores of the executors that Spark has now. Spark places
    the tasks, so an executor that is busy may get none. A task imports `assignor`, `numpy` and `pyarrow`.

    Args:
        spark: The session.

    Raises:
        MissingDependencyError: An executor cannot run functions of this package; the message, which is one line, names
            its Python and its host.
        WrongTypeError: `spark` is not a session.
    """
    check_session(spark)
    _check(spark, _ROWS)


def on_executors(spark: SparkSession, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as Spark can send it to executors; each function that is passed to Spark comes from here.

    Data sources and table functions are classes, which Spark also sends as code if they are defined in a function. Such
    a class calls what this function returns.

    The first call for an application checks an executor, unless all workers have the Python of this process.

    Args:
        spark: The session that sends the function.
        function: The function, which executors get as it is, so that calls of it cost no more.

    Raises:
        MissingDependencyError: The executor lacks this package, or has another version.
    """
    _check_once(spark)
    return _Sent(function)


def _check_once(spark: SparkSession) -> None:
    context: SparkContext | None = getattr(spark, "_sc", None)
    if context is None or context in _CHECKED:  # a Connect session has no context, and its client gets no traces
        return
    if not _has_own_python(spark, context):
        _check(spark, 1)
    _CHECKED.add(context)


def sent(make: Callable[[], Any]) -> tuple[Any, ...]:
    """Return the result of `__reduce__` of an object that an executor makes by calling `make`."""
    return _functions(_core.__version__).load, (_pickled(make),)


class _Sent:
    """Function that an executor replaces by the original one when it loads it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)  # Spark reads the kind of a function from its hints
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        function = self._function
        return sent(lambda: function)


def _check(spark: SparkSession, rows: int) -> None:
    problem = F.udf(_functions(_core.__version__).find_problem, "string", useArrow=False)
    found = sorted({text for (text,) in spark.range(rows).select(problem("id")).collect() if text is not None})
    if found:
        more = f" (and {len(found) - 1} more executors)" if len(found) > 1 else ""
        raise MissingDependencyError(found[0] + more)


def _has_own_python(spark: SparkSession, context: SparkContext) -> bool:
    """Return True if the workers are on this machine, and have the Python of this process."""
    if re.fullmatch(r"local(\[.*\])?", str(context.master)) is None:
        return False
    python = shutil.which(spark.conf.get("spark.sql.execution.pyspark.python", None) or context.pythonExec)
    # Programs of different environments can be links to the same file, but not their folders.
    return python is not None and Path(python).parent.samefile(Path(sys.executable).parent)


class _Functions(NamedTuple):
    find_problem: Callable[[Any], str | None]
    load: Callable[[bytes], Any]


def _functions(version: str) -> _Functions:
    """Return the functions that run before an executor has the package.

    Spark sends a function that is defined in another one as code. So these import themselves what they use.

    Args:
        version: Version of the package that an executor must have.
    """
    probe = _pickled(_import_packages)

    def attempt(pickled: bytes) -> tuple[Any, str | None]:
        """Return what a pickled function makes and None, or None and why it cannot be loaded."""
        import pickle
        import socket
        import sys

        python = f"the Python of the Spark executors ({sys.executable} on host {socket.gethostname()})"
        page = 'see "Run on a cluster" in the documentation of assignor'
        try:
            from assignor import _core
        except ImportError as error:
            if isinstance(error, ModuleNotFoundError) and error.name == "assignor":
                return None, f"assignor is not installed for {python}: {page}"
            return None, f"assignor cannot be imported by {python}: {' '.join(str(error).split())}; {page}"
        if _core.__version__ != version:
            return None, f"assignor {_core.__version__} is installed for {python}, but the driver has {version}: {page}"
        try:
            return pickle.loads(pickled)(), None
        except ImportError as error:
            return None, f"a function cannot be loaded by {python}: {' '.join(str(error).split())}; {page}"

    def find_problem(_: Any) -> str | None:
        return attempt(probe)[1]

    def load(pickled: bytes) -> Any:
        import os

        made, problem = attempt(pickled)
        if problem is not None:
            # The frames of Spark's worker say nothing about the problem. The process of the worker ends with the error.
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
            raise RuntimeError(problem)
        return made

    return _Functions(find_problem, load)


def _pickled(value: object) -> bytes:
    found: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]  # PySpark's pickler has no types
    return found


def _import_packages() -> None:
    """Import the packages that every function needs on an executor."""
    for name in ("numpy", "pyarrow"):
        importlib.import_module(name)
