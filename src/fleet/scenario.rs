//! What would be if: steps that change a group one after another, each followed by the rebalances that it brings.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::cluster::{Changed, Cluster};
use super::owned::owned_spans;
use super::rebalance::rebalance;
use super::roster::{Roster, RosterMember};
use crate::assign::Assignor;
use crate::group::Group;
use crate::plan::Plan;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// So many members come; they subscribe as most members do.
    AddMembers(u32),
    /// So many members leave, the last ones in Kafka's order.
    RemoveMembers(u32),
    /// Every topic has so many times the partitions.
    MultiplyPartitions(u32),
    /// A topic has so many partitions; one that has more already stays as it is.
    GrowPartitions(String, u32),
    /// The members are on these racks, in Kafka's order in turn.
    SetRacks(Vec<String>),
    /// There is a topic more, and everybody subscribes to it but for patterns that do not match it.
    AddTopic(String, u32),
    /// Every member gets an instance id, which is its member id.
    MakeStatic,
    /// Every member restarts, in Kafka's order: with an instance id nothing happens, without one it leaves and comes back
    /// under another id. Whether they have one can be said for all.
    RollingRestart(Option<bool>),
    /// Switch the group to another assignor, which starts from what the members own.
    Use(Assignor),
}

/// A name for steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The name.
    pub name: String,
    /// The steps.
    pub steps: Vec<Step>,
}

/// Where the steps lead.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The last assignment.
    pub plan: Arc<Plan>,
    /// How many rebalances there were.
    pub rebalances: u64,
    /// How many partitions went from one member to another, over all rebalances.
    pub moved: i64,
    /// The members of the group after the last step.
    pub roster: Roster<'a>,
    /// The assignor after the last step; None if the group or any rebalance is not computed.
    pub computed: Option<Assignor>,
}

/// How many partitions a topic may get: more than the largest clusters have in all.
const MOST_PARTITIONS: u64 = 10_000_000;

/// A topic that somebody subscribes to would have more partitions than can be planned.
#[derive(Debug, PartialEq, Eq)]
pub struct TooManyPartitions {
    topic: String,
    count: u64,
}

impl fmt::Display for TooManyPartitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topic, count } = self;
        write!(f, "topic '{topic}' would have {count} partitions, and {MOST_PARTITIONS} can be planned")
    }
}

/// A group while the steps change it.
struct SimulatedGroup<'a, 'r> {
    cluster: &'a Cluster,
    group_id: &'a str,
    roster: Roster<'r>,
    changed: Changed,
    plan: Arc<Plan>,
    rebalances: u64,
    moved: i64,
    /// False after a rebalance that is not computed.
    is_computed: bool,
    /// How many ids were made up.
    made: u32,
}

impl Scenario {
    /// Take a group through the steps, starting from its plan (see `starting_plan`). `matches` returns whether a pattern, by number,
    /// matches a topic that is added.
    ///
    /// # Errors
    /// A topic that would have more partitions than can be planned.
    pub fn play<'a>(
        &self,
        cluster: &Cluster,
        group_id: &str,
        roster: &Roster<'a>,
        plan: &Arc<Plan>,
        matches: &dyn Fn(u32, &str) -> bool,
    ) -> Result<Outcome<'a>, TooManyPartitions> {
        let mut roster = roster.clone();
        // After a rebalance of the scenario all members have the same generation.
        roster.members.iter_mut().for_each(|member| member.generation = None);
        let mut simulated = SimulatedGroup {
            cluster,
            group_id,
            roster,
            changed: Changed::default(),
            plan: Arc::clone(plan),
            rebalances: 0,
            moved: 0,
            is_computed: true,
            made: 0,
        };
        for step in &self.steps {
            simulated.take(step, matches)?;
        }
        Ok(Outcome {
            plan: simulated.plan,
            rebalances: simulated.rebalances,
            moved: simulated.moved,
            computed: simulated.roster.computed.filter(|_| simulated.is_computed),
            roster: simulated.roster,
        })
    }
}

impl<'r> SimulatedGroup<'_, 'r> {
    fn take(&mut self, step: &Step, matches: &dyn Fn(u32, &str) -> bool) -> Result<(), TooManyPartitions> {
        if self.roster.members.is_empty() {
            return Ok(());
        }
        match step {
            Step::AddMembers(count) => {
                let like = self.usual();
                for _ in 0..*count {
                    let id: Cow<'r, str> = Cow::Owned(self.made_up(&like.id));
                    let instance_id = like.instance_id.is_some().then(|| id.clone());
                    self.roster.members.push(RosterMember { id, instance_id, ..like.clone() });
                }
                self.rebalance_if(*count > 0);
            }
            Step::RemoveMembers(count) => {
                let order = self.plan.group().order();
                let leaving = &order[order.len().saturating_sub(*count as usize)..];
                let mut leaves = vec![false; order.len()];
                for member in leaving {
                    leaves[*member as usize] = true;
                }
                let mut leaves = leaves.into_iter();
                self.roster.members.retain(|_| !leaves.next().unwrap_or_default());
                self.rebalance_if(*count > 0);
            }
            Step::MultiplyPartitions(factor) => {
                self.changed.multiply(*factor);
                self.rebalance_if_topics_changed(false)?;
            }
            Step::GrowPartitions(topic, count) => {
                self.changed.grow(self.cluster, topic, *count);
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
                self.changed.add(self.cluster, topic, *count);
                let in_use = self.roster.in_use();
                let mut any = false;
                for (subscription, in_use) in self.roster.subscriptions.iter_mut().zip(in_use) {
                    let wanted = subscription.pattern.is_none_or(|pattern| matches(pattern, topic));
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
                self.rebalance_if(before != Some(*assignor));
            }
        }
        Ok(())
    }

    /// A member of the subscription that most have, the last in Kafka's order.
    fn usual(&self) -> RosterMember<'r> {
        let group = self.plan.group();
        let counts = group.members_per_subscription();
        let most = counts.iter().max();
        let mut like = group.order().iter().rev().map(|member| *member as usize);
        let like = like.find(|member| Some(&counts[group.subscription_of(*member) as usize]) == most).unwrap_or(0);
        self.roster.members[like].clone()
    }

    /// Every dynamic member leaves and comes back, one after the other.
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
            member.id = Cow::Owned(self.made_up(&member.id));
            self.roster.members.insert(number, member);
            self.rebalance();
        }
    }

    /// An id as that client would have another time: its own beginning, and then an end that nobody can foretell.
    fn made_up(&mut self, id: &str) -> String {
        self.made += 1;
        let text = format!("{}\0{id}\0{}", self.group_id, self.made);
        let high = fnv(FNV, text.as_bytes());
        let low = fnv(high, text.as_bytes());
        format!(
            "{}{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            beginning(id),
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xfff,
            low >> 48 & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff
        )
    }

    fn rebalance_if(&mut self, changed: bool) {
        if changed {
            self.rebalance();
        }
    }

    /// Members are told of other topics only where these are theirs, and say so themselves if they subscribe otherwise.
    fn rebalance_if_topics_changed(&mut self, subscribed_otherwise: bool) -> Result<(), TooManyPartitions> {
        let before = self.plan.group().topics();
        for topic in self.roster.wanted() {
            let Some(count) = self.changed.count(self.cluster, topic) else { continue };
            let known = before.number(topic).map(|number| before.partitions()[number as usize].ids.len() as u64);
            if count > MOST_PARTITIONS && known != Some(count) {
                return Err(TooManyPartitions { topic: topic.to_owned(), count });
            }
        }
        let group = self.roster.group(self.cluster, Some(&self.changed), &[]);
        let counts = |group: &Group| {
            let topics = group.topics();
            let counts = topics.partitions().iter().map(|partitions| partitions.ids.len());
            topics.names().iter().map(str::to_owned).zip(counts).collect::<Vec<_>>()
        };
        if subscribed_otherwise || counts(&group) != counts(self.plan.group()) {
            self.rebalance();
        }
        Ok(())
    }

    /// Rebalance the group; partitions that change their owner in two steps count once.
    fn rebalance(&mut self) {
        let changed = Some(&self.changed);
        if let Some(found) = rebalance(&self.roster, self.cluster, changed, &self.plan) {
            self.rebalances += found.rebalances;
            self.moved += self.plan.diff(&found.plan).moved;
            self.plan = found.plan;
        } else {
            let plan = self.roster.standing_plan(self.cluster, changed, &owned_spans(&self.plan));
            self.plan = Arc::new(plan);
            self.is_computed = false;
        }
    }
}

/// What stays of a member id when its client comes back: all but the UUID that ends it, where one does.
fn beginning(id: &str) -> String {
    const UUID: usize = 36;
    let end = id.len().checked_sub(UUID).filter(|end| id.is_char_boundary(*end) && is_uuid(&id[*end..]));
    end.map_or_else(|| format!("{id}-"), |end| id[..end].to_owned())
}

/// The first state of FNV-1a of 64 bits.
const FNV: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, byte| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}
