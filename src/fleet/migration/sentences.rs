//! Sentences of the answer about a move to KIP-848: its reason, how to move, and what else changes.

use std::fmt::Write as _;

use super::clients::{AFTER_UPGRADE, NEWER, UNKNOWN};
use super::{BrokerRules, Judged, Migration, STREAMS, Verdict, nearest};
use crate::assign::{Assignor, GroupProtocol};
use crate::wire::{Library, Support};

impl Judged<'_> {
    /// Return the sentence of the verdict.
    pub(super) fn reason(&self, found: &Migration) -> String {
        if let Some(blocker) = found.blockers.first() {
            return blocker.reason.clone();
        }
        if self.roster.members.is_empty() {
            return "the group has no members, so its next member decides the protocol".to_owned();
        }
        let unknown = found.clients.iter().filter(|count| count.support == UNKNOWN).map(|count| count.members).sum();
        match unknown {
            0 => "the brokers accept members of both protocols, and all client libraries have the new one".to_owned(),
            unknown if unknown == self.roster.members.len() => {
                "the brokers accept members of both protocols; whether the clients have the new one is not visible"
                    .to_owned()
            }
            unknown => format!(
                "the brokers accept members of both protocols; whether the client of {} has the new one is not visible",
                count(unknown)
            ),
        }
    }

    /// Return how to move the group.
    pub(super) fn path(&self, found: &Migration, rules: &BrokerRules) -> Option<String> {
        let kind = |kind| found.blockers.iter().any(|blocker| blocker.kind == kind);
        match found.verdict {
            Verdict::NotYet => return None,
            Verdict::OfflineOnly if kind("streams") => {
                return Some("stop all instances, then start them with group.protocol=streams".to_owned());
            }
            _ => {}
        }
        let mut steps = Vec::new();
        let mut upgraded: Vec<(&str, (u32, u32))> = Vec::new();
        for client in found.clients.iter().filter(|count| matches!(count.support, AFTER_UPGRADE | NEWER)) {
            if let Some((library, Support::Since(major, minor))) =
                client.client.library.map(|library| (library.name(), library.support()))
                && !upgraded.iter().any(|(name, _)| *name == library)
            {
                upgraded.push((library, (major, minor)));
                let is_old = found.clients.iter().any(|count| {
                    count.support == AFTER_UPGRADE && count.client.library.map(Library::name) == Some(library)
                });
                steps.push(if is_old {
                    format!("upgrade {library} to {major}.{minor} or newer")
                } else {
                    format!("check that {library} is {major}.{minor} or newer")
                });
            }
        }
        if found.verdict == Verdict::OfflineOnly {
            steps.push("stop all members, then start them with group.protocol=consumer".to_owned());
            if kind("user_data") && found.blockers.len() == 1 {
                let other = "or move the members to range, whose assignments have no user data, and ask again";
                steps.push(other.to_owned());
            } else if kind("migration_policy") && found.blockers.len() == 1 {
                steps.push("or set group.consumer.migration.policy to upgrade, and ask again".to_owned());
            }
        } else if self.roster.members.is_empty() {
            steps.push("start the members with group.protocol=consumer".to_owned());
        } else {
            let size = self.roster.members.len() as i64;
            let is_full = if size == rules.max_size { ", each stopped before its successor starts" } else { "" };
            steps.push(format!("restart the members one after another with group.protocol=consumer{is_full}"));
        }
        Some(steps.join("; "))
    }

    /// Return the sentences on what else changes.
    pub(super) fn notes(&self, found: &Migration, rules: &BrokerRules, order: &[usize]) -> Vec<String> {
        let mut notes = Vec::new();
        if self.roster.members.is_empty() {
            return notes;
        }
        let members = &self.roster.members;
        if let Some(today) = self.facts.assignor.filter(|name| Assignor::named(GroupProtocol::Classic, name).is_none())
            && !matches!(today, STREAMS | "default" | "compatible" | "sessioned")
        {
            notes.push(format!(
                "the assignor '{today}' is not one of Kafka's; the broker's {} is the nearest of its own",
                nearest(today)
            ));
        }
        if let Some(after) = &found.after {
            if after.rack_misses > found.before.rack_misses {
                notes.push(format!(
                    "{} ignores racks: the partitions whose owner is on the rack of none of their replicas grow from {} to {}",
                    rules.assignor.name(),
                    found.before.rack_misses,
                    after.rack_misses
                ));
            }
            if after.co_partition_breaks > found.before.co_partition_breaks && found.nearest == Some("range") {
                notes.push(format!(
                    "{} does not keep equal partition numbers of topics together: those with different owners grow from {} to {}; \
                     the broker's range keeps them (group.remote.assignor=range)",
                    rules.assignor.name(),
                    found.before.co_partition_breaks,
                    after.co_partition_breaks
                ));
            }
        }
        let statics = self.ids(order, |member| member.instance_id.is_some());
        if !statics.is_empty() {
            let mut text = format!(
                "{} static: each keeps its partitions if it comes back with its instance id; the broker balances them at the next change",
                is_or_are(statics.len())
            );
            if members.len() as i64 == rules.max_size && rules.version.is_none_or(|version| version < (4, 4)) {
                let _ = write!(
                    text,
                    "; brokers before Kafka 4.4 reject its successor while the group has group.consumer.max.size members"
                );
            }
            notes.push(text);
        }
        for change in &found.pattern_changes {
            let mut text = format!("the pattern {} of {}", change.patterns.join(", "), change.members.join(", "));
            if let Some(problem) = &change.problem {
                let _ = write!(text, ": {problem}");
            } else {
                let _ = write!(
                    text,
                    " gains {} and loses {} topics: the broker matches whole names, by RE2/J",
                    change.gained.len(),
                    change.lost.len()
                );
            }
            notes.push(text);
        }
        notes
    }
}

pub(super) fn count(members: usize) -> String {
    if members == 1 { "1 member".to_owned() } else { format!("{members} members") }
}

pub(super) fn is_or_are(members: usize) -> String {
    format!("{} {}", count(members), if members == 1 { "is" } else { "are" })
}

pub(super) fn list(names: &[&str]) -> String {
    match names {
        [.., last] if names.len() > 1 => format!("{} and {last}", names[..names.len() - 1].join(", ")),
        _ => names.concat(),
    }
}
