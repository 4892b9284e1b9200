//! Subscriptions of members with patterns. Each distinct pattern is matched once against the topics of the group.

use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use super::named_topics::NamedTopics;
use super::patterns;
use crate::group::Group;
use crate::matching::dialect::Dialect;
use crate::python::interrupt::interruptible;

/// Subscriptions by pattern.
#[derive(Default)]
pub(crate) struct PatternSubscriptions {
    subscriptions: FxHashMap<(String, Dialect), u32>,
}

impl PatternSubscriptions {
    /// Return the subscription of members with a pattern; errors name its `owner`.
    pub(crate) fn intern(
        &mut self,
        py: Python<'_>,
        group: &mut Group,
        topics: &NamedTopics,
        (pattern, dialect): (&str, Dialect),
        owner: &str,
    ) -> PyResult<u32> {
        let key = (pattern.to_owned(), dialect);
        if let Some(&subscription) = self.subscriptions.get(&key) {
            return Ok(subscription);
        }
        let found = patterns::parse(pattern, dialect, false, Some(owner))?;
        let catalog = topics.catalog(py)?;
        let found = interruptible(py, |proceed| found.select(catalog, proceed))?;
        let subscription = group.intern_subscription(&found);
        self.subscriptions.insert(key, subscription);
        Ok(subscription)
    }
}
