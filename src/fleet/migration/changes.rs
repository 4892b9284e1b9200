//! Moves of partitions while a group switches to KIP-848, and in changes after it.

use std::sync::Arc;

use super::{BrokerRules, Judged};
use crate::assign::Assignor;
use crate::fleet::pattern_meaning::{PatternChange, Patterns};
use crate::fleet::rebalance::rebalance;
use crate::fleet::roster::Roster;
use crate::fleet::scenario::{Scenario, Step, TooManyPartitions};
use crate::plan::Plan;

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

impl Judged<'_> {
    /// Return the members with the topics and the assignor that they have after the switch, and how their patterns change.
    pub(super) fn switched(
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

    /// Return the moves in later changes; None if the group cannot be computed.
    pub(super) fn later(
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
    pub(super) fn rolling(&self, switched: &Roster<'_>, order: &[usize]) -> Option<i64> {
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
}
