//! Subscriptions of members with patterns. Each distinct pattern is matched once against the topics of the group.

use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use super::named_topics::NamedTopics;
use super::patterns;
use crate::group::Group;
use crate::matching::dialect::Dialect;
use crate::python::interrupt::interruptible;

/// Names and patterns of a subscription.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Wanted {
    pub(crate) names: Vec<String>,
    pub(crate) patterns: Vec<String>,
    pub(crate) dialect: Dialect,
}

/// Subscriptions by their names and patterns.
#[derive(Default)]
pub(crate) struct PatternSubscriptions {
    subscriptions: FxHashMap<Wanted, u32>,
    /// Numbers of the topics that a pattern matches, ascending.
    matched: FxHashMap<(String, Dialect), Vec<u32>>,
}

impl PatternSubscriptions {
    /// Return the subscription of members with patterns: the names in their order, then the topics that a pattern matches and that
    /// are not among the names, in Java's order. Errors name the `owner`.
    pub(crate) fn intern(
        &mut self,
        py: Python<'_>,
        group: &mut Group,
        topics: &NamedTopics,
        wanted: Wanted,
        owner: &str,
    ) -> PyResult<u32> {
        if let Some(&subscription) = self.subscriptions.get(&wanted) {
            return Ok(subscription);
        }
        let mut found = Vec::new();
        for text in &wanted.patterns {
            let key = (text.clone(), wanted.dialect);
            if !self.matched.contains_key(&key) {
                py.check_signals()?;
                let pattern = patterns::parse(text, wanted.dialect, false, Some(owner))?;
                let catalog = topics.catalog(py)?;
                let topics = interruptible(py, |proceed| pattern.select(catalog, proceed))?;
                self.matched.insert(key.clone(), topics);
            }
            found.extend_from_slice(&self.matched[&key]);
        }
        found.sort_unstable();
        found.dedup();
        let mut numbers: Vec<u32> = wanted.names.iter().map(|name| group.topic_number(name)).collect();
        found.retain(|number| !numbers.contains(number));
        numbers.append(&mut found);
        let subscription = group.intern_subscription(&numbers);
        self.subscriptions.insert(wanted, subscription);
        Ok(subscription)
    }
}
