//! Obstacles to an online move of a classic group, by the rules of Kafka's group coordinator.

use super::clients::{NO, support};
use super::sentences::{count, list};
use super::{Judged, STREAMS, Verdict};
use crate::assign::Assignor;
use crate::fleet::pattern_meaning::PatternChange;
use crate::wire::{Library, Unconvertible};

/// Settings of the brokers that decide, with Kafka's defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerRules {
    /// `group.consumer.migration.policy`.
    pub policy: String,
    /// `group.consumer.max.size`.
    pub max_size: i64,
    /// Whether `group.coordinator.rebalance.protocols` has `consumer`.
    pub has_protocol: bool,
    /// Major and minor version; None if it is not known.
    pub version: Option<(u32, u32)>,
    /// The broker's assignor after the switch.
    pub assignor: Assignor,
}

impl Default for BrokerRules {
    fn default() -> Self {
        Self {
            policy: "bidirectional".to_owned(),
            max_size: i64::from(i32::MAX),
            has_protocol: true,
            version: None,
            assignor: Assignor::ServerUniform,
        }
    }
}

impl BrokerRules {
    /// Return true if the policy lets the brokers upgrade a group; Kafka ignores the case of its names.
    fn upgrades(&self) -> bool {
        ["bidirectional", "upgrade"].iter().any(|policy| self.policy.eq_ignore_ascii_case(policy))
    }
}

/// Obstacle to an online move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// Its name.
    pub kind: &'static str,
    /// The verdict that follows from it.
    pub verdict: Verdict,
    /// A sentence that says what blocks.
    pub reason: String,
    /// The members that block, in Kafka's order; empty if it is a setting or the kind of the group.
    pub members: Vec<String>,
}

impl Judged<'_> {
    /// Return the obstacles, the strongest first. `order` has the numbers of the members in Kafka's order.
    pub(super) fn blockers(&self, rules: &BrokerRules, order: &[usize], patterns: &[PatternChange]) -> Vec<Blocker> {
        let mut found = Vec::new();
        let mut push = |kind, verdict, reason: String, members| {
            found.push(Blocker { kind, verdict, reason, members });
        };
        let everyone = || self.ids(order, |_| true);
        let is_consumer = self.facts.protocol_type.is_none_or(|kind| kind.is_empty() || kind == "consumer");
        let is_streams = is_consumer && self.facts.assignor == Some(STREAMS);
        match self.facts.protocol_type {
            Some("connect") => {
                let reason = "the group is one of Kafka Connect, whose workers have no new protocol".to_owned();
                push("connect", Verdict::NotYet, reason, everyone());
            }
            Some(kind) if !is_consumer => {
                let reason = format!("the group has the protocol type '{kind}', not that of consumers");
                push("protocol_type", Verdict::NotYet, reason, everyone());
            }
            _ => {}
        }
        if let Some((major, minor)) = rules.version.filter(|version| *version < (4, 0)) {
            let reason = format!("brokers of Kafka {major}.{minor} do not support the protocol; it needs Kafka 4.0");
            push("broker_version", Verdict::NotYet, reason, Vec::new());
        } else if !rules.has_protocol {
            let reason = "group.coordinator.rebalance.protocols of the brokers does not have consumer".to_owned();
            push("rebalance_protocols", Verdict::NotYet, reason, Vec::new());
        }
        if !is_consumer {
            return found;
        }
        if is_streams {
            let reason =
                "Kafka Streams cannot use group.protocol=consumer; its own new protocol, group.protocol=streams \
                          (Kafka 4.2), can only take over an empty group"
                    .to_owned();
            push("streams", Verdict::OfflineOnly, reason, everyone());
        }
        let size = self.roster.members.len() as i64;
        if !rules.upgrades() && size > 0 {
            let reason = format!("group.consumer.migration.policy of the brokers is {}", rules.policy);
            push("migration_policy", Verdict::OfflineOnly, reason, Vec::new());
        }
        if size > rules.max_size {
            let reason = format!(
                "the group has {size} members, and group.consumer.max.size of the brokers is {}",
                rules.max_size
            );
            push("max_size", Verdict::NotYet, reason, Vec::new());
        }
        if !is_streams {
            let has = |wanted: Unconvertible| {
                self.ids(order, |member| {
                    self.facts.members.get(&*member.id).is_some_and(|facts| facts.unconvertible == Some(wanted))
                })
            };
            for (wanted, text) in [
                (Unconvertible::Subscription, "the broker cannot decode the subscription of"),
                (Unconvertible::Assignment, "the broker cannot decode the assignment of"),
            ] {
                let members = has(wanted);
                if !members.is_empty() {
                    push(wanted.name(), Verdict::OfflineOnly, format!("{text} {}", count(members.len())), members);
                }
            }
            let members = has(Unconvertible::UserData);
            if !members.is_empty() {
                let reason = format!(
                    "the assignor {} put user data into the assignment of {}, which the broker refuses to lose",
                    self.facts.assignor.unwrap_or("of the leader"),
                    count(members.len())
                );
                push("user_data", Verdict::OfflineOnly, reason, members);
            }
        }
        let rejected: Vec<&PatternChange> = patterns.iter().filter(|change| change.is_rejected).collect();
        if let Some(first) = rejected.first() {
            let members = rejected.iter().flat_map(|change| change.members.clone()).collect();
            push("pattern", Verdict::NotYet, first.problem.clone().unwrap_or_default(), members);
        }
        self.push_clients(order, &mut found);
        found.sort_by_key(|blocker| std::cmp::Reverse(blocker.verdict));
        found
    }

    /// Add the members whose library has no new protocol.
    fn push_clients(&self, order: &[usize], found: &mut Vec<Blocker>) {
        let members = self.ids(order, |member| support(&self.client(&member.id)) == NO);
        let Some(first) = members.first() else { return };
        let mut names: Vec<&str> = members.iter().filter_map(|id| self.client(id).library).map(Library::name).collect();
        names.sort_unstable();
        names.dedup();
        let reason = if names.is_empty() {
            format!(
                "the client of {} writes subscriptions of version 0, as only clients without the new protocol do",
                if members.len() == 1 { first } else { "several members" }
            )
        } else {
            format!("{} {} no new protocol", list(&names), if names.len() == 1 { "has" } else { "have" })
        };
        found.push(Blocker { kind: "client", verdict: Verdict::NotYet, reason, members });
    }
}
