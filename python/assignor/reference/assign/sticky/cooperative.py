"""What `CooperativeStickyAssignor` withholds: partitions that another member has to give up first."""

from __future__ import annotations

from assignor.reference.assign.sticky.claims import Claims, Place


def transferring(claims: Claims, assignment: dict[str, list[Place]]) -> set[Place]:
    """Return the partitions that a member gets and did not claim while another member claims them and loses them."""
    added, revoked = set(), set()
    for id, places in assignment.items():
        claimed = set(claims.claims[id].places)
        added |= set(places) - claimed
        revoked |= claimed - set(places)
    return added & revoked
