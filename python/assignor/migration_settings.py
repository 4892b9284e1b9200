"""Settings of brokers that decide whether a classic group can move to the protocol of KIP-848."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from assignor.errors import IllegalArgumentError
from assignor.validation import check_name, read_bool, read_int, shown, wrong_type

__all__ = ["DEFAULTS", "BrokerSettings", "ServerAssignor"]

ServerAssignor = Literal["uniform", "range"]
"""Assignors of the broker."""

_POLICY = "group.consumer.migration.policy"
_MAX_SIZE = "group.consumer.max.size"
_PROTOCOLS = "group.coordinator.rebalance.protocols"
_ASSIGNORS = "group.consumer.assignors"
_POLICIES = ("bidirectional", "upgrade", "downgrade", "disabled")

DEFAULTS: Mapping[str, str] = {
    _POLICY: "bidirectional",
    _MAX_SIZE: str(2**31 - 1),
    _PROTOCOLS: "classic,consumer,streams",
    _ASSIGNORS: "uniform,range",
}
"""Kafka's defaults of the settings of brokers that decide, by name."""


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Settings of the brokers that decide whether a group can move.

    Args:
        policy: `group.consumer.migration.policy`: `bidirectional`, `upgrade`, `downgrade` or `disabled`.
        max_size: `group.consumer.max.size`, from 1 to 2^31 - 1.
        has_protocol: Whether `group.coordinator.rebalance.protocols` has `consumer`.
        assignor: The assignor after the switch: the first of `group.consumer.assignors`, unless members ask for
            another one with `group.remote.assignor`.
        version: Version of the brokers, such as `4.3`; None if it is not known.
        assumed: Names of settings that are not known, for which Kafka's default is taken.

    Raises:
        WrongTypeError: A value has another type.
        IllegalArgumentError: A value is not one of those named here.

    Example:
        >>> BrokerSettings.read({"group.consumer.max.size": "100"}).max_size
        100
    """

    policy: str = "bidirectional"
    max_size: int = 2**31 - 1
    has_protocol: bool = True
    assignor: ServerAssignor = "uniform"
    version: str | None = None
    assumed: tuple[str, ...] = tuple(DEFAULTS)

    def __post_init__(self) -> None:
        if check_name(self.policy, _POLICY).lower() not in _POLICIES:
            raise IllegalArgumentError(f"{_POLICY} must be one of {', '.join(_POLICIES)}, not {shown(self.policy)}")
        if not 1 <= read_int(self.max_size, _MAX_SIZE, bits=64) <= 2**31 - 1:
            raise IllegalArgumentError(f"{_MAX_SIZE} must be from 1 to {2**31 - 1}, not {shown(self.max_size)}")
        read_bool(self.has_protocol, "has_protocol")
        if check_name(self.assignor, "assignor") not in get_args(ServerAssignor):
            raise IllegalArgumentError(f"assignor must be 'uniform' or 'range', not {shown(self.assignor)}")
        self.numbers()

    @classmethod
    def read(cls, given: Mapping[str, str], version: str | None = None) -> BrokerSettings:
        """Return the settings from texts by Kafka's names; a setting that is missing has Kafka's default.

        Raises:
            WrongTypeError: A name or a value is not a str.
            IllegalArgumentError: A name is not in `DEFAULTS`, or a value is invalid.
        """
        if not isinstance(given, Mapping):
            raise wrong_type("settings", "a mapping of names and values", given)
        for name in given:
            if name not in DEFAULTS:
                raise IllegalArgumentError(f"unknown setting {shown(name)}; the settings are {', '.join(DEFAULTS)}")
            check_name(given[name], name)
        found = {**DEFAULTS, **given}
        size = found[_MAX_SIZE].strip()
        if not re.fullmatch(r"[0-9]{1,10}", size):
            raise IllegalArgumentError(f"{_MAX_SIZE} must be from 1 to {2**31 - 1}, not {shown(found[_MAX_SIZE])}")
        first = found[_ASSIGNORS].split(",")[0].strip()
        short = {"UniformAssignor": "uniform", "RangeAssignor": "range"}.get(first.rpartition(".")[2], first)
        protocols = {each.strip().lower() for each in found[_PROTOCOLS].split(",")}
        assumed = tuple(name for name in DEFAULTS if name not in given)
        return cls(found[_POLICY].strip(), int(size), "consumer" in protocols, short, version, assumed)  # type: ignore[arg-type]  # checked by the class

    def numbers(self) -> tuple[int, int] | None:
        """Return major and minor version of the brokers; None if it is not known."""
        if self.version is None:
            return None
        found = re.match(r"([0-9]{1,9})\.([0-9]{1,9})(?![0-9])", check_name(self.version, "version"))
        if found is None:
            raise IllegalArgumentError(f"version must be like 4.3, not {shown(self.version)}")
        return int(found[1]), int(found[2])

    def values(self) -> dict[str, str]:
        """Return the settings by Kafka's names, as texts that `read` reads."""
        protocols = DEFAULTS[_PROTOCOLS] if self.has_protocol else "classic"
        other = "range" if self.assignor == "uniform" else "uniform"
        texts = (self.policy, str(self.max_size), protocols, f"{self.assignor},{other}")
        return dict(zip(DEFAULTS, texts, strict=True))

    def to_json(self) -> dict[str, object]:
        """Return the settings by Kafka's names, with those that are assumed."""
        return {
            _POLICY: self.policy,
            _MAX_SIZE: self.max_size,
            "has_protocol": self.has_protocol,
            "assignor": self.assignor,
            "version": self.version,
            "assumed": list(self.assumed),
        }

    def rules(self) -> tuple[str, int, bool, tuple[int, int] | None, str]:
        """Return the settings as `_core.Clusters.migrate` reads them."""
        return self.policy, self.max_size, self.has_protocol, self.numbers(), self.assignor
