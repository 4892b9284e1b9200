//! Groups of a fleet: the consumer groups of one or more clusters.
//!
//! Each group is assigned independently, with the topics of its cluster. A `Roster` holds the members of a group by name. Together
//! with the cluster it gives a `Group` with only the topics that the members subscribe to, so the cost of a group does not
//! depend on the number of topics of its cluster. `balance` describes a plan, `moves` compares it with the current assignment, and
//! `scenario` simulates changes of a group, and `scaling` other numbers of members. `migration` judges whether a classic group
//! can move to the protocol of KIP-848.

mod assignor;
mod balance;
mod cluster;
mod current;
mod membership;
mod migration;
mod moves;
mod owned;
mod pattern_meaning;
mod placement;
mod rebalance;
mod roster;
mod scaling;
mod scenario;

pub use assignor::{AssignorNames, NotComputed, assignor_of};
pub use balance::{GroupBalance, balance, current_balance};
pub use cluster::{Changed, Cluster, NoChange};
pub use current::current_plan;
pub use migration::{
    Blocker, BrokerRules, ClientCount, GroupFacts, Judged, LaterMoves, MemberFacts, Migration, Verdict,
};
pub use moves::{Move, moves};
pub use owned::{OwnedSpan, given_twice, owned_spans, reads_owned};
pub use pattern_meaning::{PatternChange, Patterns};
pub use placement::Placement;
pub use rebalance::{Rebalanced, rebalance, starting_plan};
pub use roster::{Roster, RosterMember, RosterSubscription, check_owners};
pub use scaling::{ScaledGroup, ScaledLoad, scale};
pub use scenario::{Outcome, Scenario, Step, TooManyPartitions};
