"""Client for requests that confluent-kafka cannot send: kafka-python's, with the settings of librdkafka."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.errors import ClusterError, IllegalArgumentError

with dependency("kafka", at_least="3.0"):
    from kafka import KafkaAdminClient
    from kafka.errors import for_code
    from kafka.protocol.admin import ListGroupsRequest
    from kafka.protocol.metadata import FindCoordinatorRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from assignor.cluster.connection import ClientSettings

__all__ = ["RequestClient", "client_configuration", "error_name"]

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""SASL mechanisms whose settings have the same meaning in both clients."""

_COORDINATOR_OF_A_GROUP = 0
_OLDEST_WITH_TYPES = 5  # of ListGroups: Kafka 3.8


class RequestClient:
    """Connection of kafka-python to a cluster. Use it as a context manager.

    Raises:
        IllegalArgumentError: kafka-python has no setting with the meaning of one of the settings.
        ClusterError: The cluster does not answer, or rejects the connection.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self._address = settings.address
        configuration = client_configuration(settings.client)
        milliseconds = max(1, round(settings.timeout * 1000))
        self._client = self._call(
            "connect",
            lambda: _Client(**configuration, bootstrap_timeout_ms=milliseconds, request_timeout_ms=milliseconds),
        )

    def __enter__(self) -> RequestClient:
        return self

    def __exit__(self, *error: object) -> None:
        self._client.close()

    def list_groups(self) -> tuple[dict[str, tuple[str, str]], dict[int, str]]:
        """Return kind and state of each group by id, and the reason why a broker did not list its groups by its id."""
        listed: dict[str, tuple[str, str]] = {}
        problems: dict[int, str] = {}
        for node in self._client.nodes():
            try:
                answer = self.ask("list the groups", ListGroupsRequest(min_version=_OLDEST_WITH_TYPES), node)
            except ClusterError as error:
                problems[node] = str(error)
                continue
            if answer.error_code:
                problems[node] = error_name(answer.error_code)
            for group in answer.groups:
                listed[group.group_id] = group.group_type.lower(), group.group_state
        return listed, problems

    def coordinators(self, groups: Iterable[str]) -> dict[str, tuple[int, str, int] | str]:
        """Return id, host and port of the coordinator of each group, or the reason why it is not known."""
        request = FindCoordinatorRequest(key_type=_COORDINATOR_OF_A_GROUP, coordinator_keys=list(groups), min_version=4)
        answer = self.ask("find the coordinators of groups", request)
        return {
            found.key: error_name(found.error_code) if found.error_code else (found.node_id, found.host, found.port)
            for found in answer.coordinators
        }

    def ask(self, doing: str, request: Any, node: int | None = None) -> Any:
        """Send a request and return its response.

        Args:
            doing: Action of the request, for error messages.
            request: Message of kafka-python.
            node: Id of a broker; by default any broker.

        Raises:
            ClusterError: The broker does not answer, or does not know the request.
        """
        return self._call(doing, lambda: self._client.ask(request, node))

    def _call(self, doing: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:  # kafka-python also raises errors of Python, such as an AssertionError
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ClusterError(f"cannot {doing} on {self._address}: {reason}") from error


class _Client(KafkaAdminClient):  # type: ignore[misc]  # kafka-python has no types
    """Admin client of kafka-python that sends any request; it is extended in the way of its own mixins."""

    def nodes(self) -> list[int]:
        """Return the ids of the brokers."""
        return sorted(broker.node_id for broker in self._manager.cluster.brokers())

    def ask(self, request: Any, node: int | None) -> Any:
        """Send a request to a broker and return its response."""

        async def send() -> Any:
            answer: Awaitable[Any] = self._manager.send(request, node_id=node)
            return await answer

        return self._manager.run(send)


def error_name(code: int) -> str:
    """Return Kafka's name of an error code."""
    return str(getattr(for_code(code), "message", code))


def client_configuration(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of kafka-python's clients for settings of librdkafka.

    Raises:
        IllegalArgumentError: kafka-python has no setting with the same meaning, or a file cannot be read.

    Example:
        >>> client_configuration({"bootstrap.servers": "PLAINTEXT://a:9092,b", "client.id": "c"})
        {'bootstrap_servers': ['a:9092', 'b'], 'security_protocol': 'PLAINTEXT', 'client_id': 'c'}
    """
    servers = [text.strip().rpartition("://")[2] for text in str(settings["bootstrap.servers"]).split(",")]
    protocol = str(settings.get("security.protocol", "plaintext")).upper()
    found: dict[str, Any] = {"bootstrap_servers": servers, "security_protocol": protocol}
    if "client.id" in settings:
        found["client_id"] = settings["client.id"]
    if protocol.startswith("SASL"):
        mechanism = str(settings.get("sasl.mechanisms") or settings.get("sasl.mechanism") or "GSSAPI")
        if mechanism not in MECHANISMS:
            raise IllegalArgumentError(
                f"sasl.mechanisms={mechanism}: the second client, kafka-python, is used with {', '.join(MECHANISMS)}"
            )
        found["sasl_mechanism"] = mechanism
        found["sasl_plain_username"] = settings.get("sasl.username", "")
        found["sasl_plain_password"] = settings.get("sasl.password", "")
    if protocol.endswith("SSL"):
        try:
            found["ssl_context"] = _tls(settings)
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            raise IllegalArgumentError(f"the settings of TLS cannot be used: {error}") from error
    return found


def _tls(settings: Mapping[str, Any]) -> ssl.SSLContext:
    for name in ("ssl.keystore.location", "ssl.engine.location", "ssl.providers"):
        if name in settings:
            raise IllegalArgumentError(
                f"{name}: the second client, kafka-python, reads certificates from PEM files only"
            )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    is_verified = str(settings.get("enable.ssl.certificate.verification", "true")).lower() != "false"
    identified = str(settings.get("ssl.endpoint.identification.algorithm", "https")).lower()
    context.check_hostname = is_verified and identified != "none"
    if not is_verified:
        context.verify_mode = ssl.CERT_NONE
    place = settings.get("ssl.ca.location")
    if "ssl.ca.pem" in settings:
        context.load_verify_locations(cadata=settings["ssl.ca.pem"])
    elif place and place != "probe":
        is_folder = Path(place).is_dir()
        context.load_verify_locations(capath=place) if is_folder else context.load_verify_locations(cafile=place)
    else:
        context.load_default_certs()
    if "ssl.crl.location" in settings:
        context.load_verify_locations(cafile=settings["ssl.crl.location"])
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    if "ssl.cipher.suites" in settings:
        context.set_ciphers(settings["ssl.cipher.suites"])
    _load_certificate(context, settings)
    return context


def _load_certificate(context: ssl.SSLContext, settings: Mapping[str, Any]) -> None:
    """Load the certificate of the client. Python reads it only from files, so PEM texts are written to one."""
    password = settings.get("ssl.key.password")
    if "ssl.certificate.pem" in settings or "ssl.key.pem" in settings:
        with tempfile.TemporaryDirectory() as folder:  # only this user can read it
            file = Path(folder) / "client.pem"
            texts = [_text(settings, "key"), _text(settings, "certificate")]
            file.write_text("\n".join(texts), encoding="utf-8")
            context.load_cert_chain(file, password=password)
    elif "ssl.certificate.location" in settings:
        key = settings.get("ssl.key.location")
        context.load_cert_chain(settings["ssl.certificate.location"], key, password=password)


def _text(settings: Mapping[str, Any], name: str) -> str:
    """Return the PEM text of the certificate or key."""
    if (text := settings.get(f"ssl.{name}.pem")) is not None:
        return str(text)
    return Path(settings[f"ssl.{name}.location"]).read_text(encoding="utf-8")
