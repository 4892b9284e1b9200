//! What-if scenarios: steps that change a group, each followed by the rebalances that it causes.

use std::borrow::Cow;
use std::sync::Arc;

use thiserror::Error;

use super::cluster::{Changed, Cluster, NoChange};
use super::membership::{NewIds, add_members, remove_members};
use super::owned::owned_spans;
use super::pattern_meaning::{Matching, PatternChange, Patterns};
use super::rebalance::rebalance;
use super::roster::{Roster, RosterMember};
use crate::assign::{Assignor, GroupProtocol, check_size};
use crate::cancellation;
use crate::error::GroupError;
use crate::group::Group;
use crate::plan::Plan;

/// Change of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Add members with the most frequent subscription.
    AddMembers(u32),
    /// Remove the last members in Kafka's order.
    RemoveMembers(u32),
    /// Multiply the number of partitions of each topic.
    MultiplyPartitions(u32),
    /// Increase the number of partitions of a topic.
    GrowPartitions(String, u32),
    /// Put the members on racks in turn, in Kafka's order.
    SetRacks(Vec<String>),
    /// Add a topic that all members subscribe to, except those with a pattern that does not match it.
    AddTopic(String, u32),
    /// Give each dynamic member an instance id, which equals its member id.
    MakeStatic,
    /// Restart each member, in Kafka's order. A dynamic member leaves and joins again with another id; the restart of a static
    /// member changes nothing. With a value, all members count as static (true) or dynamic (false).
    RollingRestart(Option<bool>),
    /// Switch the group to another assignor, and rebalance. Another group protocol can change what the patterns of members mean.
    Use(Assignor),
}

/// Named sequence of steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The name.
    pub name: String,
    /// The steps.
    pub steps: Vec<Step>,
}

/// Outcome of a scenario for a group.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The assignment after the last step.
    pub plan: Arc<Plan>,
    /// The number of rebalances.
    pub rebalances: u64,
    /// The number of moves of partitions between members, over all rebalances.
    pub moved: i64,
    /// The topics that members gain and lose because a switch of the group protocol changes what their patterns mean.
    pub pattern_changes: Vec<PatternChange>,
    /// Why steps did not change a topic.
    pub problems: Vec<String>,
    /// The members of the group after the last step.
    pub roster: Roster<'a>,
    /// The assignor after the last step; None if the group or one of its rebalances cannot be computed.
    pub computed: Option<Assignor>,
}

/// Largest number of partitions of a topic in a scenario; it exceeds the size of the largest clusters.
const MAX_PARTITIONS: u64 = 10_000_000;

/// Error for a step that would give a group too many partitions.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum TooManyPartitions {
    /// A subscribed topic would have more than `MAX_PARTITIONS` partitions.
    #[error("topic '{topic}' would have {count} partitions; the limit is {MAX_PARTITIONS}")]
    OfTopic {
        /// The name of the topic.
        topic: String,
        /// Its number of partitions.
        count: u64,
    },
    /// The subscribed topics together would have too many partitions for the assignor.
    #[error(transparent)]
    OfGroup(#[from] GroupError),
}

/// Group during a scenario.
struct SimulatedGroup<'a, 'r> {
    cluster: &'a Cluster,
    patterns: &'a dyn Patterns,
    roster: Roster<'r>,
    protocol: GroupProtocol,
    changed: Changed,
    pattern_changes: Vec<PatternChange>,
    problems: Vec<String>,
    plan: Arc<Plan>,
    rebalances: u64,
    moved: i64,
    /// False after a rebalance that cannot be computed.
    is_computed: bool,
    new_ids: NewIds<'a>,
}

impl Scenario {
    /// Apply the steps to a group, starting from a plan (see `starting_plan`). `patterns` are those of the group's cluster.
    ///
    /// # Errors
    /// A subscribed topic, or all subscribed topics together, would have too many partitions.
    pub fn play<'a>(
        &self,
        cluster: &Cluster,
        group_id: &str,
        roster: &Roster<'a>,
        plan: &Arc<Plan>,
        patterns: &dyn Patterns,
    ) -> Result<Outcome<'a>, TooManyPartitions> {
        let mut roster = roster.clone();
        // After a rebalance of the scenario all members have the same generation.
        roster.members.iter_mut().for_each(|member| member.generation = None);
        let mut simulated = SimulatedGroup {
            cluster,
            patterns,
            protocol: roster.protocol(),
            roster,
            changed: Changed::default(),
            pattern_changes: Vec::new(),
            problems: Vec::new(),
            plan: Arc::clone(plan),
            rebalances: 0,
            moved: 0,
            is_computed: true,
            new_ids: NewIds::new(group_id),
        };
        for step in &self.steps {
            simulated.apply(step)?;
        }
        Ok(Outcome {
            plan: simulated.plan,
            rebalances: simulated.rebalances,
            moved: simulated.moved,
            pattern_changes: simulated.pattern_changes,
            problems: simulated.problems,
            computed: simulated.roster.computed.filter(|_| simulated.is_computed),
            roster: simulated.roster,
        })
    }
}

impl SimulatedGroup<'_, '_> {
    fn apply(&mut self, step: &Step) -> Result<(), TooManyPartitions> {
        if self.roster.members.is_empty() {
            return Ok(());
        }
        match step {
            Step::AddMembers(count) => {
                add_members(&mut self.roster, self.plan.group(), *count, &mut self.new_ids);
                self.rebalance_if(*count > 0);
            }
            Step::RemoveMembers(count) => {
                remove_members(&mut self.roster, self.plan.group(), *count);
                self.rebalance_if(*count > 0);
            }
            Step::MultiplyPartitions(factor) => {
                self.changed.multiply(*factor);
                self.rebalance_if_topics_changed(false)?;
            }
            Step::GrowPartitions(topic, count) => {
                let change = self.changed.grow(self.cluster, topic, *count);
                self.note(change);
                self.rebalance_if_topics_changed(false)?;
            }
            Step::SetRacks(racks) => {
                let order = self.plan.group().order();
                for (member, rack) in order.iter().zip(racks.iter().cycle()) {
                    self.roster.members[*member as usize].rack = Some(Cow::Owned(rack.clone()));
                }
                self.rebalance_if(!racks.is_empty());
            }
            Step::AddTopic(topic, count) => {
                let change = self.changed.add(self.cluster, topic, *count);
                self.note(change);
                let in_use = self.roster.in_use();
                let mut any = false;
                for (subscription, in_use) in self.roster.subscriptions.iter_mut().zip(in_use) {
                    let is_matched = |pattern: &u32| self.patterns.matches(*pattern, topic);
                    let wanted = subscription.patterns.is_empty() || subscription.matched_by.iter().any(is_matched);
                    if wanted && !subscription.topics.iter().any(|name| name == topic) {
                        subscription.topics.push(Cow::Owned(topic.clone()));
                        subscription.is_missing = false;
                        any |= in_use;
                    }
                }
                self.rebalance_if_topics_changed(any)?;
            }
            Step::MakeStatic => {
                let mut any = false;
                for member in self.roster.members.iter_mut().filter(|member| member.instance_id.is_none()) {
                    member.instance_id = Some(member.id.clone());
                    any = true;
                }
                self.rebalance_if(any);
            }
            Step::RollingRestart(instance_ids) => self.restart(*instance_ids),
            Step::Use(assignor) => {
                let before = self.roster.computed.replace(*assignor);
                self.switch_protocol(assignor.protocol());
                self.checked_group()?;
                self.rebalance_if(before != Some(*assignor));
            }
        }
        Ok(())
    }

    /// Note why a step did not change a topic.
    fn note(&mut self, change: Result<(), NoChange>) {
        self.problems.extend(change.err().map(|problem| problem.to_string()));
    }

    /// Match the patterns of the members as the group protocol matches them, if it changes.
    fn switch_protocol(&mut self, protocol: GroupProtocol) {
        if protocol == self.protocol {
            return;
        }
        self.protocol = protocol;
        let matching = Matching { cluster: self.cluster, changed: &self.changed, patterns: self.patterns };
        let order = self.plan.group().order();
        let in_use = self.roster.in_use();
        for (number, subscription) in (0..).zip(&mut self.roster.subscriptions) {
            if !in_use[number as usize] {
                continue;
            }
            if let Some(mut change) = matching.switch(subscription, protocol) {
                let members = order.iter().map(|member| &self.roster.members[*member as usize]);
                let members = members.filter(|member| member.subscription == number);
                change.members = members.map(|member| member.id.clone().into_owned()).collect();
                self.pattern_changes.push(change);
            }
        }
    }

    /// Restart the dynamic members one after the other: each leaves and joins again.
    fn restart(&mut self, instance_ids: Option<bool>) {
        let order = self.plan.group().order().to_vec();
        let restarts = |member: &RosterMember<'_>| !instance_ids.unwrap_or(member.instance_id.is_some());
        for number in order {
            let number = number as usize;
            if !restarts(&self.roster.members[number]) {
                continue;
            }
            let mut member = self.roster.members.remove(number);
            self.rebalance();
            member.id = Cow::Owned(self.new_ids.next(&member.id));
            self.roster.members.insert(number, member);
            self.rebalance();
        }
    }

    fn rebalance_if(&mut self, changed: bool) {
        if changed {
            self.rebalance();
        }
    }

    /// Rebalance if the group's topics or its subscriptions changed.
    fn rebalance_if_topics_changed(&mut self, subscriptions_changed: bool) -> Result<(), TooManyPartitions> {
        let group = self.checked_group()?;
        let counts = |group: &Group| {
            let topics = group.topics();
            let counts = topics.partitions().iter().map(|partitions| partitions.ids.len());
            let counted = (0..).zip(topics.names().iter().map(str::to_owned).zip(counts));
            counted.filter(|(topic, _)| !group.is_kept(*topic)).map(|(_, counted)| counted).collect::<Vec<_>>()
        };
        if subscriptions_changed || counts(&group) != counts(self.plan.group()) {
            self.rebalance();
        }
        Ok(())
    }

    /// Return the group as it is now. Its size must be one that its assignor supports.
    fn checked_group(&self) -> Result<Arc<Group>, TooManyPartitions> {
        let before = self.plan.group().topics();
        for topic in self.roster.wanted() {
            let Some(count) = self.changed.count(self.cluster, topic) else { continue };
            let known = before.number(topic).map(|number| before.partitions()[number as usize].ids.len() as u64);
            if count > MAX_PARTITIONS && known != Some(count) {
                return Err(TooManyPartitions::OfTopic { topic: topic.to_owned(), count });
            }
        }
        let group = self.roster.group(self.cluster, Some(&self.changed), &[]);
        if let Some(assignor) = self.roster.computed {
            check_size(&group, assignor)?;
        }
        Ok(group)
    }

    /// Rebalance the group; a partition that moves through two cooperative rebalances (revoked, then assigned) counts as one move.
    fn rebalance(&mut self) {
        cancellation::check();
        let changed = Some(&self.changed);
        if let Some(found) = rebalance(&self.roster, self.cluster, changed, &self.plan) {
            self.rebalances += found.rebalances;
            self.moved += self.plan.diff(&found.plan).moved;
            self.plan = found.plan;
        } else {
            let plan = self.roster.owned_plan(self.cluster, changed, &owned_spans(&self.plan));
            self.plan = Arc::new(plan);
            self.is_computed = false;
        }
    }
}
