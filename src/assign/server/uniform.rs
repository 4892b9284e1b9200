//! The broker's `UniformAssignor`.

use std::sync::Arc;

use crate::assign::Options;
use crate::group::Group;
use crate::plan::{Owners, Plan};

/// Assign uniformly.
pub(in crate::assign) fn assign(group: &Arc<Group>, _options: Options) -> Plan {
    Plan::from_owners(group, &Owners::new(group))
}
