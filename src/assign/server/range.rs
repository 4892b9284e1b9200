//! Range assignment as in the broker's `RangeAssignor`: like the client's, but without racks.
//!
//! Source: kafka-group-coordinator 4.4.0, `RangeAssignor`.

use std::sync::Arc;

use crate::assign::{Options, range};
use crate::group::Group;
use crate::plan::Plan;

/// Assign every topic in ranges, without racks.
pub(in crate::assign) fn assign(group: &Arc<Group>, _options: Options) -> Plan {
    range::assign_without_racks(group)
}
