//! Causes of a rebalance, from the difference between two consecutive records of a group.
//!
//! The log has the results of rebalances, not the requests that start them. `classic_causes` and `epoch_causes` return every cause that
//! can have led from one record to the next, most likely first. The first reason that a broker logs for the rebalance is one of them.
//! `departures` decides why a member is missing.

use super::departures::{CLOSED, DELAY, Departure, EXPIRED, MOVED, Shown, moved_sentence};
use super::difference::{Difference, GroupRecord};
use super::durations::{between, duration};
use super::evidence::{Evidence, longest_timeout, timed_out_join};
use super::known_member::KnownMember;
use super::model::GroupKind;
use super::name_list::listed;
use super::topic_causes::{classic_topic_causes, epoch_topic_causes};
use crate::assign::{Assignor, GroupProtocol};
use crate::offsets::protocol::CONSUMER;

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
        self.add_names(names);
        self.sentences.push(sentence);
    }

    fn add_names(&mut self, names: &[&'static str]) {
        for name in names {
            if !self.names.contains(name) {
                self.names.push(name);
            }
        }
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

/// Return the causes of a generation of a classic group. `deleted` is the time at which the group was deleted before it.
pub(super) fn classic_causes(
    before: Option<&GroupRecord>,
    after: &GroupRecord,
    changes: &Difference,
    evidence: &Evidence<'_>,
    deleted: Option<i64>,
) -> Causes {
    if before.is_none() && after.generation > 1 {
        let generation = after.generation;
        return unknown(format!("The log begins with generation {generation}: it has no earlier record of the group."));
    }
    let mut causes = Causes::default();
    add_deletion(&mut causes, deleted, after.at);
    add_conversion(&mut causes, before, after);
    let same_kind = before.filter(|before| before.kind == after.kind);
    let missing = same_kind.map_or(0, |before| i64::from(after.generation) - i64::from(before.generation) - 1);
    let Some(before) = before else {
        add_joined(&mut causes, changes);
        return or_unknown(causes);
    };
    add_revocations(&mut causes, before, after, changes);
    let mut departures: Vec<(&KnownMember, Departure)> =
        changes.left.iter().map(|old| (&**old, evidence.departure(old, Some(before), after))).collect();
    // A member whose departure is decided is more likely the one that started the rebalance.
    departures.sort_by_key(|(_, departure)| departure.shown == Shown::Nothing);
    let is_silent = departures.iter().any(|(_, departure)| departure.shown == Shown::Silence);
    let join_phase = if is_silent { None } else { timed_out_join(before, after, changes, evidence) };
    let is_joined_first = !is_silent && (join_phase.is_some() || are_joined_first(changes, &departures, missing));
    if is_joined_first {
        add_joined(&mut causes, changes);
    }
    if join_phase.is_none() {
        add_departures(&mut causes, &departures);
    }
    for (old, new) in &changes.replaced {
        add_replacement(&mut causes, old, new, (before, after, missing), evidence);
    }
    for (names, sentence) in
        classic_topic_causes(before, after, changes, &evidence.state.highest, &evidence.context.metadata)
    {
        causes.add(&names, sentence);
    }
    add_subscriptions(&mut causes, changes, before);
    if !is_joined_first {
        add_joined(&mut causes, changes);
    }
    if let Some(waited) = join_phase {
        for (member, departure) in &departures {
            causes.add(&["rejoin_timed_out"], format!(
                "Member {} did not join again within the rebalance timeout: the other members committed nothing for {}.",
                member.id,
                duration(waited)
            ));
            causes.add_names(&departure.names);
        }
    }
    if causes.names.is_empty() {
        add_unchanged(&mut causes, changes, before, missing);
        add_move(&mut causes, evidence, after.began);
    }
    if missing > 0 {
        add_missing(&mut causes, before, after);
    }
    or_unknown(causes)
}

fn or_unknown(causes: Causes) -> Causes {
    if causes.names.is_empty() { unknown("Nothing in the log explains the rebalance.".to_owned()) } else { causes }
}

/// Return true if new members joined before other members left.
///
/// A group whose last member leaves has a generation without members. So if all members changed from one generation to the next, a new
/// member joined while an old one was still in the group. And a member whose session expires during a join phase did not start it.
fn are_joined_first(changes: &Difference, departures: &[(&KnownMember, Departure)], missing: i64) -> bool {
    let is_none_left = changes.remaining.is_empty() && changes.replaced.is_empty() && missing == 0;
    !departures.is_empty() && (is_none_left || departures.iter().all(|(_, departure)| departure.shown == Shown::Expiry))
}

/// Add causes for the members that are missing from the new record.
fn add_departures(causes: &mut Causes, departures: &[(&KnownMember, Departure)]) {
    for (member, departure) in departures {
        causes.add(&departure.names, departure.sentence(&member.id));
    }
}

/// Return the causes of an epoch of a consumer, share or streams group. `deleted` is the time at which the group was deleted before it.
pub(super) fn epoch_causes(
    before: Option<&GroupRecord>,
    after: &GroupRecord,
    changes: &Difference,
    evidence: &Evidence<'_>,
    deleted: Option<i64>,
    is_partial: bool,
) -> Causes {
    if is_partial {
        let epoch = after.generation;
        return unknown(format!("The log begins with epoch {epoch}: it has no earlier record of the group."));
    }
    let mut causes = Causes::default();
    add_deletion(&mut causes, deleted, after.at);
    add_conversion(&mut causes, before, after);
    add_joined(&mut causes, changes);
    for new in &changes.joined {
        if let Some(left) = evidence.state.departed.get(&new.id) {
            let away = between(*left, after.at);
            causes.sentences.push(format!(
                "Member {} returned with its member id after {away}, so it had not closed: its session had expired, or it had \
                 unsubscribed.",
                new.id
            ));
        }
    }
    let departures: Vec<(&KnownMember, Departure)> =
        changes.left.iter().map(|old| (&**old, evidence.epoch_departure(old, after.at))).collect();
    add_departures(&mut causes, &departures);
    for (_, new) in &changes.replaced {
        let instance = new.instance_id.as_deref().unwrap_or_default();
        causes.add(&["static_member_returned"], format!("Static member '{instance}' returned as {}.", new.id));
    }
    if let Some(before) = before {
        add_subscriptions(&mut causes, changes, before);
        for (names, sentence) in epoch_topic_causes(before, after, &evidence.context.metadata) {
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

/// Say that the group was deleted before.
fn add_deletion(causes: &mut Causes, deleted: Option<i64>, at: i64) {
    if let Some(deleted) = deleted {
        let ago = between(deleted, at);
        causes.sentences.push(format!("The group was deleted {ago} before, and begins again."));
    }
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
        let who = members_shown(&members);
        causes.add(
            &names,
            format!("{who} had to revoke partitions in generation {generation}, and join again after it."),
        );
    }
}

/// Add causes for a static member that has a new member id in a new generation.
fn add_replacement(
    causes: &mut Causes,
    old: &KnownMember,
    new: &KnownMember,
    (before, after, missing): (&GroupRecord, &GroupRecord, i64),
    evidence: &Evidence<'_>,
) {
    let mut names = if after.protocol == before.protocol { vec![] } else { vec!["protocol_changed"] };
    let expiry = evidence.departure(old, Some(before), after).names;
    names.push("static_member_returned");
    names.extend(EXPIRED.into_iter().filter(|name| expiry.contains(name)));
    names.push("member_removed");
    names.extend(expiry.into_iter().filter(|name| *name == "sync_timed_out"));
    if missing > 0 {
        // It can have left and joined in a generation that the log lacks.
        names.push("consumer_subscribed");
    }
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
    causes.add(&names, format!("{} changed the subscription.", members_shown(&ids)));
}

/// Add a cause for new members.
fn add_joined(causes: &mut Causes, changes: &Difference) {
    if !changes.joined.is_empty() {
        let ids: Vec<&str> = changes.joined.iter().map(|member| &*member.id).collect();
        causes.add(&["consumer_subscribed"], format!("{} joined.", members_shown(&ids)));
    }
}

/// Add the causes of a generation with the same members and subscriptions.
fn add_unchanged(causes: &mut Causes, changes: &Difference, before: &GroupRecord, missing: i64) {
    if changes.remaining.is_empty() {
        if missing > 0 {
            let names = [CLOSED, EXPIRED[0], EXPIRED[1]];
            causes.add(&names, "Members joined and left in generations that are not in the log.".to_owned());
        }
        return;
    }
    let others = others_of(changes, before);
    let leader = before.leader.as_deref().unwrap_or("None");
    let text = format!("The members and their topics are unchanged: the leader {leader} joined again");
    if !others.is_empty() {
        causes.add(&REJOINED, format!("{text}, or {} did.", members_shown(&others)));
    } else if changes.remaining.len() > 1 {
        let sentence = format!("{text}. The other members sent the same bytes as before.");
        causes.add(&["leader_rejoined"], sentence);
    } else {
        causes.add(&["leader_rejoined"], format!("{text}."));
    }
}

/// Add a cause if the coordinator moved right before a rebalance of unchanged members, which then join again.
fn add_move(causes: &mut Causes, evidence: &Evidence<'_>, began: i64) {
    let moved = evidence.moved.filter(|_| !causes.names.is_empty());
    if let Some(moved) = moved.filter(|moved| began.saturating_sub(moved.until) <= DELAY) {
        causes.add(&[MOVED], moved_sentence(moved, began));
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
    let elapsed = after.began.saturating_sub(before.began);
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

/// Return the beginning of a sentence about members, with up to three ids.
fn members_shown(ids: &[&str]) -> String {
    format!("{} {}", if ids.len() == 1 { "Member" } else { "Members" }, listed(ids, 3))
}
