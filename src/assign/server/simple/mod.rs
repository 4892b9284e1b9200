//! Assignment of share groups as in the broker's `SimpleAssignor` (KIP-932): a partition may have several owners.
//!
//! Members are numbered by their place in the broker's table. Each partition is shared by the number of members that gives every member
//! a partition. Each member has a quota of partitions. Members keep what they had, up to their quota, and members below their
//! quota get the partitions that have too few owners.
//!
//! If all members subscribe to the same topics, `homogeneous` assigns all partitions at once, otherwise `heterogeneous` assigns topic
//! by topic. As in the broker, the comparison includes names of topics that do not exist.
//!
//! Source: kafka-group-coordinator 4.4.0, `SimpleAssignor` and its two builders.

mod heterogeneous;
mod homogeneous;
mod shares;
mod target;

use std::sync::Arc;

use crate::assign::Options;
use crate::error::NoAnswer;
use crate::group::Group;
use crate::plan::{Plan, SharedOwners};

/// Assign the partitions of a share group.
pub(in crate::assign) fn assign(group: &Arc<Group>, _options: Options) -> Result<Plan, NoAnswer> {
    match group.members_per_subscription().iter().filter(|members| **members > 0).count() {
        0 => Ok(Plan::from_shared(Arc::clone(group), SharedOwners::default())),
        1 => homogeneous::assign(group),
        _ => heterogeneous::assign(group),
    }
}

/// Return about the number of owners that the partitions of a group get together: a partition for each member at least, in a group
/// with different subscriptions for each topic.
pub(in crate::assign) fn expected_owners(group: &Group) -> u64 {
    let partitions = group.topics().total();
    let members_per_subscription = group.members_per_subscription();
    if members_per_subscription.iter().filter(|members| **members > 0).count() <= 1 {
        return partitions.max(group.members().len() as u64);
    }
    let consumers = (0..).zip(members_per_subscription);
    let consumers = consumers.map(|(number, members)| u64::from(members) * group.topics_of(number).len() as u64);
    partitions.max(consumers.sum())
}

/// Return the number of partitions in the previous targets of all members.
pub(in crate::assign) fn previous_owners(group: &Group) -> u64 {
    group.all_member_data().flat_map(|(_, data)| data.owned()).map(|(_, ids)| ids.len() as u64).sum()
}

/// Return the number of owners that each partition should have.
fn sharing(members: usize, partitions: usize) -> u32 {
    members.div_ceil(partitions.max(1)) as u32 * u32::from(partitions > 0)
}

/// Return the quotas of the members that share partitions: how many each should have.
///
/// They are differences of rounded multiples of a floating-point number, as in Kafka, so their sum may be off by one.
fn quotas(members: usize, partitions: usize) -> impl Iterator<Item = u32> {
    #[allow(clippy::cast_precision_loss, reason = "Kafka's class has the same loss")]
    let each = (sharing(members, partitions) as usize * partitions) as f64 / members as f64;
    let mut before = 0;
    (1..=members).map(move |number| {
        #[allow(clippy::cast_precision_loss, reason = "Kafka's class has the same loss")]
        let end = ceil(each * number as f64);
        (end - std::mem::replace(&mut before, end)) as u32
    })
}

/// Round up a number that is not negative. It is faster than `f64::ceil`, which is a function call on most processors.
fn ceil(number: f64) -> i64 {
    let whole = number as i64;
    #[allow(clippy::cast_precision_loss, reason = "the number is below 2^53")]
    let is_below = (whole as f64) < number;
    whole + i64::from(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_rounded_in_floating_point() {
        let rounded: Vec<u32> = quotas(7, 29).collect();

        assert_eq!(vec![5, 4, 4, 4, 4, 4, 5], rounded);
        assert_eq!(vec![2, 1, 1, 1, 1], quotas(5, 2).collect::<Vec<u32>>());
        assert_eq!(vec![0, 0], quotas(2, 0).collect::<Vec<u32>>());
    }
}
