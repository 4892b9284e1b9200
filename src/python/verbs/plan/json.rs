//! Conversion of a plan to JSON and back, and pickling, which uses JSON.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::mapping::{PyPlan, SPAN_COLUMNS};
use crate::assign::{Assignor, GroupProtocol};
use crate::group::java_order;
use crate::memory;
use crate::plan::{Plan, Span};
use crate::python::imports::{IllegalArgumentError, PLAN_FROM_JSON, PLAN_TO_JSON};
use crate::python::read::group::GroupInput;
use crate::python::read::plan_parts;
use crate::python::verbs::options::assignor_named;

/// Memory for the four numbers of a span as Python ints in lists, and for their text.
const BYTES_PER_JSON_SPAN: u64 = 4 * (8 + 32 + 11);

#[pymethods]
impl PyPlan {
    /// Return this plan as a JSON object, which `Plan.from_json` parses.
    fn to_json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PLAN_TO_JSON.get(py)?.call1((self.parts(py)?, self.assignor.name(), self.assignor.protocol().name()))
    }

    /// Parse a plan from the JSON text of `to_json`.
    ///
    /// Args:
    ///     text: The JSON object, as str or bytes.
    ///
    /// Raises:
    ///     IllegalArgumentError: The text is not JSON, or not a plan; the message names the place.
    ///
    /// Example:
    ///     >>> found = plan({"t": 3}, {"a": ["t"]})
    ///     >>> Plan.from_json(found.to_json()) == found
    ///     True
    #[staticmethod]
    fn from_json(text: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (parts, assignor, group_protocol): (Bound<'_, PyAny>, Bound<'_, PyAny>, GroupProtocol) =
            PLAN_FROM_JSON.get(text.py())?.call1((text,))?.extract()?;
        Self::restore(&parts, assignor_named(group_protocol, &assignor)?)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().to_json(slf.py())?,)))
    }
}

impl PyPlan {
    /// Return the parts of this plan: topics, distinct subscriptions, members and spans; see `assignor.plan_json`.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let group = self.plan.group();
        let numbers = 0..group.subscriptions().len() as u32;
        let sorted = |number| {
            let mut names: Vec<&str> = group.names_of(number).collect();
            names.sort_by(|left, right| java_order(left, right)); // unknown topics are numbered after all others
            names
        };
        let subscriptions: Vec<Vec<&str>> = numbers.map(sorted).collect();
        let member = |(number, id)| {
            let sizes = group.field_sizes(number);
            (
                id,
                group.subscription_of(number),
                group.instance_id(number),
                sizes.user_data,
                sizes.owned_partitions,
                sizes.rack,
            )
        };
        let members: Vec<_> = group.members().iter().enumerate().map(member).collect();
        let plan = self.with_columns()?;
        let spans = plan.columns().len() as u64;
        memory::check_each("the JSON text", "spans", spans, BYTES_PER_JSON_SPAN)?;
        let columns = SPAN_COLUMNS.map(|column| column(plan));
        (group.topics().names().iter().collect::<Vec<_>>(), subscriptions, members, columns).into_pyobject(py)
    }

    /// Return the plan of an assignor from its parts.
    pub(crate) fn restore(parts: &Bound<'_, PyAny>, assignor: Assignor) -> PyResult<Self> {
        let (input, [member, topic, start, count]): (GroupInput, [Vec<i32>; 4]) = plan_parts::read(parts)?;
        if [&topic, &start, &count].iter().any(|column| column.len() != member.len()) {
            return Err(IllegalArgumentError::new_err("the columns of spans differ in length"));
        }
        let spans = (0..member.len())
            .map(|row| (member[row] as u32, Span { topic: topic[row] as u32, start: start[row], count: count[row] }));
        let is_shared = assignor.protocol() == GroupProtocol::Share;
        let plan = Plan::from_spans(input.group, spans, is_shared)
            .map_err(|error| IllegalArgumentError::new_err(error.to_string()))?;
        Ok(Self::new(plan, assignor, input.topics, input.members.into()))
    }
}
