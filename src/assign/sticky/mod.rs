//! Sticky assignment as Kafka's `StickyAssignor` and `CooperativeStickyAssignor` do it.

use std::sync::Arc;

use super::Options;
use crate::group::Group;
use crate::plan::{Owners, Plan};

/// Assign eagerly.
pub(in crate::assign) fn assign(group: &Arc<Group>, _options: Options) -> Plan {
    Plan::from_owners(group, &Owners::new(group))
}

/// Assign cooperatively.
pub(in crate::assign) fn assign_cooperatively(group: &Arc<Group>, _options: Options) -> Plan {
    Plan::from_owners(group, &Owners::new(group))
}
