//! Members that join and leave a simulated group.

use std::borrow::Cow;

use super::roster::{Roster, RosterMember};
use crate::group::Group;

/// Generator of the ids of new members. The same group and the same calls give the same ids.
#[derive(Debug)]
pub(super) struct NewIds<'a> {
    group_id: &'a str,
    /// The number of member ids generated so far.
    generated: u32,
}

impl<'a> NewIds<'a> {
    pub(super) fn new(group_id: &'a str) -> Self {
        Self { group_id, generated: 0 }
    }

    /// Return a new member id, which has the prefix of an old member id and another UUID.
    pub(super) fn next(&mut self, id: &str) -> String {
        self.generated += 1;
        let text = format!("{}\0{id}\0{}", self.group_id, self.generated);
        let high = fnv(FNV, text.as_bytes());
        let low = fnv(high, text.as_bytes());
        format!(
            "{}{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            id_prefix(id),
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xfff,
            low >> 48 & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff
        )
    }
}

/// Add members with the most frequent subscription of the roster; `group` is the roster's group.
pub(super) fn add_members(roster: &mut Roster<'_>, group: &Group, count: u32, ids: &mut NewIds<'_>) {
    let like = most_common_member(roster, group);
    for _ in 0..count {
        let id: Cow<'_, str> = Cow::Owned(ids.next(&like.id));
        let instance_id = like.instance_id.is_some().then(|| id.clone());
        roster.members.push(RosterMember { id, instance_id, ..like.clone() });
    }
}

/// Remove the last members in Kafka's order; `group` is the roster's group.
pub(super) fn remove_members(roster: &mut Roster<'_>, group: &Group, count: u32) {
    let order = group.order();
    let mut leaves = vec![false; order.len()];
    for member in &order[order.len().saturating_sub(count as usize)..] {
        leaves[*member as usize] = true;
    }
    let mut leaves = leaves.into_iter();
    roster.members.retain(|_| !leaves.next().unwrap_or_default());
}

/// Return the last member, in Kafka's order, with the most frequent subscription.
fn most_common_member<'r>(roster: &Roster<'r>, group: &Group) -> RosterMember<'r> {
    let counts = group.members_per_subscription();
    let most = counts.iter().max();
    let mut like = group.order().iter().rev().map(|member| *member as usize);
    let like = like.find(|member| Some(&counts[group.subscription_of(*member) as usize]) == most).unwrap_or(0);
    roster.members[like].clone()
}

/// Return a member id without its trailing UUID, if it has one; else the id and a hyphen.
fn id_prefix(id: &str) -> String {
    const UUID: usize = 36;
    let end = id.len().checked_sub(UUID).filter(|end| id.is_char_boundary(*end) && is_uuid(&id[*end..]));
    end.map_or_else(|| format!("{id}-"), |end| id[..end].to_owned())
}

/// Initial state of the 64-bit FNV-1a hash.
const FNV: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, byte| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}
