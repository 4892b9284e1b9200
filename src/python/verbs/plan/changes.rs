//! Differences between plans, and the balance of a plan.

use std::sync::Arc;

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::mapping::PyPlan;
use crate::group::Ids;
use crate::memory;
use crate::plan::{MemberSpans, Weights};
use crate::python::error::wrong_type;
use crate::python::imports::{BALANCE, DIFF, IllegalArgumentError, WEIGHT_COLUMNS, WEIGHTED_BALANCE};
use crate::python::numpy_api;
use crate::python::verbs::partition_lists::{ListBuilder, ListMemory};

/// Memory for a span of a difference, which may be gained and lost by members of both plans.
const BYTES_PER_CHANGED_SPAN: u64 = 48;

#[pymethods]
impl PyPlan {
    /// Compare this plan with a later plan.
    ///
    /// Members and topics are matched by name. Either plan may have members or topics that the other does not have.
    ///
    /// Args:
    ///     other: The later plan.
    ///
    /// Returns:
    ///     A `Diff`: `added` and `revoked` map members to partitions that they gain or lose; `moved` counts the partitions
    ///     that have owners in both plans, but not the same ones.
    ///
    /// Order: members as in the plan that assigns the partitions; partitions by topic in Java's order, then by id.
    ///
    /// Example:
    ///     >>> two, three = (plan({"t": 3}, dict.fromkeys(names, ["t"])) for names in ("ab", "abc"))
    ///     >>> two.diff(three).moved, two.diff(three).revoked
    ///     (2, {'a': [TopicPartition(topic='t', partition=1)], 'b': [TopicPartition(topic='t', partition=2)]})
    fn diff<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Ok(later) = other.cast::<Self>() else {
            return Err(wrong_type("other", "a Plan", other));
        };
        let later = later.get();
        let (before, after) = (self.with_owners()?, later.with_owners()?);
        let spans = (before.columns().len() + after.columns().len()) as u64;
        memory::check_each("a difference", "spans", spans, BYTES_PER_CHANGED_SPAN)?;
        let found = py.detach(|| before.diff(after));
        if !ListMemory::is_small(before.most_partitions() + after.most_partitions()) {
            let mut needed = ListMemory::default();
            needed.add_members(&later.topics, &found.added);
            needed.add_members(&self.topics, &found.revoked);
            needed.check()?;
        }
        let (added, revoked) = (later.named(py, &found.added)?, self.named(py, &found.revoked)?);
        DIFF.get(py)?.call1((added, revoked, found.moved))
    }

    /// Return how evenly this plan spreads partitions over members, and with `weights` also how evenly it spreads these.
    ///
    /// Args:
    ///     weights: Weight of each partition, such as its records per second, in a form of `assignor.weights`.
    ///
    /// Returns:
    ///     A `Balance`: `min`, `max` and `mean` number of partitions per member, as in `counts`; `idle`, the members without
    ///     partitions, in order; `spread`, topic to the highest number of its partitions that a subscriber has, minus the lowest.
    ///     With weights, a `WeightedBalance`, which has more fields.
    ///
    /// Raises:
    ///     WrongTypeError, IllegalArgumentError: The weights are not of a form of `assignor.weights`. A weight is negative, infinite or NaN, or of
    ///         a partition that the group does not have. A partition of a subscribed topic has no weight. The plan is that of a share group, in
    ///         which members share the records of a partition.
    ///
    /// Example:
    ///     >>> found = plan({"t": 3, "u": 1}, {"a": ["t", "u"], "b": ["t", "u"], "c": []})
    ///     >>> found.balance()
    ///     Balance(min=0, max=3, mean=1.3333333333333333, idle=('c',), spread={'t': 1, 'u': 1})
    ///     >>> weighted = found.balance(weights={"t": [50.0, 10.0, 10.0], "u": [10.0]})
    ///     >>> weighted.max, weighted.most_weight, weighted.weight_bound, weighted.weights
    ///     (3, 70.0, 50.0, {'a': 70.0, 'b': 10.0, 'c': 0.0})
    #[pyo3(signature = (*, weights = None))]
    fn balance<'py>(&self, py: Python<'py>, weights: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let plan = self.readable()?;
        let weights = weights.map(|weights| self.read_weights(weights)).transpose()?;
        let found = py.detach(|| plan.balance());
        let idle = PyTuple::new(py, found.idle.iter().map(|member| &self.ids(py)[*member as usize]))?;
        let spread = PyDict::new(py);
        for (topic, difference) in self.topics.objects(py).iter().zip(found.spread) {
            spread.set_item(topic, difference)?;
        }
        let Some(weights) = weights else {
            return BALANCE.get(py)?.call1((found.min, found.max, found.mean, idle, spread));
        };
        let loads = PyDict::new(py);
        let weighted = py.detach(|| plan.weighted_balance(&weights));
        let (least, most, mean, bound, packed) = weighted.as_ref().map_or((0.0, 0.0, 0.0, 0.0, 0.0), |found| {
            (found.least, found.most, found.mean, found.bound, found.packed)
        });
        for (member, load) in self.ids(py).iter().zip(weighted.map(|found| found.loads).unwrap_or_default()) {
            loads.set_item(member, load)?;
        }
        let (min, max) = (found.min, found.max);
        WEIGHTED_BALANCE.get(py)?.call1((min, max, found.mean, idle, spread, least, most, mean, bound, packed, loads))
    }
}

impl PyPlan {
    /// Read the weights of the group's partitions.
    fn read_weights(&self, given: &Bound<'_, PyAny>) -> PyResult<Weights> {
        let py = given.py();
        let group = self.plan.group();
        if self.plan.is_shared() {
            let reason = "members of a share group share the records of a partition, so their weights are not known";
            return Err(IllegalArgumentError::new_err(format!("weights: {reason}; leave weights out")));
        }
        numpy_api::load(py)?;
        let ids = PyList::empty(py);
        for partitions in group.topics().partitions() {
            match &partitions.ids {
                Ids::Count(count) => ids.append(count)?,
                listed @ Ids::Listed(_) => {
                    let numbers: Vec<i64> = (0..listed.len()).map(|position| i64::from(listed.at(position))).collect();
                    ids.append(numbers.into_pyarray(py))?;
                }
            }
        }
        let topics = PyTuple::new(py, self.topics.objects(py))?;
        let columns: Vec<Option<PyReadonlyArray1<'_, f64>>> =
            WEIGHT_COLUMNS.get(py)?.call1((given, topics, ids))?.extract()?;
        let list = |column: PyReadonlyArray1<'_, f64>| Arc::from(column.as_array().to_vec());
        let weights = Weights::new(columns.into_iter().map(|column| column.map(list)).collect());
        let Some((topic, id)) = weights.first_unknown(group) else { return Ok(weights) };
        let missing = weights.unknown(group);
        let name = group.topics().names().get(topic as usize);
        let reason = format!("weights has no weight for {missing} partitions, the first is ('{name}', {id})");
        Err(IllegalArgumentError::new_err(format!("{reason}; give one for each partition of a subscribed topic")))
    }

    /// Return the spans of members as lists of partitions by member id.
    fn named<'py>(&self, py: Python<'py>, changed: &[MemberSpans]) -> PyResult<Bound<'py, PyDict>> {
        let mut lists = ListBuilder::new(py, &self.topics)?;
        let found = PyDict::new(py);
        for MemberSpans { member, spans } in changed {
            found.set_item(&self.ids(py)[*member as usize], lists.list(spans)?)?;
        }
        Ok(found)
    }
}
