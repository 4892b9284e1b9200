//! Whether a classic group can move to the protocol of KIP-848, and what changes if it does.
//!
//! The rules are those of `GroupMetadataManager.validateOnlineUpgrade` and `ConsumerGroup.fromClassicGroup` in Kafka 4.0 to 4.4: a broker
//! turns a classic group into one of KIP-848 when a member of the new protocol joins it, or rejects that member.

mod blockers;
mod changes;
mod clients;
mod sentences;

use std::sync::Arc;

use rustc_hash::FxHashMap;

pub use blockers::{Blocker, BrokerRules};
pub use changes::LaterMoves;
pub use clients::ClientCount;

use super::cluster::Cluster;
use super::current::current_plan;
use super::moves::moves;
use super::owned::OwnedSpan;
use super::pattern_meaning::{PatternChange, Patterns};
use super::placement::Placement;
use super::roster::{Roster, RosterMember, check_owners};
use super::scenario::TooManyPartitions;
use crate::assign::{Assignor, check_size};
use crate::plan::Plan;
use crate::wire::{Client, Unconvertible};

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
            before: self.placement(&current),
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
                found.after = Some(self.placement(&plan));
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

    fn placement(&self, plan: &Plan) -> Placement {
        Placement::of(plan, self.cluster.weights(plan.group()).as_ref())
    }

    /// Return the ids of some members. `order` has the numbers of the members in Kafka's order.
    fn ids(&self, order: &[usize], wanted: impl Fn(&RosterMember<'_>) -> bool) -> Vec<String> {
        let members = order.iter().map(|member| &self.roster.members[*member]);
        members.filter(|member| wanted(member)).map(|member| member.id.as_ref().to_owned()).collect()
    }

    /// Return the sentence if an owned topic is not in the metadata, so that its partitions could not be assigned again.
    fn unknown_topic(&self, owned: &[OwnedSpan<'_>]) -> Option<String> {
        let topics = self.cluster.topics();
        let missing = owned.iter().map(|span| span.topic).filter(|topic| topics.number(topic).is_none()).min()?;
        Some(format!("the topic metadata has no topic '{missing}', so the assignment after the switch is not known"))
    }
}

/// Name of the assignor of Kafka Streams in the classic protocol.
const STREAMS: &str = "stream";

/// Return the broker's assignor that is nearest to one of the classic protocol: `range` for `range`, which keeps ranges of each topic.
fn nearest(assignor: &str) -> &'static str {
    if assignor == Assignor::Range.name() { Assignor::ServerRange.name() } else { Assignor::ServerUniform.name() }
}
