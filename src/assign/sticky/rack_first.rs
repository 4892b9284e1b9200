//! Rack-aware step of the constrained algorithm: partitions go to members on the racks of their replicas.
//!
//! Kafka searches a linked list of members for each partition. Here members are listed by rack, so only the racks of the partition
//! are searched.

use super::even_assignment::Assignment;
use super::racks::RackLogic;
use crate::group::{Lists, MemberRack};

/// Give partitions of `rest` to members on their racks: to members of `under` in turn, otherwise to the first one of `exact`.
///
/// Members that reach `low` move from `under` to the end of `exact`. Assigned partitions are removed from `rest`.
pub(super) fn assign(
    racks: &RackLogic<'_>,
    assignment: &mut Assignment,
    rest: &mut Vec<u32>,
    under: &mut Vec<u32>,
    exact: &mut Vec<u32>,
) {
    let mut ring = Ring::new(racks, under);
    let mut queues = Queues::new(racks, exact);
    rest.retain(|partition| {
        let near = racks.of_partition(*partition);
        if let Some(index) = ring.next(near) {
            let member = under[index as usize];
            if assignment.give(*partition, member) >= assignment.low {
                ring.remove(index);
                if assignment.may_exceed_low() {
                    queues.push(racks, exact, member);
                }
            }
            return false;
        }
        if assignment.may_exceed_low()
            && let Some(index) = queues.pop(near)
        {
            assignment.give(*partition, exact[index as usize]);
            return false;
        }
        true
    });
    drop_removed(under, &ring.is_removed);
    if assignment.may_exceed_low() {
        drop_removed(exact, &queues.is_removed);
    } else {
        exact.clear();
    }
}

fn drop_removed(members: &mut Vec<u32>, is_removed: &[bool]) {
    let mut is_removed = is_removed.iter();
    members.retain(|_| is_removed.next() == Some(&false));
}

/// Members that get partitions in turn, by index, until they are removed.
struct Ring {
    /// Per rack, the indices of its members, ascending.
    by_rack: Lists,
    /// Per entry of `by_rack`, a place in the list of its rack: its own place, or that of a later entry if the entry is removed.
    /// Following the places leads to the next entry that is not removed.
    successors: Vec<u32>,
    /// Per index, its place among the entries of its rack.
    places: Vec<u32>,
    is_removed: Vec<bool>,
    /// Per index, its rack.
    racks: Vec<u32>,
    /// The index at which the search for the next member starts.
    cursor: u32,
}

impl Ring {
    fn new(racks: &RackLogic<'_>, members: &[u32]) -> Self {
        let with_racks = (0..).zip(members).filter_map(|(index, member)| match racks.of_member(*member) {
            MemberRack::WithReplicas(rack) => Some((rack, index)),
            _ => None,
        });
        let by_rack = Lists::by_key(racks.racks().len(), with_racks.clone());
        let (mut places, mut racks_of) = (vec![0; members.len()], vec![0; members.len()]);
        let mut successors = Vec::new();
        for (rack, list) in (0..).zip(by_rack.iter()) {
            for (place, index) in (0..).zip(list) {
                places[*index as usize] = place;
                racks_of[*index as usize] = rack;
            }
            // Each list has an additional entry for its end.
            successors.extend(0..=list.len() as u32);
        }
        Self { by_rack, successors, places, is_removed: vec![false; members.len()], racks: racks_of, cursor: 0 }
    }

    /// Return the first member on one of the racks, from the cursor with wrap-around, and move the cursor past it.
    fn next(&mut self, near: &[u32]) -> Option<u32> {
        let cursor = self.cursor;
        let after = near.iter().filter_map(|rack| self.first_from(*rack, cursor)).min();
        let found = after.or_else(|| near.iter().filter_map(|rack| self.first_from(*rack, 0)).min())?;
        self.cursor = found + 1;
        Some(found)
    }

    /// Return the first member of a rack with an index of at least `from`.
    fn first_from(&mut self, rack: u32, from: u32) -> Option<u32> {
        let list = self.by_rack.get(rack as usize);
        let place = self.successor(rack, list.partition_point(|index| *index < from) as u32);
        self.by_rack.get(rack as usize).get(place as usize).copied()
    }

    /// Return the first place at or after the given one that is not removed; shorten the path for later calls.
    fn successor(&mut self, rack: u32, mut place: u32) -> u32 {
        let successors = &mut self.successors[self.by_rack.bounds(rack as usize).0 + rack as usize..];
        while successors[place as usize] != place {
            let next = successors[place as usize];
            successors[place as usize] = successors[next as usize];
            place = successors[place as usize];
        }
        place
    }

    fn remove(&mut self, index: u32) {
        let (rack, place) = (self.racks[index as usize], self.places[index as usize]);
        let first = self.by_rack.bounds(rack as usize).0 + rack as usize;
        self.successors[first + place as usize] = place + 1;
        self.is_removed[index as usize] = true;
    }
}

/// Members by index, in a queue per rack.
struct Queues {
    /// Per rack, the indices of its members.
    by_rack: Vec<Vec<u32>>,
    /// Per rack, its first member that is not removed.
    heads: Vec<usize>,
    is_removed: Vec<bool>,
}

impl Queues {
    fn new(racks: &RackLogic<'_>, members: &[u32]) -> Self {
        let (by_rack, heads) = (vec![Vec::new(); racks.racks().len()], vec![0; racks.racks().len()]);
        let mut queues = Self { by_rack, heads, is_removed: Vec::new() };
        for member in members {
            queues.enter(racks, *member);
        }
        queues
    }

    /// Add the member with the next index to the list of its rack.
    fn enter(&mut self, racks: &RackLogic<'_>, member: u32) {
        if let MemberRack::WithReplicas(rack) = racks.of_member(member) {
            self.by_rack[rack as usize].push(self.is_removed.len() as u32);
        }
        self.is_removed.push(false);
    }

    /// Add a member at the end.
    fn push(&mut self, racks: &RackLogic<'_>, members: &mut Vec<u32>, member: u32) {
        members.push(member);
        self.enter(racks, member);
    }

    /// Remove the first member that is on one of the racks; return its index.
    fn pop(&mut self, near: &[u32]) -> Option<u32> {
        let first =
            |rack: &u32| self.by_rack[*rack as usize].get(self.heads[*rack as usize]).map(|index| (*index, *rack));
        let (index, rack) = near.iter().filter_map(first).min()?;
        self.heads[rack as usize] += 1;
        self.is_removed[index as usize] = true;
        Some(index)
    }
}
