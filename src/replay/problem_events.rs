//! Events of the problems of assignments. A problem has an event when it begins, when its partitions or members change, and when it ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::events::{Event, EventDetails};
use super::name_list::listed;
use super::problems::{AssignmentProblems, Found, LastingProblem, Problems};
use super::state::GroupState;
use super::summary::spans_of;

/// Number of lists of partitions that evidence names.
const LISTS_SHOWN: usize = 4;
/// Number of members, and of spans of partitions, that evidence names for each list.
const NAMES_SHOWN: usize = 8;

/// Names of the problems, and how evidence begins.
const PROBLEMS: [(&str, &str); 3] = [
    ("two_owners", "Several members have the same partition"),
    ("not_subscribed", "The member does not subscribe to the topic"),
    ("unknown_partition", "The topic metadata does not have the partition"),
];

/// Replace the problems of the last assignment, and add the events of the changes.
pub(super) fn set_assigned(
    state: &mut GroupState,
    problems: AssignmentProblems,
    place: (i64, i64),
    events: &mut Vec<Event>,
) {
    state.problems.assigned = problems;
    add_changes(state, place, events);
}

/// Replace the partitions that several members have in their current assignments, and add the events of the changes.
pub(super) fn set_current(state: &mut GroupState, found: Found, place: (i64, i64), events: &mut Vec<Event>) {
    if state.problems.current != found {
        state.problems.current = found;
        add_changes(state, place, events);
    }
}

/// End all problems of a group whose record was deleted, and add the events.
pub(super) fn end_problems(state: &mut GroupState, place: (i64, i64), events: &mut Vec<Event>) {
    state.problems.current.clear();
    set_assigned(state, AssignmentProblems::default(), place, events);
}

fn add_changes(state: &mut GroupState, (at, offset): (i64, i64), events: &mut Vec<Event>) {
    let Problems { assigned, current, lasting } = &state.problems;
    let mut several = assigned.several.clone();
    for (key, members) in current {
        let all = several.entry(key.clone()).or_default();
        all.extend(members.iter().cloned());
        all.sort_unstable();
        all.dedup();
    }
    let now = [several, assigned.not_subscribed.clone(), assigned.unknown.clone()];
    let mut changes = Vec::new();
    for (index, found) in now.into_iter().enumerate() {
        let before = lasting.get(&index);
        if before.map_or(found.is_empty(), |before| before.found == found) {
            continue;
        }
        changes.push((index, before.map_or(at, |before| before.since), found));
    }
    for (index, since, found) in changes {
        let is_end = found.is_empty();
        let shown = if is_end {
            state.problems.lasting.remove(&index).map(|before| before.found).unwrap_or_default()
        } else {
            state.problems.lasting.insert(index, LastingProblem { since, found: found.clone() });
            found
        };
        let details = EventDetails::Offsets {
            problem: PROBLEMS[index].0,
            partitions: shown.keys().cloned().collect(),
            evidence: format!("{}: {}.", PROBLEMS[index].1, describe(&shown)),
            since: Some(since),
            // Timestamps can go backwards.
            until: is_end.then_some(at.max(since)),
        };
        events.push(state.event(at, offset, None, details));
    }
}

/// Return partitions and their members as text, such as `orders[2–3 5] (app-1, app-2)`. Long lists are cut.
fn describe(found: &Found) -> String {
    let mut lists: BTreeMap<&[Arc<str>], Vec<(&str, i32)>> = BTreeMap::new();
    for ((topic, id), members) in found {
        lists.entry(members).or_default().push((topic, *id));
    }
    let mut shown: Vec<String> = Vec::new();
    for (members, partitions) in lists.iter().take(LISTS_SHOWN) {
        let spans: Vec<_> = spans_of(partitions).collect();
        let mut topics: Vec<(&str, Vec<String>)> = Vec::new();
        for span in spans.iter().take(NAMES_SHOWN) {
            let ids = match span.count {
                1 => span.start.to_string(),
                count => format!("{}–{}", span.start, i64::from(span.start) + count as i64 - 1),
            };
            match topics.last_mut() {
                Some((topic, runs)) if *topic == span.topic => runs.push(ids),
                _ => topics.push((span.topic, vec![ids])),
            }
        }
        let topics: Vec<String> =
            topics.into_iter().map(|(topic, runs)| format!("{topic}[{}]", runs.join(" "))).collect();
        let text = format!("{}{}", topics.join(" "), more(spans.len()));
        shown.push(format!("{text} ({})", listed(members, NAMES_SHOWN)));
    }
    let left = lists.len().saturating_sub(LISTS_SHOWN);
    shown.join("; ") + &if left > 0 { format!("; and {left} more lists of partitions") } else { String::new() }
}

fn more(count: usize) -> String {
    if count > NAMES_SHOWN { format!(" and {} more", count - NAMES_SHOWN) } else { String::new() }
}
