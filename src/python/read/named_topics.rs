//! Topics of a cluster, with their names as Python objects.

use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::name_objects::NameObjects;
use super::topic_names::check_topic_name;
use crate::group::{Names, Partitions, Racks, Topics};
use crate::matching::catalog::Catalog;
use crate::plan::Plan;

/// Topics of a cluster, with their names as Python objects.
pub(crate) struct NamedTopics {
    pub(crate) topics: Arc<Topics>,
    /// Names by number.
    objects: NameObjects,
    /// Numbers of the topics in the order of the input; None if that is Java's order.
    pub(crate) order: Option<Vec<u32>>,
    /// `TopicPartition` objects that answers share, by topic and position; only for a `Topics` object.
    pub(crate) shared: Option<Vec<OnceLock<Vec<Py<PyAny>>>>>,
    /// Names that patterns are matched against, made for the first pattern.
    catalog: OnceLock<Catalog>,
}

impl NamedTopics {
    /// Return topics, given in any order.
    pub(crate) fn new(objects: NameObjects, names: Names, partitions: Vec<Partitions>, racks: Arc<Racks>) -> Self {
        let (topics, sorted) = Topics::sorted(names, partitions, racks);
        let Some(sorted) = sorted else {
            return Self { topics: Arc::new(topics), objects, order: None, shared: None, catalog: OnceLock::new() };
        };
        let mut order = vec![0; sorted.len()];
        for (number, place) in (0..).zip(&sorted) {
            order[*place as usize] = number;
        }
        let objects = objects.permuted(&sorted);
        Self { topics: Arc::new(topics), objects, order: Some(order), shared: None, catalog: OnceLock::new() }
    }

    /// Return the topics of a plan, given those of its group: the same, unless members keep partitions of topics that do not exist.
    pub(crate) fn of_plan(topics: Arc<Self>, plan: &Plan) -> Arc<Self> {
        if Arc::ptr_eq(&topics.topics, plan.group().topics()) {
            return topics;
        }
        Arc::new(Self {
            topics: Arc::clone(plan.group().topics()),
            objects: NameObjects::default(),
            order: None,
            shared: None,
            catalog: OnceLock::new(),
        })
    }

    /// Return the names, by number.
    pub(crate) fn objects(&self, py: Python<'_>) -> &[Py<PyString>] {
        self.objects.get(py, self.topics.names())
    }

    /// Return the names that patterns are matched against, by number.
    pub(crate) fn catalog(&self, py: Python<'_>) -> PyResult<&Catalog> {
        if self.catalog.get().is_none() {
            let made = new_catalog(py, &self.topics)?;
            let _ = self.catalog.set(made); // another thread may have set the same value
        }
        Ok(self.catalog.get_or_init(Catalog::default))
    }

    /// Iterate over the topics in the order of the input: number, and address of the name's object or 0.
    pub(crate) fn in_input_order(&self) -> impl ExactSizeIterator<Item = (u32, usize)> {
        (0..self.topics.len()).map(|place| {
            let number = self.order.as_ref().map_or(place as u32, |order| order[place]);
            (number, self.objects.address(number).unwrap_or(0))
        })
    }
}

/// Return the names of topics as a catalog for patterns.
fn new_catalog(py: Python<'_>, topics: &Topics) -> PyResult<Catalog> {
    for name in topics.names().iter() {
        check_topic_name(py, name)?;
    }
    Ok(Catalog::new(topics.names().iter()))
}
