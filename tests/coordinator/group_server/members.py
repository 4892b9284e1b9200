"""Members in separate processes, which a test can command to commit, leave, freeze or crash.

A member reports its partitions whenever they change. Its process ends when the pipe to the test's process closes, so it
never outlives a test run.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import aiokafka
import kafka

from tests.coordinator.group_server.clients import CLIENTS, Client, Offsets, Partitions, Settings
from tests.coordinator.group_server.notifier import Notifier

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

__all__ = ["Member", "Report"]

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["__main__", "kafka", "aiokafka", "confluent_kafka"])


class Report(NamedTuple):
    """State that a member reports.

    Attributes:
        member_id: Member id; "" before the member has one.
        generation: Generation; None if the library does not expose it.
        assignment: Owned partitions, sorted.
    """

    member_id: str = ""
    generation: int | None = None
    assignment: Partitions = ()


class Member:
    """One member in a separate process.

    Args:
        kind: Name of the library.
        settings: Settings of the consumer.
        notifier: Notified of each event.

    Attributes:
        report: Latest report.
        log_lines: Latest log lines of the library.
    """

    def __init__(self, kind: str, settings: Settings, notifier: Notifier) -> None:
        self.kind, self.settings = kind, settings
        self.report = Report()
        self.log_lines: deque[str] = deque(maxlen=30)
        self._notifier = notifier
        self._numbers = itertools.count()
        self._results: dict[int, tuple[bool, Any]] = {}
        self._gone = False
        self._pipe, end = _PROCESSES.Pipe()
        self._process = _PROCESSES.Process(
            target=_run_client, args=(kind, settings, end), name=settings.name, daemon=True
        )
        self._process.start()
        end.close()
        threading.Thread(target=self._listen, name=f"listens to {settings.name}", daemon=True).start()

    def __repr__(self) -> str:
        return f"{self.settings.name} ({self.kind}): {self.report} " + "\n  ".join(("", *self.log_lines))

    def commit(self, offsets: Offsets) -> None:
        """Commit offsets with metadata, by topic and partition."""
        self._call("commit", offsets)

    def committed(self, partitions: Partitions) -> Offsets:
        """Return the committed offsets, from the server."""
        found: Offsets = self._call("committed", partitions)
        return found

    def close(self) -> None:
        """Close the consumer, and wait for its process to end."""
        self._call("close")
        self._process.join(10)

    def kill(self) -> None:
        """Kill the process, as a crash would."""
        if self._process.is_alive():
            self._process.kill()
            self._process.join(10)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Freeze the process, with open connections, until the end of the context."""
        assert self._process.pid
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            if self._process.is_alive():
                os.kill(self._process.pid, signal.SIGCONT)

    def _call(self, verb: str, *arguments: object) -> Any:
        number = next(self._numbers)
        self._pipe.send((number, verb, arguments))
        self._notifier.until(lambda: number in self._results or self._gone, lambda: f"{verb} does not end: {self}")
        worked, result = self._results.pop(number, (False, "its process has ended"))
        if not worked:
            raise RuntimeError(f"{verb}: {result}\n{self}")
        return result

    def _listen(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                match self._pipe.recv():
                    case Report() as report:
                        self.report = report
                    case str(line):
                        self.log_lines.append(line)
                    case number, worked, result:
                        self._results[number] = worked, result
                self._notifier.notify()
        self._gone = True
        self._notifier.notify()


class _PipeHandler(logging.Handler):
    """Handler that sends log lines to the test's process."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__(logging.WARNING)
        self._pipe = pipe
        self._lock = threading.Lock()

    def send(self, message: object) -> None:
        """Send a message. Only one thread may write to a pipe at a time."""
        with self._lock:
            self._pipe.send(message)

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):
            self.send(f"{record.created:.3f} {record.levelname} {record.name}: {record.getMessage()}")


def _start_client(kind: str, settings: Settings, handler: _PipeHandler) -> Client:
    """Start a client, again and again while the server crashes under it, as applications are started again."""
    while True:
        try:
            return CLIENTS[kind](settings)
        except (kafka.errors.KafkaError, aiokafka.errors.KafkaError):
            handler.send(traceback.format_exc())


def _run_client(kind: str, settings: Settings, pipe: Connection) -> None:
    """Run a client and report its changes, until the pipe ends."""
    handler = _PipeHandler(pipe)
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    with contextlib.suppress(EOFError, OSError):
        try:
            client = _start_client(kind, settings, handler)
            reported = Report()
            while True:
                client.poll()
                now = Report(client.member_id(), client.generation(), client.assignment())
                if now != reported:
                    reported = now
                    handler.send(reported)
                while pipe.poll():
                    number, verb, arguments = pipe.recv()
                    try:
                        handler.send((number, True, getattr(client, verb)(*arguments)))
                    except Exception:
                        handler.send((number, False, traceback.format_exc()))
                    if verb == "close":
                        return
        except Exception:
            handler.send(traceback.format_exc())
