"""Choice of a group's assignor from the names in the rows of its members."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignor.ordering import java_order
from assignor.reference.assign import ASSIGNORS, DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.reference.fleet.roster import Roster


class Assignor(NamedTuple):
    """An assignor of Kafka: a key of `ASSIGNORS`.

    Attributes:
        group_protocol: `classic` or `consumer`.
        name: Kafka's name, which is unique within a protocol.
    """

    group_protocol: str
    name: str


def assignor_of(roster: Roster) -> tuple[Assignor | None, str | None]:
    """Return the assignor that is named by all members of a group, or None and a reason if there is no such assignor.

    Rows without a name are ignored. By default the protocol is `classic` and the assignor is Kafka's default.
    """
    protocols = _distinct(member.group_protocol for member in roster)
    if len(protocols) > 1:
        return None, f"members of the group have different values of group_protocol: {_quoted(protocols)}"
    protocol = protocols[0] if protocols else "classic"
    if protocol not in DEFAULTS:
        return None, f"group_protocol '{protocol}' is not supported; supported: {_quoted(sorted(DEFAULTS))}"
    names = _distinct(member.assignor for member in roster)
    if len(names) > 1:
        return None, f"members of the group have different values of assignor: {_quoted(names)}"
    found = Assignor(protocol, names[0] if names else DEFAULTS[protocol])
    if found not in ASSIGNORS:
        known = sorted(name for of_protocol, name in ASSIGNORS if of_protocol == protocol)
        reason = f"assignor '{found.name}' of group_protocol '{protocol}' is not supported; supported: {_quoted(known)}"
        return None, reason
    return found, None


def _distinct(values: Iterable[str | None]) -> list[str]:
    return sorted({value for value in values if value is not None}, key=java_order)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
