//! Uniform assignment as in the broker's `UniformAssignor`: as even as possible, with few moves.
//!
//! If all members subscribe to the same topics, `homogeneous` assigns the group, otherwise `heterogeneous`. As in the broker, the
//! comparison includes names of topics that do not exist.
//!
//! Source: kafka-group-coordinator 4.4.0, `UniformAssignor` and its two builders.

mod balancer;
mod heterogeneous;
mod homogeneous;
mod target;

use std::sync::Arc;

use crate::assign::Options;
use crate::group::Group;
use crate::plan::Plan;
use target::Target;

/// Assign uniformly.
pub(in crate::assign) fn assign(group: &Arc<Group>, _options: Options) -> Plan {
    let mut target = Target::previous(group);
    match group.members_per_subscription().iter().filter(|members| **members > 0).count() {
        0 => (),
        1 => homogeneous::assign(group, &mut target),
        _ => heterogeneous::assign(group, &mut target),
    }
    Plan::from_owners(group, target.into_owners())
}
