//! Differences between plans, and the balance of a plan.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::mapping::PyPlan;
use crate::memory;
use crate::plan::MemberSpans;
use crate::python::error::wrong_type;
use crate::python::imports::{BALANCE, DIFF};
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

    /// Return how evenly this plan spreads partitions over members.
    ///
    /// Returns:
    ///     A `Balance`: `min`, `max` and `mean` number of partitions per member, as in `counts`; `idle`, the members without
    ///     partitions, in order; `spread`, topic to the highest number of its partitions that a subscriber has, minus the lowest.
    ///
    /// Example:
    ///     >>> plan({"t": 3, "u": 1}, {"a": ["t", "u"], "b": ["t", "u"], "c": []}).balance()
    ///     Balance(min=0, max=3, mean=1.3333333333333333, idle=('c',), spread={'t': 1, 'u': 1})
    fn balance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let plan = self.readable()?;
        let found = py.detach(|| plan.balance());
        let idle = PyTuple::new(py, found.idle.iter().map(|member| &self.ids(py)[*member as usize]))?;
        let spread = PyDict::new(py);
        for (topic, difference) in self.topics.objects(py).iter().zip(found.spread) {
            spread.set_item(topic, difference)?;
        }
        BALANCE.get(py)?.call1((found.min, found.max, found.mean, idle, spread))
    }
}

impl PyPlan {
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
