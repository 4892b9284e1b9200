//! Causes of a rebalance that a broker logged.
//!
//! The line of a broker shows which request or timeout began the rebalance, so its cause is the first and certain. What the records show
//! besides it, such as a topic that grew, stays behind it.

use std::sync::Arc;

use super::broker_log::{LoggedFact, LoggedRebalance};
use super::departures::{CLOSED, Departure, EXPIRED, MOVED, POLL, Shown};
use super::events::Logged;
use super::model::GroupKind;
use super::state::{Context, GroupState, OpenRebalance};

/// Causes that explain why a member is missing. The line about a member excludes the others.
const DEPARTURES: [&str; 8] =
    [CLOSED, EXPIRED[0], EXPIRED[1], POLL, MOVED, "member_removed", "sync_timed_out", "rejoin_timed_out"];

/// Causes of a rebalance that changes no member. One of them starts it, and then all members join again.
const REJOINED: [&str; 2] = ["leader_rejoined", "owned_partitions_changed"];

/// The clocks of a line and of a record differ by no more than this: both are of the same broker.
const CLOCK: i64 = 2_000;
/// A generation is written this long after its rebalance began, unless its members have longer rebalance timeouts.
const LONGEST: i64 = 600_000;

impl LoggedFact {
    fn names(&self, members: &[Arc<str>]) -> bool {
        self.members.iter().any(|member| members.contains(member))
    }

    fn is_departure(&self) -> bool {
        self.causes.first().is_some_and(|cause| DEPARTURES.contains(cause))
    }

    /// Return the cause that the line shows: of those that agree with it, the one that the records make most likely. A session that expired
    /// because the coordinator moved looks like any other in the records.
    fn cause(&self, inferred: &[&'static str]) -> Option<&'static str> {
        let first = *self.causes.first()?;
        if first == MOVED {
            return Some(first);
        }
        Some(inferred.iter().copied().find(|cause| self.causes.contains(cause)).unwrap_or(first))
    }
}

impl LoggedRebalance {
    /// Put the logged causes first, and the sentences of the lines before the evidence; return the causes of the records alone.
    ///
    /// These causes go: `unknown`; another way to join again; and other ways in which a member left if the lines say how each member left.
    fn decide(&self, open: &mut OpenRebalance) -> Logged {
        let inferred = open.causes.clone();
        let mut causes: Vec<&'static str> = Vec::new();
        for cause in self.facts.iter().filter_map(|fact| fact.cause(&inferred)) {
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        if !causes.is_empty() {
            let departures = || self.facts.iter().filter(|fact| fact.is_departure());
            let is_explained = |member: &Arc<str>| departures().any(|fact| fact.members.contains(member));
            let are_explained = open.replaced.is_empty() && open.left.iter().all(is_explained);
            let agrees = |cause: &&'static str| departures().any(|fact| fact.causes.contains(cause));
            let is_excluded = |cause: &&'static str| {
                *cause == "unknown"
                    || REJOINED.contains(cause)
                    || (DEPARTURES.contains(cause) && are_explained && !agrees(cause))
            };
            for cause in inferred.iter().filter(|cause| !is_excluded(cause)) {
                if !causes.contains(cause) {
                    causes.push(cause);
                }
            }
            open.causes = causes;
        }
        let sentences: Vec<&str> = self.facts.iter().map(|fact| &*fact.sentence).collect();
        if !sentences.is_empty() {
            open.evidence = format!("{} The records show: {}", sentences.join(" "), open.evidence);
        }
        Logged { at: self.at, reason: self.reason.clone(), inferred }
    }
}

/// Return the logged rebalances that can belong to a record of a group, the latest first.
fn before<'a>(
    context: &'a Context,
    state: &GroupState,
    kind: GroupKind,
    at: i64,
) -> impl Iterator<Item = &'a LoggedRebalance> + use<'a> {
    let window = if kind == GroupKind::Classic {
        // The members join within the rebalance timeout, and send SyncGroup within it.
        let timeouts = state.members.values().filter_map(|member| member.rebalance_timeout);
        LONGEST.max(i64::from(timeouts.max().unwrap_or(0)).saturating_mul(2).saturating_add(CLOCK))
    } else {
        CLOCK
    };
    let group = (&*state.cluster, &*state.group);
    context.broker_log.between(group, at.saturating_sub(window), at.saturating_add(CLOCK))
}

/// Change the causes of a rebalance to those that a broker logged; return None if no line is about it.
///
/// A group that is deleted and begins again has the same generations again, so the time counts too: the latest line before the record is the
/// one that led to it.
pub(super) fn explain(
    context: &Context,
    state: &GroupState,
    (kind, generation, at): (GroupKind, i32, i64),
    open: &mut OpenRebalance,
) -> Option<Logged> {
    if context.broker_log.is_empty() {
        return None;
    }
    let names = |fact: &LoggedFact| fact.names(&open.joined) || fact.names(&open.left) || fact.names(&open.replaced);
    let is_of = |rebalance: &&LoggedRebalance| match rebalance.generation {
        Some(found) => found == generation,
        None => kind != GroupKind::Classic && rebalance.facts.iter().any(names),
    };
    let found = before(context, state, kind, at).find(is_of)?;
    Some(found.decide(open))
}

/// Change the causes of a departure to those that a broker logged for the member.
///
/// A group with an epoch has no generation here, because the record of a member precedes that of the epoch.
pub(super) fn explain_departure(
    context: &Context,
    state: &GroupState,
    (kind, generation, at): (GroupKind, Option<i32>, i64),
    member: &Arc<str>,
    mut departure: Departure,
) -> Departure {
    if context.broker_log.is_empty() {
        return departure;
    }
    let is_about = |fact: &&LoggedFact| fact.is_departure() && fact.members.contains(member);
    let found = before(context, state, kind, at)
        .filter(|rebalance| generation.is_none() || rebalance.generation == generation)
        .flat_map(|rebalance| &rebalance.facts)
        .find(is_about);
    if let Some((fact, cause)) = found.and_then(|fact| Some((fact, fact.cause(&departure.names)?))) {
        let others = departure.names.iter().copied().filter(|other| *other != cause && fact.causes.contains(other));
        departure.names = std::iter::once(cause).chain(others).collect();
        departure.shown = if EXPIRED.contains(&cause) { Shown::Expiry } else { Shown::Leave };
    }
    departure
}
