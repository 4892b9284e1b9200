//! Range assignment as Kafka's `RangeAssignor` does it: every topic on its own, in ranges of consecutive partitions.
//!
//! Each topic's ids are laid out in order, and its consumers in Kafka's order. Everybody gets `quota` of them, and the
//! first `extra` consumers one more. The rack-aware way (KIP-881), taken when some topic needs it, is in `rack`.
//!
//! Source: kafka-clients 4.4.0, `RangeAssignor` and `AbstractPartitionAssignor` (unchanged in effect since 3.5.0).

use crate::group::{Group, Ids};
use crate::plan::{Plan, Span, push_spans};
use crate::rack;

/// Who gets which partition. `prefer_rack_aware` is Kafka's test flag: rack logic even where all is on every rack.
#[must_use]
pub fn assign(group: &Group, prefer_rack_aware: bool) -> Plan {
    let audiences = group.audiences();
    let owners = rack::solve(group, &audiences, prefer_rack_aware);
    let mut spans = Vec::new();
    for (number, topic) in group.topics.all().iter().enumerate() {
        let Some(audience) = audiences.of_topic[number] else { continue };
        let members = &audiences.members[audience as usize];
        match owners.as_ref().and_then(|owners| owners.of_topic(number)) {
            None => push_ranges(&mut spans, members, number as u32, &topic.ids),
            Some(owners) => push_owned(&mut spans, members, number as u32, &topic.ids, owners),
        }
    }
    let members = group.members.iter().map(|member| member.id.clone()).collect();
    let topics = group.topics.all().iter().map(|topic| topic.name.clone()).collect();
    Plan::new(members, topics, &spans)
}

/// Gives every member its range.
fn push_ranges(spans: &mut Vec<Span>, members: &[u32], topic: u32, ids: &Ids) {
    let (quota, extra) = (ids.len() / members.len(), ids.len() % members.len());
    let mut start = 0;
    for (rank, member) in members.iter().enumerate().take(ids.len()) {
        let end = start + quota + usize::from(rank < extra);
        push_spans(spans, *member, topic, ids, start, end);
        start = end;
    }
}

/// Gives every member the positions whose owner it is; `owners` holds a rank in `members` per position.
fn push_owned(spans: &mut Vec<Span>, members: &[u32], topic: u32, ids: &Ids, owners: &[u32]) {
    let mut start = 0;
    for run in owners.chunk_by(|left, right| left == right) {
        push_spans(spans, members[run[0] as usize], topic, ids, start, start + run.len());
        start += run.len();
    }
}
