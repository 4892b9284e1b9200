//! Groups of a whole fleet, each planned on its own among the topics of its cluster.
//!
//! What a group is, a `Roster` says by name; from that and the topics of the cluster comes a `Group` that knows just the
//! topics that its members subscribe to. So a group costs what it has, however many topics its cluster has. What a plan is
//! like is in `balance`, what changes against an assignment that stands in `moves`, and what would be if in `scenario`.

mod assignor;
mod balance;
mod cluster;
mod current;
mod moves;
mod owned;
mod rebalance;
mod roster;
mod scenario;

pub use assignor::{AssignorNames, NotComputed, assignor_of};
pub use balance::{GroupBalance, balance, current_balance};
pub use cluster::{Changed, Cluster};
pub use current::current_plan;
pub use moves::{Move, moves};
pub use owned::{OwnedSpan, owned_spans, reads_owned};
pub use rebalance::{Rebalanced, rebalance, starting_plan};
pub use roster::{Roster, RosterMember, RosterSubscription};
pub use scenario::{Outcome, Scenario, Step, TooManyPartitions};
