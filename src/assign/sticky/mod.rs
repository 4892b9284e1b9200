//! Sticky assignment as in Kafka's `StickyAssignor` and `CooperativeStickyAssignor`.
//!
//! Both first settle conflicts between the partitions that members claim. If all members subscribe to the same topics, the
//! constrained algorithm assigns the group, otherwise the general one. `CooperativeStickyAssignor` then withholds partitions that
//! another member has to give up first.

mod balancing;
mod claims;
mod constrained;
mod cooperative;
mod even_assignment;
mod general;
mod lowest;
mod movements;
mod rack_first;
mod racks;
mod returns;
mod user_data;

use std::sync::Arc;

use self::claims::{Claims, Source};
use self::racks::RackLogic;
use super::Options;
use crate::group::Group;
use crate::plan::{Owners, Plan};

/// Assign partitions as `StickyAssignor` does.
pub(in crate::assign) fn assign(group: &Arc<Group>, options: Options) -> Plan {
    let claims = Claims::of(group, Source::UserData);
    Plan::from_owners(group, assign_claims(group, &claims, options))
}

/// Assign partitions as `CooperativeStickyAssignor` does.
pub(in crate::assign) fn assign_cooperatively(group: &Arc<Group>, options: Options) -> Plan {
    let claims = Claims::of(group, Source::Subscription);
    let mut owners = assign_claims(group, &claims, options);
    if is_constrained(group, &claims) {
        cooperative::withhold_constrained(&claims, &mut owners);
    } else {
        cooperative::withhold_general(group, &claims, &mut owners);
    }
    Plan::from_owners(group, owners)
}

fn assign_claims(group: &Group, claims: &Claims, options: Options) -> Owners {
    let racks = RackLogic::of(group, &claims.is_assignable, &claims.owners, options.prefer_rack_aware);
    let assign = if is_constrained(group, claims) { constrained::assign } else { general::assign };
    assign(group, claims, racks.as_ref())
}

/// Return true if all members subscribe to the same topics, existing or not.
///
/// As in Kafka, members without a subscription that come before the first member with one (in table order) are not compared. Kafka
/// then gives them partitions; here the constrained algorithm leaves them out.
fn is_constrained(group: &Group, claims: &Claims) -> bool {
    let subscriptions = claims.members.iter().map(|member| group.subscription_of(*member as usize));
    let mut compared = subscriptions.skip_while(|subscription| group.subscriptions().get(*subscription).is_empty());
    compared.next().is_none_or(|first| compared.all(|subscription| subscription == first))
}
