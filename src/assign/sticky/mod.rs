//! Sticky assignment as Kafka's `StickyAssignor` and `CooperativeStickyAssignor` do it.
//!
//! Both settle the claims of members first. Groups whose members all subscribe to the same topics are assigned the constrained way,
//! others the general way. `CooperativeStickyAssignor` then withholds partitions that their owners have to give up first.

mod claims;
mod general;
mod racks;
mod user_data;

use std::sync::Arc;

use self::claims::{Claims, Source};
use self::racks::RackLogic;
use super::Options;
use crate::group::Group;
use crate::plan::Plan;

/// Assign eagerly.
pub(in crate::assign) fn assign(group: &Arc<Group>, options: Options) -> Plan {
    let claims = Claims::of(group, Source::UserData);
    let racks = RackLogic::of(group, &claims.is_live, &claims.owners, options.prefer_rack_aware);
    Plan::from_owners(group, &general::assign(group, &claims, racks.as_ref()))
}

/// Assign cooperatively.
pub(in crate::assign) fn assign_cooperatively(group: &Arc<Group>, options: Options) -> Plan {
    let claims = Claims::of(group, Source::Subscription);
    let racks = RackLogic::of(group, &claims.is_live, &claims.owners, options.prefer_rack_aware);
    Plan::from_owners(group, &general::assign(group, &claims, racks.as_ref()))
}
