//! Reader of scenarios as tuples of name, groups and steps, which `assignor.spark.Scenario` has checked.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rustc_hash::FxHashSet;

use super::groups::GroupRow;
use crate::assign::{Assignor, GroupProtocol};
use crate::fleet::{Scenario, Step};
use crate::python::imports::IllegalArgumentError;

/// Scenario and its groups.
pub(crate) struct ScenarioInput {
    pub(crate) scenario: Scenario,
    /// Ids of groups; None for all groups.
    groups: Option<FxHashSet<String>>,
}

impl ScenarioInput {
    pub(crate) fn concerns(&self, read: &GroupRow<'_>) -> bool {
        self.groups.as_ref().is_none_or(|groups| read.has_group_id() && groups.contains(read.group_id))
    }
}

/// Parts of a scenario in Python.
type ScenarioFields<'py> = (String, Option<Vec<String>>, Vec<Bound<'py, PyTuple>>);

pub(crate) fn read(given: &Bound<'_, PyAny>) -> PyResult<Vec<ScenarioInput>> {
    let all: Vec<ScenarioFields<'_>> = given.extract()?;
    let scenario = |(name, groups, steps): ScenarioFields<'_>| {
        let steps = steps.iter().map(step).collect::<PyResult<_>>()?;
        Ok(ScenarioInput { scenario: Scenario { name, steps }, groups: groups.map(FromIterator::from_iter) })
    };
    all.into_iter().map(scenario).collect()
}

fn step(given: &Bound<'_, PyTuple>) -> PyResult<Step> {
    let kind: String = given.get_item(0)?.extract()?;
    let argument = |place: usize| given.get_item(place);
    Ok(match kind.as_str() {
        "add_members" => Step::AddMembers(argument(1)?.extract()?),
        "remove_members" => Step::RemoveMembers(argument(1)?.extract()?),
        "multiply_partitions" => Step::MultiplyPartitions(argument(1)?.extract()?),
        "grow_partitions" => Step::GrowPartitions(argument(1)?.extract()?, argument(2)?.extract()?),
        "set_racks" => Step::SetRacks(argument(1)?.extract()?),
        "add_topic" => Step::AddTopic(argument(1)?.extract()?, argument(2)?.extract()?),
        "make_static" => Step::MakeStatic,
        "rolling_restart" => Step::RollingRestart(argument(1)?.extract()?),
        "use" => Step::Use(assignor(&argument(1)?.extract::<String>()?, &argument(2)?.extract::<String>()?)?),
        _ => return Err(IllegalArgumentError::new_err(format!("a scenario has no step '{kind}'"))),
    })
}

fn assignor(name: &str, group_protocol: &str) -> PyResult<Assignor> {
    let found = GroupProtocol::named(group_protocol).and_then(|protocol| Assignor::named(protocol, name));
    found.ok_or_else(|| {
        IllegalArgumentError::new_err(format!("group_protocol '{group_protocol}' has no assignor '{name}'"))
    })
}
