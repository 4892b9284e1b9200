//! Whether a classic group can move to the protocol of KIP-848, and what changes if it does.
//!
//! The rules are those of `GroupMetadataManager.validateOnlineUpgrade` and `ConsumerGroup.fromClassicGroup` in Kafka 4.0 to 4.4: a broker
//! turns a classic group into one of KIP-848 when a member of the new protocol joins it, or rejects that member.

use std::fmt::Write as _;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cluster::Cluster;
use super::current::current_plan;
use super::moves::moves;
use super::owned::OwnedSpan;
use super::pattern_meaning::{PatternChange, Patterns};
use super::placement::Placement;
use super::rebalance::rebalance;
use super::roster::{Roster, RosterMember, check_owners};
use super::scenario::{Scenario, Step, TooManyPartitions};
use crate::assign::{Assignor, GroupProtocol, check_size};
use crate::plan::Plan;
use crate::wire::{Client, Library, Support, Unconvertible, VERSION_0};

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

/// What is known of a member beside its subscription and its partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberFacts {
    /// Its client.
    pub client: Client,
    /// Why the broker could not take it over.
    pub unconvertible: Option<Unconvertible>,
}

/// What is known of a group beside its members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupFacts<'a> {
    /// The protocol type; None if it is not known, which counts as that of consumers.
    pub protocol_type: Option<&'a str>,
    /// The protocol that the members have agreed on: the name of the assignor.
    pub assignor: Option<&'a str>,
    /// Facts by member id; a member that is missing has a client that only its id shows.
    pub members: FxHashMap<&'a str, MemberFacts>,
}

/// Answer for a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The members can be replaced one after another, without a stop of the group.
    Online,
    /// All members must stop before the first one of the new protocol starts.
    OfflineOnly,
    /// Something must change first.
    NotYet,
}

impl Verdict {
    /// Return the name in tables and in Python.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::OfflineOnly => "offline only",
            Self::NotYet => "not yet",
        }
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

/// Members with the same client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCount {
    /// The client.
    pub client: Client,
    /// Whether it has the protocol: `yes`; `after an upgrade` of a version that is too old; `in newer versions` if the version is not
    /// visible; `no`; or `unknown`.
    pub support: &'static str,
    /// Number of members.
    pub members: usize,
}

/// Moves of partitions in changes after the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaterMoves {
    /// When a member joins.
    pub join: i64,
    /// When a member leaves.
    pub leave: i64,
    /// When all members restart one after another.
    pub restart: i64,
}

/// Answer for a group, with its reasons and numbers.
#[derive(Debug)]
pub struct Migration {
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence.
    pub reason: String,
    /// How to move; None if the verdict is `not yet`.
    pub path: Option<String>,
    /// All obstacles, the strongest first.
    pub blockers: Vec<Blocker>,
    /// The clients of the members, the most frequent first.
    pub clients: Vec<ClientCount>,
    /// Sentences on what else changes.
    pub notes: Vec<String>,
    /// The broker's assignor that is nearest to the one of today; None if today's is not known.
    pub nearest: Option<&'static str>,
    /// The partitions before the switch.
    pub before: Placement,
    /// The partitions after it; None if they cannot be computed.
    pub after: Option<Placement>,
    /// Number of partitions that get another owner at the switch.
    pub moved: Option<i64>,
    /// Why there are no numbers.
    pub problem: Option<String>,
    /// Moves in later changes with the assignor of today; None if they were not asked for or cannot be computed.
    pub later_today: Option<LaterMoves>,
    /// Moves in later changes after the switch.
    pub later: Option<LaterMoves>,
    /// Moves while the members are replaced one after another.
    pub rolling: Option<i64>,
    /// What the patterns of members mean after the switch.
    pub pattern_changes: Vec<PatternChange>,
}

/// Group to judge: its members, and what they own if that is known.
#[derive(Clone, Copy)]
pub struct Judged<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The group id.
    pub group_id: &'a str,
    /// The members.
    pub roster: &'a Roster<'a>,
    /// The partitions that they own; None if they are not known.
    pub owned: Option<&'a [OwnedSpan<'a>]>,
    /// Further facts.
    pub facts: &'a GroupFacts<'a>,
}

impl Judged<'_> {
    /// Return the verdict and the numbers. `today` is the plan from which scenarios with today's assignor start; with it, later changes
    /// are computed as well.
    ///
    /// # Errors
    /// The group has more partitions than the broker's assignor supports.
    pub fn migration(
        &self,
        rules: &BrokerRules,
        patterns: &dyn Patterns,
        today: Option<&Arc<Plan>>,
    ) -> Result<Migration, TooManyPartitions> {
        let group = self.roster.group(self.cluster, None, &[]);
        check_owners(&group)?;
        let order: Vec<usize> = group.order().iter().map(|member| *member as usize).collect();
        let (roster, pattern_changes) = self.switched(rules, patterns)?;
        let blockers = self.blockers(rules, &order, &pattern_changes);
        let owned = self.owned.unwrap_or_default();
        let current = current_plan(self.roster, self.cluster, owned);
        let mut found = Migration {
            verdict: blockers.iter().map(|blocker| blocker.verdict).max().unwrap_or(Verdict::Online),
            reason: String::new(),
            path: None,
            clients: self.clients(),
            notes: Vec::new(),
            nearest: self.facts.assignor.or(self.roster.computed.map(Assignor::name)).map(nearest),
            before: Placement::of(&current),
            after: None,
            moved: None,
            problem: self.unknown_topic(owned),
            later_today: None,
            later: None,
            rolling: None,
            blockers,
            pattern_changes,
        };
        found.reason = self.reason(&found);
        found.path = self.path(&found, rules);
        if found.problem.is_none() {
            let group = roster.group(self.cluster, None, owned);
            check_size(&group, rules.assignor)?;
            let plan = roster.plan(self.cluster, None, owned);
            if let Some(plan) = plan {
                found.after = Some(Placement::of(&plan));
                if self.owned.is_some() {
                    let moves = moves(owned, &plan);
                    found.moved =
                        Some(moves.iter().filter(|run| run.from.is_some()).map(|run| i64::from(run.count)).sum());
                }
                if let Some(today) = today {
                    let plan = Arc::new(plan);
                    found.later = self.later(&roster, &plan, patterns)?;
                    found.later_today = self.later(self.roster, today, patterns)?;
                    found.rolling = self.owned.and_then(|_| self.rolling(&roster, &order));
                }
            }
        }
        found.notes = self.notes(&found, rules, &order);
        Ok(found)
    }

    fn ids(&self, order: &[usize], wanted: impl Fn(&RosterMember<'_>) -> bool) -> Vec<String> {
        let members = order.iter().map(|member| &self.roster.members[*member]);
        members.filter(|member| wanted(member)).map(|member| member.id.as_ref().to_owned()).collect()
    }

    /// Return the client of a member.
    fn client(&self, id: &str) -> Client {
        let known = self.facts.members.get(id).map(|facts| &facts.client);
        known
            .filter(|client| **client != Client::default())
            .cloned()
            .unwrap_or_else(|| Client::of_member_id(id, self.group_id))
    }

    /// Return the members with the topics and the assignor that they have after the switch, and how their patterns change.
    fn switched(
        &self,
        rules: &BrokerRules,
        patterns: &dyn Patterns,
    ) -> Result<(Roster<'_>, Vec<PatternChange>), TooManyPartitions> {
        let mut roster = self.roster.clone();
        let mut changes = Vec::new();
        if roster.subscriptions.iter().any(|subscription| !subscription.patterns.is_empty()) {
            let start = Arc::new(roster.owned_plan(self.cluster, None, self.owned.unwrap_or_default()));
            roster.computed.get_or_insert(Assignor::Range);
            let switch = Scenario { name: String::new(), steps: vec![Step::Use(rules.assignor)] };
            let outcome = switch.play(self.cluster, self.group_id, &roster, &start, patterns)?;
            changes = outcome.pattern_changes;
            roster = outcome.roster;
            for (member, before) in roster.members.iter_mut().zip(&self.roster.members) {
                member.generation = before.generation;
            }
        }
        roster.computed = Some(rules.assignor);
        roster.sort();
        Ok((roster, changes))
    }

    /// Return the sentence if an owned topic is not in the metadata, so that its partitions could not be assigned again.
    fn unknown_topic(&self, owned: &[OwnedSpan<'_>]) -> Option<String> {
        let topics = self.cluster.topics();
        let missing = owned.iter().map(|span| span.topic).filter(|topic| topics.number(topic).is_none()).min()?;
        Some(format!("the topic metadata has no topic '{missing}', so the assignment after the switch is not known"))
    }

    fn blockers(&self, rules: &BrokerRules, order: &[usize], patterns: &[PatternChange]) -> Vec<Blocker> {
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

    fn clients(&self) -> Vec<ClientCount> {
        let mut found: Vec<ClientCount> = Vec::new();
        for member in &self.roster.members {
            let client = self.client(&member.id);
            match found.iter_mut().find(|known| known.client == client) {
                Some(known) => known.members += 1,
                None => found.push(ClientCount { support: support(&client), client, members: 1 }),
            }
        }
        let name = |count: &ClientCount| count.client.library.map_or("", Library::name);
        found.sort_by(|left, right| {
            let versions = left.client.version.cmp(&right.client.version);
            right.members.cmp(&left.members).then_with(|| name(left).cmp(name(right))).then(versions)
        });
        found
    }

    /// Return the sentence of the verdict.
    fn reason(&self, found: &Migration) -> String {
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
    fn path(&self, found: &Migration, rules: &BrokerRules) -> Option<String> {
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

    /// Return the moves in later changes; None if the group cannot be computed.
    fn later(
        &self,
        roster: &Roster<'_>,
        plan: &Arc<Plan>,
        patterns: &dyn Patterns,
    ) -> Result<Option<LaterMoves>, TooManyPartitions> {
        if roster.computed.is_none() || roster.members.is_empty() {
            return Ok(None);
        }
        let mut counts = [0; 3];
        for (count, step) in
            counts.iter_mut().zip([Step::AddMembers(1), Step::RemoveMembers(1), Step::RollingRestart(None)])
        {
            let scenario = Scenario { name: String::new(), steps: vec![step] };
            let outcome = scenario.play(self.cluster, self.group_id, roster, plan, patterns)?;
            if outcome.computed.is_none() {
                return Ok(None);
            }
            *count = outcome.moved;
        }
        let [join, leave, restart] = counts;
        Ok(Some(LaterMoves { join, leave, restart }))
    }

    /// Return the moves while each member is replaced by one of the new protocol. A dynamic member leaves and another one joins: the
    /// first departure is one of the classic group, the first new member converts the group. A static member comes back, and the
    /// broker keeps the assignment, because neither the members nor their subscriptions change.
    fn rolling(&self, switched: &Roster<'_>, order: &[usize]) -> Option<i64> {
        let mut plan = Arc::new(self.roster.owned_plan(self.cluster, None, self.owned.unwrap_or_default()));
        let (mut classic, mut roster) = (self.roster.clone(), switched.clone());
        let mut moved = 0;
        let mut is_converted = false;
        let ids: Vec<String> = order.iter().map(|member| self.roster.members[*member].id.as_ref().to_owned()).collect();
        for id in ids {
            crate::cancellation::check();
            let place = roster.members.iter().position(|member| *member.id == *id)?;
            if roster.members[place].instance_id.is_some() {
                is_converted = true;
                continue;
            }
            let mut member = roster.members.remove(place);
            let is_only = roster.members.is_empty();
            if !is_only {
                let left = if is_converted {
                    rebalance(&roster, self.cluster, None, &plan)?
                } else {
                    classic.members.retain(|member| *member.id != *id);
                    rebalance(&classic, self.cluster, None, &plan)?
                };
                moved += plan.diff(&left.plan).moved;
                plan = left.plan;
            }
            member.id = format!("{id}\u{0}").into();
            roster.members.push(member);
            roster.sort();
            is_converted = true;
            let joined = rebalance(&roster, self.cluster, None, &plan)?;
            // The partitions of the only member have no owner until the next one joins.
            moved += if is_only { 0 } else { plan.diff(&joined.plan).moved };
            plan = joined.plan;
        }
        Some(moved)
    }

    fn notes(&self, found: &Migration, rules: &BrokerRules, order: &[usize]) -> Vec<String> {
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

/// Name of the assignor of Kafka Streams in the classic protocol.
const STREAMS: &str = "stream";

const YES: &str = "yes";
const NO: &str = "no";
const AFTER_UPGRADE: &str = "after an upgrade";
const NEWER: &str = "in newer versions";
const UNKNOWN: &str = "unknown";

/// Return whether a client has the protocol. A version that may be new enough counts as `unknown` if only a range is visible.
fn support(client: &Client) -> &'static str {
    match client.library.map(Library::support) {
        Some(Support::Never) => NO,
        Some(Support::Since(..)) if client.is_too_old() => AFTER_UPGRADE,
        Some(Support::Since(..)) if client.version.as_ref().is_some_and(|version| !version.ends_with('+')) => YES,
        // The library has it; whether this version does is not visible.
        Some(Support::Since(..)) => NEWER,
        None if client.version.as_deref() == Some(VERSION_0) => NO,
        Some(Support::Unknown) | None => UNKNOWN,
    }
}

/// Return the broker's assignor that is nearest to one of the classic protocol: `range` for `range`, which keeps ranges of each topic.
fn nearest(assignor: &str) -> &'static str {
    if assignor == Assignor::Range.name() { Assignor::ServerRange.name() } else { Assignor::ServerUniform.name() }
}

fn count(members: usize) -> String {
    if members == 1 { "1 member".to_owned() } else { format!("{members} members") }
}

fn is_or_are(members: usize) -> String {
    format!("{} {}", count(members), if members == 1 { "is" } else { "are" })
}

fn list(names: &[&str]) -> String {
    match names {
        [.., last] if names.len() > 1 => format!("{} and {last}", names[..names.len() - 1].join(", ")),
        _ => names.concat(),
    }
}
