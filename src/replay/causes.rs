//! Causes of a rebalance, from the difference between two consecutive records of a group.
//!
//! The log has the results of rebalances, not the requests that start them. `classic_causes` and `epoch_causes` return every cause that
//! can have led from one record to the next, most likely first. The first reason that a broker logs for the rebalance is one of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::difference::{Difference, GroupRecord};
use super::known_member::KnownMember;
use super::metadata::Metadata;
use super::model::GroupKind;
use super::topic_causes::{classic_topic_causes, epoch_topic_causes};
use crate::assign::{Assignor, GroupProtocol};
use crate::offsets::protocol::CONSUMER;

/// Causes of a missing member whose session expired; the log does not show whether its connection had ended.
pub(super) const EXPIRED: [&str; 2] = ["consumer_dead", "application_crashed"];

/// Causes of a rebalance after which members and topics are unchanged.
const REJOINED: [&str; 2] = ["leader_rejoined", "owned_partitions_changed"];

/// Causes, most likely first and without repeats, and sentences with the evidence.
#[derive(Debug, Default)]
pub(super) struct Causes {
    pub(super) names: Vec<&'static str>,
    sentences: Vec<String>,
}

impl Causes {
    fn add(&mut self, names: &[&'static str], sentence: String) {
        for name in names {
            if !self.names.contains(name) {
                self.names.push(name);
            }
        }
        self.sentences.push(sentence);
    }

    /// Return the sentences as one text.
    pub(super) fn evidence(&self) -> String {
        self.sentences.join(" ")
    }
}

/// Return the cause `unknown`, with a sentence as its evidence.
fn unknown(sentence: String) -> Causes {
    Causes { names: vec!["unknown"], sentences: vec![sentence] }
}

/// Return the causes of a generation of a classic group.
///
/// `last_commit` returns the time of a member's last commit, and `highest` has the highest known partition by topic.
pub(super) fn classic_causes(
    before: Option<&GroupRecord>,
    after: &GroupRecord,
    changes: &Difference,
    last_commit: impl Fn(&KnownMember) -> Option<i64>,
    highest: &BTreeMap<Arc<str>, i32>,
    metadata: &Metadata,
) -> Causes {
    if before.is_none() && after.generation > 1 {
        let generation = after.generation;
        return unknown(format!("The log begins with generation {generation}: it has no earlier record of the group."));
    }
    let mut causes = Causes::default();
    add_conversion(&mut causes, before, after);
    let same_kind = before.filter(|before| before.kind == after.kind);
    let missing = same_kind.map_or(0, |before| i64::from(after.generation) - i64::from(before.generation) - 1);
    if let Some(before) = before {
        add_revocations(&mut causes, before, after, changes);
        for old in &changes.left {
            add_departure(&mut causes, old, Some(before.began), after.began, last_commit(old));
            add_unsynced(&mut causes, old, before, after, last_commit(old));
        }
        for (old, new) in &changes.replaced {
            add_replacement(&mut causes, old, new, before, after, last_commit(old));
        }
        for (names, sentence) in classic_topic_causes(before, after, changes, highest, metadata) {
            causes.add(&names, sentence);
        }
        add_subscriptions(&mut causes, changes, before);
    }
    add_joined(&mut causes, changes);
    if let Some(before) = before {
        if causes.names.is_empty() {
            add_unchanged(&mut causes, changes, before, missing);
        }
        if missing > 0 {
            add_missing(&mut causes, before, after);
        }
    }
    if causes.names.is_empty() { unknown("Nothing in the log explains the rebalance.".to_owned()) } else { causes }
}

/// Return the causes of an epoch of a consumer, share or streams group.
pub(super) fn epoch_causes(
    before: Option<&GroupRecord>,
    after: &GroupRecord,
    changes: &Difference,
    metadata: &Metadata,
    is_partial: bool,
) -> Causes {
    if is_partial {
        let epoch = after.generation;
        return unknown(format!("The log begins with epoch {epoch}: it has no earlier record of the group."));
    }
    let mut causes = Causes::default();
    add_conversion(&mut causes, before, after);
    add_joined(&mut causes, changes);
    for old in &changes.left {
        add_departure(&mut causes, old, None, after.at, None);
    }
    for (_, new) in &changes.replaced {
        let instance = new.instance_id.as_deref().unwrap_or_default();
        causes.add(&["static_member_returned"], format!("Static member '{instance}' returned as {}.", new.id));
    }
    if let Some(before) = before {
        add_subscriptions(&mut causes, changes, before);
        for (names, sentence) in epoch_topic_causes(before, after, metadata) {
            causes.add(&names, sentence);
        }
    }
    if causes.names.is_empty() {
        causes.names.push("unknown");
    }
    if causes.sentences.is_empty() {
        causes.sentences.push("No record of a member, pattern or topic explains the new epoch.".to_owned());
    }
    causes
}

/// Add a cause if the group was converted between the classic protocol and another one.
///
/// The next classic generation, or a following epoch with the same timestamp, has this cause too.
fn add_conversion(causes: &mut Causes, before: Option<&GroupRecord>, after: &GroupRecord) {
    let is_classic = after.kind == GroupKind::Classic;
    let previous = before.filter(|before| is_classic || before.at == after.at);
    let Some(from) = after.converted_from.or_else(|| previous?.converted_from) else { return };
    let name = if is_classic { "protocol_downgraded" } else { "protocol_upgraded" };
    let (from, to) = (from.as_str(), after.kind.as_str());
    causes.add(&[name], format!("The group changed from the {from} protocol to the {to} protocol."));
}

/// Add causes for the members that had to give up partitions in the previous generation, and therefore joined again.
///
/// Assignors other than those of Kafka's consumer, such as that of Kafka Streams, can ask other members to join again.
fn add_revocations(causes: &mut Causes, before: &GroupRecord, after: &GroupRecord, changes: &Difference) {
    let mut names = Vec::new();
    let mut members = Vec::new();
    for (id, member) in &before.members {
        let Some(assigned) = &member.assigned else { continue };
        // `assigned` is sorted, as a binary search needs.
        let is_revoked = |partition| assigned.binary_search(partition).is_err();
        if member.owned.iter().any(is_revoked) && after.members.contains_key(id) {
            let is_leader = before.leader.as_deref() == Some(&**id);
            names.push(if is_leader { "leader_rejoined" } else { "owned_partitions_changed" });
            members.push(&**id);
        }
    }
    if !members.is_empty() {
        let assignor = before.protocol.as_deref().and_then(|name| Assignor::named(GroupProtocol::Classic, name));
        if assignor.is_none() && !others_of(changes, before).is_empty() {
            names.push("owned_partitions_changed");
        }
        names.sort_unstable();
        let generation = before.generation;
        let who = listed(&members);
        causes.add(
            &names,
            format!("{who} had to revoke partitions in generation {generation}, and join again after it."),
        );
    }
}

/// Return the possible causes of a member's absence, and what its commits show.
///
/// A session cannot expire earlier than one session timeout after the join phase. A heartbeat precedes a commit by no more than half a
/// session timeout. Most clients commit when they are closed, so a member without recent commits is more likely dead than closed. A
/// static member stays in the group even if it misses a join phase, so the join phase does not show that it was active.
pub(super) fn departure_causes(
    member: &KnownMember,
    began: Option<i64>,
    until: i64,
    last_commit: Option<i64>,
) -> (Vec<&'static str>, String) {
    let is_static = member.instance_id.is_some();
    // The clocks of brokers differ: a join phase or a commit that is later than `until` is ignored.
    let began = began.filter(|began| !is_static && *began <= until);
    let last_commit = last_commit.filter(|last| *last <= until);
    let closed = ["consumer_closed"];
    let expired: &[&str] =
        if is_static { &["consumer_dead", "application_crashed", "member_removed"] } else { &EXPIRED };
    let not_decided = || if is_static { [expired, &closed].concat() } else { [&closed[..], &EXPIRED].concat() };
    let Some(session) = member.session_timeout else { return (not_decided(), String::new()) };
    // The difference of two times can overflow an i64.
    let (session, until) = (i128::from(session), i128::from(until));
    let (began, last_commit) = (began.map(i128::from), last_commit.map(i128::from));
    if began.is_some_and(|began| until < began + session)
        || last_commit.is_some_and(|last| until < last + session.div_euclid(2))
    {
        let silence = began.into_iter().chain(last_commit).max().map_or(0, |last| (until - last).max(0));
        let text = format!("It was active {silence} ms before, so its session of {session} ms cannot have expired.");
        let names = if is_static { vec!["member_removed", "consumer_closed"] } else { closed.to_vec() };
        return (names, text);
    }
    if let Some(last) = last_commit
        && until >= last + session
    {
        let text = format!("Its last commit was {} ms before; its session timeout is {session} ms.", until - last);
        return ([expired, &closed].concat(), text);
    }
    (not_decided(), String::new())
}

/// Add causes for a member that is missing from the new record.
fn add_departure(causes: &mut Causes, member: &KnownMember, began: Option<i64>, until: i64, last_commit: Option<i64>) {
    let (names, text) = departure_causes(member, began, until, last_commit);
    let ending = if names.contains(&EXPIRED[0]) { " or its session expired" } else { "" };
    let sentence = format!("Member {} left{ending}. {text}", member.id);
    causes.add(&names, sentence.trim_end().to_owned());
}

/// Add `sync_timed_out` if a member may not have requested its assignment within the rebalance timeout.
fn add_unsynced(
    causes: &mut Causes,
    member: &KnownMember,
    before: &GroupRecord,
    after: &GroupRecord,
    last_commit: Option<i64>,
) {
    let timeout = longest_timeout(before);
    let waited = i128::from(after.began) - i128::from(before.began);
    let latest = timeout + i128::from(member.session_timeout.unwrap_or(0));
    if timeout > 0 && (timeout..=latest).contains(&waited) && last_commit.is_none_or(|last| last < before.began) {
        let sentence = format!("Member {} may not have sent SyncGroup within {timeout} ms.", member.id);
        causes.add(&["sync_timed_out"], sentence);
    }
}

/// Return the longest rebalance timeout of the members; 0 if the log has none.
fn longest_timeout(record: &GroupRecord) -> i128 {
    record.members.values().map(|member| member.rebalance_timeout.unwrap_or(0)).max().unwrap_or(0).into()
}

/// Add causes for a static member that has a new member id in a new generation.
fn add_replacement(
    causes: &mut Causes,
    old: &KnownMember,
    new: &KnownMember,
    before: &GroupRecord,
    after: &GroupRecord,
    last_commit: Option<i64>,
) {
    let mut names = if after.protocol == before.protocol { vec![] } else { vec!["protocol_changed"] };
    let (expiry, _) = departure_causes(old, Some(before.began), after.began, last_commit);
    names.push("static_member_returned");
    names.extend(EXPIRED.into_iter().filter(|name| expiry.contains(name)));
    names.push("member_removed");
    let instance = new.instance_id.as_deref().unwrap_or_default();
    let text = format!(
        "Static member '{instance}' returned as {} during a rebalance; its previous member id was {}.",
        new.id, old.id
    );
    causes.add(&names, text);
}

/// Add causes for the members whose subscription changed.
fn add_subscriptions(causes: &mut Causes, changes: &Difference, before: &GroupRecord) {
    let is_opaque = before.kind == GroupKind::Classic && before.protocol_type.as_deref() != Some(CONSUMER);
    if is_opaque && !(changes.joined.is_empty() && changes.left.is_empty()) {
        // Other protocol types put a member's state into its subscription, which changes with each rebalance.
        return;
    }
    let pairs = changes.changed();
    if pairs.is_empty() {
        return;
    }
    let mut names = vec!["subscription_changed"];
    if is_opaque || pairs.iter().any(|(old, _)| before.leader.as_deref() == Some(&*old.id)) {
        names.push("leader_rejoined");
    }
    let ids: Vec<&str> = pairs.iter().map(|(_, new)| &*new.id).collect();
    causes.add(&names, format!("{} changed the subscription.", listed(&ids)));
}

/// Add a cause for new members.
fn add_joined(causes: &mut Causes, changes: &Difference) {
    if !changes.joined.is_empty() {
        let ids: Vec<&str> = changes.joined.iter().map(|member| &*member.id).collect();
        causes.add(&["consumer_subscribed"], format!("{} joined.", listed(&ids)));
    }
}

/// Add the causes of a generation with the same members and subscriptions.
fn add_unchanged(causes: &mut Causes, changes: &Difference, before: &GroupRecord, missing: i64) {
    if changes.remaining.is_empty() {
        if missing > 0 {
            let names = ["consumer_closed", EXPIRED[0], EXPIRED[1]];
            causes.add(&names, "Members joined and left in generations that are not in the log.".to_owned());
        }
        return;
    }
    let others = others_of(changes, before);
    let leader = before.leader.as_deref().unwrap_or("None");
    let text = format!("The members and their topics are unchanged: the leader {leader} joined again");
    if !others.is_empty() {
        causes.add(&REJOINED, format!("{text}, or {} did.", listed(&others)));
    } else if changes.remaining.len() > 1 {
        let sentence = format!("{text}. The other members sent the same bytes as before.");
        causes.add(&["leader_rejoined"], sentence);
    } else {
        causes.add(&["leader_rejoined"], format!("{text}."));
    }
}

/// Return the members, other than the leader, whose subscription bytes changed: such a change can start a rebalance.
fn others_of<'a>(changes: &'a Difference, before: &GroupRecord) -> Vec<&'a str> {
    let leader = before.leader.as_deref();
    let remaining = changes.remaining.iter();
    let others = remaining.filter(|(old, new)| leader != Some(&*old.id) && old.metadata != new.metadata);
    others.map(|(_, new)| &*new.id).collect()
}

/// Add causes for generations that the log lacks.
fn add_missing(causes: &mut Causes, before: &GroupRecord, after: &GroupRecord) {
    let (first, last) = (i64::from(before.generation) + 1, i64::from(after.generation) - 1);
    let (which, them) = if first == last {
        (format!("Generation {first} is"), "it")
    } else {
        (format!("Generations {first} to {last} are"), "them")
    };
    let elapsed = i128::from(after.began) - i128::from(before.began);
    let timed_out = !before.members.is_empty() && elapsed >= longest_timeout(before);
    // Without a change of members, any member can have started the rebalances that the log lacks.
    let is_unchanged = causes.names.iter().all(|name| REJOINED.contains(name));
    let mut names = if is_unchanged { REJOINED.to_vec() } else { vec![] };
    if timed_out {
        names.push("sync_timed_out");
    }
    causes.add(&names, format!(
        "{which} not in the log: the next rebalance began before the assignment was complete, or compaction removed {them}."
    ));
}

/// Return a text with up to three member ids.
fn listed(ids: &[&str]) -> String {
    let more = if ids.len() > 3 { format!(" and {} more", ids.len() - 3) } else { String::new() };
    match ids {
        [id] => format!("Member {id}"),
        _ => format!("Members {}{more}", ids[..ids.len().min(3)].join(", ")),
    }
}
