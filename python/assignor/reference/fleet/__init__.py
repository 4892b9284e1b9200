"""Groups of a whole fleet, each planned on its own among the topics of its cluster: the specification of `src/fleet`.

A cluster's topics are in `cluster`, a group by name is a `Roster`, and what the range rules give it a `Plan`, both in
`roster`. What a plan is like is in `balance`, what changes against an assignment that stands in `moves`, and what would
be if in `scenario`. `reading` makes these of rows, `columns` says what the rows are in Arrow, and `Clusters` has the
interface of the Rust core.
"""

from assignor.reference.fleet.clusters import Clusters

__all__ = ["Clusters"]
