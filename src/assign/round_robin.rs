//! Round-robin assignment as Kafka's `RoundRobinAssignor` does it.

use std::sync::Arc;

use super::Options;
use crate::group::Group;
use crate::plan::{Owners, Plan};

/// Assign all partitions in turn.
pub(in crate::assign) fn assign(group: &Arc<Group>, _options: Options) -> Plan {
    Plan::from_owners(group, &Owners::new(group))
}
