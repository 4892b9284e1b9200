"""Connection to a live cluster: settings of its clients, and errors as one line that names the address."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assignor.cluster.properties import parse_properties, to_librdkafka
from assignor.dependencies import dependency
from assignor.errors import (
    AuthorizationError,
    ClusterError,
    IllegalArgumentError,
    UnreachableError,
)
from assignor.validation import check_name, shown

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

Result = TypeVar("Result")

DEFAULT_TIMEOUT = 10.0
"""Seconds to wait for an answer of the cluster."""

CONSUMER = {
    # librdkafka requires a group id. It is not used: partitions are assigned with explicit offsets.
    "group.id": "assignor-reader",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,  # the log can end with markers and compacted records, which no consumer gets
    "auto.offset.reset": "error",
    "allow.auto.create.topics": False,
}
"""Settings of each consumer; they replace those of the user."""

_POLL_SECONDS = 0.05
_NOT_CONNECTED = ("Connect to ", "Failed to resolve ")
_WRONG_PROTOCOL = "does the listener need TLS or SASL? Give its settings with --command-config"


class ErrorLog:
    """Errors that librdkafka reports outside of calls: the reason why a call does not return.

    It is also the logger of the clients, because librdkafka reports a closed connection only in its log.

    Attributes:
        reason: Last error of a connection, or "".
        fatal: Error that a retry cannot solve, such as wrong credentials, or "".
        has_answered: True if the cluster has answered a request.
    """

    def __init__(self) -> None:
        self.reason = ""
        self.fatal = ""
        self.has_answered = False

    def __call__(self, error: Any) -> None:
        """Store an error; librdkafka calls this from `poll`."""
        name, text = error.name(), _reason(error.str())
        if name in ("_AUTHENTICATION", "_SSL", "SASL_AUTHENTICATION_FAILED"):
            self.fatal = text
        elif name != "_ALL_BROKERS_DOWN":
            self.reason = text

    def log(self, _level: int, _format: str, facility: str, _client: str, text: str) -> None:
        """Store the error of a connection; confluent-kafka calls this, as `logging.Logger.log`, from `poll`."""
        if facility == "FAIL":
            self.reason = _reason(text)

    def clear(self) -> None:
        """Forget the errors, because the cluster answered."""
        self.reason = self.fatal = ""
        self.has_answered = True


def _check_setting(text: str, what: str) -> None:
    """Raise an error for a text that librdkafka cannot read as UTF-8 up to a null character."""
    if "\0" in check_name(text, what):
        raise IllegalArgumentError(f"{what} has a null character: {shown(text)}")


def _reason(text: str) -> str:
    """Return the text of an error or a log line of librdkafka without names of threads and connections."""
    return re.sub(r"^(\[thrd:\S+\]: )?\S+/(bootstrap|\d+): | \(after .*\)$", "", text)


@dataclass(frozen=True)
class ClientSettings:
    """Settings of the clients of a cluster.

    Attributes:
        client: Configuration of librdkafka.
        timeout: Seconds to wait for an answer of the cluster.
        errors: Errors of the clients that were made from these settings.
    """

    client: Mapping[str, Any] = field(repr=False)
    timeout: float = DEFAULT_TIMEOUT
    errors: ErrorLog = field(default_factory=ErrorLog, repr=False, compare=False)

    @classmethod
    def read(
        cls,
        bootstrap_servers: str | None,
        properties_file: str | os.PathLike[str] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> ClientSettings:
        """Combine addresses with a file of settings, as Kafka's tools do with `--command-config`.

        Args:
            bootstrap_servers: Addresses of brokers; by default `bootstrap.servers` of the file.
            properties_file: File with settings of a Java client or of librdkafka.
            timeout: Seconds to wait for an answer of the cluster.

        Raises:
            IllegalArgumentError: The file cannot be read, a setting is invalid, or no address is given.
        """
        given: dict[str, str] = {}
        if properties_file is not None:
            path = Path(properties_file)
            try:
                given = to_librdkafka(parse_properties(path.read_bytes()))
            except OSError as error:
                raise IllegalArgumentError(f"cannot read {path}: {error.strerror}") from error
            except IllegalArgumentError as error:
                raise IllegalArgumentError(f"{path}: {error}") from error
            except ValueError as error:  # a null character in the path
                raise IllegalArgumentError(f"cannot read {path}: {error}") from error
            for name, value in given.items():
                _check_setting(name, f"{path}: a setting")
                _check_setting(value, f"{path}: {name}")
        servers = bootstrap_servers or given.get("bootstrap.servers")
        if not servers:
            raise IllegalArgumentError("the address of a broker is missing: give it with --bootstrap-server HOST:PORT")
        _check_setting(servers, "--bootstrap-server")
        return cls({**given, "bootstrap.servers": servers}, timeout)

    @property
    def address(self) -> str:
        """Addresses of the brokers that clients contact first."""
        return str(self.client["bootstrap.servers"])

    @property
    def user(self) -> str:
        """Name of the user for the text of errors, such as `user 'alice'`."""
        name = self.client.get("sasl.username")
        return f"user {name!r}" if name else "this client"

    def admin(self) -> Any:
        """Return an AdminClient. Nothing is sent to the cluster until it is used.

        Raises:
            IllegalArgumentError: librdkafka rejects a setting.
            MissingDependencyError: confluent-kafka is not installed.
        """
        with dependency("confluent_kafka"):
            from confluent_kafka.admin import AdminClient
        return self._create(AdminClient, {})

    def consumer(self, **fixed: Any) -> Any:
        """Return a Consumer with the settings `CONSUMER` and the given ones.

        Raises:
            IllegalArgumentError: librdkafka rejects a setting.
            MissingDependencyError: confluent-kafka is not installed.
        """
        with dependency("confluent_kafka"):
            from confluent_kafka import Consumer
        return self._create(Consumer, {**CONSUMER, **fixed})

    def _create(self, kind: Any, fixed: Mapping[str, Any]) -> Any:
        with dependency("confluent_kafka"):
            from confluent_kafka import KafkaException

        try:
            return kind({**self.client, "error_cb": self.errors, **fixed}, logger=self.errors)
        except KafkaException as error:
            raise IllegalArgumentError(f"invalid client setting: {error.args[0].str()}") from None

    def wait(self, admin: Any, futures: Iterable[Future[Any]], doing: str) -> None:
        """Wait until calls of an AdminClient have a result.

        Args:
            admin: The AdminClient.
            futures: Futures that its methods returned.
            doing: Action of the calls, for error messages, such as `list the topics`.

        Raises:
            ClusterError: The cluster did not answer in time or rejects the connection.
        """
        if not self.are_done(admin, futures, self.timeout):
            raise self.unreachable(doing)

    def are_done(self, admin: Any, futures: Iterable[Future[Any]], seconds: float) -> bool:
        """Wait until calls of an AdminClient have a result; return False if a call has no result within `seconds`.

        It returns False immediately if the cluster rejects the connection.
        """
        pending = list(futures)
        end = time.monotonic() + seconds
        while not all(future.done() for future in pending):
            admin.poll(_POLL_SECONDS)
            if self.errors.fatal or time.monotonic() > end:
                return False
        return True

    def result(self, admin: Any, future: Future[Result], doing: str) -> Result:
        """Return the result of a call of an AdminClient.

        Raises:
            ClusterError: The cluster did not answer in time, or answered with an error.
        """
        with dependency("confluent_kafka"):
            from confluent_kafka import KafkaException

        self.wait(admin, [future], doing)
        try:
            found = future.result(0)
        except KafkaException as error:
            admin.poll(0)
            raise self.failed(doing, error) from None
        self.errors.clear()
        return found

    def metadata(self, client: Any) -> Any:
        """Return brokers and topics, the result of `list_topics`. This creates no topic.

        Raises:
            ClusterError: The cluster did not answer in time, or answered with an error.
        """
        with dependency("confluent_kafka"):
            from confluent_kafka import KafkaException

        future: Future[Any] = Future()
        end = time.monotonic() + self.timeout

        def read() -> None:
            while not future.done():
                try:
                    future.set_result(client.list_topics(timeout=max(end - time.monotonic(), 0.001)))
                except KafkaException as error:  # raised before the timeout, too, if a broker closes the connection
                    if time.monotonic() >= end:
                        future.set_exception(error)
                    time.sleep(_POLL_SECONDS)

        threading.Thread(target=read, daemon=True).start()  # Ctrl-C does not interrupt `list_topics`
        return self.result(client, future, "list the topics")

    def failed(self, doing: str, error: Any) -> ClusterError:
        """Return the exception for a KafkaError, or for an exception that has one."""
        error = error.args[0] if isinstance(error, Exception) else error
        name = error.name()
        if name.endswith("AUTHORIZATION_FAILED"):
            kind = name.removesuffix("_AUTHORIZATION_FAILED").lower().replace("_", " ")
            return AuthorizationError(f"{self.user} has no permission to {doing} ({kind}) on {self.address}")
        if name in ("_TRANSPORT", "_TIMED_OUT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_AUTHENTICATION", "_SSL"):
            return self.unreachable(doing)
        return ClusterError(f"cannot {doing} on {self.address}: {error.str()}")

    def unreachable(self, doing: str) -> ClusterError:
        """Return the exception for a cluster that does not answer."""
        if self.errors.fatal:
            return ClusterError(f"cannot connect to {self.address}: {self.errors.fatal}")
        reason = self.errors.reason
        text = f"cannot {doing}: no answer from {self.address} within {self.timeout:g} s"
        if reason:
            text += f": {reason}"
        if not (self.errors.has_answered or reason.startswith(_NOT_CONNECTED)):
            text += f"; {_WRONG_PROTOCOL}"
        return UnreachableError(text)
