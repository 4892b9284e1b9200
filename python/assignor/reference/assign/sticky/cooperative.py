"""Partitions that `CooperativeStickyAssignor` withholds because another member has to give them up first."""

from __future__ import annotations

from assignor.reference.assign.sticky.claims import Claims, Place


def transferring(claims: Claims, assignment: dict[str, list[Place]]) -> set[Place]:
    """Return the partitions that another member claims and their new owner does not."""
    added, revoked = set(), set()
    for id, places in assignment.items():
        claimed = set(claims.claims[id].places)
        added |= set(places) - claimed
        revoked |= claimed - set(places)
    return added & revoked
