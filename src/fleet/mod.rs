//! Groups of a whole fleet, each planned on its own among the topics of its cluster.
//!
//! What a group is, a `Roster` says by name; from that and the topics of the cluster comes a `Group` that knows just the
//! topics that its members subscribe to. So a group costs what it has, however many topics its cluster has. What a plan is
//! like is in `balance`, what changes against an assignment that stands in `moves`, and what would be if in `scenario`.

mod balance;
mod cluster;
mod moves;
mod roster;
mod scenario;

pub use balance::{GroupBalance, balance};
pub use cluster::{Changed, Cluster};
pub use moves::{Move, OwnedSpan, moves};
pub use roster::{Roster, RosterMember, RosterSubscription};
pub use scenario::{Outcome, Scenario, Step, TooManyPartitions};
