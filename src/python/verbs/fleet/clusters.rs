//! The class `Clusters`: results for a column of groups, computed without the interpreter lock.

use std::sync::Arc;

use arrow_array::ArrayRef;
use pyo3::prelude::*;
use rustc_hash::FxHashSet;

use super::columns::{
    ASSIGNMENT, BALANCE, MEMBERS, MIGRATIONS, MOVES, OUTCOMES, PROBLEMS, SCALES, push_assignment, push_balance,
    push_members, push_migration, push_moves, push_outcome, push_problems, push_scale, push_unknown_balance,
};
use crate::assign::{Assignor, GroupProtocol, Options, assign, check_size};
use crate::cancellation;
use crate::fleet::{
    BrokerRules, Judged, NotComputed, Outcome, OwnedSpan, Scenario, TooManyPartitions, balance, check_owners,
    current_balance, current_plan, given_twice, moves, scale, starting_plan,
};
use crate::group::{Group, NameTable};
use crate::memory;
use crate::plan::Plan;
use crate::python::error::group_error;
use crate::python::imports::IllegalArgumentError;
use crate::python::interrupt::waiting;
use crate::python::objects::arrow_capsules::ArrowArray;
use crate::python::read::fleet::clusters::ClusterColumn;
use crate::python::read::fleet::groups::{GroupColumn, GroupRow};
use crate::python::read::fleet::reasons::{Reasons, is_of_input};
use crate::python::read::fleet::scenarios;
use crate::python::verbs::table::{Column, ColumnFull, Declared, LARGEST_OFFSET};

/// Topics of all clusters of a fleet, parsed once. Each method computes results for a column of groups.
#[pyclass(frozen, name = "Clusters", module = "assignor._core")]
pub(crate) struct PyClusters(Arc<ClusterColumn>);

#[pymethods]
impl PyClusters {
    #[new]
    #[pyo3(signature = (clusters, *, leave_out_invalid = false))]
    fn new(py: Python<'_>, clusters: ArrowArray, leave_out_invalid: bool) -> PyResult<Self> {
        let clusters = clusters.array().clone();
        let read = waiting(py, move || ClusterColumn::read(&clusters, leave_out_invalid))?;
        read.map(|clusters| Self(Arc::new(clusters)))
    }

    fn invalid_topics(&self) -> Vec<(String, String, String)> {
        self.0.all_invalid_topics()
    }

    #[pyo3(signature = (groups, *, column_bytes = 134_217_728))]
    fn resolve(&self, py: Python<'_>, groups: ArrowArray, column_bytes: usize) -> PyResult<Vec<ArrowArray>> {
        self.each(py, &groups, column_bytes, MEMBERS, |_, read, column| {
            let group = group_of(read)?;
            push_members(column, &read.roster, &group).map_err(|full| too_large(read, &full))
        })
    }

    #[pyo3(signature = (groups, *, column_bytes = 134_217_728))]
    fn assign(&self, py: Python<'_>, groups: ArrowArray, column_bytes: usize) -> PyResult<Vec<ArrowArray>> {
        self.each(py, &groups, column_bytes, ASSIGNMENT, |_, read, column| {
            push_assignment(column, plan_of(read)?.as_ref(), read.roster.computed)
                .map_err(|full| too_large(read, &full))
        })
    }

    #[pyo3(signature = (groups, *, column_bytes = 134_217_728))]
    fn balance(&self, py: Python<'_>, groups: ArrowArray, column_bytes: usize) -> PyResult<Vec<ArrowArray>> {
        self.each(py, &groups, column_bytes, BALANCE, |_, read, column| {
            let (group, plan) = group_and_plan(read)?;
            let (roster, assignor) = (&read.roster, read.roster.computed);
            match plan {
                Some(plan) => {
                    let weights = read.cluster.weights(plan.group());
                    let found = balance(&plan, read.group_id, assignor).with_weights(&plan, weights.as_ref());
                    push_balance(&mut column.fields(), &found, read, roster, assignor)
                }
                None => push_unknown_balance(&mut column.fields(), &group, read, roster),
            }
            .map_err(|full| too_large(read, &full))
        })
    }

    #[pyo3(signature = (groups, *, column_bytes = 134_217_728))]
    fn current_balance(&self, py: Python<'_>, groups: ArrowArray, column_bytes: usize) -> PyResult<Vec<ArrowArray>> {
        self.each(py, &groups, column_bytes, BALANCE, |_, read, column| {
            let subscribed = group_of(read)?;
            let plan = current_plan(&read.roster, read.cluster, &owned_of(read)?);
            check_topics(read, plan.group())?;
            let found = current_balance(&plan, &subscribed, read.group_id, read.roster.computed);
            let found = found.with_weights(&plan, read.cluster.weights(plan.group()).as_ref());
            push_balance(&mut column.fields(), &found, read, &read.roster, None).map_err(|full| too_large(read, &full))
        })
    }

    #[pyo3(signature = (groups, *, column_bytes = 134_217_728))]
    fn problems(&self, py: Python<'_>, groups: ArrowArray, column_bytes: usize) -> PyResult<Vec<ArrowArray>> {
        self.rows(py, &groups, column_bytes, PROBLEMS, |clusters, groups, row, column| {
            let mut reasons = if clusters.leaves_out_invalid() { Reasons::listed() } else { Reasons::failing() };
            let read = groups.group(row, clusters, &mut reasons)?;
            list_problems(&read, &mut reasons)?;
            push_problems(column, reasons.texts()).map_err(|full| too_large(&read, &full))
        })
    }

    #[pyo3(signature = (groups, *, column_bytes = 134_217_728))]
    fn moves(&self, py: Python<'_>, groups: ArrowArray, column_bytes: usize) -> PyResult<Vec<ArrowArray>> {
        self.each(py, &groups, column_bytes, MOVES, |_, read, column| {
            let plan = plan_of(read)?;
            let current = owned_of(read)?;
            let found = plan.as_ref().map(|plan| moves(&current, plan)).unwrap_or_default();
            push_moves(column, &found).map_err(|full| too_large(read, &full))
        })
    }

    #[pyo3(signature = (groups, scenarios, *, column_bytes = 134_217_728))]
    fn what_if(
        &self,
        py: Python<'_>,
        groups: ArrowArray,
        scenarios: &Bound<'_, PyAny>,
        column_bytes: usize,
    ) -> PyResult<Vec<ArrowArray>> {
        let scenarios = Arc::new(scenarios::read(scenarios)?);
        self.each(py, &groups, column_bytes, OUTCOMES, move |clusters, read, column| {
            let plan = starting_plan_of(read)?;
            let asked = scenarios.iter().filter(|scenario| scenario.concerns(read));
            // All outcomes before the first one is added, because an invalid group has none.
            let outcomes: Vec<_> = asked
                .map(|scenario| Ok((&scenario.scenario.name, outcome_of(&scenario.scenario, clusters, read, &plan)?)))
                .collect::<Result<_, Failure>>()?;
            for (name, outcome) in outcomes {
                push_outcome(column, name, &outcome, read).map_err(|full| too_large(read, &full))?;
            }
            column.end_list();
            Ok(())
        })
    }

    #[pyo3(signature = (groups, max_members = None, *, column_bytes = 134_217_728))]
    fn scale(
        &self,
        py: Python<'_>,
        groups: ArrowArray,
        max_members: Option<u32>,
        column_bytes: usize,
    ) -> PyResult<Vec<ArrowArray>> {
        self.each(py, &groups, column_bytes, SCALES, move |_, read, column| {
            group_of(read)?;
            let roster = &read.roster;
            let most = max_members.map_or(roster.members.len(), |most| most as usize);
            let found = scale(roster, read.cluster, read.group_id, most, &owned_of(read)?);
            for row in found.map_err(|error| group_error(error, &format!("{}: ", read.name())))? {
                push_scale(column, &row).map_err(|full| too_large(read, &full))?;
            }
            column.end_list();
            Ok(())
        })
    }

    #[pyo3(signature = (groups, scenarios, *, column_bytes = 134_217_728))]
    fn assign_after(
        &self,
        py: Python<'_>,
        groups: ArrowArray,
        scenarios: &Bound<'_, PyAny>,
        column_bytes: usize,
    ) -> PyResult<Vec<ArrowArray>> {
        let scenarios = Arc::new(scenarios::read(scenarios)?);
        if scenarios.len() != 1 {
            let text = format!("assign_after needs one scenario, not {}", scenarios.len());
            return Err(IllegalArgumentError::new_err(text));
        }
        self.each(py, &groups, column_bytes, ASSIGNMENT, move |clusters, read, column| {
            let plan = starting_plan_of(read)?;
            let scenario = &scenarios[0];
            if !scenario.concerns(read) {
                return push_assignment(column, None, None).map_err(|full| too_large(read, &full));
            }
            let outcome = outcome_of(&scenario.scenario, clusters, read, &plan)?;
            // The plan can be that of the owned partitions, which does not have the layout of range.
            push_assignment(column, outcome.computed.map(|_| &*outcome.plan), None)
                .map_err(|full| too_large(read, &full))
        })
    }

    #[pyo3(signature = (groups, rules, *, later = false, column_bytes = 134_217_728))]
    fn migrate(
        &self,
        py: Python<'_>,
        groups: ArrowArray,
        rules: Rules,
        later: bool,
        column_bytes: usize,
    ) -> PyResult<Vec<ArrowArray>> {
        let rules = Arc::new(read_rules(rules)?);
        self.each(py, &groups, column_bytes, MIGRATIONS, move |clusters, read, column| {
            let owned = owned_of(read)?;
            let is_known = !read.roster.members.is_empty() || (owned.is_empty() && read.unnamed_members == 0);
            if read.has_group_id() && is_known && read.is_classic() {
                group_of(read)?;
                let today = if later { Some(starting_plan_of(read)?) } else { None };
                let facts = read.facts(&mut Reasons::failing()).map_err(Failure::OfGroup)?;
                let judged = Judged {
                    cluster: read.cluster,
                    group_id: read.group_id,
                    roster: &read.roster,
                    owned: read.has_current().then_some(&owned),
                    facts: &facts,
                };
                let patterns = clusters.patterns(read.cluster_name);
                let found = judged.migration(&rules, &patterns, today.as_ref());
                let found = found.map_err(|reason| too_many(read, "the switch", reason))?;
                let gained = found.pattern_changes.iter().flat_map(|change| &change.gained);
                check_names(read, gained.map(String::as_str))?;
                push_migration(column, &found, &rules, read.roster.members.len())
                    .map_err(|full| too_large(read, &full))?;
            }
            column.end_list();
            Ok(())
        })
    }
}

/// Settings of the brokers in Python: policy, largest size, whether the protocol is enabled, version, and assignor.
type Rules = (String, i64, bool, Option<(u32, u32)>, String);

fn read_rules((policy, max_size, has_protocol, version, assignor): Rules) -> PyResult<BrokerRules> {
    let assignor = Assignor::named(GroupProtocol::Consumer, &assignor)
        .ok_or_else(|| IllegalArgumentError::new_err(format!("the brokers have no assignor '{assignor}'")))?;
    Ok(BrokerRules { policy, max_size, has_protocol, version, assignor })
}

/// Return the error for a scenario with too many partitions.
fn too_many(read: &GroupRow<'_>, scenario: &str, reason: TooManyPartitions) -> PyErr {
    let prefix = format!("{}: scenario '{scenario}': ", read.name());
    match reason {
        TooManyPartitions::OfGroup(error) => group_error(error, &prefix),
        reason @ TooManyPartitions::OfTopic { .. } => IllegalArgumentError::new_err(format!("{prefix}{reason}")),
    }
}

/// Why a group has no answer.
enum Failure {
    /// A row of the group, or of a topic of it, is invalid.
    OfGroup(PyErr),
    /// The group is valid, but there is no answer for it.
    OfAnswer(PyErr),
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::OfAnswer(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::OfGroup(error) | Failure::OfAnswer(error) => error,
        }
    }
}

impl PyClusters {
    /// Return columns that together have one result per group; each column has a limited size. The result of an invalid group is
    /// null if such groups are left out.
    fn each(
        &self,
        py: Python<'_>,
        groups: &ArrowArray,
        column_bytes: usize,
        declared: Declared,
        answer: impl Fn(&ClusterColumn, &GroupRow<'_>, &mut Column) -> Result<(), Failure> + Clone + Send + 'static,
    ) -> PyResult<Vec<ArrowArray>> {
        self.rows(py, groups, column_bytes, declared, move |clusters, groups, row, column| {
            let read = groups.group(row, clusters, &mut Reasons::failing()).map_err(Failure::OfGroup);
            match read.and_then(|read| answer(clusters, &read, column)) {
                Err(Failure::OfGroup(error)) if clusters.leaves_out_invalid() && is_of_input(&error) => {
                    column.push_null();
                    Ok(())
                }
                found => found,
            }
        })
    }

    /// Return columns that together have one result per row of the groups; each column has a limited size.
    fn rows(
        &self,
        py: Python<'_>,
        groups: &ArrowArray,
        column_bytes: usize,
        (name, kind): Declared,
        answer: impl Fn(&ClusterColumn, &GroupColumn, usize, &mut Column) -> Result<(), Failure> + Clone + Send + 'static,
    ) -> PyResult<Vec<ArrowArray>> {
        let (groups, clusters) = (groups.array().clone(), Arc::clone(&self.0));
        let found = waiting(py, move || {
            let groups = GroupColumn::read(&groups)?;
            let new = || Column::new(name, kind, LARGEST_OFFSET);
            let (mut full, mut column): (Vec<ArrayRef>, _) = (Vec::new(), new());
            for row in 0..groups.len() {
                cancellation::check();
                answer(&clusters, &groups, row, &mut column)?;
                if column.bytes() >= column_bytes {
                    full.push(std::mem::replace(&mut column, new()).finish());
                }
            }
            full.push(column.finish());
            Ok::<_, PyErr>(full)
        })??;
        Ok(found.into_iter().filter(|column| !column.is_empty()).map(ArrowArray::new).collect())
    }
}

/// Return the group, whose members must be distinct, and whose topics must be valid.
fn group_of(read: &GroupRow<'_>) -> Result<Arc<Group>, Failure> {
    check_owned(read)?;
    let group = read.roster.group(read.cluster, None, &read.roster.owned);
    check_topics(read, &group)?;
    if let Some(twice) = NameTable::first_duplicate(group.members()) {
        return Err(Failure::OfGroup(member_twice(read, group.members().get(twice))));
    }
    Ok(group)
}

/// Return the error for two members with the same id.
fn member_twice(read: &GroupRow<'_>, id: &str) -> PyErr {
    read.wrong(&format!("member '{id}' is given twice"))
}

/// Check that the topics of a group are valid.
fn check_topics(read: &GroupRow<'_>, group: &Group) -> Result<(), Failure> {
    check_names(read, group.topics().names().iter())
}

/// Check that topics are valid.
fn check_names<'n>(read: &GroupRow<'_>, names: impl Iterator<Item = &'n str>) -> Result<(), Failure> {
    invalid_names(read, names).next().map_or(Ok(()), |error| Err(Failure::OfGroup(error)))
}

/// Return the errors for the invalid ones of some topics.
fn invalid_names<'n>(read: &GroupRow<'_>, names: impl Iterator<Item = &'n str>) -> impl Iterator<Item = PyErr> {
    let reason = |name: &'n str| Some((name, read.invalid_topics?.get(name)?.first()?));
    names.filter_map(reason).map(|(name, reason)| read.wrong(&format!("topic '{name}': {reason}")))
}

/// Return the current assignment of the group.
fn owned_of<'a>(read: &GroupRow<'a>) -> Result<Vec<OwnedSpan<'a>>, Failure> {
    read.current(&mut Reasons::failing()).map_err(Failure::OfGroup)
}

/// Return the outcome of a scenario, which may add topics.
fn outcome_of<'a>(
    scenario: &Scenario,
    clusters: &ClusterColumn,
    read: &GroupRow<'a>,
    plan: &Arc<Plan>,
) -> Result<Outcome<'a>, Failure> {
    let patterns = clusters.patterns(read.cluster_name);
    let outcome = scenario.play(read.cluster, read.group_id, &read.roster, plan, &patterns);
    let outcome = outcome.map_err(|reason| too_many(read, &scenario.name, reason))?;
    check_topics(read, outcome.plan.group())?;
    Ok(outcome)
}

/// Memory for an owned partition: its topic, its id, and room for the lists to grow.
const BYTES_PER_OWNED: u64 = 16;

/// Memory for an owned partition of a share group, which its assignor also sorts and looks up.
const BYTES_PER_SHARED: u64 = 80;

/// Check that the partitions that the members own fit into memory.
fn check_owned(read: &GroupRow<'_>) -> PyResult<()> {
    let topics = read.cluster.topics();
    let is_shared = read.roster.computed == Some(Assignor::ServerSimple); // it reads partitions that do not exist, too
    let counted = |span: &OwnedSpan<'_>| {
        if is_shared {
            return span.count as u64;
        }
        let count = topics.number(span.topic).map_or(0, |topic| topics.partitions()[topic as usize].ids.len() as i64);
        (i64::from(span.start) + i64::from(span.count)).min(count).saturating_sub(span.start.into()).max(0) as u64
    };
    let bytes = if is_shared { BYTES_PER_SHARED } else { BYTES_PER_OWNED };
    let owned: u64 = read.roster.owned.iter().map(counted).sum();
    let fits = memory::check_each("a group", "owned partitions", owned, bytes);
    fits.map_err(|error| group_error(error.into(), &format!("{}: ", read.name())))
}

/// Return the plan from which a scenario starts.
fn starting_plan_of(read: &GroupRow<'_>) -> Result<Arc<Plan>, Failure> {
    let (group, plan) = group_and_plan(read)?;
    if plan.is_none() {
        check_owners(&group).map_err(|error| group_error(error, &format!("{}: ", read.name())))?;
    }
    Ok(starting_plan(&read.roster, read.cluster, plan))
}

/// List the reasons why the group is invalid or not computed, and rows that are given twice.
fn list_problems(read: &GroupRow<'_>, reasons: &mut Reasons) -> PyResult<()> {
    let owned = read.current(reasons)?;
    read.facts(reasons)?;
    check_owned(read)?;
    let group = read.roster.group(read.cluster, None, &read.roster.owned);
    for error in invalid_names(read, group.topics().names().iter()) {
        reasons.report(error)?;
    }
    let mut seen = FxHashSet::default();
    for id in group.members().iter().filter(|id| !seen.insert(*id)) {
        reasons.report(member_twice(read, id))?;
    }
    if let Some(reason) = not_computed(read, &group, reasons.is_empty())? {
        reasons.add(reason.to_string());
    }
    for twice in given_twice(&owned) {
        let OwnedSpan { member, topic, start, count } = twice;
        let last = i64::from(start) + i64::from(count) - 1;
        let reason = format!("member '{member}': current has partitions {start} to {last} of topic '{topic}' twice");
        reasons.add(format!("{}: {reason}", read.name()));
    }
    Ok(())
}

/// Return the reason why a group has no computed plan, if it has none. The plan of a valid group is tried if need be.
fn not_computed(read: &GroupRow<'_>, group: &Arc<Group>, is_valid: bool) -> PyResult<Option<NotComputed>> {
    let assignor = read.roster.computed.filter(|assignor| *assignor == Assignor::ServerSimple);
    // Only the assignor of share groups may have no answer.
    let Some(assignor) = assignor.filter(|_| is_valid) else { return Ok(read.not_computed.clone()) };
    check_size(group, assignor).map_err(|error| group_error(error, &format!("{}: ", read.name())))?;
    Ok(assign(group, Options { assignor, ..Options::default() }).err().map(NotComputed::NoAnswer))
}

/// Return the plan of the group; None if the group has no computed plan (`problems` has the reasons).
fn plan_of(read: &GroupRow<'_>) -> Result<Option<Plan>, Failure> {
    Ok(group_and_plan(read)?.1)
}

fn group_and_plan(read: &GroupRow<'_>) -> Result<(Arc<Group>, Option<Plan>), Failure> {
    let group = group_of(read)?;
    // A group without members has no assignor; its plan is empty.
    let assignor = read.roster.computed.or(read.roster.members.is_empty().then(Assignor::default));
    let Some(assignor) = assignor else { return Ok((group, None)) };
    let prefix = format!("{}: ", read.name());
    check_size(&group, assignor).map_err(|error| group_error(error, &prefix))?;
    let Ok(plan) = assign(&group, Options { assignor, ..Options::default() }) else { return Ok((group, None)) };
    plan.check_readable().map_err(|error| group_error(error.into(), &prefix))?;
    Ok((group, Some(plan)))
}

/// Return the failure for a result that is larger than a column can be.
fn too_large(read: &GroupRow<'_>, full: &ColumnFull) -> Failure {
    Failure::OfAnswer(read.wrong(&format!("{full}: the result of one group must fit in one row")))
}
