//! Partition assignment: the one place that chooses which assignor computes a plan.
//!
//! An assignor is one function of plain data in a file of its own: a `Group` and `Options` in, a `Plan` out. To add one, write
//! its file, add a variant to `Assignor` and its row to `Assignor::definition`. Everything else in the crate (the border,
//! fleets, recordings, record sizes) calls `assign` with `Options`, and takes names from `Assignor::name`.

mod rack;
mod range;
mod runs;

use std::sync::Arc;

use crate::group::Group;
use crate::plan::Plan;

/// Kafka's assignors, by the name that members put into a `JoinGroup` request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Assignor {
    /// `RangeAssignor`: ranges of consecutive partitions, topic by topic.
    #[default]
    Range,
}

/// Options of an assignor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// The assignor.
    pub assignor: Assignor,
    /// Kafka's test flag: use rack logic even if every partition is on every rack.
    pub prefer_rack_aware: bool,
}

/// Kafka's name of an assignor, and its function.
struct Definition {
    name: &'static str,
    assign: fn(&Arc<Group>, Options) -> Plan,
}

impl Assignor {
    /// All assignors.
    pub const ALL: [Self; 1] = [Self::Range];

    const fn definition(self) -> Definition {
        match self {
            Self::Range => Definition { name: "range", assign: range::assign },
        }
    }

    /// Kafka's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.definition().name
    }

    /// The assignor of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|assignor| assignor.name() == name)
    }
}

/// Assign the partitions of a group to its members.
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
            assert_eq!(Some(assignor), Assignor::named(assignor.name()));
        }
        assert_eq!((None, "range"), (Assignor::named("none"), Assignor::default().name()));
    }
}
