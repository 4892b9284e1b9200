"""Settings of the brokers of a live cluster that decide whether a classic group can move to KIP-848."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.errors import AuthorizationError, ClusterError
from assignor.migration import DEFAULTS, BrokerSettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.cluster.connection import ClientSettings

_DOING = "describe the settings of the brokers"


def read_broker_settings(
    settings: ClientSettings, admin: Any, version: str | None = None
) -> tuple[BrokerSettings, list[str]]:
    """Read the settings of the brokers with DescribeConfigs. This changes nothing.

    Args:
        settings: Settings of the clients.
        admin: AdminClient of the cluster.
        version: Version of the brokers; None if it is not known.

    Returns:
        The settings, and sentences on what could not be read, or differs between the brokers. A setting that could not
        be read has Kafka's default and is in `assumed`.

    Raises:
        ClusterError: The cluster does not answer.
    """
    brokers = sorted(settings.metadata(admin).brokers)
    found: dict[int, dict[str, str]] = {}
    notes: list[str] = []
    for broker, future in zip(brokers, _requests(admin, brokers, settings.timeout), strict=True):
        try:
            entries = settings.result(admin, future, _DOING)
        except (AuthorizationError, ClusterError) as error:
            notes.append(f"settings of broker {broker}: {error}")
            continue
        found[broker] = {
            name: entries[name].value for name in DEFAULTS if name in entries and entries[name].value is not None
        }
    given: dict[str, str] = {}
    for name in DEFAULTS:
        values = {of_broker[name]: broker for broker, of_broker in reversed(found.items()) if name in of_broker}
        if not values:
            continue
        broker = min(values.values())
        given[name] = next(value for value, which in values.items() if which == broker)
        if len(values) > 1:
            notes.append(f"the brokers have different values of {name}; that of broker {broker} is used")
    if found and not given:
        notes.append("the brokers have none of the settings of KIP-848: they are older than Kafka 3.7")
        return BrokerSettings(has_protocol=False, version=version, assumed=()), notes
    return BrokerSettings.read(given, version), notes


def _requests(admin: Any, brokers: Iterable[int], timeout: float) -> list[Any]:
    with dependency("confluent_kafka"):
        from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]  # its module does not list it

    found = []
    for broker in brokers:
        resource = ConfigResource(ConfigResource.Type.BROKER, str(broker))
        found += admin.describe_configs([resource], request_timeout=timeout).values()
    return found
