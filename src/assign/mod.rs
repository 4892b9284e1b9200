//! Choice of the assignor that computes a plan.
//!
//! Each assignor is a function in its own file, from a `Group` and `Options` to a `Plan`. To add one, write its file, and add a
//! variant to `Assignor` and a row to `Assignor::definition`. Other code calls `assign` and gets the names from
//! `Assignor::name`.

mod rack;
mod range;
mod round_robin;
mod server;
mod sticky;
mod table_order;

use std::sync::Arc;

use crate::error::{GroupError, NoAnswer};
use crate::group::Group;
use crate::memory;
use crate::plan::Plan;
pub use server::streams_sticky;

/// Protocol of a group, which decides where its assignor runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum GroupProtocol {
    /// The classic protocol: the leader of the group assigns.
    #[default]
    Classic,
    /// The protocol of KIP-848: the broker assigns.
    Consumer,
    /// The protocol of share groups (KIP-932): the broker assigns, and a partition may have several owners.
    Share,
}

impl GroupProtocol {
    /// All protocols.
    pub const ALL: [Self; 3] = [Self::Classic, Self::Consumer, Self::Share];

    /// Return Kafka's name of the protocol.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
            Self::Share => "share",
        }
    }

    /// Return the protocol with the given name, if it exists.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }

    /// Return Kafka's default assignor.
    #[must_use]
    pub const fn default_assignor(self) -> Assignor {
        match self {
            Self::Classic => Assignor::Range,
            Self::Consumer => Assignor::ServerUniform,
            Self::Share => Assignor::ServerSimple,
        }
    }
}

/// Assignor of Kafka.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Assignor {
    /// `RangeAssignor`: ranges of consecutive partitions, topic by topic.
    #[default]
    Range,
    /// `RoundRobinAssignor`: partitions go to the members in turn.
    RoundRobin,
    /// `StickyAssignor`: as balanced as possible, then as few moves as possible; eager.
    Sticky,
    /// `CooperativeStickyAssignor`: like sticky, but a partition gets a new owner only after its old owner has given it up.
    CooperativeSticky,
    /// The broker's `UniformAssignor`.
    ServerUniform,
    /// The broker's `RangeAssignor`.
    ServerRange,
    /// The broker's `SimpleAssignor`, for share groups.
    ServerSimple,
}

/// Largest number of partitions of a group, except for the classic range assignor. Most other assignors store an owner per
/// partition.
pub const MAX_PARTITIONS: u64 = 1 << 28;

/// Memory for an owner of a partition that members share.
const BYTES_PER_OWNER: u64 = 20;

/// Options of an assignor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// The assignor.
    pub assignor: Assignor,
    /// Kafka's test flag: use racks even if every partition is on every rack.
    pub prefer_rack_aware: bool,
}

/// Name, protocol and function of an assignor.
struct Definition {
    name: &'static str,
    protocol: GroupProtocol,
    assign: fn(&Arc<Group>, Options) -> Result<Plan, NoAnswer>,
}

impl Assignor {
    /// All assignors.
    pub const ALL: [Self; 7] = [
        Self::Range,
        Self::RoundRobin,
        Self::Sticky,
        Self::CooperativeSticky,
        Self::ServerUniform,
        Self::ServerRange,
        Self::ServerSimple,
    ];

    const fn definition(self) -> Definition {
        use GroupProtocol::{Classic, Consumer, Share};
        match self {
            Self::Range => Definition {
                name: "range",
                protocol: Classic,
                assign: |group, options| Ok(range::assign(group, options)),
            },
            Self::RoundRobin => Definition {
                name: "roundrobin",
                protocol: Classic,
                assign: |group, options| Ok(round_robin::assign(group, options)),
            },
            Self::Sticky => Definition {
                name: "sticky",
                protocol: Classic,
                assign: |group, options| Ok(sticky::assign(group, options)),
            },
            Self::CooperativeSticky => Definition {
                name: "cooperative-sticky",
                protocol: Classic,
                assign: |group, options| Ok(sticky::assign_cooperatively(group, options)),
            },
            Self::ServerUniform => Definition {
                name: "uniform",
                protocol: Consumer,
                assign: |group, options| Ok(server::uniform::assign(group, options)),
            },
            Self::ServerRange => Definition {
                name: "range",
                protocol: Consumer,
                assign: |group, options| Ok(server::range::assign(group, options)),
            },
            Self::ServerSimple => Definition { name: "simple", protocol: Share, assign: server::simple::assign },
        }
    }

    /// Return Kafka's name, which is unique within a protocol.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.definition().name
    }

    /// Return the protocol of the groups that use the assignor.
    #[must_use]
    pub const fn protocol(self) -> GroupProtocol {
        self.definition().protocol
    }

    /// Return the largest number of bytes that the computation of a plan reserves per partition. `docs/limits.md` has measured
    /// numbers.
    const fn bytes_per_partition(self) -> u64 {
        match self {
            Self::Range | Self::ServerRange => 0,
            Self::RoundRobin => 8,
            Self::ServerUniform => 16,
            Self::ServerSimple => 120,
            Self::Sticky | Self::CooperativeSticky => 28,
        }
    }

    /// Return the protocol's assignor with the given name, if it exists.
    #[must_use]
    pub fn named(protocol: GroupProtocol, name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|assignor| assignor.protocol() == protocol && assignor.name() == name)
    }
}

/// Check that the assignor supports the size of the group, and that the computation fits into memory. Return the number of partitions
/// that it assigns one by one: those of all topics, or 0 for the classic range assignor without racks.
///
/// # Errors
/// The topics have more than `MAX_PARTITIONS` partitions, and the assignor is not the classic range; or the assignor needs more
/// memory than there is.
pub fn check_size(group: &Group, assignor: Assignor) -> Result<u64, GroupError> {
    if assignor == Assignor::Range && !group.has_racks() {
        return Ok(0);
    }
    let partitions = group.topics().total();
    if assignor == Assignor::Range {
        return Ok(partitions);
    }
    if partitions > MAX_PARTITIONS {
        return Err(GroupError::TooManyPartitions {
            partitions,
            assignor: assignor.name(),
            protocol: assignor.protocol().name(),
            limit: MAX_PARTITIONS,
        });
    }
    memory::check_each("a plan", "partitions", partitions, assignor.bytes_per_partition())?;
    if assignor == Assignor::ServerSimple {
        let owners = server::simple::expected_owners(group);
        let most = partitions + owners + server::simple::previous_owners(group);
        memory::check_each("a plan", "owners of partitions", most, BYTES_PER_OWNER)?;
        return Ok(owners);
    }
    Ok(partitions)
}

/// Assign the partitions of a group to its members. Call `check_size` first, which rejects groups that are too large.
///
/// # Errors
/// The assignor of Kafka has no answer for the group, or several. Only that of share groups returns errors.
pub fn assign(group: &Arc<Group>, options: Options) -> Result<Plan, NoAnswer> {
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
