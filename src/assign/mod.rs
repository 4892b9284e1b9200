//! Partition assignment: the one place that chooses which assignor computes a plan.
//!
//! An assignor is one function of plain data in a file of its own: a `Group` and `Options` in, a `Plan` out. To add one, write
//! its file, add a variant to `Assignor` and its row to `Assignor::definition`. Everything else in the crate (the border,
//! fleets, recordings, record sizes) calls `assign` with `Options`, and takes names from `Assignor::name`.

mod rack;
mod range;
mod round_robin;
mod runs;
mod server;
mod sticky;
mod table_order;

use std::sync::Arc;

use crate::error::GroupError;
use crate::group::Group;
use crate::plan::Plan;

/// Where a group's assignor runs: in the member that leads the group, or in the broker (KIP-848).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum GroupProtocol {
    /// The leader assigns.
    #[default]
    Classic,
    /// The broker assigns.
    Consumer,
}

impl GroupProtocol {
    /// All protocols.
    pub const ALL: [Self; 2] = [Self::Classic, Self::Consumer];

    /// Kafka's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
        }
    }

    /// Return the protocol of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }

    /// Return the assignor that Kafka uses if a group does not name one.
    #[must_use]
    pub const fn default_assignor(self) -> Assignor {
        match self {
            Self::Classic => Assignor::Range,
            Self::Consumer => Assignor::ServerUniform,
        }
    }
}

/// Kafka's assignors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Assignor {
    /// `RangeAssignor`: ranges of consecutive partitions, topic by topic.
    #[default]
    Range,
    /// `RoundRobinAssignor`: all partitions in turn.
    RoundRobin,
    /// `StickyAssignor`: as balanced as possible, with as few moves as possible, eager.
    Sticky,
    /// `CooperativeStickyAssignor`: like sticky, but a partition gets a new owner only after its old owner has given it up.
    CooperativeSticky,
    /// The broker's `UniformAssignor`.
    ServerUniform,
    /// The broker's `RangeAssignor`.
    ServerRange,
}

/// The largest number of partitions of a group, except for range of the classic protocol: other assignors keep an owner per partition.
pub const MOST_PARTITIONS: u64 = 1 << 28;

/// Options of an assignor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// The assignor.
    pub assignor: Assignor,
    /// Kafka's test flag: use rack logic even if every partition is on every rack.
    pub prefer_rack_aware: bool,
}

/// Kafka's name of an assignor, its protocol and its function.
struct Definition {
    name: &'static str,
    protocol: GroupProtocol,
    assign: fn(&Arc<Group>, Options) -> Plan,
}

impl Assignor {
    /// All assignors.
    pub const ALL: [Self; 6] =
        [Self::Range, Self::RoundRobin, Self::Sticky, Self::CooperativeSticky, Self::ServerUniform, Self::ServerRange];

    const fn definition(self) -> Definition {
        use GroupProtocol::{Classic, Consumer};
        match self {
            Self::Range => Definition { name: "range", protocol: Classic, assign: range::assign },
            Self::RoundRobin => Definition { name: "roundrobin", protocol: Classic, assign: round_robin::assign },
            Self::Sticky => Definition { name: "sticky", protocol: Classic, assign: sticky::assign },
            Self::CooperativeSticky => {
                Definition { name: "cooperative-sticky", protocol: Classic, assign: sticky::assign_cooperatively }
            }
            Self::ServerUniform => Definition { name: "uniform", protocol: Consumer, assign: server::uniform::assign },
            Self::ServerRange => Definition { name: "range", protocol: Consumer, assign: server::range::assign },
        }
    }

    /// Kafka's name, which is unique within a protocol.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.definition().name
    }

    /// The protocol whose groups use the assignor.
    #[must_use]
    pub const fn protocol(self) -> GroupProtocol {
        self.definition().protocol
    }

    /// Return the assignor of a name within a protocol.
    #[must_use]
    pub fn named(protocol: GroupProtocol, name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|assignor| assignor.protocol() == protocol && assignor.name() == name)
    }
}

/// Check that the assignor can assign a group of this size.
///
/// # Errors
/// All topics together have more than `MOST_PARTITIONS` partitions; range has no limit.
pub fn check_size(group: &Group, assignor: Assignor) -> Result<(), GroupError> {
    if assignor == Assignor::Range {
        return Ok(());
    }
    let partitions: u64 = group.topics().partitions().iter().map(|partitions| partitions.ids.len() as u64).sum();
    if partitions <= MOST_PARTITIONS {
        return Ok(());
    }
    Err(GroupError::TooManyPartitions {
        partitions,
        assignor: assignor.name(),
        protocol: assignor.protocol().name(),
        limit: MOST_PARTITIONS,
    })
}

/// Assign the partitions of a group to its members. Call `check_size` first: it rejects groups that are too large.
#[must_use]
pub fn assign(group: &Arc<Group>, options: Options) -> Plan {
    (options.assignor.definition().assign)(group, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignors_are_found_by_kafkas_names() {
        for assignor in Assignor::ALL {
            assert_eq!(Some(assignor), Assignor::named(assignor.protocol(), assignor.name()));
        }
        assert_eq!(None, Assignor::named(GroupProtocol::Classic, "uniform"));
        for protocol in GroupProtocol::ALL {
            assert_eq!(
                (Some(protocol), protocol),
                (GroupProtocol::named(protocol.name()), protocol.default_assignor().protocol())
            );
        }
    }
}
