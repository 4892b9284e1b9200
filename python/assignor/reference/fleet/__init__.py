"""Groups of a fleet: the consumer groups of one or more clusters. The specification of `src/fleet`.

Each group is assigned independently, with the topics of its cluster. `cluster` holds the topics of a cluster and
`roster` the members of a group and their `Plan`. `balance` describes a plan, `moves` compares it with the current
assignment, and `scenario` simulates changes of a group. `reading` parses rows, `columns` declares their Arrow types,
and `Clusters` has the interface of the Rust core.
"""

from assignor.reference.fleet.clusters import Clusters

__all__ = ["Clusters"]
